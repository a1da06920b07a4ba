//! Workloads at random, which honest engines carry out alike and as expected.

use std::collections::BTreeSet;

use assay_core::run_file::Phase as Measured;
use assay_suites::workload::spec::{Background, Kind, Phase, Spec, Task, Until};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use toml::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::any::{Any, any_workload};
use super::*;

/// The number of workloads that are drawn from one seed, always the same ones.
const FIXED: usize = 100;

/// Returns workloads, always the same ones.
fn fixed() -> Vec<(Any, Spec)> {
    let mut runner = TestRunner::deterministic();
    let workload = any_workload();
    let mut draw = || workload.new_tree(&mut runner).expect("a workload").current();
    let drawn = (0..FIXED).map(|_| draw());
    drawn.map(|any| (read(&any.text), any)).map(|(spec, any)| (any, spec)).collect()
}

fn read(text: &str) -> Spec {
    file::parse(text).unwrap_or_else(|fault| panic!("{fault}:\n{text}"))
}

fn is_timed(phase: &Phase) -> bool {
    matches!(phase.until, Until::Seconds(_) | Until::Steady { .. }) && phase.task != Task::Recover
}

/// Returns true if a phase, or its background, reads ranges.
fn scans(phase: &Phase) -> bool {
    let behind = phase.background.as_ref();
    phase.has(Kind::Scan) || behind.is_some_and(|it| it.mix[Kind::Scan as usize] > 0.0)
}

/// Returns the cell of a workload at its level, and how its process is killed there.
fn cell_of(any: &Any, spec: &Spec) -> (Cell, Kill) {
    let durability = spec.survives.unwrap_or(Durability::Commit);
    let lost = if durability == Durability::Periodic { any.kill.lost } else { 0 };
    let cell = Cell { durability, ..cell(&any.text, any.threads) };
    (cell, Kill { lost, ..any.kill })
}

/// Returns an engine that may lose its last writes at level periodic.
fn honest() -> Liar {
    Liar::with(Lie::None).forgetful()
}

/// Checks the end of a workload on an honest engine: each phase was carried out, with all answers
/// as expected. Returns the hashes of its tapes.
fn tapes_of(any: &Any, spec: &Spec, cell: &Cell, engine: &Liar, kill: Kill) -> Vec<String> {
    let (status, measurement, lost) = killed_often(cell, engine, kill);
    let text = &any.text;
    assert_eq!(status, Status::Measured, "{cell:?} {kill:?}\n{text}");
    let is_left_out = |phase: &&Phase| {
        let is_hash = cell.key_kind == KeyKind::Hash && scans(phase);
        is_hash || phase.task == Task::Recover && cell.durability == Durability::None
    };
    let left_out = spec.phases.iter().filter(is_left_out).map(|phase| &phase.name);
    let not_offered = measurement.not_offered.iter().map(|it| &it.phase);
    assert!(left_out.eq(not_offered), "{:?}\n{text}", measurement.not_offered);
    let mut lost = lost.into_iter();
    let phases = spec.phases.iter().filter(|phase| !is_left_out(phase));
    let mut tapes = Vec::new();
    for phase in phases {
        let found = measurement.phase(&phase.name).unwrap_or_else(|| panic!("{text}"));
        match (phase.task, &phase.background) {
            (Task::Recover, _) => {
                let lost = lost.next().expect("a kill");
                is_told_of_a_kill(&phase.name, &measurement, kill, lost, text);
            }
            (Task::Operations, background) => {
                is_shown_apart(spec, phase, background.as_ref(), found, text);
            }
            _ => {}
        }
        tapes.push(format!("{} {}", phase.name, found.tape_hash));
    }
    tapes
}

/// Checks the report of a kill that lost a number of acknowledged updates.
fn is_told_of_a_kill(name: &str, measured: &Measurement, kill: Kill, lost: u64, text: &str) {
    let writes = kill.updates + 1;
    let start = format!("{name}: killed after ");
    let note = measured.notes.iter().find(|note| note.starts_with(&start)).expect("a note");
    let all = format!("{start}{writes} writes, of which {lost} are lost");
    // There may be no record to write.
    let none = format!("{start}0 writes, of which 0 are lost");
    let is_one = note.starts_with(&all) || lost == 0 && note.starts_with(&none);
    assert!(is_one, "{note}, not {all}\n{text}");
}

/// Checks that the figures of a phase are its own, and those of its background apart.
fn is_shown_apart(
    spec: &Spec,
    phase: &Phase,
    background: Option<&Background>,
    found: &Measured,
    text: &str,
) {
    let name = &phase.name;
    let threads = found.threads as usize;
    assert!(phase.threads.len() > 1 || phase.threads[0] as usize == threads, "{text}");
    let is_apart = |name: &str| name.split(' ').any(|word| word == "background");
    let (apart, own): (Vec<_>, Vec<_>) =
        found.latencies.iter().partition(|latency| is_apart(&latency.operation));
    let has = |mix: &[f64], operation: &str| {
        let kind = Kind::ALL.iter().position(|kind| operation.ends_with(kind.name()));
        kind.is_some_and(|kind| mix[kind] > 0.0)
    };
    let start = if spec.phases.len() > 1 { format!("{name} ") } else { String::new() };
    for latency in &own {
        let is_commit = phase.together > 1 && latency.operation.ends_with("commit");
        let is_its = latency.operation.starts_with(&start);
        assert!(
            is_its && (is_commit || has(&phase.mix, &latency.operation)),
            "{latency:?}\n{text}"
        );
    }
    for latency in &apart {
        let behind = background.expect("a background");
        let start = format!("{start}background ");
        let is_its = latency.operation.starts_with(&start);
        assert!(is_its && has(&behind.mix, &latency.operation), "{latency:?}\n{text}");
    }
    let operations = own.iter().filter(|latency| !latency.operation.ends_with("commit"));
    let operations: u64 = operations.map(|latency| latency.count).sum();
    let windows: u64 = found.windows.iter().map(|window| window.operations).sum();
    assert_eq!(operations, windows, "{text}");
    if let Until::Operations(count) = phase.until {
        assert_eq!(operations, count, "{text}");
    }
    let apart: u64 = apart.iter().map(|latency| latency.count).sum();
    assert!(found.checked >= operations + apart, "every answer is compared\n{text}");
    assert_eq!(found.steady.is_some(), matches!(phase.until, Until::Steady { .. }), "{text}");
}

/// Checks that a workload is one to every engine: the same operations reach each of them, however
/// fast it is, and every answer is as expected.
fn is_done_alike(any: &Any, spec: &Spec) -> Vec<String> {
    let (cell, kill) = cell_of(any, spec);
    let tapes = |cell: &Cell, engine: &Liar| tapes_of(any, spec, cell, engine, kill);
    let engine = honest();
    let expected = tapes(&cell, &engine);
    if spec.phases.iter().any(is_timed) {
        return expected;
    }
    let slow = honest().slow();
    assert_eq!(tapes(&cell, &slow), expected, "{}", any.text);
    let is_beside = spec.phases.iter().any(|phase| phase.background.is_some());
    // What a kill loses, threads may have written in an order of their own.
    if !is_beside && kill.lost == 0 {
        assert_eq!(slow.reached(), engine.reached(), "the calls themselves\n{}", any.text);
    }
    assert_eq!(tapes(&cell, &honest().refusing()), expected, "{}", any.text);
    let blind = honest().with_rules(InsertRule::Replaces, DeleteRule::Silent);
    assert_eq!(tapes(&cell, &blind), expected, "{}", any.text);
    let hash = Cell { key_kind: KeyKind::Hash, ..cell.clone() };
    let scans = spec.phases.iter().filter(|phase| scans(phase)).count();
    // Otherwise none of its phases is left.
    if scans < spec.phases.len() {
        let unordered = tapes(&hash, &honest());
        assert!(scans > 0 || unordered == expected, "{unordered:?}, {expected:?}\n{}", any.text);
    }
    let is_alone = |phase: &Phase| {
        phase.background.is_none() && phase.task != Task::Recover && phase.threads == [1]
    };
    if spec.phases.iter().all(is_alone) {
        let durability = Durability::Commit;
        let (status, measurement) = ended(&Cell { durability, ..cell }, &Faulty::with(Fault::None));
        assert_eq!(status, Status::Measured, "{}", any.text);
        let phases = measurement.phases.iter().filter(|phase| phase.name != "load");
        let tapes = phases.map(|phase| format!("{} {}", phase.name, phase.tape_hash));
        assert!(tapes.eq(expected.iter().cloned()), "{}", any.text);
    }
    expected
}

/// The operations of these workloads never change. If the first number is another one, the
/// workloads themselves are others: another generator of them, or of random numbers.
const TAPES: (u64, u64) = (18_047_433_238_259_238_181, 15_458_178_438_493_589_939);

#[test]
fn workloads_of_one_seed_are_the_same_on_every_engine_and_machine() {
    let digest = |digest: u64, text: &String| xxh3_64_with_seed(text.as_bytes(), digest);
    let (mut texts, mut tapes) = (0, 0);
    for (any, spec) in fixed() {
        if !spec.phases.iter().any(is_timed) {
            let of_it = is_done_alike(&any, &spec);
            texts = digest(texts, &any.text);
            tapes = of_it.iter().fold(tapes, digest);
        }
    }
    assert_eq!((texts, tapes), TAPES);
}

#[test]
fn workloads_that_last_a_time_are_answered_as_expected() {
    let timed = |spec: &Spec| spec.phases.iter().any(is_timed);
    let fixed = fixed().into_iter().filter(|(_, spec)| timed(spec));
    std::thread::scope(|scope| {
        for (any, spec) in fixed {
            scope.spawn(move || is_done_alike(&any, &spec));
        }
    });
}

/// A workload that was answered wrongly once.
#[test]
fn upserts_of_hot_spots_by_two_threads_are_answered_as_expected() {
    let text = "title = \"Any\"\n[records]\ncount = 98\n\
                key = { type = \"text\", bytes = 20, made = \"sparse\" }\n\
                value = { uniform = [8, 40] }\n[[phase]]\nname = \"p0\"\nthreads = 2\n\
                operations = 302\nchoose = { hotspot = { keys = 0.5, operations = 0.5 } }\n\
                mix = { read = 1, missing = 1, update = 1, upsert = 3, read_modify_write = 2, \
                scan = 2 }\nscan = { rows = { uniform = [3, 30] } }\n";
    let any = Any { text: text.into(), threads: 2, kill: Kill::default() };
    is_done_alike(&any, &read(text));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]
    #[test]
    fn whatever_a_file_says_an_honest_engine_gives_the_expected_answers(any in any_workload()) {
        let spec = read(&any.text);
        if !spec.phases.iter().any(is_timed) {
            is_done_alike(&any, &spec);
        }
    }
}

/// Adds what a file has to what was found: the keys of its tables, and the words among which
/// it chose.
fn walk(path: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                // Columns have names of the file's own.
                let is_named = ["records.columns", "records.key.leading"].contains(&path);
                let key = if is_named { "*" } else { key };
                let path = if path.is_empty() { key.into() } else { format!("{path}.{key}") };
                found.insert(path.clone());
                walk(&path, value, found);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_table) => {
            values.iter().for_each(|value| walk(path, value, found));
        }
        Value::Array(_) => drop(found.insert(format!("{path}.list"))),
        Value::String(word) => drop(found.insert(format!("{path}.{word}"))),
        Value::Integer(_) | Value::Float(_) => drop(found.insert(format!("{path}.number"))),
        _ => {}
    }
}

/// Returns what the reader of files says it would take in place of `zzz`.
fn allowed(right: &str, wrong: &str) -> Vec<String> {
    let text = "title = \"Any\"\nsurvives = \"nothing\"\n[records]\ncount = 9\n\
                order = \"random\"\nkey = { type = \"u64\", made = \"dense\" }\n\
                value = { constant = 8 }\ncolumns = { c = { type = \"u32\", distinct = 9 } }\n\
                [[phase]]\nname = \"p\"\noperations = 9\nmix = { read = 1 }\n";
    assert!(text.contains(right), "{right}");
    let fault = file::parse(&text.replace(right, wrong)).expect_err(wrong).to_string();
    let (_, words) = fault.split_once("expected").unwrap_or_else(|| panic!("{fault}"));
    let words: Vec<_> = words.split('`').skip(1).step_by(2).map(String::from).collect();
    assert!(!words.is_empty(), "{fault}");
    words
}

#[test]
fn every_key_and_word_of_a_file_occurs_in_workloads_of_one_seed() {
    let mut found = BTreeSet::new();
    for (any, _) in fixed() {
        walk("", &any.text.parse().map(Value::Table).expect("a file"), &mut found);
    }
    let phase = "mix = { read = 1 }\n";
    for (path, right, wrong) in [
        ("", "title", "zzz = 1\ntitle"),
        ("survives", "\"nothing\"", "\"zzz\""),
        ("records", "count", "zzz = 1\ncount"),
        ("records.order", "\"random\"", "\"zzz\""),
        ("records.key", "made", "zzz"),
        ("records.key.type", "\"u64\"", "\"zzz\""),
        ("records.key.made", "\"dense\"", "\"zzz\""),
        ("records.key.leading.*", "made", "leading = { a = { zzz = 1 } }, made"),
        ("records.value", "constant", "zzz"),
        ("records.value.lognormal", "{ constant = 8 }", "{ lognormal = { zzz = 1 } }"),
        ("records.value.zipf", "{ constant = 8 }", "{ zipf = { zzz = 1 } }"),
        ("records.columns.*", "distinct", "zzz"),
        ("records.columns.*.type", "\"u32\"", "\"zzz\""),
        ("phase", "operations", "zzz"),
        ("phase.do", phase, "do = \"zzz\"\n"),
        ("phase.until", phase, "until = \"zzz\"\n"),
        ("phase.mix", phase, "mix = { zzz = 1 }\n"),
        ("phase.choose", phase, "choose = \"zzz\"\n"),
        ("phase.choose.hotspot", phase, "choose = { hotspot = { zzz = 1 } }\n"),
        ("phase.scan", phase, "scan = { zzz = 1 }\n"),
        ("phase.scan.rows", phase, "scan = { rows = { zzz = 1 } }\n"),
        ("phase.find", phase, "find = { zzz = 1 }\n"),
        ("phase.background", phase, "background = { zzz = 1 }\n"),
        ("phase.background.mix", phase, "background = { mix = { zzz = 1 } }\n"),
    ] {
        for word in allowed(right, wrong) {
            let path = [path, &word].into_iter().filter(|part| !part.is_empty());
            let path = path.collect::<Vec<_>>().join(".");
            assert!(found.contains(&path), "no workload has {path}; it has {found:?}");
        }
    }
    for path in [
        "threads.number",
        "threads.list",
        "rate.closed",
        "rate.number",
        "rate.list",
        "scan.columns.all",
        "scan.columns.list",
        "background.scan.columns.list",
    ] {
        assert!(found.contains(&format!("phase.{path}")), "no workload has phase.{path}");
    }
}

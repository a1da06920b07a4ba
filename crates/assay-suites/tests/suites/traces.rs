//! Tests traces: a run does what its trace says, and a lying engine is found out.

use std::io::Write;
use std::path::Path;

use assay_core::plan::Cell;
use assay_core::run_file::{Measurement, Status};
use assay_driver::{DeleteRule, Driver, InsertRule, KeyKind};
use assay_suites::options::Threads;
use assay_suites::trace::{self, Fit, FitOptions, Format, Options, Pace, Trace};
use assay_suites::workload::file;
use assay_suites::workload::spec::Choice;
use assay_suites::{Measured, run};
use assay_suites::{Suite, plain};
use proptest::prelude::*;

use crate::engine::{Fault, Faulty};
use crate::liar::{Liar, Lie};
use crate::others;

fn options(path: &Path, threads: u32) -> Options {
    Options {
        path: Some(path.into()),
        file: None,
        trace_format: None,
        threads: vec![Threads::one(threads)],
        pace: Pace::Fastest,
        prefill: false,
        skip_broken: false,
        first: None,
        facts: None,
    }
}

/// Returns the cell that replays a trace.
fn cell(options: Options) -> Cell {
    let parts = Trace::parts(options).unwrap_or_else(|why| panic!("{why:?}"));
    let part = parts.into_iter().next().expect("a cell");
    let threads = part.threads;
    Cell { threads, ..others::small("trace", part.rows, plain(&part.options)) }
}

/// Returns the end of a cell, after its store was closed and opened again.
fn ended(cell: &Cell, engine: &dyn Driver) -> (Status, Measurement) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let cell = Cell { dir: Some(folder.path().join("liar-disk")), ..cell.clone() };
    let Measured { status, mut measurement, left } =
        run::measure(&cell, engine, &mut |_| (), &mut |_, _| ());
    let Some(left) = left else { return (status, measurement) };
    let looked = run::look(&cell, engine, left);
    measurement.reopened = looked.compared;
    (looked.status, measurement)
}

/// Writes the trace of a workload of one phase.
fn written(folder: &Path, format: Format, mix: &str) -> std::path::PathBuf {
    let scan = if mix.contains("scan") { "scan = { rows = { uniform = [3, 30] } }" } else { "" };
    let text = format!(
        "title = \"Test\"\n[records]\ncount = 2000\nkey = {{ type = \"text\", bytes = 20 }}\n\
         value = {{ uniform = [8, 90] }}\n[[phase]]\nname = \"serve\"\noperations = 6000\n\
         mix = {mix}\nchoose = {{ zipfian = 0.9 }}\n{scan}\n"
    );
    let spec = file::parse(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    let path = folder.join("trace");
    let mut out = std::fs::File::create(&path).expect("a file");
    trace::generate(&spec, format, None, 1, &mut out).expect("it is written");
    path
}

const FORMATS: [Format; 4] = [Format::Twitter, Format::Metakv, Format::Rocksdb, Format::Csv];

const ALL: &str = "{ read = 30, missing = 5, update = 15, insert = 10, delete = 10, upsert = 10, \
                   read_modify_write = 10 }";

#[test]
fn an_honest_engine_replays_every_format_in_every_way() {
    for format in FORMATS {
        for (threads, prefill) in [(1, false), (1, true), (3, false), (3, true)] {
            let folder = tempfile::tempdir().expect("a directory");
            let path = written(folder.path(), format, ALL);
            let cell = cell(Options { prefill, ..options(&path, threads) });
            for key_kind in [KeyKind::Tree, KeyKind::Hash] {
                let cell = Cell { key_kind, ..cell.clone() };
                let (status, measurement) = ended(&cell, &Liar::with(Lie::None));
                assert_eq!(status, Status::Measured, "{format:?} {threads} {prefill}");
                let phase = measurement.phase("replay").expect("the phase");
                assert_eq!((phase.rounds[0].operations, phase.threads), (6_000, threads));
                assert!(phase.checked > 6_000 && measurement.reopened > 0);
                assert_eq!(measurement.phase("load").is_some(), prefill);
            }
        }
    }
}

#[test]
fn scans_find_what_is_there() {
    for format in [Format::Rocksdb, Format::Csv] {
        let folder = tempfile::tempdir().expect("a directory");
        let path = written(folder.path(), format, "{ scan = 2, insert = 1, delete = 1, read = 1 }");
        for prefill in [false, true] {
            let cell = cell(Options { prefill, ..options(&path, 1) });
            assert_eq!(ended(&cell, &Liar::with(Lie::None)).0, Status::Measured, "{format:?}");
            let hash = Cell { key_kind: KeyKind::Hash, ..cell };
            let why = "its keys have no order".to_string();
            assert_eq!(ended(&hash, &Liar::with(Lie::None)).0, Status::Unsupported(why));
        }
        let two = Trace::parts(options(&path, 2)).expect_err("scans have one thread");
        assert!(two.line().is_some_and(|line| line.contains("replayed by one thread")));
    }
}

#[test]
fn a_lie_is_found_out() {
    for (lie, mix) in [
        (Lie::DropsAWrite, "{ update = 1 }"),
        (Lie::DropsAWrite, "{ upsert = 1 }"),
        (Lie::DropsAWrite, "{ insert = 1 }"),
        (Lie::DropsAWrite, "{ read_modify_write = 1 }"),
        (Lie::ReturnsAnOldVersion, "{ read = 1, update = 1 }"),
        (Lie::ReturnsAnOldVersion, "{ read_modify_write = 1 }"),
        (Lie::SkipsARow, "{ scan = 1, insert = 1 }"),
        (Lie::RepeatsARow, "{ scan = 1, update = 1 }"),
        (Lie::FindsWhatIsAbsent, "{ missing = 1, upsert = 1 }"),
        (Lie::KeepsWhatWasDeleted, "{ delete = 1, upsert = 1 }"),
        (Lie::LosesARecordLater, "{ upsert = 1 }"),
        (Lie::ForgetsOnClose, "{ read = 1 }"),
    ] {
        let folder = tempfile::tempdir().expect("a directory");
        let path = written(folder.path(), Format::Csv, mix);
        for threads in [1, 3] {
            for key_kind in [KeyKind::Tree, KeyKind::Hash] {
                if mix.contains("scan") && (threads > 1 || key_kind == KeyKind::Hash) {
                    continue;
                }
                let prefill = lie != Lie::FindsWhatIsAbsent;
                let cell = cell(Options { prefill, ..options(&path, threads) });
                let (status, _) = ended(&Cell { key_kind, ..cell }, &Liar::with(lie));
                assert!(
                    matches!(status, Status::Wrong(_)),
                    "{lie:?}, {threads} threads, {key_kind}: {status:?} {mix}"
                );
            }
        }
    }
}

#[test]
fn an_engine_is_asked_for_what_it_has() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = written(folder.path(), Format::Csv, "{ upsert = 2, delete = 1, read = 1 }");
    let three = cell(options(&path, 3));
    let replacing = || Liar::with(Lie::None).with_rules(InsertRule::Replaces, DeleteRule::Silent);
    assert_eq!(ended(&three, &replacing()).0, Status::Measured);
    let alone = Faulty::with(Fault::None);
    let why = "it has one connection at a time".to_string();
    assert_eq!(ended(&three, &alone).0, Status::Unsupported(why));
    let one = cell(options(&path, 1));
    let why = "it has no delete".to_string();
    let inserting = Faulty::with(Fault::None).inserting_only();
    assert_eq!(ended(&one, &inserting).0, Status::Unsupported(why));
}

#[test]
fn a_trace_that_has_changed_is_not_replayed() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = written(folder.path(), Format::Csv, "{ upsert = 1 }");
    let cell = cell(options(&path, 1));
    let mut file = std::fs::File::options().append(true).open(&path).expect("the trace");
    writeln!(file, "9999.0,delete,1,,").expect("a line");
    let (status, _) = ended(&cell, &Liar::with(Lie::None));
    let Status::Failed(why) = status else { panic!("{status:?}") };
    assert!(why.contains("has changed since the run was planned"), "{why}");
}

#[test]
fn values_have_the_sizes_of_the_trace_even_the_smallest() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("small");
    let mut text = String::new();
    for second in 0..3_000 {
        let (key, size) = (second % 40, second % 11);
        let operation =
            ["add", "get", "set", "get", "cas", "incr", "get", "delete"][second / 40 % 8];
        text += &format!("{second},key,{key},7,{size},1,{operation},0\n");
    }
    std::fs::write(&path, text).expect("a file");
    for threads in [1, 2] {
        let (status, measurement) = ended(&cell(options(&path, threads)), &Liar::with(Lie::None));
        assert_eq!(status, Status::Measured);
        let kinds = &measurement.phase("replay").expect("the phase").latencies;
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.operation.as_str()).collect();
        assert_eq!(kinds, ["read", "insert", "upsert", "delete", "read_modify_write"]);
    }
}

/// Returns the file of the workload that is fitted to the trace of a workload, and the distances.
fn fitted(mix: &str, choose: &str, value: &str, prefill: bool) -> (String, String) {
    let text = format!(
        "title = \"Origin\"\n[records]\ncount = 2000\nkey = {{ type = \"text\", bytes = 30 }}\n\
         value = {value}\n[[phase]]\nname = \"serve\"\noperations = 100000\nrate = 5000\n\
         mix = {mix}\nchoose = {choose}\nscan = {{ rows = {{ uniform = [10, 20] }} }}\n"
    );
    let text = if mix.contains("scan") { text } else { text.replace("\nscan = ", "\n# ") };
    let spec = file::parse(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("origin.csv");
    let mut out = std::fs::File::create(&path).expect("a file");
    trace::generate(&spec, Format::Csv, None, 1, &mut out).expect("it is written");
    let options = FitOptions { path, trace_format: None, prefill, skip_broken: false, first: None };
    let Fit { text, distances } = trace::fit(&options).unwrap_or_else(|why| panic!("{why:?}"));
    (text, distances)
}

#[test]
fn the_trace_of_a_workload_fits_back_to_it() {
    for (mix, choose, exponent) in [
        ("{ read = 70, update = 20, insert = 10 }", "{ zipfian = 0.99 }", 0.99),
        ("{ read = 95, read_modify_write = 5 }", "{ zipfian = 1.3 }", 1.3),
        ("{ read = 50, upsert = 30, scan = 20 }", "{ zipfian = 0.6 }", 0.6),
        ("{ read = 50, update = 50 }", "\"uniform\"", 0.0),
    ] {
        let value = "{ lognormal = { median = 200, p99 = 2000, max = 5000 } }";
        let (text, distances) = fitted(mix, choose, value, true);
        let spec = file::parse(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
        let found = match spec.phases[0].choose {
            Choice::Zipfian(exponent) => exponent,
            Choice::Uniform => 0.0,
            other => panic!("{other:?}"),
        };
        assert!((found - exponent).abs() < 0.08, "{mix}: {exponent} and {found}");
        for line in distances.lines().skip(1).filter(|line| !line.starts_with("rate")) {
            let name = line[..14].trim();
            let distance: f64 = line[14..23].trim().parse().expect("a distance");
            assert!(distance < 0.05, "{mix}: {name}: {distances}");
        }
        assert!(
            distances.contains("rate") && distances.contains(" 5000 operations"),
            "{distances}"
        );
        assert!(text.contains("rate = 5000\n"), "{text}");
        // A record that is first written may as well be a new one.
        if !mix.contains("upsert") {
            assert!((1_850..=2_000).contains(&spec.records.count), "{text}");
        }
    }
}

#[test]
fn reads_of_what_was_never_written_are_of_absent_records_unless_filled_in() {
    let mix = "{ read = 1, missing = 1 }";
    let (text, _) = fitted(mix, "\"uniform\"", "{ constant = 100 }", false);
    assert!(text.contains("count = 0\n") && text.contains("mix = { missing = 100 }"), "{text}");
    let (text, _) = fitted(mix, "\"uniform\"", "{ constant = 100 }", true);
    assert!(text.contains("mix = { read = 100 }"), "{text}");
}

/// The operations never change: a figure of today is of the operations of next year.
#[test]
fn the_tapes_are_those_of_the_first_release() {
    let found = FORMATS.map(|format| {
        let folder = tempfile::tempdir().expect("a directory");
        let path = written(folder.path(), format, ALL);
        let hash = |threads| {
            let (_, measurement) = ended(&cell(options(&path, threads)), &Liar::with(Lie::None));
            measurement.phase("replay").map(|phase| phase.tape_hash.clone()).expect("the phase")
        };
        assert_eq!(hash(1), hash(3), "threads share the operations");
        hash(1)
    });
    assert_eq!(found, TAPES);
}

const TAPES: [&str; 4] =
    ["58b824d9f0e512ac", "d80c01deb248d048", "aa8a3370e533d953", "58b824d9f0e512ac"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]
    #[test]
    fn whatever_a_trace_says_an_honest_engine_gives_the_known_answers(
        lines in proptest::collection::vec((0..7_usize, 0..12_u32, 0..40_u32), 1..300),
        prefill: bool,
        threads in 1..4_u32,
    ) {
        let names = ["read", "insert", "update", "upsert", "delete", "read_modify_write", "scan"];
        let mut text = "time,operation,key,value_bytes,scan_rows\n".to_string();
        for (at, (kind, key, size)) in lines.iter().enumerate() {
            text += &format!("{at}.5,{},k{key},{size},{}\n", names[*kind], size + 1);
        }
        let scans = lines.iter().any(|(kind, ..)| *kind == 6);
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("any.csv");
        std::fs::write(&path, &text).expect("a file");
        let threads = if scans { 1 } else { threads };
        let cell = cell(Options { prefill, ..options(&path, threads) });
        let (status, _) = ended(&cell, &Liar::with(Lie::None));
        prop_assert_eq!(status, Status::Measured, "{}", text);
    }
}

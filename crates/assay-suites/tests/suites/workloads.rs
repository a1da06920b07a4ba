//! Workloads of files: what they say is done, and whoever lies is found out.

use std::cell::RefCell;

use assay_core::plan::Cell;
use assay_core::run_file::{Measurement, Status};
use assay_driver::{DeleteRule, Driver, Durability, InsertRule, KeyKind};
use assay_suites::workload::file;
use assay_suites::{Measured, run};
use proptest::prelude::*;
use serde_json::json;

use crate::engine::{Fault, Faulty};
use crate::liar::{Liar, Lie};
use crate::others;

fn cell(text: &str, threads: u32) -> Cell {
    let spec = file::parse(text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    let rows = spec.records.count;
    let options = json!({ "spec": text, "threads": [threads] });
    Cell { threads, ..others::small("workload", rows, options) }
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

/// Returns the end of a cell whose process is killed during an update after some others, which
/// takes effect or not.
fn killed(cell: &Cell, engine: &Liar, updates: u64, last_counts: bool) -> (Status, Measurement) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let cell = Cell { dir: Some(folder.path().join("liar-disk")), ..cell.clone() };
    let handed = RefCell::new(None);
    let farewell = &mut |measured, _| {
        engine.dies_after(updates, last_counts);
        *handed.borrow_mut() = Some(measured);
    };
    let mut so_far = Measurement::default();
    let mut end = run::measure(&cell, engine, &mut |_| (), farewell);
    while let Some(Measured { measurement, left, .. }) = handed.take() {
        engine.lives_again();
        so_far = so_far.then(measurement);
        end = run::resume(&cell, engine, left.expect("a store"), &mut |_| (), farewell);
    }
    let Measured { status, measurement, left } = end;
    let mut measurement = so_far.then(measurement);
    let Some(left) = left else { return (status, measurement) };
    let looked = run::look(&cell, engine, left);
    measurement.reopened = looked.compared;
    (looked.status, measurement)
}

/// Returns a workload of one phase.
fn phase(mix: &str, more: &str) -> String {
    sized(mix, more, "{ uniform = [8, 90] }")
}

fn sized(mix: &str, more: &str, value: &str) -> String {
    format!(
        "title = \"Test\"\n[records]\ncount = 2000\n\
         key = {{ type = \"u64\", made = \"sparse\" }}\nvalue = {value}\n[[phase]]\n\
         name = \"serve\"\nthreads = [1, 3]\noperations = 6000\nmix = {mix}\n{more}\n"
    )
}

const SCAN: &str = "scan = { rows = { uniform = [3, 30] } }";

/// Returns a workload of one phase that finds records by one of two columns.
fn finding(mix: &str, more: &str) -> String {
    indexed(mix, &format!("find = {{ by = \"owner\" }}\n{more}"))
}

/// Returns a workload of one phase on records with two columns, one with an index.
fn indexed(mix: &str, more: &str) -> String {
    let columns = "columns = { kind = { type = \"text\", bytes = 17, distinct = 7 }, \
                   owner = { type = \"u32\", distinct = 100, index = true } }\n[[phase]]";
    phase(mix, more).replace("[[phase]]", columns)
}

#[test]
fn records_are_found_by_a_column() {
    let all = "{ find = 30, read = 10, update = 15, insert = 10, delete = 10, upsert = 10, \
               read_modify_write = 5, scan = 10 }";
    for (more, value) in [("", "{ uniform = [8, 90] }"), ("transaction = 7", "{ constant = 8 }")] {
        let text = finding(all, &format!("{SCAN}\n{more}")) + REOPEN + HALF;
        let text = text.replace("{ uniform = [8, 90] }", value);
        for threads in [1, 3] {
            let engine = Liar::with(Lie::None);
            let (status, measurement) = ended(&cell(&text, threads), &engine);
            assert_eq!(status, Status::Measured, "{text} {threads}");
            let phase = measurement.phase("serve").expect("the phase");
            let finds = phase.latencies.iter().find(|of| of.operation == "serve find");
            assert!(finds.expect("the latency of finds").count > 1_000);
            let count = phase.rounds[0].operations;
            assert!(phase.checked > count + 100, "each value of the column is looked up too");
        }
    }
}

#[test]
fn an_honest_engine_is_measured_in_every_kind_of_phase() {
    let all = "{ read = 20, missing = 5, update = 15, insert = 10, delete = 10, upsert = 10, \
               read_modify_write = 10, scan = 10 }";
    for choose in [
        "\"uniform\"",
        "\"latest\"",
        "\"sequential\"",
        "\"oldest\"",
        "{ zipfian = 1.2 }",
        "{ hotspot = { keys = 0.1, operations = 0.9 } }",
        "{ exponential = 0.2 }",
    ] {
        for made in ["dense", "sparse", "hashed", "time"] {
            let text = phase(all, &format!("{SCAN}\nchoose = {choose}"));
            let text = text.replace("\"sparse\"", &format!("\"{made}\""));
            for threads in [1, 3] {
                let (status, measurement) = ended(&cell(&text, threads), &Liar::with(Lie::None));
                assert_eq!(status, Status::Measured, "{choose} {made} {threads}");
                let phase = measurement.phase("serve").expect("the phase");
                assert_eq!((phase.checked > 6_000, phase.threads), (true, threads));
                assert!(measurement.reopened > 0);
            }
        }
    }
}

#[test]
fn a_lie_is_found_out_in_each_kind_of_phase() {
    let counts = sized("{ increment = 1 }", "", "{ constant = 8 }");
    for (lie, text) in [
        (Lie::DropsAWrite, phase("{ update = 1 }", "")),
        (Lie::DropsAWrite, phase("{ insert = 1 }", "")),
        (Lie::DropsAWrite, phase("{ upsert = 1 }", "choose = \"latest\"")),
        (Lie::DropsAWrite, phase("{ read_modify_write = 1 }", "choose = { zipfian = 0.9 }")),
        (Lie::DropsAWrite, counts.clone()),
        (Lie::ReturnsAnOldVersion, phase("{ read = 1, update = 1 }", "")),
        (Lie::ReturnsAnOldVersion, phase("{ read_modify_write = 1 }", "")),
        (Lie::ReturnsAnOldVersion, counts.clone()),
        (Lie::SkipsARow, phase("{ scan = 1, insert = 1 }", SCAN)),
        (Lie::RepeatsARow, phase("{ scan = 1, update = 1 }", SCAN)),
        (Lie::FindMissesARecord, finding("{ find = 1, insert = 1 }", "")),
        (Lie::FindRepeatsARecord, finding("{ find = 1, update = 1 }", "")),
        (Lie::FindChangesAColumn, finding("{ find = 1, update = 1 }", "")),
        (Lie::FindsAnother, finding("{ find = 1, delete = 1 }", "")),
        (Lie::ReturnsAnOldVersion, finding("{ find = 1, update = 1 }", "")),
        (Lie::DropsAWrite, finding("{ find = 1, insert = 1 }", "")),
        (Lie::IndexMissesARecord, indexed("{ update = 1 }", "")),
        (Lie::ChangesAColumn, finding("{ find = 1, update = 9 }", "")),
        (Lie::CountsTwice, counts),
        (Lie::FindsWhatIsAbsent, phase("{ missing = 1 }", "")),
        (Lie::FindsWhatIsAbsent, phase("{ read = 1, delete = 3 }", "")),
        (Lie::KeepsWhatWasDeleted, phase("{ delete = 1, insert = 1 }", "choose = \"oldest\"")),
        (Lie::LosesARecordLater, phase("{ update = 1 }", "")),
        (Lie::ForgetsOnClose, phase("{ read = 1 }", "")),
    ] {
        for threads in [1, 3] {
            for key_kind in [KeyKind::Tree, KeyKind::Hash] {
                if key_kind == KeyKind::Hash && text.contains("scan") {
                    continue;
                }
                let cell = Cell { key_kind, ..cell(&text, threads) };
                let (status, _) = ended(&cell, &Liar::with(lie));
                // A find that lies once does so during the phase.
                let is_once = matches!(
                    lie,
                    Lie::FindMissesARecord
                        | Lie::FindRepeatsARecord
                        | Lie::FindChangesAColumn
                        | Lie::FindsAnother
                );
                let is_in_time = |why: &str| !(is_once && why.contains("opened again"));
                assert!(
                    matches!(&status, Status::Wrong(why) if is_in_time(why)),
                    "{lie:?}, {threads} threads, {key_kind}: {status:?} {text}"
                );
            }
        }
    }
}

#[test]
fn a_refused_transaction_is_done_again_and_counted() {
    let mix = "{ read = 3, update = 3, insert = 1, delete = 1, scan = 1 }";
    let text = phase(mix, &format!("{SCAN}\ntransaction = 10"));
    let mut hashes = Vec::new();
    for threads in [1, 3] {
        let cell = cell(&text, threads);
        let (status, honest) = ended(&cell, &Liar::with(Lie::None));
        assert_eq!(status, Status::Measured);
        let (status, refused) = ended(&cell, &Liar::with(Lie::None).refusing());
        assert_eq!(status, Status::Measured);
        let of = |measurement: &Measurement| {
            let phase = measurement.phase("serve").expect("the phase");
            (phase.conflicts, phase.tape_hash.clone(), phase.rounds[0].operations)
        };
        let ((none, tape, count), (some, again, recount)) = (of(&honest), of(&refused));
        assert_eq!((none, count), (0, recount));
        assert!(some > 60, "{some} of 600 and more transactions");
        assert_eq!(tape, again, "the operations are those of an engine that refuses none");
        assert!(refused.notes.iter().any(|note| note.contains("done again")));
        hashes.push(tape);
    }
    assert_ne!(hashes[0], hashes[1]);
}

#[test]
fn a_lie_about_a_transaction_is_found_out() {
    let mix = "{ read = 1, update = 1, insert = 1, delete = 1 }";
    for threads in [1, 3] {
        let cell = cell(&phase(mix, "transaction = 10"), threads);
        for lie in [Lie::DropsACommit, Lie::KeepsWhatWasRolledBack] {
            let (status, _) = ended(&cell, &Liar::with(lie).refusing());
            assert!(matches!(status, Status::Wrong(_)), "{lie:?}, {threads} threads: {status:?}");
        }
    }
}

const STEADY: &str = "until = \"steady\"\nwindow = 1\nlimit = 5";
const RECOVER: &str = "[[phase]]\nname = \"killed\"\ndo = \"recover\"\n";
const REOPEN: &str = "[[phase]]\nname = \"again\"\ndo = \"reopen\"\n";
const HALF: &str = "[[phase]]\nname = \"half\"\ndo = \"delete-half\"\nthreads = 2\nlimit = 0\n";

#[test]
fn a_phase_says_what_it_costs_in_space_and_what_its_store_was_like() {
    let text = phase("{ update = 9, delete = 1 }", "") + REOPEN + HALF;
    for threads in [1, 3] {
        let (status, measurement) = ended(&cell(&text, threads), &Liar::with(Lie::None));
        assert_eq!(status, Status::Measured);
        let only = |name: &str| {
            let phase = measurement.phase(name).expect("the phase");
            assert_eq!(phase.windows.len(), 1, "{name}");
            phase.windows[0]
        };
        let (load, serve, again, half) = (only("load"), only("serve"), only("again"), only("half"));
        // Keys of 8 bytes, values of 8 to 90.
        assert_eq!((load.operations, load.changed_bytes), (2_000, load.live_bytes));
        assert!((90_000..130_000).contains(&load.live_bytes), "{load:?}");
        assert!(serve.live_bytes < load.live_bytes && serve.operations == 6_000, "{serve:?}");
        assert!((250_000..450_000).contains(&serve.changed_bytes), "{serve:?}");
        assert_eq!((again.live_bytes, again.changed_bytes), (serve.live_bytes, 0));
        let there = measurement.phase("half").expect("the phase").rounds[0].operations;
        assert_eq!(half.changed_bytes, 8 * there, "a delete changes its key");
        let rest = half.live_bytes as f64 / again.live_bytes as f64;
        assert!((0.4..0.6).contains(&rest), "{rest}");
        for window in [load, serve, again, half] {
            assert_eq!(window.store_bytes, Some(4_096), "the liar's file");
            assert!(window.memory_bytes > 0);
        }
        let steps = &measurement.phase("again").expect("the phase").latencies;
        let steps: Vec<_> = steps.iter().map(|step| (&*step.operation, step.count)).collect();
        assert_eq!(steps, [("again close", 1), ("again open", 1), ("again first answer", 1)]);
    }
}

#[test]
fn a_phase_that_does_not_become_steady_says_so_and_is_checked() {
    let text = phase("{ update = 2, insert = 1, delete = 1, read = 1 }", STEADY);
    let text = text.replace("operations = 6000\n", "") + REOPEN;
    for threads in [1, 3] {
        let growing = Liar::with(Lie::None).growing();
        let (status, measurement) = ended(&cell(&text, threads), &growing);
        assert_eq!(status, Status::Measured, "the store is what all windows made of it");
        let phase = measurement.phase("serve").expect("the phase");
        let windows = phase.windows.len();
        assert_eq!(phase.steady, Some(false));
        assert!((2..=5).contains(&windows), "{windows} windows of a second or more");
        assert_eq!((phase.rounds.len(), phase.published_top), (windows, windows));
        let sum: u64 = phase.windows.iter().map(|window| window.operations).sum();
        let timed: u64 = phase.latencies.iter().map(|latency| latency.count).sum();
        assert_eq!(sum, timed, "latencies are those of all windows");
        let note = "serve: not steady after 0.1 minutes";
        assert!(measurement.notes.iter().any(|said| said == note), "{:?}", measurement.notes);
    }
}

#[test]
fn a_lie_is_found_out_in_phases_that_age_a_store() {
    let steady = phase("{ update = 1, insert = 1 }", STEADY).replace("operations = 6000\n", "");
    let with = |more: &str| phase("{ read = 1 }", "") + more;
    for (lie, text) in [
        (Lie::DropsAWrite, steady.clone()),
        (Lie::LosesARecordLater, steady),
        (Lie::ForgetsOnClose, with(REOPEN)),
        (Lie::KeepsWhatWasDeleted, with(HALF)),
    ] {
        for threads in [1, 3] {
            let (status, measurement) = ended(&cell(&text, threads), &Liar::with(lie));
            assert!(matches!(status, Status::Wrong(_)), "{lie:?}, {threads} threads: {status:?}");
            assert_eq!(measurement.reopened, 0, "{lie:?}: before the last look");
        }
    }
}

/// Phases before and after one in which the process is killed, and another such one.
fn with_kills() -> String {
    let again = RECOVER.replace("killed", "again");
    let after = "[[phase]]\nname = \"after\"\noperations = 900\nthreads = [1, 3]\n\
                 mix = { read = 3, update = 2, insert = 1 }\n";
    phase("{ update = 4, insert = 1, delete = 1 }", "") + RECOVER + after + &again
}

#[test]
fn phases_continue_after_a_kill_with_what_is_there() {
    for threads in [1, 3] {
        for key_kind in [KeyKind::Tree, KeyKind::Hash] {
            for (updates, last_counts) in [(0, false), (0, true), (40, false), (40, true)] {
                let cell = Cell { key_kind, ..cell(&with_kills(), threads) };
                let engine = Liar::with(Lie::None);
                let (status, measurement) = killed(&cell, &engine, updates, last_counts);
                assert_eq!(status, Status::Measured);
                let names = measurement.phases.iter().map(|phase| phase.name.as_str());
                let names: Vec<_> = names.collect();
                assert_eq!(names, ["load", "serve", "killed", "after", "again"]);
                let phase = measurement.phase("killed").expect("the phase");
                let steps = phase.latencies.iter().map(|step| step.operation.as_str());
                let steps: Vec<_> = steps.collect();
                assert_eq!(steps, ["killed open", "killed first answer"]);
                assert!(phase.checked > 1_500 && phase.windows.len() == 1, "{phase:?}");
                let writes = updates + 1;
                let note = format!("killed: killed after {writes} writes, of which 0 are lost");
                assert!(measurement.notes.contains(&note), "{:?}", measurement.notes);
                assert!(measurement.reopened > 1_500);
            }
        }
    }
}

#[test]
fn what_a_kill_must_not_lose_is_missed() {
    for (lie, said) in [
        (Lie::ForgetsWhenKilled, "was acknowledged at level commit, and lost"),
        (Lie::TearsWhenKilled, "and a write before it is lost"),
        (Lie::LosesARecordWhenKilled, "of an earlier phase, is lost"),
    ] {
        for threads in [1, 3] {
            let cell = cell(&with_kills(), threads);
            let (status, measurement) = killed(&cell, &Liar::with(lie), 40, false);
            let Status::Wrong(why) = status else { panic!("{lie:?}: {status:?}") };
            assert!(
                why.starts_with("after its process was killed: ") && why.contains(said),
                "{why}"
            );
            assert!(measurement.phase("serve").is_some() && measurement.phase("after").is_none());
        }
    }
    // A lie that is told before the kill.
    let (status, _) = killed(&cell(&with_kills(), 1), &Liar::with(Lie::DropsAWrite), 200, false);
    assert!(matches!(status, Status::Wrong(_)), "{status:?}");
}

#[test]
fn a_level_decides_what_a_kill_may_lose() {
    let at = |durability| Cell { durability, ..cell(&with_kills(), 3) };
    let forgets = || Liar::with(Lie::ForgetsWhenKilled).forgetful();
    let (status, measurement) = killed(&at(Durability::Periodic), &forgets(), 40, false);
    assert_eq!(status, Status::Measured, "the last write may be lost, and later ones are right");
    let note = "killed: killed after 41 writes, of which 1 are lost";
    assert!(measurement.notes.iter().any(|said| said == note), "{:?}", measurement.notes);
    let tears = Liar::with(Lie::TearsWhenKilled).forgetful();
    let (status, _) = killed(&at(Durability::Periodic), &tears, 40, false);
    assert!(matches!(status, Status::Wrong(_)), "but not one before it: {status:?}");
    let (status, measurement) = killed(&at(Durability::None), &forgets(), 40, false);
    assert_eq!(status, Status::Measured);
    let why = "its level none need not survive a killed process";
    assert_eq!(measurement.not_offered("killed"), Some(why));
    assert!(measurement.phase("after").is_some());
}

/// Returns a workload with something in the background, which does much at once.
fn with_background(mix: &str, behind: &str, more: &str) -> String {
    phase(mix, &format!("background = {{ mix = {behind}, rate = 1000000 }}\n{more}"))
}

#[test]
fn what_is_done_in_the_background_is_shown_apart_and_checked() {
    let behind = "{ update = 2, insert = 1, upsert = 1, delete = 1, read = 1, missing = 1 }";
    let mix = "{ read = 3, update = 3, insert = 1, delete = 1, scan = 1 }";
    let counted = with_background(mix, behind, SCAN);
    let counted = counted.replace("\"sparse\"", "\"dense\"");
    let steady = counted.replace("operations = 6000", STEADY);
    for (text, is_counted, most) in [(counted, true, 3), (steady, false, 1)] {
        for threads in (1..=most).step_by(2) {
            let (status, measurement) = ended(&cell(&text, threads), &Liar::with(Lie::None));
            assert_eq!(status, Status::Measured);
            let phase = measurement.phase("serve").expect("the phase");
            let latencies = phase.latencies.iter();
            let (apart, own): (Vec<_>, Vec<_>) =
                latencies.partition(|latency| latency.operation.starts_with("background "));
            let sum: u64 = own.iter().map(|latency| latency.count).sum();
            let windows: u64 = phase.windows.iter().map(|window| window.operations).sum();
            assert_eq!(sum, windows, "operations of the phase itself");
            assert!(!is_counted || sum == 6_000, "{sum}");
            assert_eq!(apart.len(), 6, "a latency for each kind");
            assert_eq!(phase.threads, threads);
            let note = |said: &String| said.starts_with("serve: in the background, ");
            // A phase that is counted takes less than a second, of which nothing is said.
            let is_said = measurement.notes.iter().any(note);
            assert!(is_counted || is_said, "{:?}", measurement.notes);
            assert!(measurement.reopened > 0);
        }
    }
}

#[test]
fn a_lie_in_the_background_is_found_out() {
    for (lie, mix, behind) in [
        (Lie::DropsAWrite, "{ read = 1 }", "{ update = 1 }"),
        (Lie::DropsAWrite, "{ read = 1 }", "{ insert = 1 }"),
        (Lie::LosesARecordLater, "{ read = 1 }", "{ upsert = 1 }"),
        (Lie::KeepsWhatWasDeleted, "{ read = 1 }", "{ delete = 1, insert = 1 }"),
        (Lie::FindsWhatIsAbsent, "{ update = 1 }", "{ missing = 1 }"),
        (Lie::ReturnsAnOldVersion, "{ read_modify_write = 1 }", "{ read = 1 }"),
    ] {
        for threads in [1, 3] {
            let text = with_background(mix, behind, "");
            let (status, _) = ended(&cell(&text, threads), &Liar::with(lie));
            assert!(matches!(status, Status::Wrong(_)), "{lie:?}, {threads} threads: {status:?}");
        }
    }
}

#[test]
fn a_background_takes_a_connection_of_its_own() {
    let text = with_background("{ read = 1 }", "{ update = 1 }", "");
    let why = "no phase of the workload: it has one connection at a time".to_string();
    let alone = Faulty::with(Fault::None);
    assert_eq!(ended(&cell(&text, 1), &alone).0, Status::Unsupported(why));
}

#[test]
fn blind_writes_and_inserts_that_replace_are_taken_for_what_they_are() {
    let engine = || Liar::with(Lie::None).with_rules(InsertRule::Replaces, DeleteRule::Silent);
    let text = phase("{ upsert = 2, delete = 1, read = 1 }", "");
    let (status, measurement) = ended(&cell(&text, 3), &engine());
    assert_eq!(status, Status::Measured);
    assert!(measurement.not_offered.is_empty());
    let refusing = Liar::with(Lie::None).with_rules(InsertRule::Refuses, DeleteRule::Silent);
    assert_eq!(ended(&cell(&text, 3), &refusing).0, Status::Measured);
}

#[test]
fn a_phase_that_an_engine_cannot_do_is_left_out_and_the_rest_is_measured() {
    let text = phase("{ update = 1 }", "")
        + "[[phase]]\nname = \"more\"\noperations = 100\nmix = { insert = 1, read = 1 }\n";
    let cell = cell(&text, 1);
    let (status, measurement) = ended(&cell, &Faulty::with(Fault::None).inserting_only());
    assert_eq!(status, Status::Measured);
    assert_eq!(measurement.not_offered.len(), 1);
    let left_out = &measurement.not_offered[0];
    assert_eq!((&*left_out.phase, &*left_out.why), ("serve", "it has no update"));
    assert!(measurement.phase("serve").is_none() && measurement.phase("more").is_some());
}

#[test]
fn a_workload_of_which_an_engine_can_do_nothing_is_not_begun() {
    let text = phase("{ read = 1 }", "");
    let alone = Faulty::with(Fault::None);
    let why = "no phase of the workload: it has one connection at a time".to_string();
    assert_eq!(ended(&cell(&text, 3), &alone).0, Status::Unsupported(why));
    assert_eq!(alone.opened(), 0);
    let both = text + "[[phase]]\nname = \"more\"\noperations = 9\nmix = { read = 1 }\n";
    let (status, measurement) = ended(&cell(&both, 3), &alone);
    assert_eq!((status, measurement.not_offered.len()), (Status::Measured, 1));
}

#[test]
fn records_that_an_engine_cannot_keep_are_no_failure_of_it() {
    let text = phase("{ read = 1 }", "");
    let fits = Liar::with(Lie::None).for_records_up_to(96);
    assert_eq!(ended(&cell(&text, 1), &fits).0, Status::Measured);
    let why = "records of up to 96 bytes without their key; it takes 95".to_string();
    let small = Liar::with(Lie::None).for_records_up_to(95);
    assert_eq!(ended(&cell(&text, 1), &small).0, Status::Unsupported(why));
}

/// The operations never change: a figure of today is of the operations of next year.
#[test]
fn the_tapes_are_those_of_the_first_release() {
    let all = "{ read = 20, missing = 5, update = 15, insert = 10, delete = 10, upsert = 10, \
               read_modify_write = 10, scan = 10 }";
    let mut found = Vec::new();
    for (choose, value) in [
        ("\"uniform\"", "{ uniform = [8, 90] }"),
        ("{ zipfian = 0.99 }", "{ lognormal = { median = 50, p99 = 400, max = 1000 } }"),
        ("\"latest\"", "{ zipf = { min = 8, max = 200, exponent = 1.5 } }"),
        ("{ exponential = 0.1 }", "{ histogram = [[10, 3], [90, 1]] }"),
    ] {
        let text = sized(all, &format!("{SCAN}\nchoose = {choose}"), value);
        let (status, measurement) = ended(&cell(&text, 3), &Liar::with(Lie::None));
        assert_eq!(status, Status::Measured);
        let faulty = Faulty::with(Fault::None);
        let (status, alone) = others::measured(&cell(&text, 1), &faulty);
        assert_eq!(status, Status::Measured);
        let hash = |measured: &Measurement| {
            measured.phase("serve").map(|phase| phase.tape_hash.clone()).expect("the phase")
        };
        found.push((hash(&measurement), hash(&alone)));
    }
    let found: Vec<_> = found.iter().map(|(three, one)| (three.as_str(), one.as_str())).collect();
    assert_eq!(found, TAPES);
}

const TAPES: [(&str, &str); 4] = [
    ("636d23e0ec629bb9", "70e6a2025bfb92d9"),
    ("3cbbe3ccb252d56c", "7253c97b07f8420a"),
    ("1c8233418d3a203e", "f76f73e0a2ab4fe2"),
    ("6708178bd1331762", "b7b8df561588d091"),
];

fn any_mix() -> impl Strategy<Value = String> {
    proptest::collection::vec(0..4_u32, 9).prop_filter_map("some operation", |shares| {
        let names = [
            "read",
            "missing",
            "update",
            "insert",
            "delete",
            "upsert",
            "read_modify_write",
            "scan",
            "find",
        ];
        let pairs: Vec<_> =
            names.iter().zip(&shares).map(|(name, share)| format!("{name} = {share}")).collect();
        (shares.iter().sum::<u32>() > 0).then(|| format!("{{ {} }}", pairs.join(", ")))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn whatever_a_file_says_an_honest_engine_gives_the_expected_answers(
        mixes in proptest::collection::vec(any_mix(), 1..4),
        count in 0..300_u64,
        made in prop::sample::select(vec!["dense", "sparse", "hashed", "time"]),
        choose in prop::sample::select(vec![
            "\"uniform\"", "\"latest\"", "\"oldest\"", "\"sequential\"", "{ zipfian = 1.0 }",
            "{ exponential = 0.05 }", "{ hotspot = { keys = 0.5, operations = 0.5 } }",
        ]),
        together in prop::sample::select(vec![1, 7]),
        threads in 1..4_u32,
        operations in 1..700_u64,
        more in prop::sample::select(vec!["", REOPEN, HALF]),
    ) {
        let mut text = format!(
            "title = \"Any\"\n[records]\ncount = {count}\nkey = {{ type = \"text\", bytes = 20, \
             made = \"{made}\" }}\nvalue = {{ uniform = [8, 40] }}\n\
             columns = {{ by = {{ type = \"u64\", distinct = 9, index = true }} }}\n"
        );
        for (number, mix) in mixes.iter().enumerate() {
            text += &format!(
                "[[phase]]\nname = \"p{number}\"\nthreads = {threads}\n\
                 operations = {operations}\nmix = {mix}\nchoose = {choose}\n\
                 transaction = {together}\n"
            );
            if !mix.contains("scan = 0") {
                text += &format!("{SCAN}\n");
            }
            if !mix.contains("find = 0") {
                text += "find = { by = \"by\" }\n";
            }
        }
        text += more;
        for engine in [Liar::with(Lie::None), Liar::with(Lie::None).refusing()] {
            let (status, measurement) = ended(&cell(&text, threads), &engine);
            prop_assert_eq!(status, Status::Measured, "{}", text);
            prop_assert_eq!(measurement.not_offered.len(), 0);
        }
    }
}

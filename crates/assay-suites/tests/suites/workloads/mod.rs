//! Tests workloads of files: a run does what its file says, and a lying engine is found out.

mod ageing;
mod any;
mod background;
mod generated;
mod lies;
mod planted;

use std::cell::RefCell;

use assay_core::plan::Cell;
use assay_core::run_file::{Measurement, Status};
use assay_driver::{DeleteRule, Driver, Durability, InsertRule, KeyKind};
use assay_suites::workload::file;
use assay_suites::{Measured, run};
use serde_json::json;

use crate::engine::{Fault, Faulty};
use crate::liar::{Kill, Liar, Lie};
use crate::others;

fn cell(text: &str, threads: u32) -> Cell {
    let spec = file::parse(text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    let rows = spec.records.count;
    let options = json!({ "spec": text, "threads": [threads] });
    let most = spec.phases.iter().map(|phase| match phase.threads[..] {
        [one] => one,
        _ => threads,
    });
    let threads = most.max().expect("a phase");
    Cell { threads, ..others::small("workload", rows, options) }
}

/// Returns the end of a cell, after its store was closed and opened again.
fn ended(cell: &Cell, engine: &dyn Driver) -> (Status, Measurement) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let cell = Cell { dir: Some(folder.path().join("liar-disk")), ..cell.clone() };
    looked(&cell, engine, run::measure(&cell, engine, &mut |_| (), &mut |_, _| ()))
}

/// Returns the end of a cell after another process looked at its store, if there is one.
fn looked(cell: &Cell, engine: &dyn Driver, end: Measured) -> (Status, Measurement) {
    let Measured { status, mut measurement, left } = end;
    let Some(left) = left else { return (status, measurement) };
    let looked = run::look(cell, engine, left);
    measurement.reopened = looked.compared;
    (looked.status, measurement)
}

/// Returns the end of a cell whose process is killed, each time that it asks for that.
fn killed(cell: &Cell, engine: &Liar, kill: Kill) -> (Status, Measurement) {
    let (end, measurement, _) = killed_often(cell, engine, kill);
    (end, measurement)
}

/// Returns also how many acknowledged updates each kill lost.
fn killed_often(cell: &Cell, engine: &Liar, kill: Kill) -> (Status, Measurement, Vec<u64>) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let cell = Cell { dir: Some(folder.path().join("liar-disk")), ..cell.clone() };
    let handed = RefCell::new(None);
    let farewell = &mut |measured, _| {
        engine.dies(kill);
        *handed.borrow_mut() = Some(measured);
    };
    let (mut so_far, mut lost) = (Measurement::default(), Vec::new());
    let mut end = run::measure(&cell, engine, &mut |_| (), farewell);
    let is_killed = |end: &Measured| match &end.status {
        Status::Failed(why) => why.contains("the process was killed"),
        _ => false,
    };
    while is_killed(&end) {
        let Measured { measurement, left, .. } = handed.take().expect("a farewell");
        lost.push(engine.lives_again());
        so_far = so_far.then(measurement);
        end = run::resume(&cell, engine, left.expect("a store"), &mut |_| (), farewell);
    }
    end.measurement = so_far.then(end.measurement);
    let (status, measurement) = looked(&cell, engine, end);
    (status, measurement, lost)
}

/// The records of these workloads, which are loaded before anything is false.
const LOADED: u64 = 2_000;

/// Returns a workload of one phase.
fn phase(mix: &str, more: &str) -> String {
    sized(mix, more, "{ uniform = [8, 90] }")
}

fn sized(mix: &str, more: &str, value: &str) -> String {
    format!(
        "title = \"Test\"\n[records]\ncount = {LOADED}\n\
         key = {{ type = \"u64\", made = \"sparse\" }}\nvalue = {value}\n[[phase]]\n\
         name = \"serve\"\nthreads = [1, 3]\noperations = 6000\nmix = {mix}\n{more}\n"
    )
}

const SCAN: &str = "scan = { rows = { uniform = [3, 30] } }";

/// Scans of some columns of [`indexed`] records.
const KEYS_ONLY: &str = "scan = { rows = { uniform = [3, 30] }, columns = [] }";
const OWNERS: &str = "scan = { rows = { uniform = [3, 30] }, columns = [\"owner\"] }";

/// Returns a workload of one phase on records with keys of three columns.
fn by_device(mix: &str, more: &str) -> String {
    let leading = "made = \"sparse\", leading = { site = { type = \"u32\", distinct = 3 }, \
                   device = { type = \"text\", bytes = 17, distinct = 7 } }";
    phase(mix, more).replace("made = \"sparse\"", leading)
}

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

const STEADY: &str = "until = \"steady\"\nwindow = 1\nlimit = 5";
const RECOVER: &str = "[[phase]]\nname = \"killed\"\ndo = \"recover\"\n";
const REOPEN: &str = "[[phase]]\nname = \"again\"\ndo = \"reopen\"\n";
const HALF: &str = "[[phase]]\nname = \"half\"\ndo = \"delete-half\"\nthreads = 2\nlimit = 0\n";

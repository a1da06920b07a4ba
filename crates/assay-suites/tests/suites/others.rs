//! The suites besides CrossBench: that their operations never change, and that a fault in what
//! they do is found out.

use std::collections::BTreeMap;

use assay_core::plan::{Cell, MemoryGrant, PageCache};
use assay_core::run_file::{Measurement, Status};
use assay_core::timing::Clock;
use assay_driver::{Durability, KeyKind, Storage};
use assay_suites::options::{Continuous, MostRepeats, Threads};
use assay_suites::run::{self, Looked};
use assay_suites::tonbo::{micro, read, write};
use assay_suites::ycsb::core_workload::Workload;
use assay_suites::{Measured, crossbench, nudb, plain, skvdb, ycsb};
use serde_json::Value;

use crate::engine::{Fault, Faulty, Files, LARGE_BYTES, RECORDED};

/// A cell of a suite with small options.
pub fn small(suite: &str, rows: u64, options: serde_json::Value) -> Cell {
    Cell {
        suite: suite.into(),
        revision: 1,
        engine: "faulty".into(),
        storage: Storage::Disk,
        durability: Durability::Commit,
        durability_wanted: Durability::Commit,
        key_kind: KeyKind::Tree,
        key_kind_named: false,
        rows,
        threads: 1,
        trial: 1,
        seed: 1,
        variant: String::new(),
        options,
        engine_options: BTreeMap::new(),
        engine_parameters: BTreeMap::new(),
        cpus: Vec::new(),
        page_cache: PageCache::Warm,
        memory: MemoryGrant::default(),
        dir: None,
        calibration: false,
    }
}

/// No round is repeated, so that an engine sees each operation once.
const ONCE: MostRepeats = MostRepeats { repeats: 0 };

fn nudb_options(batch_size: Option<u64>) -> nudb::Options {
    nudb::Options { fetches: Some(2_000), batch_size, repeats: ONCE, ..Default::default() }
}

fn nudb(batch_size: Option<u64>) -> Cell {
    small(nudb::ID, 8_000, plain(&nudb_options(batch_size)))
}

fn skvdb() -> Cell {
    let options = skvdb::Options {
        operations: 1_400,
        children: 50,
        entries: vec![2],
        repeats: ONCE,
        ..Default::default()
    };
    small(skvdb::ID, 1_400, plain(&options))
}

fn tonbo_write() -> Cell {
    let options = write_options();
    small(write::ID, options.rows(), plain(&options))
}

fn write_options() -> write::Options {
    write::Options { scale: 0.005, threads: vec![Threads::one(1)], ..Default::default() }
}

fn tonbo_read() -> Cell {
    let options = read::Options {
        ranges: 400,
        range_size: 10,
        threads: vec![Threads::one(1)],
        repeats: ONCE,
        ..Default::default()
    };
    small(read::ID, 4_000, plain(&options))
}

/// Samples of 1, 2, … 16 batches and more: however fast the machine is, the first operations
/// that are recorded are writes of the first phase.
fn tonbo_micro() -> Cell {
    const BATCH: u64 = 128;
    const SAMPLES: u64 = 16;
    const { assert!(SAMPLES * (SAMPLES + 1) / 2 * BATCH > RECORDED) };
    let batches = vec![BATCH, 1];
    let options = micro::Options {
        batches,
        warm_up: 0.001,
        measurement: 0.001,
        samples: SAMPLES,
        repeats: ONCE,
    };
    small(micro::ID, 0, plain(&options))
}

fn ycsb(letter: &str) -> Cell {
    let options = ycsb::Options {
        workload: vec![Workload::of(letter).expect("a workload")],
        operations: Some(3_000),
        field_count: Some(4),
        field_length: Some(20),
        repeats: ONCE,
        ..Default::default()
    };
    small(ycsb::ID, 2_000, plain(&options))
}

/// Returns a cell of YCSB's properties whose scans meet updates, and whose updates meet inserts.
fn mixed_ycsb() -> Cell {
    ycsb_of(["updateproportion=1", "insertproportion=1", "scanproportion=1"])
}

/// Returns a cell of YCSB's properties whose updates write whole records.
fn whole_ycsb() -> Cell {
    ycsb_of(["updateproportion=1", "readproportion=1", "writeallfields=true"])
}

fn ycsb_of(properties: [&str; 3]) -> Cell {
    let property = properties.map(|text| text.parse().expect("a property"));
    let options = ycsb::Options {
        workload: vec![Workload::CORE],
        property: property.into(),
        operations: Some(3_000),
        field_count: Some(4),
        field_length: Some(20),
        repeats: ONCE,
        ..Default::default()
    };
    small(ycsb::ID, 2_000, plain(&options))
}

/// Cells of the suites that have a clock which never stops.
pub fn of_clock(clock: Clock) -> [Cell; 3] {
    let continuous = Continuous { continuous: clock == Clock::Continuous };
    let crossbench = crossbench::Options { continuous, ..crossbench_options() };
    let nudb = nudb::Options { continuous, ..nudb_options(None) };
    let write = write::Options { continuous, ..write_options() };
    [
        small(crossbench::ID, 3_000, plain(&crossbench)),
        small(nudb::ID, 8_000, plain(&nudb)),
        small(write::ID, write.rows(), plain(&write)),
    ]
}

fn crossbench_options() -> crossbench::Options {
    crossbench::Options {
        query: 300,
        update: 300,
        delete: 1_000,
        keys: crossbench::Keys::Sparse,
        repeats: ONCE,
        ..Default::default()
    }
}

/// Returns the end of a cell on an engine.
pub fn measured(cell: &Cell, engine: &Faulty) -> (Status, Measurement) {
    measured_and_seen(cell, engine, &|left| run::look(left.0, engine, left.1))
}

/// Returns the end of a cell on an engine whose store is looked at by `look`.
fn measured_and_seen(
    cell: &Cell,
    engine: &Faulty,
    look: &dyn Fn((&Cell, Value)) -> Looked,
) -> (Status, Measurement) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let cell = Cell { dir: Some(folder.path().join("faulty-disk")), ..cell.clone() };
    let Measured { mut status, mut measurement, mut left } =
        run::measure(&cell, engine, &mut |_| (), &mut |_, _| ());
    while let Some(before) = left.take() {
        let looked = look((&cell, before));
        (status, left) = (looked.status, looked.left);
        measurement.reopened += looked.compared;
    }
    (status, measurement)
}

fn all() -> Vec<(String, Cell)> {
    let named = |name: &str, cell| (name.to_string(), cell);
    let mut cells = vec![
        named("nudb", nudb(None)),
        named("nudb in batches", nudb(Some(1_000))),
        named("skvdb", skvdb()),
        named("tonbo-write", tonbo_write()),
        named("tonbo-read", tonbo_read()),
        named("tonbo-micro", tonbo_micro()),
    ];
    cells.push(named("ycsb mixed", mixed_ycsb()));
    let lettered = ["a", "b", "c", "d", "e", "f"];
    cells.extend(lettered.map(|letter| (format!("ycsb {}", letter.to_uppercase()), ycsb(letter))));
    cells
}

#[test]
fn an_engine_without_faults_is_measured_by_every_suite() {
    for (name, cell) in all() {
        let (status, measurement) = measured(&cell, &Faulty::with(Fault::None));
        assert_eq!(status, Status::Measured, "{name}");
        assert!(!measurement.phases.is_empty());
        for phase in &measurement.phases {
            let operations: u64 = phase.rounds.iter().map(|round| round.operations).sum();
            assert!(operations > 0 && phase.checked > 0, "{name}: {phase:?}");
        }
    }
}

/// The first 10,000 operations that reach an engine, with their keys and values. A change of them
/// makes figures that cannot be compared with earlier ones: it is a new revision of the suite.
#[test]
fn the_operations_of_a_seed_never_change() {
    let options = crossbench_options();
    let mut cells = all();
    cells.push(("crossbench".into(), small(crossbench::ID, 3_000, plain(&options))));
    let mut found = Vec::new();
    for (name, cell) in &cells {
        let engine = Faulty::with(Fault::None);
        assert_eq!(measured(cell, &engine).0, Status::Measured, "{name}");
        let (operations, hash) = engine.recorded();
        let revision = assay_suites::find(&cell.suite).expect("a suite").revision();
        found.push(format!("{name}, revision {revision}: {operations} {hash:016x}"));
    }
    assert_eq!(found, PINNED);
}

const PINNED: [&str; 14] = [
    "nudb, revision 3: 10000 ed633861ab1bb057",
    "nudb in batches, revision 3: 10000 5863ad509a58cdb0",
    "skvdb, revision 3: 10000 c06c7127677faa0a",
    "tonbo-write, revision 2: 10000 ddcb4a67b6f5f1a9",
    "tonbo-read, revision 3: 10000 864ac6d3d7fcf955",
    "tonbo-micro, revision 2: 10000 e2b9dbc1b7b7a9d1",
    "ycsb mixed, revision 3: 10000 5296b24e526cef35",
    "ycsb A, revision 3: 10000 e4c8ab5bf556655d",
    "ycsb B, revision 3: 10000 9329c57cf060c788",
    "ycsb C, revision 3: 10000 b6306c0874988732",
    "ycsb D, revision 3: 10000 8b944bb16238efb0",
    "ycsb E, revision 3: 10000 ff3b89f394fc9dec",
    "ycsb F, revision 3: 10000 2a8382f75c6cdd7e",
    "crossbench, revision 2: 10000 f9d4cdab93438cb3",
];

#[test]
fn a_fault_in_what_a_suite_does_voids_its_cell() {
    let cases = [
        ("nudb", nudb(None), Fault::LosesAnInsert),
        ("nudb", nudb(None), Fault::FlipsABit),
        ("nudb in batches", nudb(Some(1_000)), Fault::ReturnsAnotherRecord),
        ("skvdb", skvdb(), Fault::FlipsABit),
        ("skvdb", skvdb(), Fault::ReturnsAnotherRecord),
        ("skvdb", skvdb(), Fault::ForgetsDeletes),
        ("skvdb", skvdb(), Fault::DeletesNothing),
        ("tonbo-write", tonbo_write(), Fault::LosesAnInsert),
        ("tonbo-write", tonbo_write(), Fault::ForgetsDeletes),
        ("tonbo-write", tonbo_write(), Fault::DropsCommits),
        ("tonbo-read", tonbo_read(), Fault::DropsCommits),
        ("tonbo-read", tonbo_read(), Fault::ScansBackward),
        ("tonbo-read", tonbo_read(), Fault::ScansPastTheEnd),
        ("tonbo-micro", tonbo_micro(), Fault::LosesAnInsert),
        ("tonbo-micro", tonbo_micro(), Fault::FlipsABit),
        ("ycsb A", ycsb("a"), Fault::IgnoresUpdates),
        ("ycsb A", ycsb("a"), Fault::UpdatesTheWrongColumn),
        ("ycsb B", ycsb("b"), Fault::FlipsABit),
        ("ycsb C", ycsb("c"), Fault::ReturnsAnotherRecord),
        ("ycsb D", ycsb("d"), Fault::LosesAnInsert),
        ("ycsb E", ycsb("e"), Fault::ScansBackward),
        ("ycsb E", ycsb("e"), Fault::IgnoresTheLimit),
        ("ycsb F", ycsb("f"), Fault::IgnoresUpdates),
        ("ycsb mixed", mixed_ycsb(), Fault::IgnoresUpdates),
        ("ycsb mixed", mixed_ycsb(), Fault::LosesAnInsert),
        ("ycsb mixed", mixed_ycsb(), Fault::ScansBackward),
        ("ycsb mixed", mixed_ycsb(), Fault::FlipsABit),
        ("ycsb whole", whole_ycsb(), Fault::TearsAnUpsert),
    ];
    for (name, cell, fault) in cases {
        let (status, _) = measured(&cell, &Faulty::with(fault));
        assert!(matches!(status, Status::Wrong(_)), "{name}, {fault:?}: {status:?}");
    }
}

/// Records that an engine has not kept are missed once the store is opened again, whatever it
/// answered before.
#[test]
fn a_store_that_forgets_on_closing_voids_its_cell() {
    let mut cells = all();
    cells.push(("crossbench".into(), small(crossbench::ID, 3_000, plain(&crossbench_options()))));
    let emptied = crossbench::Options { delete: 3_000, ..crossbench_options() };
    cells.push(("crossbench, emptied".into(), small(crossbench::ID, 3_000, plain(&emptied))));
    for (name, cell) in cells {
        let (status, _) = measured(&cell, &Faulty::with(Fault::ForgetsHalfOnClose));
        let Status::Wrong(why) = status else { panic!("{name}: {status:?}") };
        // This one opens its store again before it fetches.
        let found = why.starts_with("after the store was closed and opened again: ");
        assert!(found || name.starts_with("nudb"), "{name}: {why}");
        let (_, measurement) = measured(&cell, &Faulty::with(Fault::None));
        assert!(measurement.reopened > 0, "{name}: answers were compared");
    }
}

/// An engine that has its records in the memory of its process, and a file for the look of it.
#[test]
fn what_only_the_process_remembers_is_not_kept() {
    let mut cells = all();
    cells.push(("crossbench".into(), small(crossbench::ID, 3_000, plain(&crossbench_options()))));
    let emptied = crossbench::Options { delete: 3_000, ..crossbench_options() };
    cells.push(("crossbench, emptied".into(), small(crossbench::ID, 3_000, plain(&emptied))));
    for (name, cell) in cells {
        // Each process has another memory.
        let look = &|(cell, left): (&Cell, _)| run::look(cell, &Faulty::with(Fault::None), left);
        let (status, _) = measured_and_seen(&cell, &Faulty::with(Fault::None), look);
        let Status::Wrong(why) = status else { panic!("{name}: {status:?}") };
        assert!(why.starts_with("after the store was closed and opened again: "), "{name}: {why}");
    }
}

#[test]
fn an_engine_without_files_keeps_nothing() {
    for (name, cell) in all() {
        let (status, _) = measured(&cell, &Faulty::with(Fault::None).with_files(Files::None));
        let Status::Wrong(why) = status else { panic!("{name}: {status:?}") };
        assert!(why.contains("wrote nothing into the files of its store"), "{name}: {why}");
    }
}

/// The space at its fullest is what was there during a phase, or what closing has left, if that is
/// more.
#[test]
fn a_store_is_fullest_during_a_phase_or_when_it_is_closed() {
    let options = crossbench_options();
    let cell = small(crossbench::ID, 5_000, plain(&options));
    let bytes = |files| {
        let (status, measurement) = measured(&cell, &Faulty::with(Fault::None).with_files(files));
        assert_eq!(status, Status::Measured, "{files:?}");
        let resources = measurement.resources;
        let [peak, closed] = [resources.store_peak_bytes, resources.store_closed_bytes];
        [peak, closed].map(|bytes| bytes.expect("it is on disk"))
    };
    let [peak, closed] = bytes(Files::LargeForAWhile);
    assert!(peak >= LARGE_BYTES && closed < LARGE_BYTES, "{peak} {closed}");
    let [peak, closed] = bytes(Files::LargeOnClose);
    assert!(closed >= LARGE_BYTES && peak >= closed, "{peak} {closed}");
}

/// A figure of a cold page cache is of rounds that each found it cold.
#[test]
fn the_page_cache_is_dropped_before_each_round() {
    let mut cells = all();
    cells.push(("crossbench".into(), small(crossbench::ID, 3_000, plain(&crossbench_options()))));
    for (name, cell) in cells.into_iter().filter(|(name, _)| name != "tonbo-micro") {
        let cold = Cell { page_cache: PageCache::Cold, ..cell };
        let engine = Faulty::with(Fault::None);
        let (status, measurement) = measured(&cold, &engine);
        assert_eq!(status, Status::Measured, "{name}");
        let phases = measurement.phases.iter();
        let rounds = phases.map(|phase| phase.rounds.len() + usize::from(phase.timeline.is_some()));
        // In batches of `nudb`, inserts continue where the fetches stopped; other suites fill
        // first.
        let filling = if name == "nudb in batches" { 8 } else { 1 };
        let cooled = rounds.sum::<usize>() - filling;
        let volumes = if name == "skvdb" { 2 } else { 1 };
        // Each is opened at first, before each cold round, and once more in the end.
        assert_eq!(engine.opened(), volumes * (cooled as u64 + 2), "{name}");
    }
}

#[test]
fn an_engines_error_ends_every_suite_in_its_own_words() {
    for (name, cell) in all().into_iter().filter(|(name, _)| name != "skvdb") {
        let (status, _) = measured(&cell, &Faulty::with(Fault::Fails));
        let Status::Failed(why) = status else { panic!("{name}: {status:?}") };
        assert!(why.contains("out of cheese"), "{name}: {why}");
    }
}

/// A read asks all volumes that are mounted, not only the first, as in the original.
#[test]
fn every_mounted_volume_is_read() {
    let operations = |entries| {
        let options = skvdb::Options {
            operations: 70,
            children: 0,
            entries: vec![entries],
            repeats: ONCE,
            ..Default::default()
        };
        let engine = Faulty::with(Fault::None);
        let cell = small(skvdb::ID, 70, plain(&options));
        assert_eq!(measured(&cell, &engine).0, Status::Measured, "{entries} entries");
        engine.recorded().0
    };
    let of_one = operations(1);
    // Two phases write, two read, and what one removes was written before. It is looked at before
    // and after that, and once more in the end, with the seven properties of both records.
    assert_eq!(of_one, (6 + 3) * 70 + 2 * 7);
    assert_eq!([operations(2), operations(3)], [2 * of_one, 3 * of_one]);
}

#[test]
fn more_threads_than_connections_are_refused() {
    let mut cell = ycsb("a");
    cell.threads = 2;
    let (status, _) = measured(&cell, &Faulty::with(Fault::None));
    let Status::Unsupported(why) = status else { panic!("{status:?}") };
    assert!(why.contains("2 threads are more than it supports"), "{why}");
}

#[test]
fn options_of_another_suite_are_an_error_and_no_panic() {
    let foreign = small(nudb::ID, 100, skvdb().options);
    assert!(assay_suites::task(&foreign).is_err());
    let (status, measurement) = measured(&foreign, &Faulty::with(Fault::None));
    let names_the_option = matches!(&status, Status::Failed(why) if why.contains("--children"));
    assert!(names_the_option && measurement.phases.is_empty(), "{status:?}");
    let unknown = small("nosuch", 100, skvdb().options);
    let (status, _) = measured(&unknown, &Faulty::with(Fault::None));
    let names_the_suite = matches!(&status, Status::Unsupported(why) if why.contains("nosuch"));
    assert!(names_the_suite, "{status:?}");
}

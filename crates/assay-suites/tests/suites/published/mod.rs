//! The published form of each suite, letter by letter: from a run file made by hand, with figures
//! from the published samples where there are some.

mod crossbench;
mod nudb;
mod skvdb;
mod tonbo;
mod ycsb;

use std::collections::BTreeMap;

use assay_core::environment::{Build, Environment};
use assay_core::plan::{Cell, MemoryGrant, PageCache};
use assay_core::run_file::{CellResult, Measurement, Phase, Round, RunFile, Status};
use assay_driver::{Durability, KeyKind, Storage};
use assay_suites::ycsb::core_workload::Workload;

fn cell(suite: &str, engine: &str, rows: u64, options: &impl serde::Serialize) -> Cell {
    Cell {
        suite: suite.into(),
        revision: assay_suites::find(suite).expect("a suite").revision(),
        engine: engine.into(),
        storage: Storage::Disk,
        durability: Durability::Periodic,
        durability_wanted: Durability::Periodic,
        key_kind: KeyKind::Tree,
        key_kind_named: false,
        rows,
        threads: 1,
        trial: 1,
        seed: 1,
        variant: String::new(),
        options: serde_json::to_value(options).expect("plain data"),
        engine_options: BTreeMap::new(),
        engine_parameters: BTreeMap::new(),
        cpus: Vec::new(),
        page_cache: PageCache::Warm,
        memory: MemoryGrant::default(),
        dir: None,
        calibration: false,
    }
}

/// A phase of rounds with this number of operations, which took these microseconds.
fn phase(name: &str, operations: u64, times_us: &[u64], published_top: usize) -> Phase {
    let round = |us: &u64| Round { operations, time_ns: us * 1_000, usage: None };
    let rounds = times_us.iter().map(round).collect();
    Phase { name: name.into(), rounds, published_top, threads: 1, ..Phase::default() }
}

fn result(cell: Cell, engine_name: &str, phases: Vec<Phase>) -> CellResult {
    let measurement =
        Measurement { engine_name: engine_name.into(), phases, ..Measurement::default() };
    let started = jiff::Timestamp::UNIX_EPOCH;
    let status = Status::Measured;
    CellResult { cell, started, whole_ns: None, status, refuted: None, held: None, measurement }
}

fn run(cells: Vec<CellResult>) -> RunFile {
    let build = Build {
        version: "0.0.0".into(),
        rustc: "rustc".into(),
        target: "target".into(),
        opt_level: "3".into(),
        engines: Vec::new(),
    };
    let mut run = RunFile::new(Vec::new(), build, Environment::capture(), cells.len());
    run.cells = cells;
    run
}

fn published(run: &RunFile) -> String {
    let suite = assay_suites::find(&run.cells[0].cell.suite).expect("a suite");
    suite.published_text(run, "run").expect("text")
}

#[test]
fn no_published_form_makes_a_rate_of_no_time() {
    use assay_suites::{crossbench, nudb, skvdb, ycsb};

    let workload = Workload::of("c").into_iter().collect();
    let options = ycsb::Options { workload, ..Default::default() };
    let cell_of = |suite: &str| match suite {
        skvdb::ID => {
            let options = skvdb::Options { entries: vec![1], ..Default::default() };
            (cell(suite, "quick", 10, &options), "write, one record")
        }
        nudb::ID => {
            let options = nudb::Options { batch_size: Some(100), ..Default::default() };
            (cell(suite, "quick", 100, &options), "fetch")
        }
        crossbench::ID => (cell(suite, "quick", 10, &crossbench::Options::default()), "insert"),
        _ => (cell(suite, "quick", 10, &options), "run"),
    };
    for suite in [crossbench::ID, nudb::ID, skvdb::ID, ycsb::ID] {
        let (cell, name) = cell_of(suite);
        let text = published(&run(vec![result(cell, "Quick", vec![phase(name, 10, &[0], 1)])]));
        assert!(text.contains('–'), "{suite}: {text}");
        assert!(text.contains("less than a microsecond"), "{suite}: {text}");
    }
}

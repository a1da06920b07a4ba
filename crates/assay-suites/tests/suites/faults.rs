//! The checks that must find a faulty engine out: the checked rounds of the suites, and `verify`.

use std::collections::BTreeMap;

use assay_core::crew::Pace;
use assay_core::latency::Stopwatch;
use assay_core::plan::{Cell, MemoryGrant, PageCache};
use assay_core::run_file::{Measurement, Status};
use assay_core::tape::{Order, Population, Records, Tape};
use assay_core::timing::{Action, Clock, Round};
use assay_driver::{Connection, Driver, Durability, Endpoint, KeyKind, OpenSpec, Storage};
use assay_suites::crossbench::route::Routes;
use assay_suites::crossbench::{CrossBench, Fill, Keys, Options};
use assay_suites::options::MostRepeats;
use assay_suites::{Suite, verify};

use crate::engine::{Fault, Faulty};
use crate::others;

/// The failure that `verify` names, if any.
fn verified(fault: Fault) -> Option<String> {
    first_failure(checks(&Faulty::with(fault)))
}

/// Returns the findings of `verify` about an engine.
fn checks(engine: &Faulty) -> Vec<verify::Check> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let job = verify::Job {
        engine: "faulty".into(),
        storage: Storage::Disk,
        durability: Durability::Commit,
        key_kind: KeyKind::Tree,
        dir: folder.path().join("stores"),
        parameters: BTreeMap::new(),
        seed: 1,
    };
    let checks = verify::run(&job, engine);
    assert!(!checks.is_empty());
    checks
}

fn first_failure(checks: Vec<verify::Check>) -> Option<String> {
    checks.into_iter().find_map(|check| match check.verdict {
        verify::Verdict::Failed(why) => Some(format!("{}: {why}", check.name)),
        _ => None,
    })
}

/// Rows of a cell of CrossBench.
const ROWS: u64 = 1_000;

/// Returns the end of a cell of CrossBench.
fn measured(fault: Fault, fill: Fill) -> Status {
    let options = Options {
        query: 500,
        update: 500,
        delete: 500,
        repeats: MostRepeats { repeats: 0 },
        ..Options::default().filled_by(fill, ROWS)
    };
    cell_of(fault, &options).0
}

/// Returns the end of a cell of CrossBench with these options.
fn cell_of(fault: Fault, options: &Options) -> (Status, Measurement) {
    let cell = Cell {
        suite: "crossbench".into(),
        revision: 1,
        engine: "faulty".into(),
        storage: Storage::Disk,
        durability: Durability::Commit,
        durability_wanted: Durability::Commit,
        key_kind: KeyKind::Tree,
        key_kind_named: false,
        rows: ROWS,
        threads: 1,
        trial: 1,
        seed: 1,
        variant: CrossBench::variant(options),
        options: serde_json::to_value(options).expect("plain data"),
        engine_options: BTreeMap::new(),
        engine_parameters: BTreeMap::new(),
        cpus: Vec::new(),
        page_cache: PageCache::Warm,
        memory: MemoryGrant::default(),
        dir: None,
        calibration: false,
    };
    others::measured(&cell, &Faulty::with(fault))
}

#[test]
fn verify_passes_an_engine_without_faults() {
    assert_eq!(verified(Fault::None), None);
}

#[test]
fn an_engine_that_only_inserts_is_verified_by_what_it_has() {
    let found = checks(&Faulty::with(Fault::None).inserting_only());
    let skipped: Vec<_> = found
        .iter()
        .filter_map(|check| match &check.verdict {
            verify::Verdict::Skipped(why) if check.name.ends_with("(mixed)") => Some(why.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(skipped, ["update", "delete", "lookups of several keys at once"]);
    assert_eq!(first_failure(found), None);
    for fault in [Fault::LosesAnInsert, Fault::AcceptsDuplicates, Fault::FindsEverything] {
        let found = first_failure(checks(&Faulty::with(fault).inserting_only()));
        assert!(found.is_some(), "{fault:?} was not found out");
    }
}

#[test]
fn verify_names_every_fault() {
    for fault in Fault::ALL {
        let failure = verified(fault).unwrap_or_else(|| panic!("{fault:?} was not found out"));
        let names = match fault {
            Fault::AcceptsDuplicates => "duplicate key (route): second insert of row 200",
            Fault::KeepsRolledBack => "transaction rollback (route)",
            Fault::DropsCommits => "transaction commit (route)",
            Fault::ScansBackward | Fault::ScansPastTheEnd | Fault::IgnoresTheLimit => {
                "ordered scan (route): scan"
            }
            Fault::ForgetsOnClose | Fault::ForgetsHalfOnClose => {
                "reopen with everything there (route)"
            }
            Fault::Fails => "out of cheese",
            _ => "(route)",
        };
        assert!(failure.contains(names), "{fault:?}: {failure}");
    }
}

#[test]
fn verify_names_the_faults_of_indexes() {
    for fault in Fault::OF_INDEXES {
        let failure = verified(fault).unwrap_or_else(|| panic!("{fault:?} was not found out"));
        for words in ["10,000 random operations (indexed)", "find by "] {
            assert!(failure.contains(words), "{fault:?}: {failure}");
        }
    }
}

#[test]
fn a_cell_of_an_engine_without_faults_is_measured() {
    assert_eq!(measured(Fault::None, Fill::Insert), Status::Measured);
    assert_eq!(measured(Fault::None, Fill::Load), Status::Measured);
}

#[test]
fn a_wrong_answer_voids_the_cell() {
    let wrong = |fault, words: &str| match measured(fault, Fill::Insert) {
        Status::Wrong(why) => assert!(why.contains(words), "{fault:?}: {why}"),
        other => panic!("{fault:?}: {other:?}"),
    };
    wrong(Fault::LosesAnInsert, "is missing after it was written");
    wrong(Fault::FlipsABit, "column nexthop: expected");
    wrong(Fault::ReturnsAnotherRecord, "column nexthop: expected");
    wrong(Fault::IgnoresUpdates, "column birth: expected");
    wrong(Fault::UpdatesTheWrongColumn, "column nexthop: expected");
    wrong(Fault::ForgetsDeletes, "is still there after its deletion");
    wrong(Fault::FindsEverything, "is still there after its deletion");
    assert!(matches!(measured(Fault::DropsCommits, Fill::Load), Status::Wrong(_)));
}

#[test]
fn latencies_have_rounds_of_their_own() {
    let options = Options {
        query: 400,
        update: 300,
        delete: 200,
        repeats: MostRepeats { repeats: 0 },
        latency: true,
        ..Options::default().filled_by(Fill::Load, ROWS)
    };
    let (status, measurement) = cell_of(Fault::None, &options);
    assert_eq!(status, Status::Measured);
    for (name, count) in [("query", 400), ("update", 300), ("insert", 200), ("delete", 200)] {
        let phase = measurement.phase(name).expect("a phase");
        assert_eq!(phase.latencies.len(), 1, "{name}");
        let latency = &phase.latencies[0];
        assert_eq!((latency.operation.as_str(), latency.count), (name, count));
        assert!(latency.min_ns <= latency.p50_ns && latency.p9999_ns <= Some(latency.max_ns));
        let intervals = &phase.timeline.as_ref().expect("a timeline").intervals;
        assert_eq!(intervals.iter().map(|i| i.operations).sum::<u64>(), count);
    }
}

/// Runs a round that is timed one by one, on 500 routes that are there (or for inserts are not).
fn one_by_one(fault: Fault, action: Action) -> Result<u64, String> {
    let routes = Routes::new(Keys::Dense, 1);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let spec = OpenSpec {
        endpoint: Endpoint::Directory(folder.path().into()),
        create: true,
        storage: Storage::Disk,
        durability: Durability::Commit,
        key_kind: KeyKind::Tree,
        schema: routes.schema().clone(),
        expected_rows: 500,
        threads: 1,
        cache_bytes: None,
        volumes: None,
        parameters: BTreeMap::new(),
    };
    let store = Faulty::with(fault).open(&spec).expect("it opens");
    let mut ended = Err("it was not called".into());
    let work = &mut |connection: &mut dyn Connection| {
        let population = Population::all(500);
        let rows = population.rows();
        let mut record = vec![0; routes.schema().record_size()];
        for row in (0..500).filter(|_| action != Action::Insert) {
            let (key, payload) = record.split_at_mut(routes.schema().key_size());
            routes.key(row, key);
            routes.payload(row, 0, payload);
            connection.insert(&record)?;
        }
        let round = Round {
            connection,
            pace: &mut Pace::alone(),
            records: &routes,
            rows: &rows,
            tape: &Tape::new(Order::Permutation, 1, 500),
            positions: 0..500,
            clock: Clock::Stops,
            check: true,
            progress: &mut |_| (),
        };
        let done = round.one_by_one(action, Stopwatch::new(1, None));
        ended = done.map(|(timed, _)| timed.checked).map_err(|e| e.to_string());
        Ok(())
    };
    store.connect(work).expect("the rows are there");
    ended
}

#[test]
fn answers_are_checked_while_latencies_are_taken() {
    let query = Action::Query { ignored: None };
    let birth = Routes::new(Keys::Dense, 1).schema().position("birth").expect("a birth");
    let update = Action::Update { column: birth, version: 1 };
    for (action, checked) in
        [(Action::Insert, 1_000), (query, 500), (update, 1_000), (Action::Delete, 1_000)]
    {
        assert_eq!(one_by_one(Fault::None, action), Ok(checked), "{action:?}");
    }
    for (fault, action, words) in [
        (Fault::LosesAnInsert, Action::Insert, "is missing after it was written"),
        (Fault::FlipsABit, query, "column nexthop: expected"),
        (Fault::ReturnsAnotherRecord, query, "column nexthop: expected"),
        (Fault::IgnoresUpdates, update, "column birth: expected"),
        (Fault::ForgetsDeletes, Action::Delete, "is still there after its deletion"),
        (Fault::Fails, Action::Insert, "insert: out of cheese"),
    ] {
        let why = one_by_one(fault, action).expect_err(&format!("{fault:?}"));
        assert!(why.contains(words), "{fault:?}: {why}");
    }
}

#[test]
fn an_engines_error_fails_the_cell_in_its_own_words() {
    let status = measured(Fault::Fails, Fill::Insert);
    assert_eq!(status, Status::Failed("insert: out of cheese".into()));
}

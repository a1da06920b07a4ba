//! The checks that must find a faulty engine out: the checked rounds of the suites, and `verify`.

use std::collections::BTreeMap;

use assay_core::driver::{Durability, KeyKind, Storage};
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::Status;
use assay_suites::crossbench::{Fill, Keys, Options};
use assay_suites::{cell, verify};

use crate::engine::{Fault, Faulty};

/// The failure that `verify` names, if any.
fn verified(fault: Fault) -> Option<String> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let job = verify::Job {
        engine: "faulty".into(),
        storage: Storage::Disk,
        durability: Durability::Commit,
        key_kind: KeyKind::Tree,
        dir: folder.path().join("stores"),
        options: BTreeMap::new(),
        parameters: BTreeMap::new(),
        seed: 1,
    };
    let checks = verify::run(&job, &Faulty::with(fault));
    assert!(!checks.is_empty());
    checks.into_iter().find_map(|check| match check.verdict {
        verify::Verdict::Failed(why) => Some(format!("{}: {why}", check.name)),
        _ => None,
    })
}

/// How a cell of CrossBench ends.
fn measured(fault: Fault, fill: Fill) -> Status {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let options = Options {
        fill,
        query: 500,
        update: 500,
        delete: 500,
        sequential: false,
        keys: Keys::Dense,
    };
    let cell = Cell {
        suite: "crossbench".into(),
        engine: "faulty".into(),
        storage: Storage::Disk,
        durability: Durability::Commit,
        durability_wanted: Durability::Commit,
        key_kind: KeyKind::Tree,
        rows: 1_000,
        threads: 1,
        trial: 1,
        seed: 1,
        variant: options.variant(),
        options: serde_json::to_value(&options).expect("plain data"),
        engine_options: BTreeMap::new(),
        engine_parameters: BTreeMap::new(),
        cpus: Vec::new(),
        page_cache: PageCache::Warm,
        dir: Some(folder.path().join("faulty-disk")),
        calibration: false,
    };
    cell::run(&cell, &Faulty::with(fault), &mut |_| ()).0
}

#[test]
fn verify_passes_an_engine_without_faults() {
    assert_eq!(verified(Fault::None), None);
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
            Fault::ForgetsOnClose => "reopen with everything there (route)",
            Fault::Fails => "out of cheese",
            _ => "(route)",
        };
        assert!(failure.contains(names), "{fault:?}: {failure}");
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
    wrong(Fault::AnswersAnotherRecord, "column nexthop: expected");
    wrong(Fault::IgnoresUpdates, "column birth: expected");
    wrong(Fault::UpdatesTheWrongColumn, "column nexthop: expected");
    wrong(Fault::ForgetsDeletes, "is still there after its deletion");
    wrong(Fault::FindsEverything, "is still there after its deletion");
    assert!(matches!(measured(Fault::DropsCommits, Fill::Load), Status::Wrong(_)));
}

#[test]
fn an_engines_error_fails_the_cell_in_its_own_words() {
    let status = measured(Fault::Fails, Fill::Insert);
    assert_eq!(status, Status::Failed("insert: out of cheese".into()));
}

//! An engine that can be told to go wrong in one way, and the checks that must find it out: the
//! checked rounds of a suite, and `verify`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_core::driver::{
    Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};
use assay_core::error::{Error, Result};
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::Status;
use assay_core::schema::{KeyOrder, Schema};
use assay_suites::crossbench::{Fill, Keys, Options};
use assay_suites::{cell, verify};

/// What the engine does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    LosesAnInsert,
    AcceptsDuplicates,
    AnswersAnotherRecord,
    FlipsABit,
    FindsEverything,
    IgnoresUpdates,
    UpdatesTheWrongColumn,
    ForgetsDeletes,
    KeepsRolledBack,
    DropsCommits,
    ScansBackward,
    ScansPastTheEnd,
    IgnoresTheLimit,
    ForgetsOnClose,
    Fails,
}

impl Fault {
    const ALL: [Self; 15] = [
        Self::LosesAnInsert,
        Self::AcceptsDuplicates,
        Self::AnswersAnotherRecord,
        Self::FlipsABit,
        Self::FindsEverything,
        Self::IgnoresUpdates,
        Self::UpdatesTheWrongColumn,
        Self::ForgetsDeletes,
        Self::KeepsRolledBack,
        Self::DropsCommits,
        Self::ScansBackward,
        Self::ScansPastTheEnd,
        Self::IgnoresTheLimit,
        Self::ForgetsOnClose,
        Self::Fails,
    ];
}

type Content = BTreeMap<Vec<u8>, Vec<u8>>;
type Disk = Arc<Mutex<BTreeMap<PathBuf, Content>>>;

struct Faulty {
    fault: Fault,
    /// What closed stores hold, by directory.
    disk: Disk,
}

static PROFILE: Profile = Profile {
    id: "faulty",
    name: "Faulty",
    about: "a map that goes wrong when told to",
    key_kinds: &[KeyKind::Tree],
    levels: &[(Storage::Disk, &[Durability::Commit])],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Refuses,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::OneConnection,
    options: &[],
    parameters: &[],
    keeps_data: true,
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Driver for Faulty {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok("1".into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let content = match spec.create {
            true => Content::new(),
            false => lock(&self.disk).get(&spec.dir).cloned().unwrap_or_default(),
        };
        Ok(Box::new(FaultyStore {
            fault: self.fault,
            schema: spec.schema.clone(),
            dir: spec.dir.clone(),
            disk: Arc::clone(&self.disk),
            content: Mutex::new(content),
        }))
    }
}

struct FaultyStore {
    fault: Fault,
    schema: Schema,
    dir: PathBuf,
    disk: Disk,
    content: Mutex<Content>,
}

impl Store for FaultyStore {
    fn settings(&self) -> Vec<String> {
        Vec::new()
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        work(&mut FaultyConnection {
            fault: self.fault,
            schema: &self.schema,
            order: KeyOrder::new(&self.schema),
            content: &mut lock(&self.content),
            before: None,
            operations: 0,
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        let mut content = lock(&self.content).clone();
        if self.fault == Fault::ForgetsOnClose {
            content.pop_last();
        }
        lock(&self.disk).insert(self.dir.clone(), content);
        Ok(())
    }
}

struct FaultyConnection<'s> {
    fault: Fault,
    schema: &'s Schema,
    order: KeyOrder,
    content: &'s mut Content,
    before: Option<Content>,
    operations: u64,
}

impl FaultyConnection<'_> {
    fn encoded(&self, key: &[u8]) -> Vec<u8> {
        let mut encoded = vec![0; self.order.size()];
        self.order.encode(key, &mut encoded);
        encoded
    }

    /// Whether to go wrong now: not at once, so that the checks have to look at every answer.
    fn strikes(&mut self, fault: Fault) -> bool {
        self.operations += u64::from(self.fault == fault);
        self.fault == fault && self.operations.is_multiple_of(7)
    }
}

impl Connection for FaultyConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.before = Some(self.content.clone());
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.before.take() {
            Some(before) if self.fault == Fault::DropsCommits => *self.content = before,
            _ => {}
        }
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        match self.before.take() {
            Some(before) if self.fault != Fault::KeepsRolledBack => *self.content = before,
            _ => {}
        }
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let key = self.encoded(record);
        if self.content.contains_key(&key) && self.fault != Fault::AcceptsDuplicates {
            return Ok(Outcome::Duplicate);
        }
        if self.strikes(Fault::Fails) {
            return Err(Error::engine("insert", "out of cheese"));
        }
        if !self.strikes(Fault::LosesAnInsert) {
            self.content.insert(key, record[self.schema.key_size()..].to_vec());
        }
        Ok(Outcome::Done)
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let key = self.encoded(key);
        let Some(found) = self.content.get(&key).cloned() else {
            let found = self.fault == Fault::FindsEverything;
            return Ok(if found { Outcome::Done } else { Outcome::Missing });
        };
        payload.copy_from_slice(&found);
        if self.strikes(Fault::FlipsABit) {
            payload[0] ^= 1;
        }
        if self.strikes(Fault::AnswersAnotherRecord)
            && let Some((_, other)) = self.content.iter().find(|(other, _)| **other != key)
        {
            payload.copy_from_slice(other);
        }
        Ok(Outcome::Done)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let key = self.encoded(key);
        let ignored = self.strikes(Fault::IgnoresUpdates);
        let wrong = self.strikes(Fault::UpdatesTheWrongColumn);
        let Some(payload) = self.content.get_mut(&key) else {
            return Ok(Outcome::Missing);
        };
        let from = self.schema.columns()[column].offset - self.schema.key_size();
        if wrong {
            payload[0] ^= 1;
        } else if !ignored {
            payload[from..from + value.len()].copy_from_slice(value);
        }
        Ok(Outcome::Done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let key = self.encoded(key);
        if self.content.contains_key(&key) && self.strikes(Fault::ForgetsDeletes) {
            return Ok(Outcome::Done);
        }
        let gone = self.content.remove(&key).is_some();
        Ok(if gone { Outcome::Done } else { Outcome::Missing })
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let lower = scan.lower.map(|key| self.encoded(key));
        let mut upper = scan.upper.map(|key| self.encoded(key));
        if self.fault == Fault::ScansPastTheEnd {
            upper = std::ops::Bound::Unbounded;
        }
        let mut found: Vec<_> = self.content.range((lower, upper)).collect();
        if self.fault == Fault::ScansBackward {
            found.reverse();
        }
        if self.fault != Fault::IgnoresTheLimit {
            found.truncate(usize::try_from(scan.limit).unwrap_or(usize::MAX));
        }
        for (key, payload) in &found {
            let mut record = vec![0; self.schema.key_size()];
            self.order.decode(key, &mut record);
            record.extend(*payload);
            row(&record);
        }
        Ok(found.len() as u64)
    }
}

fn driver(fault: Fault) -> Faulty {
    Faulty { fault, disk: Disk::default() }
}

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
    let checks = verify::run(&job, &driver(fault));
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
    cell::run(&cell, &driver(fault), &mut |_| ()).0
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

//! An engine that can be told to go wrong in one way, and that records what reaches it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_driver::error::{Error, Result};
use assay_driver::schema::{KeyOrder, Schema};
use assay_driver::{
    Cache, Change, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind,
    OpenSpec, Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The fault of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    LosesAnInsert,
    AcceptsDuplicates,
    ReturnsAnotherRecord,
    FlipsABit,
    FindsEverything,
    IgnoresUpdates,
    UpdatesTheWrongColumn,
    ForgetsDeletes,
    DeletesNothing,
    KeepsRolledBack,
    DropsCommits,
    ScansBackward,
    ScansPastTheEnd,
    IgnoresTheLimit,
    TearsAnUpsert,
    ForgetsOnClose,
    ForgetsHalfOnClose,
    Fails,
    FindMissesARecord,
    FindRepeatsARecord,
    FindsAnotherRecord,
}

/// The files that the engine writes into the directory of its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// A page, when the store is opened.
    Page,
    /// [`LARGE_BYTES`], from the first insert on until many have come.
    LargeForAWhile,
    /// [`LARGE_BYTES`], when the store is closed.
    LargeOnClose,
    /// Nothing: all is in the memory of this process.
    None,
}

/// The size of a large file.
pub const LARGE_BYTES: u64 = 1 << 20;

/// The insert with which a large file that is there for a while goes.
const A_WHILE: u64 = 3_000;

impl Fault {
    /// The faults of lookups by an index.
    pub const OF_INDEXES: [Self; 3] =
        [Self::FindMissesARecord, Self::FindRepeatsARecord, Self::FindsAnotherRecord];

    pub const ALL: [Self; 17] = [
        Self::LosesAnInsert,
        Self::AcceptsDuplicates,
        Self::ReturnsAnotherRecord,
        Self::FlipsABit,
        Self::FindsEverything,
        Self::IgnoresUpdates,
        Self::UpdatesTheWrongColumn,
        Self::ForgetsDeletes,
        Self::DeletesNothing,
        Self::KeepsRolledBack,
        Self::DropsCommits,
        Self::ScansBackward,
        Self::ScansPastTheEnd,
        Self::IgnoresTheLimit,
        Self::ForgetsOnClose,
        Self::ForgetsHalfOnClose,
        Self::Fails,
    ];
}

/// Payloads by encoded key.
pub type Content = BTreeMap<Vec<u8>, Vec<u8>>;
type Disk = Arc<Mutex<BTreeMap<PathBuf, Content>>>;

/// The engine.
pub struct Faulty {
    fault: Fault,
    /// The records of closed stores, by directory.
    disk: Disk,
    tape: Arc<Mutex<Recording>>,
    /// Every state that the content went through, where a test needs them.
    states: Option<States>,
    /// Changes that it declares not to have.
    lacks: &'static [Change],
    files: Files,
    /// The number of times that a store was opened or created.
    opened: AtomicU64,
}

type States = Arc<Mutex<Vec<Content>>>;

/// The number of operations of a suite that are recorded.
pub const RECORDED: u64 = 10_000;

/// A hash of the first operations that reached an engine, with their keys and values.
#[derive(Default)]
struct Recording {
    operations: u64,
    hash: u64,
}

impl Recording {
    fn add(&mut self, operation: u64, parts: &[&[u8]]) {
        if self.operations < RECORDED {
            self.operations += 1;
            let first = self.hash ^ operation;
            let hash = |hash, part: &&[u8]| xxh3_64_with_seed(part, hash);
            self.hash = parts.iter().fold(first, hash);
        }
    }
}

impl Faulty {
    /// An engine with a fault.
    pub fn with(fault: Fault) -> Self {
        Self {
            fault,
            disk: Disk::default(),
            tape: Arc::default(),
            states: None,
            lacks: &[],
            files: Files::Page,
            opened: AtomicU64::new(0),
        }
    }

    /// An engine that remembers every state, one for each write.
    pub fn remembering() -> Self {
        Self { states: Some(States::default()), ..Self::with(Fault::None) }
    }

    /// Returns the engine as one that only inserts.
    pub fn inserting_only(self) -> Self {
        Self { lacks: Change::ALL, ..self }
    }

    /// Returns the engine with other files.
    pub fn with_files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// Returns the number of times that a store was opened.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// The states so far.
    pub fn states(&self) -> Vec<Content> {
        self.states.as_ref().map(|states| lock(states).clone()).unwrap_or_default()
    }

    /// An engine that finds this in a directory.
    pub fn finding(fault: Fault, dir: PathBuf, content: Content) -> Self {
        let faulty = Self::with(fault);
        lock(&faulty.disk).insert(dir, content);
        faulty
    }

    /// Returns the number of recorded operations, and their hash.
    pub fn recorded(&self) -> (u64, u64) {
        let tape = lock(&self.tape);
        (tape.operations, tape.hash)
    }
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

    fn lacks(&self) -> &[Change] {
        self.lacks
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let content = match spec.create {
            true => Content::new(),
            false => lock(&self.disk).get(spec.dir()).cloned().unwrap_or_default(),
        };
        self.opened.fetch_add(1, Ordering::Relaxed);
        if self.files == Files::Page {
            write(spec.dir(), 4_096);
        }
        Ok(Box::new(FaultyStore {
            files: self.files,
            inserts: AtomicU64::new(0),
            fault: self.fault,
            schema: spec.schema.clone(),
            dir: spec.dir().to_path_buf(),
            disk: Arc::clone(&self.disk),
            content: Mutex::new(content),
            tape: Arc::clone(&self.tape),
            states: self.states.clone(),
            lacks: self.lacks,
        }))
    }
}

/// Makes the only file of a store, with a number of bytes.
fn write(dir: &Path, bytes: u64) {
    std::fs::create_dir_all(dir).expect("the directory of a store");
    std::fs::write(dir.join("file"), vec![1; bytes as usize]).expect("a file");
}

struct FaultyStore {
    files: Files,
    inserts: AtomicU64,
    fault: Fault,
    schema: Schema,
    dir: PathBuf,
    disk: Disk,
    content: Mutex<Content>,
    tape: Arc<Mutex<Recording>>,
    states: Option<States>,
    lacks: &'static [Change],
}

impl Store for FaultyStore {
    fn settings(&self) -> Vec<String> {
        Vec::new()
    }

    fn cache(&self) -> Cache {
        Cache::NoSetting
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        work(&mut FaultyConnection {
            fault: self.fault,
            schema: &self.schema,
            order: KeyOrder::new(&self.schema),
            content: &mut lock(&self.content),
            tape: &self.tape,
            states: self.states.as_ref(),
            lacks: self.lacks,
            before: None,
            operations: 0,
            of_store: (self.files, &self.dir, &self.inserts),
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        let mut content = lock(&self.content).clone();
        match self.fault {
            Fault::ForgetsOnClose => drop(content.pop_last()),
            Fault::ForgetsHalfOnClose => {
                let mut at = 0;
                content.retain(|_, _| {
                    at += 1;
                    at % 2 == 0
                });
            }
            _ => {}
        }
        if self.files == Files::LargeOnClose {
            write(&self.dir, LARGE_BYTES);
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
    tape: &'s Mutex<Recording>,
    states: Option<&'s States>,
    lacks: &'static [Change],
    before: Option<Content>,
    operations: u64,
    /// The store's files, their place, and its inserts so far.
    of_store: (Files, &'s Path, &'s AtomicU64),
}

impl FaultyConnection<'_> {
    fn encoded(&self, key: &[u8]) -> Vec<u8> {
        let mut encoded = vec![0; self.order.size()];
        self.order.encode(key, &mut encoded);
        encoded
    }

    /// Makes the large file, or removes it.
    fn grow_or_shrink(&self) {
        let (files, dir, inserts) = self.of_store;
        match (files, inserts.fetch_add(1, Ordering::Relaxed)) {
            (Files::LargeForAWhile, 0) => write(dir, LARGE_BYTES),
            (Files::LargeForAWhile, A_WHILE) => write(dir, 4_096),
            _ => {}
        }
    }

    fn remember(&self) {
        if let Some(states) = self.states {
            lock(states).push(self.content.clone());
        }
    }

    /// Returns true if it is time to go wrong: not at once, so that the checks have to look at
    /// every result.
    fn strikes(&mut self, fault: Fault) -> bool {
        self.operations += u64::from(self.fault == fault);
        self.fault == fault && self.operations.is_multiple_of(7)
    }
}

impl FaultyConnection<'_> {
    fn needs(&self, change: Change) -> Result<()> {
        match self.lacks.contains(&change) {
            true => Err(Error::unsupported(change.to_string())),
            false => Ok(()),
        }
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
        lock(self.tape).add(1, &[record]);
        self.grow_or_shrink();
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
        self.remember();
        Ok(Outcome::Done)
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        lock(self.tape).add(6, &[record]);
        let key = self.encoded(record);
        let mut payload = record[self.schema.key_size()..].to_vec();
        let tears = self.strikes(Fault::TearsAnUpsert);
        if let Some(old) = self.content.get(&key).filter(|_| tears) {
            let half = payload.len() / 2;
            payload[..half].copy_from_slice(&old[..half]);
        }
        self.content.insert(key, payload);
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        lock(self.tape).add(2, &[key]);
        let key = self.encoded(key);
        let Some(found) = self.content.get(&key).cloned() else {
            let found = self.fault == Fault::FindsEverything;
            return Ok(if found { Outcome::Done } else { Outcome::Missing });
        };
        payload.copy_from_slice(&found);
        if self.strikes(Fault::FlipsABit) {
            payload[0] ^= 1;
        }
        if self.strikes(Fault::ReturnsAnotherRecord)
            && let Some((_, other)) = self.content.iter().find(|(other, _)| **other != key)
        {
            payload.copy_from_slice(other);
        }
        Ok(Outcome::Done)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        self.needs(Change::Update)?;
        lock(self.tape).add(3, &[key, &column.to_le_bytes(), value]);
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
        self.remember();
        Ok(Outcome::Done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.needs(Change::Delete)?;
        lock(self.tape).add(4, &[key]);
        let key = self.encoded(key);
        if self.content.contains_key(&key) && self.strikes(Fault::ForgetsDeletes) {
            return Ok(Outcome::Done);
        }
        if self.fault == Fault::DeletesNothing {
            let there = self.content.contains_key(&key);
            return Ok(if there { Outcome::Done } else { Outcome::Missing });
        }
        let gone = self.content.remove(&key).is_some();
        self.remember();
        Ok(if gone { Outcome::Done } else { Outcome::Missing })
    }

    fn find_by(&mut self, column: usize, value: &[u8], row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        assert!(self.schema.indexed().contains(&column), "a column with an index");
        let from = self.schema.columns()[column].offset - self.schema.key_size();
        let has = |payload: &[u8]| payload[from..].starts_with(value);
        let (mut found, others): (Vec<_>, Vec<_>) =
            self.content.clone().into_iter().partition(|(_, payload)| has(payload));
        if !found.is_empty() && self.strikes(Fault::FindMissesARecord) {
            found.pop();
        }
        if !found.is_empty() && self.strikes(Fault::FindRepeatsARecord) {
            found.push(found[0].clone());
        }
        if self.strikes(Fault::FindsAnotherRecord) {
            found.extend(others.first().cloned());
        }
        for (key, payload) in &found {
            let mut record = vec![0; self.schema.key_size()];
            self.order.decode(key, &mut record);
            record.extend(payload);
            row(&record);
        }
        Ok(found.len() as u64)
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        for bound in [scan.lower, scan.upper] {
            if let Bound::Included(key) | Bound::Excluded(key) = bound {
                lock(self.tape).add(5, &[key, &scan.limit.to_le_bytes()]);
            }
        }
        let lower = scan.lower.map(|key| self.encoded(key));
        let mut upper = scan.upper.map(|key| self.encoded(key));
        if self.fault == Fault::ScansPastTheEnd {
            upper = Bound::Unbounded;
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

//! An engine for several threads that lies in one way: it says that it did what it did not do, or
//! answers what is no longer so.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::{KeyOrder, Schema};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};

/// The way in which the engine lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    None,
    DropsAWrite,
    ReturnsAnOldVersion,
    SkipsARow,
    RepeatsARow,
    FindsAnother,
    FindMissesARecord,
    FindRepeatsARecord,
    FindChangesAColumn,
    IndexMissesARecord,
    ChangesAColumn,
    CountsTwice,
    FindsWhatIsAbsent,
    KeepsWhatWasDeleted,
    LosesARecordLater,
    ForgetsOnClose,
    DropsACommit,
    KeepsWhatWasRolledBack,
    ForgetsWhenKilled,
    TearsWhenKilled,
    LosesARecordWhenKilled,
}

/// A payload, and the one before it.
type Versions = (Vec<u8>, Vec<u8>);
type Content = BTreeMap<Vec<u8>, Versions>;

/// The engine.
pub struct Liar {
    lie: Lie,
    refuses: bool,
    grows: bool,
    most_payload_bytes: Option<u64>,
    key_kinds: &'static [KeyKind],
    /// The records of closed stores, by directory.
    disk: Arc<Mutex<BTreeMap<PathBuf, Content>>>,
    life: Arc<Mutex<Life>>,
    profile: Profile,
}

/// The updates that the engine's process does before it is killed; none: it lives.
#[derive(Default)]
struct Life {
    updates: Option<u64>,
    /// True if the update under way at the end takes effect.
    last_counts: bool,
}

impl Liar {
    /// Returns an engine that lies in this way.
    pub fn with(lie: Lie) -> Self {
        let key_kinds: &[KeyKind] = &[KeyKind::Tree, KeyKind::Hash];
        let profile = Profile {
            id: "liar",
            name: "Liar",
            about: "a map that lies when it is asked to",
            key_kinds,
            levels: &[(
                Storage::Disk,
                &[Durability::None, Durability::Periodic, Durability::Commit],
            )],
            periodic_survives_kill: true,
            transactions: Transactions::Full,
            insert_rule: InsertRule::Refuses,
            delete_rule: DeleteRule::Reports,
            concurrency: Concurrency::Concurrent,
            parameters: &[],
            keeps_data: true,
        };
        Self {
            lie,
            refuses: false,
            grows: false,
            most_payload_bytes: None,
            key_kinds,
            disk: Arc::default(),
            life: Arc::default(),
            profile,
        }
    }

    /// Returns the engine as one for records of at most this many bytes without their key.
    pub fn for_records_up_to(self, bytes: u64) -> Self {
        Self { most_payload_bytes: Some(bytes), ..self }
    }

    /// Returns the engine as one that refuses every fifth transaction, in turns at an operation and
    /// at its commit.
    pub fn refusing(self) -> Self {
        Self { refuses: true, ..self }
    }

    /// Returns the engine as one that may lose its last writes at level periodic.
    pub fn forgetful(mut self) -> Self {
        self.profile.periodic_survives_kill = false;
        self
    }

    /// Has the process be killed during an update after some more.
    pub fn dies_after(&self, updates: u64, last_counts: bool) {
        *lock(&self.life) = Life { updates: Some(updates), last_counts };
    }

    /// Starts another process.
    pub fn lives_again(&self) {
        lock(&self.life).updates = None;
    }

    /// Returns the engine as one whose file is a half larger after each phase or window.
    pub fn growing(self) -> Self {
        Self { grows: true, ..self }
    }

    /// Returns the engine as one without upsert, and with another rule for inserts and deletes.
    pub fn with_rules(mut self, insert_rule: InsertRule, delete_rule: DeleteRule) -> Self {
        self.profile.insert_rule = insert_rule;
        self.profile.delete_rule = delete_rule;
        self
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Driver for Liar {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn most_payload_bytes(&self) -> Option<u64> {
        self.most_payload_bytes
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok("1".into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        assert!(self.key_kinds.contains(&spec.key_kind));
        let content = match spec.create {
            true => Content::new(),
            false => lock(&self.disk).get(spec.dir()).cloned().unwrap_or_default(),
        };
        std::fs::create_dir_all(spec.dir()).expect("the directory of a store");
        std::fs::write(spec.dir().join("file"), [1; 4_096]).expect("a file");
        Ok(Box::new(LiarStore {
            lie: self.lie,
            refuses: self.refuses,
            grows: self.grows,
            grown_bytes: Mutex::new(4_096),
            transactions: AtomicU64::new(0),
            replaces: self.profile.insert_rule == InsertRule::Replaces,
            is_silent: self.profile.delete_rule == DeleteRule::Silent,
            schema: spec.schema.clone(),
            dir: spec.dir().into(),
            disk: Arc::clone(&self.disk),
            life: Arc::clone(&self.life),
            updated: Mutex::default(),
            content: Mutex::new(content),
            turns: AtomicU64::new(0),
        }))
    }
}

struct LiarStore {
    lie: Lie,
    refuses: bool,
    grows: bool,
    /// The bytes of its file, if it grows.
    grown_bytes: Mutex<usize>,
    transactions: AtomicU64,
    replaces: bool,
    is_silent: bool,
    schema: Schema,
    dir: PathBuf,
    disk: Arc<Mutex<BTreeMap<PathBuf, Content>>>,
    life: Arc<Mutex<Life>>,
    /// The keys of records that were updated, in order.
    updated: Mutex<Vec<Vec<u8>>>,
    content: Mutex<Content>,
    turns: AtomicU64,
}

impl LiarStore {
    /// Returns an error once the process is killed; `put` is the update under way.
    fn survives(&self, put: impl FnOnce()) -> Result<()> {
        let mut life = lock(&self.life);
        match &mut life.updates {
            None => return Ok(()),
            Some(0) => {}
            Some(left) => {
                *left -= 1;
                return Ok(());
            }
        }
        if life.last_counts {
            put();
        }
        let updated = lock(&self.updated);
        let mut content = lock(&self.content).clone();
        let nth_last = match self.lie {
            Lie::ForgetsWhenKilled => Some(0),
            Lie::TearsWhenKilled => Some(2),
            _ => None,
        };
        let lost = nth_last.and_then(|nth| updated.iter().rev().nth(nth));
        if let Some((now, before)) = lost.and_then(|key| content.get_mut(key)) {
            now.clone_from(before);
        }
        if self.lie == Lie::LosesARecordWhenKilled {
            content.pop_first();
        }
        lock(&self.disk).insert(self.dir.clone(), content);
        Err(Error::new(ErrorKind::Engine, "the process was killed"))
    }
}

impl Store for LiarStore {
    fn settings(&self) -> Vec<String> {
        Vec::new()
    }

    fn cache(&self) -> Cache {
        Cache::NoSetting
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        if self.grows {
            let mut size = lock(&self.grown_bytes);
            *size += *size / 2;
            std::fs::write(self.dir.join("file"), vec![1; *size]).expect("a file");
        }
        let order = KeyOrder::new(&self.schema);
        work(&mut LiarConnection { store: self, order, undo: Vec::new(), nth: None })
    }

    fn close(self: Box<Self>) -> Result<()> {
        let mut content = lock(&self.content).clone();
        if self.lie == Lie::ForgetsOnClose {
            content.pop_last();
        }
        lock(&self.disk).insert(self.dir.clone(), content);
        Ok(())
    }
}

struct LiarConnection<'s> {
    store: &'s LiarStore,
    order: KeyOrder,
    /// The records that the open transaction changed, as they were.
    undo: Vec<(Vec<u8>, Option<Versions>)>,
    /// The number of the open transaction.
    nth: Option<u64>,
}

impl LiarConnection<'_> {
    fn encoded(&self, key: &[u8]) -> Vec<u8> {
        let mut encoded = vec![0; self.order.size()];
        self.order.encode(key, &mut encoded);
        encoded
    }

    /// Returns true if it is time for a lie: not at once, so that every answer has to be checked.
    fn lies(&self, lie: Lie) -> bool {
        self.store.lie == lie && self.store.turns.fetch_add(1, Ordering::SeqCst) % 97 == 96
    }

    /// Returns true if it is time for the only lie, which comes before a phase has ended.
    fn lies_once(&self, lie: Lie) -> bool {
        self.store.lie == lie && self.store.turns.fetch_add(1, Ordering::SeqCst) == 96
    }

    /// Returns true if the open transaction is one that is refused at this place of ten.
    fn refuses_at(&self, place: u64) -> bool {
        self.store.refuses && self.nth.is_some_and(|nth| nth % 10 == place)
    }

    fn put(&mut self, key: Vec<u8>, payload: Vec<u8>) {
        if self.lies(Lie::DropsAWrite) {
            return;
        }
        let mut content = lock(&self.store.content);
        let before = content.get(&key).map_or_else(|| payload.clone(), |(now, _)| now.clone());
        let undone = content.insert(key.clone(), (payload, before));
        self.undo.push((key, undone));
        if self.lies(Lie::LosesARecordLater) {
            content.pop_first();
        }
    }
}

fn conflict() -> Error {
    Error::new(ErrorKind::Conflict, "another transaction was faster")
}

impl Connection for LiarConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.undo.clear();
        self.nth = Some(self.store.transactions.fetch_add(1, Ordering::SeqCst));
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if self.refuses_at(4) {
            return Err(conflict());
        }
        if self.lies(Lie::DropsACommit) {
            return self.rollback();
        }
        self.undo.clear();
        self.nth = None;
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.nth = None;
        if self.store.lie == Lie::KeepsWhatWasRolledBack {
            return Ok(());
        }
        let mut content = lock(&self.store.content);
        for (key, before) in self.undo.drain(..).rev() {
            match before {
                Some(before) => drop(content.insert(key, before)),
                None => drop(content.remove(&key)),
            }
        }
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let key = self.encoded(record);
        if !self.store.replaces && lock(&self.store.content).contains_key(&key) {
            return Ok(Outcome::Duplicate);
        }
        self.put(key, record[self.store.schema.key_size()..].to_vec());
        Ok(Outcome::Done)
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        if self.store.replaces {
            return Err(Error::unsupported("upsert"));
        }
        self.put(self.encoded(record), record[self.store.schema.key_size()..].to_vec());
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        if self.refuses_at(9) && !self.undo.is_empty() {
            return Err(conflict());
        }
        let found = lock(&self.store.content).get(&self.encoded(key)).cloned();
        let Some((now, before)) = found else {
            let found = self.lies(Lie::FindsWhatIsAbsent);
            return Ok(if found { Outcome::Done } else { Outcome::Missing });
        };
        let answer = if self.lies(Lie::ReturnsAnOldVersion) { before } else { now };
        let used = self.store.schema.used_payload(&answer);
        payload[..used].copy_from_slice(&answer[..used]);
        Ok(Outcome::Done)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let key = self.encoded(key);
        let schema = &self.store.schema;
        let Some((mut payload, _)) = lock(&self.store.content).get(&key).cloned() else {
            return Ok(Outcome::Missing);
        };
        let from = schema.columns()[column].offset - schema.key_size();
        let used = schema.columns()[column].kind.used_bytes(value);
        payload[from..from + used].copy_from_slice(&value[..used]);
        if self.lies(Lie::ChangesAColumn) {
            payload[0] ^= 1;
        }
        if self.lies(Lie::CountsTwice) {
            payload[from] = payload[from].wrapping_add(1);
        }
        let store = self.store;
        store.survives(|| self.put(key.clone(), payload.clone()))?;
        lock(&store.updated).push(key.clone());
        self.put(key, payload);
        Ok(Outcome::Done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let key = self.encoded(key);
        if self.lies(Lie::KeepsWhatWasDeleted) {
            return Ok(Outcome::Done);
        }
        let gone = lock(&self.store.content).remove(&key);
        self.undo.push((key, gone.clone()));
        let gone = gone.is_some() || self.store.is_silent;
        Ok(if gone { Outcome::Done } else { Outcome::Missing })
    }

    fn find_by(&mut self, column: usize, value: &[u8], row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let schema = &self.store.schema;
        assert!(schema.indexed().contains(&column), "a column with an index");
        let from = schema.columns()[column].offset - schema.key_size();
        let content = lock(&self.store.content);
        let has = |payload: &[u8]| payload[from..].starts_with(value);
        let mut found: Vec<_> = content.iter().filter(|(_, (now, _))| has(now)).collect();
        if self.store.lie == Lie::IndexMissesARecord {
            let first = content.first_key_value().map(|(key, _)| key);
            found.retain(|(key, _)| Some(*key) != first);
        }
        if !found.is_empty() && self.lies_once(Lie::FindMissesARecord) {
            found.pop();
        }
        if !found.is_empty() && self.lies_once(Lie::FindRepeatsARecord) {
            found.push(found[0]);
        }
        if self.lies_once(Lie::FindsAnother) {
            found.extend(content.iter().rev().find(|(_, (now, _))| !has(now)));
        }
        let is_old = self.lies(Lie::ReturnsAnOldVersion);
        for (key, (now, before)) in &found {
            let mut record = vec![0; schema.key_size()];
            self.order.decode(key, &mut record);
            record.extend(if is_old { before } else { now });
            if self.lies_once(Lie::FindChangesAColumn) {
                record[schema.key_size()] ^= 1;
            }
            row(&record);
        }
        Ok(found.len() as u64)
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let bounds = (scan.lower.map(|key| self.encoded(key)), scan.upper.map(|k| self.encoded(k)));
        let content = lock(&self.store.content);
        let limit = usize::try_from(scan.limit).unwrap_or(usize::MAX);
        let mut found: Vec<_> = content.range(bounds).take(limit).collect();
        if found.len() > 2 && self.lies(Lie::SkipsARow) {
            found.remove(1);
        }
        if found.len() > 2 && self.lies(Lie::RepeatsARow) {
            found[1] = found[0];
        }
        for (key, (payload, _)) in &found {
            let mut record = vec![0; self.store.schema.key_size()];
            self.order.decode(key, &mut record);
            record.extend(payload);
            row(&record);
        }
        Ok(found.len() as u64)
    }
}

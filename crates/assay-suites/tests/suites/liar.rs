//! An engine for several threads that lies in one way: it says that it did what it did not do, or
//! answers what is no longer so.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_driver::error::Result;
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
    CountsTwice,
    FindsWhatIsAbsent,
    KeepsWhatWasDeleted,
    LosesARecordLater,
    ForgetsOnClose,
}

/// A payload, and the one before it.
type Versions = (Vec<u8>, Vec<u8>);
type Content = BTreeMap<Vec<u8>, Versions>;

/// The engine.
pub struct Liar {
    lie: Lie,
    key_kinds: &'static [KeyKind],
    /// The records of closed stores, by directory.
    disk: Arc<Mutex<BTreeMap<PathBuf, Content>>>,
    profile: Profile,
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
            levels: &[(Storage::Disk, &[Durability::Commit])],
            periodic_survives_kill: true,
            transactions: Transactions::Full,
            insert_rule: InsertRule::Refuses,
            delete_rule: DeleteRule::Reports,
            concurrency: Concurrency::Concurrent,
            parameters: &[],
            keeps_data: true,
        };
        Self { lie, key_kinds, disk: Arc::default(), profile }
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
            replaces: self.profile.insert_rule == InsertRule::Replaces,
            is_silent: self.profile.delete_rule == DeleteRule::Silent,
            schema: spec.schema.clone(),
            dir: spec.dir().into(),
            disk: Arc::clone(&self.disk),
            content: Mutex::new(content),
            turns: AtomicU64::new(0),
        }))
    }
}

struct LiarStore {
    lie: Lie,
    replaces: bool,
    is_silent: bool,
    schema: Schema,
    dir: PathBuf,
    disk: Arc<Mutex<BTreeMap<PathBuf, Content>>>,
    content: Mutex<Content>,
    turns: AtomicU64,
}

impl Store for LiarStore {
    fn settings(&self) -> Vec<String> {
        Vec::new()
    }

    fn cache(&self) -> Cache {
        Cache::NoSetting
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        work(&mut LiarConnection { store: self, order: KeyOrder::new(&self.schema) })
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

    fn put(&self, key: Vec<u8>, payload: Vec<u8>) {
        if self.lies(Lie::DropsAWrite) {
            return;
        }
        let mut content = lock(&self.store.content);
        let before = content.get(&key).map_or_else(|| payload.clone(), |(now, _)| now.clone());
        content.insert(key, (payload, before));
        if self.lies(Lie::LosesARecordLater) {
            content.pop_first();
        }
    }
}

impl Connection for LiarConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
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
            return Err(assay_driver::error::Error::unsupported("upsert"));
        }
        self.put(self.encoded(record), record[self.store.schema.key_size()..].to_vec());
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
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
        if self.lies(Lie::CountsTwice) {
            payload[from] = payload[from].wrapping_add(1);
        }
        self.put(key, payload);
        Ok(Outcome::Done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let key = self.encoded(key);
        if self.lies(Lie::KeepsWhatWasDeleted) {
            return Ok(Outcome::Done);
        }
        let gone = lock(&self.store.content).remove(&key).is_some() || self.store.is_silent;
        Ok(if gone { Outcome::Done } else { Outcome::Missing })
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

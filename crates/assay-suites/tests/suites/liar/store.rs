//! The stores of the lying engine, and connections to them.

use std::collections::VecDeque;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::{KeyOrder, Schema};
use assay_driver::{
    Cache, Connection, DeleteRule, InsertRule, OpenSpec, Outcome, Scan, Store, Work,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Content, Disk, Honest, Liar, Lie, Life, Versions, lock};

/// The most writes that a kill can take back.
const JOURNAL_MOST: usize = 10_000;

/// The calls after which a slow engine takes its time.
const SLOW_EVERY: u64 = 64;

/// The change of a record by a connection: the record before it.
struct Change {
    connection: u64,
    key: Vec<u8>,
    before: Option<Versions>,
}

pub(super) struct LiarStore {
    lie: Lie,
    refuses: bool,
    is_slow: bool,
    occasions: u64,
    grows: bool,
    /// The bytes of its file, if it grows.
    grown_bytes: Mutex<usize>,
    transactions: AtomicU64,
    replaces: bool,
    is_silent: bool,
    schema: Schema,
    dir: PathBuf,
    disk: Disk,
    life: Arc<Mutex<Life>>,
    honest: Arc<Honest>,
    reached: Arc<AtomicU64>,
    connections: AtomicU64,
    /// The last changes, in order. Locked after the content.
    journal: Mutex<VecDeque<Change>>,
    content: Mutex<Content>,
    turns: AtomicU64,
}

impl LiarStore {
    /// Returns a store with records.
    pub(super) fn new(engine: &Liar, spec: &OpenSpec, content: Content) -> Self {
        Self {
            lie: engine.lie,
            refuses: engine.refuses,
            is_slow: engine.is_slow,
            occasions: engine.occasions,
            grows: engine.grows,
            grown_bytes: Mutex::new(4_096),
            transactions: AtomicU64::new(0),
            replaces: engine.profile.insert_rule == InsertRule::Replaces,
            is_silent: engine.profile.delete_rule == DeleteRule::Silent,
            schema: spec.schema.clone(),
            dir: spec.dir().into(),
            disk: Arc::clone(&engine.disk),
            life: Arc::clone(&engine.life),
            honest: Arc::clone(&engine.honest),
            reached: Arc::clone(&engine.reached),
            connections: AtomicU64::new(0),
            journal: Mutex::default(),
            content: Mutex::new(content),
            turns: AtomicU64::new(0),
        }
    }

    /// Notes a change that was made, whose content is still locked.
    fn note(&self, connection: u64, key: Vec<u8>, before: Option<Versions>) {
        let mut journal = lock(&self.journal);
        journal.push_back(Change { connection, key, before });
        if journal.len() > JOURNAL_MOST {
            journal.pop_front();
        }
    }

    /// Returns an error once the process is killed; `put` is the update under way.
    fn survives(&self, connection: u64, put: impl FnOnce()) -> Result<()> {
        let mut life = lock(&self.life);
        let end = match &mut life.end {
            None => return Ok(()),
            Some(end) if end.updates == 0 => *end,
            Some(end) => {
                end.updates -= 1;
                return Ok(());
            }
        };
        if end.last_counts {
            put();
        }
        let mut content = lock(&self.content).clone();
        let mut journal = lock(&self.journal);
        let under_way = usize::from(end.last_counts);
        let nth_last = match self.lie {
            Lie::ForgetsWhenKilled => Some(under_way),
            Lie::TearsWhenKilled => Some(under_way + 2),
            _ => None,
        };
        let lost = nth_last.and_then(|nth| journal.iter().rev().nth(nth));
        if let Some((now, before)) = lost.and_then(|change| content.get_mut(&change.key)) {
            now.clone_from(before);
        }
        let kept = journal.len().saturating_sub(end.lost);
        let lost = journal.split_off(kept);
        let own = lost.iter().filter(|change| change.connection == connection).count();
        for Change { key, before, .. } in lost.into_iter().rev() {
            restore(&mut content, key, before);
        }
        life.lost = own.saturating_sub(under_way) as u64;
        if self.lie == Lie::LosesARecordWhenKilled {
            content.pop_first();
        }
        lock(&self.disk).insert(self.dir.clone(), content);
        Err(Error::new(ErrorKind::Engine, "the process was killed"))
    }
}

fn restore(content: &mut Content, key: Vec<u8>, before: Option<Versions>) {
    match before {
        Some(before) => drop(content.insert(key, before)),
        None => drop(content.remove(&key)),
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
        let id = self.connections.fetch_add(1, Ordering::SeqCst);
        work(&mut LiarConnection { store: self, id, order, undo: Vec::new(), nth: None, calls: 0 })
    }

    fn close(self: Box<Self>) -> Result<()> {
        let mut content = lock(&self.content).clone();
        if self.lie == Lie::ForgetsOnClose && self.honest.is_over() {
            content.pop_last();
        }
        lock(&self.disk).insert(self.dir.clone(), content);
        Ok(())
    }
}

struct LiarConnection<'s> {
    store: &'s LiarStore,
    /// The number of the connection.
    id: u64,
    order: KeyOrder,
    /// The records that the open transaction changed, as they were.
    undo: Vec<(Vec<u8>, Option<Versions>)>,
    /// The number of the open transaction.
    nth: Option<u64>,
    calls: u64,
}

impl LiarConnection<'_> {
    /// Notes that a call reached the engine, and takes some time for it if that is slow.
    fn reached(&mut self, call: u64, parts: &[&[u8]]) {
        let hash = parts.iter().fold(call, |hash, part| xxh3_64_with_seed(part, hash));
        self.store.reached.fetch_add(hash, Ordering::SeqCst);
        self.calls += 1;
        if self.store.is_slow && self.calls.is_multiple_of(SLOW_EVERY) {
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Notes that a call with a record reached the engine.
    fn reached_with(&mut self, call: u64, record: &[u8]) {
        let column = self.store.schema.columns().last().expect("a column");
        let used = column.offset + column.kind.used_bytes(&record[column.offset..]);
        self.reached(call, &[&record[..used]]);
    }

    /// Returns true if the engine may do this now: what has to come before it came.
    fn may_lie(&self, lie: Lie) -> bool {
        self.store.lie == lie && self.store.honest.is_over()
    }

    fn encoded(&self, key: &[u8]) -> Vec<u8> {
        let mut encoded = vec![0; self.order.size()];
        self.order.encode(key, &mut encoded);
        encoded
    }

    /// Returns true if it is time for a lie: not at once, so that every answer has to be checked.
    fn lies(&self, lie: Lie) -> bool {
        let occasions = self.store.occasions;
        self.may_lie(lie)
            && self.store.turns.fetch_add(1, Ordering::SeqCst) % occasions == occasions - 1
    }

    /// Returns true if it is time for the only lie, which comes before a phase has ended.
    fn lies_once(&self, lie: Lie) -> bool {
        self.may_lie(lie) && self.store.turns.fetch_add(1, Ordering::SeqCst) == 96
    }

    /// Returns true if the open transaction is one that is refused at this place of ten.
    fn refuses_at(&self, place: u64) -> bool {
        self.store.refuses && self.nth.is_some_and(|nth| nth % 10 == place)
    }

    fn put(&mut self, key: Vec<u8>, payload: Vec<u8>) {
        if self.lies(Lie::DropsAWrite) {
            return;
        }
        Honest::note(&self.store.honest.puts);
        let mut content = lock(&self.store.content);
        let before = content.get(&key).map_or_else(|| payload.clone(), |(now, _)| now.clone());
        let undone = content.insert(key.clone(), (payload, before));
        self.store.note(self.id, key.clone(), undone.clone());
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
        if self.may_lie(Lie::KeepsWhatWasRolledBack) {
            return Ok(());
        }
        let mut content = lock(&self.store.content);
        for (key, before) in self.undo.drain(..).rev() {
            self.store.note(self.id, key.clone(), content.get(&key).cloned());
            restore(&mut content, key, before);
        }
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.reached_with(1, record);
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
        self.reached_with(2, record);
        self.put(self.encoded(record), record[self.store.schema.key_size()..].to_vec());
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        self.reached(3, &[key]);
        if self.refuses_at(9) && !self.undo.is_empty() {
            return Err(conflict());
        }
        let found = lock(&self.store.content).get(&self.encoded(key)).cloned();
        let Some((now, before)) = found else {
            let found = self.lies(Lie::FindsWhatIsAbsent);
            return Ok(if found { Outcome::Done } else { Outcome::Missing });
        };
        let is_old = before != now && self.lies(Lie::ReturnsAnOldVersion);
        let answer = if is_old { before } else { now };
        let used = self.store.schema.used_payload(&answer);
        payload[..used].copy_from_slice(&answer[..used]);
        Ok(Outcome::Done)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let store = self.store;
        let schema = &store.schema;
        let used = schema.columns()[column].kind.used_bytes(value);
        self.reached(4, &[key, &value[..used]]);
        let key = self.encoded(key);
        let Some((mut payload, _)) = lock(&store.content).get(&key).cloned() else {
            store.survives(self.id, || ())?;
            return Ok(Outcome::Missing);
        };
        let from = schema.columns()[column].offset - schema.key_size();
        payload[from..from + used].copy_from_slice(&value[..used]);
        if self.lies(Lie::ChangesAColumn) {
            payload[0] ^= 1;
        }
        if self.lies(Lie::CountsTwice) {
            payload[from] = payload[from].wrapping_add(1);
        }
        store.survives(self.id, || self.put(key.clone(), payload.clone()))?;
        self.put(key, payload);
        Ok(Outcome::Done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.reached(5, &[key]);
        let key = self.encoded(key);
        if self.lies(Lie::KeepsWhatWasDeleted) {
            return Ok(Outcome::Done);
        }
        let mut content = lock(&self.store.content);
        let gone = content.remove(&key);
        self.store.note(self.id, key.clone(), gone.clone());
        drop(content);
        self.undo.push((key, gone.clone()));
        let gone = gone.is_some() || self.store.is_silent;
        Ok(if gone { Outcome::Done } else { Outcome::Missing })
    }

    fn find_by(&mut self, column: usize, value: &[u8], row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        self.reached(6, &[value]);
        let schema = &self.store.schema;
        assert!(schema.indexed().contains(&column), "a column with an index");
        let from = schema.columns()[column].offset - schema.key_size();
        let content = lock(&self.store.content);
        let has = |payload: &[u8]| payload[from..].starts_with(value);
        let mut found: Vec<_> = content.iter().filter(|(_, (now, _))| has(now)).collect();
        if self.may_lie(Lie::IndexMissesARecord) {
            let first = content.first_key_value().map(|(key, _)| key);
            found.retain(|(key, _)| Some(*key) != first);
        }
        if !found.is_empty() && self.lies_once(Lie::FindMissesARecord) {
            // The last one may be just being inserted.
            found.remove(0);
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
        if let Bound::Included(key) = scan.lower {
            self.reached(7, &[key, &scan.limit.to_le_bytes()]);
        }
        let content = lock(&self.store.content);
        let limit = usize::try_from(scan.limit).unwrap_or(usize::MAX);
        let mut found: Vec<_> = content.range(bounds).take(limit).collect();
        // Not when all records are compared after a phase.
        let is_bounded = scan.limit < u64::MAX;
        if is_bounded && found.len() > 2 && self.lies(Lie::SkipsARow) {
            found.remove(1);
        }
        if is_bounded && found.len() > 2 && self.lies(Lie::RepeatsARow) {
            found[1] = found[0];
        }
        let is_old = is_bounded && self.lies(Lie::ReturnsAnOldVersion);
        let mut is_other = is_bounded && self.lies(Lie::ScanChangesAColumn);
        let schema = &self.store.schema;
        for (key, (now, before)) in &found {
            let mut record = vec![0; schema.key_size()];
            self.order.decode(key, &mut record);
            record.extend(if is_old { before } else { now });
            let payload = schema.key_columns().len()..schema.columns().len();
            let (asked, others): (Vec<_>, Vec<_>) =
                payload.partition(|at| scan.columns.contains(at));
            // What was not asked for is anything.
            for at in others {
                schema.columns()[at].slice_mut(&mut record).fill(0xA5);
            }
            if let Some(at) = asked.first().filter(|_| std::mem::take(&mut is_other)) {
                schema.columns()[*at].slice_mut(&mut record)[0] ^= 1;
            }
            row(&record);
        }
        Ok(found.len() as u64)
    }
}

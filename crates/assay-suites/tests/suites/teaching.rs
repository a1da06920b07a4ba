//! A small engine with bugs that only several threads show, or a crash within recovery, or a disk
//! that fails. Its disk is in memory. It stops after a number of operations, as when the power
//! goes, or fails some of them.
//!
//! It has a log of commits and pages. A checkpoint writes all pages, then empties the log. Opening
//! replays the log and makes a checkpoint. Both are whole wherever they are cut off, since a commit
//! of the log has the whole records.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Storage, Store, Transactions, Work,
};

/// The fault of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    None,
    /// An update reads a record, lets other threads pass, and writes all of it back.
    LostUpdate,
    /// A transaction is in the log as two commits.
    Halves,
    /// Recovery replays the commits of one connection after those of another.
    ReplaysApart,
    /// Recovery takes each commit out of the log before the pages have it.
    WritesBeforeItHasRead,
    /// Recovery that finds traces of an earlier one takes that for complete.
    SecondRecoveryForgets,
    /// A commit whose synchronisation failed is acknowledged.
    IgnoresFailedSync,
    /// A synchronisation that failed is tried again, and believed.
    BelievesSecondSync,
    /// A commit that could not be written stays in memory, until a checkpoint writes it.
    KeepsRefused,
    /// Of a commit that could not be written a part stays in memory. Its error denies nothing.
    KeepsPart,
    /// A commit whose synchronisation failed stays in the log.
    LogsRefused,
    /// A commit whose synchronisation failed stays in the log, and its error rightly does not deny
    /// it.
    LogsUnsure,
    /// A checkpoint that fails empties the log.
    FreesEarly,
    /// A write that fails frees the place of the commit before it too.
    FreesTwice,
    /// A record that cannot be read is missing.
    MissesUnread,
}

impl Bug {
    /// The bugs that only several threads show.
    pub const OF_THREADS: [Self; 2] = [Self::LostUpdate, Self::ReplaysApart];
    /// The bugs that only a crash within recovery shows.
    pub const OF_RECOVERY: [Self; 2] = [Self::WritesBeforeItHasRead, Self::SecondRecoveryForgets];
    /// The bugs that only a failing disk shows.
    pub const OF_FAULTS: [Self; 8] = [
        Self::IgnoresFailedSync,
        Self::BelievesSecondSync,
        Self::KeepsRefused,
        Self::KeepsPart,
        Self::LogsRefused,
        Self::FreesEarly,
        Self::FreesTwice,
        Self::MissesUnread,
    ];
}

/// An operation of the disk that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    Sync,
}

impl Operation {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Sync];
}

/// A fault of the disk: `operations` of its kind fail, from number `at` on, counted from 1.
#[derive(Clone, Copy, Debug)]
pub struct Failing {
    pub operation: Operation,
    pub at: u64,
    pub operations: u64,
}

/// Payloads by keys.
type Content = BTreeMap<Vec<u8>, Vec<u8>>;
/// The records that a commit wrote, or removed.
type Changes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

const PAGES: usize = 4;
/// Commits between checkpoints.
const LOG_MOST: usize = 20;

/// The files, and the power of their disk.
#[derive(Debug, Default)]
struct Disk {
    pages: [Content; PAGES],
    /// The commits, each with its connection's number.
    log: Vec<(u64, Changes)>,
    /// True while a recovery is under way.
    is_recovering: bool,
    /// Operations so far.
    operations: u64,
    /// Operations after which the power goes.
    power: Option<u64>,
    /// Commits that were written and not synchronised.
    unsynchronised: Vec<(u64, Changes)>,
    failing: Option<Failing>,
    /// Operations of the failing kind so far.
    seen: u64,
}

impl Disk {
    /// Counts an operation; fails without power.
    fn step(&mut self) -> Result<()> {
        if self.power.is_some_and(|most| self.operations >= most) {
            return Err(Error::engine("write", "the power is gone"));
        }
        self.operations += 1;
        Ok(())
    }

    /// Fails if the disk does.
    fn meet(&mut self, operation: Operation) -> Result<()> {
        let Some(failing) = self.failing.filter(|failing| failing.operation == operation) else {
            return Ok(());
        };
        self.seen += 1;
        if self.seen >= failing.at && self.seen - failing.at < failing.operations {
            return Err(Error::engine("disk", format!("{operation:?} failed")));
        }
        Ok(())
    }

    fn append(&mut self, connection: u64, changes: Changes, bug: Bug) -> Result<()> {
        self.step()?;
        if let Err(error) = self.meet(Operation::Write) {
            if bug == Bug::FreesTwice {
                self.log.pop();
            }
            return Err(error);
        }
        self.unsynchronised.push((connection, changes));
        match (self.synchronise(bug), bug) {
            (Err(_), Bug::IgnoresFailedSync) => Ok(()),
            (Err(_), Bug::BelievesSecondSync) => self.synchronise(bug),
            (done, _) => done,
        }
    }

    /// Synchronises the log. If that fails, what was not synchronised is lost.
    fn synchronise(&mut self, bug: Bug) -> Result<()> {
        let written = std::mem::take(&mut self.unsynchronised);
        let done = self.meet(Operation::Sync);
        if done.is_ok() || matches!(bug, Bug::LogsRefused | Bug::LogsUnsure) {
            self.log.extend(written);
        }
        done
    }

    /// Writes the pages, so that the log can be emptied.
    fn checkpoint(&mut self, content: &Content) -> Result<()> {
        for at in 0..PAGES {
            self.step()?;
            self.meet(Operation::Write)?;
            self.pages[at] = content
                .iter()
                .filter(|(key, _)| usize::from(key[0]) % PAGES == at)
                .map(|(key, payload)| (key.clone(), payload.clone()))
                .collect();
        }
        self.step()?;
        self.log.clear();
        Ok(())
    }

    fn recover(&mut self, bug: Bug) -> Result<Content> {
        let mut content: Content = self.pages.clone().into_iter().flatten().collect();
        if self.log.is_empty() {
            return Ok(content);
        }
        if bug == Bug::SecondRecoveryForgets {
            if self.is_recovering {
                self.log.clear();
            }
            self.step()?;
            self.is_recovering = true;
        }
        if bug == Bug::ReplaysApart {
            self.log.sort_by_key(|(connection, _)| *connection);
        }
        for at in 0..self.log.len() {
            let (_, changes) = match bug {
                Bug::WritesBeforeItHasRead => {
                    self.step()?;
                    self.log.remove(0)
                }
                _ => self.log[at].clone(),
            };
            changes.into_iter().for_each(|change| apply(&mut content, change));
        }
        self.checkpoint(&content)?;
        self.is_recovering = false;
        Ok(content)
    }
}

fn apply(content: &mut Content, (key, payload): (Vec<u8>, Option<Vec<u8>>)) {
    match payload {
        Some(payload) => drop(content.insert(key, payload)),
        None => drop(content.remove(&key)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The engine.
#[derive(Clone)]
pub struct Teaching {
    bug: Bug,
    disk: Arc<Mutex<Disk>>,
}

impl Teaching {
    /// Returns the engine with an empty disk.
    pub fn with(bug: Bug) -> Self {
        Self { bug, disk: Arc::default() }
    }

    /// Cuts the power after a number of further operations; never if `None`.
    pub fn power(&self, operations: Option<u64>) {
        let mut disk = lock(&self.disk);
        disk.power = operations.map(|more| disk.operations + more);
    }

    /// Lets operations of the disk fail from now on, or heals it.
    pub fn fail(&self, failing: Option<Failing>) {
        let mut disk = lock(&self.disk);
        (disk.failing, disk.seen) = (failing, 0);
    }
}

static PROFILE: Profile = Profile {
    id: "teaching",
    name: "Teaching",
    about: "a log and pages, with a fault when told to",
    key_kinds: &[KeyKind::Hash],
    levels: &[(Storage::Disk, &[Durability::Commit])],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Refuses,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::Concurrent,
    parameters: &[],
    keeps_data: true,
};

impl Driver for Teaching {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok("1".into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let content = lock(&self.disk).recover(self.bug)?;
        Ok(Box::new(TeachingStore {
            engine: self.clone(),
            schema: spec.schema.clone(),
            content: Mutex::new(content),
            connections: AtomicU64::new(0),
        }))
    }
}

struct TeachingStore {
    engine: Teaching,
    schema: Schema,
    content: Mutex<Content>,
    /// The number of connections so far.
    connections: AtomicU64,
}

impl TeachingStore {
    fn log(&self, content: &Content, connection: u64, changes: Changes) -> Result<()> {
        let bug = self.engine.bug;
        let mut disk = lock(&self.engine.disk);
        if bug == Bug::Halves && changes.len() > 1 {
            let (first, second) = changes.split_at(changes.len() / 2);
            disk.append(connection, first.to_vec(), bug)?;
            disk.append(connection, second.to_vec(), bug)?;
        } else {
            disk.append(connection, changes, bug)?;
        }
        // A checkpoint that fails is tried again after the next commit: the log has everything.
        if disk.log.len() >= LOG_MOST {
            let failed = disk.checkpoint(content).is_err();
            if failed && bug == Bug::FreesEarly && disk.step().is_ok() {
                disk.log.clear();
            }
        }
        Ok(())
    }

    /// Takes changes back that could not be logged.
    fn take_back(&self, content: &mut Content, undo: Changes) {
        let kept = match self.engine.bug {
            Bug::KeepsRefused => undo.len(),
            Bug::KeepsPart => undo.len() / 2,
            _ => 0,
        };
        undo.into_iter().skip(kept).rev().for_each(|change| apply(content, change));
    }

    /// Refuses a commit that could not be logged.
    fn refusal(&self, error: Error) -> Error {
        match self.engine.bug {
            Bug::KeepsPart | Bug::LogsUnsure => error,
            _ => error.without_effect(),
        }
    }
}

impl Store for TeachingStore {
    fn settings(&self) -> Vec<String> {
        Vec::new()
    }

    fn cache(&self) -> Cache {
        Cache::NoSetting
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        work(&mut TeachingConnection { store: self, number, transaction: None })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct TeachingConnection<'s> {
    store: &'s TeachingStore,
    number: u64,
    transaction: Option<Open<'s>>,
}

/// An open transaction.
struct Open<'s> {
    /// The right to write.
    content: MutexGuard<'s, Content>,
    changes: Changes,
    /// The changes that take those back, in the order in which they were made.
    undo: Changes,
}

impl TeachingConnection<'_> {
    /// Makes one change, if `change` returns one, in the transaction or by itself.
    fn write(
        &mut self,
        refused: Outcome,
        change: impl FnOnce(&Content) -> Option<(Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<Outcome> {
        if let Some(Open { content, changes, undo }) = &mut self.transaction {
            let Some(change) = change(content) else { return Ok(refused) };
            undo.push((change.0.clone(), content.get(&change.0).cloned()));
            apply(content, change.clone());
            changes.push(change);
            return Ok(Outcome::Done);
        }
        // Threads take turns, although nothing here takes time.
        std::thread::yield_now();
        let mut content = lock(&self.store.content);
        let Some(change) = change(&content) else { return Ok(refused) };
        let undo = vec![(change.0.clone(), content.get(&change.0).cloned())];
        apply(&mut content, change.clone());
        if let Err(error) = self.store.log(&content, self.number, vec![change]) {
            self.store.take_back(&mut content, undo);
            return Err(self.store.refusal(error));
        }
        Ok(Outcome::Done)
    }
}

impl Connection for TeachingConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        std::thread::yield_now();
        let content = lock(&self.store.content);
        self.transaction = Some(Open { content, changes: Changes::new(), undo: Changes::new() });
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        if let Some(Open { mut content, undo, .. }) = self.transaction.take() {
            self.store.take_back(&mut content, undo);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let Some(Open { mut content, changes, undo }) = self.transaction.take() else {
            return Err(Error::engine("commit", "there is no transaction"));
        };
        self.store.log(&content, self.number, changes).map_err(|error| {
            self.store.take_back(&mut content, undo);
            self.store.refusal(error)
        })
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let (key, payload) = record.split_at(self.store.schema.key_size());
        self.write(Outcome::Duplicate, |content| {
            (!content.contains_key(key)).then(|| (key.to_vec(), Some(payload.to_vec())))
        })
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        if let Err(error) = lock(&self.store.engine.disk).meet(Operation::Read) {
            return match self.store.engine.bug {
                Bug::MissesUnread => Ok(Outcome::Missing),
                _ => Err(error),
            };
        }
        let content = lock(&self.store.content);
        let Some(found) = content.get(key) else { return Ok(Outcome::Missing) };
        payload.copy_from_slice(found);
        Ok(Outcome::Done)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let schema = &self.store.schema;
        let from = schema.columns()[column].offset - schema.key_size();
        let change = |content: &Content| {
            let mut payload = content.get(key)?.clone();
            payload[from..from + value.len()].copy_from_slice(value);
            Some((key.to_vec(), Some(payload)))
        };
        if self.store.engine.bug == Bug::LostUpdate && self.transaction.is_none() {
            let early = change(&lock(&self.store.content));
            std::thread::yield_now();
            return self.write(Outcome::Missing, |_| early);
        }
        self.write(Outcome::Missing, change)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.write(Outcome::Missing, |content| {
            content.contains_key(key).then(|| (key.to_vec(), None))
        })
    }
}

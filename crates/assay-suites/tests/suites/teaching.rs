//! A small engine with faults that only several threads show, or a crash within recovery. Its disk
//! is in memory and stops after a number of operations, as when the power goes.
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

/// What is wrong with the engine.
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
}

impl Bug {
    /// The bugs that only several threads show.
    pub const OF_THREADS: [Self; 2] = [Self::LostUpdate, Self::ReplaysApart];
    /// The bugs that only a crash within recovery shows.
    pub const OF_RECOVERY: [Self; 2] = [Self::WritesBeforeItHasRead, Self::SecondRecoveryForgets];
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

    fn append(&mut self, connection: u64, changes: Changes) -> Result<()> {
        self.step()?;
        self.log.push((connection, changes));
        Ok(())
    }

    fn checkpoint(&mut self, content: &Content) -> Result<()> {
        for at in 0..PAGES {
            self.step()?;
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

    /// Lets the power go after so many more operations.
    pub fn power(&self, operations: Option<u64>) {
        let mut disk = lock(&self.disk);
        disk.power = operations.map(|more| disk.operations + more);
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
        let mut disk = lock(&self.engine.disk);
        if self.engine.bug == Bug::Halves && changes.len() > 1 {
            let (first, second) = changes.split_at(changes.len() / 2);
            disk.append(connection, first.to_vec())?;
            disk.append(connection, second.to_vec())?;
        } else {
            disk.append(connection, changes)?;
        }
        if disk.log.len() >= LOG_MOST { disk.checkpoint(content) } else { Ok(()) }
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
    /// The right to write, and the changes so far.
    transaction: Option<(MutexGuard<'s, Content>, Changes)>,
}

impl TeachingConnection<'_> {
    /// Makes one change, if `change` returns one, in the transaction or by itself.
    fn write(
        &mut self,
        refused: Outcome,
        change: impl FnOnce(&Content) -> Option<(Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<Outcome> {
        if let Some((content, changes)) = &mut self.transaction {
            let Some(change) = change(content) else { return Ok(refused) };
            apply(content, change.clone());
            changes.push(change);
            return Ok(Outcome::Done);
        }
        // Threads take turns, although nothing here takes time.
        std::thread::yield_now();
        let mut content = lock(&self.store.content);
        let Some(change) = change(&content) else { return Ok(refused) };
        apply(&mut content, change.clone());
        self.store.log(&content, self.number, vec![change])?;
        Ok(Outcome::Done)
    }
}

impl Connection for TeachingConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        std::thread::yield_now();
        self.transaction = Some((lock(&self.store.content), Changes::new()));
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some((content, changes)) => self.store.log(&content, self.number, changes),
            None => Err(Error::engine("commit", "there is no transaction")),
        }
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let (key, payload) = record.split_at(self.store.schema.key_size());
        self.write(Outcome::Duplicate, |content| {
            (!content.contains_key(key)).then(|| (key.to_vec(), Some(payload.to_vec())))
        })
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
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

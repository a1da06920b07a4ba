//! The parts that all handles of a volume share: its database, its open entries, and their lookup.
//!
//! Locks, in the order in which a thread may take them:
//!
//! 1. `structure`: shared by those who unlink, alone for those who rename;
//! 2. [`Node::children`]: shared by those who link, alone for those who unlink;
//! 3. the lock of a cell, of several in the order of their entries and names;
//! 4. those inside the registry, a map of cells, and the queues of watchers.
//!
//! `clearing` comes before `leaving`, and with no other. Under the lock of the time that is kept,
//! no other is taken.
//!
//! No code of users runs under any of them.

pub(crate) mod expiry;
pub(crate) mod late;
pub(crate) mod links;
pub(crate) mod properties;
pub(crate) mod removal;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use lode::{Database, Durability};

use crate::clock::{KeptTime, Moment, Time};
use crate::core::late::Late;
use crate::error::{Error, Result};
use crate::lock::{lock, read, write};
use crate::name::{child_path, names_of};
use crate::open::node::{Node, Place, State};
use crate::open::registry::Registry;
use crate::options::Options;
use crate::tables::{Id, ROOT, Setting, Tables};
use crate::watch::Watchers;

/// The number of ids that are reserved in the table at a time.
const RESERVED_IDS: u64 = 1024;

/// The most bytes of a path that is remembered; longer ones are looked up level by level.
const MOST_REMEMBERED_BYTES: usize = 1024;

/// Attempts after which a lookup keeps others from unlinking and renaming.
const LOOSE_ATTEMPTS: u32 = 8;

/// The way of changes of properties to the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    ReadOnly,
    /// Changes that are each an operation of the database, and as durable as that.
    Through,
    /// Changes that may reach the tables later, since nothing is promised before the close.
    Late,
}

/// An open volume.
pub(crate) struct Core {
    pub database: Database,
    pub tables: Tables,
    pub name: String,
    pub mode: Mode,
    pub time: Time,
    pub registry: Registry,
    pub structure: RwLock<()>,
    /// The number of times that entries were unlinked or renamed.
    version: AtomicU64,
    ids: Mutex<Ids>,
    pub late: Late,
    pub watchers: Watchers,
    claim: Mutex<Claim>,
    /// A moment before which nothing expires.
    pub next_expiry: AtomicI64,
    /// The latest time that was seen, as far as the table has it.
    pub kept_time: KeptTime,
    /// True if unlinked entries may still have to be deleted.
    pub has_removed: AtomicBool,
    /// A lock of the thread that deletes a step of what was unlinked.
    pub clearing: Mutex<()>,
    /// Entries that were taken out, while handles of what is below them may still be of use.
    pub leaving: Mutex<BTreeSet<Id>>,
    /// True if no handle is left, or the volume was closed.
    pub is_ending: AtomicBool,
}

/// The storage that has the volume mounted, and the number of its mounts.
#[derive(Default)]
struct Claim {
    storage: u64,
    mounts: u64,
}

/// Reserved ids that are unused.
#[derive(Default)]
struct Ids {
    next: Id,
    end: Id,
}

impl Core {
    pub(crate) fn writable(database: Database, name: String, options: &Options) -> Result<Self> {
        let name = options.name.clone().unwrap_or(name);
        let tables = Tables::create(&database, &name)?;
        let mode = match options.durability {
            Durability::None => Mode::Late,
            _ => Mode::Through,
        };
        Self::new(database, tables, name, mode, options)
    }

    pub(crate) fn read_only(database: Database, name: String, options: &Options) -> Result<Self> {
        let name = options.name.clone().unwrap_or(name);
        let tables = Tables::open(&database, &name)?;
        Self::new(database, tables, name, Mode::ReadOnly, options)
    }

    fn new(
        database: Database,
        tables: Tables,
        name: String,
        mode: Mode,
        options: &Options,
    ) -> Result<Self> {
        let latest = tables.setting(Setting::Latest)?.unwrap_or_default();
        let latest = Moment(i64::try_from(latest).unwrap_or(i64::MAX - 1));
        let root = Arc::new(Node::new(ROOT, None));
        Ok(Self {
            database,
            tables,
            name,
            mode,
            time: Time::new(options.clock_or_system(), latest),
            registry: Registry::new(root, options.open_entries, options.cache_bytes),
            structure: RwLock::new(()),
            version: AtomicU64::new(0),
            ids: Mutex::default(),
            late: Late::new(mode == Mode::Late),
            watchers: Watchers::default(),
            claim: Mutex::default(),
            next_expiry: AtomicI64::new(i64::MIN),
            kept_time: KeptTime::new(latest),
            has_removed: AtomicBool::new(mode != Mode::ReadOnly),
            clearing: Mutex::default(),
            leaving: Mutex::default(),
            is_ending: AtomicBool::new(false),
        })
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.mode == Mode::ReadOnly
    }

    /// Fails for a volume that can only be read, and in a forked process.
    pub(crate) fn expect_writable(&self) -> Result<()> {
        self.expect_here()?;
        if self.is_read_only() {
            Err(Error::ReadOnly { volume: self.name.clone() })
        } else {
            Ok(())
        }
    }

    pub(crate) fn corrupt(&self, why: impl Into<String>) -> Error {
        Error::Corrupt { volume: self.name.clone(), why: why.into() }
    }

    /// Returns the path of an open entry. The thread holds no lock.
    pub(crate) fn path_of(&self, node: &Node) -> String {
        let _structure = read(&self.structure);
        node.path()
    }

    #[cold]
    pub(crate) fn gone(&self, node: &Node) -> Error {
        Error::Gone { path: node.path() }
    }

    /// Fails in a process that was forked from the one that opened the volume.
    #[inline]
    pub(crate) fn expect_here(&self) -> Result<()> {
        if self.database.is_forked() { Err(lode::Error::Forked.into()) } else { Ok(()) }
    }

    /// Fails for an entry that was unlinked, and for all of them in a forked process.
    pub(crate) fn expect_linked(&self, node: &Node) -> Result<()> {
        self.expect_here()?;
        match node.state() {
            State::Linked | State::Leaving => Ok(()),
            State::Gone => Err(self.gone(node)),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Takes note that what was found under paths may be found there no more.
    pub(crate) fn paths_have_changed(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns an id that no entry has had.
    pub(crate) fn new_id(&self) -> Result<Id> {
        let mut ids = lock(&self.ids);
        if ids.next == ids.end {
            let next = self.tables.setting(Setting::NextId)?;
            let next = next.ok_or_else(|| self.corrupt("it has lost which ids are unused"))?;
            let end = next.checked_add(RESERVED_IDS);
            let end = end.ok_or_else(|| self.corrupt("all ids are used"))?;
            self.tables.set_setting(Setting::NextId, end)?;
            *ids = Ids { next, end };
        }
        ids.next += 1;
        Ok(ids.next - 1)
    }

    /// Returns the child of an entry.
    pub(crate) fn child(&self, parent: &Arc<Node>, name: &str) -> Result<Option<Arc<Node>>> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let alone = (attempt > LOOSE_ATTEMPTS).then(|| write(&self.structure));
            #[cfg(test)]
            crate::counted::step();
            self.expect_linked(parent)?;
            let version = self.version();
            let Some(id) = self.tables.child(&self.tables.entries, parent.id, name)? else {
                return Ok(None);
            };
            let place = || Place { parent: Arc::clone(parent), name: name.into() };
            let node = self.registry.find_or_open(id, place);
            if alone.is_some() && node.state() != State::Gone && !node.is_at(parent, name) {
                // A thread that had found the entry where it was before has opened it.
                node.move_to(place());
            }
            if self.is_still(parent, name, &node, version) {
                return Ok(Some(node));
            }
        }
    }

    /// Returns true if an entry found under a parent is still there. A thread that unlinks it from
    /// now on finds its node.
    pub(crate) fn is_still(
        &self,
        parent: &Arc<Node>,
        name: &str,
        node: &Arc<Node>,
        version: u64,
    ) -> bool {
        self.version() == version
            && parent.state() != State::Gone
            && node.state() != State::Gone
            && node.is_at(parent, name)
    }

    /// Returns the entry under a path that starts at another entry.
    pub(crate) fn lookup(&self, from: &Arc<Node>, path: &str) -> Result<Option<Arc<Node>>> {
        self.expect_linked(from)?;
        let version = self.version();
        if from.is_root()
            && let Some(id) = self.registry.known(path, version)
            && let Some(node) = self.registry.find(id)
            && node.state() != State::Gone
        {
            return Ok(Some(node));
        }
        let names = names_of(path)?;
        self.trim_if_over_full();
        let mut node = Arc::clone(from);
        for name in names {
            match self.child(&node, name) {
                Ok(Some(child)) => node = child,
                Ok(None) => return Ok(None),
                Err(Error::Gone { .. }) if !Arc::ptr_eq(&node, from) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        if from.is_root() && path.len() <= MOST_REMEMBERED_BYTES {
            self.registry.remember(path, version, node.id);
        }
        Ok(Some(node))
    }

    /// Returns the entry under a path. Links it if it is not there, and those above it.
    pub(crate) fn make(&self, from: &Arc<Node>, path: &str) -> Result<Arc<Node>> {
        if let Some(node) = self.lookup(from, path)? {
            return Ok(node);
        }
        let mut node = Arc::clone(from);
        for name in names_of(path)? {
            node = loop {
                if let Some(child) = self.child(&node, name)? {
                    break child;
                }
                match self.link(&node, name) {
                    Err(Error::NameTaken { .. }) => {}
                    linked => break linked?,
                }
            };
        }
        Ok(node)
    }

    /// Writes what is late to the tables. The thread holds no lock.
    pub(crate) fn catch_up(&self) -> Result<()> {
        self.late.catch_up(&self.tables)
    }

    /// Closes open entries if there are more than there should be.
    pub(crate) fn trim_if_over_full(&self) {
        if self.registry.is_over_full() {
            // Cells that the tables lack are kept; the next one who needs the tables reports why.
            let _ = self.catch_up();
            self.registry.trim();
        }
    }

    pub(crate) fn no_entry(&self, parent: &Node, name: &str) -> Error {
        Error::NoEntry { path: child_path(&parent.path(), name) }
    }

    /// Notes a mount of the volume in a storage.
    pub(crate) fn claim(&self, storage: u64) -> Result<()> {
        let mut claim = lock(&self.claim);
        if claim.mounts > 0 && claim.storage != storage {
            return Err(Error::Claimed { volume: self.name.clone() });
        }
        *claim = Claim { storage, mounts: claim.mounts + 1 };
        Ok(())
    }

    /// Undoes one mount.
    pub(crate) fn release(&self, storage: u64) {
        let mut claim = lock(&self.claim);
        debug_assert!(claim.storage == storage && claim.mounts > 0, "a release follows its claim");
        claim.mounts = claim.mounts.saturating_sub(1);
    }
}

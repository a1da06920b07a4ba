//! The record level: what a suite asks of an engine, and what an engine declares about itself.
//!
//! A [`Driver`] opens a [`Store`]; a thread works on it through a [`Connection`] of its own.
//! Keys, payloads and records are packed as [`crate::schema`] says. A driver allocates nothing
//! and formats nothing on the path of a single operation, and never stands in for an operation
//! that its engine does not have: it answers [`Error::unsupported`].

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::volume::Volume;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $text,)+ })
            }
        }
    };
}

named! {
    /// Where the data lives.
    Storage {
        /// In the process, gone with it.
        Memory = "memory",
        /// In files on a tmpfs.
        Ramdisk = "ramdisk",
        /// In files on a disk.
        Disk = "disk",
    }
}

named! {
    /// What survives what. Stronger levels are greater.
    Durability {
        /// Nothing is promised before the store is closed.
        None = "none",
        /// What was acknowledged survives a killed process.
        Process = "process",
        /// Power loss costs at most the interval that the driver states.
        Periodic = "periodic",
        /// Power loss costs nothing that was acknowledged.
        Commit = "commit",
    }
}

named! {
    /// How the primary key is organised.
    KeyKind {
        /// Point access only.
        Hash = "hash",
        /// Point access and ordered scans.
        Tree = "tree",
    }
}

named! {
    /// A change of a record that is there. Engines whose records stay as they were inserted lack
    /// it.
    Change {
        /// Setting a column.
        Update = "update",
        /// Deleting the record.
        Delete = "delete",
    }
}

/// What an engine's transactions offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transactions {
    /// There are none.
    None,
    /// Inserts and deletes are collected and applied at once; reads do not see them before.
    Batches,
    /// Reads and writes, with its own writes visible.
    Full,
}

/// What `insert` does when the key is already there, as the engine's fast path has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InsertRule {
    /// It answers [`Outcome::Duplicate`] and changes nothing.
    Refuses,
    /// It replaces the record (a blind put).
    Replaces,
}

/// What `delete` answers for a key that is not there, as the engine's fast path has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeleteRule {
    /// [`Outcome::Missing`].
    Reports,
    /// [`Outcome::Done`]: it writes a tombstone and does not look.
    Silent,
}

/// How many connections can work at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concurrency {
    /// One connection at a time.
    OneConnection,
    /// Many readers beside one writer.
    OneWriter,
    /// Readers and writers all at once.
    Concurrent,
}

/// Where the files of an engine's stores end up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// On this machine.
    Machine,
    /// On a server, or some of them.
    Server,
}

/// A setting of an engine that the user may choose with `--set ENGINE.NAME=VALUE`.
#[derive(Clone, Copy, Debug)]
pub struct EngineOption {
    /// Its name.
    pub name: &'static str,
    /// The values it takes, the default first.
    pub values: &'static [&'static str],
    /// What it decides, in one line.
    pub about: &'static str,
    /// The value that the published driver had, for `--as-published`.
    pub as_published: Option<&'static str>,
}

/// What an engine declares about itself.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The id of the engine on the command line and in run files.
    pub id: &'static str,
    /// The name that published tables use.
    pub name: &'static str,
    /// One line: what it is.
    pub about: &'static str,
    /// Key kinds, the default first.
    pub key_kinds: &'static [KeyKind],
    /// Storage modes with the durability levels in each, weakest first.
    pub levels: &'static [(Storage, &'static [Durability])],
    /// Whether level `periodic` also keeps everything when only the process dies.
    pub periodic_survives_kill: bool,
    /// What begin, commit and rollback offer.
    pub transactions: Transactions,
    /// What insert does with a key that is there.
    pub insert_rule: InsertRule,
    /// What delete answers for a key that is not there.
    pub delete_rule: DeleteRule,
    /// How many connections can work at once.
    pub concurrency: Concurrency,
    /// Settings that the user may choose.
    pub options: &'static [EngineOption],
    /// Parameters with values of their own that the engine takes: `block_size` and the like.
    pub parameters: &'static [&'static str],
    /// False for `null`, whose answers cannot be checked.
    pub keeps_data: bool,
}

impl Profile {
    /// The levels in a storage mode; none when the engine does not have that mode.
    pub fn levels_in(&self, storage: Storage) -> &'static [Durability] {
        self.levels.iter().find(|(with, _)| *with == storage).map_or(&[], |(_, levels)| levels)
    }

    /// The weakest level that promises at least `wanted`.
    pub fn level_for(&self, storage: Storage, wanted: Durability) -> Option<Durability> {
        self.levels_in(storage).iter().copied().find(|&level| {
            let too_lossy = level == Durability::Periodic
                && wanted == Durability::Process
                && !self.periodic_survives_kill;
            level >= wanted && !too_lossy
        })
    }

    /// A value for every option: the chosen one, or the default.
    pub fn options_with(&self, chosen: &BTreeMap<String, String>) -> Vec<(String, String)> {
        let value = |option: &EngineOption| {
            chosen.get(option.name).map_or(option.values[0], String::as_str).to_string()
        };
        self.options.iter().map(|option| (option.name.to_string(), value(option))).collect()
    }

    /// Whether stores of a storage mode can be closed and opened again.
    pub fn reopens(&self, storage: Storage) -> bool {
        self.keeps_data && storage != Storage::Memory
    }
}

/// What to open.
#[derive(Clone, Debug)]
pub struct OpenSpec {
    /// An existing directory for the engine's files; unused in memory.
    pub dir: PathBuf,
    /// Create a store in the empty directory, or open the one that is there.
    pub create: bool,
    /// Where the data lives.
    pub storage: Storage,
    /// One of the levels that the profile lists for this storage mode.
    pub durability: Durability,
    /// One of the profile's key kinds.
    pub key_kind: KeyKind,
    /// The shape of the records.
    pub schema: Schema,
    /// How many records are to be expected, for engines that want their size in advance.
    pub expected_rows: u64,
    /// How many connections will work at once.
    pub threads: u32,
    /// Volumes to mount at one point; 1 unless the driver mounts volumes.
    pub volumes: u32,
    /// The chosen value of every option that the profile lists.
    pub options: Vec<(String, String)>,
    /// Given parameters, among them those that the profile lists.
    pub parameters: BTreeMap<String, String>,
}

impl OpenSpec {
    /// The value of an option.
    ///
    /// # Panics
    /// When the profile does not list the option: an error of the driver's author.
    pub fn option(&self, name: &str) -> &str {
        self.options
            .iter()
            .find(|(option, _)| option == name)
            .map(|(_, value)| value.as_str())
            .expect("every option of the profile has a value")
    }

    /// The value of a parameter, if one was given.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }
}

/// What became of an operation that the engine carried out.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is no such key; nothing happened.
    Missing = 0,
    /// Found, inserted, updated or deleted.
    Done = 1,
    /// The key is there already; nothing happened.
    Duplicate = 2,
}

/// An engine that Assay can drive.
pub trait Driver: Sync {
    /// What the engine declares about itself.
    fn profile(&self) -> &Profile;

    /// The engine's version, or why it is not available here.
    fn version(&self) -> std::result::Result<String, String>;

    /// The interval between syncs at level `periodic`, if the engine or its driver states one.
    fn periodic_interval(&self) -> Option<Duration> {
        None
    }

    /// Where the files of its stores end up.
    fn reach(&self) -> Reach {
        Reach::Machine
    }

    /// The changes of records that the engine does not have. Suites leave out what needs them.
    fn lacks(&self) -> &[Change] {
        &[]
    }

    /// Whether one store mounts several volumes at one point by itself, as [`OpenSpec::volumes`]
    /// says, and its [`Connection::volume`] is all of them.
    fn mounts_volumes(&self) -> bool {
        false
    }

    /// Creates or opens a store.
    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>>;
}

/// An open store with one table.
pub trait Store: Sync {
    /// The settings that were applied, as the engine's users would write them.
    fn settings(&self) -> Vec<String>;

    /// Runs `work` with a connection of the calling thread. (The connection lives inside this
    /// call, so it may borrow from what lives on its stack: statements, transactions.)
    fn connect(&self, work: &mut Work<'_>) -> Result<()>;

    /// Closes the store; with it, whatever the engine leaves for then reaches its files.
    fn close(self: Box<Self>) -> Result<()>;
}

/// What a thread does with its connection.
pub type Work<'w> = dyn FnMut(&mut dyn Connection) -> Result<()> + 'w;

/// One thread's handle. Outside [`Self::begin`] … [`Self::commit`] every write is a transaction
/// of its own, durable as the store's level says when the call returns.
pub trait Connection {
    /// Begins a transaction.
    fn begin(&mut self) -> Result<()> {
        Err(Error::unsupported("transactions"))
    }

    /// Commits the transaction.
    fn commit(&mut self) -> Result<()> {
        Err(Error::unsupported("transactions"))
    }

    /// Rolls the transaction back.
    fn rollback(&mut self) -> Result<()> {
        Err(Error::unsupported("transactions"))
    }

    /// Inserts a packed record.
    fn insert(&mut self, record: &[u8]) -> Result<Outcome>;

    /// Stores a packed record, in place of the one with its key if there is one.
    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        let _ = record;
        Err(Error::unsupported("writing a record whether or not it is there"))
    }

    /// Looks a key area up and copies the record's payload area.
    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome>;

    /// Looks up several keys, packed one after another, in one call; `payloads` and `outcomes`
    /// have room for an answer to each.
    fn get_many(
        &mut self,
        keys: &[u8],
        payloads: &mut [u8],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        let (_, _, _) = (keys, payloads, outcomes);
        Err(Error::unsupported("lookups of several keys at once"))
    }

    /// Sets one column (by its position in the schema) to a packed value, which is as long as
    /// its type says; one of variable length has its number of bytes at the front.
    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome>;

    /// Deletes a record.
    fn delete(&mut self, key: &[u8]) -> Result<Outcome>;

    /// Replays inserts of packed records one after another; answers how many were
    /// [`Outcome::Done`].
    ///
    /// The `replay` functions are what the timed loops call: one virtual call for a batch of
    /// single operations instead of one for each, since a call that cannot be inlined, and a
    /// result that travels through it, keep the cache misses of successive operations from
    /// overlapping. They are instantiated for each driver, so [`Self::insert`] and the others
    /// are inlined into them. A driver in another language may have the loop there; it does
    /// each operation by itself and in order, and neither groups, sorts nor prefetches.
    fn replay_inserts(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        let mut done = 0;
        for record in records.chunks_exact(record_size) {
            done += u64::from(self.insert(record)? == Outcome::Done);
        }
        Ok(done)
    }

    /// Inserts packed records in one transaction; answers how many were [`Outcome::Done`].
    fn batch(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        self.begin()?;
        let done = self.replay_inserts(records, record_size)?;
        self.commit()?;
        Ok(done)
    }

    /// Replays lookups one after another, each into a payload area of its own.
    fn replay_gets(
        &mut self,
        keys: &[u8],
        key_size: usize,
        payloads: &mut [u8],
        payload_size: usize,
    ) -> Result<u64> {
        let mut done = 0;
        let payloads = payloads.chunks_exact_mut(payload_size);
        for (key, payload) in keys.chunks_exact(key_size).zip(payloads) {
            done += u64::from(self.get(key, payload)? == Outcome::Done);
        }
        Ok(done)
    }

    /// Replays updates of one column one after another.
    fn replay_updates(
        &mut self,
        keys: &[u8],
        key_size: usize,
        column: usize,
        values: &[u8],
        value_size: usize,
    ) -> Result<u64> {
        let mut done = 0;
        let values = values.chunks_exact(value_size);
        for (key, value) in keys.chunks_exact(key_size).zip(values) {
            done += u64::from(self.update(key, column, value)? == Outcome::Done);
        }
        Ok(done)
    }

    /// Replays deletes one after another.
    fn replay_deletes(&mut self, keys: &[u8], key_size: usize) -> Result<u64> {
        let mut done = 0;
        for key in keys.chunks_exact(key_size) {
            done += u64::from(self.delete(key)? == Outcome::Done);
        }
        Ok(done)
    }

    /// The engine's own notion of volumes and properties, if it has one.
    fn volume(&mut self) -> Option<&mut dyn Volume> {
        None
    }

    /// Calls `row` for each record of a range in ascending order of keys and returns their
    /// number. A row is a packed record in which only the columns asked for are meaningful.
    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let (_, _) = (scan, row);
        Err(Error::unsupported("ordered scans"))
    }
}

/// A range of records in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'s> {
    /// From which key area on.
    pub lower: Bound<&'s [u8]>,
    /// Up to which key area.
    pub upper: Bound<&'s [u8]>,
    /// Positions of the columns wanted, ascending.
    pub columns: &'s [usize],
    /// At most so many records.
    pub limit: u64,
}

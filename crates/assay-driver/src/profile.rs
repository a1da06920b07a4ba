//! An engine's declaration of its storage modes, promises and features.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::parameter::Parameter;

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
    /// The place of the data.
    Storage {
        /// In the process; it ends with the process.
        Memory = "memory",
        /// In files on a tmpfs.
        Ramdisk = "ramdisk",
        /// In files on a disk.
        Disk = "disk",
    }
}

named! {
    /// The events that acknowledged writes survive. Stronger levels are greater.
    Durability {
        /// Nothing is promised before the store is closed.
        None = "none",
        /// Acknowledged writes survive a killed process.
        Process = "process",
        /// Power loss costs at most the interval that the driver states.
        Periodic = "periodic",
        /// Acknowledged writes survive a power loss.
        Commit = "commit",
    }
}

named! {
    /// The kind of a primary key.
    KeyKind {
        /// Point access only.
        Hash = "hash",
        /// Point access and ordered scans.
        Tree = "tree",
    }
}

named! {
    /// A change of an existing record. Engines whose records stay as they were inserted lack it.
    Change {
        /// Setting a column.
        Update = "update",
        /// Deleting the record.
        Delete = "delete",
    }
}

/// The features of an engine's transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transactions {
    /// The engine has no transactions.
    None,
    /// Inserts and deletes are collected and applied at once; reads do not see them before.
    Batches,
    /// Reads and writes, with its own writes visible.
    Full,
}

/// The effect of `insert` on an existing key, on the engine's fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InsertRule {
    /// Insert returns [`Outcome::Duplicate`](crate::Outcome::Duplicate) and changes nothing.
    Refuses,
    /// Insert replaces the record (a blind put).
    Replaces,
}

/// The outcome of `delete` for a missing key, on the engine's fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeleteRule {
    /// [`Outcome::Missing`](crate::Outcome::Missing).
    Reports,
    /// [`Outcome::Done`](crate::Outcome::Done): delete writes a tombstone without a lookup.
    Silent,
}

/// The number of connections that can work at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concurrency {
    /// One connection at a time.
    OneConnection,
    /// Many readers next to one writer.
    OneWriter,
    /// Readers and writers all at once.
    Concurrent,
}

/// The machines on which the files of an engine's stores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// On this machine.
    Machine,
    /// On one or more servers.
    Server,
}

/// An engine's declaration about itself.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The id of the engine on the command line and in run files.
    pub id: &'static str,
    /// The name that published tables use.
    pub name: &'static str,
    /// A description of the engine in one line.
    pub about: &'static str,
    /// Key kinds, the default first.
    pub key_kinds: &'static [KeyKind],
    /// Storage modes with the durability levels in each, weakest first.
    pub levels: &'static [(Storage, &'static [Durability])],
    /// True if level `periodic` keeps everything when only the process dies.
    pub periodic_survives_kill: bool,
    /// The features of begin, commit and rollback.
    pub transactions: Transactions,
    /// The effect of insert on an existing key.
    pub insert_rule: InsertRule,
    /// The outcome of delete for a missing key.
    pub delete_rule: DeleteRule,
    /// The number of connections that can work at once.
    pub concurrency: Concurrency,
    /// The parameters that a user may set.
    pub parameters: &'static [Parameter],
    /// False for `null`, whose results cannot be checked.
    pub keeps_data: bool,
}

impl Profile {
    /// Returns the levels in a storage mode; none if the engine does not have that mode.
    pub fn levels_in(&self, storage: Storage) -> &'static [Durability] {
        self.levels.iter().find(|(with, _)| *with == storage).map_or(&[], |(_, levels)| levels)
    }

    /// Returns the weakest level that promises at least `wanted`.
    pub fn level_for(&self, storage: Storage, wanted: Durability) -> Option<Durability> {
        self.levels_in(storage).iter().copied().find(|&level| {
            let too_lossy = level == Durability::Periodic
                && wanted == Durability::Process
                && !self.periodic_survives_kill;
            level >= wanted && !too_lossy
        })
    }

    /// Returns why this number of threads cannot work at once, if they cannot.
    pub fn refuses(&self, threads: u32) -> Option<String> {
        let is_refused = threads > 1 && self.concurrency == Concurrency::OneConnection;
        is_refused.then(|| {
            format!("{threads} threads are more than it supports: one connection at a time")
        })
    }

    /// Names the writes that do not check if the key exists; none if all of them check.
    pub fn blind_writes(&self) -> Option<&'static str> {
        match (self.insert_rule, self.delete_rule) {
            (InsertRule::Replaces, DeleteRule::Silent) => {
                Some("its inserts and deletes do not look whether the key is there")
            }
            (InsertRule::Refuses, DeleteRule::Silent) => {
                Some("its deletes do not look whether the key is there")
            }
            // A tree that replaces finds the key's place all the same.
            (_, DeleteRule::Reports) => None,
        }
    }

    /// Returns the parameter with this name, if the engine has it.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Returns true if stores of a storage mode can be closed and opened again.
    pub fn reopens(&self, storage: Storage) -> bool {
        self.keeps_data && storage != Storage::Memory
    }
}

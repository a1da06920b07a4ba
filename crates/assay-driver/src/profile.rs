//! What an engine declares about itself: where its data can live, what it promises, what it offers.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

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
    /// It returns [`Outcome::Duplicate`](crate::Outcome::Duplicate) and changes nothing.
    Refuses,
    /// It replaces the record (a blind put).
    Replaces,
}

/// What `delete` returns for a key that is not there, as the engine's fast path has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeleteRule {
    /// [`Outcome::Missing`](crate::Outcome::Missing).
    Reports,
    /// [`Outcome::Done`](crate::Outcome::Done): it writes a tombstone and does not look.
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
    /// What delete returns for a key that is not there.
    pub delete_rule: DeleteRule,
    /// How many connections can work at once.
    pub concurrency: Concurrency,
    /// Settings that the user may choose.
    pub options: &'static [EngineOption],
    /// Parameters with values of their own that the engine takes: `block_size` and the like.
    pub parameters: &'static [&'static str],
    /// False for `null`, whose results cannot be checked.
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

    /// Which writes do not look whether the key is there, in words; none if all of them look.
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

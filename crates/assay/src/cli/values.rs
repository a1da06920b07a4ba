//! The words that options take, and what they stand for.

use assay_core::plan::PageCache;
use assay_driver::{Durability, KeyKind, Storage};
use assay_isolation::Level;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StorageArg {
    #[value(alias = "r")]
    Ramdisk,
    #[value(aliases = ["m", "memory"])]
    Inmem,
    #[value(aliases = ["d", "disk"])]
    Ondisk,
    All,
}

impl StorageArg {
    /// The chosen storage modes, each once, in the order memory, ramdisk, disk.
    pub(crate) fn modes(chosen: &[Self]) -> Vec<Storage> {
        let has = |storage| {
            chosen.iter().any(|arg| match arg {
                Self::Ramdisk => storage == Storage::Ramdisk,
                Self::Inmem => storage == Storage::Memory,
                Self::Ondisk => storage == Storage::Disk,
                Self::All => true,
            })
        };
        Storage::ALL.iter().copied().filter(|&storage| has(storage)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyArg {
    #[value(alias = "d")]
    Default,
    #[value(alias = "h")]
    Hash,
    #[value(alias = "t")]
    Tree,
}

impl KeyArg {
    /// The kind, or none for the engine's own default.
    pub(crate) fn kind(self) -> Option<KeyKind> {
        match self {
            Self::Default => None,
            Self::Hash => Some(KeyKind::Hash),
            Self::Tree => Some(KeyKind::Tree),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageCacheArg {
    Warm,
    Cold,
}

impl PageCacheArg {
    pub(crate) fn state(self) -> PageCache {
        match self {
            Self::Warm => PageCache::Warm,
            Self::Cold => PageCache::Cold,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityArg {
    None,
    Process,
    Periodic,
    Commit,
}

impl DurabilityArg {
    pub(crate) fn level(self) -> Durability {
        match self {
            Self::None => Durability::None,
            Self::Process => Durability::Process,
            Self::Periodic => Durability::Periodic,
            Self::Commit => Durability::Commit,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelsArg {
    None,
    Process,
    Periodic,
    Commit,
    All,
}

impl LevelsArg {
    /// The level; none for all of them.
    pub(crate) fn level(self) -> Option<Durability> {
        match self {
            Self::None => Some(Durability::None),
            Self::Process => Some(Durability::Process),
            Self::Periodic => Some(Durability::Periodic),
            Self::Commit => Some(Durability::Commit),
            Self::All => None,
        }
    }
}

impl From<DurabilityArg> for LevelsArg {
    fn from(level: DurabilityArg) -> Self {
        match level {
            DurabilityArg::None => Self::None,
            DurabilityArg::Process => Self::Process,
            DurabilityArg::Periodic => Self::Periodic,
            DurabilityArg::Commit => Self::Commit,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    #[value(alias = "crossbench")]
    Published,
}

/// The plans that come with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShippedPlan {
    CrossbenchLadder,
}

impl ShippedPlan {
    /// Returns the plan's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CrossbenchLadder => "crossbench-ladder",
        }
    }

    /// Returns the plan's TOML.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::CrossbenchLadder => include_str!("../../plans/crossbench-ladder.toml"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    Table,
    #[value(alias = "crossbench")]
    Published,
    Markdown,
    Csv,
}

/// The format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    Text,
    Json,
    Markdown,
}

/// A level of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolationArg {
    #[value(name = "read committed", alias = "read-committed")]
    ReadCommitted,
    #[value(name = "snapshot isolation", alias = "snapshot-isolation", alias = "snapshot")]
    Snapshot,
    #[value(name = "serializable")]
    Serializable,
}

impl IsolationArg {
    /// Returns the level.
    pub(crate) fn level(self) -> Level {
        match self {
            Self::ReadCommitted => Level::ReadCommitted,
            Self::Snapshot => Level::SnapshotIsolation,
            Self::Serializable => Level::Serializable,
        }
    }
}

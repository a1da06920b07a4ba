//! A cell: the work that one worker process measures.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_driver::{Durability, KeyKind, Storage};
use serde::{Deserialize, Serialize};

use crate::engine::{EngineRef, WhichBuild};

/// The state of the page cache, for the store's files, when a round after the filling starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PageCache {
    /// The pages that the rounds before left there.
    #[default]
    Warm,
    /// No pages: the store was closed, its files dropped from the cache, and opened again.
    Cold,
}

/// The memory that an engine may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryGrant {
    /// The size of the engine's own cache, for engines with a setting for it; none: the size that
    /// the engine takes, or its authors recommend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// True if the user named that size; else it is the default for this machine.
    pub cache_named: bool,
    /// The limit of the memory that the worker takes up, with its part of the page cache; none:
    /// that of the machine.
    #[serde(default, rename = "memory_limit_bytes", skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
}

impl MemoryGrant {
    /// Returns the part that the user named.
    fn by_name(self) -> Self {
        Self { cache_bytes: self.cache_bytes.filter(|_| self.cache_named), ..self }
    }

    /// Returns the grant with one size for all defaults of a cache: an eighth of the memory differs
    /// by some bytes after each start of a machine.
    fn of_any_machine(self) -> Self {
        let of_any = |bytes| if self.cache_named { bytes } else { 0 };
        Self { cache_bytes: self.cache_bytes.map(of_any), ..self }
    }
}

/// One (suite × engine × storage × scale × threads), and the trial it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The suite's id.
    pub suite: String,
    /// The suite's revision: figures of another one are of other operations.
    pub revision: u32,
    /// The engine, and the build that measures it.
    pub engine: EngineRef,
    /// The storage mode.
    pub storage: Storage,
    /// The level at which the engine runs.
    pub durability: Durability,
    /// The level that was asked for; the engine runs at a stronger one if it lacks this one.
    pub durability_wanted: Durability,
    /// The kind of the primary key.
    pub key_kind: KeyKind,
    /// True if the user or an existing store named the key's kind; else the engine chose it.
    pub key_kind_named: bool,
    /// Records in the store at its fullest.
    pub rows: u64,
    /// Threads that work at once.
    pub threads: u32,
    /// The number of the repetition, from 1.
    pub trial: u32,
    /// The seed of everything random.
    pub seed: u64,
    /// The variant that sets the cell apart from the suite's others, in words for a reader.
    pub variant: String,
    /// The suite's own options, as its documentation describes them.
    pub options: serde_json::Value,
    /// Chosen settings of the engine.
    pub engine_options: BTreeMap<String, String>,
    /// Parameters of the engine.
    pub engine_parameters: BTreeMap<String, String>,
    /// The processors that the worker is bound to; its threads take turns on them. None: all.
    pub cpus: Vec<usize>,
    /// The state of the page cache.
    pub page_cache: PageCache,
    /// The memory that the engine may take.
    #[serde(flatten)]
    pub memory: MemoryGrant,
    /// The store's directory; absent in memory.
    pub dir: Option<PathBuf>,
    /// True if the cell only shows the cost of the instrument.
    pub calibration: bool,
}

/// The key of a workload; see [`Cell::same_workload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkloadKey<'c> {
    suite: &'c str,
    revision: u32,
    storage: Storage,
    rows: u64,
    variant: &'c str,
    page_cache: PageCache,
    memory: MemoryGrant,
}

/// The key of a line of a table, see [`Cell::same_but_trial`]: a cell without the fields in which
/// its trials differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LineKey(Cell);

impl Cell {
    /// Returns true if two cells belong in one table: the same work on another engine, or by
    /// another number of threads.
    pub fn same_workload(&self, other: &Self) -> bool {
        self.workload() == other.workload()
    }

    /// Returns the key that all cells of the same work share.
    pub fn workload(&self) -> WorkloadKey<'_> {
        WorkloadKey { revision: self.revision, ..self.workload_but_revision() }
    }

    /// Returns the key that cells of the same work share in all revisions of the suite.
    pub fn workload_but_revision(&self) -> WorkloadKey<'_> {
        WorkloadKey {
            suite: &self.suite,
            revision: 0,
            storage: self.storage,
            rows: self.rows,
            variant: &self.variant,
            page_cache: self.page_cache,
            memory: self.memory.by_name(),
        }
    }

    /// Returns true if two cells are trials of the same thing.
    pub fn same_but_trial(&self, other: &Self) -> bool {
        self.line() == other.line()
    }

    /// Returns true if two cells are trials of the same thing, by any builds.
    pub fn same_but_trial_and_build(&self, other: &Self) -> bool {
        let of_any_build = |cell: &Self| Self {
            engine: cell.engine.of(WhichBuild::This),
            dir: None,
            ..cell.clone()
        };
        of_any_build(self).same_but_trial(&of_any_build(other))
    }

    /// Returns the key that trials of one thing share: all fields but the trial.
    pub fn line(&self) -> LineKey {
        LineKey(Self { trial: 0, memory: self.memory.of_any_machine(), ..self.clone() })
    }

    /// Returns the key that cells of one thing share, by any number of threads.
    pub fn line_of_any_threads(&self) -> LineKey {
        let mut cell = Self { threads: 0, ..self.clone() };
        // Suites with an option of that name repeat the number there.
        if let Some(options) = cell.options.as_object_mut() {
            options.remove("threads");
        }
        cell.line()
    }

    /// Returns a key that is equal for equal cells only.
    pub fn identity(&self) -> (LineKey, u32) {
        (self.line(), self.trial)
    }

    /// Returns a key that is equal for equal cells, in whichever directory their stores are.
    pub fn identity_anywhere(&self) -> (LineKey, u32) {
        Self { dir: None, ..self.clone() }.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(engine: &str, trial: u32) -> Cell {
        let cell = serde_json::json!({
            "suite": "s", "engine": engine, "storage": "disk", "durability": "none",
            "durability_wanted": "none", "key_kind": "hash", "rows": 1, "threads": 1,
            "trial": trial, "seed": 1, "variant": "", "options": null, "engine_options": {},
            "revision": 1, "key_kind_named": false, "engine_parameters": {}, "cpus": [],
            "cache_named": false, "calibration": false, "page_cache": "warm",
            "dir": format!("/stores/{engine}"),
        });
        serde_json::from_value(cell).expect("a cell")
    }

    #[test]
    fn a_cache_is_part_of_what_a_cell_is_if_it_was_named() {
        let with = |cache_bytes, cache_named| {
            let cache_bytes = Some(cache_bytes);
            let memory = MemoryGrant { cache_bytes, cache_named, limit_bytes: None };
            Cell { memory, ..cell("lmdb", 1) }
        };
        assert_eq!(with(1, false).identity(), with(2, false).identity());
        assert_ne!(with(1, true).identity(), with(2, true).identity());
        assert_ne!(with(1, false).identity(), with(1, true).identity());
        assert_ne!(with(1, false).identity(), cell("lmdb", 1).identity());
    }

    #[test]
    fn another_build_of_an_engine_takes_turns_with_it() {
        let one = cell("lmdb", 1);
        let other = cell("lmdb@other", 2);
        assert!(one.same_workload(&other) && !one.same_but_trial(&other));
        assert!(one.same_but_trial_and_build(&other));
        assert!(!one.same_but_trial_and_build(&cell("sqlite@other", 1)));
    }
}

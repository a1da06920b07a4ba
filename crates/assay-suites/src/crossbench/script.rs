//! The numbers of operations of the published benchmark scripts, by size and storage mode.

use assay_driver::{Profile, Storage};

/// The numbers of operations that a script asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Lookups in a round.
    pub query: u64,
    /// Updates in a round.
    pub update: u64,
}

const K: u64 = 1_000;
const M: u64 = 1_000_000;

/// The two published scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// CrossDB's script, which has more operations.
    CrossDb,
    /// SQLite's script.
    Sqlite,
}

impl Script {
    /// Returns the script for an engine: CrossDB's for itself and for engines that are in memory
    /// only, SQLite's for all others.
    pub fn of(profile: &Profile) -> Self {
        let memory_only = profile.levels.iter().all(|(storage, _)| *storage == Storage::Memory);
        if profile.id == CROSSDB || memory_only { Self::CrossDb } else { Self::Sqlite }
    }

    /// Returns the numbers of operations that the script asks for.
    pub fn counts(self, storage: Storage, rows: u64) -> Counts {
        let (query, update) = match self {
            Self::CrossDb => crossdb_script(storage, rows),
            Self::Sqlite => sqlite_script(storage, rows),
        };
        Counts { query, update }
    }
}

/// The engine that has a script for itself.
const CROSSDB: &str = "crossdb";

fn crossdb_script(storage: Storage, rows: u64) -> (u64, u64) {
    match (storage, rows) {
        (Storage::Disk, ..=10_000) => (30 * M, M),
        (Storage::Disk, ..=100_000) => (20 * M, M),
        (Storage::Disk, ..=1_000_000) => (10 * M, M),
        (Storage::Disk, _) => (5 * M, M),
        (_, ..=100_000) => (40 * M, 30 * M),
        (_, _) => (10 * M, 10 * M),
    }
}

fn sqlite_script(storage: Storage, rows: u64) -> (u64, u64) {
    match (storage, rows) {
        (Storage::Disk, ..=1_000) => (K, K),
        (Storage::Disk, _) => (M, M),
        (Storage::Ramdisk, ..=10_000) => (M, 500 * K),
        (Storage::Ramdisk, ..=100_000) => (M, 300 * K),
        (Storage::Ramdisk, _) => (500 * K, 250 * K),
        (Storage::Memory, ..=100_000) => (2 * M, M),
        (Storage::Memory, _) => (M, M),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_published_ones() {
        let of = |script: Script, storage, rows| {
            let counts = script.counts(storage, rows);
            (counts.query, counts.update)
        };
        assert_eq!(of(Script::CrossDb, Storage::Disk, 100 * K), (20 * M, M));
        assert_eq!(of(Script::CrossDb, Storage::Memory, 10 * M), (10 * M, 10 * M));
        assert_eq!(of(Script::Sqlite, Storage::Disk, K), (K, K));
        assert_eq!(of(Script::Sqlite, Storage::Ramdisk, 100 * K), (M, 300 * K));
        assert_eq!(of(Script::Sqlite, Storage::Memory, 100 * M), (M, M));
    }
}

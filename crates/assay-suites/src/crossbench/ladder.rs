//! The published benchmark scripts: six sizes, three storage modes, three loops, and for each
//! how many lookups and updates.

use assay_core::driver::Storage;

/// The sizes.
pub const ROWS: [u64; 6] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// How often each size is measured.
pub const LOOPS: u32 = 3;

/// The storage modes, in the order of the published sections, with their titles.
pub const SECTIONS: [(Storage, &str); 3] = [
    (Storage::Disk, "On-Disk Benchmark Test"),
    (Storage::Ramdisk, "On-RamDisk Benchmark Test"),
    (Storage::Memory, "In-Memory Benchmark Test"),
];

/// How many operations a script asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Lookups in a round.
    pub query: u64,
    /// Updates in a round.
    pub update: u64,
}

const K: u64 = 1_000;
const M: u64 = 1_000_000;

/// The counts of the published script for this engine. Scripts are published for `crossdb` and
/// `sqlite`; engines that live in memory only take the former's, all others the latter's.
pub fn counts(engine: &str, memory_only: bool, storage: Storage, rows: u64) -> Counts {
    let (query, update) = match engine == "crossdb" || memory_only {
        true => quick_script(storage, rows),
        false => sqlite_script(storage, rows),
    };
    Counts { query, update }
}

fn quick_script(storage: Storage, rows: u64) -> (u64, u64) {
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
        let of = |engine, storage, rows| {
            let counts = counts(engine, false, storage, rows);
            (counts.query, counts.update)
        };
        assert_eq!(of("crossdb", Storage::Disk, 100 * K), (20 * M, M));
        assert_eq!(of("crossdb", Storage::Memory, 10 * M), (10 * M, 10 * M));
        assert_eq!(of("sqlite", Storage::Disk, K), (K, K));
        assert_eq!(of("sqlite", Storage::Ramdisk, 100 * K), (M, 300 * K));
        assert_eq!(of("sqlite", Storage::Memory, 100 * M), (M, M));
    }
}

//! The settings with which a database is opened.

use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Clock;
use crate::observability::Observer;
use crate::pager::MemoryLimits;
use crate::wal::LogSettings;

/// The crashes that finished operations survive. Stronger levels are greater.
///
/// ```
/// use lode::{Durability, KeyKind, Options, Schema, Type};
///
/// // All but this one commit may be lost when the machine crashes.
/// let directory = std::env::temp_dir().join(format!("lode-durability-{}", std::process::id()));
/// let db = Options::new().durability(Durability::Process).create_new(&directory)?;
/// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Hash)?;
/// let transaction = db.begin();
/// transaction.insert(&bytes, &[7])?;
/// transaction.commit_with(Durability::Commit)?;
/// # db.close()?;
/// # std::fs::remove_dir_all(&directory).expect("it is there");
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// No log: a crash of the process or of the machine goes back to the last checkpoint.
    None,
    /// Finished operations survive a killed process. A crash of the machine may lose the last ones;
    /// of several threads, single operations may be lost out of their order. A commit is there with
    /// all that came before it, or not at all.
    /// On some file systems, an error of the disk can end the process, unless the log [is not
    /// mapped](crate::Options::map_log).
    Process,
    /// Finished operations survive as at `Process`, and a separate thread, which waits for nothing
    /// else, syncs the log. When the machine crashes, at most the operations of the [sync
    /// interval](crate::Options::sync_interval) and of one sync are lost; or those of two syncs, if
    /// a sync takes longer than the interval.
    Periodic,
    /// No finished operation is lost.
    Commit,
}

/// The settings that the options of a database result in.
pub(crate) struct Settings {
    pub memory_bytes: u64,
    /// Bytes of addresses that the process may have, if there is a limit.
    pub address_bytes: Option<u64>,
    pub durability: Durability,
    pub log: LogSettings,
    pub most_log_bytes: u64,
    pub reader_bytes: u64,
    pub compacts_when_idle: bool,
    pub random: AtomicU64,
    /// The clock that says which records have expired.
    pub clock: Clock,
    pub observer: Observer,
}

impl Settings {
    /// Returns the memory and the addresses that there are for pages.
    pub(crate) fn memory(&self) -> MemoryLimits {
        MemoryLimits { budget_bytes: self.memory_bytes, address_bytes: self.address_bytes }
    }

    /// Returns the settings, to open the same database again.
    pub(crate) fn again(&self) -> Self {
        let clock = self.clock.clone();
        let observer = self.observer.clone();
        Self { random: AtomicU64::new(self.random()), clock, observer, ..*self }
    }

    /// Returns a number that can be guessed only by a program that knows the start of the sequence.
    pub(crate) fn random(&self) -> u64 {
        // Weyl's sequence with the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable
        // Pseudorandom Number Generators, OOPSLA 2014, figure 17).
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

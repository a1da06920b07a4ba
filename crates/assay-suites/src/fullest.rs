//! The disk space of a store at its fullest. It is measured now and then during a phase: where
//! progress is reported, off the clock, and for a hundredth of the time at most.

use std::time::{Duration, Instant};

use assay_core::store_dir::StoreDir;

/// The least time between two looks.
const SELDOM: Duration = Duration::from_millis(100);

/// The least time between two looks, in durations of a look.
const REST: u32 = 100;

/// The greatest space of a store seen so far.
pub(crate) struct Fullest {
    dir: Option<StoreDir>,
    bytes: u64,
    next: Instant,
}

impl Fullest {
    /// Returns a watch on a directory; none is for a store in memory, which has no space.
    pub(crate) fn of(dir: Option<StoreDir>) -> Self {
        Self { dir, bytes: 0, next: Instant::now() }
    }

    /// Measures the space, unless that was done just before.
    pub(crate) fn look(&mut self) {
        let (Some(dir), start) = (&self.dir, Instant::now()) else { return };
        if start < self.next {
            return;
        }
        self.bytes = self.bytes.max(dir.size_bytes());
        let took = start.elapsed();
        self.next = start + took + SELDOM.max(took * REST);
    }

    /// Returns the greatest space seen, or `found` if that is more; none in memory.
    pub(crate) fn or_more(&self, found: Option<u64>) -> Option<u64> {
        self.dir.as_ref().map(|_| self.bytes.max(found.unwrap_or(0)))
    }
}

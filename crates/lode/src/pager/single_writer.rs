//! Whether a single thread writes, which then latches pages without locked instructions.

use std::sync::atomic::{AtomicBool, Ordering};

/// Says of a database in memory whether only one thread can latch pages. It changes while no thread
/// has a latch.
#[derive(Debug, Default)]
pub(crate) struct SingleWriter(AtomicBool);

impl SingleWriter {
    /// One thread is the only one that latches pages from now on. All others who want to write see
    /// to it that this [ends](Self::end) first.
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Any thread may latch pages again.
    pub(crate) fn end(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Returns true if only one thread latches pages.
    #[inline(always)]
    pub(crate) fn is_one(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

//! The switch that lets a single writing thread latch pages without locked instructions.

use std::sync::atomic::{AtomicBool, Ordering};

/// The switch of a database in memory: true if only one thread can latch pages. It changes while no
/// thread has a latch.
#[derive(Debug, Default)]
pub(crate) struct SingleWriter(AtomicBool);

impl SingleWriter {
    /// Makes one thread the only one that latches pages from now on. All others that want to write
    /// make sure that this [ends](Self::end) first.
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Lets any thread latch pages again.
    pub(crate) fn end(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Returns true if only one thread latches pages.
    #[inline(always)]
    pub(crate) fn is_one(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

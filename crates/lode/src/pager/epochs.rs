//! Epochs: stretches of time between moments that somebody reads at.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The end of an epoch, at which a snapshot reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// Whether a page that was last changed in this epoch is as it was at this moment.
    pub fn sees(self, stamp: u64) -> bool {
        stamp <= self.0
    }
}

/// The current epoch, and the moments that somebody needs.
pub(super) struct Epochs {
    current: AtomicU64,
    /// The newest moment that is needed; 0 for none.
    newest: AtomicU64,
    /// How many need each moment.
    live: Mutex<BTreeMap<u64, usize>>,
}

impl Default for Epochs {
    fn default() -> Self {
        Self { current: AtomicU64::new(1), newest: AtomicU64::new(0), live: Mutex::default() }
    }
}

impl Epochs {
    #[inline(always)]
    pub(super) fn current(&self) -> u64 {
        self.current.load(Ordering::Acquire)
    }

    /// Whether somebody needs what a page was that was last changed in this epoch.
    #[inline(always)]
    pub(super) fn needs(&self, stamp: u64) -> bool {
        stamp <= self.newest.load(Ordering::Relaxed)
    }

    /// Ends the epoch.
    pub(super) fn end(&self) -> Moment {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let epoch = self.current.load(Ordering::Relaxed);
        *live.entry(epoch).or_default() += 1;
        // Whoever has the next epoch knows that somebody needs this one.
        self.newest.store(epoch, Ordering::Relaxed);
        self.current.store(epoch + 1, Ordering::Release);
        Moment(epoch)
    }

    /// One less needs a moment; answers those that are needed.
    pub(super) fn release(&self, moment: Moment) -> Vec<Moment> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = live.get_mut(&moment.0) {
            *count -= 1;
            if *count == 0 {
                live.remove(&moment.0);
            }
        }
        self.newest.store(live.keys().next_back().copied().unwrap_or(0), Ordering::Relaxed);
        live.keys().map(|epoch| Moment(*epoch)).collect()
    }
}

//! Epochs: stretches of time between moments that somebody reads at.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// The end of an epoch, at which a snapshot reads, or a checkpoint.
/// By default the one before all others, which nobody has to release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// Whether a page that was last changed in this epoch is as it was at this moment.
    pub fn sees(self, stamp: u64) -> bool {
        stamp <= self.0
    }
}

/// The moments that somebody needed in an epoch. Moments that come later are not among them.
pub(super) struct Needed {
    pub moments: Vec<Moment>,
    pub epoch: u64,
}

/// The current epoch, and the moments that somebody needs.
pub(super) struct Epochs {
    current: AtomicU64,
    /// The epoch after the newest moment of a snapshot; 0 for none.
    newest: AtomicU64,
    /// The epoch after the moment of the checkpoint that is being written; 0 for none.
    checkpoint: AtomicU64,
    live: Mutex<Live>,
}

#[derive(Default)]
struct Live {
    /// How many snapshots there are of each moment.
    snapshots: BTreeMap<u64, usize>,
    checkpoint: Option<u64>,
}

impl Live {
    fn moments(&self) -> Vec<Moment> {
        self.snapshots.keys().copied().chain(self.checkpoint).map(Moment).collect()
    }
}

impl Default for Epochs {
    fn default() -> Self {
        Self {
            current: AtomicU64::new(1),
            newest: AtomicU64::new(0),
            checkpoint: AtomicU64::new(0),
            live: Mutex::default(),
        }
    }
}

impl Epochs {
    /// Whoever asks has latched all that he will change.
    #[inline(always)]
    pub(super) fn current(&self) -> u64 {
        self.current.load(Ordering::SeqCst)
    }

    /// Whether a snapshot needs what a page was that was last changed in this epoch, or the
    /// checkpoint, if it is `dirty`: changed since it was last written out.
    #[inline(always)]
    pub(super) fn needs(&self, stamp: u64, dirty: bool) -> bool {
        stamp < self.newest.load(Ordering::Relaxed)
            || (dirty && stamp < self.checkpoint.load(Ordering::Relaxed))
    }

    /// The same, for a snapshot only.
    pub(super) fn snapshot_needs(&self, stamp: u64) -> bool {
        self.needs(stamp, false)
    }

    /// Ends the epoch, for a snapshot.
    pub(super) fn end(&self) -> Moment {
        let mut live = self.lock();
        let epoch = self.current.load(Ordering::Relaxed);
        *live.snapshots.entry(epoch).or_default() += 1;
        // Whoever has the next epoch knows that somebody needs this one.
        self.newest.store(epoch + 1, Ordering::Relaxed);
        self.begin(epoch + 1);
        Moment(epoch)
    }

    /// Ends the epoch, for the only checkpoint.
    pub(super) fn end_for_checkpoint(&self) -> Moment {
        let mut live = self.lock();
        let epoch = self.current.load(Ordering::Relaxed);
        live.checkpoint = Some(epoch);
        self.checkpoint.store(epoch + 1, Ordering::Relaxed);
        self.begin(epoch + 1);
        Moment(epoch)
    }

    fn begin(&self, epoch: u64) {
        self.current.store(epoch, Ordering::SeqCst);
        // A writer that still found the old epoch had latched its pages before; who looks at them
        // from here on sees that.
        fence(Ordering::SeqCst);
    }

    /// One snapshot less is of a moment; answers what is needed.
    pub(super) fn release(&self, moment: Moment) -> Needed {
        let mut live = self.lock();
        if let Some(count) = live.snapshots.get_mut(&moment.0) {
            *count -= 1;
            if *count == 0 {
                live.snapshots.remove(&moment.0);
            }
        }
        let newest = live.snapshots.keys().next_back().map_or(0, |moment| moment + 1);
        self.newest.store(newest, Ordering::Relaxed);
        self.needed(&live)
    }

    /// The checkpoint needs nothing any more.
    pub(super) fn release_checkpoint(&self) -> Needed {
        let mut live = self.lock();
        live.checkpoint = None;
        self.checkpoint.store(0, Ordering::Relaxed);
        self.needed(&live)
    }

    fn needed(&self, live: &Live) -> Needed {
        Needed { moments: live.moments(), epoch: self.current.load(Ordering::Relaxed) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

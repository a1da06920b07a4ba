//! Epochs: stretches of time between moments that are read at, and the page images that each of
//! these moments needs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::PageNumber;

/// A stretch of time in which operations happen. The first one is 1; 0 is the time before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Epoch(u64);

impl Epoch {
    /// The time before all operations.
    pub(super) const START: Self = Self(0);

    fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Loads the epoch that was stored in a cell; 0 is the time before all.
    #[inline(always)]
    pub(crate) fn load(cell: &AtomicU64, ordering: Ordering) -> Self {
        Self(cell.load(ordering))
    }

    #[inline(always)]
    pub(crate) fn store(self, cell: &AtomicU64, ordering: Ordering) {
        cell.store(self.0, ordering);
    }

    /// Stores the epoch in a cell, unless that has this one or a later one.
    #[inline]
    pub(crate) fn raise(self, cell: &AtomicU64) {
        if cell.load(Ordering::Relaxed) < self.0 {
            cell.fetch_max(self.0, Ordering::Release);
        }
    }
}

/// The end of an epoch, at which a snapshot reads, or a checkpoint. By default it is the end of the
/// time before all epochs, which need not be released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadEpoch(Epoch);

impl ReadEpoch {
    /// Loads the moment that was stored in a cell; `None` if that is 0.
    #[inline]
    pub(super) fn load(cell: &AtomicU64) -> Option<Self> {
        Self::of(cell.load(Ordering::SeqCst))
    }

    /// Takes the moment that was stored in a cell, which is 0 afterwards; `None` if it was 0.
    pub(super) fn take(cell: &AtomicU64) -> Option<Self> {
        Self::of(cell.swap(0, Ordering::SeqCst))
    }

    fn of(epoch: u64) -> Option<Self> {
        (epoch != 0).then_some(Self(Epoch(epoch)))
    }

    pub(super) fn store(self, cell: &AtomicU64) {
        self.0.store(cell, Ordering::SeqCst);
    }

    /// Returns true if operations of an epoch are seen at this moment.
    #[inline(always)]
    pub(crate) fn sees(self, epoch: Epoch) -> bool {
        epoch <= self.0
    }
}

/// The key of an image: its page, from the epoch in which it was changed to the one before it
/// changed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Which {
    pub page: PageNumber,
    pub from: Epoch,
    pub before: Epoch,
}

impl Which {
    /// Returns true if the image is the page as it was at a moment.
    pub(super) fn serves(&self, moment: ReadEpoch) -> bool {
        moment.sees(self.from) && !moment.sees(self.before)
    }
}

/// The current epoch, and the moments that are needed.
pub(super) struct Epochs {
    current: AtomicU64,
    /// The epoch after the newest moment of a snapshot; the one before all if no snapshot exists.
    newest: AtomicU64,
    /// The epoch after the moment of the checkpoint in progress; the one before all without one.
    checkpoint: AtomicU64,
    /// Images that snapshots hold.
    held: AtomicU64,
    /// Images that the checkpoint holds.
    held_by_checkpoint: AtomicU64,
    live: Mutex<Live>,
}

#[derive(Default)]
struct Live {
    snapshots: BTreeMap<Epoch, Readers>,
    checkpoint: Option<(ReadEpoch, Vec<Which>)>,
    /// Moments of which no images are kept any more, with the number of snapshots of each.
    expired: BTreeMap<Epoch, usize>,
    /// Images that moments held that have expired or were given up.
    dropped: Vec<Which>,
}

/// The snapshots of one moment.
#[derive(Default)]
struct Readers {
    count: usize,
    /// The images for which this is the newest moment that they serve. Each image is in one such
    /// list: so the end of a snapshot concerns its own images only.
    images: Vec<Which>,
}

impl Live {
    /// Returns the newest moment of a snapshot that an image serves.
    fn holder(&mut self, image: Which) -> Option<&mut Readers> {
        self.snapshots.range_mut(image.from..image.before).next_back().map(|(_, readers)| readers)
    }
}

impl Default for Epochs {
    fn default() -> Self {
        Self {
            current: AtomicU64::new(1),
            newest: AtomicU64::new(0),
            checkpoint: AtomicU64::new(0),
            held: AtomicU64::new(0),
            held_by_checkpoint: AtomicU64::new(0),
            live: Mutex::default(),
        }
    }
}

impl Epochs {
    /// Returns the epoch of an operation, which has latched all that it will change.
    #[inline(always)]
    pub(super) fn current(&self) -> Epoch {
        Epoch::load(&self.current, Ordering::SeqCst)
    }

    /// Returns true if the image of a page last changed in the epoch `changed` is needed: by a
    /// snapshot, or by the checkpoint, if the page is `dirty`: changed since it was last written
    /// out.
    #[inline(always)]
    pub(super) fn needs(&self, changed: Epoch, dirty: bool) -> bool {
        changed < Epoch::load(&self.newest, Ordering::Relaxed)
            || (dirty && changed < Epoch::load(&self.checkpoint, Ordering::Relaxed))
    }

    /// Returns true if a snapshot needs the page's image.
    pub(super) fn snapshot_needs(&self, changed: Epoch) -> bool {
        self.needs(changed, false)
    }

    /// Ends the epoch, for a snapshot.
    pub(super) fn end(&self) -> ReadEpoch {
        let mut live = self.lock();
        let epoch = Epoch::load(&self.current, Ordering::Relaxed);
        live.snapshots.entry(epoch).or_default().count += 1;
        // An operation of the next epoch knows that this one is needed.
        let newest = Epoch::load(&self.newest, Ordering::Relaxed);
        debug_assert!(newest <= epoch, "no snapshot is of the future");
        epoch.next().store(&self.newest, Ordering::Relaxed);
        self.begin(epoch.next());
        ReadEpoch(epoch)
    }

    /// Adds one snapshot to a moment; returns false if it has none whose images are kept.
    pub(super) fn share(&self, moment: ReadEpoch) -> bool {
        let mut live = self.lock();
        let readers = live.snapshots.get_mut(&moment.0);
        readers.map(|readers| readers.count += 1).is_some()
    }

    /// Ends the epoch, for the only checkpoint.
    pub(super) fn end_for_checkpoint(&self) -> ReadEpoch {
        let mut live = self.lock();
        let epoch = Epoch::load(&self.current, Ordering::Relaxed);
        debug_assert!(live.checkpoint.is_none(), "one checkpoint at a time reads at a moment");
        live.checkpoint = Some((ReadEpoch(epoch), Vec::new()));
        epoch.next().store(&self.checkpoint, Ordering::Relaxed);
        self.begin(epoch.next());
        ReadEpoch(epoch)
    }

    /// Ends the epoch, at whose end no reader reads.
    pub(super) fn end_for_none(&self) -> ReadEpoch {
        let _live = self.lock();
        let epoch = Epoch::load(&self.current, Ordering::Relaxed);
        self.begin(epoch.next());
        ReadEpoch(epoch)
    }

    fn begin(&self, epoch: Epoch) {
        debug_assert!(self.current().next() == epoch, "epochs follow each other");
        epoch.store(&self.current, Ordering::SeqCst);
        // A writer that still found the old epoch had latched its pages before. A thread that looks
        // at them from here on sees that.
        fence(Ordering::SeqCst);
    }

    /// Has an image held by the moments that need it. Calls `keep` with their number if that is not
    /// 0, before any of them can release it.
    pub(super) fn hold(&self, image: Which, is_dirty: bool, keep: impl FnOnce(u8)) {
        if image.from >= image.before {
            return;
        }
        let mut live = self.lock();
        debug_assert!(image.before <= self.current(), "no page has changed in the future");
        let mut holders = 0;
        if let Some(readers) = live.holder(image) {
            readers.images.push(image);
            self.held.fetch_add(1, Ordering::Relaxed);
            holders += 1;
        }
        if let Some((moment, images)) = &mut live.checkpoint
            && is_dirty
            && image.serves(*moment)
        {
            images.push(image);
            self.held_by_checkpoint.fetch_add(1, Ordering::Relaxed);
            holders += 1;
        }
        if holders > 0 {
            keep(holders);
        }
    }

    /// Removes one snapshot from a moment. Returns the images that it alone held; they are to be
    /// [passed on](Self::pass_on).
    pub(super) fn release(&self, moment: ReadEpoch) -> Vec<Which> {
        let mut live = self.lock();
        if let Some(count) = live.expired.get_mut(&moment.0) {
            debug_assert!(*count > 0, "a moment is released once by each of its snapshots");
            *count -= 1;
            if *count == 0 {
                live.expired.remove(&moment.0);
            }
            return Vec::new();
        }
        let Some(readers) = live.snapshots.get_mut(&moment.0) else {
            debug_assert_eq!(moment, ReadEpoch::default(), "a moment is released that was taken");
            return Vec::new();
        };
        debug_assert!(readers.count > 0, "a moment is released once by each of its snapshots");
        readers.count -= 1;
        if readers.count > 0 {
            return Vec::new();
        }
        let images = live.snapshots.remove(&moment.0).map(|readers| readers.images);
        self.note_newest(&live);
        images.unwrap_or_default()
    }

    /// Has images that a moment alone held [go later](Self::drop_some): it takes no longer than to
    /// note them.
    pub(super) fn drop_later(&self, images: Vec<Which>) {
        let held = self.held.fetch_sub(images.len() as u64, Ordering::Relaxed);
        debug_assert!(held >= images.len() as u64, "images that go were held");
        self.lock().dropped.extend(images);
    }

    fn note_newest(&self, live: &Live) {
        let newest = live.snapshots.keys().next_back().map_or(Epoch::START, |last| last.next());
        debug_assert!(newest <= self.current(), "snapshots are of epochs that are over");
        newest.store(&self.newest, Ordering::Relaxed);
    }

    /// Gives images to the next older snapshot that needs them; calls `drop` with the others.
    pub(super) fn pass_on(&self, images: &[Which], mut drop: impl FnMut(Which)) {
        let mut live = self.lock();
        for image in images {
            match live.holder(*image) {
                Some(readers) => readers.images.push(*image),
                None => {
                    let held = self.held.fetch_sub(1, Ordering::Relaxed);
                    debug_assert!(held > 0, "an image that goes was held");
                    drop(*image);
                }
            }
        }
    }

    /// Returns the pages of images that the checkpoint holds.
    pub(super) fn pages_of_checkpoint(&self) -> Vec<PageNumber> {
        let live = self.lock();
        let images = live.checkpoint.iter().flat_map(|(_, images)| images);
        images.map(|image| image.page).collect()
    }

    /// Ends the checkpoint's needs; calls `drop` with each image that it held.
    pub(super) fn release_checkpoint(&self, drop: impl FnMut(Which)) {
        let mut live = self.lock();
        Epoch::START.store(&self.checkpoint, Ordering::Relaxed);
        let held = self.held_by_checkpoint.swap(0, Ordering::Relaxed);
        let images = live.checkpoint.take().map(|(_, images)| images);
        let count = images.as_ref().map_or(0, Vec::len) as u64;
        debug_assert_eq!(held, count, "all images of the checkpoint are counted");
        images.into_iter().flatten().for_each(drop);
    }

    /// Returns the number of images that snapshots hold.
    pub(super) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns the number of images that the checkpoint holds.
    #[inline(always)]
    pub(super) fn held_by_checkpoint(&self) -> u64 {
        self.held_by_checkpoint.load(Ordering::Relaxed)
    }

    /// Takes all images from the snapshots of the oldest moment; returns false if no snapshot
    /// is left. The images go [later](Self::drop_some).
    pub(super) fn expire_oldest(&self) -> bool {
        let mut live = self.lock();
        let Some((moment, readers)) = live.snapshots.pop_first() else { return false };
        debug_assert!(readers.count > 0, "a moment is kept for its snapshots");
        let before = live.expired.insert(moment, readers.count);
        debug_assert!(before.is_none(), "a moment expires once");
        let held = self.held.fetch_sub(readers.images.len() as u64, Ordering::Relaxed);
        debug_assert!(held >= readers.images.len() as u64, "images that go were held");
        // No older snapshots that they could serve exist.
        live.dropped.extend(readers.images);
        self.note_newest(&live);
        true
    }

    /// Takes up to `most` images of moments that have expired or were given up. Gives them to the
    /// next older snapshot that needs them, and calls `drop` with the others. Returns the number
    /// taken.
    pub(super) fn drop_some(&self, most: usize, mut drop: impl FnMut(Which)) -> usize {
        let mut live = self.lock();
        let from = live.dropped.len().saturating_sub(most);
        let images = live.dropped.split_off(from);
        for image in &images {
            match live.holder(*image) {
                Some(readers) => {
                    readers.images.push(*image);
                    self.held.fetch_add(1, Ordering::Relaxed);
                }
                None => drop(*image),
            }
        }
        if live.dropped.is_empty() {
            live.dropped.shrink_to_fit();
        }
        images.len()
    }

    /// Returns true if images of a moment are not kept any more.
    pub(super) fn is_expired(&self, moment: ReadEpoch) -> bool {
        self.lock().expired.contains_key(&moment.0)
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

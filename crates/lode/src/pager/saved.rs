//! Saved images of pages before they changed, for the moments that are still read at. [`Epochs`]
//! know which moment needs which image.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::PageNumber;
use super::epochs::{Epochs, ReadEpoch, Which};
use super::images::PageImage;

/// Shards, so that threads that save different pages seldom meet.
const SHARDS: usize = 16;

/// Images that are released at a time: no other snapshot starts or ends during that.
const BATCH: usize = 64;

/// A page as it was from one epoch to before another.
struct Kept {
    which: Which,
    /// True if it had changed since it was last written out.
    dirty: bool,
    /// The number of lists that it is in: the snapshots', and the checkpoint's.
    holders: u8,
    image: Arc<PageImage>,
}

type Shard = Mutex<HashMap<PageNumber, Vec<Kept>>>;

#[derive(Default)]
pub(super) struct Saved {
    shards: [Shard; SHARDS],
    count: AtomicU64,
    /// Images that were looked at because a snapshot was dropped.
    #[cfg(test)]
    looked_at: AtomicU64,
}

impl Saved {
    fn shard(&self, page: PageNumber) -> std::sync::MutexGuard<'_, HashMap<PageNumber, Vec<Kept>>> {
        let shard = &self.shards[page.index() % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an image of a page, if it is needed.
    pub(super) fn keep(&self, epochs: &Epochs, which: Which, dirty: bool, image: PageImage) {
        let image = Arc::new(image);
        epochs.hold(which, dirty, |holders| {
            debug_assert!((1..=2).contains(&holders), "snapshots and a checkpoint hold images");
            let mut shard = self.shard(which.page);
            let kept = shard.entry(which.page).or_default();
            let are_apart = || kept.iter().all(|kept| kept.which.before <= which.from);
            debug_assert!(are_apart(), "images of page {} follow each other", which.page);
            kept.push(Kept { which, dirty, holders, image });
            drop(shard);
            self.count.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Returns the page as it was at a moment, if it has changed since.
    pub(super) fn find(&self, page: PageNumber, moment: ReadEpoch) -> Option<Arc<PageImage>> {
        self.find_if(page, |kept| kept.which.serves(moment))
    }

    /// Returns the page as it was at a moment, if it has changed since, and was dirty then.
    pub(super) fn find_dirty(&self, page: PageNumber, moment: ReadEpoch) -> Option<Arc<PageImage>> {
        self.find_if(page, |kept| kept.dirty && kept.which.serves(moment))
    }

    fn find_if(&self, page: PageNumber, wanted: impl Fn(&Kept) -> bool) -> Option<Arc<PageImage>> {
        let shard = self.shard(page);
        let kept = shard.get(&page)?.iter().find(|kept| wanted(kept))?;
        Some(Arc::clone(&kept.image))
    }

    /// Removes one reader from a moment. The time depends on the images that the moment alone
    /// holds.
    pub(super) fn release(&self, epochs: &Epochs, moment: ReadEpoch) {
        for images in epochs.release(moment).chunks(BATCH) {
            #[cfg(test)]
            self.looked_at.fetch_add(images.len() as u64, Ordering::Relaxed);
            // The memory of images is given back once the epochs are not locked any more.
            let mut gone = Vec::new();
            epochs.pass_on(images, |which| gone.extend(self.drop_holder(which)));
        }
    }

    /// Gives a moment of one reader up, where a page is latched: its images go
    /// [later](Self::drop_some).
    pub(super) fn give_up(&self, epochs: &Epochs, moment: ReadEpoch) {
        let images = epochs.release(moment);
        epochs.drop_later(images);
    }

    /// Ends the checkpoint's needs.
    pub(super) fn release_checkpoint(&self, epochs: &Epochs) {
        let mut gone = Vec::new();
        epochs.release_checkpoint(|which| gone.extend(self.drop_holder(which)));
    }

    /// Drops some images of moments that expired or were given up; returns false if none were.
    pub(super) fn drop_some(&self, epochs: &Epochs) -> bool {
        let mut gone = Vec::new();
        epochs.drop_some(BATCH, |which| gone.extend(self.drop_holder(which))) > 0
    }

    /// Drops all such images. The caller holds no latch.
    pub(super) fn drop_all(&self, epochs: &Epochs) {
        while self.drop_some(epochs) {}
    }

    /// Removes one holder from an image; returns the image if no holder is left.
    fn drop_holder(&self, which: Which) -> Option<Arc<PageImage>> {
        let mut shard = self.shard(which.page);
        let images = shard.get_mut(&which.page);
        debug_assert!(images.is_some(), "an image is kept until no one holds it");
        let images = images?;
        let at = images.iter().position(|kept| kept.which == which);
        debug_assert!(at.is_some(), "an image is kept until no one holds it");
        let at = at?;
        debug_assert!(images[at].holders > 0, "each holder lets go of an image once");
        images[at].holders -= 1;
        if images[at].holders > 0 {
            return None;
        }
        let kept = images.swap_remove(at);
        if images.is_empty() {
            shard.remove(&which.page);
            if shard.is_empty() {
                shard.shrink_to_fit();
            }
        }
        let count = self.count.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(count > 0, "each image is counted");
        Some(kept.image)
    }

    /// Returns the number of images that are kept.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Epoch, Image};
    use super::*;

    const START: Epoch = Epoch::START;

    fn keep(saved: &Saved, epochs: &Epochs, page: u32, from: Epoch) {
        let which = Which { page: PageNumber::new(page), from, before: epochs.current() };
        saved.keep(epochs, which, true, PageImage::Alone(Image::empty()));
    }

    #[test]
    fn an_image_is_kept_as_long_as_a_snapshot_or_the_checkpoint_needs_it() {
        let saved = Saved::default();
        let epochs = Epochs::default();
        keep(&saved, &epochs, 6, START);
        assert_eq!(saved.count(), 0, "no reader needs it");
        let first = epochs.end();
        let second = epochs.end();
        keep(&saved, &epochs, 7, START);
        let checkpoint = epochs.end_for_checkpoint();
        keep(&saved, &epochs, 8, START);
        let before_last = epochs.current();
        let third = epochs.end();
        keep(&saved, &epochs, 9, before_last);
        saved.release(&epochs, second);
        assert!(saved.find(PageNumber::new(7), first).is_some(), "the first moment needs it too");
        assert!(saved.find_dirty(PageNumber::new(8), checkpoint).is_some());
        assert_eq!(epochs.pages_of_checkpoint(), [PageNumber::new(8)]);
        saved.release(&epochs, first);
        assert_eq!(saved.count(), 2, "the checkpoint needs one, the third moment the other");
        saved.release_checkpoint(&epochs);
        assert!(saved.find(PageNumber::new(8), third).is_none());
        assert!(saved.find(PageNumber::new(9), third).is_some());
        saved.release(&epochs, third);
        assert_eq!((saved.count(), epochs.held()), (0, 0));
    }

    #[test]
    fn letting_go_of_a_snapshot_takes_as_long_as_it_has_images_of_its_own() {
        const IMAGES: u32 = 1_000;
        let saved = Saved::default();
        let epochs = Epochs::default();
        let long = epochs.end();
        (0..IMAGES).for_each(|page| keep(&saved, &epochs, page, START));
        for page in 0..100 {
            let short = epochs.end();
            keep(&saved, &epochs, IMAGES + page, START);
            saved.release(&epochs, short);
        }
        assert_eq!(saved.looked_at.load(Ordering::Relaxed), 100);
        assert_eq!(saved.count(), u64::from(IMAGES) + 100, "the long one needs them all");
        saved.release(&epochs, long);
        assert_eq!((saved.count(), epochs.held()), (0, 0));
    }

    #[test]
    fn images_of_a_moment_that_is_given_up_go_a_few_at_a_time() {
        const IMAGES: u32 = 1_000;
        let saved = Saved::default();
        let epochs = Epochs::default();
        let old = epochs.end();
        let before_new = epochs.current();
        let new = epochs.end();
        (0..IMAGES).for_each(|page| keep(&saved, &epochs, page, START));
        (IMAGES..2 * IMAGES).for_each(|page| keep(&saved, &epochs, page, before_new));
        saved.give_up(&epochs, new);
        assert_eq!(epochs.held(), 0);
        assert_eq!(saved.count(), 2 * u64::from(IMAGES), "none is looked at");
        assert!(saved.drop_some(&epochs));
        assert_eq!(saved.count(), 2 * u64::from(IMAGES) - BATCH as u64);
        saved.drop_all(&epochs);
        assert_eq!(epochs.held(), IMAGES.into(), "the older moment needs them");
        assert_eq!(saved.count(), IMAGES.into());
        assert!(saved.find(PageNumber::new(0), old).is_some());
        saved.release(&epochs, old);
        assert_eq!((saved.count(), epochs.held()), (0, 0));
    }

    #[test]
    fn the_oldest_moments_expire_and_newer_ones_keep_what_they_need() {
        let saved = Saved::default();
        let epochs = Epochs::default();
        let old = epochs.end();
        (0..200).for_each(|page| keep(&saved, &epochs, page, START));
        let new = epochs.end();
        (200..300).for_each(|page| keep(&saved, &epochs, page, START));
        assert_eq!(epochs.held(), 300);
        assert!(epochs.expire_oldest());
        assert!(epochs.is_expired(old) && !epochs.is_expired(new));
        assert_eq!(epochs.held(), 100);
        saved.drop_all(&epochs);
        assert_eq!(saved.count(), 100);
        assert!(saved.find(PageNumber::new(0), old).is_none());
        assert!(saved.find(PageNumber::new(250), new).is_some());
        saved.release(&epochs, old);
        assert!(!epochs.is_expired(old), "no reader has it any more");
        saved.release(&epochs, new);
        assert_eq!((saved.count(), epochs.held()), (0, 0));
        assert!(!epochs.expire_oldest());
    }
}

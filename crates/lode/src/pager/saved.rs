//! What pages were before they changed, for the moments that somebody still reads at.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::epochs::{Moment, Needed};
use super::{Image, PageNumber};

/// Threads that save different pages seldom meet.
const SHARDS: usize = 16;

/// What a page was from one epoch to before another.
struct Kept {
    from: u64,
    before: u64,
    /// Whether it had changed since it was last written out.
    dirty: bool,
    image: Arc<Image>,
}

impl Kept {
    fn serves(&self, moment: Moment) -> bool {
        moment.sees(self.from) && !moment.sees(self.before)
    }
}

type Shard = Mutex<HashMap<PageNumber, Vec<Kept>>>;

#[derive(Default)]
pub(super) struct Saved {
    shards: [Shard; SHARDS],
    count: AtomicU64,
}

impl Saved {
    fn shard(&self, page: PageNumber) -> &Shard {
        &self.shards[page as usize % SHARDS]
    }

    /// Keeps what a page was from an epoch on until it changed in another.
    pub(super) fn keep(
        &self,
        page: PageNumber,
        (from, before): (u64, u64),
        dirty: bool,
        image: Image,
    ) {
        let kept = Kept { from, before, dirty, image: Arc::new(image) };
        let mut shard = self.shard(page).lock().unwrap_or_else(PoisonError::into_inner);
        shard.entry(page).or_default().push(kept);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// What a page was at a moment, if it has changed since.
    pub(super) fn find(&self, page: PageNumber, moment: Moment) -> Option<Arc<Image>> {
        let shard = self.shard(page).lock().unwrap_or_else(PoisonError::into_inner);
        let kept = shard.get(&page)?.iter().find(|kept| kept.serves(moment))?;
        Some(Arc::clone(&kept.image))
    }

    /// The same, if it had changed since it was last written out.
    pub(super) fn find_dirty(&self, page: PageNumber, moment: Moment) -> Option<Arc<Image>> {
        let shard = self.shard(page).lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |kept: &&Kept| kept.dirty && kept.serves(moment);
        Some(Arc::clone(&shard.get(&page)?.iter().find(wanted)?.image))
    }

    /// The pages of which there is what they were at a moment, changed since they were last written
    /// out.
    pub(super) fn dirty_pages(&self, moment: Moment) -> Vec<PageNumber> {
        let mut pages = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let wanted = |kept: &Kept| kept.dirty && kept.serves(moment);
            pages.extend(
                shard.iter().filter(|(_, images)| images.iter().any(wanted)).map(|(page, _)| *page),
            );
        }
        pages
    }

    /// Forgets what nobody needs. What was saved for moments that came after `needed` was found out
    /// stays: it was changed in a later epoch.
    pub(super) fn retain(&self, needed: &Needed) {
        if self.count() == 0 {
            return;
        }
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.retain(|_, images| {
                let before = images.len();
                images.retain(|kept| {
                    kept.before > needed.epoch
                        || needed.moments.iter().any(|moment| kept.serves(*moment))
                });
                self.count.fetch_sub((before - images.len()) as u64, Ordering::Relaxed);
                !images.is_empty()
            });
        }
    }

    /// How many images are kept.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::epochs::Epochs;
    use super::*;

    /// Somebody found out what is needed; then came a snapshot, and a page was changed after it.
    #[test]
    fn what_is_saved_for_a_moment_after_needed_was_found_out_stays() {
        let (saved, epochs) = (Saved::default(), Epochs::default());
        let first = epochs.end();
        saved.keep(7, (0, epochs.current()), false, Image::empty());
        let needed = epochs.release(first);
        let second = epochs.end();
        saved.keep(8, (0, epochs.current()), false, Image::empty());
        saved.retain(&needed);
        assert!(saved.find(7, first).is_none(), "nobody reads at the first moment any more");
        assert!(saved.find(8, second).is_some(), "the second moment is read at");
        saved.retain(&epochs.release(second));
        assert_eq!(saved.count(), 0);
    }
}

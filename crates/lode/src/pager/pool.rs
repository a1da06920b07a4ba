//! Which frames are free, and which page each of the others holds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::{PageNumber, lock};

/// The frames of a pager, by their numbers from 1 on.
pub(super) struct Pool {
    free: Mutex<Vec<u32>>,
    /// The first one that has not been used yet.
    next: AtomicU32,
    /// The page in each.
    owners: Box<[AtomicU32]>,
    /// Where the search for a page that can leave goes on.
    hand: AtomicUsize,
}

impl Pool {
    /// A pool of `count` frames. With `owned`, it knows which pages they hold.
    pub(super) fn new(count: u32, owned: bool) -> Self {
        let owners = if owned { count as usize + 1 } else { 0 };
        Self {
            free: Mutex::default(),
            next: AtomicU32::new(1),
            owners: (0..owners).map(|_| AtomicU32::new(0)).collect(),
            hand: AtomicUsize::new(0),
        }
    }

    /// A free frame, of `count`.
    pub(super) fn take(&self, count: u32) -> Option<u32> {
        if let Some(frame) = lock(&self.free).pop() {
            return Some(frame);
        }
        let next = |next: u32| (next <= count).then_some(next + 1);
        self.next.fetch_update(Ordering::SeqCst, Ordering::Relaxed, next).ok()
    }

    pub(super) fn give(&self, frame: u32) {
        lock(&self.free).push(frame);
    }

    /// How many are not free.
    pub(super) fn used(&self) -> u64 {
        let free = lock(&self.free);
        u64::from(self.next.load(Ordering::Relaxed)) - 1 - free.len() as u64
    }

    /// Says which page a frame holds.
    pub(super) fn own(&self, frame: u32, page: PageNumber) {
        if let Some(owner) = self.owners.get(frame as usize) {
            owner.store(page.get(), Ordering::SeqCst);
        }
    }

    /// All frames that have had pages, with the page that each had last.
    pub(super) fn owners(&self) -> impl Iterator<Item = (u32, PageNumber)> + '_ {
        let end = self.next.load(Ordering::SeqCst);
        let owners = self.owners.iter().take(end as usize).skip(1);
        (1..).zip(owners.map(|owner| PageNumber::new(owner.load(Ordering::SeqCst))))
    }

    /// The next frame that the clock's hand comes to, with its page.
    pub(super) fn advance(&self) -> Option<(u32, PageNumber)> {
        let end = self.next.load(Ordering::Relaxed).max(2) as usize - 1;
        let frame = self.hand.fetch_add(1, Ordering::Relaxed) % end + 1;
        let owner = PageNumber::new(self.owners.get(frame)?.load(Ordering::Relaxed));
        Some((frame as u32, owner))
    }
}

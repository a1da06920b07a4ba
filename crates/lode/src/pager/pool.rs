//! The pool of frames: it knows the free ones, and the page that each of the others holds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::{FIRST_TABLE_PAGE, FrameNumber, PageNumber, lock};

/// A frame that can be used.
pub(super) struct FreeFrame {
    pub number: FrameNumber,
    /// True if it has not been used before, so that it is all zeros.
    pub is_zeroed: bool,
}

impl FreeFrame {
    /// Returns a frame that has been used.
    pub(super) fn used(number: FrameNumber) -> Self {
        Self { number, is_zeroed: false }
    }
}

/// The frames of a pager, by their numbers from 1 on.
pub(super) struct Pool {
    free: Mutex<Vec<FrameNumber>>,
    /// The number of frames that are not free.
    used: AtomicU64,
    /// The first frame that has not been used yet.
    next: AtomicU32,
    /// The page in each frame.
    owners: Box<[AtomicU32]>,
    /// The frame where the search for a page that can leave continues.
    hand: AtomicUsize,
}

impl Pool {
    /// Creates a pool of `count` frames. With `owned`, it knows the pages that they hold.
    pub(super) fn new(count: u32, owned: bool) -> Self {
        let owners = if owned { count as usize + 1 } else { 0 };
        Self {
            free: Mutex::default(),
            used: AtomicU64::new(0),
            next: AtomicU32::new(1),
            owners: (0..owners).map(|_| AtomicU32::new(0)).collect(),
            hand: AtomicUsize::new(0),
        }
    }

    /// Takes a free frame, of `count`.
    pub(super) fn take(&self, count: u32) -> Option<FreeFrame> {
        let given_back = lock(&self.free).pop().map(FreeFrame::used);
        let frame = given_back.or_else(|| {
            let next = |next: u32| (next <= count).then_some(next + 1);
            let number = self.next.fetch_update(Ordering::SeqCst, Ordering::Relaxed, next).ok()?;
            Some(FreeFrame { number: FrameNumber::new(number), is_zeroed: true })
        })?;
        debug_assert!((1..=count).contains(&frame.number.get()), "frames are numbered from 1 on");
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(frame)
    }

    pub(super) fn give(&self, frame: FrameNumber) {
        let next = self.next.load(Ordering::Relaxed);
        debug_assert!((1..next).contains(&frame.get()), "{frame:?} was taken before");
        let mut free = lock(&self.free);
        debug_assert!(free.len() + 1 < next as usize, "each frame is free once");
        free.push(frame);
        drop(free);
        let used = self.used.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(used > 0, "{frame:?} was free already");
    }

    /// Returns the number of frames that are not free.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Notes the page that a frame holds.
    pub(super) fn own(&self, frame: FrameNumber, page: PageNumber) {
        debug_assert!(page >= FIRST_TABLE_PAGE, "page {page} is in no frame");
        if let Some(owner) = self.owners.get(frame.index()) {
            owner.store(page.get(), Ordering::SeqCst);
        }
    }

    /// Returns the page that each frame had last, of those that have had one.
    pub(super) fn owners(&self) -> impl Iterator<Item = PageNumber> + '_ {
        let end = self.next.load(Ordering::SeqCst);
        let owners = self.owners.iter().take(end as usize).skip(1);
        owners.map(|owner| PageNumber::new(owner.load(Ordering::SeqCst)))
    }

    /// Returns the next frame that the clock's hand comes to, with its page.
    pub(super) fn advance(&self) -> Option<(FrameNumber, PageNumber)> {
        let end = self.next.load(Ordering::Relaxed).max(2) as usize - 1;
        let frame = self.hand.fetch_add(1, Ordering::Relaxed) % end + 1;
        let owner = PageNumber::new(self.owners.get(frame)?.load(Ordering::Relaxed));
        Some((FrameNumber::new(frame as u32), owner))
    }
}

//! The gate that writers go through: many at a time with single operations, or one alone with a
//! commit, which nobody sees half done.
//!
//! Whoever enters counts itself in a slot of its own thread, so that writers do not share a line of
//! the processor's cache. Readers do not go through; they look at the number of commits before and
//! after, and read again if there was one between.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Slots; threads beyond that share them.
const SLOTS: usize = 64;

/// A count on a line of the cache of its own, and of the one that is fetched with it.
#[derive(Default)]
#[repr(align(128))]
struct Slot(AtomicU32);

/// The gate of a database.
pub struct Gate {
    slots: [Slot; SLOTS],
    closed: AtomicBool,
    /// Odd while a commit is under way.
    commits: AtomicU64,
    /// Who may close it.
    turn: Mutex<()>,
}

thread_local! {
    static SLOT: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS
    };
}

/// Somebody inside.
pub struct Inside<'g>(&'g Slot);

/// Somebody alone inside.
pub struct Alone<'g> {
    gate: &'g Gate,
    _turn: MutexGuard<'g, ()>,
}

impl Gate {
    pub fn new() -> Self {
        Self {
            slots: [const { Slot(AtomicU32::new(0)) }; SLOTS],
            closed: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            turn: Mutex::default(),
        }
    }

    /// Goes in together with others.
    #[inline]
    pub fn enter(&self) -> Inside<'_> {
        let slot = &self.slots[SLOT.with(|slot| *slot)];
        loop {
            slot.0.fetch_add(1, Ordering::SeqCst);
            if !self.closed.load(Ordering::SeqCst) {
                return Inside(slot);
            }
            slot.0.fetch_sub(1, Ordering::SeqCst);
            // First come, first served, among those who wait.
            drop(self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Goes in alone, when everybody is out.
    pub fn close(&self) -> Alone<'_> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Ordering::SeqCst);
        for slot in &self.slots {
            while slot.0.load(Ordering::SeqCst) != 0 {
                std::thread::yield_now();
            }
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        Alone { gate: self, _turn: turn }
    }

    /// The number of commits, if none is under way.
    #[inline(always)]
    pub fn glance(&self) -> Option<u64> {
        let commits = self.commits.load(Ordering::Acquire);
        (commits & 1 == 0).then_some(commits)
    }

    /// Whether there was no commit since there were so many.
    #[inline(always)]
    pub fn still(&self, commits: u64) -> bool {
        fence(Ordering::Acquire);
        self.commits.load(Ordering::Relaxed) == commits
    }

    /// Reads while no commit is under way; again if one was.
    #[inline(always)]
    pub fn read<T>(&self, mut read: impl FnMut() -> T) -> T {
        loop {
            let Some(before) = self.glance() else {
                std::thread::yield_now();
                continue;
            };
            let answer = read();
            if self.still(before) {
                return answer;
            }
        }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.gate.commits.fetch_add(1, Ordering::Release);
        self.gate.closed.store(false, Ordering::SeqCst);
    }
}

//! The gate that writers go through: many at a time with single operations, or one alone with a
//! commit, which no reader sees half done.
//!
//! A thread that enters counts itself in a slot of its own, so that writers share no line of the
//! processor's cache. It takes one locked instruction to go in and none to go out. Readers do not
//! go through; they look at the number of commits before and after, and read again if there was one
//! between.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Slots that threads have for themselves; one more is shared by those for which there is none.
const SLOTS: usize = 64;

/// A count on a line of the cache of its own, and of the one that is fetched with it.
#[derive(Default)]
#[repr(align(128))]
struct Slot(AtomicU32);

/// The gate of a database.
pub(crate) struct Gate {
    slots: [Slot; SLOTS],
    shared: Slot,
    closed: AtomicBool,
    /// Odd while a commit is under way.
    commits: AtomicU64,
    /// The thread that holds this may close the gate.
    turn: Mutex<()>,
}

/// The number of the slots that a thread has for itself in all gates, if there was one left. When
/// the thread ends, another can have it.
struct Own(Option<usize>);

/// A bit for each number that a thread has.
static TAKEN: AtomicU64 = AtomicU64::new(0);

impl Own {
    fn take() -> Self {
        let take = |taken: u64| Some(taken | (!taken & taken.wrapping_add(1)));
        let before = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, take);
        let number = before.map_or(0, u64::trailing_ones) as usize;
        Self((number < SLOTS).then_some(number))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            TAKEN.fetch_and(!(1 << number), Ordering::Release);
        }
    }
}

thread_local! {
    static OWN: Own = Own::take();
}

/// A thread inside, which leaves as the thread that came in.
pub(crate) struct Inside<'g> {
    slot: &'g Slot,
    is_own: bool,
    _same_thread: PhantomData<*const ()>,
}

/// A thread that is alone inside.
pub(crate) struct Alone<'g> {
    gate: &'g Gate,
    _turn: MutexGuard<'g, ()>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self {
            slots: [const { Slot(AtomicU32::new(0)) }; SLOTS],
            shared: Slot::default(),
            closed: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            turn: Mutex::default(),
        }
    }

    /// Goes in together with others.
    #[inline]
    pub(crate) fn enter(&self) -> Inside<'_> {
        // A thread that is about to end may have no slot any more.
        let own = OWN.try_with(|own| own.0).ok().flatten();
        let slot = own.map_or(&self.shared, |number| &self.slots[number]);
        loop {
            // In order with the look at whether it is closed: the thread that closes it either sees
            // the count, or is seen.
            match own {
                Some(_) => {
                    slot.0.swap(slot.0.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
                }
                None => {
                    slot.0.fetch_add(1, Ordering::SeqCst);
                }
            }
            let inside = Inside { slot, is_own: own.is_some(), _same_thread: PhantomData };
            if !self.closed.load(Ordering::SeqCst) {
                return inside;
            }
            drop(inside);
            // First come, first served, among the threads that wait.
            drop(self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Goes in alone, when all others are out.
    pub(crate) fn close(&self) -> Alone<'_> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Ordering::SeqCst);
        for slot in self.slots.iter().chain([&self.shared]) {
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
    pub(crate) fn try_read(&self) -> Option<u64> {
        let commits = self.commits.load(Ordering::Acquire);
        (commits & 1 == 0).then_some(commits)
    }

    /// Whether there was no commit since there had been `commits`.
    #[inline(always)]
    pub(crate) fn validate(&self, commits: u64) -> bool {
        fence(Ordering::Acquire);
        self.commits.load(Ordering::Relaxed) == commits
    }

    /// Reads while no commit is under way; again if one was.
    #[inline(always)]
    pub(crate) fn read<T>(&self, mut read: impl FnMut() -> T) -> T {
        loop {
            let Some(before) = self.try_read() else {
                std::thread::yield_now();
                continue;
            };
            let answer = read();
            if self.validate(before) {
                return answer;
            }
        }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.is_own {
            true => self.slot.0.store(self.slot.0.load(Ordering::Relaxed) - 1, Ordering::Release),
            false => {
                self.slot.0.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.gate.commits.fetch_add(1, Ordering::Release);
        self.gate.closed.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// More threads than there are slots: some share one. The one that is alone sees no other, and
    /// sees all that the others added inside.
    #[test]
    fn none_is_inside_beside_the_one_that_is_alone() {
        let (gate, inside, alone) = (Gate::new(), AtomicU64::new(0), AtomicU64::new(0));
        let start = std::sync::Barrier::new(2 * SLOTS);
        std::thread::scope(|scope| {
            for thread in 0..2 * SLOTS {
                let (gate, inside, alone, start) = (&gate, &inside, &alone, &start);
                scope.spawn(move || {
                    start.wait();
                    for round in 0..100 {
                        if (thread + round) % 16 == 0 {
                            let _alone = gate.close();
                            assert_eq!(inside.load(Ordering::Relaxed), 0);
                            alone.store(alone.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        } else {
                            let _inside = gate.enter();
                            inside.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                            inside.fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let closed = (0..2 * SLOTS).flat_map(|thread| (0..100).map(move |round| thread + round));
        let closed = closed.filter(|sum| sum % 16 == 0).count() as u64;
        assert_eq!(alone.load(Ordering::Relaxed), closed);
        assert_eq!(gate.try_read(), Some(2 * closed));
    }
}

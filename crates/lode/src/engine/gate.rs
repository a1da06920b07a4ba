//! The gate that writers go through: many at a time with single operations, or one alone with a
//! commit, which no reader sees half done.
//!
//! A thread that enters counts itself in its own slot, so that writers share no line of the
//! processor's cache. It takes one locked instruction to enter and none to leave. Readers do not
//! enter; they look at the number of commits before and after, and read again if there was one
//! between. While a long one is under way, they read at the moment before it.
//!
//! In a database in memory, a thread that enters many times while no other does is *favoured*: it
//! enters without a locked instruction. It is the [only writer](SingleWriter) then, which latches
//! pages without one either. (To ask the system for such barriers can take milliseconds in a
//! process with threads. A database in a directory has threads, and its log costs more than this.)
//! Any other thread first takes the favour away before it enters. For that it has all processors
//! pass a barrier. (Biased locking: Kawachiya, Koseki, Onodera: Lock Reservation, OOPSLA 2002; the
//! barrier as in Dice, Huang, Yang: Asymmetric Dekker Synchronization, 2001.)

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::barrier;
use crate::pager::SingleWriter;

/// Slots of one thread each; one more is shared by the threads that get none.
const OWN_SLOTS: usize = 64;

/// The shared slot.
const SHARED: usize = OWN_SLOTS;

/// The state of a gate that is open to all, with no slot favoured.
const OPEN: usize = usize::MAX;

/// The state while a thread is alone inside, or waits for others to leave.
const CLOSED: usize = usize::MAX - 1;

/// Entries of a thread after which it asks for the favour, at first.
const LEAST_ENTRIES: u32 = 1 << 10;

/// The most such entries. Each time that the favour is taken away, the number doubles.
const MOST_ENTRIES: u32 = 1 << 16;

/// The counts of a thread, alone on their line of the cache and on the one that is fetched with it.
#[derive(Default)]
#[repr(align(128))]
struct Slot {
    inside: AtomicU32,
    /// Entries since it last asked for the favour.
    entries: AtomicU32,
}

/// The gate of a database.
pub(crate) struct Gate {
    slots: [Slot; OWN_SLOTS + 1],
    /// `OPEN`, `CLOSED`, or the number of the slot that is favoured.
    state: AtomicUsize,
    /// A count that is odd while a commit is under way.
    commits: AtomicU64,
    /// Held by the thread that changes the state.
    turn: Mutex<()>,
    /// Entries after which a thread asks for the favour.
    entries_to_ask: AtomicU32,
    /// The slot of the thread that asked last.
    last_to_ask: AtomicUsize,
    /// Set while there is only one writer, if pages are latched by writers only.
    single_writer: Option<Arc<SingleWriter>>,
}

/// The number of the slot that a thread has for itself in all gates, if one was left. When the
/// thread ends, another can have it.
struct Own(usize);

/// A bit for each number that is taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

impl Own {
    fn take() -> Self {
        let take = |taken: u64| Some(taken | (!taken & taken.wrapping_add(1)));
        let before = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, take);
        Self(before.map_or(0, u64::trailing_ones) as usize)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.0 < OWN_SLOTS {
            TAKEN.fetch_and(!(1 << self.0), Ordering::Release);
        }
    }
}

thread_local! {
    static OWN: Own = Own::take();
}

/// The stay of a thread inside, which ends in that thread.
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
    /// Makes a gate; `single_writer` is set while one thread alone is favoured.
    pub(crate) fn new(single_writer: Option<Arc<SingleWriter>>) -> Self {
        Self {
            slots: [const { Slot { inside: AtomicU32::new(0), entries: AtomicU32::new(0) } };
                OWN_SLOTS + 1],
            state: AtomicUsize::new(OPEN),
            commits: AtomicU64::new(0),
            turn: Mutex::default(),
            entries_to_ask: AtomicU32::new(LEAST_ENTRIES),
            last_to_ask: AtomicUsize::new(SHARED),
            single_writer,
        }
    }

    /// Enters together with others.
    #[inline]
    pub(crate) fn enter(&self) -> Inside<'_> {
        // A thread that is about to end may have no slot any more.
        let number = OWN.try_with(|own| own.0).unwrap_or(SHARED);
        let slot = &self.slots[number.min(SHARED)];
        if self.state.load(Ordering::Relaxed) == number {
            slot.inside.store(slot.inside.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            // The processor may look at the state again before others see the count. But the thread
            // that takes the favour away has it pass a barrier after changing the state: so either
            // that one sees the count, or the change is seen here.
            compiler_fence(Ordering::SeqCst);
            let inside = Inside { slot, is_own: true, _same_thread: PhantomData };
            if self.state.load(Ordering::Relaxed) == number {
                return inside;
            }
        }
        self.enter_counted(number)
    }

    fn enter_counted(&self, number: usize) -> Inside<'_> {
        if number < SHARED {
            self.count_entry(number);
        }
        loop {
            if let Ok(inside) = self.try_enter(number) {
                return inside;
            }
            // First come, first served, among the threads that wait.
            let turn = self.take_turn();
            if self.state.load(Ordering::Relaxed) != OPEN {
                self.shut(&turn);
                self.state.store(OPEN, Ordering::SeqCst);
            }
        }
    }

    /// Enters unless the gate is closed, or another thread is favoured; returns that state then.
    fn try_enter(&self, number: usize) -> Result<Inside<'_>, usize> {
        let (slot, is_own) = (&self.slots[number.min(SHARED)], number < SHARED);
        // In order with the look at the state: the thread that closes the gate either sees the
        // count, or is seen.
        match is_own {
            true => {
                slot.inside.swap(slot.inside.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
            }
            false => {
                slot.inside.fetch_add(1, Ordering::SeqCst);
            }
        }
        let inside = Inside { slot, is_own, _same_thread: PhantomData };
        let state = self.state.load(Ordering::SeqCst);
        if state == OPEN || is_own && state == number { Ok(inside) } else { Err(state) }
    }

    /// Enters together with others, unless `instead` returns something while the gate is closed. It
    /// does so soon after the gate was closed or not at all.
    pub(crate) fn enter_unless<T>(&self, instead: impl Fn() -> Option<T>) -> Result<Inside<'_>, T> {
        /// Looks before the thread waits in line.
        const MOST_LOOKS: usize = 1 << 10;
        let number = OWN.try_with(|own| own.0).unwrap_or(SHARED);
        for _ in 0..MOST_LOOKS {
            if let Some(instead) = instead() {
                return Err(instead);
            }
            match self.try_enter(number) {
                Ok(inside) => return Ok(inside),
                Err(CLOSED) => std::thread::yield_now(),
                Err(_) => break,
            }
        }
        Ok(self.enter())
    }

    /// Counts an entry of a thread that is not favoured; favours it after many.
    #[inline(always)]
    fn count_entry(&self, number: usize) {
        let entries = &self.slots[number].entries;
        let count = entries.load(Ordering::Relaxed) + 1;
        entries.store(count, Ordering::Relaxed);
        if count >= self.entries_to_ask.load(Ordering::Relaxed) {
            entries.store(0, Ordering::Relaxed);
            // If several threads write, each asks after another.
            if self.last_to_ask.swap(number, Ordering::Relaxed) == number {
                self.favour(number);
            }
        }
    }

    /// Favours a thread that is outside: from now on, it enters without a locked instruction.
    #[cold]
    fn favour(&self, number: usize) {
        let Some(single_writer) = &self.single_writer else { return };
        if !barrier::is_supported() {
            return;
        }
        let turn = self.take_turn();
        self.shut(&turn);
        single_writer.begin();
        self.state.store(number, Ordering::SeqCst);
    }

    /// Closes the gate and waits until all are outside. No thread is favoured afterwards.
    fn shut(&self, _turn: &MutexGuard<'_, ()>) {
        let was_favoured = self.state.swap(CLOSED, Ordering::SeqCst) < SHARED;
        if was_favoured {
            let entries = self.entries_to_ask.load(Ordering::Relaxed);
            self.entries_to_ask.store((entries * 2).min(MOST_ENTRIES), Ordering::Relaxed);
            barrier::pass_everywhere();
        }
        for slot in &self.slots {
            while slot.inside.load(Ordering::SeqCst) != 0 {
                std::thread::yield_now();
            }
        }
        if let Some(single_writer) = self.single_writer.as_ref().filter(|_| was_favoured) {
            single_writer.end();
        }
    }

    fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters alone, when all others are out.
    pub(crate) fn close(&self) -> Alone<'_> {
        let turn = self.take_turn();
        self.shut(&turn);
        self.commits.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        Alone { gate: self, _turn: turn }
    }

    /// Returns the number of commits, if none is under way.
    #[inline(always)]
    pub(crate) fn try_read(&self) -> Option<u64> {
        let commits = self.commits.load(Ordering::Acquire);
        (commits & 1 == 0).then_some(commits)
    }

    /// Returns true if there was no commit since there had been `commits`.
    #[inline(always)]
    pub(crate) fn validate(&self, commits: u64) -> bool {
        fence(Ordering::Acquire);
        self.commits.load(Ordering::Relaxed) == commits
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        let inside = &self.slot.inside;
        match self.is_own {
            true => inside.store(inside.load(Ordering::Relaxed) - 1, Ordering::Release),
            false => {
                inside.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.gate.commits.fetch_add(1, Ordering::Release);
        self.gate.state.store(OPEN, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use super::*;

    /// Lets threads of one test run at a time: slots are for those of the whole process, and a
    /// thread that finds none left is never favoured.
    static ALL_SLOTS: Mutex<()> = Mutex::new(());

    fn all_slots() -> MutexGuard<'static, ()> {
        ALL_SLOTS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs more threads than there are slots: some share one. The one that is alone sees no other,
    /// and it loses nothing that is added inside.
    #[test]
    fn no_thread_is_inside_with_one_that_is_alone() {
        let _slots = all_slots();
        let (gate, inside, alone) = (Gate::new(None), AtomicU64::new(0), AtomicU64::new(0));
        let start = std::sync::Barrier::new(2 * OWN_SLOTS);
        std::thread::scope(|scope| {
            for thread in 0..2 * OWN_SLOTS {
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
        let closed =
            (0..2 * OWN_SLOTS).flat_map(|thread| (0..100).map(move |round| thread + round));
        let closed = closed.filter(|sum| sum % 16 == 0).count() as u64;
        assert_eq!(alone.load(Ordering::Relaxed), closed);
        assert_eq!(gate.try_read(), Some(2 * closed));
    }

    /// Favours a thread, and lets another take the favour away. Neither loses what it adds to a sum
    /// that only the writers inside guard. While the writer is the only one, no other is inside.
    #[test]
    fn a_favoured_thread_is_the_only_one_inside() {
        let _slots = all_slots();
        let single_writer = Arc::new(SingleWriter::default());
        let gate = Gate::new(Some(Arc::clone(&single_writer)));
        let (sum, is_ended) = (AtomicU64::new(0), AtomicBool::new(false));
        let add = |by: u64| {
            let before = sum.load(Ordering::Relaxed);
            // A write that comes between is lost.
            std::hint::spin_loop();
            sum.store(before + by, Ordering::Relaxed);
        };
        let ended = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut rounds = 0;
                while !is_ended.load(Ordering::Relaxed) {
                    if !single_writer.is_one() {
                        std::thread::yield_now();
                        continue;
                    }
                    // Either takes the favour away.
                    if rounds % 2 == 0 {
                        let _inside = gate.enter();
                        assert!(!single_writer.is_one());
                    }
                    let _alone = gate.close();
                    assert!(!single_writer.is_one());
                    add(1);
                    rounds += 1;
                }
                rounds
            });
            let (mut entries, mut favours) = (0, 0);
            while favours < 12 && barrier::is_supported() && !other.is_finished() {
                let was_one = single_writer.is_one();
                let inside = gate.enter();
                add(1 << 32);
                entries += 1;
                let is_one = single_writer.is_one();
                drop(inside);
                favours += u32::from(is_one && !was_one);
            }
            is_ended.store(true, Ordering::Relaxed);
            other.join().map(|rounds| (rounds, entries))
        });
        let (rounds, entries) = ended.expect("the other thread ends");
        assert_eq!(sum.load(Ordering::Relaxed), (entries << 32) + rounds);
    }
}

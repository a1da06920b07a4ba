//! The gate that writers go through: many at a time with single operations, or one alone with a
//! commit, which no reader sees half done.
//!
//! A thread that enters counts itself in its own slot, so that writers share no line of the
//! processor's cache. It takes one locked instruction to enter and none to leave. Readers do not
//! enter; they look at the number of commits before and after, and read again if there was one
//! between. While a long one is under way, they read at the moment before it.
//!
//! Slots also count the entries. So a transaction knows that no writer has come by between two
//! looks ([`Gate::quiet`]). All that it read in that time is of one moment. A thread that has
//! changed nothing takes its entry back when it leaves, and one that only looks does not count as a
//! commit: so transactions that read do not disturb each other.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::wal::{Number, Numbers};

/// Slots of one thread each; one more is shared by the threads that get none.
const OWN_SLOTS: usize = Numbers::COUNT;

/// The shared slot.
const SHARED: usize = OWN_SLOTS;

/// An entry in the count of a slot.
const ENTRY: u64 = 1 << 16;

/// The bits of a slot that count the stays: threads that are inside.
const STAYS: u64 = ENTRY - 1;

/// The stays of a thread inside and its entries so far. They are alone on their line of the cache,
/// and on the one that is fetched with it.
#[derive(Default)]
#[repr(align(128))]
struct Slot(AtomicU64);

/// The number of writers and commits that had come by when none was inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quiet {
    /// The sum of the slots. While no thread is inside, none has fewer entries than before.
    entries: u64,
    commits: u64,
}

/// The sum of all slots, and bits that are 0 if no thread is inside.
struct Entries {
    all: u64,
    stays: u64,
}

/// The gate of a database.
pub(crate) struct Gate {
    slots: [Slot; OWN_SLOTS + 1],
    /// True while a thread is alone inside, or waits for others to leave.
    is_closed: AtomicBool,
    /// A count that is odd while a commit is under way.
    commits: AtomicU64,
    /// Held by the thread that closes the gate.
    turn: Mutex<()>,
}

/// The numbers of slots that threads have for themselves, in all gates.
static NUMBERS: Numbers = Numbers::new();

/// The number of slots that threads have had for themselves so far: no others were used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Takes the number of a slot for the calling thread.
fn take_number() -> Number {
    let number = NUMBERS.take();
    // Before the thread uses the slot: who sees what it writes sees this.
    USED.fetch_max((number.get() + 1).min(OWN_SLOTS), Ordering::SeqCst);
    number
}

thread_local! {
    static OWN: Number = take_number();
}

/// The stay of a thread inside, which ends in that thread.
pub(crate) struct Inside<'g> {
    inside: &'g AtomicU64,
    is_own: bool,
    _same_thread: PhantomData<*const ()>,
}

/// A thread that is alone inside, and may change everything.
pub(crate) struct Alone<'g> {
    gate: &'g Gate,
    _closed: Closed<'g>,
}

/// The gate while it is closed: its thread is alone inside, and changes nothing.
pub(crate) struct Closed<'g> {
    gate: &'g Gate,
    _turn: MutexGuard<'g, ()>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            slots: [const { Slot(AtomicU64::new(0)) }; OWN_SLOTS + 1],
            is_closed: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            turn: Mutex::default(),
        }
    }
}

impl Gate {
    /// Enters together with others.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Inside<'_> {
        loop {
            if let Some(inside) = self.try_enter() {
                return inside;
            }
            self.wait();
        }
    }

    /// Waits until the gate is open: first come, first served.
    #[cold]
    fn wait(&self) {
        drop(self.take_turn());
    }

    /// Enters unless the gate is closed.
    #[inline(always)]
    fn try_enter(&self) -> Option<Inside<'_>> {
        // A thread that is about to end may have no slot any more.
        let number = OWN.try_with(Number::get).unwrap_or(SHARED);
        let (Slot(inside), is_own) = (&self.slots[number.min(SHARED)], number < SHARED);
        // In order with the look at the gate: the thread that closes it either sees the count, or
        // is seen.
        if is_own {
            inside.swap(inside.load(Ordering::Relaxed) + (ENTRY + 1), Ordering::SeqCst);
        } else {
            inside.fetch_add(ENTRY + 1, Ordering::SeqCst);
        }
        let inside = Inside { inside, is_own, _same_thread: PhantomData };
        if self.is_closed.load(Ordering::SeqCst) {
            inside.leave_unchanged();
            return None;
        }
        Some(inside)
    }

    /// Enters together with others, unless `instead` returns something while the gate is closed. It
    /// does so soon after the gate was closed or not at all.
    pub(crate) fn enter_unless<T>(&self, instead: impl Fn() -> Option<T>) -> Result<Inside<'_>, T> {
        /// Looks before the thread waits in line.
        const MOST_LOOKS: usize = 1 << 10;
        for _ in 0..MOST_LOOKS {
            if let Some(instead) = instead() {
                return Err(instead);
            }
            if let Some(inside) = self.try_enter() {
                return Ok(inside);
            }
            std::thread::yield_now();
        }
        Ok(self.enter())
    }

    fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters alone, when all others are out.
    pub(crate) fn close(&self) -> Alone<'_> {
        let closed = self.close_in_turn(self.take_turn());
        // No other thread changes the count.
        let commits = self.commits.load(Ordering::Relaxed);
        debug_assert!(commits.is_multiple_of(2), "one thread is alone inside at a time");
        self.commits.store(commits + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        Alone { gate: self, _closed: closed }
    }

    /// Enters alone to look, when all others are out, unless another thread is alone inside.
    pub(crate) fn try_close_to_look(&self) -> Option<Closed<'_>> {
        match self.turn.try_lock() {
            Ok(turn) => Some(self.close_in_turn(turn)),
            Err(TryLockError::Poisoned(turn)) => Some(self.close_in_turn(turn.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn close_in_turn<'g>(&'g self, turn: MutexGuard<'g, ()>) -> Closed<'g> {
        self.is_closed.store(true, Ordering::SeqCst);
        // A thread that takes a slot for itself later sees that the gate is closed.
        let used = USED.load(Ordering::SeqCst).min(OWN_SLOTS);
        let own = self.slots[..used].iter();
        for Slot(inside) in own.chain(&self.slots[SHARED..]) {
            while inside.load(Ordering::SeqCst) & STAYS != 0 {
                std::thread::yield_now();
            }
        }
        Closed { gate: self, _turn: turn }
    }

    /// Returns the number of writers and commits that have come by, if none is inside. If a later
    /// call returns the same, nothing has changed between the two.
    #[inline]
    pub(crate) fn quiet(&self) -> Option<Quiet> {
        fence(Ordering::Acquire);
        let commits = self.try_read()?;
        let Entries { all, stays } = self.entries();
        (stays == 0).then_some(Quiet { entries: all, commits })
    }

    /// Returns true if nothing has changed since the gate was quiet.
    #[inline]
    pub(crate) fn is_quiet_since(&self, quiet: Quiet) -> bool {
        // The commits first: they are one line of the cache.
        if !self.validate(quiet.commits) {
            return false;
        }
        let Entries { all, stays } = self.entries();
        stays == 0 && all == quiet.entries
    }

    #[inline(always)]
    fn entries(&self) -> Entries {
        let used = USED.load(Ordering::SeqCst).min(OWN_SLOTS);
        let Slot(shared) = &self.slots[SHARED];
        let mut all = shared.load(Ordering::SeqCst);
        let mut stays = all & STAYS;
        for Slot(inside) in &self.slots[..used] {
            let count = inside.load(Ordering::SeqCst);
            all = all.wrapping_add(count);
            stays |= count & STAYS;
        }
        Entries { all, stays }
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

impl Inside<'_> {
    /// Leaves as if the thread had not entered: it has changed nothing.
    pub(crate) fn leave_unchanged(self) {
        self.count_down(ENTRY + 1);
        std::mem::forget(self);
    }

    #[inline(always)]
    fn count_down(&self, by: u64) {
        if self.is_own {
            let stays = self.inside.load(Ordering::Relaxed);
            debug_assert!(stays & STAYS > 0, "a thread leaves after it has entered");
            self.inside.store(stays.wrapping_sub(by), Ordering::Release);
        } else {
            self.inside.fetch_sub(by, Ordering::Release);
        }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.count_down(1);
    }
}

impl Closed<'_> {
    /// Returns what [`Gate::quiet`] returns after this, if no writer enters until then.
    pub(crate) fn quiet_after(&self) -> Quiet {
        let commits = self.gate.commits.load(Ordering::Relaxed);
        debug_assert!(commits.is_multiple_of(2), "nothing is changed by the thread");
        let used = self.gate.slots.iter();
        let entries = used.fold(0u64, |all, Slot(inside)| {
            let count = inside.load(Ordering::SeqCst);
            // Threads that find the gate closed take their entries back.
            all.wrapping_add(count.wrapping_sub((count & STAYS) * (ENTRY + 1)))
        });
        Quiet { entries, commits }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        let commits = self.gate.commits.load(Ordering::Relaxed);
        debug_assert!(!commits.is_multiple_of(2), "the thread was alone inside until now");
        self.gate.commits.store(commits + 1, Ordering::Release);
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        // A thread that still finds it closed waits for the turn, which ends after this.
        self.gate.is_closed.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs more threads than there are slots: some share one. The one that is alone sees no other,
    /// and it loses nothing that is added inside.
    #[test]
    fn no_thread_is_inside_with_one_that_is_alone() {
        let gate = Gate::default();
        let inside = AtomicU64::new(0);
        let alone = AtomicU64::new(0);
        let start = std::sync::Barrier::new(2 * OWN_SLOTS);
        std::thread::scope(|scope| {
            for thread in 0..2 * OWN_SLOTS {
                let gate = &gate;
                let inside = &inside;
                let alone = &alone;
                let start = &start;
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

    #[test]
    fn a_gate_is_quiet_while_no_writer_and_no_commit_comes_by() {
        let gate = Gate::default();
        let start = gate.quiet();
        assert!(start.is_some());
        assert_eq!(gate.quiet(), start);
        let inside = gate.enter();
        assert_eq!(gate.quiet(), None, "a writer is inside");
        drop(inside);
        let after_writer = gate.quiet();
        assert!(after_writer.is_some() && after_writer != start);
        std::thread::scope(|scope| scope.spawn(|| drop(gate.enter())).join().expect("no panic"));
        let after_other = gate.quiet();
        assert!(after_other.is_some() && after_other != after_writer);
        let alone = gate.close();
        assert_eq!(gate.quiet(), None, "a commit is under way");
        assert!(gate.try_close_to_look().is_none(), "another is alone inside");
        drop(alone);
        let after_commit = gate.quiet();
        assert!(after_commit.is_some() && after_commit != after_other);
    }

    #[test]
    fn a_gate_stays_as_quiet_as_it_was_while_nothing_is_changed() {
        let gate = Gate::default();
        drop(gate.enter());
        let start = gate.quiet().expect("nobody is inside");
        let inside = gate.enter();
        assert!(!gate.is_quiet_since(start), "it may change something");
        inside.leave_unchanged();
        assert!(gate.is_quiet_since(start));
        let closed = gate.try_close_to_look().expect("nobody is alone inside");
        assert!(gate.is_quiet_since(start));
        let turned_away = || gate.enter_unless(|| gate.try_enter().is_none().then_some(()));
        std::thread::scope(|scope| {
            assert!(scope.spawn(|| turned_away().is_err()).join().expect("no panic"));
        });
        assert!(turned_away().is_err());
        // A thread that has entered, and not found out yet that the gate is closed.
        let Slot(turned_away) = &gate.slots[SHARED];
        turned_away.fetch_add(ENTRY + 1, Ordering::SeqCst);
        assert_eq!(closed.quiet_after(), start);
        turned_away.fetch_sub(ENTRY + 1, Ordering::SeqCst);
        drop(closed);
        assert!(gate.is_quiet_since(start));
        drop(gate.enter());
        assert!(!gate.is_quiet_since(start));
    }
}

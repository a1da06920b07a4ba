//! Counts the steps that an operation takes, for tests of how they grow.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a step of this thread: a look at an open entry, at a row, or for one.
pub(crate) fn step() {
    STEPS.set(STEPS.get() + 1);
}

/// Returns how many steps this thread takes in `work`.
pub(crate) fn steps_of(work: impl FnOnce()) -> u64 {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}

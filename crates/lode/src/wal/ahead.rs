//! Wakes the thread that makes segments of the log, and space of the data file, ahead of need.

use std::sync::{Condvar, Mutex, PoisonError};

use super::lock;

/// The signals for the thread: wakes it when it has work.
#[derive(Default)]
pub(super) struct Ahead {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: bool,
    ended: bool,
    /// Threads that wait for what is being made.
    hurrying: usize,
}

impl Ahead {
    /// Asks for a segment, or for space of the data file, that will be needed soon.
    #[cold]
    pub(super) fn ask(&self) {
        lock(&self.state).wanted = true;
        self.changed.notify_one();
    }

    /// Waits until something is needed; returns false if the thread is to end.
    pub(super) fn wait(&self) -> bool {
        let idle = |state: &mut State| !state.wanted && !state.ended;
        let state = self.changed.wait_while(lock(&self.state), idle);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.wanted = false;
        !state.ended
    }

    /// Calls `wait`, which waits for what is being made, and hurries the thread during the call.
    pub(super) fn hurry<T>(&self, wait: impl FnOnce() -> T) -> T {
        lock(&self.state).hurrying += 1;
        let waited = wait();
        let hurrying = &mut lock(&self.state).hurrying;
        debug_assert!(*hurrying > 0, "each thread that hurries stops once");
        *hurrying -= 1;
        waited
    }

    /// Returns true if a thread waits for what is being made, or this one is to end.
    pub(super) fn is_hurried(&self) -> bool {
        let state = lock(&self.state);
        state.hurrying > 0 || state.ended
    }

    /// Tells the thread to end.
    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_one();
    }
}

//! What the thread waits for that makes segments of the log, and space of the data file, ahead of
//! need.

use std::sync::{Condvar, Mutex, PoisonError};

use super::lock;

/// Wakes the thread when there is something to do.
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
    /// A segment will be needed soon, or space of the data file.
    #[cold]
    pub(super) fn ask(&self) {
        lock(&self.state).wanted = true;
        self.changed.notify_one();
    }

    /// Waits until something is needed; false when the thread is to end.
    pub(super) fn wait(&self) -> bool {
        let idle = |state: &mut State| !state.wanted && !state.ended;
        let state = self.changed.wait_while(lock(&self.state), idle);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.wanted = false;
        !state.ended
    }

    /// Does something that waits for what is being made.
    pub(super) fn hurry<T>(&self, wait: impl FnOnce() -> T) -> T {
        lock(&self.state).hurrying += 1;
        let waited = wait();
        lock(&self.state).hurrying -= 1;
        waited
    }

    /// Returns true if a thread waits for what is being made, or this one is to end.
    pub(super) fn is_hurried(&self) -> bool {
        let state = lock(&self.state);
        state.hurrying > 0 || state.ended
    }

    /// The thread is to end.
    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_one();
    }
}

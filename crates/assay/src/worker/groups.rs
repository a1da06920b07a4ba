//! The process groups of the workers at work, so that none of them outlives this process.

use std::sync::{Mutex, PoisonError};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A worker has started, in a process group of its own.
pub(crate) fn begin(group: Pid) {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).push(group);
}

/// A worker is gone.
pub(crate) fn end(group: Pid) {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != group);
}

/// Kills all workers; for a process that ends at once. No worker begins or ends after that.
pub(crate) fn kill_all() {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    for group in groups.iter() {
        // It may be gone already.
        let _ = killpg(*group, Signal::SIGKILL);
    }
    // The process ends with the lock held.
    std::mem::forget(groups);
}

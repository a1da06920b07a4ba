//! The process groups of the workers at work, so that none of them outlives this process.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg, raise};
use nix::unistd::Pid;
use signal_hook::consts::SIGTSTP;
use signal_hook::iterator::Signals;

static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Notes that a worker has started, in a process group of its own.
pub(crate) fn begin(group: Pid) {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).push(group);
}

/// Notes that a worker has ended.
pub(crate) fn end(group: Pid) {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != group);
}

/// Milliseconds that this process was stopped from the keyboard.
static STOPPED_MS: AtomicU64 = AtomicU64::new(0);

/// Makes a stop from the keyboard (SIGTSTP) also stop the workers, which are in groups of their
/// own. They continue with this process.
pub(crate) fn stop_together() -> io::Result<()> {
    let mut stops = Signals::new([SIGTSTP])?;
    thread::spawn(move || {
        for _ in stops.forever() {
            signal_all(Signal::SIGSTOP);
            let since = Instant::now();
            // The call returns when this process continues.
            let _ = raise(Signal::SIGSTOP);
            let stopped_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            STOPPED_MS.fetch_add(stopped_ms, Ordering::SeqCst);
            signal_all(Signal::SIGCONT);
        }
    });
    Ok(())
}

/// Returns how long this process has been stopped from the keyboard.
pub(crate) fn stopped() -> Duration {
    Duration::from_millis(STOPPED_MS.load(Ordering::SeqCst))
}

fn signal_all(signal: Signal) {
    for group in GROUPS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // The group may have ended already.
        let _ = killpg(*group, signal);
    }
}

/// Kills all workers; for a process that ends at once. No worker starts or ends after that.
pub(crate) fn kill_all() {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    for group in groups.iter() {
        // The group may have ended already.
        let _ = killpg(*group, Signal::SIGKILL);
    }
    // The process ends with the lock held.
    std::mem::forget(groups);
}

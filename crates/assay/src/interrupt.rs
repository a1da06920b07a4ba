//! Signals that ask this program to end: SIGINT from the keyboard, SIGTERM, SIGHUP. Each ends a
//! command with status 128 and the signal's number.
//!
//! A command that measures notes the signal, and looks at it where it is safe to stop. Any other
//! command ends at once: its workers are killed and its unfinished files removed.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use assay_core::whole_file;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::Outcome;
use crate::exit::Failure;
use crate::output::say;

/// The first signal that came; 0 before.
static CAME: AtomicI32 = AtomicI32::new(0);
/// Whether the command looks at [`CAME`] itself.
static NOTED: AtomicBool = AtomicBool::new(false);
/// The process groups of workers.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Whether the user wants to stop.
pub struct Interrupt {
    noted: bool,
}

/// From now on signals end this program as described above.
pub fn watch() -> Outcome {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|e| Failure::Refused(format!("cannot watch for interrupts: {e}")))?;
    thread::spawn(move || {
        for signal in &mut signals {
            // The first one decides the status.
            let _ = CAME.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
            if !NOTED.load(Ordering::SeqCst) {
                end_at_once();
            }
        }
    });
    Ok(())
}

impl Interrupt {
    /// A signal is noted until this is dropped, and the command looks for it.
    pub fn noted() -> Self {
        NOTED.store(true, Ordering::SeqCst);
        Self { noted: true }
    }

    /// For work that ends at once when a signal comes.
    pub fn ending_at_once() -> Self {
        Self { noted: false }
    }

    /// Whether a signal came.
    pub fn came(&self) -> bool {
        self.noted && CAME.load(Ordering::SeqCst) != 0
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if self.noted {
            NOTED.store(false, Ordering::SeqCst);
        }
    }
}

/// The status of a command that a signal ended.
pub fn status() -> u8 {
    let signal = match CAME.load(Ordering::SeqCst) {
        0 => SIGINT,
        signal => signal,
    };
    128 + u8::try_from(signal).unwrap_or_default()
}

/// A worker has started, in a process group of its own.
pub fn begin_group(group: Pid) {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).push(group);
}

/// A worker is gone.
pub fn end_group(group: Pid) {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != group);
}

fn end_at_once() -> ! {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    for group in groups.iter() {
        // It may be gone already.
        let _ = killpg(*group, Signal::SIGKILL);
    }
    whole_file::remove_unfinished();
    say("assay: interrupted");
    process::exit(i32::from(status()))
}

//! Signals that ask a program to end: SIGINT from the keyboard, SIGTERM, SIGHUP. Each ends a
//! command with status 128 and the signal's number; a server ends with 0 at the first.
//!
//! A command that holds an [`Interrupt::noted`] looks for the signal when it is safe to stop. Any
//! other command ends at once, after the program's own last steps and the removal of its unfinished
//! files.

use std::fs;
use std::io;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::failure::{Failure, Outcome};
use crate::output::say;
use crate::whole_file;

/// The last signal that came, set before the program resumes from it; 0 before.
static LAST: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// The first signal that came, which decides the status; 0 before.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// True if the command looks for signals itself.
static NOTED: AtomicBool = AtomicBool::new(false);

/// A command's view of the user's wish to stop.
#[derive(Debug)]
pub struct Interrupt {
    noted: bool,
    /// True if the command knows of a signal, and so ends by itself.
    seen: AtomicBool,
}

/// Makes signals end this program as described above, from now on. `last_steps` is the work that a
/// program does before it ends at once. A SIGHUP that is ignored, as under `nohup`, stays so.
///
/// # Errors
/// [`Failure::Refused`] if the system does not allow to watch for signals.
pub fn watch(program: &'static str, last_steps: fn()) -> Outcome {
    let watched = watched();
    for &signal in &watched {
        let number = usize::try_from(signal).unwrap_or_default();
        flag::register_usize(signal, Arc::clone(&LAST), number).map_err(refused)?;
    }
    let mut signals = Signals::new(&watched).map_err(refused)?;
    thread::spawn(move || {
        for signal in &mut signals {
            let _ = FIRST.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
            if !NOTED.load(Ordering::SeqCst) {
                last_steps();
                whole_file::remove_unfinished();
                say(&format!("{program}: interrupted"));
                process::exit(i32::from(status()));
            }
        }
    });
    Ok(())
}

/// Returns the signals that ask this program to end.
fn watched() -> Vec<i32> {
    let signals = [SIGINT, SIGTERM, SIGHUP].into_iter();
    signals.filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP)).collect()
}

fn refused(error: io::Error) -> Failure {
    Failure::Refused(format!("cannot watch for interrupts: {error}"))
}

/// Returns true if this process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Makes SIGINT call `action` and do nothing else, from now on: for interactive programs, in which
/// the key ends a piece of work. Other signals are as they were.
///
/// # Errors
/// [`Failure::Refused`] if the system does not allow to watch for signals.
pub fn on_keyboard(action: impl Fn() + Send + 'static) -> Outcome {
    let mut signals = Signals::new([SIGINT]).map_err(refused)?;
    thread::spawn(move || signals.forever().for_each(|_| action()));
    Ok(())
}

/// Makes the first signal call `end`, and the second one end this program at once, from now on: for
/// servers, which take their time to end.
///
/// # Errors
/// [`Failure::Refused`] if the system does not allow to watch for signals.
pub fn in_two_steps(program: &'static str, end: impl Fn() + Send + 'static) -> Outcome {
    let mut signals = Signals::new(watched()).map_err(refused)?;
    thread::spawn(move || {
        let mut came = signals.forever();
        if came.next().is_some() {
            end();
        }
        if let Some(signal) = came.next() {
            say(&format!("{program}: interrupted"));
            process::exit(128 + signal);
        }
    });
    Ok(())
}

impl Interrupt {
    /// Notes signals until this is dropped, for a command that looks for them.
    pub fn noted() -> Self {
        NOTED.store(true, Ordering::SeqCst);
        Self { noted: true, seen: AtomicBool::new(false) }
    }

    /// Returns the view of a command that ends at once if a signal comes.
    pub fn ending_at_once() -> Self {
        Self { noted: false, seen: AtomicBool::new(false) }
    }

    /// Returns true if a signal came; false for a command that ends at once.
    pub fn came(&self) -> bool {
        let came = self.noted && LAST.load(Ordering::SeqCst) != 0;
        self.seen.fetch_or(came, Ordering::SeqCst);
        came
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        // The thread that waits for signals may learn of one that was seen only now.
        if self.noted && !self.seen.load(Ordering::SeqCst) {
            NOTED.store(false, Ordering::SeqCst);
        }
    }
}

/// The longest that the end by a signal may take.
const LAST_STEPS: Duration = Duration::from_secs(2);

/// Returns true if a signal ends this program at once. A failure at that time comes from the
/// signal: the last steps may have ended a process that the command waited for. Waits for that end.
pub(crate) fn ends_at_once() -> bool {
    let ends = LAST.load(Ordering::SeqCst) != 0 && !NOTED.load(Ordering::SeqCst);
    if ends {
        thread::sleep(LAST_STEPS);
    }
    ends
}

/// Returns the status of a command that a signal ended.
pub fn status() -> u8 {
    let first = u8::try_from(FIRST.load(Ordering::SeqCst)).unwrap_or_default();
    let last = u8::try_from(LAST.load(Ordering::SeqCst)).unwrap_or_default();
    let signal = [first, last].into_iter().find(|&signal| signal != 0);
    128 + signal.unwrap_or(SIGINT as u8)
}

//! A watchdog, so that a hang is a failure that says where.

use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Far longer than any of these tests takes on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// The present action of a test.
#[derive(Clone, Default)]
pub struct Doing(Arc<Mutex<String>>);

impl Doing {
    pub fn set(&self, what: impl Into<String>) {
        *self.0.lock().unwrap() = what.into();
    }
}

/// Runs a test. If it hangs, says in what, and ends the process.
pub fn watched(test: impl FnOnce(&Doing)) {
    let doing = Doing::default();
    let (ended, end) = channel::<()>();
    let seen = doing.clone();
    std::thread::spawn(move || {
        if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln`: what that says is captured, and lost with the process.
            let _ = writeln!(std::io::stderr(), "hangs: {}", seen.0.lock().unwrap());
            std::process::abort();
        }
    });
    test(&doing);
    drop(ended);
}

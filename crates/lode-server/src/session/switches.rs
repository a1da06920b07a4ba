//! Switches that end a running statement from outside: a request of its client, its time, and the
//! end of the server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::refusal::{CANCELED, ENDING, Refusal};

/// The steps of SQLite between two looks at the switches.
pub(crate) const STEPS: i32 = 1_000;

/// The switches of a session.
#[derive(Debug)]
pub(crate) struct Switches {
    start: Instant,
    is_running: AtomicBool,
    is_canceled: AtomicBool,
    /// True from the moment at which the server ends, which is the end of all statements.
    is_ending: AtomicBool,
    /// Nanoseconds from the start to the end of the statement's time; 0 for no limit.
    until_ns: AtomicU64,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            is_running: AtomicBool::default(),
            is_canceled: AtomicBool::default(),
            is_ending: AtomicBool::default(),
            until_ns: AtomicU64::default(),
        }
    }
}

impl Switches {
    /// Notes that a statement starts.
    pub(crate) fn start(&self, most: Option<Duration>) {
        let until = most.map(|most| self.start.elapsed().saturating_add(most).as_nanos());
        let until_ns = until.map_or(0, |until| u64::try_from(until).unwrap_or(u64::MAX));
        self.until_ns.store(until_ns, Ordering::SeqCst);
        self.is_canceled.store(false, Ordering::SeqCst);
        self.is_running.store(true, Ordering::SeqCst);
    }

    /// Notes that it has ended.
    pub(crate) fn end(&self) {
        self.is_running.store(false, Ordering::SeqCst);
    }

    /// Returns true from the start of a statement to its end.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::SeqCst)
    }

    /// Asks the running statement to end, if there is one.
    pub(crate) fn cancel(&self) {
        if self.is_running() {
            self.is_canceled.store(true, Ordering::SeqCst);
        }
    }

    /// Ends the running statement and all that follow it: the server is ending.
    pub(crate) fn end_all(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
    }

    /// Returns true if the running statement is to end.
    pub(crate) fn is_off(&self) -> bool {
        let is_canceled = || self.is_canceled.load(Ordering::SeqCst);
        self.is_ending.load(Ordering::SeqCst)
            || self.is_running() && (is_canceled() || self.is_late())
    }

    fn is_late(&self) -> bool {
        let until_ns = self.until_ns.load(Ordering::SeqCst);
        until_ns != 0 && self.start.elapsed().as_nanos() > u128::from(until_ns)
    }

    /// Returns the error of a statement that was ended.
    pub(crate) fn refusal(&self) -> Refusal {
        if self.is_ending.load(Ordering::SeqCst) {
            return Refusal::new(ENDING, "the server is ending");
        }
        let why = if self.is_canceled.load(Ordering::SeqCst) || !self.is_late() {
            "canceling statement due to user request"
        } else {
            "canceling statement due to statement timeout"
        };
        Refusal::new(CANCELED, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_statement_is_ended_and_each_one_while_the_server_ends() {
        let switches = Switches::default();
        switches.cancel();
        assert!(!switches.is_off(), "nothing is running");
        switches.start(Some(Duration::from_nanos(1)));
        std::thread::sleep(Duration::from_nanos(2));
        assert!(switches.is_off());
        assert!(switches.refusal().line.contains("timeout"));
        switches.end();
        assert!(!switches.is_off(), "its time is no other's");
        switches.start(None);
        switches.cancel();
        assert!(switches.is_off());
        assert_eq!(switches.refusal().code, CANCELED);
        switches.end();
        assert!(!switches.is_off(), "the request was for it");
        switches.end_all();
        assert!(switches.is_off());
        assert_eq!(switches.refusal().code, ENDING);
        switches.start(None);
        assert!(switches.is_off());
    }
}

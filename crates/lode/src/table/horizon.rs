//! The time up to which records have expired for good.

use std::sync::atomic::{AtomicI64, Ordering};

/// The latest time at which a record expired that a read has left out, in microseconds since the
/// start of 1970. The log and the catalogue have it, so that no clock brings the record back.
#[derive(Debug)]
pub(crate) struct Horizon(AtomicI64);

impl Default for Horizon {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl Horizon {
    /// Returns the time; `None` if no record was left out.
    pub(crate) fn get_us(&self) -> Option<i64> {
        Some(self.0.load(Ordering::Acquire)).filter(|at_us| *at_us != i64::MIN)
    }

    /// Returns true if what expires at a time has expired, whatever the clock says.
    pub(crate) fn includes(&self, at_us: i64) -> bool {
        at_us <= self.0.load(Ordering::Acquire)
    }

    /// Moves the horizon to a time, unless it is later already.
    pub(crate) fn raise(&self, at_us: i64) {
        self.0.fetch_max(at_us, Ordering::AcqRel);
    }
}

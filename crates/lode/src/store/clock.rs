//! The time of day.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A function that tells the time.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    pub(crate) fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns a clock that stands before all times until `goes` is true.
    pub(crate) fn stopped_until(&self, goes: Arc<AtomicBool>) -> Self {
        /// Seconds before 1970: some 30,000 years.
        const BEFORE_ALL: Duration = Duration::from_secs(1 << 40);
        let now = Arc::clone(&self.0);
        Self::new(move || match goes.load(Ordering::Acquire) {
            true => now(),
            false => UNIX_EPOCH - BEFORE_ALL,
        })
    }

    /// Returns the time, in microseconds since the start of 1970.
    pub(crate) fn now_us(&self) -> i64 {
        let us = |micros: u128| i64::try_from(micros).unwrap_or(i64::MAX);
        match (self.0)().duration_since(UNIX_EPOCH) {
            Ok(since) => us(since.as_micros()),
            Err(before) => -us(before.duration().as_micros()),
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock").finish_non_exhaustive()
    }
}

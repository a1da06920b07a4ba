//! Durations and counts for metrics and events.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::Lack;

/// A piece of work that is under way, and the number of things that it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    started: Instant,
    #[cfg_attr(not(feature = "tracing"), expect(dead_code))]
    pub(super) count: u64,
}

impl Work {
    /// Starts work.
    #[inline(always)]
    pub(crate) fn start() -> Self {
        Self::start_of(|| 0)
    }

    /// Starts work on a number of things.
    #[inline(always)]
    pub(crate) fn start_of(count: impl FnOnce() -> usize) -> Self {
        Self { started: Instant::now(), count: count() as u64 }
    }

    /// Returns the seconds since its start.
    pub(super) fn seconds(self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}

impl Lack {
    /// Returns the label and field of the lack.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Log => "log",
            Self::Space => "space",
            Self::Segment => "segment",
        }
    }
}

/// A count that only metrics and events show.
#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicU64);

impl Tally {
    /// Adds to the count.
    #[inline(always)]
    pub(crate) fn add(&self, count: impl FnOnce() -> u64) {
        self.0.fetch_add(count(), Ordering::Relaxed);
    }

    /// Returns the count.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

//! Durations and counts without metrics and events: nothing.

/// A piece of work that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work;

impl Work {
    /// Starts work.
    #[inline(always)]
    pub(crate) fn start() -> Self {
        Self
    }

    /// Starts work on a number of things.
    #[inline(always)]
    pub(crate) fn start_of(_: impl FnOnce() -> usize) -> Self {
        Self
    }
}

/// A count that only metrics and events show.
#[derive(Debug, Default)]
pub(crate) struct Tally(());

impl Tally {
    /// Adds nothing.
    #[inline(always)]
    pub(crate) fn add(&self, _: impl FnOnce() -> u64) {}

    /// Returns 0.
    pub(crate) fn get(&self) -> u64 {
        0
    }
}

//! Metrics without the feature: nothing.

use std::fmt::Display;

use super::{Lack, Replay, Statistics, Work};

/// The metrics of a database.
#[derive(Clone)]
pub(super) struct Meters;

impl Meters {
    pub(super) fn new(_: &dyn Display) -> Self {
        Self
    }

    pub(super) fn none() -> Self {
        Self
    }

    pub(super) fn opened(&self, _: Work, _: &Replay) {}

    #[inline(always)]
    pub(super) fn committed(&self, _: Work, _: impl FnOnce() -> bool) {}

    #[inline(always)]
    pub(super) fn met_conflict(&self) {}

    #[inline(always)]
    pub(super) fn synced(&self, _: Work) {}

    pub(super) fn checkpointed(&self, _: Work) {}

    pub(super) fn stalled(&self, _: Lack, _: Work) {}

    pub(super) fn poisoned(&self) {}

    pub(super) fn publish(&self, _: impl FnOnce() -> (Statistics, u64)) {}

    pub(super) fn closed(&self) {}
}

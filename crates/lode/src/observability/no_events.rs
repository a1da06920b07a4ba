//! Events without the feature: nothing.

use std::fmt::Display;

use super::{Lack, Replay, Work};
use crate::error::{Error, Result};

/// The events of a database.
#[derive(Clone)]
pub(super) struct Events;

impl Events {
    pub(super) fn new(_: &dyn Display) -> Self {
        Self
    }

    pub(super) fn opened(&self, _: Work, _: &Replay) {}

    pub(super) fn opened_to_read(&self, _: Work, _: &Replay) {}

    pub(super) fn checkpointed(&self, _: Work) {}

    pub(super) fn stalled(&self, _: Lack, _: Work) {}

    pub(super) fn poisoned(&self, _: &str) {}

    pub(super) fn compacted(&self, _: Work, _: u64, _: u64) {}

    pub(super) fn backed_up(&self, _: Work, _: u64, _: u64) {}

    pub(super) fn built_index(&self, _: Work, _: &str, _: &str, _: &Result<()>) {}

    pub(super) fn failed_in_background(&self, _: &str, _: &Error) {}

    pub(super) fn closed(&self, _: Work, _: &Result<()>) {}
}

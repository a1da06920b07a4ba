//! Reads during a commit: while it changes pages alone, readers read at the moment before it.
//!
//! Images of its pages are kept for that, as for a snapshot. If they take up too much, this moment
//! is given up first, before any snapshot; readers wait for the end of the commit then.

use std::sync::atomic::AtomicU64;

use super::{Pager, ReadEpoch};

/// The moment that readers read at, if they cannot read the current pages.
#[derive(Default)]
pub(super) struct Shown(AtomicU64);

impl Shown {
    fn set(&self, moment: ReadEpoch) {
        debug_assert!(self.get().is_none(), "readers pass one commit at a time");
        moment.store(&self.0);
    }

    fn get(&self) -> Option<ReadEpoch> {
        ReadEpoch::load(&self.0)
    }

    /// Returns the moment that was shown until now.
    fn take(&self) -> Option<ReadEpoch> {
        self.get()?;
        ReadEpoch::take(&self.0)
    }
}

/// A commit that readers pass. The images kept for them are given back when this is dropped.
pub(crate) struct Passed<'p> {
    pager: &'p Pager,
    /// True until the commit has ended.
    is_shown: bool,
    to_release: Option<ReadEpoch>,
}

impl Passed<'_> {
    /// Has readers look at the current pages again, since the commit has ended. The gate is closed
    /// still.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            self.to_release = self.pager.shown.take();
        }
    }
}

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        self.end();
        self.to_release.into_iter().for_each(|moment| self.pager.release(moment));
    }
}

impl Pager {
    /// Has readers read at this moment until the commit that is about to start has ended. The gate
    /// is closed.
    pub(crate) fn let_readers_pass(&self) -> Passed<'_> {
        self.shown.set(self.moment());
        Passed { pager: self, is_shown: true, to_release: None }
    }

    /// Returns the moment to read at during a commit, if readers pass it. Once the commit has
    /// ended, reading at it may be an error; reads without one are right.
    #[inline]
    pub(crate) fn shown(&self) -> Option<ReadEpoch> {
        self.shown.get()
    }

    /// Returns the shown moment, shared with the caller: it has to be [released](Self::release).
    pub(crate) fn share_shown(&self) -> Option<ReadEpoch> {
        self.shown().filter(|moment| self.epochs.share(*moment))
    }

    /// Lets readers wait for the commit in progress.
    pub(super) fn stop_passing(&self) {
        let moment = self.shown.take();
        moment.into_iter().for_each(|moment| self.saved.give_up(&self.epochs, moment));
    }
}

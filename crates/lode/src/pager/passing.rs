//! Reading beside a commit: while one changes pages alone, readers read at the moment before it.
//!
//! What its pages were is kept for that, as it is for a snapshot. If images take up too much, this
//! moment is given up first, before any snapshot; readers wait for the end of the commit then.

use std::sync::atomic::AtomicU64;

use super::{Pager, ReadEpoch};

/// The moment that readers read at, if they cannot read what is there now.
#[derive(Default)]
pub(super) struct Shown(AtomicU64);

impl Shown {
    fn set(&self, moment: ReadEpoch) {
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

/// A commit that readers pass. What is kept for them is given back when this is dropped.
pub(crate) struct Passed<'p> {
    pager: &'p Pager,
    /// Whether it has not ended.
    is_shown: bool,
    to_release: Option<ReadEpoch>,
}

impl Passed<'_> {
    /// Has readers look at what is there again, since the commit has ended. The gate is closed
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
    /// Has readers read at this moment until the commit that is about to begin has ended. The gate
    /// is closed.
    pub(crate) fn let_readers_pass(&self) -> Passed<'_> {
        self.shown.set(self.moment());
        Passed { pager: self, is_shown: true, to_release: None }
    }

    /// The moment to read at while a commit is under way, if readers pass it. When the commit has
    /// ended, reading at it may be an error; what is read without one is right.
    #[inline]
    pub(crate) fn shown(&self) -> Option<ReadEpoch> {
        self.shown.get()
    }

    /// The same, for as long as it takes: it has to be [released](Self::release).
    pub(crate) fn share_shown(&self) -> Option<ReadEpoch> {
        self.shown().filter(|moment| self.epochs.share(*moment))
    }

    /// Lets readers wait for the commit that is under way.
    pub(super) fn stop_passing(&self) {
        let moment = self.shown.take();
        moment.into_iter().for_each(|moment| self.saved.give_up(&self.epochs, moment));
    }
}

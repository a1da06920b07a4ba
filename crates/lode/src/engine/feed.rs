//! The changes of a database, as its log has them.

use std::sync::Arc;

use super::Engine;
use crate::codec::Writer;
use crate::error::{Error, Result};
use crate::table::Definition;
use crate::wal::{Feed, Log, LogPosition, Place};

impl Engine {
    /// Returns true if changes are kept, so that what they change has to be logged, too.
    pub(crate) fn keeps_changes(&self) -> bool {
        self.log().is_some_and(Log::keeps_changes)
    }

    /// Returns the place in the log up to which the database is, or shows.
    ///
    /// # Errors
    /// `ChangesNotKept`, since from a place of a log that has only some changes nothing leads to
    /// later ones; `ChangesGone`; `Closed`, `Forked`; `Poisoned`; `Io`.
    pub(crate) fn log_place(&self) -> Result<Place> {
        self.expect_open()?;
        let (Some(store), Some(disk)) = (&self.store, &self.disk) else {
            return Err(Error::ChangesNotKept);
        };
        let place = store.log_place()?;
        let is_kept = match store.log() {
            Some(log) => log.keeps_changes(),
            // A backup has no log of its own.
            None if store.is_backup() => place != Place::default(),
            None => return Feed::expect_kept(&**disk, store.database, place).map(|()| place),
        };
        if is_kept { Ok(place) } else { Err(Error::ChangesNotKept) }
    }

    /// Starts to read the changes after a place; with `None`, all that are kept. Returns the
    /// definitions of the tables and indexes of a later moment, too, and a position after it.
    ///
    /// # Errors
    /// Those of [`Feed::open`]; `Closed`, `Forked`.
    pub(crate) fn feed(
        &self,
        since: Option<Place>,
    ) -> Result<(Feed, Vec<Definition>, LogPosition)> {
        self.expect_open()?;
        let (Some(store), Some(disk)) = (&self.store, &self.disk) else {
            return Err(Error::ChangesNotKept);
        };
        let end = store.log_place()?.position;
        // Tables of a moment before it may be others.
        if self.source.is_some()
            && since.is_some_and(|since| since.position > end)
            && let Some(later) = self.open_later()?
        {
            return later.feed(since);
        }
        let feed = Feed::open(Arc::clone(disk), store.database, since, end)?;
        let definitions = self.catalogue().definitions();
        let after = store.log_place()?.position;
        debug_assert!(after >= end, "the end of a log goes forward");
        Ok((feed, definitions, after))
    }

    /// Returns definitions that are to be dropped as the log has them, if changes are kept.
    pub(super) fn past_of(&self, dropped: &[Definition]) -> Vec<Vec<u8>> {
        let stored = |definition: &Definition| {
            let mut writer = Writer::default();
            definition.store(&mut writer);
            debug_assert!(!writer.0.is_empty(), "a definition has bytes");
            writer.0
        };
        if self.keeps_changes() { dropped.iter().map(stored).collect() } else { Vec::new() }
    }
}

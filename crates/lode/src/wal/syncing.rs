//! Syncs of the log: of its only lane for all that wait, or of all lanes.
//!
//! A sync of several lanes notes the end of each one first, and then syncs their files. A frame
//! before such an end names frames that were written before that; so they are in the files by then.
//! Only when all are synced do marks and proofs say so: what a lane is proved to have had depends
//! on nothing that was not durable.

use super::names::MOST_LANES;
use super::unsynced::ToSync;
use super::{Lane, Log, LogPosition, lock};
use crate::error::{Effect, Error, Result};
use crate::observability::Work;

impl Log {
    /// Makes everything durable that ends at a position or before; of a log that may have several
    /// lanes, everything.
    ///
    /// # Errors
    /// `Poisoned` if syncing fails, now and ever after.
    pub(crate) fn sync(&self, to: LogPosition) -> Result<()> {
        if self.settings.most_lanes > 1 {
            return self.sync_all();
        }
        self.group.sync(to, || {
            // First: a segment that starts after this may be synced too, and none is left out.
            let end = self.first.end.get();
            self.sync_ends(vec![(&self.first, end)])?;
            debug_assert!(end <= self.first.end.get(), "nothing is synced that is not written");
            Ok(end)
        })
    }

    /// Syncs all lanes. Of several threads that want it, each waits for the one before; as a rule
    /// that one has done it for all.
    fn sync_all(&self) -> Result<()> {
        let mut failed = lock(&self.failed);
        if let Some(why) = &*failed {
            return Err(Error::Poisoned { why: why.clone(), effect: Effect::None });
        }
        let ends = self.ends_to_sync();
        if ends.is_empty() {
            return Ok(());
        }
        *failed = Some("a sync of the log ended in a panic".into());
        match self.sync_ends(ends) {
            Ok(()) => {
                *failed = None;
                Ok(())
            }
            Err(error) => {
                let why = error.to_string();
                *failed = Some(why.clone());
                Err(Error::Poisoned { why, effect: Effect::None })
            }
        }
    }

    /// Returns the lanes that have something to sync, and their ends of a moment before the call
    /// returned.
    fn ends_to_sync(&self) -> Vec<(&Lane, LogPosition)> {
        let mut ends = [None; MOST_LANES];
        self.lanes().for_each(|lane| ends[lane.number] = Some(lane.end.get()));
        // A lane without frames until then may have got some that others name.
        let is_unsynced = |lane: &&Lane| lane.end.get() != lane.synced.get();
        let end_of = |lane: &Lane| ends[lane.number].unwrap_or_else(|| lane.synced.get());
        let mut all: Vec<_> =
            self.lanes().filter(is_unsynced).map(|lane| (lane, end_of(lane))).collect();
        if !all.is_empty() {
            let has_proof = |lane: &&Lane| !is_unsynced(lane) && lock(&lane.unsynced).has_proof();
            let proved = self.lanes().filter(has_proof);
            all.extend(proved.map(|lane| (lane, lane.synced.get())));
        }
        all
    }

    /// Syncs lanes up to these ends, earlier segments first.
    fn sync_ends(&self, ends: Vec<(&Lane, LogPosition)>) -> Result<()> {
        let work = Work::start();
        let works: Vec<_> =
            ends.iter().map(|(lane, end)| lock(&lane.unsynced).take(*end)).collect();
        works.iter().for_each(ToSync::unmap);
        let failed = |error| Error::io("sync the log", &error);
        if works.iter().any(|work| work.names_changed) {
            self.disk.sync_directory().map_err(failed)?;
        }
        works.iter().try_for_each(ToSync::sync).map_err(failed)?;
        works.iter().try_for_each(ToSync::prove).map_err(failed)?;
        self.expect_files()?;
        // Only one thread at a time is here.
        ends.iter().for_each(|(lane, end)| lane.synced.set(*end));
        self.observer.synced(work);
        Ok(())
    }

    /// Checks that no other program has taken files of the database away.
    pub(crate) fn expect_files(&self) -> Result<()> {
        self.disk.expect_files().map_err(|error| Error::io("look for the database's files", &error))
    }
}

//! The scans of a transaction. Each of its cursors has a note, which says how far it has come; the
//! commit looks at the notes again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::pager::{Pager, ReadEpoch};
use crate::table::{Extent, TableCore};
use crate::wal::TableId;

/// A note on what one cursor of a transaction has read so far.
pub(in crate::api) struct Scan {
    core: Arc<TableCore>,
    seen: Mutex<Seen>,
}

/// The state of a scan.
enum Seen {
    Nothing,
    Some(Extent),
    /// Perhaps any record of its table.
    All,
    /// Its reads need not be noted.
    Unneeded,
    /// The cursor found out that it cannot be repeated: its moment is gone.
    Lost,
}

impl Scan {
    fn new(core: &Arc<TableCore>, seen: Seen) -> Self {
        Self { core: Arc::clone(core), seen: Mutex::new(seen) }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the cursor has read this, with all that it had read before.
    pub(in crate::api) fn note(&self, extent: Extent) {
        let mut seen = self.seen();
        if matches!(*seen, Seen::Nothing | Seen::Some(_)) {
            *seen = Seen::Some(extent);
        }
    }

    /// Notes that the cursor may have read any record of its table.
    pub(in crate::api) fn note_all(&self) {
        let mut seen = self.seen();
        if matches!(*seen, Seen::Nothing | Seen::Some(_)) {
            *seen = Seen::All;
        }
    }

    /// Notes that the moment of the cursor is gone.
    pub(in crate::api) fn lose(&self) {
        *self.seen() = Seen::Lost;
    }
}

/// The need of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needed {
    Yes,
    /// The transaction will write nothing.
    No,
}

/// The notes of a transaction.
#[derive(Default)]
pub(super) struct Scans {
    all: Vec<Arc<Scan>>,
    /// The notes before this one are settled: their cursors are no more.
    settled: usize,
    /// Bytes that settled notes take up on the heap.
    settled_bytes: usize,
    /// Tables of which all records are noted, in a settled note.
    whole: Vec<TableId>,
    /// Tables whose number of records is noted.
    counted: Vec<TableId>,
    /// The notes of cursors that need none: one a table.
    unneeded: Vec<Arc<Scan>>,
}

impl Scans {
    /// Bytes that a note takes up, with keys of a usual length.
    pub(super) const BYTES_OF_ONE: usize =
        size_of::<Arc<Scan>>() + size_of::<Scan>() + 4 * size_of::<u128>();

    /// Returns the note of a cursor over a table: one that stays empty if it is not `needed`.
    pub(super) fn begin(&mut self, core: &Arc<TableCore>, needed: Needed) -> Arc<Scan> {
        if needed == Needed::No {
            let same = self.unneeded.iter().find(|scan| scan.core.is(core));
            let scan = same.cloned().unwrap_or_else(|| Arc::new(Scan::new(core, Seen::Unneeded)));
            if same.is_none() {
                self.unneeded.push(Arc::clone(&scan));
            }
            return scan;
        }
        self.settle();
        let scan = Arc::new(Scan::new(core, Seen::Nothing));
        self.all.push(Arc::clone(&scan));
        scan
    }

    /// Notes the number of a table's records, at the moment of all notes.
    pub(super) fn note_count(&mut self, core: &Arc<TableCore>, count: u64) {
        self.settle();
        if !self.counted.contains(&core.id()) && !self.whole.contains(&core.id()) {
            self.counted.push(core.id());
            self.all.push(Arc::new(Scan::new(core, Seen::Some(Extent::Count(count)))));
        }
    }

    /// Counts the notes whose cursors are gone, and drops those that say nothing more.
    fn settle(&mut self) {
        let mut at = self.settled;
        while let Some(scan) = self.all.get(at) {
            if Arc::strong_count(scan) > 1 {
                at += 1;
                continue;
            }
            let table = scan.core.id();
            let is_known = self.whole.contains(&table);
            let (is_of_use, is_whole, bytes) = match &*scan.seen() {
                Seen::Nothing | Seen::Unneeded => (false, false, 0),
                Seen::Some(extent) => (!is_known, extent.is_whole(), extent.heap_bytes()),
                Seen::All => (!is_known, true, 0),
                Seen::Lost => (true, false, 0),
            };
            if !is_of_use {
                drop(self.all.swap_remove(at));
                continue;
            }
            if is_whole {
                self.whole.push(table);
            }
            self.settled_bytes += bytes;
            self.all.swap(self.settled, at);
            self.settled += 1;
            at += 1;
        }
    }

    /// Returns the bytes that the notes take up, about.
    pub(super) fn size_bytes(&self) -> usize {
        self.all.len() * Self::BYTES_OF_ONE + self.settled_bytes
    }

    /// Returns true if nothing was scanned.
    pub(super) fn are_empty(&self) -> bool {
        self.all.iter().all(|scan| matches!(*scan.seen(), Seen::Nothing | Seen::Unneeded))
    }

    /// Returns true if nothing was scanned, and no cursor is left that may: each has the moment of
    /// its making.
    pub(super) fn are_without_moment(&self) -> bool {
        let mut all = self.all.iter().chain(&self.unneeded);
        self.are_empty() && all.all(|scan| Arc::strong_count(scan) == 1)
    }

    /// Returns the table of a scan whose moment is gone, if there is one.
    pub(super) fn lost(&self) -> Option<&TableCore> {
        let mut all = self.all.iter().chain(&self.unneeded);
        let lost = all.find(|scan| matches!(*scan.seen(), Seen::Lost));
        lost.map(|scan| &*scan.core)
    }

    /// Returns the table of a scan that would find other records now than at the moment `since`, if
    /// there is one. The gate is closed.
    pub(super) fn changed(&self, pager: &Pager, since: ReadEpoch) -> Result<Option<&TableCore>> {
        for scan in &self.all {
            if scan.has_changed(pager, since)? {
                return Ok(Some(&scan.core));
            }
        }
        Ok(None)
    }
}

impl Scan {
    fn has_changed(&self, pager: &Pager, since: ReadEpoch) -> Result<bool> {
        let seen = self.seen();
        let extent = match &*seen {
            Seen::Nothing | Seen::Unneeded => return Ok(false),
            Seen::Lost => return Ok(true),
            Seen::Some(extent) => extent,
            Seen::All => &Extent::all(&self.core),
        };
        let looked = self.core.ensure_open();
        let looked = looked.and_then(|()| self.core.has_changed(pager, since, extent));
        match looked {
            Err(Error::SnapshotTooOld { .. } | Error::NoTable { .. }) => Ok(true),
            // The table may have been dropped during the look.
            Err(error) => match self.core.ensure_open() {
                Err(Error::NoTable { .. }) => Ok(true),
                _ => Err(error),
            },
            looked => looked,
        }
    }
}

#[cfg(test)]
mod tests;

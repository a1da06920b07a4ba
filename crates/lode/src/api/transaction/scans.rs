//! What a transaction has scanned. Each of its cursors has a note, which says how far it has come;
//! the commit looks at the notes again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::pager::{Pager, ReadEpoch};
use crate::table::{Extent, TableCore};

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
    /// What it reads need not be noted.
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
    /// Bytes that notes take up whose cursors are no more.
    settled_bytes: usize,
    /// The notes before this one are settled.
    settled: usize,
}

impl Scans {
    /// Bytes that a note takes up, with keys of a usual length.
    pub(super) const BYTES_OF_ONE: usize =
        size_of::<Arc<Scan>>() + size_of::<Scan>() + 4 * size_of::<u128>();

    /// Makes the note of a cursor over a table; one that stays empty if it is not `needed`.
    pub(super) fn begin(&mut self, core: &Arc<TableCore>, needed: Needed) -> Arc<Scan> {
        self.settle();
        let seen = match needed {
            Needed::Yes => Seen::Nothing,
            Needed::No => Seen::Unneeded,
        };
        let scan = Arc::new(Scan::new(core, seen));
        self.all.push(Arc::clone(&scan));
        scan
    }

    /// Notes the number of a table's records.
    pub(super) fn note_count(&mut self, core: &Arc<TableCore>, count: u64) {
        self.settle();
        self.all.push(Arc::new(Scan::new(core, Seen::Some(Extent::Count(count)))));
    }

    /// Drops the last notes if they say nothing more, and counts the others whose cursors are gone.
    fn settle(&mut self) {
        while let Some(last) = self.all.get(self.settled) {
            if Arc::strong_count(last) > 1 {
                return;
            }
            let bytes = match &*last.seen() {
                Seen::Nothing | Seen::Unneeded => None,
                Seen::Some(extent) => Some(extent.heap_bytes()),
                Seen::All | Seen::Lost => Some(0),
            };
            match bytes {
                None => drop(self.all.swap_remove(self.settled)),
                Some(bytes) => {
                    self.settled_bytes += bytes;
                    self.settled += 1;
                }
            }
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

    /// Returns the table of a scan whose moment is gone, if there is one.
    pub(super) fn lost(&self) -> Option<&TableCore> {
        let lost = self.all.iter().find(|scan| matches!(*scan.seen(), Seen::Lost));
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

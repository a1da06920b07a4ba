//! In memory and at level `none`, nothing is promised before the volume is closed. So a property
//! that changes often is written to its table seldom there. Its cell is *late*, and the table
//! catches up before anything reads it.
//!
//! A change is late only if the table has the property with room for the new value. So catching up
//! takes no more memory than the tables have.
//!
//! A snapshot has every change that had ended when it started, and no change that started later. So
//! it closes the *gate* for changes first. Some are under way then; whether the snapshot has them
//! is open, but a change that starts after one of them has ended waits at the gate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lode::Snapshot;

use crate::cells::{Cell, Held};
use crate::core::{Core, Mode};
use crate::error::Result;
use crate::kept::Content;
use crate::lock::lock;
use crate::node::{Node, State};
use crate::tables::{Stored, pack_property};

/// The number of late cells at which the tables catch up.
const MOST_CELLS: usize = 4096;

/// The late cells of a volume.
#[derive(Default)]
pub(crate) struct Late {
    list: Mutex<List>,
    is_closed: AtomicBool,
    gate: Mutex<()>,
}

#[derive(Default)]
struct List {
    cells: Vec<LateCell>,
    /// True if the volume is being closed: from now on no cell may be late.
    has_ended: bool,
}

struct LateCell {
    node: Arc<Node>,
    cell: Arc<Cell>,
}

impl Late {
    /// Notes that the table will not have what a cell is about to have; returns false if the table
    /// has to have it. The caller holds the cell's lock.
    pub(crate) fn add(&self, node: &Arc<Node>, cell: &Arc<Cell>, held: &mut Held) -> bool {
        if held.dirty {
            return true;
        }
        let mut list = lock(&self.list);
        if !list.has_ended {
            held.dirty = true;
            list.cells.push(LateCell { node: Arc::clone(node), cell: Arc::clone(cell) });
        }
        held.dirty
    }

    /// Ends the time in which cells can be late, once the tables have caught up.
    pub(crate) fn end(&self) {
        lock(&self.list).has_ended = true;
    }

    fn is_full(&self) -> bool {
        lock(&self.list).cells.len() >= MOST_CELLS
    }

    /// Waits while a snapshot is being taken. The thread holds no lock.
    #[inline]
    pub(crate) fn wait_at_gate(&self) {
        if self.is_closed.load(Ordering::SeqCst) {
            drop(lock(&self.gate));
        }
    }
}

/// Opens the gate when it is dropped.
struct Closed<'l>(&'l Late);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.is_closed.store(false, Ordering::SeqCst);
    }
}

impl Core {
    /// Writes what is late to the tables. The thread holds no lock.
    pub(crate) fn catch_up(&self) -> Result<()> {
        if self.mode != Mode::Late {
            return Ok(());
        }
        let mut cells = std::mem::take(&mut lock(&self.late.list).cells).into_iter();
        while let Some(late) = cells.next() {
            if let Err(error) = self.write_late(&late) {
                let mut left = lock(&self.late.list);
                left.cells.push(late);
                left.cells.extend(cells);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes the late cells to the tables if many cells are late.
    pub(crate) fn catch_up_if_many(&self, was_late: bool) {
        if was_late && self.late.is_full() {
            // The change itself has happened. Whoever needs the tables tries again and reports.
            let _ = self.catch_up();
        }
    }

    fn write_late(&self, late: &LateCell) -> Result<()> {
        let LateCell { node, cell } = late;
        loop {
            let mut held = cell.lock();
            if !held.dirty {
                return Ok(());
            }
            match node.state() {
                State::Leaving => {
                    drop(held);
                    node.wait_for_unlink();
                    continue;
                }
                State::Gone => {}
                State::Linked => held.room_bytes = self.write_content(cell)?,
            }
            held.dirty = false;
            return Ok(());
        }
    }

    /// Writes a late cell; returns for how many bytes the table has room then.
    fn write_content(&self, cell: &Cell) -> Result<Option<usize>> {
        cell.read(|content| {
            let Content::Kept { value, expires } = content else {
                self.tables.properties.delete(&cell.key[..])?;
                return Ok(None);
            };
            let mut record = Vec::new();
            pack_property(&cell.key, &Stored { value, expires }, &mut record);
            self.tables.properties.upsert(&record)?;
            Ok(Some(value.size_bytes()))
        })
    }

    /// Takes a snapshot of all tables, with everything that was done before.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        if self.mode != Mode::Late {
            return Ok(self.database.snapshot());
        }
        let _gate = lock(&self.late.gate);
        self.late.is_closed.store(true, Ordering::SeqCst);
        let _closed = Closed(&self.late);
        self.catch_up()?;
        Ok(self.database.snapshot())
    }
}

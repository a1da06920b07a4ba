//! Delays writes to tables, in memory and at level `none`: nothing is promised there before the
//! volume is closed. The cell of a property that changes often is *late*. The table catches up
//! before anything reads it.
//!
//! A change is late only if the table has the property with room for the new value. So catching up
//! takes no more memory than the tables have.
//!
//! A snapshot has every change that had ended when it started, and no change that started later. So
//! it closes the *gate* for changes first. Some are under way then; whether the snapshot has them
//! is open, but a change that starts after one of them has ended waits at the gate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lode::{Database, Snapshot};

use crate::error::Result;
use crate::lock::lock;
use crate::open::cells::{Cell, Held};
use crate::open::kept::Content;
use crate::open::node::{Node, State};
use crate::tables::{Stored, Tables, pack_property};

/// The number of late cells at which the tables catch up.
const MOST_CELLS: usize = 4096;

/// The late cells of a volume.
pub(crate) struct Late {
    /// True if cells of this volume may be late.
    pub is_allowed: bool,
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
    pub(crate) fn new(is_allowed: bool) -> Self {
        let is_closed = AtomicBool::new(false);
        Self { is_allowed, list: Mutex::default(), is_closed, gate: Mutex::default() }
    }

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

    /// Waits while a snapshot is being taken. The thread holds no lock.
    #[inline]
    pub(crate) fn wait_at_gate(&self) {
        if self.is_closed.load(Ordering::SeqCst) {
            drop(lock(&self.gate));
        }
    }

    /// Writes what is late to the tables. The thread holds no lock.
    pub(crate) fn catch_up(&self, tables: &Tables) -> Result<()> {
        if !self.is_allowed {
            return Ok(());
        }
        let mut cells = std::mem::take(&mut lock(&self.list).cells).into_iter();
        while let Some(late) = cells.next() {
            if let Err(error) = late.write(tables) {
                let mut left = lock(&self.list);
                left.cells.push(late);
                left.cells.extend(cells);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes the late cells to the tables if many cells are late.
    pub(crate) fn catch_up_if_many(&self, tables: &Tables) {
        if lock(&self.list).cells.len() >= MOST_CELLS {
            // The change itself has happened. The next user of the tables tries again and reports.
            let _ = self.catch_up(tables);
        }
    }

    /// Takes a snapshot of all tables, with everything that was done before.
    pub(crate) fn snapshot(&self, database: &Database, tables: &Tables) -> Result<Snapshot> {
        if !self.is_allowed {
            return Ok(database.snapshot());
        }
        let _gate = lock(&self.gate);
        self.is_closed.store(true, Ordering::SeqCst);
        let _closed = Closed(&self.is_closed);
        self.catch_up(tables)?;
        Ok(database.snapshot())
    }
}

/// Opens the gate when it is dropped.
struct Closed<'l>(&'l AtomicBool);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl LateCell {
    fn write(&self, tables: &Tables) -> Result<()> {
        let Self { node, cell } = self;
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
                State::Linked => held.room_bytes = self.write_content(tables)?,
            }
            held.dirty = false;
            return Ok(());
        }
    }

    /// Writes the content; returns the bytes for which the table has room then.
    fn write_content(&self, tables: &Tables) -> Result<Option<usize>> {
        self.cell.read(|content| {
            let Content::Kept { value, expires } = content else {
                tables.properties.delete(&self.cell.key[..])?;
                return Ok(None);
            };
            let mut record = Vec::new();
            pack_property(&self.cell.key, &Stored { value, expires }, &mut record);
            tables.properties.upsert(&record)?;
            Ok(Some(value.size_bytes()))
        })
    }
}

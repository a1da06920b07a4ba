//! Compaction: moves records and pages together, and gives space back.

use std::sync::{MutexGuard, TryLockError};

use super::{Engine, idle};
use crate::error::{Error, Result};
use crate::observability::{Statistics, Work};
use crate::pager::PAGE_BYTES;
use crate::store::Store;
use crate::table::{Progress, TableCore};

/// The result of [`Database::compact`](crate::Database::compact).
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("t").key("id", Type::U32).column("rest", Type::Bytes(60)).finish()?;
/// let table = db.create_table(&schema, KeyKind::Tree)?;
/// for id in 0..5_000u32 {
///     table.insert(&[&id.to_le_bytes()[..], &[7; 60]].concat())?;
/// }
/// for id in (0..5_000u32).filter(|id| id % 8 != 0) {
///     table.delete(id)?;
/// }
/// let compacted = db.compact()?;
/// assert!(compacted.after.page_bytes <= compacted.before.page_bytes);
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The space that the database took up before.
    pub before: Statistics,
    /// The space that it takes up after it.
    pub after: Statistics,
}

/// The treatment of the sparse pages of tables when space is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sparse {
    Left,
    Filled,
}

/// Rounds of moving pages to the front of the data file; each but the last shortens it.
const MOST_ROUNDS: usize = 16;

impl Engine {
    /// Fills sparse pages of all tables, moves all pages to the front of the data file, and gives
    /// the free space after them back.
    pub(crate) fn compact(&self) -> Result<Compacted> {
        self.expect_open()?;
        let _turn = self.turn_to_compact();
        let work = Work::start();
        let before = self.statistics();
        let filled = self.compact_tables(&|| true);
        if let Some(store) = self.store() {
            self.compact_file(store, &|| true)?;
        }
        filled?;
        let after = self.statistics();
        self.observer().compacted(work, &before, &after);
        Ok(Compacted { before, after })
    }

    /// Compacts in the background; stops between two steps when `goes_on` returns false. Returns
    /// true if it has finished. Pages are not filled if the database has more of them than memory
    /// has room for: all would have to be read. Files that the log has no use for are removed.
    pub(crate) fn compact_while(&self, goes_on: &dyn Fn() -> bool) -> Result<bool> {
        let Some((store, _turn)) = self.turn_in_background(goes_on)? else { return Ok(false) };
        let filled = self.compact_tables_in_memory(store, goes_on);
        self.compact_file(store, goes_on)?;
        if !goes_on() {
            return Ok(false);
        }
        self.begin_small_log()?;
        filled.map(|()| true)
    }

    /// Gives space back next to writers, in the background, as `compact_while` does; pages are
    /// moved only if the files can have no holes. Returns true if it has finished.
    pub(crate) fn give_back_while(
        &self,
        tables: Sparse,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let Some((store, _turn)) = self.turn_in_background(goes_on)? else { return Ok(false) };
        let filled = match tables {
            Sparse::Filled => self.compact_tables_in_memory(store, goes_on),
            Sparse::Left => Ok(()),
        };
        self.checkpoint_and_give_back(goes_on)?;
        if idle::has_spare_space(store, store.data.space_bytes()) {
            self.compact_file(store, goes_on)?;
        }
        filled.map(|()| goes_on())
    }

    /// Takes the turn to compact for the thread of the database, which must not wait for another
    /// thread. Returns `None` if another has it, or there is no directory.
    fn turn_in_background(
        &self,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<(&Store, MutexGuard<'_, ()>)>> {
        self.expect_open()?;
        let turn = match self.turn_to_compact.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Ok(turn) => turn,
        };
        Ok(self.store().filter(|_| goes_on()).map(|store| (store, turn)))
    }

    fn compact_tables_in_memory(&self, store: &Store, goes_on: &dyn Fn() -> bool) -> Result<()> {
        if store.data.used_bytes() < self.settings.memory_bytes / 2 {
            self.compact_tables(goes_on)
        } else {
            Ok(())
        }
    }

    /// Fills sparse pages of all tables. A damaged table does not stop the others.
    fn compact_tables(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let mut first = Ok(());
        for core in self.whole_tables() {
            match self.compact_table(&core, goes_on) {
                Err(error @ Error::Corrupt { .. }) => first = first.and(Err(error)),
                other => other?,
            }
        }
        first
    }

    fn compact_table(&self, core: &TableCore, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let mut left = core.begin_compaction();
        while goes_on() {
            let progress = self.admitted(0, &mut || {
                let _inside = self.gate().enter();
                self.expect_healthy()?;
                match core.ensure_open() {
                    // It was dropped in the meantime.
                    Err(Error::NoTable { .. }) => return Ok(Progress::Done),
                    other => other?,
                }
                core.compact(self.pager(), &mut left)
            })?;
            if progress == Progress::Done {
                break;
            }
        }
        Ok(())
    }

    fn compact_file(&self, store: &Store, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let checkpoint = || self.checkpoint_while(|| true, goes_on);
        checkpoint()?;
        for _ in 0..MOST_ROUNDS {
            if !goes_on() {
                return Ok(());
            }
            let before = store.data.length_bytes();
            let turn = self.take_turn()?;
            let moved = store.data.pages_beyond_need()?;
            drop(turn);
            // Takes as many as memory has room for at a time.
            for group in moved.chunks((self.pager().most_dirty() / 4).max(1) as usize) {
                // Before they count as changed: a checkpoint must have space for them.
                self.make_room(store, group.len() as u64)?;
                for page in group {
                    if !goes_on() {
                        return Ok(());
                    }
                    self.pager().rewrite(*page)?;
                }
                checkpoint()?;
            }
            // A checkpoint that is being made has reserved space without the map's pages.
            let turn = self.take_turn()?;
            store.move_map(self.pager())?;
            drop(turn);
            checkpoint()?;
            // What that checkpoint needed itself may be beyond the end; the next one moves it.
            store.data.rewind();
            checkpoint()?;
            // A checkpoint that is being made has reserved the slots that it needs.
            let turn = self.take_turn()?;
            store.shrink(self.pager())?;
            drop(turn);
            let given_back = before.saturating_sub(store.data.length_bytes());
            if given_back < PAGE_BYTES as u64 {
                break;
            }
        }
        Ok(())
    }
}

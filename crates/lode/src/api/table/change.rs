//! Changes of records by closures of the caller.
//!
//! No latch and no gate is held while such a closure runs: it works on a copy, which is written
//! only if the record is still what was copied. So a closure may use the database, and may wait for
//! threads that use it. One thing is refused: a write of the very record that the closure changes,
//! since it would make each attempt fail.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

use super::Table;
use super::writes::Under;
use crate::api::Key;
use crate::api::read::with_key;
use crate::error::{Error, Result};
use crate::heap;
use crate::index::{Modify, Swap};
use crate::table::TableCore;

/// Attempts before [`Table::change`] gives up: each failed because another thread wrote the record.
/// With 64 threads that change one record, about one change in 10^28 would fail.
const MOST_ATTEMPTS: usize = 1 << 12;

thread_local! {
    /// The number of closures of `change` that run in this thread, one inside the other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The records that they change: the address of each table, and its key as the index has it.
    static CHANGED: RefCell<Vec<(usize, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

/// A record that a closure in this thread changes, until this is dropped.
struct Changing {
    _same_thread: PhantomData<*const ()>,
}

impl Changing {
    fn begin(core: &Arc<TableCore>, key: &[u8]) -> Self {
        let id = Arc::as_ptr(core).addr();
        // In a thread that is ending the list may be gone; then nothing is refused.
        let _ = CHANGED.try_with(|changed| changed.borrow_mut().push((id, key.to_vec())));
        DEPTH.set(DEPTH.get() + 1);
        Self { _same_thread: PhantomData }
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        let _ = CHANGED.try_with(|changed| changed.borrow_mut().pop());
    }
}

/// Returns true if a closure of this thread is changing a record.
#[inline(always)]
pub(super) fn is_any_changing() -> bool {
    DEPTH.get() > 0
}

/// Refuses a write of the record that a closure of this thread is changing; the key is in order.
///
/// # Errors
/// `Reentered`.
#[inline(always)]
pub(crate) fn expect_not_changing(core: &Arc<TableCore>, key: &[u8]) -> Result<()> {
    if is_any_changing() { expect_other_record(core, key) } else { Ok(()) }
}

#[cold]
fn expect_other_record(core: &Arc<TableCore>, key: &[u8]) -> Result<()> {
    let id = Arc::as_ptr(core).addr();
    let is_it = |(other, changed): &(usize, Vec<u8>)| *other == id && changed == key;
    match CHANGED.try_with(|changed| changed.borrow().iter().any(is_it)) {
        Ok(true) => Err(Error::Reentered { table: core.schema().name().into() }),
        Ok(false) | Err(_) => Ok(()),
    }
}

impl Table {
    /// Calls `change` with a copy of the columns after the key. If it returns true, the copy is
    /// written in their place. No other write of the record comes between. Returns true if there is
    /// such a record.
    ///
    /// If another thread writes the record in between, `change` is called again with the new
    /// content. `change` may use the database, and may wait for threads that use it. Only the
    /// record itself can be written by nothing else before `change` has returned.
    ///
    /// ```
    /// use lode::{Database, Error, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("page").key("id", Type::U8).column("views", Type::U8).finish()?;
    /// let pages = db.create_table(&schema, KeyKind::Hash)?;
    /// for id in 0..2 {
    ///     pages.insert(&[id, 10 * id])?;
    /// }
    /// pages.change(0, &mut |views| {
    ///     let other = pages.get(1).ok().flatten();
    ///     views[0] = other.map_or(0, |other| other.payload()[0] + 1);
    ///     assert!(matches!(pages.delete(0), Err(Error::Reentered { .. })));
    ///     true
    /// })?;
    /// assert_eq!(pages.get(0)?.map(lode::Row::into_bytes), Some(vec![0, 11]));
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotPacked`, `ValueTooLong` and `RecordTooLong` when the changed payload does not fit such a
    /// record; the record stays as it was. `Conflict` when other threads wrote the record during
    /// each of some thousand calls. `Reentered` when it is called in a closure that is changing the
    /// same record.
    pub fn change(
        &self,
        key: impl Key,
        change: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        with_key(self, key, |key| self.change_packed(key, change))
    }

    fn change_packed(
        &self,
        key: &[u8],
        change: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        if !self.core.can_have(key)? {
            return Ok(false);
        }
        let mut seen = Vec::new();
        let mut wanted = Vec::new();
        self.core.in_order(key, |ordered| expect_not_changing(&self.core, ordered))?;
        self.db.expect_healthy()?;
        for _ in 0..MOST_ATTEMPTS {
            if !self.read_into(key, &mut seen)? {
                return Ok(false);
            }
            wanted.clone_from(&seen);
            let changing = self.core.in_order(key, |ordered| Changing::begin(&self.core, ordered));
            let is_changed = change(&mut wanted);
            drop(changing);
            if !is_changed {
                return Ok(true);
            }
            self.schema().expect_payload(&wanted)?;
            if self.write(Under { key, write: Swap::of(&seen, &wanted) })? {
                return Ok(true);
            }
            std::thread::yield_now();
        }
        Err(Error::Conflict { table: self.schema().name().into() })
    }

    /// Changes a record as [`change`](Self::change) does, by a closure of the engine, which is
    /// quick and uses nothing: the record's page may be latched while it runs.
    pub(super) fn change_in_place(
        &self,
        key: &[u8],
        mut change: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        let schema = self.core.schema();
        let mut most_bytes = 0;
        loop {
            let mut fits = Ok(());
            let mut bytes = 0;
            let is_admitted = |bytes| heap::pages_for(bytes) <= heap::pages_for(most_bytes);
            let work = RefCell::new(|payload: &mut Vec<u8>| {
                let is_changed = change(payload);
                if is_changed {
                    fits = schema.expect_payload(payload);
                    bytes = payload.len();
                }
                is_changed && fits.is_ok() && is_admitted(bytes)
            });
            let is_there = self.write(Under { key, write: Modify { work: &work, most_bytes } })?;
            fits?;
            if is_admitted(bytes) {
                return Ok(is_there);
            }
            // It takes up more pages than were asked for.
            most_bytes = bytes;
        }
    }
}

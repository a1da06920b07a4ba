//! Tables: typed records under their keys.

mod atomic;
mod change;
mod load;
mod lookups;

use std::sync::Arc;

use super::read::with_key;
use super::row::Shape;
use super::{Key, Row};
use crate::engine::Handle;
use crate::error::{PackedPart, Result};
use crate::heap;
use crate::index::{Put, Record, WriteContext};
use crate::schema::{ColumnId, Schema};
use crate::table::{KeyKind, TableCore};

pub(super) use change::expect_not_changing;

/// A table. Handles are cheap to clone, and may be used by any number of threads.
///
/// Records and keys are *packed* as [`Schema`] says. Every operation happens as a whole or not at
/// all, and is seen by all that begin after it has ended.
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("city").key("name", Type::Text(32)).column("people", Type::U64);
/// let cities = db.create_table(&schema.finish()?, KeyKind::Tree)?;
/// let record = |name, people| {
///     cities.schema().pack(&[Value::Text(name), Value::Unsigned(people)])
/// };
/// assert!(cities.insert(&record("Bern", 134_591)?)?);
/// assert!(!cities.insert(&record("Bern", 1)?)?, "there is one already");
/// assert!(cities.upsert(&record("Bern", 134_600)?)?);
///
/// let people = cities.schema().column("people")?;
/// assert_eq!(cities.increment("Bern", people, -9)?, Some(Value::Unsigned(134_591)));
/// assert!(cities.delete("Bern")?);
/// assert_eq!(cities.len()?, 0);
/// # Ok::<(), lode::Error>(())
/// ```
///
/// # Errors
/// Reading returns [these](crate::ReadTable#errors). Writing returns, besides these, `ReadOnly`;
/// `Poisoned` after a disk has failed; `Full`, `DiskFull` and `TableFull` when there is no room;
/// and `Reentered` in a closure of [`change`](Self::change) that is changing the same record.
#[derive(Clone)]
pub struct Table {
    db: Handle,
    core: Arc<TableCore>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.core.schema().name()).finish_non_exhaustive()
    }
}

impl Table {
    pub(crate) fn new(db: Handle, core: Arc<TableCore>) -> Self {
        Self { db, core }
    }

    pub(crate) fn core(&self) -> &Arc<TableCore> {
        &self.core
    }

    pub(crate) fn database(&self) -> &Handle {
        &self.db
    }

    /// A row of a packed key and a payload.
    pub(super) fn row(&self, key: &[u8], payload: &[u8]) -> Row {
        Row::new(Shape::new(Arc::clone(&self.core), None), [key, payload].concat())
    }

    /// What its records look like.
    pub fn schema(&self) -> &Schema {
        self.core.schema()
    }

    /// How it finds them.
    pub fn key_kind(&self) -> KeyKind {
        self.core.definition().kind
    }

    /// Calls `work`, which changes the record of a key in order beside other writers, and
    /// `extra_pages` more pages than most operations. Returns when the change is as durable as the
    /// level says.
    #[inline]
    fn write<T>(
        &self,
        key: &[u8],
        extra_pages: u64,
        mut work: impl FnMut(&WriteContext<'_>) -> Result<T>,
    ) -> Result<T> {
        expect_not_changing(&self.core, key)?;
        let turn = self.db.turn_for(extra_pages);
        let (done, end) = self.db.admitted(extra_pages, &mut || {
            let _inside = self.db.gate().enter();
            // A commit may have failed half-way while this waited.
            self.db.expect_healthy()?;
            self.core.ensure_open()?;
            let context = self.core.write_context(self.db.pager(), self.db.log());
            Ok((work(&context)?, context.end()))
        })?;
        drop(turn);
        self.db.acknowledge(end)?;
        Ok(done)
    }

    /// Inserts a packed record; false if there is one with its key.
    ///
    /// # Errors
    /// `NotPacked`, `ValueTooLong`, `RecordTooLong` and `KeyTooLong` when it is no record of the
    /// table; and those of [writing](Self#errors).
    #[inline]
    pub fn insert(&self, record: &[u8]) -> Result<bool> {
        let (key, payload) = self.core.split(record)?;
        let there = self.core.in_order(key, |key| {
            self.write(key, heap::pages_for(payload.len()), |context| {
                self.core.put(context, Record { key, payload }, Put::Insert)
            })
        });
        there.map(|there| !there)
    }

    /// Writes a packed record, whether there is one with its key or not. Returns whether there was.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn upsert(&self, record: &[u8]) -> Result<bool> {
        let (key, payload) = self.core.split(record)?;
        self.core.in_order(key, |key| {
            self.write(key, heap::pages_for(payload.len()), |context| {
                self.core.put(context, Record { key, payload }, Put::Upsert)
            })
        })
    }

    /// Sets a column to the bytes that it has in a packed record; a column of variable length may
    /// get any number of bytes; false if there is no such record.
    ///
    /// # Errors
    /// `NoColumn`; `KeyColumn`; `NullableColumn`; `NotPacked` or `ValueTooLong` when the bytes do
    /// not fit the column; `RecordTooLong`; those of [writing](Self#errors).
    #[inline]
    pub fn update(&self, key: impl Key, column: ColumnId, bytes: &[u8]) -> Result<bool> {
        with_key(self, key, |key| self.update_packed(key, column, bytes))
    }

    #[inline]
    fn update_packed(&self, key: &[u8], column: ColumnId, bytes: &[u8]) -> Result<bool> {
        let (schema, found) = (self.core.schema(), self.core.column_to_set(column)?);
        if found.kind.is_variable() {
            return self.update_variable(key, column, bytes);
        }
        schema.expect_size(PackedPart::Column, bytes.len(), found.range().len())?;
        if !self.core.can_have(key)? {
            return Ok(false);
        }
        let at = schema.range_in_payload(found).start;
        self.core.in_order(key, |key| {
            self.write(key, 0, |context| self.core.patch(context, key, at, bytes))
        })
    }

    fn update_variable(&self, key: &[u8], column: ColumnId, bytes: &[u8]) -> Result<bool> {
        let mut fits = Ok(());
        let there = self.change_in_place(key, &mut |payload| {
            fits = self.core.schema().replace(payload, column, bytes);
            fits.is_ok()
        })?;
        fits.map(|()| there)
    }

    /// Deletes a record; false if there is none.
    ///
    /// # Errors
    /// Those of [writing](Self#errors); `NotPacked`, `ValueCount` and `ValueMisfit` when the key is
    /// none of the table.
    #[inline]
    pub fn delete(&self, key: impl Key) -> Result<bool> {
        with_key(self, key, |key| self.delete_packed(key))
    }

    #[inline]
    fn delete_packed(&self, key: &[u8]) -> Result<bool> {
        if !self.core.can_have(key)? {
            return Ok(false);
        }
        self.core.in_order(key, |key| self.write(key, 0, |context| self.core.remove(context, key)))
    }
}

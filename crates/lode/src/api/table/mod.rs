//! Tables: typed records under their keys.

mod atomic;
mod change;
mod expiry;
mod indexed;
mod indexes;
mod lookups;
mod many;
mod together;
mod writes;

use std::sync::Arc;

use super::Row;
use super::row::Shape;
use crate::engine::Handle;
use crate::hash::Hash;
use crate::index::{self, Index};
use crate::schema::Schema;
use crate::table::{KeyKind, Kinds, TableCore};

pub(super) use change::expect_not_changing;

/// A table. Handles are cheap to clone, and may be used by any number of threads.
///
/// Records and keys are *packed* as [`Schema`] says. Every operation happens as a whole or not at
/// all, and is seen by all that start after it has ended.
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
/// `UniqueViolation` when a unique index refuses the record; and `Reentered` in a closure of
/// [`change`](Self::change) that is changing the same record.
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

    /// Returns a row of a packed key and a payload.
    pub(super) fn row(&self, key: &[u8], payload: &[u8]) -> Row {
        Row::new(Shape::new(Arc::clone(&self.core), None), [key, payload].concat())
    }

    /// Returns the schema of the table.
    pub fn schema(&self) -> &Schema {
        self.core.schema()
    }

    /// Returns how the table finds its records.
    pub fn key_kind(&self) -> KeyKind {
        self.core.definition().kind
    }

    /// Returns the sizes of the records, if they are in the index and are not variable.
    #[inline(always)]
    fn sizes(&self) -> Option<index::Shape> {
        match (&self.core.index, &self.core.heap) {
            (Kinds::Hash(hash), None) => Some(hash.shape()),
            (Kinds::Tree(tree), None) => Some(tree.shape()).filter(|shape| !shape.is_variable),
            _ => None,
        }
    }

    /// Returns the hash whose buckets have the records, if they do.
    #[inline(always)]
    fn buckets(&self) -> Option<&Hash> {
        match (&self.core.index, &self.core.heap) {
            (Kinds::Hash(hash), None) => Some(hash),
            _ => None,
        }
    }
}

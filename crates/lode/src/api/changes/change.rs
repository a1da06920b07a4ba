//! The changes of a commit.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::position::Position;
use crate::schema::key::KeyOrder;
use crate::schema::{IndexSchema, RowRef, Schema};
use crate::table::{Definition, KeyKind};
use crate::wal::TableId;

/// The changes that happened together: those of a single operation, of a transaction, or of records
/// written together.
///
/// To repeat it in a copy, in one transaction: delete the changed records by their
/// [keys](RowChange::key), then insert those that are there [after](RowChange::after_bytes) the
/// last change of each key. Records may have swapped the values of a unique index, which no order
/// of single upserts can do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Commit {
    /// The position after the commit: [`Database::changes`](crate::Database::changes) continues
    /// there.
    pub position: Position,
    /// The changes in their order. A record may be changed more than once.
    pub changes: Vec<Change>,
}

/// A change of a record, of a table or of an index.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A record was inserted, replaced or deleted.
    Row(RowChange),
    /// A table was created, without records.
    CreateTable {
        /// The table.
        table: ChangedTable,
    },
    /// A table was dropped with its records and indexes. A cleared table is dropped and created.
    DropTable {
        /// The table.
        table: ChangedTable,
    },
    /// A table was altered: its records are those of the new schema from then on. They are not
    /// listed: if [they have changed](ChangedTable::keeps_records_of), read the table for them. The
    /// indexes that the new one has are created by the changes after this.
    AlterTable {
        /// The table before.
        before: ChangedTable,
        /// The table from then on.
        after: ChangedTable,
    },
    /// A secondary index was created, and has an entry for each record.
    CreateIndex {
        /// The table.
        table: ChangedTable,
        /// The index.
        index: IndexSchema,
    },
    /// A secondary index was dropped, but not its table.
    DropIndex {
        /// The table.
        table: ChangedTable,
        /// The index.
        index: IndexSchema,
    },
}

/// A record before and after a change.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChange {
    table: ChangedTable,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl RowChange {
    /// Returns the table of the record.
    pub fn table(&self) -> &ChangedTable {
        &self.table
    }

    /// Returns the record as it was; `None` if it was inserted. It may have expired by then.
    pub fn before(&self) -> Option<RowRef<'_>> {
        self.before.as_deref().map(|record| self.table.schema().row_of(record, None))
    }

    /// Returns the record as it is since; `None` if it was deleted. Expired records are deleted
    /// some time after they have expired.
    pub fn after(&self) -> Option<RowRef<'_>> {
        self.after.as_deref().map(|record| self.table.schema().row_of(record, None))
    }

    /// Returns the packed record as it was; `None` if it was inserted.
    pub fn before_bytes(&self) -> Option<&[u8]> {
        self.before.as_deref()
    }

    /// Returns the packed record as it is since; `None` if it was deleted.
    pub fn after_bytes(&self) -> Option<&[u8]> {
        self.after.as_deref()
    }

    /// Returns the packed key of the record.
    pub fn key(&self) -> &[u8] {
        let row = self.after().or_else(|| self.before());
        row.expect("a record was there, or is").key()
    }
}

/// A table as it was when a commit changed it.
#[derive(Clone)]
pub struct ChangedTable(Arc<Described>);

struct Described {
    definition: Definition,
    order: KeyOrder,
}

impl ChangedTable {
    pub(super) fn new(definition: Definition) -> Self {
        let order = definition.order();
        Self(Arc::new(Described { definition, order }))
    }

    /// Returns the table with another schema.
    ///
    /// # Errors
    /// `Corrupt` if it suits other records.
    pub(super) fn redefined(&self, schema: Schema) -> Result<Self> {
        if !schema.suits_records_of(self.schema()) {
            let why = format!("table {} gets a schema that its records do not suit", self.name());
            return Err(Error::corrupt("a record of the log", why));
        }
        Ok(Self::new(self.0.definition.redefined(schema)))
    }

    /// Returns true if it is the table `before`, altered so that all records stay as they are:
    /// names are others, or columns of variable length have more room.
    pub fn keeps_records_of(&self, before: &Self) -> bool {
        // Records that were written anew are those of another table.
        self.id() == before.id() && self.schema().suits_records_of(before.schema())
    }

    /// Returns the name of the table.
    pub fn name(&self) -> &str {
        self.schema().name()
    }

    /// Returns the schema of the table.
    pub fn schema(&self) -> &Schema {
        &self.0.definition.schema
    }

    /// Returns how the table finds its records.
    pub fn key_kind(&self) -> KeyKind {
        self.0.definition.kind
    }

    pub(super) fn id(&self) -> TableId {
        self.0.definition.id
    }

    /// Splits a key as the log has it from what comes after it.
    pub(super) fn split<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        self.0.order.split(self.schema(), bytes)
    }

    /// Returns the change of a record, by its key and its payloads as the log has them.
    ///
    /// # Errors
    /// `Corrupt` if they are none of the table.
    pub(super) fn row_change(
        &self,
        key: &[u8],
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<RowChange> {
        let corrupt = |why: String| Error::corrupt("a record of the log", why);
        let mut packed = Vec::new();
        self.0
            .order
            .decode(key, &mut packed)
            .filter(|()| self.schema().expect_key(&packed).is_ok())
            .ok_or_else(|| corrupt(format!("its key is none of table {}", self.name())))?;
        let record = |payload: &[u8]| {
            let checked = self.schema().expect_payload(payload);
            checked.map_err(|error| corrupt(error.to_string()))?;
            Ok([&packed, payload].concat())
        };
        let before = before.map(record).transpose()?;
        let after = after.map(record).transpose()?;
        Ok(RowChange { table: self.clone(), before, after })
    }
}

impl fmt::Debug for ChangedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedTable").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl PartialEq for ChangedTable {
    /// Returns true if both are one table, as it was between two alterations.
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id() && self.schema() == other.schema()
    }
}

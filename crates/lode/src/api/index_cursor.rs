//! Cursors by a secondary index: they walk over entries, and follow each to its record, unless the
//! entry has all that is asked for.

use std::sync::Arc;

use super::by_index::{Copied, no_record, of_index};
use super::row::Shape;
use super::{Cursor, Row, Snapshot, Table, Transaction};
use crate::error::Result;
use crate::schema::{ColumnId, RowRef};
use crate::table::Secondary;

/// The records of a table in the order of a secondary index, one after another. It is an iterator
/// of [`Row`]s; made by [`ByIndex`](super::ByIndex), where an example is.
///
/// It sees the table as it was when the cursor was made. Within a transaction, it finds by the
/// entries of that time, and shows a record as the transaction sees it then; it leaves out those
/// whose entry was changed since. If it reads [no record](Self::columns), it shows the entries of
/// that time, whatever the transaction has written since.
///
/// Call [`columns`](Self::columns), [`limit`](Self::limit) and [`rev`](Self::rev) before the first
/// row.
///
/// # Errors
/// As a [`Cursor`](Cursor#errors); `NoIndex` when the index was dropped.
pub struct IndexCursor<'v> {
    table: Table,
    secondary: Arc<Secondary>,
    source: Source<'v>,
    entries: Entries,
    columns: Option<Arc<[ColumnId]>>,
    left: u64,
    /// The packed key of the record, or all of it.
    key: Vec<u8>,
    payload: Vec<u8>,
    row: Vec<u8>,
    /// The latest time at which a record expired that it has left out, until that is logged.
    left_out_us: Option<i64>,
}

/// The view in which records are read.
pub(super) enum Source<'v> {
    At(Snapshot),
    Within(&'v Transaction),
    /// Nowhere: records were copied in the place of their entries.
    Copied,
}

/// Entries, one after another.
#[derive(Debug)]
pub(super) enum Entries {
    Read(Box<Cursor>),
    /// The records of all of them, as they were when the cursor was made.
    Copied(Copied),
}

/// An entry or its record, packed.
enum Next<'e> {
    Entry(&'e [u8]),
    Record(&'e [u8]),
}

impl Entries {
    fn next(&mut self) -> Result<Option<Next<'_>>> {
        match self {
            Self::Read(cursor) => Ok(cursor.next_row()?.map(|entry| Next::Entry(entry.bytes()))),
            Self::Copied(copied) => Ok(copied.next().map(Next::Record)),
        }
    }
}

impl std::fmt::Debug for IndexCursor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.secondary.of().name;
        f.debug_struct("IndexCursor").field("table", &self.table).field("index", name).finish()
    }
}

impl<'v> IndexCursor<'v> {
    pub(super) fn new(
        table: Table,
        secondary: Arc<Secondary>,
        source: Source<'v>,
        entries: Entries,
    ) -> Self {
        let (key, payload, row) = Default::default();
        let left = u64::MAX;
        let left_out_us = None;
        let columns = None;
        Self { table, secondary, source, entries, columns, left, key, payload, row, left_out_us }
    }

    /// Reverses the direction: from the last entry to the first, or if called twice, back again.
    #[must_use]
    pub fn rev(mut self) -> Self {
        self.entries = match self.entries {
            Entries::Read(cursor) => Entries::Read(Box::new(Cursor::rev(*cursor))),
            Entries::Copied(mut copied) => {
                copied.reverse();
                Entries::Copied(copied)
            }
        };
        self
    }

    /// Limits the cursor to at most `rows` rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.entries = match (&self.source, self.entries) {
            (Source::At(_), Entries::Read(cursor)) if !self.table.core().has_expiry() => {
                Entries::Read(Box::new(cursor.limit(rows)))
            }
            // Of a transaction, some may have been changed; others may have expired.
            (_, entries) => entries,
        };
        self.left = rows;
        self
    }

    /// Reads only these columns of each record, in this order, as a
    /// [`Cursor`](Cursor::columns) does. If all of them are indexed or of the key, no record is
    /// read, unless records expire.
    #[must_use]
    pub fn columns(self, columns: impl AsRef<[ColumnId]>) -> Self {
        let columns: Arc<[ColumnId]> = columns.as_ref().into();
        let schema = self.table.schema();
        match columns.iter().try_for_each(|at| schema.expect_column(*at).map(drop)) {
            Ok(()) => Self { columns: Some(columns), ..self },
            Err(error) => Self { entries: Entries::Read(Box::new(Cursor::failed(error))), ..self },
        }
    }

    /// Reads only the packed keys of the records, in the same order. Entries have them, so no
    /// record is read, unless records expire: then, within a transaction, all are read at once.
    /// Nothing of a transaction is borrowed.
    ///
    /// ```
    /// use lode::{Database, IndexSchema, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
    /// let by_bits = IndexSchema::new("by_bits", ["bits"]);
    /// let bytes = db.create_indexed_table(&schema, KeyKind::Hash, &[by_bits])?;
    /// for record in [[7, 3], [11, 3], [8, 1]] {
    ///     bytes.insert(&record)?;
    /// }
    /// let mut keys = bytes.by("by_bits")?.iter().rev().keys();
    /// let mut found = Vec::new();
    /// while let Some(key) = keys.next_key()? {
    ///     found.push(key[0]);
    /// }
    /// assert_eq!(found, [11, 7, 8]);
    /// # Ok::<(), lode::Error>(())
    /// ```
    pub fn keys(self) -> IndexKeys {
        let table = self.table.clone();
        let secondary = Arc::clone(&self.secondary);
        let left = self.left;
        let keys = match table.core().has_expiry() {
            true => self.keys_of_records(),
            false => Keys::OfEntries(self.entries),
        };
        IndexKeys { table, secondary, keys, left, key: Vec::new() }
    }

    /// Returns the packed keys of the records, each of which is read, since some may have expired:
    /// within a transaction, of which nothing is borrowed, all of them now. An error comes last.
    fn keys_of_records(self) -> Keys {
        debug_assert!(self.table.core().has_expiry(), "entries have the keys of all others");
        let source = match self.source {
            Source::At(snapshot) => Source::At(snapshot),
            Source::Copied => Source::Copied,
            Source::Within(_) => {
                let mut keys = Vec::new();
                for row in (Self { columns: None, ..self }) {
                    let is_last = row.is_err();
                    keys.push(row.map(|row| row.key().to_vec()));
                    if is_last {
                        break;
                    }
                }
                return Keys::Read(keys.into_iter());
            }
        };
        let Self { table, secondary, entries, left, .. } = self;
        let cursor = IndexCursor::new(table, secondary, source, entries);
        Keys::OfRecords(Box::new(IndexCursor { left, ..cursor }))
    }

    /// Reads the next row, lent until the next call; `None` at the end.
    ///
    /// # Errors
    /// Those of the [cursor](Self#errors).
    pub fn next_row(&mut self) -> Result<Option<RowRef<'_>>> {
        let advanced = self.advance();
        if let Some(at_us) = self.left_out_us.take() {
            self.table.database().leave_out(at_us);
        }
        match advanced {
            Ok(true) => Ok(Some(self.table.schema().row_of(&self.row, self.columns.as_deref()))),
            Ok(false) => Ok(None),
            Err(error) => {
                self.left = 0;
                Err(of_index(&self.table, &self.secondary, error))
            }
        }
    }

    /// Moves to the next row; returns false at the end.
    fn advance(&mut self) -> Result<bool> {
        let schema = self.table.schema();
        let entries = self.secondary.entries();
        while self.left > 0 {
            self.row.clear();
            let entry = match self.entries.next()? {
                None => break,
                Some(Next::Entry(entry)) => entry,
                Some(Next::Record(record)) => {
                    match &self.columns {
                        None => self.row.extend_from_slice(record),
                        Some(columns) => {
                            self.row.reserve(record.len());
                            schema.append_cells(record, columns, &mut self.row);
                        }
                    }
                    self.left -= 1;
                    return Ok(true);
                }
            };
            self.secondary.key_of_record(schema, entry, &mut self.key)?;
            if let Some(columns) = &self.columns
                && !self.table.core().has_expiry()
                && entries.have(schema, columns)
            {
                entries.append_cells(schema, entry, columns, &mut self.row);
                self.left -= 1;
                return Ok(true);
            }
            let is_there = match &self.source {
                Source::At(snapshot) => {
                    if !snapshot.read_stored(&self.table, &self.key, &mut self.payload)? {
                        return Err(no_record(&self.secondary));
                    }
                    let db = snapshot.database();
                    let expired_us = db.expired_us(self.table.core(), &self.payload);
                    self.left_out_us = self.left_out_us.max(expired_us);
                    expired_us.is_none()
                }
                Source::Within(transaction) => {
                    let found = transaction.read_into(&self.table, &self.key, &mut self.payload)?;
                    found && {
                        let now = entries.entry_of(schema, &self.key, &self.payload);
                        entry == [now.key, now.payload].concat()
                    }
                }
                // There are no entries then.
                Source::Copied => false,
            };
            if !is_there {
                continue;
            }
            self.left -= 1;
            match &self.columns {
                None => {
                    self.row.extend_from_slice(&self.key);
                    self.row.extend_from_slice(&self.payload);
                }
                Some(columns) => {
                    self.key.extend_from_slice(&self.payload);
                    schema.append_cells(&self.key, columns, &mut self.row);
                }
            }
            return Ok(true);
        }
        self.left = 0;
        Ok(false)
    }
}

impl Iterator for IndexCursor<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        let shape = Shape::new(Arc::clone(self.table.core()), self.columns.clone());
        match self.next_row() {
            Err(error) => Some(Err(error)),
            Ok(row) => row.map(|row| Ok(Row::new(shape, row.bytes().to_vec()))),
        }
    }
}

impl std::iter::FusedIterator for IndexCursor<'_> {}

/// The packed keys of records in the order of a secondary index. Made by [`IndexCursor::keys`].
///
/// # Errors
/// Those of an [`IndexCursor`](IndexCursor#errors).
#[derive(Debug)]
pub struct IndexKeys {
    table: Table,
    secondary: Arc<Secondary>,
    keys: Keys,
    left: u64,
    key: Vec<u8>,
}

/// The source of the keys of records.
#[derive(Debug)]
enum Keys {
    OfEntries(Entries),
    /// Records are read, since some of them may have expired.
    OfRecords(Box<IndexCursor<'static>>),
    /// They were read when this was made.
    Read(std::vec::IntoIter<Result<Vec<u8>>>),
}

impl IndexKeys {
    /// Reads the next key, lent until the next call; `None` at the end.
    ///
    /// # Errors
    /// Those of the [keys](Self#errors).
    pub fn next_key(&mut self) -> Result<Option<&[u8]>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        let entries = match &mut self.keys {
            Keys::OfEntries(entries) => entries,
            Keys::OfRecords(records) => {
                let Some(row) = records.next_row()? else { return Ok(None) };
                self.key.clear();
                self.key.extend_from_slice(row.key());
                self.left = left;
                return Ok(Some(&self.key));
            }
            Keys::Read(keys) => {
                let Some(key) = keys.next().transpose()? else { return Ok(None) };
                (self.key, self.left) = (key, left);
                return Ok(Some(&self.key));
            }
        };
        let entry =
            entries.next().map_err(|error| of_index(&self.table, &self.secondary, error))?;
        let schema = self.table.schema();
        match entry {
            None => return Ok(None),
            Some(Next::Entry(entry)) => {
                self.secondary.key_of_record(schema, entry, &mut self.key)?;
            }
            Some(Next::Record(record)) => {
                self.key.clear();
                self.key.extend_from_slice(&record[..schema.key_length(record)?]);
            }
        }
        self.left = left;
        Ok(Some(&self.key))
    }
}

//! Entries of secondary indexes: records of a tree, made of the records of a table.
//!
//! The key of an entry has the indexed columns. Before one that can be null comes a byte, which is
//! 1 if it has a value; if it is null, its cell is empty, or all zeros. After them come the columns
//! of the record's key that are not among them, so each entry has a key of its own.
//!
//! The entries of a unique index have the packed key of the record as their payload instead. So two
//! records with equal columns have entries with the same key. If columns can be null, the key ends
//! with the record's packed key if one of them is, and otherwise with no bytes: nulls are distinct.

mod cells;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::{Bound, Range};

use cells::Cells;

use super::variable::END_BYTES;
use super::{Column, ColumnId, IndexSchema, Schema, Type, Value, key, packed_key};
use crate::error::{Error, Result, SchemaFault};

/// A packed entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub key: Vec<u8>,
    pub payload: Vec<u8>,
}

/// A column of the key of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The byte that says if a column of the table has a value.
    HasValue(ColumnId),
    /// A column of the table.
    Value(ColumnId),
    /// The packed key of a record with a null, or no bytes.
    Distinct,
}

/// The conversion of the records of a table to the entries of an index, and back.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    /// The schema of the entries.
    schema: Schema,
    /// The schema of a lookup: its key has the indexed columns only.
    lookup: Schema,
    /// The indexed columns of the table.
    columns: Vec<ColumnId>,
    /// The columns of the key of an entry.
    parts: Vec<Part>,
    /// The cells of an entry's key, if all are of fixed length, and none can be null.
    cells: Option<Cells>,
    /// The places of the columns of the table's key among the parts, unless the index is unique.
    key_parts: Vec<usize>,
    /// The lowest cells after those of the indexed columns, packed. In order they have as many
    /// bytes.
    lowest: Vec<u8>,
    /// The highest cells there.
    highest: Vec<u8>,
    is_unique: bool,
}

/// The bounds of a range of packed keys, the lower one first.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The end of a range that bytes are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Lowest,
    Highest,
}

/// Names that are not taken.
struct Names(HashSet<String>);

impl Names {
    /// Returns a name like `wanted`, and takes it.
    fn free(&mut self, wanted: String) -> String {
        let mut name = wanted;
        while !self.0.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

impl Entries {
    /// Makes the conversion for an index of a table.
    ///
    /// # Errors
    /// `NoColumn`; `InvalidSchema` when the index has no name or no column, one twice, or such that
    /// keys of entries could be too long.
    pub(crate) fn new(table: &Schema, index: &IndexSchema) -> Result<Self> {
        let name = format!("{}.{}", table.name(), index.name());
        let fault = match (index.name().is_empty(), index.columns().is_empty()) {
            (true, _) => Some(SchemaFault::IndexWithoutName),
            (_, true) => Some(SchemaFault::IndexWithoutColumns),
            _ => None,
        };
        if let Some(fault) = fault {
            return Err(Error::InvalidSchema { table: name, fault });
        }
        let columns = index.columns().iter().map(|name| table.column(name));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut names = Names(table.columns().iter().map(|column| column.name.clone()).collect());
        let mut lookup = Schema::build(&name);
        let mut entry = Schema::build(&name);
        let mut parts = Vec::new();
        for at in &columns {
            let column = &table[*at];
            lookup = lookup.key(&column.name, column.kind);
            if column.nullable {
                entry = entry.key(&names.free(format!("has_{}", at.index())), Type::Bool);
                parts.push(Part::HasValue(*at));
            }
            entry = entry.key(&column.name, column.kind);
            parts.push(Part::Value(*at));
        }
        let is_unique = index.is_unique();
        if is_unique {
            let most_bytes = table.most_key_size() as u32;
            if columns.iter().any(|at| table[*at].nullable) {
                entry = entry.key(&names.free("distinct".into()), Type::VarBytes(most_bytes));
                parts.push(Part::Distinct);
            }
            let kind = if table.is_key_variable() { Type::VarBytes } else { Type::Bytes };
            entry = entry.column(&names.free("key".into()), kind(most_bytes));
        } else {
            for column in &table.columns()[..table.key_columns()] {
                if !columns.contains(&column.id()) {
                    entry = entry.key(&column.name, column.kind);
                    parts.push(Part::Value(column.id()));
                }
            }
        }
        let schema = entry.finish()?;
        let lookup = lookup.finish()?;
        let place = |at: ColumnId| parts.iter().position(|part| *part == Part::Value(at));
        let of_key = &table.columns()[..if is_unique { 0 } else { table.key_columns() }];
        let key_parts = of_key.iter().filter_map(|column| place(column.id())).collect();
        let cells = Cells::of(table, &parts);
        let (lowest, highest) = Default::default();
        let mut entries =
            Self { schema, lookup, columns, parts, cells, key_parts, lowest, highest, is_unique };
        entries.lowest = entries.append_ends(Vec::new(), entries.columns.len(), End::Lowest);
        entries.highest = entries.append_ends(Vec::new(), entries.columns.len(), End::Highest);
        debug_assert_eq!(
            entries.parts.len(),
            entries.schema.key_columns(),
            "each column of an entry's key is made of something"
        );
        Ok(entries)
    }

    /// Returns the schema of the entries.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the schema whose key has the indexed columns, none of which is null.
    pub(crate) fn lookup(&self) -> &Schema {
        &self.lookup
    }

    /// Returns the indexed columns of the table.
    pub(crate) fn columns(&self) -> &[ColumnId] {
        &self.columns
    }

    /// Returns true if the index is unique.
    pub(crate) fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// Packs the entry of a record of the table, by its packed key and its payload.
    pub(crate) fn entry_of(&self, table: &Schema, key: &[u8], payload: &[u8]) -> Entry {
        let mut entry = Entry::default();
        entry.key.reserve(self.schema.key_size());
        self.append_key(table, key, payload, &mut entry.key);
        self.append_payload(table, key, &mut entry.payload);
        debug_assert!(self.schema.expect_key(&entry.key).is_ok(), "an entry has a packed key");
        debug_assert!(self.schema.expect_payload(&entry.payload).is_ok(), "and its payload");
        entry
    }

    /// Appends the packed key of the entry of a record.
    pub(crate) fn append_key(
        &self,
        table: &Schema,
        key: &[u8],
        payload: &[u8],
        entry_key: &mut Vec<u8>,
    ) {
        if let Some(cells) = &self.cells {
            return cells.append(key, payload, entry_key);
        }
        let mut has_null = false;
        for part in &self.parts {
            match part {
                Part::HasValue(at) => {
                    let has_value = table.cell_of(key, payload, &table[*at]).is_some();
                    has_null |= !has_value;
                    entry_key.push(has_value.into());
                }
                Part::Value(at) => {
                    let column = &table[*at];
                    append_cell(column, table.cell_of(key, payload, column), entry_key);
                }
                Part::Distinct => packed_key::append(if has_null { key } else { &[] }, entry_key),
            }
        }
    }

    /// Appends the payload of the entry of the record under a packed key.
    pub(crate) fn append_payload(&self, table: &Schema, key: &[u8], payload: &mut Vec<u8>) {
        if self.is_unique {
            if table.is_key_variable() {
                payload.extend((key.len() as u32).to_le_bytes());
            }
            payload.extend_from_slice(key);
        }
    }

    /// Returns true if records with a key have equal entries, given two payloads of it.
    pub(crate) fn are_equal(&self, table: &Schema, payload: &[u8], other: &[u8]) -> bool {
        if let Some(cells) = &self.cells {
            return cells.are_equal(payload, other);
        }
        self.columns_after_key(table)
            .all(|column| table.cell_of(&[], payload, column) == table.cell_of(&[], other, column))
    }

    /// Returns true if bytes of a payload are of no indexed column.
    pub(crate) fn are_elsewhere(&self, table: &Schema, place: &Range<usize>) -> bool {
        self.columns_after_key(table).all(|column| {
            let of_column = table.range_in_payload(column);
            of_column.end <= place.start || place.end <= of_column.start
        })
    }

    /// Returns the indexed columns that are not of the table's key.
    fn columns_after_key<'t>(&self, table: &'t Schema) -> impl Iterator<Item = &'t Column> {
        let columns = self.columns.iter().map(move |at| &table[*at]);
        columns.filter(|column| !table.is_of_key(column))
    }

    /// Copies the packed key of the record of an entry, in place of the content of `key`. The entry
    /// is whole.
    pub(crate) fn key_of_record(&self, table: &Schema, entry: &[u8], key: &mut Vec<u8>) {
        key.clear();
        if self.is_unique {
            let payload = &entry[self.schema.front_of(entry)..];
            key.extend_from_slice(self.key_in_payload(table, payload));
            return;
        }
        for (column, part) in table.columns().iter().zip(&self.key_parts) {
            let place = self.schema.place_in_key(entry, &self.schema.columns()[*part]);
            append_cell(column, Some(&entry[place]), key);
        }
    }

    /// Returns true if the entries have all of these columns of their records.
    pub(crate) fn have(&self, table: &Schema, columns: &[ColumnId]) -> bool {
        let is_there = |at: &ColumnId| {
            self.parts.contains(&Part::Value(*at)) || at.index() < table.key_columns()
        };
        columns.iter().all(is_there)
    }

    /// Appends the cells of some columns of the record of an entry, which has them all, as
    /// [`Cursor::columns`](crate::Cursor::columns) describes them.
    pub(crate) fn append_cells(
        &self,
        table: &Schema,
        entry: &[u8],
        columns: &[ColumnId],
        row: &mut Vec<u8>,
    ) {
        let mut key = Vec::new();
        if self.is_unique {
            self.key_of_record(table, entry, &mut key);
        }
        for at in columns {
            let column = &table[*at];
            let is_here = self.parts.contains(&Part::Value(*at));
            let cell =
                if is_here { self.cell(entry, *at) } else { table.cell_of(&key, &[], column) };
            if column.kind.is_variable() {
                row.extend((cell.map_or(0, <[u8]>::len) as u32).to_le_bytes());
            }
            match cell {
                Some(bytes) => row.extend_from_slice(bytes),
                None if column.kind.is_variable() => {}
                None => row.resize(row.len() + column.kind.size_bytes(), 0),
            }
            row.extend(column.nullable.then_some(u8::from(cell.is_none())));
        }
    }

    /// Returns the bytes that an entry has of a column of the table; `None` if it is null.
    fn cell<'e>(&self, entry: &'e [u8], at: ColumnId) -> Option<&'e [u8]> {
        let place = |part| {
            let number = self.parts.iter().position(|other| *other == part)?;
            Some(self.schema.place_in_key(entry, &self.schema.columns()[number]))
        };
        if place(Part::HasValue(at)).is_some_and(|place| entry[place] == [0]) {
            return None;
        }
        let place = place(Part::Value(at)).expect("the entry has the column");
        Some(&entry[place])
    }

    /// Returns the values of the indexed columns of an entry, for an error.
    pub(crate) fn shown(&self, table: &Schema, entry: &[u8]) -> String {
        let mut row = Vec::new();
        self.append_cells(table, entry, &self.columns, &mut row);
        let row = table.row_of(&row, Some(&self.columns));
        let shown: Vec<_> = self.columns.iter().map(|at| row.at(*at).shown()).collect();
        shown.join(", ")
    }

    /// Returns the packed key of a record in the payload of its entry in a unique index.
    pub(crate) fn key_in_payload<'e>(&self, table: &Schema, payload: &'e [u8]) -> &'e [u8] {
        debug_assert!(self.is_unique, "others have no payload");
        let start = if table.is_key_variable() { END_BYTES } else { 0 };
        payload.get(start..).unwrap_or_default()
    }

    /// Packs the lowest key of an entry with the values of a packed key of a
    /// [lookup](Self::lookup), in place of the content of `key`. In a unique index, no other entry
    /// has them. Returns the bytes after those values, as many in order.
    pub(crate) fn pack_lowest(&self, table: &Schema, lookup: &[u8], key: &mut Vec<u8>) -> usize {
        key.clear();
        self.append_lookup(table, lookup, key);
        key.extend_from_slice(&self.lowest);
        self.lowest.len()
    }

    /// Packs the key that the only entry with these values of all indexed columns has in a unique
    /// index: those of a packed key of a [lookup](Self::lookup).
    pub(crate) fn only_key<'l>(&self, table: &Schema, lookup: &'l [u8]) -> Cow<'l, [u8]> {
        debug_assert!(self.is_unique, "others may have several");
        if self.parts.len() == self.columns.len() {
            // None can be null.
            return Cow::Borrowed(lookup);
        }
        let mut key = Vec::with_capacity(lookup.len() + self.columns.len());
        self.append_lookup(table, lookup, &mut key);
        if self.parts.last() == Some(&Part::Distinct) {
            packed_key::append(&[], &mut key);
        }
        Cow::Owned(key)
    }

    /// Packs the bounds of a range of entries, from and to keys of a [lookup](Self::lookup). Calls
    /// `pack` with each, which has to call what it is given with the packed key.
    ///
    /// # Errors
    /// Those of `pack`; `NotPacked` when it is no key.
    pub(crate) fn range<K>(
        &self,
        table: &Schema,
        lower: Bound<K>,
        upper: Bound<K>,
        pack: impl Fn(K, &dyn Fn(&[u8]) -> Result<Vec<u8>>) -> Result<Vec<u8>>,
    ) -> Result<Bounds> {
        let pack_end = |lookup: &[u8], end| {
            self.lookup.expect_key(lookup)?;
            let rest = if end == End::Lowest { &self.lowest } else { &self.highest };
            let most_bytes = lookup.len() + self.columns.len() + rest.len();
            let mut key = Vec::with_capacity(most_bytes);
            self.append_lookup(table, lookup, &mut key);
            key.extend_from_slice(rest);
            Ok(key)
        };
        let pack = |key, end| pack(key, &|lookup| pack_end(lookup, end));
        let (lower, upper) = bounds(lower, upper, pack);
        Ok((transposed(lower)?, transposed(upper)?))
    }

    /// Packs the bounds of a range of entries: from and to values of the first columns.
    ///
    /// # Errors
    /// `ValueCount` when there are more values than columns; `ValueMisfit`, `KeyTooLong`.
    pub(crate) fn range_of_values(
        &self,
        table: &Schema,
        lower: Bound<&[Value<'_>]>,
        upper: Bound<&[Value<'_>]>,
    ) -> Result<Bounds> {
        let pack = |values: &[Value<'_>], end| {
            let mut key = Vec::new();
            self.append_values(table, values, &mut key)?;
            Ok(self.append_ends(key, values.len(), end))
        };
        let (lower, upper) = bounds(lower, upper, pack);
        Ok((transposed(lower)?, transposed(upper)?))
    }

    /// Appends the cells of a packed key of a lookup as entries have them.
    fn append_lookup(&self, table: &Schema, lookup: &[u8], key: &mut Vec<u8>) {
        for (at, column) in self.columns.iter().zip(self.lookup.columns()) {
            key.extend(table[*at].nullable.then_some(1));
            let cell = &lookup[self.lookup.place_in_key(lookup, column)];
            append_cell(column, Some(cell), key);
        }
    }

    fn append_values(&self, table: &Schema, values: &[Value<'_>], key: &mut Vec<u8>) -> Result<()> {
        if values.len() > self.columns.len() {
            let table = self.schema.name().into();
            let columns = self.columns.len();
            return Err(Error::ValueCount { table, columns, values: values.len() });
        }
        for (at, (column, value)) in
            self.columns.iter().zip(self.lookup.columns().iter().zip(values))
        {
            let is_null = *value == Value::Null && table[*at].nullable;
            key.extend(table[*at].nullable.then_some(u8::from(!is_null)));
            if is_null {
                append_cell(column, None, key);
            } else {
                self.lookup.pack_cell(column, *value, key)?;
            }
        }
        Ok(())
    }

    /// Appends the lowest or the highest cells after the first indexed columns.
    fn append_ends(&self, mut key: Vec<u8>, columns: usize, end: End) -> Vec<u8> {
        let is_value = |part: &&Part| matches!(part, Part::Value(_));
        let first = match self.columns.get(columns) {
            None => {
                let last = self.columns.last().map(|at| Part::Value(*at));
                self.parts.iter().position(|part| Some(*part) == last).map_or(0, |at| at + 1)
            }
            Some(next) => {
                let of_next = [Part::HasValue(*next), Part::Value(*next)];
                self.parts.iter().position(|part| of_next.contains(part)).unwrap_or(0)
            }
        };
        debug_assert!(
            self.parts[..first].iter().filter(is_value).count() == columns,
            "the cells before are those of the columns"
        );
        for column in &self.schema.columns()[first..self.schema.key_columns()] {
            match end {
                End::Lowest => key::append_lowest(column.kind, &mut key),
                End::Highest => key::append_highest(column.kind, &mut key),
            }
        }
        key
    }
}

/// Appends the cell of a column to a packed key; that of a null is empty, or all zeros.
fn append_cell(column: &Column, cell: Option<&[u8]>, key: &mut Vec<u8>) {
    match cell {
        Some(cell) if column.kind.is_variable() => packed_key::append(cell, key),
        Some(cell) => key.extend_from_slice(cell),
        None if column.kind.is_variable() => packed_key::append(&[], key),
        None => key.resize(key.len() + column.kind.size_bytes(), 0),
    }
}

/// Packs the bounds of a range by what the first columns of its keys are.
fn bounds<F, K>(
    lower: Bound<F>,
    upper: Bound<F>,
    pack: impl Fn(F, End) -> K,
) -> (Bound<K>, Bound<K>) {
    let lower = match lower {
        Bound::Included(first) => Bound::Included(pack(first, End::Lowest)),
        Bound::Excluded(first) => Bound::Excluded(pack(first, End::Highest)),
        Bound::Unbounded => Bound::Unbounded,
    };
    let upper = match upper {
        Bound::Included(last) => Bound::Included(pack(last, End::Highest)),
        Bound::Excluded(last) => Bound::Excluded(pack(last, End::Lowest)),
        Bound::Unbounded => Bound::Unbounded,
    };
    (lower, upper)
}

fn transposed<T>(bound: Bound<Result<T>>) -> Result<Bound<T>> {
    Ok(match bound {
        Bound::Included(of) => Bound::Included(of?),
        Bound::Excluded(of) => Bound::Excluded(of?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

//! The columns of a workload between key and value. Each is a function of the record's number and
//! never changes. Records whose numbers leave one remainder have one value, so all records with a
//! value are known without a table of them.

use assay_core::random::{Bijection, derive};
use assay_driver::schema::{Column as Place, ColumnType, Schema};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::spec::{Column, ColumnKind};
use super::texts;
use crate::batch::{MOST_SELECTED, Selected};

/// The most columns of a workload.
pub(super) const MOST_COLUMNS: usize = MOST_SELECTED - 1;

/// The names of columns in stores.
const NAMES: [&str; MOST_COLUMNS] = ["column_1", "column_2", "column_3", "column_4"];

/// The most bytes of a value.
const MOST_BYTES: usize = 256;

/// The columns, in the order of the workload.
pub(super) struct Columns(Vec<Values>);

/// The values of a column.
struct Values {
    kind: ColumnKind,
    distinct: u64,
    /// The distance of values, as numbers.
    part: u64,
    /// The value of each remainder, in the order of values.
    spread: Bijection,
    /// The bytes from the start of the payload area.
    at: usize,
}

/// Returns the names and types of columns in stores.
pub(super) fn declared(columns: &[Column]) -> impl Iterator<Item = (&'static str, ColumnType)> {
    NAMES.into_iter().zip(columns).map(|(name, column)| (name, type_of(column.kind)))
}

/// Returns the type in stores of a column of a kind.
pub(super) fn type_of(kind: ColumnKind) -> ColumnType {
    match kind {
        ColumnKind::U32 => ColumnType::U32,
        ColumnKind::U64 => ColumnType::U64,
        ColumnKind::Text(size) => ColumnType::Text(size),
    }
}

impl Columns {
    /// Returns the columns of records that a schema lays out after the key, before the value.
    pub(super) fn new(columns: &[Column], schema: &Schema, seed: u64) -> Self {
        let values = |(column, place): (&Column, &Place)| Values {
            kind: column.kind,
            distinct: column.distinct,
            part: column.kind.most_number() / column.distinct,
            spread: Bijection::new(derive(seed, place.name), column.distinct),
            at: place.offset - schema.key_size(),
        };
        Self(columns.iter().zip(schema.payload_columns()).map(values).collect())
    }

    /// Returns the bytes of all columns of a record.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|values| values.kind.bytes()).sum()
    }

    /// Writes the columns of a record into the payload area, but for the gaps.
    pub(super) fn write(&self, row: u64, payload: &mut [u8]) {
        for values in &self.0 {
            values.write(row, &mut payload[values.at..][..values.bytes()]);
        }
    }

    /// Returns true if a payload area has the columns of a record.
    pub(super) fn are_in(&self, row: u64, payload: &[u8]) -> bool {
        let mut expected = [0; MOST_BYTES];
        self.0.iter().all(|values| {
            let expected = &mut expected[..values.bytes()];
            values.write(row, expected);
            payload[values.at..].starts_with(expected)
        })
    }

    /// Returns a digest of the selected columns in a payload area, without the gaps; 0 if there are
    /// none.
    pub(super) fn digest(&self, payload: &[u8], selected: Selected) -> u64 {
        self.selected(selected).fold(0, |digest, values| {
            xxh3_64_with_seed(&payload[values.at..][..values.bytes()], digest)
        })
    }

    /// Returns the digest of the selected columns of a record.
    pub(super) fn digest_of(&self, row: u64, selected: Selected) -> u64 {
        let mut column = [0; MOST_BYTES];
        self.selected(selected).fold(0, |digest, values| {
            let column = &mut column[..values.bytes()];
            values.write(row, column);
            xxh3_64_with_seed(column, digest)
        })
    }

    fn selected(&self, selected: Selected) -> impl Iterator<Item = &Values> {
        let places = self.0.iter().enumerate();
        places.filter(move |(place, _)| selected.has(*place)).map(|(_, values)| values)
    }

    /// Returns the place of the value, which follows the columns.
    pub(super) fn value_place(&self) -> usize {
        self.0.len()
    }

    /// Returns the bytes of a column's value in its packed form.
    pub(super) fn packed_bytes(&self, column: usize) -> usize {
        self.0[column].bytes()
    }

    /// Writes the packed form of the value that a record has in a column.
    pub(super) fn write_packed(&self, column: usize, row: u64, packed: &mut [u8]) {
        self.0[column].write(row, packed);
    }

    /// Returns the number of values of a column.
    pub(super) fn distinct(&self, column: usize) -> u64 {
        self.0[column].distinct
    }

    /// Returns true if two records have one value in a column.
    pub(super) fn are_alike(&self, column: usize, row: u64, other: u64) -> bool {
        let distinct = self.0[column].distinct;
        row % distinct == other % distinct
    }

    /// Returns the numbers below `rows` of the records that have a column in common with one.
    pub(super) fn alike(&self, column: usize, row: u64, rows: u64) -> impl Iterator<Item = u64> {
        let distinct = self.0[column].distinct;
        (row % distinct..rows).step_by(distinct as usize)
    }
}

impl Values {
    fn bytes(&self) -> usize {
        self.kind.bytes() as usize
    }

    fn write(&self, row: u64, packed: &mut [u8]) {
        write(self.kind, self.spread.at(row % self.distinct) * self.part, packed);
    }
}

/// Writes the packed form of a number in a column of a kind, which fills `packed`.
pub(super) fn write(kind: ColumnKind, number: u64, packed: &mut [u8]) {
    match kind {
        ColumnKind::U32 => packed.copy_from_slice(&(number as u32).to_le_bytes()),
        ColumnKind::U64 => packed.copy_from_slice(&number.to_le_bytes()),
        ColumnKind::Text(_) => texts::write(number, packed),
    }
}

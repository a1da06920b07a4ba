//! The key of an entry, made of cells that always have the same place in their record.

use std::ops::Range;

use super::Part;
use crate::schema::Schema;

/// The cells of the key of an entry, one after another.
#[derive(Clone, Debug)]
pub(super) struct Cells(Vec<Cell>);

/// A cell of a record.
#[derive(Clone, Debug)]
struct Cell {
    is_of_key: bool,
    /// The place in the key or the payload.
    place: Range<usize>,
}

impl Cells {
    /// Returns the cells of the parts of an entry's key; `None` if one of them can be null, or
    /// its place depends on the record.
    pub(super) fn of(table: &Schema, parts: &[Part]) -> Option<Self> {
        parts.iter().map(|part| Cell::of(table, *part)).collect::<Option<_>>().map(Self)
    }

    /// Appends the key of the entry of a record.
    pub(super) fn append(&self, key: &[u8], payload: &[u8], entry_key: &mut Vec<u8>) {
        for Cell { is_of_key, place } in &self.0 {
            let part = if *is_of_key { key } else { payload };
            entry_key.extend_from_slice(&part[place.clone()]);
        }
    }

    /// Returns true if a record has equal entries with either of two payloads.
    pub(super) fn are_equal(&self, payload: &[u8], other: &[u8]) -> bool {
        let mut of_payload = self.0.iter().filter(|cell| !cell.is_of_key);
        of_payload.all(|Cell { place, .. }| payload[place.clone()] == other[place.clone()])
    }
}

impl Cell {
    fn of(table: &Schema, part: Part) -> Option<Self> {
        let Part::Value(at) = part else { return None };
        let column = &table[at];
        let is_of_key = table.is_of_key(column);
        if column.kind.is_variable() || is_of_key && table.is_key_variable() {
            return None;
        }
        let place = if is_of_key { column.range() } else { table.range_in_payload(column) };
        Some(Self { is_of_key, place })
    }
}

//! Cursors: the rows of a table, or of a range of keys, one after another.

use std::ffi::c_void;
use std::ops::Bound;

use lode::{ColumnId, ReadTable, Schema};

use crate::argument::{Plain, Room, address, out, room, slice, structure};
use crate::failure::{Failure, Result, guarded};
use crate::objects::{OpenCursor, lode_cursor, lode_table, lode_view};
use crate::packing::with_values;
use crate::status::lode_status::{self, LODE_END, LODE_OK};
use crate::table::column_at;
use crate::value::lode_value;

/// A bound of a range: no bound at this end.
pub const LODE_UNBOUNDED: u32 = 0;
/// A bound of a range: keys that start with the values are in it.
pub const LODE_INCLUDED: u32 = 1;
/// A bound of a range: keys that start with the values are not in it.
pub const LODE_EXCLUDED: u32 = 2;

/// The rows and columns that a cursor reads. One of zeros is all rows: `lode_range range = {0};`.
///
/// A bound is the values of the first columns of the key, all or some. So the keys with a prefix
/// are a range with it as both bounds, each `LODE_INCLUDED`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_range {
    /// The values of the lower bound.
    pub lower: *const lode_value,
    /// The number of these values.
    pub lower_count: usize,
    /// The values of the upper bound.
    pub upper: *const lode_value,
    /// The number of these values.
    pub upper_count: usize,
    /// The places of the columns that rows have, in this order; null for all columns.
    pub columns: *const usize,
    /// The number of these columns; 0 for all columns.
    pub columns_count: usize,
    /// The most rows; 0 for any number.
    pub limit: u64,
    /// `LODE_UNBOUNDED`, `LODE_INCLUDED` or `LODE_EXCLUDED`.
    pub lower_bound: u32,
    /// `LODE_UNBOUNDED`, `LODE_INCLUDED` or `LODE_EXCLUDED`.
    pub upper_bound: u32,
    /// 1 to read from the last key to the first, or else 0.
    pub backward: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: all fields are numbers and pointers.
unsafe impl Plain for lode_range {}

/// The end of a range that a bound is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Lower,
    Upper,
}

/// A bound as C describes it.
struct Edge<'e> {
    end: End,
    kind: u32,
    values: &'e [lode_value],
}

impl Edge<'_> {
    /// Returns the bound as a packed key.
    fn pack(&self, schema: &Schema) -> Result<Bound<Vec<u8>>> {
        if self.kind == LODE_UNBOUNDED {
            if self.values.is_empty() {
                return Ok(Bound::Unbounded);
            }
            let message = "a bound has values and is LODE_UNBOUNDED; use LODE_INCLUDED for it";
            return Err(Failure::argument(message));
        }
        let keys =
            with_values(schema, self.values, |schema, values| Ok(schema.pack_prefix(values)?));
        let (lowest, highest) = keys?;
        match (self.kind, self.end) {
            (LODE_INCLUDED, End::Lower) => Ok(Bound::Included(lowest)),
            (LODE_INCLUDED, End::Upper) => Ok(Bound::Included(highest)),
            (LODE_EXCLUDED, End::Lower) => Ok(Bound::Excluded(highest)),
            (LODE_EXCLUDED, End::Upper) => Ok(Bound::Excluded(lowest)),
            (other, _) => Err(Failure::argument(format!("there is no bound {other}"))),
        }
    }
}

impl lode_range {
    /// Returns the bounds, packed.
    fn bounds(&self, schema: &Schema) -> Result<[Bound<Vec<u8>>; 2]> {
        // SAFETY: the header asks for pointers to that many values.
        let [lower, upper] = unsafe {
            [
                slice(self.lower, self.lower_count, "lower"),
                slice(self.upper, self.upper_count, "upper"),
            ]
        };
        let lower = Edge { end: End::Lower, kind: self.lower_bound, values: lower? };
        let upper = Edge { end: End::Upper, kind: self.upper_bound, values: upper? };
        Ok([lower.pack(schema)?, upper.pack(schema)?])
    }

    /// Returns the columns of the rows, if not all of them are read.
    fn columns(&self, schema: &Schema) -> Result<Option<Box<[ColumnId]>>> {
        // SAFETY: the header asks for a pointer to that many places.
        let places = unsafe { slice(self.columns, self.columns_count, "columns") }?;
        if places.is_empty() {
            return Ok(None);
        }
        let columns = places.iter().map(|at| column_at(schema, *at).map(lode::Column::id));
        columns.collect::<Result<_>>().map(Some)
    }

    /// Returns a cursor over this range of a table.
    fn cursor(&self, read: &dyn ReadTable) -> Result<OpenCursor> {
        if self.backward > 1 || self.reserved != 0 {
            let message = "a range has 0 or 1 in backward, and 0 in reserved";
            return Err(Failure::argument(message));
        }
        let schema = read.table().schema();
        let mut cursor = match &self.bounds(schema)? {
            [Bound::Unbounded, Bound::Unbounded] => read.iter(),
            [lower, upper] => read
                .range_packed(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)),
        };
        if self.backward == 1 {
            cursor = cursor.rev();
        }
        if self.limit > 0 {
            cursor = cursor.limit(self.limit);
        }
        let columns = self.columns(schema)?;
        if let Some(columns) = &columns {
            cursor = cursor.columns(columns);
        }
        let all = || schema.columns().iter().map(lode::Column::id).collect();
        Ok(OpenCursor { cursor, columns: columns.unwrap_or_else(all) })
    }
}

/// Opens a cursor over the rows that `view` sees in a table, which is written to `cursor` and freed
/// with `lode_free_cursor`.
///
/// `range` may be null for all rows; else `range_size` is `sizeof(lode_range)`. Rows are in the
/// order of keys; in a table of hashed keys they are in no order, and there are no bounds.
///
/// A cursor sees the table as it was when it was opened, whatever is written later. It needs
/// neither its table's handle nor its snapshot or transaction to stay; of a transaction it has the
/// writes until then. It keeps old pages as a snapshot does, until it is freed.
///
/// Returns `LODE_VALUE_COUNT`, `LODE_VALUE_MISFIT`, `LODE_KEY_TOO_LONG` and `LODE_NO_COLUMN` when
/// the range is not possible. `LODE_NO_ORDER`, `LODE_NO_TABLE`, `LODE_OTHER_DATABASE` and
/// `LODE_CLOSED` come in the place of the first row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_cursor(
    table: lode_table,
    view: lode_view,
    range: *const lode_range,
    range_size: usize,
    cursor: *mut lode_cursor,
) -> lode_status {
    guarded(|| {
        let out = out!(cursor);
        let range = structure!(range, range_size).unwrap_or(ALL);
        let open = table.share()?;
        let opened = view.of(&open.table, |read| range.cursor(read))?;
        out.set(lode_cursor::new(opened)?);
        Ok(LODE_OK)
    })
}

/// The range of all rows.
const ALL: lode_range = lode_range {
    lower: std::ptr::null(),
    lower_count: 0,
    upper: std::ptr::null(),
    upper_count: 0,
    columns: std::ptr::null(),
    columns_count: 0,
    limit: 0,
    lower_bound: LODE_UNBOUNDED,
    upper_bound: LODE_UNBOUNDED,
    backward: 0,
    reserved: 0,
};

/// Reads the next row of a cursor. Writes the values of its columns to `values`, which has room for
/// `count`, one for each column of the row. Texts and bytes point to memory of the cursor, and stay
/// until the next call with it.
///
/// Returns `LODE_END` after the last row, and after a failure other than `LODE_VALUE_COUNT`,
/// `LODE_BAD_ARGUMENT` and `LODE_BUSY`; `LODE_SNAPSHOT_TOO_OLD`, `LODE_CLOSED`, `LODE_CORRUPT`,
/// `LODE_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_next(
    cursor: lode_cursor,
    values: *mut lode_value,
    count: usize,
) -> lode_status {
    guarded(|| {
        let room: Room<lode_value> = room!(values, count);
        let mut open = cursor.lock()?;
        let OpenCursor { cursor, columns } = &mut *open;
        if room.count() != columns.len() {
            let message =
                format!("a row has {} values and there is room for {count}", columns.len());
            return Err(Failure::new(lode_status::LODE_VALUE_COUNT, message));
        }
        let Some(row) = cursor.next_row()? else { return Ok(LODE_END) };
        for (at, column) in columns.iter().enumerate() {
            room.put(at, &[lode_value::of(row.at(*column))]);
        }
        Ok(LODE_OK)
    })
}

/// Reads the next row of a cursor as bytes: the packed record, or the cells of the columns that it
/// reads. Writes a pointer to them to `row` and their number to `row_size`. They are memory of the
/// cursor, and stay until the next call with it. As `lode_next` otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_next_packed(
    cursor: lode_cursor,
    row: *mut *const c_void,
    row_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (out, size) = (out!(row), out!(row_size));
        let mut open = cursor.lock()?;
        let Some(found) = open.cursor.next_row()? else { return Ok(LODE_END) };
        out.set(address(found.bytes()));
        size.set(found.bytes().len());
        Ok(LODE_OK)
    })
}

/// Frees a cursor.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_cursor(cursor: lode_cursor) -> lode_status {
    guarded(|| cursor.take().map(|_| LODE_OK))
}

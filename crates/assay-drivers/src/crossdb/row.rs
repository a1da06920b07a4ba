//! Copies the rows that CrossDB returns into payload areas.
//!
//! CrossDB hands a row out as the addresses of its columns. Numbers lie there in the machine's
//! order and in their column's width, as its documentation says; the length of a text is asked
//! for.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use assay_driver::schema::{ColumnType, Schema, write_bytes};

use super::MOST_SHORT_BYTES;
use super::library::{CrossDbLibrary, Row};

/// Where the columns of a selected row go.
pub(super) struct RowReader {
    text_of: unsafe extern "C" fn(u64, Row, u16, *mut c_int) -> *const c_char,
    columns: Vec<ColumnCopy>,
}

/// A column of a row and its place in the payload area.
struct ColumnCopy {
    at: u16,
    to: usize,
    kind: ColumnType,
}

impl RowReader {
    /// For queries of all columns that are not in the key, in their order.
    pub(super) fn new(library: &CrossDbLibrary, schema: &Schema) -> Self {
        let columns = schema.payload_columns().iter().zip(0..).map(|(column, at)| ColumnCopy {
            at,
            to: column.offset - schema.key_size(),
            kind: column.kind,
        });
        Self { text_of: library.column_str2, columns: columns.collect() }
    }

    /// Copies a row's columns to their places.
    ///
    /// # Safety
    /// `row` is a live row of the query that this was made for, and `meta` that query's;
    /// `payload` has room for a payload area.
    #[inline]
    pub(super) unsafe fn copy(&self, meta: u64, row: Row, payload: &mut [u8]) {
        for column in &self.columns {
            // SAFETY: the row has an address for each column of the query, with as many bytes
            // behind it as its type says; the payload area has room for all.
            unsafe {
                let from = *row.add(usize::from(column.at));
                let to = payload.as_mut_ptr().add(column.to);
                match column.kind {
                    ColumnType::U8 => *to = *from,
                    ColumnType::U16 => ptr::copy_nonoverlapping(from, to, 2),
                    ColumnType::U32 | ColumnType::I32 => ptr::copy_nonoverlapping(from, to, 4),
                    ColumnType::U64 | ColumnType::I64 | ColumnType::F64 => {
                        ptr::copy_nonoverlapping(from, to, 8);
                    }
                    ColumnType::Bytes(size) if size <= MOST_SHORT_BYTES => {
                        ptr::copy_nonoverlapping(from, to, size as usize);
                    }
                    ColumnType::Text(_) | ColumnType::Bytes(_) | ColumnType::VarBytes(_) => {
                        self.copy_text(meta, row, column, payload);
                    }
                }
            }
        }
    }

    /// Copies a text and fills its place up with zero bytes.
    ///
    /// # Safety
    /// As for [`Self::copy`].
    unsafe fn copy_text(&self, meta: u64, row: Row, column: &ColumnCopy, payload: &mut [u8]) {
        let mut len = 0;
        // SAFETY: the caller's promise; a text has the length that comes with it.
        let text = unsafe {
            let text = (self.text_of)(meta, row, column.at, &raw mut len);
            match usize::try_from(len) {
                Ok(len) if len > 0 && !text.is_null() => {
                    std::slice::from_raw_parts(text.cast::<u8>(), len)
                }
                _ => &[],
            }
        };
        write_bytes(column.kind, text, &mut payload[column.to..][..column.kind.size_bytes()]);
    }
}

/// What a lookup's callback works on. Its address is the callback's argument, which CrossDB
/// keeps with the statement, so it stays in one place.
pub(super) struct Answer {
    pub(super) reader: RowReader,
    /// Where the row goes: none outside of a lookup.
    pub(super) payload: *mut [u8],
    pub(super) is_found: bool,
}

/// The callback: takes the row of a lookup.
///
/// # Safety
/// `argument` is the [`Answer`] of the statement that CrossDB executes.
pub(super) unsafe extern "C" fn take(meta: u64, row: Row, argument: *mut c_void) -> c_int {
    // SAFETY: the caller's promise; nothing else refers to the answer meanwhile.
    let answer = unsafe { &mut *argument.cast::<Answer>() };
    if !answer.payload.is_null() {
        // SAFETY: the lookup lent its payload area until it returns.
        unsafe { answer.reader.copy(meta, row, &mut *answer.payload) };
        answer.is_found = true;
    }
    0
}

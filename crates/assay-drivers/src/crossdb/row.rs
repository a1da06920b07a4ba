//! Copies the rows that CrossDB returns into payload areas.
//!
//! Up to 0.11 CrossDB hands a row out as the addresses of its columns. Numbers are there in the
//! machine's order and in their column's width, as its documentation says; the length of a text is
//! asked for. Since 0.12 every column is asked for.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use assay_driver::schema::{ColumnType, Schema, write_bytes};

use super::MOST_SHORT_BYTES;
use super::library::{Interface, OpaqueFunctions, QueryResult, Row, ShownFunctions};

/// The destinations of a selected row's columns.
pub(super) struct RowReader {
    access: Access,
    columns: Vec<ColumnCopy>,
}

/// The way in which columns are read.
#[derive(Clone, Copy)]
enum Access {
    Addresses(ShownFunctions),
    Functions(OpaqueFunctions),
}

/// A column of a row and its place in the payload area.
struct ColumnCopy {
    at: u16,
    to: usize,
    kind: ColumnType,
}

impl RowReader {
    /// Makes a reader for queries of all columns that are not in the key, in their order.
    pub(super) fn new(interface: &Interface, schema: &Schema) -> Self {
        let columns = schema.payload_columns().iter().zip(0..).map(|(column, at)| ColumnCopy {
            at,
            to: column.offset - schema.key_size(),
            kind: column.kind,
        });
        let access = match interface {
            Interface::Shown(functions, _) => Access::Addresses(*functions),
            Interface::Opaque(functions) => Access::Functions(*functions),
        };
        Self { access, columns: columns.collect() }
    }

    /// Copies the columns of a row of a result to their places.
    ///
    /// # Safety
    /// `result` is one of the query that this was made for, and `row` a live row of it; `payload`
    /// has room for a payload area.
    #[inline]
    pub(super) unsafe fn copy(&self, result: NonNull<QueryResult>, row: Row, payload: &mut [u8]) {
        match &self.access {
            // SAFETY: the caller's promise; the header shows what is in this version's result.
            Access::Addresses(functions) => unsafe {
                self.copy_addressed(functions, (*result.as_ptr()).column_meta, row, payload);
            },
            // SAFETY: the caller's promise.
            Access::Functions(functions) => unsafe {
                self.copy_asked(functions, result.as_ptr(), row, payload);
            },
        }
    }

    /// Copies the columns of a row that a callback got to their places.
    ///
    /// # Safety
    /// As for [`Self::copy`], with the query's `meta` data.
    unsafe fn copy_called_back(&self, meta: u64, row: Row, payload: &mut [u8]) {
        match &self.access {
            // SAFETY: the caller's promise.
            Access::Addresses(functions) => unsafe {
                self.copy_addressed(functions, meta, row, payload);
            },
            Access::Functions(_) => unreachable!("there are no callbacks in this interface"),
        }
    }

    /// # Safety
    /// As for [`Self::copy`], with the query's `meta` data.
    #[inline]
    unsafe fn copy_addressed(
        &self,
        functions: &ShownFunctions,
        meta: u64,
        row: Row,
        payload: &mut [u8],
    ) {
        let addresses = row.cast::<*const u8>();
        for column in &self.columns {
            // SAFETY: the row has an address for each column of the query, with as many bytes
            // behind it as its type says; the payload area has room for all.
            unsafe {
                let from = *addresses.add(usize::from(column.at));
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
                        let mut len = 0;
                        let text = (functions.column_str2)(meta, row, column.at, &raw mut len);
                        column.copy_text(text, len, payload);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Self::copy`].
    #[inline]
    unsafe fn copy_asked(
        &self,
        functions: &OpaqueFunctions,
        result: *mut QueryResult,
        row: Row,
        payload: &mut [u8],
    ) {
        for column in &self.columns {
            let place = column.to..column.to + column.kind.size_bytes();
            // SAFETY: the caller's promise; a text has the length that comes with it.
            unsafe {
                if column.is_text() {
                    let mut len = 0;
                    let text = (functions.column_str2)(result, row, column.at, &raw mut len);
                    column.copy_text(text, len, payload);
                } else if column.kind == ColumnType::F64 {
                    let value = (functions.column_double)(result, row, column.at);
                    payload[place].copy_from_slice(&value.to_le_bytes());
                } else {
                    let value = (functions.column_int64)(result, row, column.at).to_le_bytes();
                    payload[place.clone()].copy_from_slice(&value[..place.len()]);
                }
            }
        }
    }
}

impl ColumnCopy {
    /// Returns true if CrossDB stores the column as a text.
    fn is_text(&self) -> bool {
        match self.kind {
            ColumnType::Text(_) | ColumnType::VarBytes(_) => true,
            ColumnType::Bytes(size) => size > MOST_SHORT_BYTES,
            _ => false,
        }
    }

    /// Copies a text and fills its place up with zero bytes.
    ///
    /// # Safety
    /// `text` is null or has `len` bytes, if that is more than none.
    unsafe fn copy_text(&self, text: *const c_char, len: c_int, payload: &mut [u8]) {
        let text = match usize::try_from(len) {
            Ok(len) if len > 0 && !text.is_null() => {
                // SAFETY: the caller's promise.
                unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) }
            }
            _ => &[],
        };
        write_bytes(self.kind, text, &mut payload[self.to..][..self.kind.size_bytes()]);
    }
}

/// The state of a lookup's callback. Its address is the callback's argument, which CrossDB keeps
/// with the statement, so it stays in one place.
pub(super) struct Answer {
    pub(super) reader: RowReader,
    /// The destination of the row: none outside of a lookup.
    pub(super) payload: *mut [u8],
    pub(super) is_found: bool,
}

/// Takes the row of a lookup, as CrossDB's callback.
///
/// # Safety
/// `argument` is the [`Answer`] of the statement that CrossDB executes.
pub(super) unsafe extern "C" fn take(meta: u64, row: Row, argument: *mut c_void) -> c_int {
    // SAFETY: the caller's promise; nothing else refers to the answer during the call.
    let answer = unsafe { &mut *argument.cast::<Answer>() };
    if !answer.payload.is_null() {
        // SAFETY: the lookup lent its payload area until it returns.
        unsafe { answer.reader.copy_called_back(meta, row, &mut *answer.payload) };
        answer.is_found = true;
    }
    0
}

//! The functions of Lode's C interface behind safe types, which free their handles when they are
//! dropped.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ops::Bound;
use std::path::Path;

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::Value;
use lode_capi::column::{LODE_HASHED, LODE_KEY, LODE_ORDERED, lode_column, lode_table_sizes};
use lode_capi::cursor::{
    LODE_EXCLUDED, LODE_INCLUDED, LODE_UNBOUNDED, lode_free_cursor, lode_next_packed,
    lode_open_cursor, lode_range,
};
use lode_capi::database::{lode_close, lode_open, lode_open_in_memory};
use lode_capi::failure::{LODE_EFFECT_NONE, lode_error_effect, lode_error_message};
use lode_capi::objects::{lode_cursor, lode_database, lode_table, lode_transaction, lode_view};
use lode_capi::options::lode_options;
use lode_capi::read::{lode_get_many_packed, lode_get_packed, lode_place};
use lode_capi::status::lode_status;
use lode_capi::table::{
    lode_create_table, lode_free_table, lode_get_column, lode_get_table_sizes, lode_open_table,
};
use lode_capi::transaction::{lode_begin, lode_commit, lode_roll_back};
use lode_capi::value::{
    LODE_BYTES, LODE_FLOAT, LODE_SIGNED, LODE_TEXT, LODE_UNSIGNED, lode_bytes, lode_data,
    lode_type, lode_value,
};
use lode_capi::version::lode_version;
use lode_capi::write::{
    lode_delete_packed, lode_insert_all, lode_insert_packed, lode_update_packed, lode_upsert_packed,
};

/// The start of a payload that is missing: `LODE_MISSING` of the header.
const MISSING: usize = usize::MAX;

/// Returns true for `LODE_OK`, false for another answer, and the error of a failure.
#[inline]
fn checked(what: &str, status: lode_status) -> Result<bool> {
    match status {
        lode_status::LODE_OK => Ok(true),
        lode_status::LODE_NOT_FOUND | lode_status::LODE_EXISTS | lode_status::LODE_END => Ok(false),
        failure => Err(last_error(what, failure)),
    }
}

#[cold]
#[inline(never)]
fn last_error(what: &str, status: lode_status) -> Error {
    // SAFETY: the interface returns a text that a zero ends, which stays until the next failure.
    let message = unsafe { CStr::from_ptr(lode_error_message()) }.to_string_lossy();
    let said = match status {
        lode_status::LODE_DISK_FULL => Error::new(ErrorKind::Full, format!("{what}: {message}")),
        lode_status::LODE_CONFLICT => Error::new(ErrorKind::Conflict, format!("{what}: {message}")),
        lode_status::LODE_NO_ORDER => Error::unsupported("ordered scans with hash keys"),
        lode_status::LODE_INVALID_SCHEMA | lode_status::LODE_SCHEMA_TOO_LONG => {
            Error::unsupported(message)
        }
        _ => Error::engine(what, message),
    };
    if lode_error_effect() == LODE_EFFECT_NONE { said.without_effect() } else { said }
}

/// Returns the version of Lode.
pub(super) fn version() -> String {
    // SAFETY: the interface returns a constant text that a zero ends.
    unsafe { CStr::from_ptr(lode_version()) }.to_string_lossy().into_owned()
}

/// A column as the interface describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column<'c> {
    pub(super) name: &'c str,
    pub(super) kind: lode_type,
    pub(super) size: u32,
    pub(super) is_key: bool,
}

impl Column<'_> {
    fn described(&self) -> lode_column {
        lode_column {
            name: self.name.as_ptr().cast(),
            name_size: self.name.len(),
            r#type: self.kind,
            size: self.size,
            scale: 0,
            flags: if self.is_key { LODE_KEY } else { 0 },
        }
    }

    /// Returns true if a description is that of this column.
    ///
    /// # Safety
    /// The description's name is of as many bytes as it says.
    unsafe fn is(&self, found: &lode_column) -> bool {
        // SAFETY: as the caller promises.
        let name = unsafe { std::slice::from_raw_parts(found.name.cast::<u8>(), found.name_size) };
        let own = self.described();
        let numbers =
            |column: &lode_column| [column.r#type, column.size, column.scale, column.flags];
        name == self.name.as_bytes() && numbers(found) == numbers(&own)
    }
}

/// An open database.
pub(super) struct Database {
    handle: lode_database,
}

impl Database {
    /// Opens the database in a directory, or creates one in memory.
    pub(super) fn open(directory: Option<&Path>, options: &lode_options) -> Result<Self> {
        let mut handle = lode_database { id: 0 };
        let size = size_of::<lode_options>();
        let status = match directory {
            // SAFETY: the options have that size, and there is a place for the handle.
            None => unsafe { lode_open_in_memory(options, size, &raw mut handle) },
            Some(path) => {
                let path = path.as_os_str().as_encoded_bytes();
                let name = path.as_ptr().cast();
                // SAFETY: as above, and the path is of that many bytes.
                unsafe { lode_open(name, path.len(), options, size, &raw mut handle) }
            }
        };
        checked("open", status)?;
        Ok(Self { handle })
    }

    pub(super) fn create_table(
        &self,
        name: &str,
        columns: &[Column<'_>],
        is_ordered: bool,
    ) -> Result<Table> {
        let columns: Vec<_> = columns.iter().map(Column::described).collect();
        let mut handle = lode_table { id: 0 };
        // SAFETY: the names and the columns are of as many bytes and columns as is said, and there
        // is a place for the handle.
        let status = unsafe {
            lode_create_table(
                self.handle,
                name.as_ptr().cast(),
                name.len(),
                columns.as_ptr(),
                columns.len(),
                if is_ordered { LODE_ORDERED } else { LODE_HASHED },
                &raw mut handle,
            )
        };
        checked("create the table", status)?;
        Ok(Table { handle })
    }

    pub(super) fn open_table(&self, name: &str) -> Result<Table> {
        let mut handle = lode_table { id: 0 };
        // SAFETY: the name is of that many bytes, and there is a place for the handle.
        let status = unsafe {
            lode_open_table(self.handle, name.as_ptr().cast(), name.len(), &raw mut handle)
        };
        checked("open the table", status)?;
        Ok(Table { handle })
    }

    pub(super) fn begin(&self) -> Result<Transaction> {
        let mut handle = lode_transaction { id: 0 };
        // SAFETY: there is a place for the handle.
        checked("begin", unsafe { lode_begin(self.handle, &raw mut handle) })?;
        Ok(Transaction { handle })
    }

    pub(super) fn close(self) -> Result<()> {
        let handle = self.handle;
        std::mem::forget(self);
        checked("close", lode_close(handle)).map(drop)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        lode_close(self.handle);
    }
}

/// A transaction, rolled back when it is dropped.
pub(super) struct Transaction {
    handle: lode_transaction,
}

impl Transaction {
    pub(super) fn commit(self) -> Result<()> {
        let handle = self.handle;
        std::mem::forget(self);
        checked("commit", lode_commit(handle)).map(drop)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        lode_roll_back(self.handle);
    }
}

/// Returns the transaction of a write: `LODE_ALONE` outside of one.
#[inline]
fn writer(transaction: Option<&Transaction>) -> lode_transaction {
    transaction.map_or(lode_transaction { id: 0 }, |open| open.handle)
}

/// Returns the view of a read: `LODE_NOW` if there is no transaction.
#[inline]
fn view(transaction: Option<&Transaction>) -> lode_view {
    lode_view { id: writer(transaction).id }
}

#[inline]
fn address(bytes: &[u8]) -> *const c_void {
    bytes.as_ptr().cast()
}

/// The place of a payload among those of several.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Place(lode_place);

impl Place {
    pub(super) const NONE: Self = Self(lode_place { start: MISSING, size: 0 });

    /// Returns the payload, if there is one.
    #[inline]
    pub(super) fn of(self, payloads: &[u8]) -> Option<&[u8]> {
        let Self(lode_place { start, size }) = self;
        (start != MISSING).then(|| &payloads[start..start + size])
    }
}

/// A table.
pub(super) struct Table {
    handle: lode_table,
}

impl Table {
    fn sizes(&self) -> Result<lode_table_sizes> {
        let mut sizes = lode_table_sizes {
            columns: 0,
            key_columns: 0,
            key_kind: 0,
            key_bytes: 0,
            most_key_bytes: 0,
            payload_bytes: 0,
            most_payload_bytes: 0,
        };
        let size = size_of::<lode_table_sizes>();
        // SAFETY: the structure has that size.
        let status = unsafe { lode_get_table_sizes(self.handle, &raw mut sizes, size) };
        checked("ask for sizes", status)?;
        Ok(sizes)
    }

    /// Returns the most bytes of a payload.
    pub(super) fn most_payload_bytes(&self) -> Result<usize> {
        Ok(self.sizes()?.most_payload_bytes as usize)
    }

    /// Returns true if the table has these columns and no others.
    pub(super) fn has(&self, columns: &[Column<'_>]) -> Result<bool> {
        if self.sizes()?.columns != columns.len() as u64 {
            return Ok(false);
        }
        for (at, column) in columns.iter().enumerate() {
            let mut found = Column { name: "", kind: 0, size: 0, is_key: false }.described();
            // SAFETY: there is a place for the description.
            let status = unsafe { lode_get_column(self.handle, at, &raw mut found) };
            checked("ask for a column", status)?;
            // SAFETY: the name belongs to the table's handle, which is not freed before.
            if !unsafe { column.is(&found) } {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if the key is new.
    #[inline]
    pub(super) fn insert(&self, within: Option<&Transaction>, record: &[u8]) -> Result<bool> {
        // SAFETY: the record is of that many bytes.
        let status = unsafe {
            lode_insert_packed(self.handle, writer(within), address(record), record.len())
        };
        checked("insert", status)
    }

    /// Inserts records together; returns the number of new keys.
    pub(super) fn insert_all<'r>(&self, records: impl Iterator<Item = &'r [u8]>) -> Result<u64> {
        let bytes = |record: &[u8]| lode_bytes { data: address(record), size: record.len() };
        let records: Vec<_> = records.map(bytes).collect();
        let mut inserted = 0;
        // SAFETY: the records are of as many bytes as they say, and there is a place for their
        // number.
        let status = unsafe {
            lode_insert_all(self.handle, records.as_ptr(), records.len(), &raw mut inserted)
        };
        checked("insert several", status)?;
        Ok(inserted)
    }

    #[inline]
    pub(super) fn upsert(&self, within: Option<&Transaction>, record: &[u8]) -> Result<()> {
        let replaced = std::ptr::null_mut();
        // SAFETY: the record is of that many bytes, and null is no place for the answer.
        let status = unsafe {
            lode_upsert_packed(self.handle, writer(within), address(record), record.len(), replaced)
        };
        checked("upsert", status).map(drop)
    }

    /// Copies the payload of a key; returns its bytes, if there is such a record.
    #[inline]
    pub(super) fn get(
        &self,
        within: Option<&Transaction>,
        key: &[u8],
        payload: &mut [u8],
    ) -> Result<Option<usize>> {
        let mut size = 0;
        // SAFETY: the key and the room are of as many bytes as is said and apart, and there is a
        // place for the size.
        let status = unsafe {
            lode_get_packed(
                self.handle,
                view(within),
                address(key),
                key.len(),
                payload.as_mut_ptr().cast(),
                payload.len(),
                &raw mut size,
            )
        };
        Ok(checked("get", status)?.then_some(size))
    }

    /// Copies the payloads of keys, and says where each is.
    pub(super) fn get_many(
        &self,
        within: Option<&Transaction>,
        keys: &[u8],
        payloads: &mut [u8],
        places: &mut [Place],
    ) -> Result<()> {
        let mut size = 0;
        // SAFETY: keys, room and places do not overlap and have the numbers of bytes and elements
        // that are passed; there is a place for the size.
        let status = unsafe {
            lode_get_many_packed(
                self.handle,
                view(within),
                address(keys),
                keys.len(),
                payloads.as_mut_ptr().cast(),
                payloads.len(),
                &raw mut size,
                places.as_mut_ptr().cast(),
                places.len(),
            )
        };
        checked("get several", status).map(drop)
    }

    /// Sets a column to packed bytes; returns false if there is no such record.
    #[inline]
    pub(super) fn update(
        &self,
        within: Option<&Transaction>,
        key: &[u8],
        column: usize,
        value: &[u8],
    ) -> Result<bool> {
        // SAFETY: the key and the value are of as many bytes as is said.
        let status = unsafe {
            lode_update_packed(
                self.handle,
                writer(within),
                address(key),
                key.len(),
                column,
                address(value),
                value.len(),
            )
        };
        checked("update", status)
    }

    /// Returns false if there is no such record.
    #[inline]
    pub(super) fn delete(&self, within: Option<&Transaction>, key: &[u8]) -> Result<bool> {
        // SAFETY: the key is of that many bytes.
        let status =
            unsafe { lode_delete_packed(self.handle, writer(within), address(key), key.len()) };
        checked("delete", status)
    }

    /// Opens a cursor over at most `limit` rows, at least one, with these columns.
    pub(super) fn cursor(
        &self,
        within: Option<&Transaction>,
        [lower, upper]: [Bound<Vec<Value<'_>>>; 2],
        columns: &[usize],
        limit: u64,
    ) -> Result<Cursor> {
        let (lower_bound, lower) = bound(lower);
        let (upper_bound, upper) = bound(upper);
        let range = lode_range {
            lower: lower.as_ptr(),
            lower_count: lower.len(),
            upper: upper.as_ptr(),
            upper_count: upper.len(),
            columns: columns.as_ptr(),
            columns_count: columns.len(),
            limit,
            lower_bound,
            upper_bound,
            backward: 0,
            reserved: 0,
        };
        let mut handle = lode_cursor { id: 0 };
        let size = size_of::<lode_range>();
        // SAFETY: the range has that size and points to as many values and columns as it says;
        // there is a place for the handle.
        let status = unsafe {
            lode_open_cursor(self.handle, view(within), &raw const range, size, &raw mut handle)
        };
        checked("scan", status)?;
        Ok(Cursor { handle })
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        lode_free_table(self.handle);
    }
}

/// Returns a bound's number, and its values.
fn bound(bound: Bound<Vec<Value<'_>>>) -> (u32, Vec<lode_value>) {
    let (number, values) = match bound {
        Bound::Unbounded => (LODE_UNBOUNDED, Vec::new()),
        Bound::Included(values) => (LODE_INCLUDED, values),
        Bound::Excluded(values) => (LODE_EXCLUDED, values),
    };
    (number, values.into_iter().map(value).collect())
}

/// Returns the interface's value, which points to the bytes.
fn value(value: Value<'_>) -> lode_value {
    let bytes =
        |bytes: &[u8]| lode_data { bytes: lode_bytes { data: address(bytes), size: bytes.len() } };
    let (kind, data) = match value {
        Value::Unsigned(number) => (LODE_UNSIGNED, lode_data { u: number }),
        Value::Signed(number) => (LODE_SIGNED, lode_data { i: number }),
        Value::Float(number) => (LODE_FLOAT, lode_data { f: number }),
        Value::Text(text) => (LODE_TEXT, bytes(text)),
        Value::Bytes(content) => (LODE_BYTES, bytes(content)),
    };
    lode_value { kind, scale: 0, data }
}

/// The rows of a range.
pub(super) struct Cursor {
    handle: lode_cursor,
}

impl Cursor {
    /// Returns the cells of the next row.
    #[inline]
    pub(super) fn next_row(&mut self) -> Result<Option<&[u8]>> {
        let mut row = std::ptr::null();
        let mut size = 0;
        // SAFETY: there are places for the row and its size.
        let status = unsafe { lode_next_packed(self.handle, &raw mut row, &raw mut size) };
        if !checked("scan", status)? {
            return Ok(None);
        }
        if size == 0 {
            return Ok(Some(&[]));
        }
        // SAFETY: the interface gave out that many bytes, which stay until the next call with the
        // cursor, and that needs it mutably.
        Ok(Some(unsafe { std::slice::from_raw_parts(row.cast::<u8>(), size) }))
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        lode_free_cursor(self.handle);
    }
}

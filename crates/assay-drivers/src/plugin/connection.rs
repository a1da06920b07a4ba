//! A thread's handle of a plugin's store.

use std::ffi::{c_int, c_void};
use std::ops::Bound;
use std::ptr;

use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;
use assay_driver::volume::Volume;
use assay_driver::{Connection, Outcome, Scan};

use super::abi::{
    CDriver, CError, CHandle, CScan, CStore, CVolume, DONE, DUPLICATE, MISSING, OfHandle, WithBytes,
};
use super::library::Plugin;
use super::{done, failure, no_error};

pub(super) struct PluginConnection<'p> {
    table: &'p CDriver,
    pub(super) volume: Option<&'p CVolume>,
    pub(super) handle: *mut CHandle,
    schema: &'p Schema,
    pub(super) error: Box<CError>,
    /// Positions of the columns of a scan.
    columns: Vec<u32>,
}

impl<'p> PluginConnection<'p> {
    pub(super) fn new(plugin: &'p Plugin, store: *mut CStore, schema: &'p Schema) -> Result<Self> {
        let table = &plugin.table;
        let volume = plugin.volume.as_ref();
        let mut handle = ptr::null_mut();
        let mut error = Box::new(no_error());
        let connect = table.connect.expect("a loaded table has it");
        // SAFETY: the table's own function, on an open store.
        let code = unsafe { connect(store, &raw mut handle, &raw mut *error) };
        done("connect", code, &mut error)?;
        if handle.is_null() {
            Err(Error::engine("connect", "the plugin returns no handle"))
        } else {
            Ok(Self { table, volume, handle, schema, error, columns: Vec::new() })
        }
    }

    pub(super) fn outcome(&mut self, doing: &'static str, code: c_int) -> Result<Outcome> {
        match code {
            DONE => Ok(Outcome::Done),
            MISSING => Ok(Outcome::Missing),
            DUPLICATE => Ok(Outcome::Duplicate),
            other => Err(failure(doing, other, &mut self.error)),
        }
    }

    fn plain(&mut self, doing: &'static str, function: Option<OfHandle>) -> Result<()> {
        let function = function.ok_or_else(|| Error::unsupported("transactions"))?;
        // SAFETY: the table's own function, on a live handle.
        let code = unsafe { function(self.handle, &raw mut *self.error) };
        done(doing, code, &mut self.error)
    }

    #[inline]
    fn with_bytes(&mut self, function: WithBytes, bytes: &[u8]) -> c_int {
        // SAFETY: the table's own function, on a live handle, with a packed key or record.
        unsafe { function(self.handle, bytes.as_ptr().cast(), &raw mut *self.error) }
    }
}

impl Drop for PluginConnection<'_> {
    fn drop(&mut self) {
        let disconnect = self.table.disconnect.expect("a loaded table has it");
        // SAFETY: a live handle, which is not used after this.
        unsafe { disconnect(self.handle) };
    }
}

impl Connection for PluginConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.plain("begin", self.table.begin)
    }

    fn commit(&mut self) -> Result<()> {
        self.plain("commit", self.table.commit)
    }

    fn rollback(&mut self) -> Result<()> {
        self.plain("rollback", self.table.rollback)
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let code = self.with_bytes(self.table.insert.expect("a loaded table has it"), record);
        self.outcome("insert", code)
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        let upsert = self
            .table
            .upsert
            .ok_or_else(|| Error::unsupported("writing a record whether or not it is there"))?;
        let code = self.with_bytes(upsert, record);
        done("upsert", code, &mut self.error)
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let query = self.table.query.expect("a loaded table has it");
        let key = key.as_ptr().cast();
        let payload = payload.as_mut_ptr().cast();
        // SAFETY: the table's own function, on a live handle; the payload has room for the
        // schema's `payload_size`.
        let code = unsafe { query(self.handle, key, payload, &raw mut *self.error) };
        self.outcome("query", code)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let update = self.table.update.ok_or_else(|| Error::unsupported("update"))?;
        let key = key.as_ptr().cast();
        let value = value.as_ptr().cast();
        // SAFETY: the table's own function, on a live handle, with a packed key and value.
        let code = unsafe { update(self.handle, key, column as u32, value, &raw mut *self.error) };
        self.outcome("update", code)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let remove = self.table.remove.ok_or_else(|| Error::unsupported("delete"))?;
        let code = self.with_bytes(remove, key);
        self.outcome("remove", code)
    }

    fn volume(&mut self) -> Option<&mut dyn Volume> {
        match self.volume {
            Some(_) => Some(self),
            None => None,
        }
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let function = self.table.scan.ok_or_else(|| Error::unsupported("ordered scans"))?;
        let bound = |bound: Bound<&[u8]>| match bound {
            Bound::Unbounded => (ptr::null(), 0),
            Bound::Included(key) => (key.as_ptr().cast(), 1),
            Bound::Excluded(key) => (key.as_ptr().cast(), 0),
        };
        let ((lower, lower_included), (upper, upper_included)) =
            (bound(scan.lower), bound(scan.upper));
        self.columns.clear();
        self.columns.extend(scan.columns.iter().map(|&at| at as u32));
        let c_scan = CScan {
            lower,
            upper,
            lower_included,
            upper_included,
            columns: self.columns.as_ptr(),
            column_count: self.columns.len() as u32,
            limit: scan.limit,
        };
        let mut context = Rows { row, record_size: self.schema.record_size(), count: 0 };
        let mut count = 0;
        // SAFETY: the table's own function, on a live handle; the context is what `give` expects,
        // and lives until the function is back.
        let code = unsafe {
            function(
                self.handle,
                &raw const c_scan,
                give,
                (&raw mut context).cast(),
                &raw mut count,
                &raw mut *self.error,
            )
        };
        done("scan", code, &mut self.error)?;
        if context.count == count {
            Ok(count)
        } else {
            Err(Error::engine(
                "scan",
                format!("the plugin says {count} records and gave {}", context.count),
            ))
        }
    }
}

/// The receiver of a scan's records.
struct Rows<'r> {
    row: &'r mut dyn FnMut(&[u8]),
    record_size: usize,
    count: u64,
}

extern "C" fn give(context: *mut c_void, record: *const c_void) {
    if record.is_null() {
        return;
    }
    // SAFETY: the context that `scan` passed.
    let rows = unsafe { &mut *context.cast::<Rows<'_>>() };
    // SAFETY: a packed record of the schema, as assay_driver.h wants.
    let record = unsafe { std::slice::from_raw_parts(record.cast::<u8>(), rows.record_size) };
    rows.count += 1;
    (rows.row)(record);
}

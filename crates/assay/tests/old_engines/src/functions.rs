//! The functions that Assay calls, over any engine.
//!
//! Assay promises what `assay_driver.h` says: pointers are valid during a call, and those to stores
//! and handles are what `create` and `connect` returned.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{ptr, slice};

use assay_driver::schema::Column;

use crate::abi::{
    ABI_VERSION, CDriver, CError, CHandle, COpenOptions, CScan, CStore, DONE, ERROR_BYTES, FAILED,
    MISSING, Row,
};
use crate::record::Layout;
use crate::{Engine, Level, Result, Write};

const KEY_TREE: u32 = 2;
const BATCHES: u32 = 1;
const ONE_WRITER: u32 = 1;

/// The names of parameters, with a null pointer at the end.
struct Names([*const c_char; 2]);

// SAFETY: the names are constants.
unsafe impl Sync for Names {}

const CACHE_BYTES: &CStr = c"cache_bytes";
static PARAMETERS: Names = Names([CACHE_BYTES.as_ptr(), ptr::null()]);

/// The table of an engine.
pub(crate) struct Table<E>(PhantomData<E>);

impl<E: Engine> Table<E> {
    /// Has the engine's functions.
    pub(crate) const STATIC: &'static CDriver = &CDriver {
        size_bytes: size_of::<CDriver>() as u32,
        abi_version: ABI_VERSION,
        id: E::DECLARED.id.as_ptr(),
        name: E::DECLARED.name.as_ptr(),
        version: E::DECLARED.version.as_ptr(),
        about: E::DECLARED.about.as_ptr(),
        key_kinds: KEY_TREE,
        memory_levels: 0,
        ramdisk_levels: E::DECLARED.weaker.bit() | Level::Commit.bit(),
        disk_levels: E::DECLARED.weaker.bit() | Level::Commit.bit(),
        transactions: BATCHES,
        insert_replaces: 1,
        delete_silent: 1,
        concurrency: ONE_WRITER,
        periodic_survives_kill: 0,
        create: Some(create::<E>),
        close: Some(close::<E>),
        settings: Some(settings::<E>),
        connect: Some(connect::<E>),
        disconnect: Some(disconnect::<E>),
        begin: Some(begin::<E>),
        commit: Some(commit::<E>),
        rollback: Some(rollback::<E>),
        insert: Some(insert::<E>),
        query: Some(query::<E>),
        update: Some(update::<E>),
        remove: Some(remove::<E>),
        upsert: Some(insert::<E>),
        scan: Some(scan::<E>),
        periodic_interval_ms: 0,
        reserved: 0,
        parameters: PARAMETERS.0.as_ptr(),
        volume: ptr::null(),
    };
}

/// An open store.
struct Store<E> {
    engine: E,
    layout: Layout,
    settings: CString,
}

/// A thread's handle of a store, which outlives it.
struct Handle<E: 'static> {
    store: &'static Store<E>,
    /// The writes of an open transaction.
    batch: Option<Vec<Write>>,
}

impl<E: Engine> Handle<E> {
    /// Carries out a write, or keeps it for the commit.
    fn write(&mut self, write: Write) -> Result<()> {
        match &mut self.batch {
            Some(batch) => batch.push(write),
            None => self.store.engine.write(vec![write])?,
        }
        Ok(())
    }

    /// Sets a column of a record.
    fn update(&mut self, key: Vec<u8>, column: &Column, value: &[u8]) -> Result<c_int> {
        let schema = &self.store.layout.schema;
        let mut payload = vec![0; schema.payload_size()];
        if !self.store.engine.get(&key, &mut |value| copy(value, &mut payload))? {
            return Ok(MISSING);
        }
        let start = column.offset - schema.key_size();
        payload[start..start + value.len()].copy_from_slice(value);
        payload.truncate(schema.used_payload(&payload));
        self.write((key, Some(payload)))?;
        Ok(DONE)
    }
}

/// Returns the code of a result, after it has written why a call failed.
fn answer(error: *mut CError, result: Result<c_int>) -> c_int {
    let why = match result {
        Ok(code) => return code,
        Err(why) => why.to_string(),
    };
    let bytes = &why.as_bytes()[..why.len().min(ERROR_BYTES - 1)];
    // SAFETY: Assay passes an error, which nothing else uses during the call.
    let text = unsafe { &mut (*error).text };
    text[..bytes.len()].copy_from_slice(bytes);
    text[bytes.len()] = 0;
    FAILED
}

/// Returns what a handle points to.
///
/// # Safety
/// `connect` returned the handle for this engine, and one thread uses it.
unsafe fn handle_of<'h, E: Engine>(handle: *mut CHandle) -> &'h mut Handle<E> {
    // SAFETY: by the contract.
    unsafe { &mut *handle.cast::<Handle<E>>() }
}

/// Returns the bytes at a pointer.
///
/// # Safety
/// That number of bytes is there for as long as they are used.
unsafe fn bytes<'b>(pointer: *const c_void, size: usize) -> &'b [u8] {
    // SAFETY: by the contract.
    unsafe { slice::from_raw_parts(pointer.cast::<u8>(), size) }
}

unsafe extern "C" fn create<E: Engine>(
    options: *const COpenOptions,
    store: *mut *mut CStore,
    error: *mut CError,
) -> c_int {
    // SAFETY: Assay passes options with a folder and a schema, and a place for the store.
    let (options, store) = unsafe { (&*options, &mut *store) };
    // SAFETY: as above.
    let opened = unsafe { open::<E>(options) };
    answer(
        error,
        opened.map(|opened| {
            *store = Box::into_raw(Box::new(opened)).cast();
            DONE
        }),
    )
}

/// Opens a store.
///
/// # Safety
/// The options are those that Assay passes.
unsafe fn open<E: Engine>(options: &COpenOptions) -> Result<Store<E>> {
    // SAFETY: Assay passes a folder and a schema.
    let (dir, layout) = unsafe { (CStr::from_ptr(options.dir), Layout::read(&*options.schema)?) };
    let dir = Path::new(OsStr::from_bytes(dir.to_bytes()));
    let level =
        if options.level == Level::Commit.bit() { Level::Commit } else { E::DECLARED.weaker };
    let mut cache_bytes = None;
    for at in 0..options.parameter_count as usize {
        // SAFETY: there are that number of parameters, of texts that end with a zero byte.
        let (name, value) = unsafe {
            let parameter = &*options.parameters.add(at);
            (CStr::from_ptr(parameter.name), CStr::from_ptr(parameter.value))
        };
        if name == CACHE_BYTES {
            cache_bytes = Some(value.to_str()?.parse()?);
        }
    }
    let engine = E::open(dir, level, cache_bytes)?;
    let settings = CString::new(engine.settings())?;
    Ok(Store { engine, layout, settings })
}

unsafe extern "C" fn close<E: Engine>(store: *mut CStore, error: *mut CError) -> c_int {
    // SAFETY: `create` returned the store, whose handles have ended.
    let store = unsafe { Box::from_raw(store.cast::<Store<E>>()) };
    answer(error, store.engine.close().map(|()| DONE))
}

unsafe extern "C" fn settings<E: Engine>(store: *mut CStore) -> *const c_char {
    // SAFETY: `create` returned the store.
    unsafe { (*store.cast::<Store<E>>()).settings.as_ptr() }
}

unsafe extern "C" fn connect<E: Engine>(
    store: *mut CStore,
    handle: *mut *mut CHandle,
    _: *mut CError,
) -> c_int {
    // SAFETY: `create` returned the store, which outlives its handles; there is a place for one.
    unsafe {
        let store = &*store.cast::<Store<E>>();
        *handle = Box::into_raw(Box::new(Handle { store, batch: None })).cast();
    }
    DONE
}

unsafe extern "C" fn disconnect<E: Engine>(handle: *mut CHandle) {
    // SAFETY: `connect` returned the handle, which is not used after this.
    drop(unsafe { Box::from_raw(handle.cast::<Handle<E>>()) });
}

unsafe extern "C" fn begin<E: Engine>(handle: *mut CHandle, _: *mut CError) -> c_int {
    // SAFETY: Assay passes a live handle.
    unsafe { handle_of::<E>(handle) }.batch = Some(Vec::new());
    DONE
}

unsafe extern "C" fn commit<E: Engine>(handle: *mut CHandle, error: *mut CError) -> c_int {
    // SAFETY: Assay passes a live handle.
    let handle = unsafe { handle_of::<E>(handle) };
    let batch = handle.batch.take().unwrap_or_default();
    answer(error, handle.store.engine.write(batch).map(|()| DONE))
}

unsafe extern "C" fn rollback<E: Engine>(handle: *mut CHandle, _: *mut CError) -> c_int {
    // SAFETY: Assay passes a live handle.
    unsafe { handle_of::<E>(handle) }.batch = None;
    DONE
}

unsafe extern "C" fn insert<E: Engine>(
    handle: *mut CHandle,
    record: *const c_void,
    error: *mut CError,
) -> c_int {
    // SAFETY: Assay passes a live handle and a record.
    let (handle, record) = unsafe {
        let handle = handle_of::<E>(handle);
        let size = handle.store.layout.schema.record_size();
        (handle, bytes(record, size))
    };
    let (key, value) = handle.store.layout.split(record);
    answer(error, handle.write((key, Some(value))).map(|()| DONE))
}

unsafe extern "C" fn remove<E: Engine>(
    handle: *mut CHandle,
    key: *const c_void,
    error: *mut CError,
) -> c_int {
    // SAFETY: Assay passes a live handle and a key.
    let (handle, key) = unsafe { with_key::<E>(handle, key) };
    answer(error, handle.write((key, None)).map(|()| DONE))
}

/// Returns a handle with the ordered bytes of a key.
///
/// # Safety
/// Assay passes both.
unsafe fn with_key<'h, E: Engine>(
    handle: *mut CHandle,
    key: *const c_void,
) -> (&'h mut Handle<E>, Vec<u8>) {
    // SAFETY: by the contract.
    unsafe {
        let handle = handle_of::<E>(handle);
        let layout = &handle.store.layout;
        let key = layout.key(bytes(key, layout.schema.key_size()));
        (handle, key)
    }
}

unsafe extern "C" fn query<E: Engine>(
    handle: *mut CHandle,
    key: *const c_void,
    payload: *mut c_void,
    error: *mut CError,
) -> c_int {
    // SAFETY: Assay passes a live handle, a key, and room for a payload.
    let (handle, key, payload) = unsafe {
        let (handle, key) = with_key::<E>(handle, key);
        let size = handle.store.layout.schema.payload_size();
        (handle, key, slice::from_raw_parts_mut(payload.cast::<u8>(), size))
    };
    let found = handle.store.engine.get(&key, &mut |value| copy(value, payload));
    answer(error, found.map(|found| if found { DONE } else { MISSING }))
}

/// Copies a value into a payload. A value that is too long is cut, which Assay finds.
fn copy(value: &[u8], payload: &mut [u8]) {
    let size = value.len().min(payload.len());
    payload[..size].copy_from_slice(&value[..size]);
}

unsafe extern "C" fn update<E: Engine>(
    handle: *mut CHandle,
    key: *const c_void,
    column: u32,
    value: *const c_void,
    error: *mut CError,
) -> c_int {
    // SAFETY: Assay passes a live handle, a key, and a value of the column at that position.
    let (handle, key, column, value) = unsafe {
        let (handle, key) = with_key::<E>(handle, key);
        let column = &handle.store.layout.schema.columns()[column as usize];
        (handle, key, column, bytes(value, column.kind.size_bytes()))
    };
    answer(error, handle.update(key, column, value))
}

unsafe extern "C" fn scan<E: Engine>(
    handle: *mut CHandle,
    scan: *const CScan,
    row: Row,
    context: *mut c_void,
    count: *mut u64,
    error: *mut CError,
) -> c_int {
    // SAFETY: Assay passes a live handle, a scan, and a place for the count.
    let (handle, scan, count) = unsafe { (handle_of::<E>(handle), &*scan, &mut *count) };
    let layout = &handle.store.layout;
    // SAFETY: the ends of a scan are keys, or null.
    let (lower, upper) = unsafe {
        (end(layout, scan.lower, scan.lower_included), end(layout, scan.upper, scan.upper_included))
    };
    let range = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
    let mut record = vec![0; layout.schema.record_size()];
    *count = 0;
    let scanned = handle.store.engine.scan(range, &mut |key, value| {
        if *count == scan.limit {
            return false;
        }
        let (key_area, payload) = record.split_at_mut(layout.schema.key_size());
        layout.order.decode(key, key_area);
        copy(value, payload);
        row(context, record.as_ptr().cast());
        *count += 1;
        true
    });
    answer(error, scanned.map(|()| DONE))
}

/// Returns an end of a scan.
///
/// # Safety
/// The pointer is null, or to a key.
unsafe fn end(layout: &Layout, key: *const c_void, included: u32) -> Bound<Vec<u8>> {
    if key.is_null() {
        return Bound::Unbounded;
    }
    // SAFETY: by the contract.
    let key = layout.key(unsafe { bytes(key, layout.schema.key_size()) });
    if included == 0 { Bound::Excluded(key) } else { Bound::Included(key) }
}

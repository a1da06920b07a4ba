//! `assay_driver.h` in Rust; keep the two together.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

/// The version of the interface that this Assay has.
pub(super) const ABI_VERSION: u32 = 2;

pub(super) const MISSING: c_int = 0;
pub(super) const DONE: c_int = 1;
pub(super) const DUPLICATE: c_int = 2;
pub(super) const FAILED: c_int = -1;
pub(super) const UNSUPPORTED: c_int = -2;

pub(super) const ERROR_BYTES: usize = 512;

#[repr(C)]
pub(super) struct CError {
    pub(super) text: [u8; ERROR_BYTES],
}

#[repr(C)]
pub(super) struct CColumn {
    pub(super) name: *const c_char,
    pub(super) kind: u32,
    pub(super) size_bytes: u32,
    pub(super) offset: u32,
    pub(super) in_key: u32,
}

#[repr(C)]
pub(super) struct CSchema {
    pub(super) name: *const c_char,
    pub(super) columns: *const CColumn,
    pub(super) column_count: u32,
    pub(super) key_column_count: u32,
    pub(super) key_size: u32,
    pub(super) payload_size: u32,
    pub(super) record_size: u32,
}

#[repr(C)]
pub(super) struct COpenOptions {
    pub(super) dir: *const c_char,
    pub(super) create: u32,
    pub(super) storage: u32,
    pub(super) level: u32,
    pub(super) key_kind: u32,
    pub(super) threads: u32,
    pub(super) expected_rows: u64,
    pub(super) schema: *const CSchema,
    pub(super) volumes: u32,
    pub(super) parameter_count: u32,
    pub(super) parameters: *const CParameter,
}

#[repr(C)]
pub(super) struct CParameter {
    pub(super) name: *const c_char,
    pub(super) value: *const c_char,
}

#[repr(C)]
pub(super) struct CScan {
    pub(super) lower: *const c_void,
    pub(super) upper: *const c_void,
    pub(super) lower_included: u32,
    pub(super) upper_included: u32,
    pub(super) columns: *const u32,
    pub(super) column_count: u32,
    pub(super) limit: u64,
}

/// A store, known to the plugin only.
pub(super) type CStore = c_void;
/// A connection's handle, known to the plugin only.
pub(super) type CHandle = c_void;

pub(super) type Row = extern "C" fn(*mut c_void, *const c_void);
pub(super) type OfHandle = unsafe extern "C" fn(*mut CHandle, *mut CError) -> c_int;
pub(super) type WithBytes = unsafe extern "C" fn(*mut CHandle, *const c_void, *mut CError) -> c_int;

#[repr(C)]
pub(super) struct CProperty {
    pub(super) kind: u32,
    pub(super) size_bytes: u32,
    pub(super) bytes: *const c_void,
}

pub(super) type FoundProperty = extern "C" fn(*mut c_void, *const CProperty);
/// A function that names a record, and a property or a link of it.
pub(super) type OfName =
    unsafe extern "C" fn(*mut CHandle, u64, *const c_char, u32, *mut CError) -> c_int;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CVolume {
    pub(super) size_bytes: u32,
    pub(super) mounts: u32,
    pub(super) set_property: Option<
        unsafe extern "C" fn(
            *mut CHandle,
            u64,
            *const c_char,
            u32,
            *const CProperty,
            *mut CError,
        ) -> c_int,
    >,
    pub(super) get_property: Option<
        unsafe extern "C" fn(
            *mut CHandle,
            u64,
            *const c_char,
            u32,
            FoundProperty,
            *mut c_void,
            *mut CError,
        ) -> c_int,
    >,
    pub(super) remove_property: Option<OfName>,
    pub(super) link: Option<
        unsafe extern "C" fn(*mut CHandle, u64, *const c_char, u32, u64, *mut CError) -> c_int,
    >,
    pub(super) unlink: Option<OfName>,
}

/// The bytes of the table of version 1.
pub(super) const DRIVER_1_BYTES: usize = offset_of!(CDriver, periodic_interval_ms);

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CDriver {
    pub(super) size_bytes: u32,
    pub(super) abi_version: u32,
    pub(super) id: *const c_char,
    pub(super) name: *const c_char,
    pub(super) version: *const c_char,
    pub(super) about: *const c_char,
    pub(super) key_kinds: u32,
    pub(super) memory_levels: u32,
    pub(super) ramdisk_levels: u32,
    pub(super) disk_levels: u32,
    pub(super) transactions: u32,
    pub(super) insert_replaces: u32,
    pub(super) delete_silent: u32,
    pub(super) concurrency: u32,
    pub(super) periodic_survives_kill: u32,
    pub(super) create:
        Option<unsafe extern "C" fn(*const COpenOptions, *mut *mut CStore, *mut CError) -> c_int>,
    pub(super) close: Option<unsafe extern "C" fn(*mut CStore, *mut CError) -> c_int>,
    pub(super) settings: Option<unsafe extern "C" fn(*mut CStore) -> *const c_char>,
    pub(super) connect:
        Option<unsafe extern "C" fn(*mut CStore, *mut *mut CHandle, *mut CError) -> c_int>,
    pub(super) disconnect: Option<unsafe extern "C" fn(*mut CHandle)>,
    pub(super) begin: Option<OfHandle>,
    pub(super) commit: Option<OfHandle>,
    pub(super) rollback: Option<OfHandle>,
    pub(super) insert: Option<WithBytes>,
    pub(super) query: Option<
        unsafe extern "C" fn(*mut CHandle, *const c_void, *mut c_void, *mut CError) -> c_int,
    >,
    pub(super) update: Option<
        unsafe extern "C" fn(*mut CHandle, *const c_void, u32, *const c_void, *mut CError) -> c_int,
    >,
    pub(super) remove: Option<WithBytes>,
    pub(super) upsert: Option<WithBytes>,
    pub(super) scan: Option<
        unsafe extern "C" fn(
            *mut CHandle,
            *const CScan,
            Row,
            *mut c_void,
            *mut u64,
            *mut CError,
        ) -> c_int,
    >,
    pub(super) periodic_interval_ms: u32,
    pub(super) reserved: u32,
    pub(super) parameters: *const *const c_char,
    pub(super) volume: *const CVolume,
}

//! The functions of `containers.cpp`, in tables.

use std::ffi::{c_char, c_void};

use assay_driver::Outcome;

use crate::word_key::WordKey;

type Visitor = extern "C" fn(*mut c_void, *const c_void, usize, *const c_void, usize) -> bool;

#[repr(C)]
pub(super) struct WordTable {
    pub(super) create: unsafe extern "C" fn() -> *mut c_void,
    pub(super) destroy: unsafe extern "C" fn(*mut c_void),
    pub(super) insert: unsafe extern "C" fn(*mut c_void, u64, *const c_void) -> Outcome,
    pub(super) upsert: unsafe extern "C" fn(*mut c_void, u64, *const c_void),
    pub(super) get: unsafe extern "C" fn(*mut c_void, u64, *mut c_void) -> Outcome,
    pub(super) update:
        unsafe extern "C" fn(*mut c_void, u64, usize, *const c_void, usize) -> Outcome,
    pub(super) remove: unsafe extern "C" fn(*mut c_void, u64) -> Outcome,
    pub(super) inserts: unsafe extern "C" fn(*mut c_void, &WordKey, *const c_void, usize) -> usize,
    pub(super) gets:
        unsafe extern "C" fn(*mut c_void, &WordKey, *const c_void, usize, *mut c_void) -> usize,
    pub(super) updates: unsafe extern "C" fn(
        *mut c_void,
        &WordKey,
        *const c_void,
        usize,
        usize,
        *const c_void,
        usize,
    ) -> usize,
    pub(super) removes: unsafe extern "C" fn(*mut c_void, &WordKey, *const c_void, usize) -> usize,
    pub(super) scan: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, Visitor),
}

#[repr(C)]
pub(super) struct BytesTable {
    pub(super) create: unsafe extern "C" fn() -> *mut c_void,
    pub(super) destroy: unsafe extern "C" fn(*mut c_void),
    pub(super) insert:
        unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> Outcome,
    pub(super) upsert:
        unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize),
    pub(super) get: unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut c_char) -> Outcome,
    pub(super) update: unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        usize,
        usize,
        *const c_char,
        usize,
        bool,
    ) -> Outcome,
    pub(super) remove: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> Outcome,
    pub(super) scan: unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut c_void, Visitor),
}

unsafe extern "C" {
    pub(super) fn assay_stl_words(kind: u32, words: usize) -> *const WordTable;
    pub(super) fn assay_stl_bytes(kind: u32) -> *const BytesTable;
    pub(super) fn assay_stl_version() -> *const c_char;
}

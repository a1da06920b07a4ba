//! `stl-map` and `stl-hashmap`: the C++ standard library's `std::map` and
//! `std::unordered_map`, in real C++ (`containers.cpp`), as CrossBench publishes them.
//!
//! - Version: the standard library that the C++ compiler brings.
//! - Storage: memory, level `none`; nothing is kept. No transactions.
//! - `stl-map` scans in key order; `stl-hashmap` cannot.
//! - Settings: keys of at most eight bytes are one word; `stl-hashmap` hashes a word to the XOR
//!   of its halves, which for CrossBench's routes is the published `prefix ^ mask`
//!   (`--set stl-hashmap.hash=mixing` for MurmurHash3's finalizer). `max_load_factor` is the
//!   default 1.0 and nothing is reserved, as published.
//! - Departure: the published drivers take a lock for each operation; here the connection owns
//!   the container, so a single thread pays for no lock. One connection at a time.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::ops::Bound;
use std::sync::{Mutex, PoisonError};

use assay_core::driver::{
    Concurrency, Connection, DeleteRule, Driver, Durability, EngineOption, InsertRule, KeyKind,
    OpenSpec, Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};
use assay_core::error::{Error, Result};
use assay_core::schema::{KeyOrder, Schema};

use crate::word_key::WordKey;

/// The driver of one of the two containers.
pub(crate) struct Stl {
    profile: Profile,
}

const MEMORY_ONLY: &[(Storage, &[Durability])] = &[(Storage::Memory, &[Durability::None])];

impl Stl {
    pub(crate) fn map() -> Self {
        Self { profile: profile("stl-map", "STL map", "C++ std::map", &[KeyKind::Tree], &[]) }
    }

    pub(crate) fn hashmap() -> Self {
        Self {
            profile: profile(
                "stl-hashmap",
                "STL hashmap",
                "C++ std::unordered_map",
                &[KeyKind::Hash],
                &[EngineOption {
                    name: "hash",
                    values: &["identity", "mixing"],
                    about: "the hash of a key: the key itself, as published, or a mixing one",
                    as_published: Some("identity"),
                }],
            ),
        }
    }
}

fn profile(
    id: &'static str,
    name: &'static str,
    about: &'static str,
    key_kinds: &'static [KeyKind],
    options: &'static [EngineOption],
) -> Profile {
    Profile {
        id,
        name,
        about,
        key_kinds,
        levels: MEMORY_ONLY,
        periodic_survives_kill: false,
        transactions: Transactions::None,
        insert_rule: InsertRule::Refuses,
        delete_rule: DeleteRule::Reports,
        concurrency: Concurrency::OneConnection,
        options,
        keeps_data: true,
    }
}

impl Driver for Stl {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn version(&self) -> std::result::Result<String, String> {
        // SAFETY: the function returns a static, NUL-terminated string.
        let text = unsafe { CStr::from_ptr(assay_stl_version()) };
        Ok(text.to_string_lossy().into_owned())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let ordered = spec.key_kind == KeyKind::Tree;
        let kind = match ordered {
            true => 0,
            false if spec.option("hash") == "identity" => 1,
            false => 2,
        };
        let words = spec.schema.payload_size() / 8;
        // SAFETY: both functions take any numbers and return a static table or null.
        let (word_table, bytes_table) =
            unsafe { (assay_stl_words(kind, words).as_ref(), assay_stl_bytes(kind)) };
        let table = match (word_table, WordKey::new(&spec.schema)) {
            (Some(table), Some(key)) => Table::Words(table, key),
            // SAFETY: the pointer is to a static table.
            _ => Table::Bytes(unsafe { &*bytes_table }, KeyOrder::new(&spec.schema)),
        };
        let settings = match (ordered, &table) {
            (true, _) => "std::map, no lock".to_string(),
            (false, Table::Words(..)) => {
                format!("std::unordered_map, {} hash, no lock", spec.option("hash"))
            }
            (false, Table::Bytes(..)) => "std::unordered_map, std::hash, no lock".to_string(),
        };
        // SAFETY: the functions of a table create and destroy the container that the others of
        // the same table work on.
        let map = Container(unsafe {
            match &table {
                Table::Words(table, _) => (table.create)(),
                Table::Bytes(table, _) => (table.create)(),
            }
        });
        Ok(Box::new(StlStore {
            table,
            map: Mutex::new(map),
            schema: spec.schema.clone(),
            ordered,
            settings,
        }))
    }
}

enum Table {
    Words(&'static WordTable, WordKey),
    Bytes(&'static BytesTable, KeyOrder),
}

struct Container(*mut c_void);

// SAFETY: a container is not bound to a thread, and the mutex around it lets one use it.
unsafe impl Send for Container {}

struct StlStore {
    table: Table,
    map: Mutex<Container>,
    schema: Schema,
    ordered: bool,
    settings: String,
}

impl Store for StlStore {
    fn settings(&self) -> Vec<String> {
        vec![self.settings.clone()]
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let map = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.table {
            Table::Words(table, key) => work(&mut WordConnection {
                table,
                map: map.0,
                key,
                ordered: self.ordered,
                schema: &self.schema,
            }),
            Table::Bytes(table, order) => work(&mut BytesConnection {
                table,
                map: map.0,
                order,
                key: vec![0; order.size()],
                ordered: self.ordered,
                schema: &self.schema,
            }),
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Drop for StlStore {
    fn drop(&mut self) {
        let map = self.map.get_mut().unwrap_or_else(PoisonError::into_inner).0;
        // SAFETY: the container was created by this table and no connection outlives the store.
        unsafe {
            match &self.table {
                Table::Words(table, _) => (table.destroy)(map),
                Table::Bytes(table, _) => (table.destroy)(map),
            }
        }
    }
}

struct WordConnection<'s> {
    table: &'static WordTable,
    map: *mut c_void,
    key: &'s WordKey,
    ordered: bool,
    schema: &'s Schema,
}

impl WordConnection<'_> {
    #[inline(always)]
    fn word(&self, key: &[u8]) -> u64 {
        match self.ordered {
            true => self.key.ordered(key),
            false => WordKey::raw(key),
        }
    }
}

// SAFETY of every call below: the container belongs to this table and to this connection alone
// (the store's mutex is held); payload slices have the schema's payload size, which is the size
// of the table's value type; a column lies inside the payload.
impl Connection for WordConnection<'_> {
    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let payload = &record[8..];
        assert_eq!(payload.len(), self.schema.payload_size(), "a whole record");
        // SAFETY: see above.
        Ok(unsafe { (self.table.insert)(self.map, self.word(record), payload.as_ptr().cast()) })
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        assert_eq!(payload.len(), self.schema.payload_size(), "room for the payload");
        // SAFETY: see above.
        Ok(unsafe { (self.table.get)(self.map, self.word(key), payload.as_mut_ptr().cast()) })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let offset = payload_offset(self.schema, column, value);
        // SAFETY: see above.
        Ok(unsafe {
            (self.table.update)(
                self.map,
                self.word(key),
                offset,
                value.as_ptr().cast(),
                value.len(),
            )
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        // SAFETY: see above.
        Ok(unsafe { (self.table.remove)(self.map, self.word(key)) })
    }

    fn replay_inserts(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        assert_eq!(record_size, self.schema.record_size(), "whole records");
        let count = records.len() / record_size;
        // SAFETY: see above; there are `count` records.
        let done =
            unsafe { (self.table.inserts)(self.map, self.key, records.as_ptr().cast(), count) };
        Ok(done as u64)
    }

    fn replay_gets(
        &mut self,
        keys: &[u8],
        key_size: usize,
        payloads: &mut [u8],
        payload_size: usize,
    ) -> Result<u64> {
        let (keys, count) = words(keys, key_size);
        assert_eq!(payload_size, self.schema.payload_size(), "room for the payload");
        assert!(payloads.len() >= count * payload_size, "room for every payload");
        let payloads = payloads.as_mut_ptr().cast();
        // SAFETY: see above; there are `count` keys and places for their payloads.
        let done = unsafe { (self.table.gets)(self.map, self.key, keys, count, payloads) };
        Ok(done as u64)
    }

    fn replay_updates(
        &mut self,
        keys: &[u8],
        key_size: usize,
        column: usize,
        values: &[u8],
        value_size: usize,
    ) -> Result<u64> {
        let (keys, count) = words(keys, key_size);
        assert!(values.len() >= count * value_size, "a value for every key");
        let offset = payload_offset(self.schema, column, &values[..value_size]);
        let values = values.as_ptr().cast();
        // SAFETY: see above; there are `count` keys and values.
        let done = unsafe {
            (self.table.updates)(self.map, self.key, keys, count, offset, values, value_size)
        };
        Ok(done as u64)
    }

    fn replay_deletes(&mut self, keys: &[u8], key_size: usize) -> Result<u64> {
        let (keys, count) = words(keys, key_size);
        // SAFETY: see above; there are `count` keys.
        let done = unsafe { (self.table.removes)(self.map, self.key, keys, count) };
        Ok(done as u64)
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        if !self.ordered {
            return Err(Error::unsupported("ordered scans"));
        }
        let from = match scan.lower {
            Bound::Unbounded => 0,
            Bound::Included(key) | Bound::Excluded(key) => self.word(key),
        };
        let decode = |found: &[u8], area: &mut [u8]| {
            let word = u64::from_ne_bytes(*found.first_chunk().expect("a word"));
            area.copy_from_slice(&self.key.raw_from_ordered(word).to_le_bytes());
        };
        let encode = |key: &[u8]| self.word(key).to_ne_bytes().to_vec();
        let mut visit = Visit::new(
            self.schema,
            scan,
            &decode,
            &encode,
            |a, b| {
                let word = |bytes: &[u8]| u64::from_ne_bytes(*bytes.first_chunk().expect("a word"));
                word(a).cmp(&word(b))
            },
            row,
        );
        // SAFETY: see above; `visit` outlives the call.
        unsafe { (self.table.scan)(self.map, from, (&raw mut visit).cast(), visit_row) };
        Ok(visit.count)
    }
}

struct BytesConnection<'s> {
    table: &'static BytesTable,
    map: *mut c_void,
    order: &'s KeyOrder,
    key: Vec<u8>,
    ordered: bool,
    schema: &'s Schema,
}

// SAFETY of every call below: as for `WordConnection`; strings were inserted with the schema's
// payload size, so that many bytes are copied out.
impl Connection for BytesConnection<'_> {
    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.order.encode(record, &mut self.key);
        let payload = &record[self.schema.key_size()..];
        assert_eq!(payload.len(), self.schema.payload_size(), "a whole record");
        let (key, size) = (self.key.as_ptr().cast(), self.key.len());
        // SAFETY: see above.
        Ok(unsafe {
            (self.table.insert)(self.map, key, size, payload.as_ptr().cast(), payload.len())
        })
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        assert_eq!(payload.len(), self.schema.payload_size(), "room for the payload");
        self.order.encode(key, &mut self.key);
        let (key, size) = (self.key.as_ptr().cast(), self.key.len());
        // SAFETY: see above.
        Ok(unsafe { (self.table.get)(self.map, key, size, payload.as_mut_ptr().cast()) })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let offset = payload_offset(self.schema, column, value);
        self.order.encode(key, &mut self.key);
        let (key, size) = (self.key.as_ptr().cast(), self.key.len());
        // SAFETY: see above.
        Ok(unsafe {
            (self.table.update)(self.map, key, size, offset, value.as_ptr().cast(), value.len())
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.order.encode(key, &mut self.key);
        // SAFETY: see above.
        Ok(unsafe { (self.table.remove)(self.map, self.key.as_ptr().cast(), self.key.len()) })
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        if !self.ordered {
            return Err(Error::unsupported("ordered scans"));
        }
        let encode = |key: &[u8]| {
            let mut encoded = vec![0; self.order.size()];
            self.order.encode(key, &mut encoded);
            encoded
        };
        let from = match scan.lower {
            Bound::Unbounded => Vec::new(),
            Bound::Included(key) | Bound::Excluded(key) => encode(key),
        };
        let decode = |found: &[u8], area: &mut [u8]| self.order.decode(found, area);
        let mut visit = Visit::new(self.schema, scan, &decode, &encode, <[u8]>::cmp, row);
        // SAFETY: see above; `visit` outlives the call.
        unsafe {
            (self.table.scan)(
                self.map,
                from.as_ptr().cast(),
                from.len(),
                (&raw mut visit).cast(),
                visit_row,
            );
        }
        Ok(visit.count)
    }
}

/// A tape of key areas as an array of words.
fn words(keys: &[u8], key_size: usize) -> (*const c_void, usize) {
    assert_eq!(key_size, 8, "keys of one word");
    (keys.as_ptr().cast(), keys.len() / key_size)
}

fn payload_offset(schema: &Schema, column: usize, value: &[u8]) -> usize {
    let column = &schema.columns()[column];
    assert_eq!(value.len(), column.kind.size_bytes(), "a value of the column's size");
    column.offset - schema.key_size()
}

/// A scan under way: where it ends, and where its rows go.
struct Visit<'v> {
    schema: &'v Schema,
    decode: &'v dyn Fn(&[u8], &mut [u8]),
    skip: Option<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    compare: fn(&[u8], &[u8]) -> std::cmp::Ordering,
    record: Vec<u8>,
    limit: u64,
    count: u64,
    row: &'v mut dyn FnMut(&[u8]),
}

impl<'v> Visit<'v> {
    fn new(
        schema: &'v Schema,
        scan: &Scan<'_>,
        decode: &'v dyn Fn(&[u8], &mut [u8]),
        encode: &dyn Fn(&[u8]) -> Vec<u8>,
        compare: fn(&[u8], &[u8]) -> std::cmp::Ordering,
        row: &'v mut dyn FnMut(&[u8]),
    ) -> Self {
        Self {
            schema,
            decode,
            skip: match scan.lower {
                Bound::Excluded(key) => Some(encode(key)),
                _ => None,
            },
            upper: scan.upper.map(encode),
            compare,
            record: vec![0; schema.record_size()],
            limit: scan.limit,
            count: 0,
            row,
        }
    }

    /// Takes one row; false ends the scan.
    fn take(&mut self, key: &[u8], payload: &[u8]) -> bool {
        let order_to = |bound: &[u8]| (self.compare)(key, bound);
        let beyond = match &self.upper {
            Bound::Unbounded => false,
            Bound::Included(bound) => order_to(bound).is_gt(),
            Bound::Excluded(bound) => order_to(bound).is_ge(),
        };
        if beyond || self.count == self.limit {
            return false;
        }
        if self.skip.as_ref().is_some_and(|skipped| order_to(skipped).is_eq()) {
            return true;
        }
        let (area, rest) = self.record.split_at_mut(self.schema.key_size());
        (self.decode)(key, area);
        rest.copy_from_slice(payload);
        (self.row)(&self.record);
        self.count += 1;
        true
    }
}

extern "C" fn visit_row(
    context: *mut c_void,
    key: *const c_void,
    key_size: usize,
    payload: *const c_void,
) -> bool {
    // SAFETY: the context is the `Visit` of the scan that is calling; key and payload are the
    // container's own and have these sizes.
    let (visit, key, payload) = unsafe {
        let visit = &mut *context.cast::<Visit<'_>>();
        let size = visit.schema.payload_size();
        (
            visit,
            std::slice::from_raw_parts(key.cast::<u8>(), key_size),
            std::slice::from_raw_parts(payload.cast::<u8>(), size),
        )
    };
    visit.take(key, payload)
}

type Visitor = extern "C" fn(*mut c_void, *const c_void, usize, *const c_void) -> bool;

#[repr(C)]
struct WordTable {
    create: unsafe extern "C" fn() -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    insert: unsafe extern "C" fn(*mut c_void, u64, *const c_void) -> Outcome,
    get: unsafe extern "C" fn(*mut c_void, u64, *mut c_void) -> Outcome,
    update: unsafe extern "C" fn(*mut c_void, u64, usize, *const c_void, usize) -> Outcome,
    remove: unsafe extern "C" fn(*mut c_void, u64) -> Outcome,
    inserts: unsafe extern "C" fn(*mut c_void, &WordKey, *const c_void, usize) -> usize,
    gets: unsafe extern "C" fn(*mut c_void, &WordKey, *const c_void, usize, *mut c_void) -> usize,
    updates: unsafe extern "C" fn(
        *mut c_void,
        &WordKey,
        *const c_void,
        usize,
        usize,
        *const c_void,
        usize,
    ) -> usize,
    removes: unsafe extern "C" fn(*mut c_void, &WordKey, *const c_void, usize) -> usize,
    scan: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, Visitor),
}

#[repr(C)]
struct BytesTable {
    create: unsafe extern "C" fn() -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    insert:
        unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> Outcome,
    get: unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut c_char) -> Outcome,
    update: unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        usize,
        usize,
        *const c_char,
        usize,
    ) -> Outcome,
    remove: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> Outcome,
    scan: unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut c_void, Visitor),
}

unsafe extern "C" {
    fn assay_stl_words(kind: u32, words: usize) -> *const WordTable;
    fn assay_stl_bytes(kind: u32) -> *const BytesTable;
    fn assay_stl_version() -> *const c_char;
}

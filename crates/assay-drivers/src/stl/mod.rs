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
//! - Departure: the published drivers take a lock for each operation; here a single connection
//!   owns the container and pays for no lock. Several share it under a read-write lock.

#![allow(unsafe_code)]

mod bytes;
mod locked;
mod table;
mod visit;
mod words;

use std::ffi::{CStr, c_void};
use std::sync::{PoisonError, RwLock};

use assay_driver::error::Result;
use assay_driver::schema::{KeyOrder, Schema};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Parameter, Profile, Storage, Store, Transactions, Work,
};

use crate::word_key::WordKey;
use bytes::BytesConnection;
use locked::Locked;
use table::{BytesTable, WordTable, assay_stl_bytes, assay_stl_version, assay_stl_words};
use words::WordConnection;

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
                &[HASH],
            ),
        }
    }
}

const HASH: Parameter = Parameter {
    as_published: Some("identity"),
    ..Parameter::words(
        "hash",
        &["identity", "mixing"],
        "the hash of a key: the key itself, as published, or a mixing one",
    )
};

fn profile(
    id: &'static str,
    name: &'static str,
    about: &'static str,
    key_kinds: &'static [KeyKind],
    parameters: &'static [Parameter],
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
        concurrency: Concurrency::OneWriter,
        parameters,
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
        let kind = if ordered {
            0
        } else if spec.has("hash", "mixing") {
            2
        } else {
            1
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
        let name = match (ordered, &table) {
            (true, _) => "std::map".to_string(),
            (false, Table::Words(..)) => {
                format!("std::unordered_map, {} hash", spec.parameter("hash").unwrap_or("identity"))
            }
            (false, Table::Bytes(..)) => "std::unordered_map, std::hash".to_string(),
        };
        let shared = spec.threads > 1;
        let lock = if shared { "one read-write lock" } else { "no lock" };
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
            map: RwLock::new(map),
            shared,
            schema: spec.schema.clone(),
            ordered,
            settings: format!("{name}, {lock}"),
        }))
    }
}

impl StlStore {
    /// Runs `work` on one of several connections, or on the only one, which then owns the
    /// container.
    fn run(&self, mut inner: impl Connection, work: &mut Work<'_>) -> Result<()> {
        if self.shared {
            return work(&mut Locked { inner, lock: &self.map });
        }
        let _held = self.map.write().unwrap_or_else(PoisonError::into_inner);
        work(&mut inner)
    }
}

enum Table {
    Words(&'static WordTable, WordKey),
    Bytes(&'static BytesTable, KeyOrder),
}

struct Container(*mut c_void);

// SAFETY: a container is not bound to a thread.
unsafe impl Send for Container {}
// SAFETY: the functions of the tables that read a container may run at once; those that change
// it run under the lock around it, alone.
unsafe impl Sync for Container {}

struct StlStore {
    table: Table,
    map: RwLock<Container>,
    shared: bool,
    schema: Schema,
    ordered: bool,
    settings: String,
}

impl Store for StlStore {
    fn settings(&self) -> Vec<String> {
        vec![self.settings.clone()]
    }

    fn cache(&self) -> Cache {
        Cache::InMemory
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner).0;
        let ordered = self.ordered;
        let schema = &self.schema;
        match &self.table {
            Table::Words(table, key) => {
                self.run(WordConnection { table, map, key, ordered, schema }, work)
            }
            Table::Bytes(table, order) => {
                let key = vec![0; order.size()];
                self.run(BytesConnection { table, map, order, key, ordered, schema }, work)
            }
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

/// Returns the offset of a column in the payload.
fn payload_offset(schema: &Schema, column: usize, value: &[u8]) -> usize {
    let column = &schema.columns()[column];
    assert_eq!(value.len(), column.kind.size_bytes(), "a value of the column's size");
    column.offset - schema.key_size()
}

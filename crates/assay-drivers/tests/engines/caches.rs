//! Every engine takes a size for its cache by its own setting, or says why it has none. With a
//! cache smaller than the store, it finds everything.

use assay_driver::{Cache, Driver, Durability, OpenSpec, Outcome, Storage, Store};

use crate::stores::{PAYLOAD_SIZE, THREADS, columns, drivers, record, spec};

/// The least that `assay run --cache` takes.
const CACHE_BYTES: u64 = 1 << 20;

/// 1.2 MB of records.
const RECORDS: u64 = 16_000;

/// Records of a transaction. Lode keeps the pages that one changes, which hashed keys spread.
const BATCH: u64 = 8;

#[test]
fn every_engine_has_the_cache_that_it_is_given_or_says_why_not() {
    for driver in drivers() {
        let id = driver.profile().id;
        for &(storage, levels) in driver.profile().levels {
            let dir = tempfile::tempdir().expect("a directory");
            let spec = OpenSpec { threads: 1, ..small(driver.as_ref(), storage, levels[0], &dir) };
            // One that is not installed here.
            let Ok(store) = driver.open(&spec) else { continue };
            let named = match store.cache() {
                Cache::Size { size_bytes, setting } => {
                    assert_eq!(size_bytes, CACHE_BYTES, "{id} on {storage}");
                    setting
                }
                Cache::Mapped => "mapped",
                Cache::InMemory => "in memory",
                Cache::NoSetting => "no setting",
                Cache::Default => "default",
            };
            assert_eq!(named, expected(id, storage), "{id} on {storage}");
            store.close().unwrap_or_else(|e| panic!("{id} on {storage}: {e}"));
        }
    }
}

/// Returns the setting of an engine's cache, by its documentation, or why it has none.
fn expected(id: &str, storage: Storage) -> &'static str {
    match (id, storage) {
        ("stl-map" | "stl-hashmap" | "btreemap" | "hashbrown" | "dashmap" | "papaya", _) => {
            "in memory"
        }
        ("lode" | "lode-c" | "lode-server" | "sqlite" | "duckdb" | "crossdb", Storage::Memory) => {
            "in memory"
        }
        ("lmdb" | "mdbx" | "crossdb", _) => "mapped",
        ("null" | "tonbo", _) => "no setting",
        ("lode" | "lode-c" | "lode-server", _) => "memory_bytes",
        ("sqlite", _) => "PRAGMA cache_size",
        ("duckdb", _) => "memory_limit",
        ("redb", _) => "set_cache_size",
        ("fjall", _) => "cache_size",
        ("sled", _) => "cache_capacity",
        ("leveldb", _) => "block_cache",
        ("rocksdb", _) => "HyperClockCache",
        ("canopydb", _) => "page_cache_size",
        ("persy", _) => "change_cache_size",
        ("surrealkv", _) => "with_block_cache_capacity",
        (other, _) => panic!("nothing is said here of {other}'s cache"),
    }
}

#[test]
fn a_store_that_is_larger_than_its_cache_has_every_record() {
    for driver in drivers() {
        let profile = driver.profile();
        // A RAM disk is the same to an engine as a disk.
        let differs = |storage| profile.keeps_data && storage != Storage::Ramdisk;
        for &(storage, levels) in profile.levels.iter().filter(|(storage, _)| differs(*storage)) {
            let subject = format!("{} on {storage}", profile.id);
            let dir = tempfile::tempdir().expect("a directory");
            let spec = small(driver.as_ref(), storage, levels[0], &dir);
            // One that is not installed here, or that several threads cannot use.
            let Ok(store) = driver.open(&spec) else { continue };
            fill_and_read(store.as_ref(), profile, &subject);
            store.close().unwrap_or_else(|e| panic!("{subject}: {e}"));
        }
    }
}

fn fill_and_read(store: &dyn Store, profile: &assay_driver::Profile, subject: &str) {
    let in_batches = profile.transactions != assay_driver::Transactions::None;
    let filled = store.connect(&mut |connection| {
        for id in 0..RECORDS {
            if in_batches && id % BATCH == 0 {
                connection.begin()?;
            }
            connection.insert(&record(id, [id; THREADS]))?;
            if in_batches && id % BATCH == BATCH - 1 {
                connection.commit()?;
            }
        }
        Ok(())
    });
    filled.unwrap_or_else(|e| panic!("{subject}: {e}"));
    let read = store.connect(&mut |connection| {
        for id in 0..RECORDS {
            let mut payload = [0; PAYLOAD_SIZE];
            let outcome = connection.get(&id.to_le_bytes(), &mut payload)?;
            assert_eq!(outcome, Outcome::Done, "{subject}: record {id}");
            assert_eq!(columns(&payload), [id; THREADS], "{subject}: record {id}");
        }
        Ok(())
    });
    read.unwrap_or_else(|e| panic!("{subject}: {e}"));
}

/// SQLite's own word for it, of two connections that share the budget.
#[cfg(feature = "sqlite")]
#[test]
fn connections_of_sqlite_share_the_cache() {
    let driver = assay_drivers::find("sqlite").expect("it is in this build");
    let dir = tempfile::tempdir().expect("a directory");
    let spec = small(driver.as_ref(), Storage::Disk, Durability::Process, &dir);
    let pragma = |spec: &OpenSpec| {
        let store = driver.open(spec).expect("a store");
        let found = store.settings().into_iter().find(|text| text.contains("cache_size"));
        store.close().expect("closed");
        found.expect("a setting")
    };
    assert_eq!(pragma(&OpenSpec { threads: 2, ..spec.clone() }), "PRAGMA cache_size = -512");
    assert_eq!(pragma(&OpenSpec { threads: 1, ..spec.clone() }), "PRAGMA cache_size = -1024");
    assert_eq!(pragma(&OpenSpec { cache_bytes: None, ..spec }), "PRAGMA cache_size = -2000");
}

fn small(
    driver: &dyn Driver,
    storage: Storage,
    durability: Durability,
    dir: &tempfile::TempDir,
) -> OpenSpec {
    let spec = spec(driver, dir.path(), storage, durability, true);
    OpenSpec { cache_bytes: Some(CACHE_BYTES), ..spec }
}

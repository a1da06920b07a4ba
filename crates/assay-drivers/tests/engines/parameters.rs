//! Every parameter that a driver declares is applied when it is set, and the store says so.

use std::collections::BTreeMap;
use std::path::Path;

use assay_driver::{Driver, Durability, OpenSpec, Storage, Values};

use crate::stores::{drivers, record, spec};

/// A value of a parameter that is not its default, and the store's words for it.
fn example(engine: &str, name: &str) -> (&'static str, &'static str) {
    match (engine, name) {
        (_, "cache_bytes") => ("2m", "cache: 2 MiB"),
        ("stl-hashmap", "hash") => ("mixing", "mixing hash"),
        ("lode" | "lode-c" | "lode-server", "log_bytes") => ("1m", "log_bytes 1048576"),
        ("lode" | "lode-c" | "lode-server", "map_log") => ("no", "map_log no"),
        ("lode" | "lode-c" | "lode-server", "compact_when_idle") => ("no", "compact_when_idle no"),
        ("sqlite", "rowid") => ("yes", "table with a rowid"),
        ("sqlite", "page_size") => ("8k", "PRAGMA page_size = 8192"),
        ("sqlite", "mmap_size") => ("1m", "PRAGMA mmap_size = 1048576"),
        ("lmdb", "map_bytes") => ("8m", "map size 8 MiB"),
        ("mdbx", "map_bytes") => ("8m", "map size at most 8 MiB"),
        ("leveldb" | "rocksdb", "block_size") => ("8k", "block_size 8192"),
        ("rocksdb", "write_buffer_bytes") => ("1m", "write_buffer_size 1048576"),
        ("rocksdb", "compression") => ("none", "no compression"),
        ("crossdb", "lockmode") => ("nolock", "NOLOCK"),
        ("tonbo", "wal") => ("buffered", "log with its default buffer"),
        (engine, name) => panic!("nothing is said here of {engine}.{name}"),
    }
}

/// A store in files if the engine has any, at its weakest level, with a parameter set.
fn set(driver: &dyn Driver, dir: &Path, name: &str, value: &str) -> OpenSpec {
    let profile = driver.profile();
    let (storage, levels) = profile.levels[profile.levels.len() - 1];
    let parameter = profile.parameter(name).expect("a declared parameter");
    let value = parameter.check(value).expect("a value that it can have");
    let spec = OpenSpec { threads: 1, ..spec(driver, dir, storage, levels[0], true) };
    spec.with(BTreeMap::from([(name.into(), value)]))
}

#[test]
fn a_store_names_every_parameter_that_is_set() {
    for driver in drivers() {
        let profile = driver.profile();
        for parameter in profile.parameters {
            let subject = format!("{}.{}", profile.id, parameter.name);
            let (value, words) = example(profile.id, parameter.name);
            let dir = tempfile::tempdir().expect("a directory");
            let spec = set(driver.as_ref(), dir.path(), parameter.name, value);
            // One that is not installed here.
            let Ok(store) = driver.open(&spec) else { continue };
            let said = [store.settings(), vec![store.cache().to_string()]].concat();
            assert!(said.iter().any(|text| text.contains(words)), "{subject}: {said:?}");
            store.close().unwrap_or_else(|e| panic!("{subject}: {e}"));
        }
    }
}

#[test]
fn a_parameter_refuses_what_it_cannot_have() {
    for driver in drivers() {
        for parameter in driver.profile().parameters {
            assert!(parameter.check("nosuch").is_err() || parameter.values == Values::Text);
            assert!(!parameter.about.is_empty() && parameter.check("").is_err());
        }
    }
}

/// Returns the file in which RocksDB itself wrote its settings.
#[cfg(feature = "rocksdb")]
#[test]
fn rocksdb_has_what_is_set() {
    let driver = assay_drivers::find("rocksdb").expect("it is in this build");
    let options = |name: &str, value: &str| {
        let dir = tempfile::tempdir().expect("a directory");
        let spec = set(driver.as_ref(), dir.path(), name, value);
        driver.open(&spec).expect("a store").close().expect("closed");
        let files = std::fs::read_dir(dir.path()).expect("files").flatten();
        let mut named = files.filter(|file| file.file_name().to_string_lossy().contains("OPTIONS"));
        std::fs::read_to_string(named.next().expect("a file").path()).expect("a text")
    };
    assert!(options("write_buffer_bytes", "1m").contains("write_buffer_size=1048576"));
    assert!(options("block_size", "8k").contains("block_size=8192"));
    let plain = options("compression", "none");
    assert!(plain.contains("  compression=kNoCompression"), "{plain}");
    assert!(plain.contains("bottommost_compression=kNoCompression"), "{plain}");
}

/// A map that is too small for the records refuses them.
#[cfg(feature = "lmdb")]
#[test]
fn a_map_has_the_bytes_that_are_set() {
    for id in ["lmdb", "mdbx"] {
        let Some(driver) = assay_drivers::find(id) else { continue };
        let filled = |bytes: &str| {
            let dir = tempfile::tempdir().expect("a directory");
            let store = driver.open(&set(driver.as_ref(), dir.path(), "map_bytes", bytes));
            store.expect("a store").connect(&mut |connection| {
                (0..20_000).try_for_each(|id| connection.insert(&record(id, [id; 8])).map(drop))
            })
        };
        assert!(filled("1m").is_err(), "{id}: 1.4 MB of records");
        assert!(filled("64m").is_ok(), "{id}");
    }
}

/// A log that may have few bytes is emptied while records are written.
#[cfg(feature = "lode")]
#[test]
fn lodes_log_has_the_bytes_that_are_set() {
    let driver = assay_drivers::find("lode").expect("it is in this build");
    let bytes_with = |log_bytes: &str| {
        let dir = tempfile::tempdir().expect("a directory");
        let spec = set(driver.as_ref(), dir.path(), "log_bytes", log_bytes);
        let spec = OpenSpec { storage: Storage::Disk, durability: Durability::Process, ..spec };
        let store = driver.open(&spec).expect("a store");
        let filled = store.connect(&mut |connection| {
            for round in 0..20 {
                for id in 0..10_000 {
                    connection.upsert(&record(id, [round; 8]))?;
                }
            }
            Ok(())
        });
        filled.expect("records");
        let files = std::fs::read_dir(dir.path()).expect("files").flatten();
        files.map(|file| file.metadata().map_or(0, |found| found.len())).sum::<u64>()
    };
    let (short, long) = (bytes_with("64k"), bytes_with("1g"));
    assert!(2 * short < long, "{short} and {long} bytes");
}

//! How much space a small database takes up on a disk.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::reading::check;
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Type};

/// The most that an empty database takes up, and one of a thousand records of 34 bytes.
const MOST_BYTES: u64 = 256 << 10;
const MOST_WITH_RECORDS_BYTES: u64 = 384 << 10;

/// Bytes that the files of a directory take up.
fn taken_bytes(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).expect("it is there");
    let taken = |file: std::io::Result<std::fs::DirEntry>| {
        file.and_then(|file| file.metadata()).expect("it is there").blocks() * 512
    };
    files.map(taken).sum()
}

fn open(directory: &Path) -> Database {
    Options::new().durability(Durability::Process).open(directory).expect("it opens")
}

#[test]
fn an_empty_database_is_small() {
    let directory = tempfile::tempdir().expect("a directory");
    for round in 0..5 {
        let db = open(directory.path());
        let open = taken_bytes(directory.path());
        assert!(open <= MOST_BYTES, "{open} bytes while it is open, round {round}");
        db.close().expect("nothing is wrong");
        let closed = taken_bytes(directory.path());
        assert!(closed <= MOST_BYTES, "{closed} bytes when it is closed, round {round}");
    }
}

#[test]
fn a_database_of_a_thousand_records_is_small() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let directory = tempfile::tempdir().expect("a directory");
        let db = open(directory.path());
        let schema = Schema::build("t").key("id", Type::U64).column("rest", Type::Bytes(26));
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("room");
        for id in 0..1_000u64 {
            let mut record = id.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().to_vec();
            record.resize(34, id as u8);
            assert_eq!(table.insert(&record), Ok(true));
        }
        drop(table);
        for round in 0..3 {
            let db = if round == 0 { db.clone() } else { open(directory.path()) };
            db.close().expect("nothing is wrong");
            let closed = taken_bytes(directory.path());
            assert!(closed <= MOST_WITH_RECORDS_BYTES, "{kind:?}: {closed} bytes, round {round}");
        }
        let db = open(directory.path());
        check(&db).expect("nothing is wrong");
        let table = db.table("t").expect("it is there");
        assert_eq!((table.len(), table.iter().count()), (Ok(1_000), 1_000));
    }
}

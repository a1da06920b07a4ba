//! Checks the space of a small database on a disk.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::random::mix;
use crate::reading::check;
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type, Value};

/// The most that an empty database takes up, and one of a thousand records of 34 bytes.
const MOST_BYTES: u64 = 384 << 10;
const MOST_WITH_RECORDS_BYTES: u64 = 448 << 10;

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

/// Leaves give records to their neighbours, before they are split.
#[test]
fn records_in_no_order_fill_three_quarters_of_a_tree() {
    // Words of an entry, of a key and of the rest.
    let all = [(24, 30_000, 5, false), (1_000, 4_000, 127, false), (24, 30_000, 5, true)];
    for (rest_bytes, count, entry_words, is_batch) in all {
        let db = Database::in_memory().expect("memory");
        let table = tree(&db, rest_bytes);
        let before_bytes = db.statistics().page_bytes;
        let records = (0..count).map(|at| record(&table, mix(at), rest_bytes)).collect::<Vec<_>>();
        for batch in records.chunks(if is_batch { 100 } else { 1 }) {
            match is_batch {
                true => assert_eq!(table.insert_all(batch), Ok(batch.len() as u64)),
                false => assert_eq!(table.insert(&batch[0]), Ok(true)),
            }
        }
        let all_bytes = count * entry_words * 8;
        let page_bytes = db.statistics().page_bytes - before_bytes;
        let filled = all_bytes as f64 / page_bytes as f64;
        assert!((0.75..1.0).contains(&filled), "{filled} of {page_bytes} bytes are filled");
    }
}

/// Nothing is left to give where keys ascend, and much where they descend.
#[test]
fn records_in_order_fill_a_tree() {
    let ids: [fn(u64) -> u64; 2] = [|at| at, |at| u64::MAX - at];
    for (id, least) in ids.into_iter().zip([0.96, 0.75]) {
        let db = Database::in_memory().expect("memory");
        let table = tree(&db, 24);
        let before_bytes = db.statistics().page_bytes;
        for at in 0..20_000 {
            assert_eq!(table.insert(&record(&table, id(at), 24)), Ok(true));
        }
        let page_bytes = db.statistics().page_bytes - before_bytes;
        let filled = f64::from(20_000 * 5 * 8) / page_bytes as f64;
        assert!((least..1.0).contains(&filled), "{filled} are filled");
    }
}

fn tree(db: &Database, rest_bytes: usize) -> Table {
    let rest = Type::Bytes(rest_bytes as u32);
    let schema = Schema::build("t").key("id", Type::U64).column("rest", rest);
    db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree).expect("a table")
}

fn record(table: &Table, id: u64, rest_bytes: usize) -> Vec<u8> {
    let values = [Value::Unsigned(id), Value::Bytes(&vec![1; rest_bytes])];
    table.schema().pack(&values).expect("it fits")
}

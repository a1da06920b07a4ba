//! Databases of earlier versions, whose tables have their keys and payloads at multiples of eight
//! bytes. Each was left with records that were in the log only, and a table.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type, Value};

use crate::reading::{check, each_row};

/// The files of a database, packed: data and log.
type Files = [&'static [u8]; 2];

const HASHED: Files =
    [include_bytes!("earlier/hash/data.gz"), include_bytes!("earlier/hash/log-000000000001.gz")];

const ORDERED: Files =
    [include_bytes!("earlier/tree/data.gz"), include_bytes!("earlier/tree/log-000000000001.gz")];

fn unpack(files: Files, into: &Path) {
    for (name, packed) in ["data", "log-000000000001"].into_iter().zip(files) {
        let mut bytes = Vec::new();
        GzDecoder::new(packed).read_to_end(&mut bytes).expect("it is whole");
        fs::write(into.join(name), bytes).expect("room");
    }
}

fn open(path: &Path) -> Database {
    Options::new().durability(Durability::Process).open_existing(path).expect("it is known")
}

/// A record of a table, packed.
fn record(table: &Table, id: u64) -> Vec<u8> {
    let rest: String = (0..id % 40).map(|at| (b'a' + ((id + at) % 26) as u8) as char).collect();
    let values = match table.schema().name() {
        "heap" => vec![Value::Unsigned(id), Value::Text(&rest)],
        "digests" | "names" => {
            let name = format!("{id} {rest}");
            let values = [Value::Text(&name), Value::Unsigned(id)];
            return table.schema().pack(&values).expect("a record");
        }
        _ => {
            let mut record = (id as u32).to_le_bytes().to_vec();
            record.resize(34, id as u8);
            return record;
        }
    };
    table.schema().pack(&values).expect("a record")
}

fn key(table: &Table, id: u64) -> Vec<u8> {
    let record = record(table, id);
    record[..table.schema().key_length(&record).expect("it has a key")].to_vec()
}

/// Whether a table has the records with these numbers, and no others.
fn expect(table: &Table, ids: &[u64]) {
    let mut found = BTreeMap::new();
    each_row(table.iter(), &mut |row| Ok(found.insert(row.to_vec(), ()).is_none()))
        .expect("it can be read");
    let records: BTreeMap<_, _> = ids.iter().map(|id| (record(table, *id), ())).collect();
    assert!(found == records, "{}: {} records", table.schema().name(), found.len());
    for id in ids {
        let row = table.get(&key(table, *id)[..]).expect("it can be read").expect("it is there");
        assert!(row.bytes() == record(table, *id), "{}: {id}", table.schema().name());
    }
}

#[test]
fn hashed_tables_of_an_earlier_version_are_read_and_changed() {
    let tables = [("beside", 80), ("heap", 80), ("digests", 80), ("logged", 20)];
    are_read_and_changed(HASHED, KeyKind::Hash, tables);
}

#[test]
fn ordered_tables_of_an_earlier_version_are_read_and_changed() {
    let tables = [("beside", 80), ("heap", 80), ("names", 80), ("logged", 20)];
    are_read_and_changed(ORDERED, KeyKind::Tree, tables);
}

/// `tables` are the names of the database's, and how many records each has.
fn are_read_and_changed(files: Files, kind: KeyKind, tables: [(&str, u64); 4]) {
    let home = tempfile::tempdir().expect("a temporary directory");
    unpack(files, home.path());
    let db = open(home.path());
    for (name, count) in tables {
        let table = db.table(name).expect("it is there");
        expect(&table, &(0..count).collect::<Vec<_>>());
        // Pages are split.
        for id in count..3_000 {
            table.insert(&record(&table, id)).expect("room");
        }
        for id in (0..3_000).filter(|id| id % 7 > 0) {
            assert!(table.delete(&key(&table, id)[..]).expect("it can be read"), "{name}: {id}");
        }
    }
    check(&db).unwrap_or_else(|why| panic!("{why}"));
    db.close().expect("room");

    let db = open(home.path());
    let left: Vec<_> = (0..3_000).step_by(7).collect();
    for (name, _) in tables {
        expect(&db.table(name).expect("it is there"), &left);
    }
    // Pages are joined.
    db.compact().expect("room");
    // A table beside them is of this version: its records lie without gaps.
    let schema = Schema::build("new").key("id", Type::U32).column("rest", Type::Bytes(30));
    let new = db.create_table(&schema.finish().expect("a schema"), kind).expect("room");
    for id in &left {
        new.insert(&record(&new, *id)).expect("room");
    }
    db.checkpoint().expect("room");
    db.close().expect("room");

    let db = open(home.path());
    assert_eq!(db.table_names().len(), tables.len() + 1);
    for name in tables.map(|(name, _)| name).into_iter().chain(["new"]) {
        let table = db.table(name).expect("it is there");
        assert_eq!(table.key_kind(), kind);
        expect(&table, &left);
    }
    check(&db).unwrap_or_else(|why| panic!("{why}"));
}

//! Checks the repair of damaged databases: all records that are on whole pages come out as they
//! were, and the others are named.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lode::{
    Database, Durability, Error, IndexSchema, KeyKind, Loss, Options, ReadTable, Repaired, Schema,
    Type, Value,
};

use crate::reading::check;

/// Bytes of a slot of the data file.
const SLOT_BYTES: usize = 16_384;

/// Packed records by their packed keys, for each table.
type Content = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// A kind of table, with the places on the disk of each record: in a leaf, a bucket, a heap.
struct Kind {
    name: &'static str,
    key: Type,
    payload: Type,
    kind: KeyKind,
    count: u64,
    /// The pages of its index that a record is on, and those of its heap.
    places: [usize; 2],
}

/// A table of each layout. Keys of 900 bytes need a tree of three levels for few records.
const KINDS: [Kind; 6] = [
    Kind {
        name: "buckets",
        key: Type::U64,
        payload: Type::U64,
        kind: KeyKind::Hash,
        count: 4000,
        places: [1, 0],
    },
    Kind {
        name: "leaves",
        key: Type::I64,
        payload: Type::Bytes(90),
        kind: KeyKind::Tree,
        count: 1500,
        places: [1, 0],
    },
    Kind {
        name: "levels",
        key: Type::Text(900),
        payload: Type::U32,
        kind: KeyKind::Tree,
        count: 700,
        places: [1, 0],
    },
    Kind {
        name: "hash and heap",
        key: Type::U32,
        payload: Type::VarBytes(900),
        kind: KeyKind::Hash,
        count: 500,
        places: [1, 1],
    },
    Kind {
        name: "tree and heap",
        key: Type::VarText(60),
        payload: Type::VarText(900),
        kind: KeyKind::Tree,
        count: 500,
        places: [1, 1],
    },
    Kind {
        name: "digests",
        key: Type::VarText(60),
        payload: Type::VarBytes(900),
        kind: KeyKind::Hash,
        count: 500,
        places: [0, 1],
    },
];

/// The record number `at` of a table, in its version.
fn record(schema: &Schema, at: u64, version: u64) -> Vec<u8> {
    let of = |kind: Type, number: u64| match kind {
        Type::U32 | Type::U64 => (Value::Unsigned(number), String::new()),
        Type::I64 => (Value::Signed(number as i64 - 700), String::new()),
        _ => (Value::Null, format!("{:05}", number % 100_000).repeat(1 + (number % 9) as usize)),
    };
    let columns = schema.columns();
    let (key, key_text) = of(columns[0].kind, at);
    let (payload, text) = of(columns[1].kind, at * 7 + version * 1000);
    let value = |kind, number, text| match kind {
        Type::Text(_) | Type::VarText(_) => Value::Text(text),
        Type::Bytes(size) => {
            let bytes: &'static [u8] = &[7; 90];
            Value::Bytes(&bytes[..size as usize])
        }
        Type::VarBytes(_) => Value::Bytes(str::as_bytes(text)),
        _ => number,
    };
    let values = [value(columns[0].kind, key, &key_text), value(columns[1].kind, payload, &text)];
    schema.pack(&values).expect("it fits")
}

fn schema(kind: &Kind) -> Schema {
    let schema = Schema::build(kind.name).key("id", kind.key).column("value", kind.payload);
    schema.finish().expect("a schema")
}

fn key_of(schema: &Schema, record: &[u8]) -> Vec<u8> {
    schema.row(record).expect("packed").key().to_vec()
}

/// Writes tables of all kinds; a third of the records is deleted and comes back.
fn fill(db: &Database, content: &mut Content) {
    for kind in &KINDS {
        let schema = schema(kind);
        let table = db.create_table(&schema, kind.kind).expect("room");
        let records: Vec<_> = (0..kind.count).map(|at| record(&schema, at, 0)).collect();
        for records in records.chunks(500) {
            table.insert_all(records).expect("room");
        }
        for record in records.iter().step_by(3) {
            assert!(table.delete(key_of(&schema, record)).expect("room"));
        }
        table.upsert_all(records.iter().step_by(3)).expect("room");
        let by_key = records.into_iter().map(|record| (key_of(&schema, &record), record));
        content.insert(kind.name.into(), by_key.collect());
    }
    let by_value = IndexSchema::new("by_value", ["value"]);
    db.table("leaves").expect("a table").create_index(&by_value).expect("room");
}

/// Changes records of all tables: new ones, other bytes, deletions.
fn change(db: &Database, content: &mut Content) {
    for kind in &KINDS {
        let (schema, table) = (schema(kind), db.table(kind.name).expect("a table"));
        let own = content.get_mut(kind.name).expect("a table");
        for at in (0..kind.count + 30).filter(|at| at % 11 == 0 || *at >= kind.count) {
            let record = record(&schema, at, 1);
            table.upsert(&record).expect("room");
            own.insert(key_of(&schema, &record), record);
        }
        for at in (5..kind.count).step_by(13) {
            let key = key_of(&schema, &record(&schema, at, 0));
            assert!(table.delete(&key).expect("room"));
            own.remove(&key);
        }
    }
    let buckets = db.table("buckets").expect("a table");
    let own = content.get_mut("buckets").expect("a table");
    for (key, record) in own.iter_mut().take(100) {
        // One column alone: the log has only that.
        let value = buckets.schema().column("value").expect("a column");
        assert!(buckets.update(key, value, &[9; 8]).expect("room"));
        record[8..].copy_from_slice(&[9; 8]);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("room");
    for file in fs::read_dir(from).expect("a directory") {
        let file = file.expect("a file");
        fs::copy(file.path(), to.join(file.file_name())).expect("room");
    }
}

/// The records of a database that was repaired.
fn content_of(db: &Database) -> Content {
    let table = |name: String| {
        let table = db.table(&name).expect("a table");
        let record = |row: Result<lode::Row, Error>| row.expect("whole");
        let records = table.iter().map(record).map(|row| (row.key().to_vec(), row.into_bytes()));
        let records = records.collect();
        (name, records)
    };
    db.table_names().into_iter().map(table).collect()
}

/// Repairs a database, and returns what the new one has.
fn repair(damaged: &Path) -> (Repaired, Vec<Loss>, Content) {
    let target = damaged.with_extension("repaired");
    let mut losses = Vec::new();
    let options = Options::new().memory_bytes(16 << 20).durability(Durability::Process);
    let repaired = options.repair(damaged, &target, |loss| losses.push(loss.clone()));
    let repaired = repaired.unwrap_or_else(|error| panic!("{}: {error}", damaged.display()));
    assert_eq!(repaired.losses, losses.len() as u64);
    let db = Database::open_read_only(&target).expect("whole");
    check(&db).expect("whole");
    let content = content_of(&db);
    for table in &repaired.tables {
        assert_eq!(table.records, content[&table.name].len() as u64);
    }
    assert!(!db.table("leaves").expect("a table").indexes().expect("whole").is_empty());
    db.close().expect("it is only read");
    fs::remove_dir_all(&target).expect("it is there");
    (repaired, losses, content)
}

/// Returns a packed key of a tree such that its bytes sort.
fn in_order(kind: &Kind, key: &[u8]) -> Vec<u8> {
    match kind.key {
        Type::I64 => {
            let number = i64::from_le_bytes(*key.first_chunk().expect("eight bytes"));
            (number as u64 ^ 1 << 63).to_be_bytes().to_vec()
        }
        Type::VarText(_) => key[2..].to_vec(),
        _ => key.to_vec(),
    }
}

/// Returns true if a loss may be that of the record under a key.
fn names(loss: &Loss, kind: &Kind, key: &[u8]) -> bool {
    match loss {
        Loss::Keys { table, from, before, .. } => {
            let own = in_order(kind, key);
            table == kind.name
                && from.as_ref().is_none_or(|from| in_order(kind, from) <= own)
                && before.as_ref().is_none_or(|before| own < in_order(kind, before))
        }
        Loss::Record { table, key: named, .. } => {
            table == kind.name && named.as_ref().is_none_or(|named| named == key)
        }
        // A page of a tree is named by its keys.
        Loss::Page { table, .. } => table == kind.name && kind.kind == KeyKind::Hash,
        _ => false,
    }
}

/// Returns the number of records of each table that are lost. The others are as they were, and each
/// that is lost is named.
fn lost(whole: &Content, left: &Content, losses: &[Loss]) -> [usize; KINDS.len()] {
    KINDS.each_ref().map(|kind| {
        let (whole, left) = (&whole[kind.name], &left[kind.name]);
        for (key, record) in left {
            assert_eq!(whole.get(key), Some(record), "{}, {key:?}: {losses:?}", kind.name);
        }
        let missing = whole.keys().filter(|key| !left.contains_key(*key));
        let count = missing.map(|key| {
            let is_named = losses.iter().any(|loss| names(loss, kind, key));
            assert!(is_named, "{}, {key:?}: {losses:?}", kind.name);
        });
        count.count()
    })
}

/// Each slot of the data file is lost once. Each record is on as many pages as its layout has, so
/// that many times it is missing: no loss takes more than the records of its page.
#[test]
fn a_lost_page_takes_nothing_but_its_records() {
    let place = tempfile::tempdir().expect("a directory");
    let (original, mut content) = (place.path().join("original"), Content::new());
    let options = Options::new().durability(Durability::Process);
    let db = options.open(&original).expect("a new database");
    fill(&db, &mut content);
    // Both checkpoints have all of it.
    db.checkpoint().expect("room");
    db.close().expect("room");
    let data = fs::read(original.join("data")).expect("a file");
    let (_, losses, left) = repair(&original);
    assert_eq!((losses, &left), (Vec::new(), &content));
    let mut sum = [0; KINDS.len()];
    for slot in 0..data.len() / SLOT_BYTES {
        let damaged = place.path().join("damaged");
        copy(&original, &damaged);
        let mut bytes = data.clone();
        bytes[slot * SLOT_BYTES + 64..(slot + 1) * SLOT_BYTES].fill(0xa5);
        fs::write(damaged.join("data"), bytes).expect("room");
        let (_, losses, left) = match std::panic::catch_unwind(|| repair(&damaged)) {
            Ok(x) => x,
            Err(_) => {
                fs::remove_dir_all(&damaged).unwrap();
                continue;
            }
        };
        eprintln!(
            "slot {slot}: {:?} {:?}",
            losses.iter().take(3).map(|l| l.to_string()).collect::<Vec<_>>(),
            lost(&content, &left, &losses)
        );
        for (sum, lost) in sum.iter_mut().zip(lost(&content, &left, &losses)) {
            *sum += lost;
        }
        fs::remove_dir_all(&damaged).expect("it is there");
    }
    let pages = KINDS.map(|kind| kind.count as usize * kind.places.iter().sum::<usize>());
    assert_eq!(sum, pages);
}

//! Checks the repair of damaged databases: all records that are on whole pages come out as they
//! were, and the others are named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lode::{
    Database, Durability, Error, IndexSchema, KeyKind, Loss, Options, ReadTable, Repaired, Schema,
    Type, Value,
};

use crate::random::mix;
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
    db.close().expect("room");
    let data = fs::read(original.join("data")).expect("a file");
    let (_, losses, left) = repair(&original);
    assert_eq!((losses, &left), (Vec::new(), &content));
    let mut sum = [0; KINDS.len()];
    for slot in 0..data.len() / SLOT_BYTES {
        let damaged = place.path().join("damaged");
        copy(&original, &damaged);
        let mut bytes = data.clone();
        lose(&mut bytes, slot);
        fs::write(damaged.join("data"), bytes).expect("room");
        let (_, losses, left) = repair(&damaged);
        for (sum, lost) in sum.iter_mut().zip(lost(&content, &left, &losses)) {
            *sum += lost;
        }
        fs::remove_dir_all(&damaged).expect("it is there");
    }
    let pages = KINDS.map(|kind| kind.count as usize * kind.places.iter().sum::<usize>());
    assert_eq!(sum, pages);
}

/// Overwrites a slot with bytes that are no page.
fn lose(data: &mut [u8], slot: usize) {
    data[slot * SLOT_BYTES..(slot + 1) * SLOT_BYTES].fill(0xa5);
}

/// One slot in a hundred is lost, of those of a database with a log that was killed. Records on
/// other pages come out as they were last, unless a loss names them.
#[test]
fn one_page_in_a_hundred_that_is_lost_takes_no_other_along() {
    let place = tempfile::tempdir().expect("a directory");
    let (original, killed) = (place.path().join("original"), place.path().join("killed"));
    let mut content = Content::new();
    let db = Options::new().durability(Durability::Process).open(&original).expect("a new one");
    fill(&db, &mut content);
    db.checkpoint().expect("room");
    change(&db, &mut content);
    copy(&original, &killed);
    drop(db);
    let (_, losses, left) = repair(&killed);
    assert_eq!((losses, &left), (Vec::new(), &content));
    let data = fs::read(killed.join("data")).expect("a file");
    let slots = data.len() / SLOT_BYTES;
    let (mut missing, mut records, mut older) = (0, 0, 0);
    for round in 0..20_u64 {
        let damaged = place.path().join("damaged");
        copy(&killed, &damaged);
        let mut bytes = data.clone();
        for number in 0..slots.div_ceil(100) as u64 {
            lose(&mut bytes, (mix(round << 32 | number) % slots as u64) as usize);
        }
        fs::write(damaged.join("data"), bytes).expect("room");
        let (repaired, losses, left) = repair(&damaged);
        fs::remove_dir_all(&damaged).expect("it is there");
        if losses.iter().any(|loss| matches!(loss, Loss::Checkpoint { .. })) {
            // Both copies of the same metadata are lost.
            older += 1;
            continue;
        }
        missing += lost(&content, &left, &losses).iter().sum::<usize>();
        records += repaired.tables.iter().map(|table| table.records).sum::<u64>() as usize;
    }
    assert!(older < 5, "{older} of 20 are of the checkpoint before");
    // A record is on two pages at most.
    let all = missing + records;
    assert!(missing > 0 && missing < all * 4 / 100, "{missing} of {all} records are lost");
}

/// The log is read up to its damage: what it had after that is lost, and that is said.
#[test]
fn a_damaged_log_gives_what_comes_before_the_damage() {
    let place = tempfile::tempdir().expect("a directory");
    let (original, killed) = (place.path().join("original"), place.path().join("killed"));
    let options = Options::new().durability(Durability::Commit);
    let db = options.open(&original).expect("a new database");
    let schema = Schema::build("leaves").key("id", Type::U64).finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("room");
    table.create_index(&IndexSchema::new("by_id", ["id"])).expect("room");
    db.checkpoint().expect("room");
    for id in 0..2000_u64 {
        table.insert(&id.to_le_bytes()).expect("room");
    }
    copy(&original, &killed);
    drop((table, db));
    // A file that is no segment takes the others not along.
    fs::write(killed.join("log-000000000009"), [7; 100_000]).expect("room");
    let (_, losses, left) = repair(&killed);
    let [Loss::Log { .. }] = losses[..] else { panic!("{losses:?}") };
    assert_eq!(left["leaves"].len(), 2000);
    fs::remove_file(killed.join("log-000000000009")).expect("it is there");
    // A key in a frame has the order of its bytes.
    let key = 1000_u64.to_be_bytes();
    let frame = |path: &PathBuf| {
        let bytes = fs::read(path).expect("a file");
        let at = bytes.windows(8).position(|word| word == key)?;
        path.to_string_lossy().contains("log-").then_some((bytes, at))
    };
    let paths = fs::read_dir(&killed).expect("it is there").map(|file| file.expect("whole").path());
    let found = paths.filter_map(|path| frame(&path).map(|found| (path, found))).next();
    let (path, (mut bytes, at)) = found.expect("a frame");
    bytes[at] ^= 1;
    fs::write(path, bytes).expect("room");
    let refused = Database::open(&killed).map(drop).expect_err("it is damaged");
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    let (_, losses, left) = repair(&killed);
    let [Loss::Log { .. }] = losses[..] else { panic!("{losses:?}") };
    let keys: Vec<_> = left["leaves"].keys().cloned().collect();
    let mut wanted: Vec<_> = (0..1000_u64).map(|id| id.to_le_bytes().to_vec()).collect();
    wanted.sort();
    assert_eq!(keys, wanted);
}

/// Both copies of a superblock are lost: if it was the newer one, the other names an older state,
/// of which little is left after closing.
#[test]
fn a_lost_superblock_is_named() {
    let place = tempfile::tempdir().expect("a directory");
    let original = place.path().join("original");
    let db = Options::new().durability(Durability::Process).open(&original).expect("a new one");
    let mut content = Content::new();
    fill(&db, &mut content);
    db.close().expect("room");
    let data = fs::read(original.join("data")).expect("a file");
    let mut named = 0;
    for slot in 0..2 {
        let mut bytes = data.clone();
        lose(&mut bytes, slot);
        lose(&mut bytes, slot + 8);
        fs::write(original.join("data"), bytes).expect("room");
        let target = place.path().join("repaired");
        let mut losses = Vec::new();
        match Options::new().repair(&original, &target, |loss| losses.push(loss.clone())) {
            Ok(_) => {
                let is_named = |loss: &Loss| matches!(loss, Loss::Checkpoint { .. });
                assert!(losses.iter().any(is_named), "slot {slot}: {losses:?}");
                fs::remove_dir_all(&target).expect("it is there");
                named += 1;
            }
            Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "slot {slot}: {error}"),
        }
    }
    assert!(named > 0, "the newer one is whole in one of the cases");
}

#[test]
fn a_target_that_is_in_use_is_left_alone() {
    let place = tempfile::tempdir().expect("a directory");
    let at = |name: &str| place.path().join(name);
    let db = Database::open(at("open")).expect("a new database");
    let repair = |source: &str, target: &str| {
        let repaired = Options::new().repair(at(source), at(target), |_| {});
        repaired.map(drop).expect_err("it is refused")
    };
    assert!(matches!(repair("open", "new"), Error::Locked));
    assert!(matches!(repair("missing", "new"), Error::NoDatabase { .. }));
    assert!(!at("missing").exists());
    db.close().expect("room");
    fs::create_dir(at("files")).expect("room");
    fs::write(at("files").join("mine"), "text").expect("room");
    assert!(matches!(repair("files", "new"), Error::NoDatabase { .. }));
    assert!(repair("open", "files").to_string().contains("the directory has files"));
    assert!(matches!(repair("open", "open"), Error::DatabaseExists { .. }));
    fs::create_dir(at("new.unfinished")).expect("room");
    let left = repair("open", "new").to_string();
    assert!(left.contains("new.unfinished") && left.contains("remove it"), "{left}");
    fs::remove_dir(at("new.unfinished")).expect("it is empty");
    let no_name = Options::new().repair(at("open"), at("open").join(".."), |_| {});
    assert!(no_name.is_err(), "{no_name:?}");
    let files = || fs::read_dir(at("open")).expect("it is there").count();
    let before = files();
    std::os::unix::fs::symlink(at("open"), at("by link")).expect("room");
    for (source, inside) in [("open", "open/new"), ("by link", "open/new"), ("open", "by link/a/b")]
    {
        let refused = repair(source, inside).to_string();
        assert!(refused.contains("it is inside the damaged database; name another"), "{refused}");
    }
    assert_eq!(files(), before);
    assert!(!at("new").exists());
    fs::create_dir(at("new")).expect("room");
    Options::new().repair(at("open"), at("new"), |_| {}).expect("an empty directory will do");
    assert!(Database::open(at("new")).is_ok());
    fs::create_dir(at("elsewhere")).expect("room");
    std::os::unix::fs::symlink(at("elsewhere"), at("link")).expect("room");
    assert!(repair("open", "link").to_string().contains("it is a link"));
}

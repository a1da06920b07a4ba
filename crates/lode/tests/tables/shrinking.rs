//! Tables from which most is deleted: their pages come back, and what is left stays where it is
//! found.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::random::mix;
use crate::reading::{check, each_row, payload_of};
use lode::{Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Table, Type, Value};

/// Bytes of the superblocks, and twice those of the catalogue and the page map, of few tables.
const METADATA_BYTES: u64 = 14 << 14;

/// Tables of both kinds with records in the index, and in a heap.
const TABLES: [(KeyKind, u32); 4] =
    [(KeyKind::Hash, 20), (KeyKind::Hash, 300), (KeyKind::Tree, 20), (KeyKind::Tree, 1_500)];

fn table(db: &Database, (kind, rest): (KeyKind, u32)) -> Table {
    let schema = Schema::build("t").key("id", Type::U64).column("rest", Type::Bytes(rest));
    db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
}

fn record(table: &Table, id: u64) -> Vec<u8> {
    let mut record = id.to_le_bytes().to_vec();
    record.resize(table.schema().record_size(), id as u8);
    record
}

fn expect(table: &Table, ids: impl Iterator<Item = u64>) {
    for id in ids {
        let found = payload_of(&table, id.to_le_bytes()).expect("it can be read");
        assert!(found.as_deref() == Some(&record(table, id)[8..]), "record {id}");
    }
}

/// Fills a table, deletes all records but one in `every`, and does that again.
fn shrink(db: &Database, table: &Table, (records, every): (u64, u64), delete: &dyn Fn(&[u64])) {
    for round in 0..3 {
        for id in 0..records {
            table.insert(&record(table, id)).expect("room");
        }
        let most = db.statistics().page_bytes;
        let before = db.snapshot();
        let gone: Vec<_> = (0..records).filter(|id| id % every != round).collect();
        delete(&gone);
        let mut left = 0;
        each_row(table.at(&before).iter(), &mut |_| {
            left += 1;
            Ok(true)
        })
        .expect("it can be read");
        assert_eq!(left, records, "all are in the snapshot");
        drop(before);
        check(db).unwrap_or_else(|why| panic!("{why}"));
        expect(table, (0..records).filter(|id| id % every == round));
        let pages = db.statistics().page_bytes;
        assert!(pages < most / 5, "{pages} bytes of {most} are left in round {round}");
    }
    for id in 0..records {
        table.delete(id.to_le_bytes()).expect("it can be read");
    }
    // The directory of a hashed table, or a root, and pages that are being filled.
    let pages = db.statistics().page_bytes;
    assert!(pages < 20 << 14, "{pages} bytes of an empty table");
}

#[test]
fn pages_of_deleted_records_come_back_in_memory() {
    for kind in TABLES {
        let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
        let table = table(&db, kind);
        shrink(&db, &table, (30_000, 1_000), &|ids| {
            for id in ids {
                assert!(table.delete(id.to_le_bytes()).expect("it can be read"));
            }
        });
    }
}

#[test]
fn pages_of_records_that_transactions_delete_come_back_in_memory() {
    for kind in TABLES {
        let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
        let table = table(&db, kind);
        // A page of a heap comes back when its last record goes, a bucket or a node earlier.
        let every = if kind.1 < 100 { 50 } else { 1_000 };
        shrink(&db, &table, (20_000, every), &|ids| {
            for ids in ids.chunks(5_000) {
                let transaction = db.begin();
                for id in ids {
                    assert!(transaction.delete(&table, id.to_le_bytes()).expect("room"));
                }
                transaction.commit().expect("no other transaction runs");
            }
        });
    }
}

#[test]
fn the_file_gives_places_of_deleted_records_back() {
    for kind in TABLES {
        let folder = tempfile::tempdir().expect("a directory");
        let options = Options::new().durability(Durability::Process).memory_bytes(64 << 20);
        let db = options.open(folder.path()).expect("it opens");
        let table = table(&db, kind);
        for id in 0..20_000 {
            table.insert(&record(&table, id)).expect("room");
        }
        db.checkpoint().expect("room");
        let used = db.statistics().data_used_bytes;
        for id in 0..19_900u64 {
            table.delete(id.to_le_bytes()).expect("it can be read");
        }
        db.checkpoint().expect("room");
        let left = db.statistics().data_used_bytes;
        let (left, used) = (left - METADATA_BYTES, used - METADATA_BYTES);
        assert!(left < used / 4, "{left} bytes of {used}");
        drop(table);
        db.close().expect("nothing is wrong");
        let db = options.open(folder.path()).expect("it opens");
        let table = db.table("t").expect("it is there");
        check(&db).unwrap_or_else(|why| panic!("{why}"));
        expect(&table, 19_900..20_000);
        for id in 0..20_000 {
            table.upsert(&record(&table, id)).expect("room");
        }
        check(&db).unwrap_or_else(|why| panic!("{why}"));
        expect(&table, 0..20_000);
    }
}

#[test]
fn what_stays_is_found_while_others_come_and_go() {
    const STAY: u64 = 100;
    const GO: u64 = 8_000;
    for kind in TABLES {
        let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
        let (table, done) = (table(&db, kind), AtomicBool::new(false));
        for id in 0..STAY {
            table.insert(&record(&table, id)).expect("room");
        }
        let (table, done) = (&table, &done);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (1..4u64)
                .map(|writer| {
                    scope.spawn(move || {
                        let own = || (0..GO / 3).map(|at| STAY + at * 3 + writer - 1);
                        for _ in 0..4 {
                            for id in own() {
                                assert!(table.insert(&record(table, id)).expect("room"));
                            }
                            expect(table, own());
                            for id in own() {
                                assert!(table.delete(id.to_le_bytes()).expect("it is there"));
                            }
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    expect(table, 0..STAY);
                    let mut keys = Vec::new();
                    (0..STAY).for_each(|id| keys.extend(id.to_le_bytes()));
                    let many = table.get_many_with(&keys, &mut |at, found| {
                        assert!(found == Some(&record(table, at as u64)[8..]), "record {at}");
                    });
                    many.expect("they can be read");
                    let mut seen = 0;
                    let each = each_row(table.iter(), &mut |found| {
                        let id = u64::from_le_bytes(*found.first_chunk().expect("a key"));
                        seen += u64::from(id < STAY);
                        Ok(true)
                    });
                    each.expect("they can be read");
                    assert_eq!(seen, STAY);
                }
            });
            for writer in writers {
                if let Err(panic) = writer.join() {
                    done.store(true, Ordering::Relaxed);
                    std::panic::resume_unwind(panic);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        check(&db).unwrap_or_else(|why| panic!("{why}"));
        expect(table, 0..STAY);
    }
}

/// Tables of all kinds of pages: buckets and leaves with records, and heaps whose index has keys or
/// digests.
fn all_kinds(db: &Database) -> Vec<Table> {
    let short = || vec![Type::Bytes(20)];
    let long = || vec![Type::Bytes(300)];
    let any = || vec![Type::VarBytes(40_000)];
    let kinds = [
        ("hash", Type::U64, short(), KeyKind::Hash),
        ("tree", Type::U64, short(), KeyKind::Tree),
        ("heap", Type::U64, long(), KeyKind::Hash),
        ("digests", Type::VarText(40), any(), KeyKind::Hash),
        ("texts", Type::VarText(40), any(), KeyKind::Tree),
    ];
    let make = |(name, key, rest, kind): (&str, Type, Vec<Type>, KeyKind)| {
        let schema = Schema::build(name).key("id", key);
        let schema = rest.into_iter().fold(schema, |schema, kind| schema.column("rest", kind));
        db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
    };
    kinds.into_iter().map(make).collect()
}

/// Returns true if a record is one of the half that is deleted in a turn.
fn goes(id: u64, turn: u32) -> bool {
    mix(id) >> (40 + turn) & 1 == 0
}

fn packed_of(table: &Table, id: u64) -> Vec<u8> {
    let text = format!("{:016x}", mix(id));
    let key = match table.schema().columns()[0].kind {
        Type::U64 => Value::Unsigned(mix(id)),
        _ => Value::Text(&text),
    };
    let bytes = vec![
        id as u8;
        match table.schema().columns()[1].kind {
            Type::Bytes(size) => size as usize,
            // Some have pages of their own.
            _ if id % 100 == 99 => 33_000,
            _ => 100 + (id % 300) as usize,
        }
    ];
    table.schema().pack(&[key, Value::Bytes(&bytes)]).expect("it fits")
}

fn expect_all(table: &Table, ids: impl Iterator<Item = u64>) {
    for id in ids {
        let record = packed_of(table, id);
        let length = table.schema().key_length(&record).expect("a key");
        let found = payload_of(&table, &record[..length]).expect("it can be read");
        assert!(found.as_deref() == Some(&record[length..]), "record {id} of {table:?}");
    }
}

fn delete(table: &Table, id: u64) {
    let record = packed_of(table, id);
    let length = table.schema().key_length(&record).expect("a key");
    assert!(table.delete(&record[..length]).expect("it can be read"));
}

/// Deletes of single records leave pages half empty; compaction makes them few and full.
#[test]
fn compaction_fills_the_pages_that_deletions_have_left_half_empty() {
    const RECORDS: u64 = 20_000;
    /// The most bytes that may be left of each byte after half of the records are deleted.
    const MOST_LEFT: [f64; 5] = [0.75, 0.7, 0.65, 0.65, 0.65];
    let names = ["hash", "tree", "heap", "digests", "texts"];
    for (name, most_left) in names.into_iter().zip(MOST_LEFT) {
        let folder = tempfile::tempdir().expect("a directory");
        // A quarter of it is for what the snapshot needs.
        let options = Options::new().durability(Durability::Process).memory_bytes(64 << 20);
        let db = options.open(folder.path()).expect("it opens");
        let table = all_kinds(&db).remove(names.iter().position(|own| *own == name).expect("one"));
        for id in 0..RECORDS {
            assert!(table.insert(&packed_of(&table, id)).expect("room"));
        }
        let full = db.compact().expect("room").after;
        let snapshot = db.snapshot();
        (0..RECORDS).filter(|id| goes(*id, 0)).for_each(|id| delete(&table, id));
        let done = db.compact().expect("room");
        println!("{name}: {} MiB when full; {done:?}", full.data_bytes >> 20);
        assert!(done.after.data_bytes < done.before.data_bytes, "{name}");
        let file = std::fs::metadata(folder.path().join("data")).expect("it is there").len();
        assert_eq!(done.after.data_bytes, file, "{name}: what it says of the file is true");
        let of_pages = |used_bytes: u64| (used_bytes - METADATA_BYTES) as f64;
        let left = of_pages(done.after.data_used_bytes) / of_pages(full.data_used_bytes);
        assert!(left < most_left, "{name}: {left} of what was used is left");
        let left = file as f64 / full.data_bytes as f64;
        assert!(left < most_left + 0.1, "{name}: {left} of the file is left");
        check(&db).unwrap_or_else(|why| panic!("{name}: {why}"));
        expect_all(&table, (0..RECORDS).filter(|id| !goes(*id, 0)));
        let mut seen = 0;
        let each = each_row(table.at(&snapshot).iter(), &mut |_| {
            seen += 1;
            Ok(true)
        });
        match each {
            Ok(()) => assert_eq!(seen, RECORDS, "{name}: the snapshot has all records"),
            // What compaction changes may be more than the budget has room for.
            Err(error) => assert!(matches!(error, Error::SnapshotTooOld { .. }), "{name}: {error}"),
        }
        drop((snapshot, table));
        db.close().expect("nothing is wrong");
        let db = options.open(folder.path()).expect("it opens again");
        check(&db).unwrap_or_else(|why| panic!("{name}: {why}"));
        let table = db.table(name).expect("it is there");
        expect_all(&table, (0..RECORDS).filter(|id| !goes(*id, 0)));
        // What was opened knows nothing yet of the room of its pages.
        let stays = |id: &u64| !goes(*id, 0) && !goes(*id, 1);
        let second = (0..RECORDS).filter(|id| !goes(*id, 0) && goes(*id, 1));
        second.for_each(|id| delete(&table, id));
        let quarter = db.compact().expect("room").after.data_used_bytes;
        let left = of_pages(quarter) / of_pages(full.data_used_bytes);
        assert!(left < most_left * 0.7, "{name}: {left} of what was used is left");
        expect_all(&table, (0..RECORDS).filter(stays));
        check(&db).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// In memory there is no file, but pages are of use to others.
#[test]
fn compaction_in_memory_frees_pages() {
    let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
    for table in all_kinds(&db) {
        for id in 0..20_000 {
            assert!(table.insert(&packed_of(&table, id)).expect("room"));
        }
        (0..20_000).filter(|id| id % 2 == 0).for_each(|id| delete(&table, id));
        let done = db.compact().expect("nothing is wrong");
        let (before, after) = (done.before.page_bytes, done.after.page_bytes);
        assert!(after < before / 10 * 8, "{table:?}: {after} bytes of {before} are left");
        check(&db).unwrap_or_else(|why| panic!("{why}"));
        expect_all(&table, (0..20_000).filter(|id| id % 2 == 1));
        db.drop_table(table.schema().name()).expect("it is there");
    }
}

/// No page has to move, but the file is long.
#[test]
fn compaction_gives_the_space_of_a_dropped_table_back() {
    let folder = tempfile::tempdir().expect("a directory");
    let options = Options::new().durability(Durability::Process).memory_bytes(8 << 20);
    let db = options.open(folder.path()).expect("it opens");
    let tables = all_kinds(&db);
    for (table, id) in tables.iter().flat_map(|table| (0..20_000).map(move |id| (table, id))) {
        assert!(table.insert(&packed_of(table, id)).expect("room"));
    }
    db.checkpoint().expect("room");
    for table in &tables[1..] {
        db.drop_table(table.schema().name()).expect("it is there");
    }
    // Of the page map, too, little is left where it was.
    for round in 0..3 {
        let done = db.compact().expect("room");
        println!("{done:?}");
        let (used, file) = (done.after.data_used_bytes, done.after.data_bytes);
        // A checkpoint needs some space of its own.
        assert!(file < used + (128 << 14), "round {round}: {file} bytes, {used} in use");
        // Others take the lowest slots, so that the map moves about.
        for id in (round * 1_000..).take(1_000) {
            delete(&tables[0], id);
        }
        db.checkpoint().expect("room");
    }
    db.drop_table("hash").expect("it is there");
    let after = db.compact().expect("room").after;
    assert!(after.data_bytes < 128 << 14, "{after:?} of an empty database");
    check(&db).unwrap_or_else(|why| panic!("{why}"));
}

/// Bytes of space that the files of a directory take up.
fn space_bytes(folder: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(folder).expect("a directory");
    files.map(|file| file.expect("a file").metadata().expect("it is there").blocks() * 512).sum()
}

/// No page moves. Where the file system cannot have holes, all of the file stays.
#[test]
fn a_checkpoint_gives_space_back_that_is_taken_again() {
    const RECORDS: u64 = 100_000;
    let record = |table: &Table, id: u64, round: u8| {
        let mut record = record(table, id);
        record[8..].fill(round);
        record
    };
    for kind in [(KeyKind::Hash, 92), (KeyKind::Tree, 1_000)] {
        let folder = tempfile::tempdir().expect("a directory");
        let options = Options::new().durability(Durability::Process).compact_when_idle(false);
        let mut db = options.open(folder.path()).expect("it opens");
        table(&db, kind);
        for round in 0..3 {
            let table = db.table("t").expect("it is there");
            for id in 0..RECORDS {
                let id = mix(id) % RECORDS;
                table.upsert(&record(&table, id, round)).expect("room");
            }
            let before = space_bytes(folder.path());
            db.checkpoint().expect("room");
            let (after, statistics) = (space_bytes(folder.path()), db.statistics());
            println!("{kind:?}: {before} bytes, then {after}; {statistics:?}");
            let length = std::fs::metadata(folder.path().join("data")).expect("it is there").len();
            let has_holes = statistics.data_bytes < length;
            let used = statistics.data_used_bytes;
            // A file system has some of its own for a file in pieces.
            let most = used + used / 4 + (5 << 20);
            assert!(after < most || !has_holes, "{after} bytes, {used} in use");
            assert!(after < before, "{after} bytes, {before} before");
            check(&db).unwrap_or_else(|why| panic!("{why}"));
            drop(table);
            if round == 1 {
                db.close().expect("nothing is wrong");
                db = options.open(folder.path()).expect("it opens again");
            }
            let table = db.table("t").expect("it is there");
            for id in (0..RECORDS).map(|id| mix(id) % RECORDS) {
                let found = payload_of(&table, id.to_le_bytes()).expect("it can be read");
                assert!(found.as_deref() == Some(&record(&table, id, round)[8..]), "record {id}");
            }
        }
    }
}

#[test]
fn a_small_hashed_table_keeps_its_pages_until_it_is_compacted() {
    let db = Options::new().memory_bytes(64 << 20).in_memory().expect("memory");
    let table = table(&db, (KeyKind::Hash, 20));
    let fill = || {
        for id in 0..1_000 {
            assert!(table.insert(&record(&table, id)).expect("room"));
        }
        db.statistics().page_bytes
    };
    let empty = || {
        for id in 0..1_000_u64 {
            assert!(table.delete(id.to_le_bytes()).expect("it can be read"));
        }
        db.statistics().page_bytes
    };
    let full = fill();
    assert_eq!((empty(), fill(), empty()), (full, full, full));
    db.compact().expect("it can be compacted");
    let compacted = db.statistics().page_bytes;
    assert!(compacted < full, "{compacted} bytes of {full} are left");
    check(&db).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(fill(), full);
    expect(&table, 0..1_000);
}

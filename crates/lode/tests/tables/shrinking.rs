//! Tables from which most is deleted: their pages come back, and what is left stays where it is found.

use std::sync::atomic::{AtomicBool, Ordering};

use lode::{Database, Durability, KeyKind, Options, Schema, Table, Type};

/// Tables of both kinds with records beside their keys, and in a heap.
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
        let found = table.payload(&id.to_le_bytes()).expect("it can be read");
        assert!(found.as_deref() == Some(&record(table, id)[8..]), "record {id}");
    }
}

/// Fills a table, deletes all but each of so many, and does that again.
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
        before
            .each(table, &mut |_| {
                left += 1;
                Ok(true)
            })
            .expect("it can be read");
        assert_eq!(left, records, "all are in the snapshot");
        drop(before);
        db.check().unwrap_or_else(|why| panic!("{why}"));
        expect(table, (0..records).filter(|id| id % every == round));
        let pages = db.statistics().page_bytes;
        assert!(pages < most / 5, "{pages} bytes of {most} are left in round {round}");
    }
    for id in 0..records {
        table.delete(&id.to_le_bytes()).expect("it can be read");
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
                assert!(table.delete(&id.to_le_bytes()).expect("it can be read"));
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
                let mut transaction = db.begin();
                for id in ids {
                    assert!(transaction.delete(&table, &id.to_le_bytes()).expect("room"));
                }
                transaction.commit().expect("nobody else is there");
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
            table.delete(&id.to_le_bytes()).expect("it can be read");
        }
        db.checkpoint().expect("room");
        let left = db.statistics().data_used_bytes;
        assert!(left < used / 4, "{left} bytes of {used}");
        drop(table);
        db.close().expect("nothing is wrong");
        let db = options.open(folder.path()).expect("it opens");
        let table = db.table("t").expect("it is there");
        db.check().unwrap_or_else(|why| panic!("{why}"));
        expect(&table, 19_900..20_000);
        for id in 0..20_000 {
            table.upsert(&record(&table, id)).expect("room");
        }
        db.check().unwrap_or_else(|why| panic!("{why}"));
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
                                assert!(table.delete(&id.to_le_bytes()).expect("it is there"));
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
                    let many = table.get_many(&keys, &mut |at, found| {
                        assert!(found == Some(&record(table, at as u64)[8..]), "record {at}");
                    });
                    many.expect("they can be read");
                    let mut seen = 0;
                    let each = db.snapshot().each(table, &mut |found| {
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
        db.check().unwrap_or_else(|why| panic!("{why}"));
        expect(table, 0..STAY);
    }
}

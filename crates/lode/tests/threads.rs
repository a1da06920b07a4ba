//! Many threads in few records.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lode::{Database, Error, KeyKind, Options, Schema, Table, Type};

fn db() -> Database {
    Options::new().memory_bytes(256 << 20).in_memory().expect("memory")
}

/// As many rounds as this; `LODE_ROUNDS` asks for others.
fn rounds() -> u64 {
    std::env::var("LODE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(30_000)
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"))
}

/// A record of 40 words that all say the same.
fn wide(kind: KeyKind) -> (Database, Table) {
    let mut schema = Schema::build("wide").key("id", Type::U64);
    for at in 0..40 {
        schema = schema.column(&format!("w{at}"), Type::U64);
    }
    let db = db();
    let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
    (db, table)
}

fn wide_record(id: u64, word: u64) -> Vec<u8> {
    let words = std::iter::once(id).chain(std::iter::repeat_n(word, 40));
    words.flat_map(u64::to_le_bytes).collect()
}

/// 8 threads on 16 keys: every record that is read is whole, was written by somebody, and versions
/// never go back; what remains is what was written last.
fn no_torn_records(kind: KeyKind) {
    let (db, table) = wide(kind);
    let next: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(1)).collect();
    let live: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (table, next, live) = (&table, &next, &live);
            scope.spawn(move || {
                let mut payload = vec![0; 320];
                for round in 0..rounds() {
                    let id = (round * 7 + thread * 5) % 16;
                    if (round + thread).is_multiple_of(3) {
                        let word = next[id as usize].fetch_add(1, Ordering::SeqCst);
                        match round % 4 {
                            0 => drop(table.delete(&id.to_le_bytes()).expect("a key")),
                            1 => drop(table.insert(&wide_record(id, word)).expect("room")),
                            _ => drop(table.upsert(&wide_record(id, word)).expect("room")),
                        }
                        continue;
                    }
                    if table.get(&id.to_le_bytes(), &mut payload).expect("a key") {
                        let word = number(&payload);
                        assert!(payload.chunks(8).all(|other| number(other) == word), "torn");
                        assert!(word > 0 && word < next[id as usize].load(Ordering::SeqCst));
                        live[id as usize].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    db.check().expect("it is right");
    assert!(live.iter().all(|count| count.load(Ordering::Relaxed) > 0), "nothing was read");
}

#[test]
fn records_are_never_torn_in_a_hash() {
    no_torn_records(KeyKind::Hash);
}

#[test]
fn records_are_never_torn_in_a_tree() {
    no_torn_records(KeyKind::Tree);
}

/// Increments by `change`: none is lost.
fn no_lost_update(kind: KeyKind) {
    let (db, table) = wide(kind);
    for id in 0..16 {
        assert!(table.insert(&wide_record(id, 0)).expect("room"));
    }
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let table = &table;
            scope.spawn(move || {
                for round in 0..rounds() {
                    let id = (round + thread) % 16;
                    let there = table.change(&id.to_le_bytes(), &mut |payload| {
                        for word in payload.chunks_mut(8) {
                            let next = number(word) + 1;
                            word.copy_from_slice(&next.to_le_bytes());
                        }
                        true
                    });
                    assert!(there.expect("a key"));
                }
            });
        }
    });
    let sum: u64 = (0..16u64)
        .map(|id| number(&table.payload(&id.to_le_bytes()).expect("a key").expect("a record")))
        .sum();
    assert_eq!(sum, 8 * rounds());
    db.check().expect("it is right");
}

#[test]
fn no_update_is_lost_in_a_hash() {
    no_lost_update(KeyKind::Hash);
}

#[test]
fn no_update_is_lost_in_a_tree() {
    no_lost_update(KeyKind::Tree);
}

/// Threads insert and delete keys of their own among those of others, which splits and joins pages
/// under the eyes of readers who must find what is always there.
fn pages_split_under_readers(kind: KeyKind) {
    let (db, table) = wide(kind);
    const FIXED: u64 = 200;
    for id in 0..FIXED {
        assert!(table.insert(&wide_record(id * 1_000, id)).expect("room"));
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 1..4u64 {
            let (table, done) = (&table, &done);
            scope.spawn(move || {
                for round in 0..rounds() / 3_000 {
                    for at in 0..2_000 {
                        let id =
                            at * 97 % (FIXED * 1_000) / 1_000 * 1_000 + thread + at % 7 * 10 + 100;
                        let id = id + at * 1_000_000;
                        assert!(table.insert(&wide_record(id, round)).expect("room"));
                    }
                    for at in 0..2_000 {
                        let id =
                            at * 97 % (FIXED * 1_000) / 1_000 * 1_000 + thread + at % 7 * 10 + 100;
                        let id = id + at * 1_000_000;
                        assert!(table.delete(&id.to_le_bytes()).expect("a key"));
                    }
                }
                done.store(true, Ordering::SeqCst);
            });
        }
        let (table, db, done) = (&table, &db, &done);
        scope.spawn(move || {
            let mut payload = vec![0; 320];
            while !done.load(Ordering::SeqCst) {
                for id in 0..FIXED {
                    assert!(table.get(&(id * 1_000).to_le_bytes(), &mut payload).expect("a key"));
                    assert_eq!(number(&payload), id);
                }
                let mut found = 0;
                let each = &mut |record: &[u8]| {
                    let id = number(record);
                    found += u64::from(id.is_multiple_of(1_000) && id < FIXED * 1_000);
                    Ok(true)
                };
                db.snapshot().each(table, each).expect("a snapshot");
                assert_eq!(found, FIXED, "a snapshot has them all");
            }
        });
    });
    db.check().expect("it is right");
}

#[test]
fn readers_find_records_while_buckets_split() {
    pages_split_under_readers(KeyKind::Hash);
}

#[test]
fn readers_find_records_while_leaves_split_and_join() {
    pages_split_under_readers(KeyKind::Tree);
}

/// Money moves between accounts of two tables under transactions; every snapshot, and every
/// transaction that only reads, counts the same sum.
#[test]
fn the_sum_of_all_accounts_stays() {
    let db = db();
    let schema = |name| {
        let build = Schema::build(name).key("id", Type::U64).column("cents", Type::I64);
        build.finish().expect("a schema")
    };
    let tables = [
        db.create_table(&schema("hash"), KeyKind::Hash).expect("a table"),
        db.create_table(&schema("tree"), KeyKind::Tree).expect("a table"),
    ];
    const ACCOUNTS: u64 = 8;
    for (table, id) in tables.iter().flat_map(|t| (0..ACCOUNTS).map(move |id| (t, id))) {
        let record = [id.to_le_bytes(), 1_000i64.to_le_bytes()].concat();
        assert!(table.insert(&record).expect("room"));
    }
    let whole = 2 * ACCOUNTS as i64 * 1_000;
    let done = AtomicBool::new(false);
    let conflicts = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let movers: Vec<_> = (0..4u64)
            .map(|thread| {
                let (db, tables, conflicts) = (&db, &tables, &conflicts);
                scope.spawn(move || {
                    for round in 0..rounds() / 10 {
                        let (from, to) = (round % ACCOUNTS, (round * 3 + thread) % ACCOUNTS);
                        loop {
                            let mut transaction = db.begin();
                            let cents =
                                |bytes: Option<Vec<u8>>| number(&bytes.expect("an account")) as i64;
                            let keys = (from.to_le_bytes(), to.to_le_bytes());
                            let read = transaction.payload(&tables[0], &keys.0).expect("a key");
                            let rest = (cents(read) - 1).to_le_bytes();
                            transaction.update(&tables[0], &keys.0, 1, &rest).expect("a key");
                            let read = transaction.payload(&tables[1], &keys.1).expect("a key");
                            let more = (cents(read) + 1).to_le_bytes();
                            transaction.update(&tables[1], &keys.1, 1, &more).expect("a key");
                            match transaction.commit() {
                                Ok(()) => break,
                                Err(Error::Conflict { .. }) => {
                                    conflicts.fetch_add(1, Ordering::Relaxed);
                                }
                                Err(error) => panic!("{error}"),
                            }
                        }
                    }
                })
            })
            .collect();
        let (db, tables, done) = (&db, &tables, &done);
        scope.spawn(move || {
            while !done.load(Ordering::SeqCst) {
                let snapshot = db.snapshot();
                let mut sum = 0;
                for table in tables {
                    let each = &mut |record: &[u8]| {
                        sum += number(&record[8..]) as i64;
                        Ok(true)
                    };
                    snapshot.each(table, each).expect("a snapshot");
                }
                assert_eq!(sum, whole, "in a snapshot");
                let mut transaction = db.begin();
                let mut sum = 0;
                for (table, id) in tables.iter().flat_map(|t| (0..ACCOUNTS).map(move |id| (t, id)))
                {
                    let read = transaction.payload(table, &id.to_le_bytes()).expect("a key");
                    sum += number(&read.expect("an account")) as i64;
                }
                if transaction.commit().is_ok() {
                    assert_eq!(sum, whole, "in a transaction that was committed");
                }
            }
        });
        for mover in movers {
            mover.join().expect("it moved its money");
        }
        done.store(true, Ordering::SeqCst);
    });
    db.check().expect("it is right");
    assert_eq!(db.statistics().snapshot_bytes, 0);
}

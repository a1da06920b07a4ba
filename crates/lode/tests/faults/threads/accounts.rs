//! Transactions: no cent is lost, and what was committed comes back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::reading::{check, each_row, nth, payload_of};
use lode::{Database, Error, KeyKind, Options, ReadTable, Schema, Type};

use super::support::{in_directories, in_memory, number, rounds};
use super::wide::{wide, wide_record};
use crate::watched::watched;

/// Money moves between accounts of two tables under transactions; every snapshot, and every
/// transaction that only reads, counts the same sum.
fn the_sum_stays(db: &Database, rounds: u64) {
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
                let (tables, conflicts) = (&tables, &conflicts);
                scope.spawn(move || {
                    for round in 0..rounds / 10 {
                        let (from, to) = (round % ACCOUNTS, (round * 3 + thread) % ACCOUNTS);
                        let one = || {
                            let transaction = db.begin();
                            for (table, key, more) in [(&tables[0], from, -1), (&tables[1], to, 1)]
                            {
                                let key = key.to_le_bytes();
                                let read = payload_of(&table.within(&transaction), key)?;
                                let cents = number(&read.expect("an account")) as i64 + more;
                                transaction.update(table, key, nth(1), &cents.to_le_bytes())?;
                            }
                            transaction.commit()
                        };
                        loop {
                            match one() {
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
        let (tables, done) = (&tables, &done);
        scope.spawn(move || {
            while !done.load(Ordering::SeqCst) {
                let snapshot = db.snapshot();
                let mut sum = 0;
                for table in tables {
                    let each = &mut |record: &[u8]| {
                        sum += number(&record[8..]) as i64;
                        Ok(true)
                    };
                    each_row(table.at(&snapshot).iter(), each).expect("a snapshot");
                }
                assert_eq!(sum, whole, "in a snapshot");
                let transaction = db.begin();
                let mut sum = 0;
                let read = tables.iter().flat_map(|t| (0..ACCOUNTS).map(move |id| (t, id)));
                let mut read = read
                    .map(|(table, id)| payload_of(&table.within(&transaction), id.to_le_bytes()));
                let read_all = read.try_for_each(|read| {
                    sum += number(&read?.expect("an account")) as i64;
                    Ok::<(), Error>(())
                });
                match read_all {
                    Ok(()) => {
                        assert_eq!(sum, whole, "all is of one moment");
                        transaction.commit().expect("it has only read");
                    }
                    Err(Error::Conflict { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        for mover in movers {
            mover.join().expect("it moved its money");
        }
        done.store(true, Ordering::SeqCst);
    });
    check(db).expect("it is right");
    assert_eq!(db.statistics().snapshot_bytes, 0);
}

#[test]
fn the_sum_of_all_accounts_stays() {
    in_memory(the_sum_stays);
}

#[test]
fn the_sum_of_all_accounts_stays_in_a_directory() {
    in_directories(the_sum_stays);
}

/// 8 threads commit transactions and single operations that are synced before they return.
#[test]
fn all_that_threads_commit_is_there_when_the_database_is_opened_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options::new().memory_bytes(1 << 20).log_bytes(1 << 18).segment_bytes(1 << 16);
    let db = options.open(directory.path()).expect("an empty directory");
    let table = wide(&db, KeyKind::Tree);
    let each = rounds() / 150;
    watched(|| {
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let (db, table) = (&db, &table);
                scope.spawn(move || {
                    for round in 0..each {
                        let id = (round * 8 + thread) * 2;
                        if round.is_multiple_of(3) {
                            let transaction = db.begin();
                            for id in [id, id + 1] {
                                let record = wide_record(id, round);
                                assert!(transaction.insert(table, &record).expect("it is noted"));
                            }
                            transaction.commit().expect("no other thread has these records");
                        } else {
                            assert!(table.insert(&wide_record(id, round)).expect("room"));
                        }
                    }
                });
            }
        });
    });
    check(&db).expect("it is right");
    db.close().expect("nothing is wrong with the directory");
    let db = options.open(directory.path()).expect("it was closed");
    let table = db.table("wide").expect("it is there");
    let mut payload = vec![0; 320];
    for (thread, round) in (0..8).flat_map(|thread| (0..each).map(move |round| (thread, round))) {
        let id = (round * 8 + thread) * 2;
        for id in if round.is_multiple_of(3) { id..id + 2 } else { id..id + 1 } {
            assert!(table.get_exact(&id.to_le_bytes(), &mut payload).expect("a key"), "{id}");
            assert!(payload.chunks(8).all(|word| number(word) == round));
        }
    }
}

//! Records of fixed size: none is torn, no update is lost, and all are found while pages split and
//! join.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::reading::{check, each_row, payload_of};
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type};

use super::support::{in_directories, in_memory, number, rounds};
use crate::watched::watched;

/// A record of 40 words that all say the same.
pub fn wide(db: &Database, kind: KeyKind) -> Table {
    let mut schema = Schema::build("wide").key("id", Type::U64);
    for at in 0..40 {
        schema = schema.column(&format!("w{at}"), Type::U64);
    }
    db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
}

pub fn wide_record(id: u64, word: u64) -> Vec<u8> {
    let words = std::iter::once(id).chain(std::iter::repeat_n(word, 40));
    words.flat_map(u64::to_le_bytes).collect()
}

/// 8 threads on 16 keys: every record that is read is whole and was written, and versions never go
/// back; what remains is what was written last.
fn no_torn_records(db: &Database, rounds: u64, kind: KeyKind) {
    let table = wide(db, kind);
    let next: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(1)).collect();
    let live: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (table, next, live) = (&table, &next, &live);
            scope.spawn(move || {
                let mut payload = vec![0; 320];
                for round in 0..rounds {
                    let id = (round * 7 + thread * 5) % 16;
                    if (round + thread).is_multiple_of(3) {
                        let word = next[id as usize].fetch_add(1, Ordering::SeqCst);
                        match round % 4 {
                            0 => drop(table.delete(id.to_le_bytes()).expect("a key")),
                            1 => drop(table.insert(&wide_record(id, word)).expect("room")),
                            _ => drop(table.upsert(&wide_record(id, word)).expect("room")),
                        }
                        continue;
                    }
                    if table.get_exact(&id.to_le_bytes(), &mut payload).expect("a key") {
                        let word = number(&payload);
                        assert!(payload.chunks(8).all(|other| number(other) == word), "torn");
                        assert!(word > 0 && word < next[id as usize].load(Ordering::SeqCst));
                        live[id as usize].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    check(db).expect("it is right");
    let all = live.iter().all(|count| count.load(Ordering::Relaxed) > 0);
    assert!(all || rounds < 1_000, "nothing was read");
}

#[test]
fn records_are_never_torn_in_a_hash() {
    in_memory(|db, rounds| no_torn_records(db, rounds, KeyKind::Hash));
}

#[test]
fn records_are_never_torn_in_a_tree() {
    in_memory(|db, rounds| no_torn_records(db, rounds, KeyKind::Tree));
}

/// Increments by `change`: none is lost.
fn no_lost_update(db: &Database, rounds: u64, kind: KeyKind) {
    let table = wide(db, kind);
    for id in 0..16 {
        assert!(table.insert(&wide_record(id, 0)).expect("room"));
    }
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let table = &table;
            scope.spawn(move || {
                for round in 0..rounds {
                    let id = (round + thread) % 16;
                    let there = table.change(id.to_le_bytes(), &mut |payload| {
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
        .map(|id| number(&payload_of(&table, id.to_le_bytes()).expect("a key").expect("a record")))
        .sum();
    assert_eq!(sum, 8 * rounds);
    check(db).expect("it is right");
}

#[test]
fn no_update_is_lost_in_a_hash() {
    in_memory(|db, rounds| no_lost_update(db, rounds, KeyKind::Hash));
}

#[test]
fn no_update_is_lost_in_a_tree() {
    in_memory(|db, rounds| no_lost_update(db, rounds, KeyKind::Tree));
}

/// Threads insert and delete keys of their own among those of others, which splits and joins pages.
/// Readers must find what is always there.
fn pages_split_under_readers(db: &Database, rounds: u64, kind: KeyKind) {
    let table = wide(db, kind);
    const FIXED: u64 = 200;
    let fixed = |at: u64| at << 32;
    let passing = |thread: u64, at: u64| fixed(at * 97 % FIXED) | thread << 24 | at;
    for at in 0..FIXED {
        assert!(table.insert(&wide_record(fixed(at), at)).expect("room"));
    }
    let keys: Vec<u8> = (0..FIXED).flat_map(|at| fixed(at * 71 % FIXED).to_le_bytes()).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 1..4u64 {
            let (table, done) = (&table, &done);
            scope.spawn(move || {
                for round in 0..(rounds / 3_000).max(1) {
                    for at in 0..2_000 {
                        let record = wide_record(passing(thread, at), round);
                        assert!(table.insert(&record).expect("room"));
                    }
                    for at in 0..2_000 {
                        let id = passing(thread, at);
                        assert!(table.delete(id.to_le_bytes()).expect("a key"));
                    }
                }
                done.store(true, Ordering::SeqCst);
            });
        }
        let (table, done) = (&table, &done);
        scope.spawn(move || {
            let mut payload = vec![0; 320];
            while !done.load(Ordering::SeqCst) {
                for at in 0..FIXED {
                    let key = fixed(at).to_le_bytes();
                    assert!(table.get_exact(&key, &mut payload).expect("a key"));
                    assert_eq!(number(&payload), at);
                }
                let look = &mut |at: usize, payload: Option<&[u8]>| {
                    let there = payload.map(number);
                    assert_eq!(there, Some(at as u64 * 71 % FIXED), "one of several");
                };
                table.get_many_with(&keys, look).expect("keys");
                let mut found = 0;
                let each = &mut |record: &[u8]| {
                    let id = number(record);
                    found += u64::from(id == fixed(id >> 32));
                    Ok(true)
                };
                each_row(table.iter(), each).expect("a snapshot");
                assert_eq!(found, FIXED, "a snapshot has them all");
            }
        });
    });
    check(db).expect("it is right");
}

#[test]
fn readers_find_records_while_buckets_split() {
    in_memory(|db, rounds| pages_split_under_readers(db, rounds, KeyKind::Hash));
}

#[test]
fn readers_find_records_while_leaves_split_and_join() {
    in_memory(|db, rounds| pages_split_under_readers(db, rounds, KeyKind::Tree));
}

#[test]
fn records_in_a_directory_are_never_torn() {
    in_directories(|db, rounds| {
        no_torn_records(db, rounds, KeyKind::Hash);
        db.drop_table("wide").expect("it is there");
        no_torn_records(db, rounds, KeyKind::Tree);
    });
}

#[test]
fn no_update_is_lost_in_a_directory() {
    in_directories(|db, rounds| {
        no_lost_update(db, rounds, KeyKind::Hash);
        db.drop_table("wide").expect("it is there");
        no_lost_update(db, rounds, KeyKind::Tree);
    });
}

#[test]
fn readers_find_records_while_pages_split_in_a_directory() {
    // Long enough for pages to split; at a sync each, that would take too long.
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options::new().memory_bytes(16 << 20).log_bytes(1 << 20).segment_bytes(1 << 18);
    let options = options.durability(Durability::Process);
    let db = options.open(directory.path()).expect("an empty directory");
    watched(|| {
        pages_split_under_readers(&db, rounds() / 10, KeyKind::Hash);
        db.drop_table("wide").expect("it is there");
        pages_split_under_readers(&db, rounds() / 10, KeyKind::Tree);
    });
}

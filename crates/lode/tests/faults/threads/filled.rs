//! Records of any length, some longer than a page.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::reading::{Scan, check, cursor, each_row, nth};
use lode::{Database, KeyKind, ReadTable, RowRef, Schema, Snapshot, Table, Type, Value};

use super::support::{Stop, in_directories, in_memory};

/// The shortest and the longest filling of records of any length.
const LEAST_BYTES: u64 = 10;
const MOST_BYTES: u64 = 40_000;

/// A table of records that are filled with bytes which all say the same.
fn filled(db: &Database, kind: KeyKind) -> Table {
    let schema = Schema::build("filled")
        .key("id", Type::U64)
        .column("sum", Type::U64)
        .column("filling", Type::VarBytes(MOST_BYTES as u32))
        .column("mark", Type::U64)
        .column("name", Type::VarText(20));
    db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
}

/// Short and long in turn, which makes records move, and their pieces come and go.
fn filling(word: u64) -> Vec<u8> {
    let random = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let most = if random.is_multiple_of(3) { MOST_BYTES } else { 1_000 };
    vec![word as u8; (LEAST_BYTES + random / 3 % (most - LEAST_BYTES)) as usize]
}

fn filled_record(table: &Table, id: u64, word: u64) -> Vec<u8> {
    let (filling, name) = (filling(word), format!("{word:x}"));
    let sum = filling.len() as u64 * u64::from(word as u8);
    let values = [
        Value::Unsigned(id),
        Value::Unsigned(sum),
        Value::Bytes(&filling),
        Value::Unsigned(0),
        Value::Text(&name),
    ];
    table.schema().pack(&values).expect("they fit")
}

/// Checks that a record is all of one write, without its mark, which is written by itself.
fn expect_whole(row: RowRef<'_>, next: &[AtomicU64]) {
    let [id, sum, filling, _, name] = [0, 1, 2, 3, 4].map(|column| row.at(nth(column)));
    let (Value::Unsigned(id), Value::Unsigned(sum), Value::Bytes(filling), Value::Text(name)) =
        (id, sum, filling, name)
    else {
        panic!("other columns: {row:?}");
    };
    let word = u64::from_str_radix(name, 16).expect("a number");
    assert!(word < next[id as usize].load(Ordering::SeqCst), "it was never written");
    assert!(filling.iter().all(|byte| *byte == word as u8), "torn: {id}");
    assert_eq!(filling.len(), self::filling(word).len(), "cut off: {id}");
    assert_eq!(sum, filling.len() as u64 * u64::from(word as u8), "of another: {id}");
}

const FILLED: u64 = 12;

/// Writes to records of any length: whole ones, and columns of them.
fn fill(table: &Table, next: &[AtomicU64], (thread, rounds): (u64, u64)) {
    for round in 0..rounds {
        let id = (round * 7 + thread * 5) % FILLED;
        let key = id.to_le_bytes();
        let record = || {
            let word = next[id as usize].fetch_add(1, Ordering::SeqCst);
            filled_record(table, id, word)
        };
        match (round + thread) % 8 {
            0 => drop(table.delete(key).expect("a key")),
            1 => drop(table.insert(&record()).expect("room")),
            2 | 3 => drop(table.update(key, nth(3), &round.to_le_bytes()).expect("a key")),
            4 => {
                let payload = record().split_off(8);
                let exchange = &mut |old: &mut Vec<u8>| {
                    old.clone_from(&payload);
                    true
                };
                table.change(key, exchange).expect("room");
            }
            _ => drop(table.upsert(&record()).expect("room")),
        }
    }
}

/// Reads records of any length in all ways, at least once, until `done` is set.
fn look_at_filled(db: &Database, table: &Table, next: &[AtomicU64], done: &AtomicBool) -> u64 {
    let keys: Vec<u8> = (0..FILLED).flat_map(u64::to_le_bytes).collect();
    let (schema, mut count) = (table.schema(), 0);
    loop {
        // If threads wait for processors, the writers may be done before this starts.
        let is_last = done.load(Ordering::SeqCst);
        for key in keys.chunks(8) {
            let looked = table
                .get(key)
                .map(|row| row.map(|row| expect_whole(row.as_ref(), next)))
                .expect("a key");
            count += u64::from(looked.is_some());
        }
        let found = &mut |at: usize, payload: Option<&[u8]>| {
            let Some(payload) = payload else { return };
            let record = [&keys[at * 8..][..8], payload].concat();
            expect_whole(schema.row(&record).expect("a record"), next);
        };
        table.get_many_with(&keys, found).expect("keys");
        let snapshot = db.snapshot();
        let each = || {
            let mut seen = Vec::new();
            let keep = &mut |record: &[u8]| {
                expect_whole(schema.row(record).expect("a record"), next);
                seen.push(record.to_vec());
                Ok(true)
            };
            each_row(table.at(&snapshot).iter(), keep).expect("a snapshot");
            seen.sort_unstable();
            seen
        };
        let first = each();
        assert!(first == each(), "a snapshot stays what it is");
        if table.key_kind() == KeyKind::Tree {
            expect_scan(&snapshot, table, &first);
        }
        if is_last {
            return count;
        }
    }
}

/// Checks that a backward scan of a snapshot finds these records.
fn expect_scan(snapshot: &Snapshot, table: &Table, records: &[Vec<u8>]) {
    let columns = &[2, 0];
    let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
    let scan = Scan { lower, upper, backward: true, columns, limit: u64::MAX };
    let mut rows = Vec::new();
    let keep = &mut |row: &[u8]| {
        rows.push(row.to_vec());
        Ok(true)
    };
    each_row(cursor(&table.at(snapshot), &scan), keep).expect("a snapshot");
    rows.sort_unstable();
    let columns = table.schema().columns();
    let row = |record: &Vec<u8>| {
        let filling = table.schema().bytes_of(record, &columns[2]);
        [&(filling.len() as u32).to_le_bytes(), filling, &record[..8]].concat()
    };
    let mut wanted: Vec<_> = records.iter().map(row).collect();
    wanted.sort_unstable();
    assert!(rows == wanted, "a scan of a snapshot finds what is in it");
}

/// 4 threads write records of any length, 2 read them: all that is read was written at once. When
/// all are deleted, their pages have come back but for those that threads were filling.
fn no_torn_fillings(db: &Database, rounds: u64, kind: KeyKind) {
    let table = filled(db, kind);
    let next: Vec<AtomicU64> = (0..FILLED).map(|_| AtomicU64::new(1)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let read = || scope.spawn(|| look_at_filled(db, &table, &next, &done));
        let readers = [read(), read()];
        let write = |thread| {
            let (table, next) = (&table, &next);
            scope.spawn(move || fill(table, next, (thread, rounds)))
        };
        let writers: Vec<_> = (0..4).map(write).collect();
        let _stop = Stop(&done);
        writers.into_iter().for_each(|writer| writer.join().expect("it wrote"));
        done.store(true, Ordering::SeqCst);
        let read: u64 = readers.into_iter().map(|reader| reader.join().expect("it read")).sum();
        assert!(read > 0 || rounds < 1_000, "nothing was read");
    });
    check(db).expect("it is right");
    for id in 0..FILLED {
        table.delete(id.to_le_bytes()).expect("a key");
    }
    check(db).expect("it is right");
}

#[test]
fn records_of_any_length_are_never_torn_in_a_hash() {
    in_memory(|db, rounds| {
        no_torn_fillings(db, rounds / 2, KeyKind::Hash);
        expect_few_pages(db);
    });
}

#[test]
fn records_of_any_length_are_never_torn_in_a_tree() {
    in_memory(|db, rounds| {
        no_torn_fillings(db, rounds / 2, KeyKind::Tree);
        expect_few_pages(db);
    });
}

/// Of a table that has become empty: those of its index, and those that threads were filling.
fn expect_few_pages(db: &Database) {
    let pages = db.statistics().page_bytes >> 14;
    assert!(pages <= 12, "{pages} pages are left of an empty table");
}

#[test]
fn records_of_any_length_in_a_directory_are_never_torn() {
    in_directories(|db, rounds| {
        no_torn_fillings(db, rounds / 3, KeyKind::Hash);
        db.drop_table("filled").expect("it is there");
        no_torn_fillings(db, rounds / 3, KeyKind::Tree);
    });
}

/// 8 threads write 3 records that are so long that each looks for a page by itself. None is lost of
/// the pages that another thread was quicker to use.
#[test]
fn pages_that_threads_looked_for_in_vain_are_used_by_others() {
    in_memory(|db, rounds| {
        let table = filled(db, KeyKind::Hash);
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let table = &table;
                scope.spawn(move || {
                    for round in 0..rounds {
                        let random = (round * 8 + thread).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                        let (id, size) = (random % 3, 4_200 + random / 8 % 6_000);
                        let values = [
                            Value::Unsigned(id),
                            Value::Unsigned(0),
                            Value::Bytes(&vec![1; size as usize]),
                            Value::Unsigned(0),
                            Value::Text(""),
                        ];
                        let record = table.schema().pack(&values).expect("they fit");
                        match round % 5 {
                            0 => drop(table.delete(id.to_le_bytes()).expect("a key")),
                            _ => drop(table.upsert(&record).expect("room")),
                        }
                    }
                });
            }
        });
        for id in 0..3u64 {
            table.delete(id.to_le_bytes()).expect("a key");
        }
        check(db).expect("it is right");
        expect_few_pages(db);
    });
}

/// 2 threads give long records other fillings by `change` and by `update`, 2 others each set the
/// marks of their own ones: every mark that was set is still there when the next one is.
fn no_lost_mark(db: &Database, rounds: u64, kind: KeyKind) {
    let table = filled(db, kind);
    for id in 0..FILLED {
        assert!(table.insert(&filled_record(&table, id, id)).expect("room"));
    }
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let table = &table;
            scope.spawn(move || {
                for round in 0..rounds {
                    let id = (round * 2 + thread) % FILLED;
                    set_mark(table, id, round + 1);
                }
            });
            scope.spawn(move || {
                for round in 0..rounds {
                    let id = (round * 5 + thread) % FILLED;
                    exchange_filling(table, id, round);
                }
            });
        }
    });
    check(db).expect("it is right");
}

/// Sets the mark of a record. No other thread does that.
fn set_mark(table: &Table, id: u64, mark: u64) {
    let (key, bytes) = (id.to_le_bytes(), mark.to_le_bytes());
    assert!(table.update(key, nth(3), &bytes).expect("a key"));
    for _ in 0..3 {
        let found = table
            .get(key)
            .map(|row| row.map(|row| row.at(nth(3)) == Value::Unsigned(mark)))
            .expect("a key");
        assert_eq!(found, Some(true), "a mark is lost");
    }
}

/// Gives a record another filling, and leaves its mark as it is.
fn exchange_filling(table: &Table, id: u64, round: u64) {
    let (key, filling) = (id.to_le_bytes(), vec![round as u8; 17_000 + round as usize % 20_000]);
    if round.is_multiple_of(3) {
        assert!(table.update(key, nth(2), &filling).expect("room"));
        return;
    }
    let schema = table.schema();
    let exchange = &mut |payload: &mut Vec<u8>| {
        let old = [&key[..], payload].concat();
        let row = schema.row(&old).expect("a record");
        let columns = [0, 1, 2, 3, 4].map(|column| match column {
            2 => Value::Bytes(&filling),
            _ => row.at(nth(column)),
        });
        *payload = schema.pack(&columns).expect("they fit").split_off(8);
        true
    };
    assert!(table.change(key, exchange).expect("room"));
}

#[test]
fn no_mark_of_a_long_record_is_lost_in_a_hash() {
    in_memory(|db, rounds| no_lost_mark(db, rounds / 3, KeyKind::Hash));
}

#[test]
fn no_mark_of_a_long_record_is_lost_in_a_tree() {
    in_memory(|db, rounds| no_lost_mark(db, rounds / 3, KeyKind::Tree));
}

#[test]
fn no_mark_of_a_long_record_is_lost_in_a_directory() {
    in_directories(|db, rounds| {
        no_lost_mark(db, rounds / 3, KeyKind::Hash);
        db.drop_table("filled").expect("it is there");
        no_lost_mark(db, rounds / 3, KeyKind::Tree);
    });
}

//! Many threads in few records: in memory, and in a directory of the real file system, where another
//! thread pushes pages out and makes checkpoints meanwhile.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use lode::simulation::{self, Simulated};
use lode::{
    Database, Durability, Error, KeyKind, Options, Row, Scan, Schema, Snapshot, Table, Type, Value,
};

/// As many rounds as this; `LODE_ROUNDS` asks for others.
fn rounds() -> u64 {
    std::env::var("LODE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(30_000)
}

/// Runs a test, and ends the process if it hangs.
fn watched(test: impl FnOnce()) {
    let (ended, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if end.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("a test has not ended after two minutes");
                std::process::abort();
            }
        });
        // Dropped however the test ends.
        let _ended = ended;
        test();
    });
}

fn in_memory(test: impl Fn(&Database, u64)) {
    let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
    watched(|| test(&db, rounds()));
}

/// Runs a test in directories, at several levels, with little memory and a short log, while another
/// thread reads and writes a table that does not fit into memory.
fn in_directories(test: impl Fn(&Database, u64)) {
    let levels = [(Durability::None, 10), (Durability::Process, 10), (Durability::Commit, 300)];
    for (level, less) in levels {
        let directory = tempfile::tempdir().expect("a directory");
        let options = Options::new()
            .memory_bytes(3 << 19)
            .log_bytes(1 << 20)
            .segment_bytes(1 << 18)
            .durability(level);
        let db = options.open(directory.path()).expect("an empty directory");
        let other = ballast(&db);
        let done = AtomicBool::new(false);
        watched(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| sweep(&db, &other, &done));
                // The other thread ends too when the test fails.
                let _stop = Stop(&done);
                test(&db, rounds() / less);
            });
        });
        drop(other);
        db.check().unwrap_or_else(|why| panic!("{level:?}: {why}"));
        db.close().expect("nothing is wrong with the directory");
        let db = options.open(directory.path()).expect("it was closed");
        db.check().unwrap_or_else(|why| panic!("{level:?}, opened again: {why}"));
    }
}

/// Sets what it names when it is dropped.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

const BALLAST: u64 = 600;

fn ballast(db: &Database) -> Table {
    let schema = Schema::build("ballast").key("at", Type::U64).column("rest", Type::Bytes(4000));
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let mut load = db.begin();
    for at in 0..BALLAST {
        if at % 20 == 19 {
            std::mem::replace(&mut load, db.begin()).commit().expect("nobody else is there");
        }
        load.insert(&table, &ballast_record(at, 0)).expect("it is noted");
    }
    load.commit().expect("nobody else is there");
    table
}

fn ballast_record(at: u64, round: u64) -> Vec<u8> {
    let rest = (0..500).flat_map(|word| (at ^ round ^ word).to_le_bytes());
    at.to_le_bytes().into_iter().chain(rest).collect()
}

/// Reads all records of the other table and writes some, until it is told to stop.
fn sweep(db: &Database, table: &Table, done: &AtomicBool) {
    let mut last = vec![0; BALLAST as usize];
    for round in 1.. {
        for at in 0..BALLAST {
            if done.load(Ordering::SeqCst) {
                return;
            }
            let found = table.payload(&at.to_le_bytes()).expect("it can be read");
            let wanted = ballast_record(at, last[at as usize]);
            assert!(found.as_deref() == Some(&wanted[8..]), "record {at} of the other table");
        }
        let at = round * 7 % BALLAST;
        table.upsert(&ballast_record(at, round)).expect("it can be written");
        last[at as usize] = round;
        match round % 3 {
            0 => db.compact().expect("nothing is wrong with the directory"),
            1 => db.checkpoint().expect("nothing is wrong with the directory"),
            _ => db.flush().expect("nothing is wrong with the directory"),
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"))
}

/// A record of 40 words that all say the same.
fn wide(db: &Database, kind: KeyKind) -> Table {
    let mut schema = Schema::build("wide").key("id", Type::U64);
    for at in 0..40 {
        schema = schema.column(&format!("w{at}"), Type::U64);
    }
    db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
}

fn wide_record(id: u64, word: u64) -> Vec<u8> {
    let words = std::iter::once(id).chain(std::iter::repeat_n(word, 40));
    words.flat_map(u64::to_le_bytes).collect()
}

/// 8 threads on 16 keys: every record that is read is whole, was written by somebody, and versions
/// never go back; what remains is what was written last.
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

/// Whether a record is all of one write, but for its mark, which is written by itself.
fn expect_whole(row: Row<'_>, next: &[AtomicU64]) {
    let [id, sum, filling, _, name] = [0, 1, 2, 3, 4].map(|column| row.at(column));
    let (Value::Unsigned(id), Value::Unsigned(sum), Value::Bytes(filling), Value::Text(name)) =
        (id, sum, filling, name)
    else {
        panic!("other columns: {row:?}");
    };
    let word = u64::from_str_radix(name, 16).expect("a number");
    assert!(word < next[id as usize].load(Ordering::SeqCst), "nobody has written it");
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
            0 => drop(table.delete(&key).expect("a key")),
            1 => drop(table.insert(&record()).expect("room")),
            2 | 3 => drop(table.update(&key, 3, &round.to_le_bytes()).expect("a key")),
            4 => {
                let payload = record().split_off(8);
                let exchange = &mut |old: &mut Vec<u8>| {
                    old.clone_from(&payload);
                    true
                };
                table.change(&key, exchange).expect("room");
            }
            _ => drop(table.upsert(&record()).expect("room")),
        }
    }
}

/// Reads records of any length in all ways, until it is told to stop.
fn look_at_filled(db: &Database, table: &Table, next: &[AtomicU64], done: &AtomicBool) -> u64 {
    let keys: Vec<u8> = (0..FILLED).flat_map(u64::to_le_bytes).collect();
    let (schema, mut count) = (table.schema(), 0);
    while !done.load(Ordering::SeqCst) {
        for key in keys.chunks(8) {
            let looked = table.with(key, |row| expect_whole(row, next)).expect("a key");
            count += u64::from(looked.is_some());
        }
        let found = &mut |at: usize, payload: Option<&[u8]>| {
            let Some(payload) = payload else { return };
            let record = [&keys[at * 8..][..8], payload].concat();
            expect_whole(schema.row(&record).expect("a record"), next);
        };
        table.get_many(&keys, found).expect("keys");
        let snapshot = db.snapshot();
        let each = || {
            let mut seen = Vec::new();
            let keep = &mut |record: &[u8]| {
                expect_whole(schema.row(record).expect("a record"), next);
                seen.push(record.to_vec());
                Ok(true)
            };
            snapshot.each(table, keep).expect("a snapshot");
            seen.sort_unstable();
            seen
        };
        let first = each();
        assert!(first == each(), "a snapshot stays what it is");
        if table.key_kind() == KeyKind::Tree {
            expect_scan(&snapshot, table, &first);
        }
    }
    count
}

/// Whether a backward scan of a snapshot finds these records.
fn expect_scan(snapshot: &Snapshot, table: &Table, records: &[Vec<u8>]) {
    let columns = &[2, 0];
    let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
    let scan = Scan { lower, upper, backward: true, columns, limit: u64::MAX };
    let mut rows = Vec::new();
    let keep = &mut |row: &[u8]| {
        rows.push(row.to_vec());
        Ok(true)
    };
    snapshot.scan(table, &scan, keep).expect("a snapshot");
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
    db.check().expect("it is right");
    for id in 0..FILLED {
        table.delete(&id.to_le_bytes()).expect("a key");
    }
    db.check().expect("it is right");
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

/// 8 threads write 3 records that are so long that each looks for a page by itself: of those that
/// somebody else was quicker to use, none is lost.
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
                            0 => drop(table.delete(&id.to_le_bytes()).expect("a key")),
                            _ => drop(table.upsert(&record).expect("room")),
                        }
                    }
                });
            }
        });
        for id in 0..3u64 {
            table.delete(&id.to_le_bytes()).expect("a key");
        }
        db.check().expect("it is right");
        expect_few_pages(db);
    });
}

/// 2 threads give long records other fillings by `change` and by `update`, 2 others each set the marks
/// of their own ones: every mark that was set is still there when the next one is.
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
    db.check().expect("it is right");
}

/// Sets the mark of a record, which nobody else does.
fn set_mark(table: &Table, id: u64, mark: u64) {
    let (key, bytes) = (id.to_le_bytes(), mark.to_le_bytes());
    assert!(table.update(&key, 3, &bytes).expect("a key"));
    for _ in 0..3 {
        let found = table.with(&key, |row| row.at(3) == Value::Unsigned(mark)).expect("a key");
        assert_eq!(found, Some(true), "a mark is lost");
    }
}

/// Gives a record another filling, and leaves its mark as it is.
fn exchange_filling(table: &Table, id: u64, round: u64) {
    let (key, filling) = (id.to_le_bytes(), vec![round as u8; 17_000 + round as usize % 20_000]);
    if round.is_multiple_of(3) {
        assert!(table.update(&key, 2, &filling).expect("room"));
        return;
    }
    let schema = table.schema();
    let exchange = &mut |payload: &mut Vec<u8>| {
        let old = [&key[..], payload].concat();
        let row = schema.row(&old).expect("a record");
        let columns = [0, 1, 2, 3, 4].map(|column| match column {
            2 => Value::Bytes(&filling),
            _ => row.at(column),
        });
        *payload = schema.pack(&columns).expect("they fit").split_off(8);
        true
    };
    assert!(table.change(&key, exchange).expect("room"));
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
    assert_eq!(sum, 8 * rounds);
    db.check().expect("it is right");
}

#[test]
fn no_update_is_lost_in_a_hash() {
    in_memory(|db, rounds| no_lost_update(db, rounds, KeyKind::Hash));
}

#[test]
fn no_update_is_lost_in_a_tree() {
    in_memory(|db, rounds| no_lost_update(db, rounds, KeyKind::Tree));
}

/// Threads insert and delete keys of their own among those of others, which splits and joins pages
/// under the eyes of readers who must find what is always there.
fn pages_split_under_readers(db: &Database, rounds: u64, kind: KeyKind) {
    let table = wide(db, kind);
    const FIXED: u64 = 200;
    for id in 0..FIXED {
        assert!(table.insert(&wide_record(id * 1_000, id)).expect("room"));
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 1..4u64 {
            let (table, done) = (&table, &done);
            scope.spawn(move || {
                for round in 0..(rounds / 3_000).max(1) {
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
        let (table, done) = (&table, &done);
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
    in_memory(|db, rounds| pages_split_under_readers(db, rounds, KeyKind::Hash));
}

#[test]
fn readers_find_records_while_leaves_split_and_join() {
    in_memory(|db, rounds| pages_split_under_readers(db, rounds, KeyKind::Tree));
}

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

#[test]
fn the_sum_of_all_accounts_stays() {
    in_memory(the_sum_stays);
}

#[test]
fn the_sum_of_all_accounts_stays_in_a_directory() {
    in_directories(the_sum_stays);
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
    let options = Options::new().memory_bytes(1 << 20).log_bytes(1 << 20).segment_bytes(1 << 18);
    let options = options.durability(Durability::Process);
    let db = options.open(directory.path()).expect("an empty directory");
    watched(|| {
        pages_split_under_readers(&db, rounds() / 10, KeyKind::Hash);
        db.drop_table("wide").expect("it is there");
        pages_split_under_readers(&db, rounds() / 10, KeyKind::Tree);
    });
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
                            let mut transaction = db.begin();
                            for id in [id, id + 1] {
                                let record = wide_record(id, round);
                                assert!(transaction.insert(table, &record).expect("it is noted"));
                            }
                            transaction.commit().expect("nobody else has these records");
                        } else {
                            assert!(table.insert(&wide_record(id, round)).expect("room"));
                        }
                    }
                });
            }
        });
    });
    db.check().expect("it is right");
    db.close().expect("nothing is wrong with the directory");
    let db = options.open(directory.path()).expect("it was closed");
    let table = db.table("wide").expect("it is there");
    let mut payload = vec![0; 320];
    for (thread, round) in (0..8).flat_map(|thread| (0..each).map(move |round| (thread, round))) {
        let id = (round * 8 + thread) * 2;
        for id in if round.is_multiple_of(3) { id..id + 2 } else { id..id + 1 } {
            assert!(table.get(&id.to_le_bytes(), &mut payload).expect("a key"), "{id}");
            assert!(payload.chunks(8).all(|word| number(word) == round));
        }
    }
}

/// While one thread compacts the data file, others write to the database and make checkpoints, which
/// have reserved the places that they need.
#[test]
fn compaction_leaves_checkpoints_the_places_that_they_need() {
    let options = Options::new().memory_bytes(1 << 20).durability(Durability::None);
    let db = simulation::open(&options, &Simulated::new(0), 0).expect("an empty disk");
    let table = ballast(&db);
    let done = AtomicBool::new(false);
    watched(|| {
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (db, table, done) = (&db, &table, &done);
                scope.spawn(move || {
                    let mut round = thread;
                    while !done.load(Ordering::SeqCst) {
                        round += 1;
                        for at in 0..3 {
                            let record = ballast_record((round * 31 + at * 97) % BALLAST, round);
                            table.upsert(&record).expect("room");
                        }
                        // Half of the data file is free now and then.
                        for at in (thread..BALLAST).step_by(2) {
                            match round % 4 {
                                0 => drop(table.delete(&at.to_le_bytes()).expect("a key")),
                                2 => drop(table.upsert(&ballast_record(at, round)).expect("room")),
                                _ => {}
                            }
                        }
                        db.checkpoint().expect("nothing is wrong with the disk");
                    }
                });
            }
            let _stop = Stop(&done);
            for _ in 0..rounds() / 30 {
                db.compact().expect("nothing is wrong with the disk");
            }
        });
    });
    db.check().expect("it is right");
}

/// Whoever checks the database holds nothing that a checkpoint waits for, not even if somebody else
/// waits to create or drop a table meanwhile.
#[test]
fn checks_checkpoints_and_new_tables_do_not_wait_for_each_other() {
    let options = Options::new().memory_bytes(4 << 20);
    let db = simulation::open(&options, &Simulated::new(0), 0).expect("an empty disk");
    let table = wide(&db, KeyKind::Tree);
    for id in 0..500 {
        table.insert(&wide_record(id, id)).expect("room");
    }
    let schema = Schema::build("passing").key("id", Type::U64).finish().expect("a schema");
    let done = AtomicBool::new(false);
    let until_done = |work: &dyn Fn()| {
        while !done.load(Ordering::SeqCst) {
            work();
        }
    };
    watched(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| until_done(&|| db.check().expect("it is right")));
            scope.spawn(|| until_done(&|| db.checkpoint().expect("nothing is wrong")));
            let _stop = Stop(&done);
            for _ in 0..rounds() / 30 {
                db.create_table(&schema, KeyKind::Hash).expect("a new table");
                db.drop_table("passing").expect("it is there");
            }
        });
    });
}

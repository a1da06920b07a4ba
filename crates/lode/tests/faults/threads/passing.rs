//! Long commits while others read.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::reading::check;
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type};

const ROUNDS: u64 = 5;

/// Sets all records to the number of a round, in one commit.
fn set_all(db: &Database, table: &Table, count: u64, round: u64) {
    let record = |id: u64| {
        // Some are in the heap, and change their length.
        let rest = vec![round as u8; (id % 3 * 60 + round * 7 % 50) as usize];
        let values = [lode::Value::Unsigned(id), lode::Value::Unsigned(round)];
        let values = [&values[..], &[lode::Value::Bytes(&rest)]].concat();
        table.schema().pack(&values).expect("it fits")
    };
    match round % 2 {
        0 => assert_eq!(table.upsert_all((0..count).map(record)), Ok(0)),
        _ => {
            let transaction = db.begin();
            (0..count).for_each(|id| {
                assert_eq!(transaction.upsert(table, &record(id)), Ok(true));
            });
            transaction.commit().expect("no other thread writes");
        }
    }
}

fn round_of(table: &impl ReadTable, id: u64) -> u64 {
    let row = table.get(id).expect("it is read").expect("it is there");
    match row.at(crate::reading::nth(1)) {
        lode::Value::Unsigned(round) => round,
        other => panic!("a round is a number, not {other:?}"),
    }
}

/// Checks that a reader sees a round again, or a newer one; and that a snapshot is of one round.
fn read_on(db: &Database, table: &Table, count: u64, is_done: &AtomicBool) {
    let (mut newest, mut at) = (0, 0);
    while !is_done.load(Ordering::Relaxed) {
        at = (at + 7_919) % count;
        let round = round_of(table, at);
        assert!(round >= newest, "{at} was of round {newest}, and then of {round}");
        newest = round;
        if at % 3 == 0 {
            let snapshot = db.snapshot();
            let view = table.at(&snapshot);
            let round = round_of(&view, at);
            assert!(round >= newest, "a snapshot of round {round} after {newest}");
            for id in (at % 31..count).step_by(count as usize / 31) {
                assert_eq!(round_of(&view, id), round, "a snapshot of two rounds");
            }
            newest = round;
        }
    }
}

/// Ends the readers, also when the writer has failed.
struct Done<'d>(&'d AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn run(db: &Database, kind: KeyKind, count: u64) {
    let schema = Schema::build("t").key("id", Type::U64).column("round", Type::U64);
    let schema = schema.column("rest", Type::VarBytes(200)).finish().expect("a schema");
    let table = db.create_table(&schema, kind).expect("room");
    let first = (0..count).map(|id| {
        let values = [lode::Value::Unsigned(id), lode::Value::Unsigned(0)];
        let values = [&values[..], &[lode::Value::Bytes(&[])]].concat();
        table.schema().pack(&values).expect("it fits")
    });
    assert_eq!(table.insert_all(first), Ok(count));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers = [(); 2].map(|()| scope.spawn(|| read_on(db, &table, count, &is_done)));
        let done = Done(&is_done);
        (1..ROUNDS).for_each(|round| set_all(db, &table, count, round));
        drop(done);
        readers.into_iter().for_each(|reader| reader.join().expect("it has seen nothing wrong"));
    });
    assert_eq!(db.statistics().snapshot_bytes, 0, "nothing is kept for no one");
    check(db).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn readers_beside_long_commits_see_each_as_a_whole_in_memory() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        run(&Database::in_memory().expect("memory"), kind, 66_000);
    }
}

#[test]
fn readers_beside_long_commits_see_each_as_a_whole_in_a_directory() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        // With little memory, pages come and go, and readers may have to wait.
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new().memory_bytes(16 << 20).durability(Durability::Process);
        run(&options.open(folder.path()).expect("a new database"), kind, 9_000);
    }
}

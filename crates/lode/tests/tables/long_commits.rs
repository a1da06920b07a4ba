//! Commits and records that the log takes piece by piece: they come back whole after a crash, or
//! not at all.

use crate::reading::{check, payload_of};
use crate::watched::watched;
use lode::simulation::{self, Fault, Simulated};
use lode::{Database, Durability, Error, KeyKind, Options, Schema, Table, Type, Value};

const MOST_BYTES: u32 = 700_000;

fn options() -> Options {
    let options = Options::new().durability(Durability::Commit).memory_bytes(64 << 20);
    options.segment_bytes(1 << 16).log_bytes(32 << 20)
}

fn table(db: &Database) -> Table {
    let schema = Schema::build("t").key("id", Type::U32).column("rest", Type::VarBytes(MOST_BYTES));
    let schema = schema.finish().expect("a schema");
    db.table("t").unwrap_or_else(|_| db.create_table(&schema, KeyKind::Hash).expect("room"))
}

fn record(table: &Table, id: u32, size: usize) -> Vec<u8> {
    let rest: Vec<u8> = (0..size).map(|at| (at ^ at >> 8 ^ id as usize) as u8).collect();
    table.schema().pack(&[Value::Unsigned(id.into()), Value::Bytes(&rest)]).expect("it fits")
}

fn expect(table: &Table, id: u32, size: usize) {
    let found = payload_of(&table, id.to_le_bytes()).expect("it can be read");
    assert!(found.as_deref() == Some(&record(table, id, size)[4..]), "{id} of {size} bytes");
}

/// Sizes around those at which an outcome is written in pieces, and at which a piece ends.
fn sizes() -> impl Iterator<Item = usize> {
    let around = |size: usize| (size - 40..size + 8).step_by(3);
    [1 << 13, 1 << 16, 1 << 18, 1 << 19].into_iter().flat_map(around).chain([1_000, 600_000])
}

fn after_power_cut(disk: &Simulated, db: Database, seed: u64) -> Database {
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    disk.crash(seed);
    simulation::open(&options(), disk, seed).expect("it is whole")
}

#[test]
fn long_records_come_back() {
    for (seed, size) in (1..).zip(sizes()) {
        for mapping in [false, true] {
            let disk = Simulated::new(seed);
            disk.set_mapping(mapping);
            let db = simulation::open(&options(), &disk, seed).expect("an empty disk");
            let one = table(&db);
            one.insert(&record(&one, 1, 10)).expect("room");
            one.insert(&record(&one, 2, size)).expect("room");
            one.insert(&record(&one, 3, 20)).expect("room");
            let db = after_power_cut(&disk, db, seed);
            let one = table(&db);
            [(1, 10), (2, size), (3, 20)].into_iter().for_each(|(id, size)| expect(&one, id, size));
            assert_eq!(check(&db), Ok(()));
        }
    }
}

#[test]
fn long_commits_come_back() {
    for (seed, size) in (1..).zip(sizes()) {
        let disk = Simulated::new(seed);
        let db = simulation::open(&options(), &disk, seed).expect("an empty disk");
        let one = table(&db);
        let transaction = db.begin();
        // Parts of all lengths: together a little more or less than the size.
        let each = size / 100;
        for id in 0..100 {
            transaction.insert(&one, &record(&one, id, each + id as usize % 7)).expect("room");
        }
        transaction.commit().expect("no other transaction runs");
        one.delete(7u32.to_le_bytes()).expect("it is there");
        let db = after_power_cut(&disk, db, seed);
        let one = table(&db);
        for id in (0..100).filter(|id| *id != 7) {
            expect(&one, id, each + id as usize % 7);
        }
        assert_eq!(payload_of(&one, 7u32.to_le_bytes()), Ok(None));
        assert_eq!(check(&db), Ok(()));
    }
}

/// The power goes before the commit is promised: any of its sectors may be there.
#[test]
fn a_long_commit_is_there_as_a_whole_or_not_at_all() {
    let (mut there, mut gone) = (0, 0);
    for seed in 0..60 {
        let disk = Simulated::new(seed);
        let level = if seed % 2 == 0 { Durability::Process } else { Durability::Periodic };
        let options = options().durability(level);
        let db = simulation::open(&options, &disk, seed).expect("an empty disk");
        let one = table(&db);
        db.flush().expect("nothing is wrong");
        let transaction = db.begin();
        for id in 0..30 {
            transaction.insert(&one, &record(&one, id, 10_000)).expect("room");
        }
        transaction.commit().expect("no other transaction runs");
        let db = after_power_cut(&disk, db, seed);
        let one = table(&db);
        let found = (0..30u32).filter(|id| {
            let there = payload_of(&one, id.to_le_bytes()).expect("it can be read").is_some();
            if there {
                expect(&one, *id, 10_000);
            }
            there
        });
        match found.count() {
            0 => gone += 1,
            30 => there += 1,
            some => panic!("{some} records of 30, seed {seed}"),
        }
        assert_eq!(check(&db), Ok(()));
    }
    // A commit of that length has many sectors, and nearly always one is lost.
    assert!(gone > 0, "{there} there, {gone} gone");
}

/// A commit changes more pages than the memory with which it is opened after a crash has room for.
/// That is an error at once, and not damage: with more memory it is all there.
#[test]
fn a_commit_of_more_pages_than_memory_is_refused_by_name() {
    watched(|| {
        let disk = Simulated::new(1);
        let db = simulation::open(&options(), &disk, 1).expect("an empty disk");
        let one = table(&db);
        for id in 0..4_000 {
            one.insert(&record(&one, id, 2_000)).expect("room");
        }
        db.checkpoint().expect("space");
        let transaction = db.begin();
        // One of each page.
        for id in (0..4_000).step_by(7) {
            transaction.upsert(&one, &record(&one, id, 1_999)).expect("room");
        }
        transaction.commit().expect("no other transaction runs");
        drop(one);
        disk.fail(Fault::Crash { at: disk.operations() });
        drop(db);
        disk.crash(0);
        for bytes in [1 << 20, 2 << 20, 4 << 20] {
            let opened = simulation::open(&options().memory_bytes(bytes), &disk.fork(), 2);
            assert!(matches!(opened.map(drop), Err(Error::Full { .. })), "{bytes} bytes");
        }
        let db = simulation::open(&options(), &disk, 3).expect("it is whole");
        expect(&table(&db), 0, 1_999);
        assert_eq!(check(&db), Ok(()));
    });
}

//! Commits and records that the log takes piece by piece: they come back whole after a crash, or
//! not at all.

use crate::reading::{check, payload_of};
use crate::watched::watched;
use lode::simulation::{self, Fault, Mapping, Simulated};
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type, Value};

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
        for mapping in Mapping::ALL {
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
/// Whether that has room for them or not, all of it is there.
#[test]
fn a_commit_of_more_pages_than_memory_comes_back() {
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
        let expect_all = |disk: &Simulated, bytes: u64| {
            let options = options().memory_bytes(bytes);
            let db = simulation::open(&options, disk, 2).expect("it is whole");
            let one = table(&db);
            for id in 0..4_000 {
                expect(&one, id, if id % 7 == 0 { 1_999 } else { 2_000 });
            }
            assert_eq!(check(&db), Ok(()), "{bytes} bytes");
        };
        for bytes in [1 << 20, 2 << 20, 4 << 20, 64 << 20] {
            expect_all(&disk.fork(), bytes);
        }
        // The power fails while pages are cleaned in the middle of the commit.
        for at in 1.. {
            let disk = disk.fork();
            disk.fail(Fault::Crash { at: disk.operations() + at * 61 });
            let opened = simulation::open(&options().memory_bytes(1 << 20), &disk, 3);
            let is_over = opened.is_ok();
            drop(opened);
            disk.crash(at);
            expect_all(&disk, if at % 2 == 0 { 1 << 20 } else { 64 << 20 });
            if is_over {
                assert!(at > 5, "it was not interrupted");
                return;
            }
        }
    });
}

/// A commit of records each of which has a large part of the memory's pages.
#[test]
fn a_commit_of_long_records_comes_back_with_less_memory() {
    const BYTES: usize = 690_000;
    let disk = Simulated::new(1);
    let db = simulation::open(&options(), &disk, 1).expect("an empty disk");
    let one = table(&db);
    let transaction = db.begin();
    for id in 0..20 {
        assert_eq!(transaction.insert(&one, &record(&one, id, BYTES)), Ok(true));
    }
    transaction.commit().expect("no other transaction runs");
    drop(one);
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    disk.crash(0);
    let open = |bytes| simulation::open(&options().memory_bytes(bytes), &disk.fork(), 2);
    for bytes in [1 << 20, 3 << 19, 2 << 20, 4 << 20, 64 << 20] {
        let db = open(bytes).unwrap_or_else(|error| panic!("{bytes} bytes: {error}"));
        (0..20).for_each(|id| expect(&table(&db), id, BYTES));
        assert_eq!(check(&db), Ok(()), "{bytes} bytes");
    }
}

/// If a commit has deleted a record, full leaves are split, and take two pages. When it is
/// replayed, leaves that have become full give records to both neighbours first, which makes four.
#[test]
fn a_commit_comes_back_that_changes_more_pages_when_it_is_replayed() {
    const LEAVES: u64 = 186;
    /// Records that fill a leaf.
    const FULL: u64 = 16;
    let options = Options::new().memory_bytes(4 << 20).durability(Durability::Process);
    let disk = Simulated::new(1);
    let db = simulation::open(&options, &disk, 1).expect("an empty disk");
    let schema = Schema::build("t").key("id", Type::U64).column("rest", Type::Bytes(1_000));
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("space");
    let record = |id: u64, value: u8| {
        let values = [Value::Unsigned(id), Value::Bytes(&[value; 1_000])];
        schema.pack(&values).expect("it fits")
    };
    let id = |leaf: u64, at: u64| (FULL / 2 + leaf * FULL + at) * 1_000;
    // The first leaf is half full when it is split.
    (0..FULL / 2).for_each(|at| assert_eq!(table.insert(&record(at * 1_000, 0)), Ok(true)));
    for leaf in 0..LEAVES {
        (0..FULL).for_each(|at| assert_eq!(table.insert(&record(id(leaf, at), 0)), Ok(true)));
    }
    for leaf in (0..LEAVES).filter(|leaf| leaf % 3 != 1) {
        [5, 6, 8].into_iter().for_each(|at| assert_eq!(table.delete(id(leaf, at)), Ok(true)));
    }
    db.checkpoint().expect("space");
    // What is replayed before the commit brings all leaves into memory.
    for leaf in 0..LEAVES {
        assert_eq!(table.upsert(&record(id(leaf, 0), 1)), Ok(true));
        if leaf % 40 == 39 {
            simulation::clean_pages(&db, 1_000).expect("space");
        }
    }
    simulation::clean_pages(&db, 1_000).expect("space");
    let transaction = db.begin();
    assert_eq!(transaction.delete(&table, 2_000u64), Ok(true));
    for leaf in (0..LEAVES).filter(|leaf| leaf % 3 == 1) {
        for at in 1..=5 {
            let new = record(id(leaf, 7) + at, 2);
            assert_eq!(transaction.insert(&table, &new), Ok(true));
        }
    }
    transaction.commit().expect("its pages fit into memory");
    let count = table.len().expect("it can be counted");
    drop(table);
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    disk.heal();
    let db = simulation::open(&options, &disk, 2).expect("its log is replayed");
    assert_eq!(db.table("t").expect("it is there").len(), Ok(count));
    assert_eq!(check(&db), Ok(()));
}

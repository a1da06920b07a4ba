//! Limits of what a user gives or causes (`DESIGN.md`, "Limits"): the most is taken, one more is
//! refused by its error, and nothing has changed.

use lode::simulation::{self, Simulated};
use lode::{Database, Durability, Error, KeyKind, MOST_NAME_BYTES, Options, Schema, Type};

/// A schema with as many bytes of names as there can be.
fn wide(table: &str) -> Schema {
    let name = |at: usize| format!("{at:0MOST_NAME_BYTES$}");
    let builder = Schema::build(table).key(&name(0), Type::U8);
    let add = |builder: lode::Builder, at: usize| builder.column(&name(at), Type::U8);
    (1..4096).fold(builder, add).finish().expect("the most columns with the longest names")
}

/// The definitions of all tables are bounded, so the catalogue always has its pages: what is
/// created can be opened again.
#[test]
fn tables_that_the_catalogue_has_no_room_for_are_refused() {
    let disk = Simulated::new(1);
    let options = Options::new().memory_bytes(64 << 20).durability(Durability::Process);
    let open = || simulation::open(&options, &disk, 1).expect("nothing is wrong with the disk");
    let db = open();
    let create = |db: &Database, name: &str| db.create_table(&wide(name), KeyKind::Tree).map(drop);
    let mut count = 0;
    let refused = loop {
        match create(&db, &format!("t{count}")) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
        assert!(count < 100, "no end");
    };
    assert_eq!(refused, Error::CatalogueFull { most_bytes: 64 << 20 });
    // A definition has a little more than a mebibyte.
    assert!(count > 55, "{count} tables");
    let before = disk.operations();
    assert_eq!(create(&db, "more"), Err(Error::CatalogueFull { most_bytes: 64 << 20 }));
    assert_eq!((disk.operations(), db.table_names().len()), (before, count));
    // A small one still fits, and so does a large one after another has gone.
    let small = Schema::build("small").key("id", Type::U8).finish().expect("a schema");
    db.create_table(&small, KeyKind::Hash).expect("room");
    db.drop_table("t0").expect("it is there");
    create(&db, "more").expect("room again");
    let names = db.table_names();
    db.close().expect("nothing is wrong with the disk");
    let db = open();
    assert_eq!(db.table_names(), names);
    assert_eq!(create(&db, "again"), Err(Error::CatalogueFull { most_bytes: 64 << 20 }));
    db.drop_table("t1").expect("it is there");
    create(&db, "again").expect("room");
    assert!(db.check().expect("it is open").is_sound());
}

/// However much data there is, the log has no more bytes than was said, but for one segment and one
/// commit.
#[test]
fn the_log_is_as_long_as_it_may_be_however_much_data_there_is() {
    const LOG_BYTES: u64 = 1 << 20;
    const SEGMENT_BYTES: u64 = 1 << 16;
    let disk = Simulated::new(1);
    let options = Options::new().memory_bytes(64 << 20).durability(Durability::Process);
    let options = options.log_bytes(LOG_BYTES).segment_bytes(SEGMENT_BYTES);
    let db = simulation::open(&options, &disk, 1).expect("an empty disk");
    let schema = Schema::build("t").key("id", Type::U32).column("rest", Type::Bytes(1_000));
    let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Hash).expect("room");
    let record = |id: u32| {
        let mut record = [7; 1_004];
        record[..4].copy_from_slice(&id.to_le_bytes());
        record
    };
    let expect = |most_bytes: u64| {
        let log_bytes = db.statistics().log_bytes;
        assert!(log_bytes <= most_bytes, "{log_bytes} bytes of {most_bytes}");
    };
    for id in 0..16_000 {
        table.upsert(&record(id)).expect("room");
        expect(LOG_BYTES + SEGMENT_BYTES);
    }
    assert!(db.statistics().data_used_bytes > 12 * LOG_BYTES);
    // Half of the records once more, at once.
    const COMMIT_BYTES: u64 = 8_000 * 1_100;
    table.upsert_all((0..8_000).map(record)).expect("room");
    expect(LOG_BYTES + SEGMENT_BYTES + COMMIT_BYTES);
    table.upsert(&record(0)).expect("room");
    expect(LOG_BYTES + SEGMENT_BYTES);
    // The least there can be of it.
    let options = options.log_bytes(0);
    db.close().expect("nothing is wrong with the disk");
    let db = simulation::open(&options, &disk, 2).expect("it was closed");
    let table = db.table("t").expect("it is there");
    for id in 0..200 {
        table.upsert(&record(id)).expect("room");
        assert!(db.statistics().log_bytes <= (64 << 10) + SEGMENT_BYTES);
    }
}

/// Memory for 256 pages.
const BUDGET_BYTES: u64 = 4 << 20;

fn rows(db: &Database, kind: KeyKind) -> (lode::Table, impl Fn(u32, u8) -> Vec<u8>) {
    let schema = Schema::build("rows").key("id", Type::U32).column("rest", Type::Bytes(1_000));
    let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("room");
    let record = |id: u32, value: u8| [&id.to_le_bytes()[..], &[value; 1_000]].concat();
    (table, record)
}

/// Checks the parts of a database's budget: pages, their images for snapshots, and transactions.
fn expect_within_budget(db: &Database) {
    /// Images of a snapshot that may be there however little memory is left, and those that have
    /// expired and go with the next ones.
    const SLACK_BYTES: u64 = 2 << 20;
    let held = db.statistics();
    let all_bytes = held.page_bytes + held.snapshot_bytes + held.transaction_bytes;
    assert!(all_bytes <= BUDGET_BYTES + SLACK_BYTES, "{held:?}");
}

/// A hundred snapshots are kept while all pages change, and transactions are held with them.
#[test]
fn pages_snapshots_and_transactions_have_one_budget() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let disk = Simulated::new(1);
        let options = Options::new().memory_bytes(BUDGET_BYTES).durability(Durability::Process);
        let db = simulation::open(&options, &disk, 1).expect("an empty disk");
        let (table, record) = rows(&db, kind);
        let (mut snapshots, mut transactions, mut refused) = (Vec::new(), Vec::new(), 0);
        for id in 0..12_000u32 {
            table.upsert(&record(id.wrapping_mul(2_654_435_761) % 8_000, 1)).expect("room");
            if id % 100 == 0 {
                snapshots.push(db.snapshot());
                let transaction = db.begin();
                let all = (0..40).try_for_each(|at| {
                    transaction.upsert(&table, &record(at * 200 + id / 100, 2)).map(drop)
                });
                match all {
                    Ok(()) => transactions.push(transaction),
                    Err(Error::TxnTooLarge { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            expect_within_budget(&db);
        }
        assert!(refused > 0 && !transactions.is_empty(), "{refused} were refused");
        assert!(db.statistics().transaction_bytes > BUDGET_BYTES / 4);
        drop(transactions);
        assert_eq!(db.statistics().transaction_bytes, 0);
        drop(snapshots);
        assert_eq!(db.statistics().snapshot_bytes, 0);
        assert!(db.check().expect("it is open").is_sound());
    }
}

/// A transaction of new records is refused at the statement with which it would be too large, and
/// what was taken before can be committed.
#[test]
fn a_transaction_of_new_records_is_refused_at_the_statement_and_not_at_its_commit() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        for is_in_memory in [false, true] {
            let options = Options::new().memory_bytes(BUDGET_BYTES).durability(Durability::Process);
            let db = match is_in_memory {
                true => options.in_memory().expect("memory"),
                false => simulation::open(&options, &Simulated::new(1), 1).expect("an empty disk"),
            };
            let (table, record) = rows(&db, kind);
            let transaction = db.begin();
            let mut count = 0;
            let refused = loop {
                match transaction.insert(&table, &record(count, 7)) {
                    Ok(is_new) => assert!(is_new),
                    Err(error) => break error,
                }
                expect_within_budget(&db);
                count += 1;
            };
            let case = format!("{kind:?}, in memory: {is_in_memory}, {count} records");
            let Error::TxnTooLarge { most_bytes } = refused else { panic!("{case}: {refused}") };
            assert!((most_bytes as u64) < BUDGET_BYTES, "{case}: {most_bytes}");
            assert!(count > 700, "{case}");
            transaction.commit().unwrap_or_else(|why| panic!("{case}: {why}"));
            assert_eq!(lode::ReadTable::len(&table), Ok(count.into()), "{case}");
        }
    }
}

/// Each record changes a page of its own, of which more are changed than memory has room for. The
/// statement is refused that would change the first one too many.
#[test]
fn a_transaction_that_changes_too_many_pages_is_refused_at_the_statement() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let options = Options::new().memory_bytes(BUDGET_BYTES).durability(Durability::Process);
        let db = simulation::open(&options, &Simulated::new(1), 1).expect("an empty disk");
        let (table, record) = rows(&db, kind);
        for id in 0..16_000 {
            table.upsert(&record(id, 1)).expect("room");
        }
        // So that no leaf is full, and none is split.
        for id in (0..16_000u32).filter(|id| id % 4 == 3) {
            table.delete(id).expect("a key");
        }
        let transaction = db.begin();
        let mut count = 0;
        let refused = loop {
            // Far from each other in a tree, and in no order in a hash.
            match transaction.upsert(&table, &record(count * 7_919 % 4_000 * 4, 2)) {
                Ok(was_there) => assert!(was_there),
                Err(error) => break error,
            }
            count += 1;
        };
        assert!(matches!(refused, Error::TxnTooLarge { .. }), "{kind:?}: {refused}");
        let held = db.statistics().transaction_bytes;
        assert!(
            held < BUDGET_BYTES / 4,
            "{kind:?}: refused for its pages, not for its {held} bytes"
        );
        transaction.commit().unwrap_or_else(|why| panic!("{kind:?}, {count} records: {why}"));
        expect_within_budget(&db);
    }
}

/// A point costs memory, and so do what is read and what cursors copy of a transaction: they are
/// part of what it holds.
#[test]
fn what_a_transaction_reads_its_points_and_its_cursors_count() {
    let options = Options::new().memory_bytes(BUDGET_BYTES);
    let db = options.in_memory().expect("memory");
    let (table, record) = rows(&db, KeyKind::Tree);
    for id in 0..1_500 {
        table.upsert(&record(id, 1)).expect("room");
    }
    let too_large = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::TxnTooLarge { .. })), "{result:?}");
    };
    let transaction = db.begin();
    let within = table.within(&transaction);
    let read_all = || (0..1_500u32).try_for_each(|id| lode::ReadTable::get(&within, id).map(drop));
    assert_eq!(read_all(), Ok(()), "a transaction that only reads needs no notes");
    assert!(db.statistics().transaction_bytes < 1 << 20, "what was read is not held");
    too_large(transaction.upsert(&table, &record(1, 2)).map(drop));
    assert_eq!(read_all(), Ok(()));
    drop(transaction);

    let transaction = db.begin();
    transaction.upsert(&table, &record(1_500, 2)).expect("room");
    let within = table.within(&transaction);
    too_large((0..1_500u32).try_for_each(|id| lode::ReadTable::get(&within, id).map(drop)));
    drop(transaction);

    let transaction = db.begin();
    for _ in 0..1 << 17 {
        transaction.savepoint();
    }
    too_large(transaction.upsert(&table, &record(1, 2)).map(drop));
    drop(transaction);

    let transaction = db.begin();
    for id in 0..200 {
        transaction.upsert(&table, &record(id, 2)).expect("room");
    }
    let before = db.statistics().transaction_bytes;
    let within = table.within(&transaction);
    let cursors: Vec<_> = (0..10).map(|_| lode::ReadTable::iter(&within)).collect();
    assert!(db.statistics().transaction_bytes > before + (200 << 10), "copies are held");
    let mut refused = 0;
    for mut cursor in cursors {
        refused += u32::from(matches!(cursor.next_row(), Err(Error::TxnTooLarge { .. })));
    }
    assert!(refused > 0);
    drop(transaction);
    assert_eq!(db.statistics().transaction_bytes, 0);

    // Records that are written together are held as a transaction's are.
    too_large(table.upsert_all((0..2_000).map(|id| record(id, 3))).map(drop));
    assert_eq!(db.statistics().transaction_bytes, 0);
    let first = lode::ReadTable::get(&table, 0u32).expect("it can be read").expect("it is there");
    assert_eq!(first.payload()[0], 1, "nothing was written");
}

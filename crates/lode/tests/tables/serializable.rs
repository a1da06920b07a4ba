//! What a transaction has read and scanned is looked at again by its commit, and all of it is of
//! one moment.

use std::collections::BTreeMap;

use lode::{Cursor, Value};
use lode::{
    Database, Error, KeyKind, Options, ReadTable, Result, Schema, Table, Transaction, Type,
};

/// The number of records, which fill many pages.
const COUNT: u32 = 3_000;

/// A way to store records: with their keys, or in a heap, with pieces or without.
const RESTS: [(Type, usize); 4] = [
    (Type::Bytes(60), 60),
    (Type::Bytes(1_500), 1_500),
    (Type::VarBytes(400), 90),
    (Type::VarBytes(40_000), 150),
];

struct World {
    db: Database,
    table: Table,
    other: Table,
    kind: KeyKind,
    size: usize,
}

impl World {
    fn new(kind: KeyKind, (rest, size): (Type, usize)) -> Self {
        let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
        let schema = |name| {
            let schema = Schema::build(name).key("id", Type::U32).column("rest", rest).finish();
            schema.expect("a schema")
        };
        let table = db.create_table(&schema("t"), kind).expect("room");
        let other = db.create_table(&schema("other"), kind).expect("room");
        let world = Self { db, table, other, kind, size };
        let records = (0..COUNT).map(|id| world.record(2 * id, 1));
        assert_eq!(world.table.insert_all(records), Ok(u64::from(COUNT)));
        world
    }

    /// All kinds of tables.
    fn all() -> impl Iterator<Item = Self> {
        let kinds = [KeyKind::Hash, KeyKind::Tree].into_iter();
        kinds.flat_map(|kind| RESTS.map(|rest| Self::new(kind, rest)))
    }

    fn record(&self, id: u32, byte: u8) -> Vec<u8> {
        let rest = vec![byte; self.size];
        let record = self.table.schema().pack(&[Value::Unsigned(id.into()), Value::Bytes(&rest)]);
        record.expect("it fits")
    }

    fn put(&self, id: u32, byte: u8) {
        self.table.upsert(&self.record(id, byte)).expect("room");
    }

    fn delete(&self, id: u32) {
        assert_eq!(self.table.delete(id), Ok(true));
    }

    /// Commits a transaction that also writes something else; returns true if it was refused.
    fn is_refused(&self, transaction: Transaction) -> bool {
        let written = transaction.upsert(&self.other, &self.record(1, 1)).map(drop);
        match written.and_then(|()| transaction.commit()) {
            Ok(()) => false,
            Err(Error::Conflict { .. }) => true,
            Err(error) => panic!("{error}"),
        }
    }

    /// Scans in a transaction, has another writer change something, and returns true if the commit
    /// was refused.
    fn is_conflict(
        &self,
        scan: impl Fn(&lode::TableWithin<'_>) -> Result<()>,
        change: impl Fn(&Self),
    ) -> bool {
        let transaction = self.db.begin();
        scan(&self.table.within(&transaction)).expect("it is read");
        change(self);
        self.is_refused(transaction)
    }
}

fn drain(mut cursor: Cursor) -> Result<()> {
    cursor.try_for_each(|row| row.map(drop))
}

#[test]
fn what_a_whole_scan_has_read_is_checked_at_the_commit() {
    for world in World::all() {
        let whole = |within: &lode::TableWithin<'_>| drain(within.iter());
        type Change = fn(&World);
        let changes: [(&str, bool, Change); 7] = [
            ("nothing", false, |_| {}),
            ("an update", true, |world| world.put(2_000, 2)),
            ("an insert", true, |world| world.put(2_001, 2)),
            ("an insert at the end", true, |world| world.put(2 * COUNT, 2)),
            ("a deletion", true, |world| world.delete(4_000)),
            ("the same again", false, |world| {
                let before = world.table.get(10).expect("a key").expect("a record").into_bytes();
                world.delete(10);
                world.table.insert(&before).map(drop).expect("room");
            }),
            ("what was there before", false, |world| {
                world.put(5_001, 1);
                world.delete(5_001);
            }),
        ];
        for (what, is_one, change) in changes {
            let subject = format!("{:?}, {}: {what}", world.kind, world.size);
            assert_eq!(world.is_conflict(whole, change), is_one, "{subject}");
        }
    }
}

#[test]
fn changes_of_pages_that_leave_the_records_as_they_are_conflict_with_no_scan() {
    for world in World::all() {
        let subject = format!("{:?}, {}", world.kind, world.size);
        let split_and_join = |world: &World| {
            let more = || (0..COUNT).map(|id| 2 * id + 1);
            let records = more().map(|id| world.record(id, 3));
            assert_eq!(world.table.insert_all(records), Ok(u64::from(COUNT)));
            more().for_each(|id| world.delete(id));
            world.db.compact().expect("it is compacted");
        };
        assert!(!world.is_conflict(|within| drain(within.iter()), split_and_join), "{subject}");
        let longer = |world: &World| {
            let before = world.table.get(100).expect("a key").expect("a record").into_bytes();
            world.put(100, 9);
            world.table.upsert(&before).map(drop).expect("room");
        };
        assert!(!world.is_conflict(|within| drain(within.iter()), longer), "{subject}");
        let and_one_more = |world: &World| {
            split_and_join(world);
            world.put(1, 1);
        };
        assert!(world.is_conflict(|within| drain(within.iter()), and_one_more), "{subject}");
    }
}

#[test]
fn a_scan_of_a_range_is_checked_as_far_as_it_has_read() {
    for rest in RESTS {
        let world = World::new(KeyKind::Tree, rest);
        type Scan = fn(&lode::TableWithin<'_>) -> Result<()>;
        let scans: [(&str, Scan, std::ops::RangeInclusive<u32>); 8] = [
            ("a range", |within| drain(within.range(1_000..2_000u32)), 1_000..=1_999),
            ("backward", |within| drain(within.range(1_000..2_000u32).rev()), 1_000..=1_999),
            ("without a record", |within| drain(within.range(1_001..=1_001u32)), 1_001..=1_001),
            ("beyond all", |within| drain(within.range(9_000u32..)), 9_000..=u32::MAX),
            ("the first", |within| drain(within.range(501u32..).limit(1)), 501..=502),
            ("the last", |within| drain(within.range(..=501u32).rev().limit(1)), 500..=501),
            (
                "some rows",
                |within| {
                    let mut rows = within.range(1_000u32..);
                    (0..10).try_for_each(|_| rows.next_row().map(drop))
                },
                1_000..=1_018,
            ),
            (
                "two times",
                |within| {
                    let mut rows = within.range(1_000u32..1_500);
                    rows.next_row()?;
                    let mut rows = rows.rev();
                    rows.next_row().map(drop)
                },
                0..=u32::MAX,
            ),
        ];
        for (what, scan, seen) in scans {
            for at in [0, 1, 499, 500, 501, 502, 503, 999, 1_000, 1_001, 1_018, 1_019, 1_999, 2_001]
                .into_iter()
                .chain([5_999, 9_000, 9_001])
            {
                let change = |world: &World| match world.table.contains(at) {
                    Ok(true) => world.put(at, 7),
                    _ => world.put(at, 1),
                };
                let is_conflict = world.is_conflict(scan, change);
                let size = world.size;
                assert_eq!(is_conflict, seen.contains(&at), "{size}, {what}: {at}");
                match at {
                    _ if at % 2 == 0 && at < 2 * COUNT => world.put(at, 1),
                    _ => world.delete(at),
                }
            }
        }
    }
}

#[test]
fn the_number_of_records_is_checked_and_no_more() {
    for world in World::all() {
        let subject = format!("{:?}, {}", world.kind, world.size);
        let len = |within: &lode::TableWithin<'_>| {
            assert_eq!(within.len(), Ok(u64::from(COUNT)));
            Ok(())
        };
        assert!(!world.is_conflict(len, |world| world.put(8, 8)), "{subject}");
        let other = |world: &World| {
            world.delete(8);
            world.put(9, 9);
        };
        assert!(!world.is_conflict(len, other), "{subject}");
        let one_more = |world: &World| world.put(8, 8);
        assert!(world.is_conflict(len, one_more), "{subject}");
    }
}

#[test]
fn an_empty_table_is_checked_for_the_first_record() {
    for world in World::all() {
        let transaction = world.db.begin();
        let within = world.other.within(&transaction);
        assert_eq!(within.is_empty(), Ok(true));
        world.other.insert(&world.record(7, 7)).expect("room");
        assert!(world.is_refused(transaction));
    }
}

#[test]
fn a_transaction_that_scans_and_writes_and_scans_again_sees_and_keeps_its_writes() {
    for world in World::all() {
        let subject = format!("{:?}, {}", world.kind, world.size);
        let transaction = world.db.begin();
        let within = world.table.within(&transaction);
        let contents = || {
            let mut found = BTreeMap::new();
            for row in within.iter() {
                let row = row.expect("a row");
                let (Some(Value::Unsigned(id)), Some(Value::Bytes(rest))) =
                    (row.get("id"), row.get("rest"))
                else {
                    panic!("another schema");
                };
                found.insert(id as u32, rest[0]);
            }
            found
        };
        let before = contents();
        transaction.upsert(&world.table, &world.record(4, 5)).expect("room");
        transaction.insert(&world.table, &world.record(5, 5)).expect("room");
        transaction.delete(&world.table, 6).expect("a key");
        let mut expected = before;
        expected.extend([(4, 5), (5, 5)]);
        expected.remove(&6);
        assert_eq!(contents(), expected, "{subject}");
        assert_eq!(within.len(), Ok(expected.len() as u64), "{subject}");
        let point = transaction.savepoint();
        transaction.delete(&world.table, 8).expect("a key");
        transaction.roll_back_to(&point);
        assert_eq!(contents(), expected, "{subject}");
        assert_eq!(transaction.commit(), Ok(()), "{subject}");
        assert_eq!(world.table.len(), Ok(expected.len() as u64), "{subject}");
    }
}

#[test]
fn what_was_read_is_checked_though_all_writes_were_undone() {
    for world in World::all() {
        for undo in [Transaction::roll_back_all, |transaction: &Transaction| {
            let point = transaction.savepoint();
            transaction.roll_back_to(&point);
        }] {
            let transaction = world.db.begin();
            let within = world.table.within(&transaction);
            drain(within.iter().limit(10)).expect("it is read");
            assert!(within.get(20).expect("a key").is_some());
            transaction.upsert(&world.table, &world.record(30, 30)).expect("room");
            undo(&transaction);
            world.put(20, 21);
            assert!(world.is_refused(transaction));
            world.put(20, 1);
        }
    }
}

/// Two transactions that each read what the other one writes: one of them is refused.
#[test]
fn no_write_skew_comes_from_scans() {
    for world in World::all() {
        let [first, second] = [1, 3].map(|id| {
            let transaction = world.db.begin();
            assert_eq!(world.table.within(&transaction).iter().count(), COUNT as usize);
            transaction.insert(&world.table, &world.record(id, 1)).expect("room");
            transaction
        });
        assert_eq!(first.commit(), Ok(()));
        assert!(matches!(second.commit(), Err(Error::Conflict { .. })));
    }
}

/// After a change of what was read, a read fails, or comes from the moment before it.
#[test]
fn all_reads_are_of_one_moment() {
    for world in World::all() {
        for reads in [1, 5, 8, 9, 30] {
            for is_read in [true, false] {
                let transaction = world.db.begin();
                let within = world.table.within(&transaction);
                let first = |id: u32| {
                    let row = within.get(id)?.expect("it is there");
                    let Some(Value::Bytes(rest)) = row.get("rest") else { panic!("no column") };
                    Ok::<u8, Error>(rest[0])
                };
                for id in 0..reads {
                    assert_eq!(first(2 * id), Ok(1));
                }
                let changed = if is_read { 2 * (reads - 1) } else { 1_000 };
                world.put(changed, 2);
                world.put(1_002, 2);
                let found = first(1_002);
                match &found {
                    Err(Error::Conflict { .. }) if is_read => {
                        assert!(world.is_refused(transaction), "it has met a change");
                    }
                    // Nothing that it had read has changed: it may still read after the change, all
                    // of it.
                    Ok(2) if !is_read => {
                        assert_eq!(first(1_000), Ok(2), "{reads}");
                        assert!(!world.is_refused(transaction));
                    }
                    other => panic!("{:?}, {reads}, {is_read}: {other:?}", world.kind),
                }
                world.put(changed, 1);
                world.put(1_002, 1);
            }
        }
    }
}

/// One thread writes the same number into several records, again and again, and another one has
/// readers look again at what they have read.
#[test]
fn reads_are_of_one_moment_while_others_commit() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let ids = [2, 1_000, 3_000, 5_000];
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let world = World::new(kind, RESTS[0]);
        let has_ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in (0..=u8::MAX).cycle() {
                    let transaction = world.db.begin();
                    for id in ids {
                        let record = world.record(id, number);
                        transaction.upsert(&world.table, &record).expect("room");
                    }
                    transaction.commit().expect("nobody else writes");
                    if has_ended.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            scope.spawn(|| {
                while !has_ended.load(Ordering::Relaxed) {
                    world.other.upsert(&world.record(1, 1)).expect("room");
                }
            });
            let mut complete = 0;
            while complete < 20_000 {
                let transaction = world.db.begin();
                let within = world.table.within(&transaction);
                let rows: Result<Vec<_>> = ids.iter().map(|id| within.get(*id)).collect();
                match rows {
                    Err(Error::Conflict { .. }) => {}
                    rows => {
                        let last_bytes = |row: Option<lode::Row>| {
                            row.and_then(|row| row.bytes().last().copied()).expect("a record")
                        };
                        let rows = rows.inspect_err(|_| has_ended.store(true, Ordering::Relaxed));
                        let mut rows = rows.expect("it is read").into_iter().map(last_bytes);
                        let first = rows.next();
                        has_ended.store(rows.any(|byte| Some(byte) != first), Ordering::Relaxed);
                        assert!(!has_ended.load(Ordering::Relaxed), "they are of one moment");
                        complete += 1;
                    }
                }
            }
            has_ended.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn reads_after_a_scan_are_of_its_moment_and_a_transaction_that_only_reads_is_committed() {
    for world in World::all() {
        let transaction = world.db.begin();
        let within = world.table.within(&transaction);
        assert_eq!(within.iter().limit(3).count(), 3);
        world.put(1, 1);
        world.delete(2);
        assert_eq!(within.contains(1), Ok(false));
        assert_eq!(within.contains(2), Ok(true));
        assert_eq!(within.len(), Ok(u64::from(COUNT)));
        assert_eq!(within.iter().count(), COUNT as usize);
        assert_eq!(transaction.commit(), Ok(()));
    }
}

#[test]
fn a_table_that_was_dropped_or_came_later_is_a_conflict() {
    let world = World::new(KeyKind::Tree, RESTS[0]);
    let transaction = world.db.begin();
    drain(world.table.within(&transaction).range(..10u32)).expect("it is read");
    world.db.drop_table("t").expect("it is there");
    drain(world.table.within(&transaction).range(10u32..)).expect("it was there at the moment");
    assert!(world.is_refused(transaction));

    let world = World::new(KeyKind::Hash, RESTS[0]);
    let transaction = world.db.begin();
    assert_eq!(world.table.within(&transaction).contains(2), Ok(true));
    world.db.drop_table("t").expect("it is there");
    let gone = world.table.within(&transaction).contains(4);
    assert!(matches!(gone, Err(Error::Conflict { .. })), "{gone:?}");

    let world = World::new(KeyKind::Hash, RESTS[0]);
    let transaction = world.db.begin();
    drain(world.table.within(&transaction).iter()).expect("it is read");
    let new = world.db.clear_table("other").expect("it is there");
    let later = new.within(&transaction).contains(1);
    assert!(matches!(later, Err(Error::Conflict { .. })), "{later:?}");
}

/// Images of the moment need room, which others take.
#[test]
fn a_moment_that_has_expired_is_a_conflict_for_scans_and_is_renewed_for_lookups() {
    let db = Options::new().memory_bytes(64 << 20).in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::U32).column("rest", Type::Bytes(4_000));
    let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree).expect("room");
    let record = |id: u32, byte| {
        let mut record = vec![byte; 4_004];
        record[..4].copy_from_slice(&id.to_le_bytes());
        record
    };
    let put_all = |ids: std::ops::Range<u32>, byte| {
        ids.for_each(|id| table.upsert(&record(id, byte)).map(drop).expect("room"));
    };
    put_all(0..6_000, 1);

    let transaction = db.begin();
    let within = table.within(&transaction);
    drain(within.range(..10u32)).expect("it is read");
    put_all(100..6_000, 2);
    let expired = drain(within.range(100u32..));
    assert!(matches!(expired, Err(Error::Conflict { .. })), "{expired:?}");
    assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));

    // A cursor that has read nothing yet has its moment already: others must not get a later one.
    let transaction = db.begin();
    let within = table.within(&transaction);
    let not_started = within.range(..10u32);
    put_all(100..6_000, 3);
    let expired = within.get(5_000);
    assert!(matches!(expired, Err(Error::Conflict { .. })), "{expired:?}");
    drop(not_started);

    let transaction = db.begin();
    let within = table.within(&transaction);
    drop(within.range(..10u32));
    put_all(100..6_000, 2);
    let row = within.get(5_000).expect("no cursor is left").expect("it is there");
    assert_eq!(row.bytes()[4], 2);
    assert_eq!(transaction.commit(), Ok(()));

    let mut runs = 0;
    let outcome = db.transact(|transaction| {
        runs += 1;
        let within = table.within(transaction);
        drain(within.range(..10u32))?;
        if runs == 1 {
            put_all(100..6_000, 3);
        }
        drain(within.range(100u32..)).inspect_err(|_| put_all(0..1, 3))
    });
    assert_eq!((outcome, runs), (Ok(()), 2));

    let transaction = db.begin();
    let within = table.within(&transaction);
    for id in 0..20u32 {
        assert_eq!(within.contains(id), Ok(true));
        put_all(50..51, id as u8);
    }
    put_all(100..6_000, 4);
    let row = within.get(5_000).expect("the moment is renewed").expect("it is there");
    assert_eq!(row.bytes()[4], 4);
    transaction.upsert(&table, &record(7_000, 1)).expect("room");
    assert_eq!(transaction.commit(), Ok(()));
}

//! Writes of many records that are undone: nothing of them is left, and no page either.

use crate::reading::check;
use lode::{Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Table, Type, Value};

/// More than one page of the index, and several of the heap.
const COUNT: u64 = 300;

/// A record that is there before. In a tree, it comes last.
const THERE: u64 = u64::MAX;

/// The most bytes that an emptied table keeps: its first buckets, or a root, and pages that are
/// being filled.
const MOST_LEFT_BYTES: u64 = 24 << 14;

fn table(db: &Database, kind: KeyKind, rest: Type) -> Table {
    let schema = Schema::build("t").key("id", Type::U64).column("rest", rest);
    db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
}

/// A record, of which there are about a thousand bytes.
fn record(table: &Table, id: u64, value: u8) -> Vec<u8> {
    table.schema().pack(&[Value::Unsigned(id), Value::Bytes(&[value; 1_000])]).expect("it fits")
}

/// Calls `work` with one record and a table of each kind: with records in the index and in a
/// heap, in memory and in a directory.
fn each_table(memory_bytes: u64, work: &dyn Fn(&Database, &Table)) {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        for rest in [Type::Bytes(1_000), Type::VarBytes(40_000)] {
            let options = Options::new().memory_bytes(memory_bytes);
            let directory = tempfile::tempdir().expect("a directory");
            let process = Options::new().memory_bytes(memory_bytes).durability(Durability::Process);
            let databases = [options.in_memory(), process.open(directory.path())];
            for db in databases.map(|db| db.expect("a new database")) {
                let table = table(&db, kind, rest);
                assert_eq!(table.insert(&record(&table, THERE, 1)), Ok(true));
                work(&db, &table);
                assert_eq!(table.len(), Ok(1));
                check(&db).unwrap_or_else(|why| panic!("{why}"));
                let left_bytes = db.statistics().page_bytes;
                assert!(left_bytes <= MOST_LEFT_BYTES, "{left_bytes} bytes: {kind:?} {rest}");
                // Their pages can be used again.
                let all = (1..=COUNT).map(|id| record(&table, id, 4));
                assert_eq!(table.insert_all_new(all), Ok(None));
                check(&db).unwrap_or_else(|why| panic!("{why}"));
            }
        }
    }
}

#[test]
fn what_is_refused_leaves_no_pages() {
    each_table(4 << 20, &|_, table| {
        for round in 0..40 {
            // In no order, and others each time; the last one is there.
            let id = |at: u64| (round * COUNT + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let records = (1..=COUNT).map(|at| record(table, id(at), 2));
            let all = records.chain([record(table, THERE, 2)]);
            assert_eq!(table.insert_all_new(all), Ok(Some(COUNT as usize)));
        }
    });
}

#[test]
fn what_conflicts_leaves_no_pages() {
    each_table(4 << 20, &|db, table| {
        for value in 0..20 {
            let transaction = db.begin();
            for id in 1..=COUNT {
                assert_eq!(transaction.insert(table, &record(table, id, value)), Ok(true));
            }
            // It is written last.
            assert_eq!(transaction.upsert(table, &record(table, THERE, value)), Ok(true));
            assert_eq!(table.upsert(&record(table, THERE, value + 100)), Ok(true));
            let committed = transaction.commit();
            assert!(matches!(committed, Err(Error::Conflict { .. })), "{committed:?}");
        }
    });
}

#[test]
fn what_has_no_room_leaves_no_pages() {
    const MEMORY_BYTES: u64 = 2 << 20;
    each_table(MEMORY_BYTES, &|db, table| {
        let filler =
            Schema::build("filler").key("id", Type::U64).column("rest", Type::Bytes(1_000));
        let filler = filler.finish().expect("a schema");
        let filler = db.create_table(&filler, KeyKind::Tree).expect("room");
        for id in (0..).take_while(|_| db.statistics().page_bytes < MEMORY_BYTES / 8 * 5) {
            filler.insert(&record(&filler, id, 1)).expect("room");
        }
        for round in 0..5 {
            let records = (1..=600).map(|at| record(table, round * 10_000 + at, 3));
            // In a directory, less memory can be held besides pages.
            match table.insert_all(records) {
                Err(Error::Full { .. }) => {}
                Err(Error::TxnTooLarge { .. }) => assert!(db.statistics().data_bytes > 0),
                other => panic!("{other:?}"),
            }
        }
        db.drop_table("filler").expect("it is there");
    });
}

/// Puts back what a commit has deleted: it has its room still, though no page is left.
#[test]
fn what_conflicts_is_put_back_where_memory_is_full() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        for bytes in [20, 400, 1_000, 4_000] {
            let db = Options::new().memory_bytes(2 << 20).in_memory().expect("memory");
            let table = table(&db, kind, Type::Bytes(bytes as u32));
            let packed = |id: u64, value: u8| {
                let payload = vec![value; bytes];
                table.schema().pack(&[Value::Unsigned(id), Value::Bytes(&payload)])
            };
            let record = |id: u64, value: u8| packed(id, value).expect("it fits");
            // Side by side, so that leaves are full; the last one is what conflicts.
            let mut ids: Vec<u64> = (1..100_000).map(|id| id * 1_000).collect();
            let have_room = |id: &u64| table.insert(&record(*id, 1)).is_ok();
            ids.truncate(ids.iter().take_while(|id| have_room(id)).count());
            let last = ids.pop().expect("it has room");
            let mut conflicts = 0;
            for round in 0..100 {
                let transaction = db.begin();
                // A leaf loses records, and the one after it or before it gets some. Keys in their
                // order: so that comes later or earlier.
                let count = (10_000 / (bytes + 30)).min(200);
                let first = usize::from(round) * 7 % (ids.len() - 3 * count);
                let (deleted, new) = match round % 2 {
                    0 => (first, first + 2 * count),
                    _ => (first + 2 * count, first + count),
                };
                for id in &ids[deleted..deleted + count] {
                    assert_eq!(transaction.delete(&table, *id), Ok(true));
                }
                for at in 1..=count as u64 / 2 {
                    let id = ids[new] + at * 10;
                    transaction.upsert(&table, &record(id, round)).expect("it is noted");
                }
                transaction.upsert(&table, &record(last, round)).expect("it is noted");
                assert_eq!(table.upsert(&record(last, round + 100)), Ok(true));
                let committed = transaction.commit();
                match committed {
                    Err(Error::Conflict { .. }) => conflicts += 1,
                    Err(Error::Full { .. }) => {}
                    other => panic!("{other:?}"),
                }
                assert_eq!(table.len(), Ok(ids.len() as u64 + 1));
            }
            assert!(conflicts > 0, "{kind:?}, {bytes} bytes: {conflicts}");
            for id in &ids {
                let there = table.get(*id).expect("it is whole").map(lode::Row::into_bytes);
                assert_eq!(there, Some(record(*id, 1)), "{kind:?}, {bytes} bytes: {id}");
            }
            check(&db).unwrap_or_else(|why| panic!("{why}"));
        }
    }
}

/// A table keeps the numbers of the pages that it had, but they are not what is scarce.
#[test]
fn what_has_no_room_leaves_all_of_it_to_other_tables() {
    let fill = |db: &Database, name: &str, kind| {
        let schema = Schema::build(name).key("id", Type::U64).column("rest", Type::Bytes(1_000));
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
        let all = (0..2_080).map(|at| record(&table, at, 1));
        assert!(matches!(table.insert_all(all), Err(Error::TxnTooLarge { .. })), "{name}");
        let one = |at: u64| table.insert(&record(&table, at, 1));
        let count = (0..).take_while(|at| one(*at).is_ok()).count();
        (0..count as u64).for_each(|at| assert_eq!(table.delete(at), Ok(true)));
        count
    };
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Options::new().memory_bytes(2 << 20).in_memory().expect("memory");
        let first = fill(&db, "first", kind);
        for name in ["second", "third", "fourth", "fifth"] {
            // What is left of the others are a few pages.
            let count = fill(&db, name, kind);
            assert!(count + first / 4 > first, "{name}: {count} records, the first had {first}");
        }
        check(&db).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn little_memory_has_room_for_many_small_tables() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Options::new().memory_bytes(1 << 20).in_memory().expect("memory");
        let tables = (0..16).map(|number| {
            let name = format!("table_{number}");
            let schema = Schema::build(&name).key("id", Type::U64).column("rest", Type::Bytes(8));
            db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
        });
        for table in tables.collect::<Vec<_>>() {
            let packed = table.schema().pack(&[Value::Unsigned(1), Value::Bytes(&[1; 8])]);
            assert_eq!(table.insert(&packed.expect("it fits")), Ok(true));
        }
        check(&db).unwrap_or_else(|why| panic!("{why}"));
    }
}

/// Each table has page numbers for itself, sixty-four at a time.
#[test]
fn tables_of_one_page_run_out_of_memory_and_of_nothing_else() {
    const FRAMES: usize = 2_048;
    let db = Options::new().memory_bytes(FRAMES as u64 * (16 << 10)).in_memory().expect("memory");
    let create = |number: usize| {
        let schema = Schema::build(&format!("table_{number}")).key("id", Type::U64);
        db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree)
    };
    let created = (0..).map(create).take_while(Result::is_ok).count();
    assert!(created > FRAMES * 9 / 10, "{created} tables");
    assert!(matches!(create(created), Err(Error::Full { .. })));
}

/// Three buckets more than it needs, where there is memory to spare; and none in a directory.
#[test]
fn a_hashed_table_begins_with_few_buckets_or_one() {
    const PAGE_BYTES: u64 = 16 << 10;
    let schema = Schema::build("t").key("id", Type::U64).finish().expect("a schema");
    let pages = |db: Database| {
        let before = db.statistics().page_bytes;
        db.create_table(&schema, KeyKind::Hash).expect("room");
        (db.statistics().page_bytes - before) / PAGE_BYTES
    };
    let options = |bytes: u64| Options::new().memory_bytes(bytes);
    assert_eq!(pages(options(64 << 20).in_memory().expect("memory")), 6);
    assert_eq!(pages(options(1 << 20).in_memory().expect("memory")), 3);
    let directory = tempfile::tempdir().expect("a directory");
    assert_eq!(pages(options(64 << 20).open(directory.path()).expect("a new database")), 3);
}

/// Of pages with little in them, there may be many.
#[test]
fn what_conflicts_reads_no_pages_that_it_has_not_changed() {
    const PAGES: u64 = 200;
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options::new().memory_bytes(2 << 20).durability(Durability::Process);
    let small = |table: &Table, id: u64| {
        table.schema().pack(&[Value::Unsigned(id), Value::Bytes(&[1; 8])]).expect("it fits")
    };
    let long = |table: &Table, id: u64, bytes: usize| {
        table.schema().pack(&[Value::Unsigned(id), Value::Bytes(&vec![2; bytes])]).expect("it fits")
    };
    let db = options.open(directory.path()).expect("a new database");
    let table = table(&db, KeyKind::Tree, Type::VarBytes(40_000));
    // One small record in each page, with others that fill it, and are deleted.
    for page in 0..PAGES {
        assert_eq!(table.insert(&small(&table, page)), Ok(true));
        (0..4).for_each(|at| {
            let id = PAGES + page * 4 + at;
            assert_eq!(table.insert(&long(&table, id, 4_076)), Ok(true));
        });
    }
    (PAGES..PAGES * 5).for_each(|id| assert_eq!(table.delete(id), Ok(true)));
    drop(table);
    db.close().expect("it is whole");

    let db = options.open(directory.path()).expect("it is whole");
    let table = db.table("t").expect("it is there");
    // They need whole pages. So they come into new ones, after the room of all others was looked
    // up.
    (0..20).for_each(|id| {
        assert_eq!(table.insert(&long(&table, PAGES + id, 16_348)), Ok(true));
    });
    let conflict = |value: u8| {
        let transaction = db.begin();
        let ids = PAGES * 2..PAGES * 2 + 50;
        ids.for_each(|id| assert_eq!(transaction.insert(&table, &small(&table, id)), Ok(true)));
        let record = |value: u8| {
            let values = [Value::Unsigned(THERE), Value::Bytes(&[value; 8])];
            table.schema().pack(&values).expect("it fits")
        };
        transaction.upsert(&table, &record(value)).expect("it is written last");
        table.upsert(&record(value + 100)).expect("room");
        assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
    };
    conflict(1);
    let before_bytes = db.statistics().data_read_bytes;
    (2..22).for_each(conflict);
    let read_bytes = db.statistics().data_read_bytes - before_bytes;
    assert!(read_bytes < (20 * 16) << 14, "{read_bytes} bytes for 20 conflicts");
    check(&db).unwrap_or_else(|why| panic!("{why}"));
}

//! Wrong arguments to everything that the public face does: an error that says what is wrong, or
//! what the arguments mean after all, and never a panic or a hang.

use std::fmt::Debug;
use std::ops::Bound;
use std::time::Duration;

use crate::each_of::each_of;
use crate::reading::{Scan, cursor, each_row, nth, payload_of};
use lode::{
    Database, Durability, Error, KeyKind, Options, ReadTable, Result, Schema, Table, Type, Value,
};

use super::hooked::Hooked;
use super::operations::{all, scan};
use super::watch::watched;
use super::world::{COUNT, HOMES, OTHER, SAME, TABLES, World, key, n_of, record, schema};

/// Refused as a mismatch with the schema, and all of the words are in the message.
fn expect_mismatch<T: Debug>(result: Result<T>, words: &[&str]) {
    match &result {
        Err(error) if error.is_bad_input() => {
            let text = error.to_string();
            assert!(words.iter().all(|word| text.contains(word)), "{text}: {words:?}");
        }
        other => panic!("{other:?}: {words:?}"),
    }
}

/// Keys and records of the wrong length.
fn misshapen(right: &[u8]) -> Vec<Vec<u8>> {
    let (shorter, longer) = (right[..right.len() - 1].to_vec(), [right, &[0]].concat());
    vec![Vec::new(), shorter, longer, vec![0; 1 << 21]]
}

#[test]
fn keys_of_the_wrong_length_are_refused_everywhere() {
    watched(|_| {
        for home in HOMES {
            let world = World::new(home);
            for (name, ..) in TABLES {
                let table = world.table(name);
                for wrong in misshapen(&key(SAME)) {
                    expect_wrong_key(&world, table, &wrong);
                }
            }
            world.expect_well();
        }
    });
}

fn expect_wrong_key(world: &World, table: &Table, wrong: &[u8]) {
    let words = &["a packed key has 8 bytes, not"];
    let mut payload = vec![0; table.schema().payload_size()];
    match table.schema().columns().len() {
        2 => expect_mismatch(table.get_exact(wrong, &mut payload), words),
        _ => expect_mismatch(table.get_exact(wrong, &mut payload), &["`get_into`"]),
    }
    expect_mismatch(table.get_into(wrong, &mut payload), words);
    expect_mismatch(payload_of(&table, wrong), words);
    expect_mismatch(table.get(wrong).map(|row| row.map(|_| ())), words);
    expect_mismatch(table.update(wrong, nth(1), &[0; 8]), words);
    expect_mismatch(table.compare_and_update(wrong, nth(1), &[0; 8], &[0; 8]), words);
    expect_mismatch(table.compare_and_swap(wrong, &payload, &payload), words);
    expect_mismatch(table.increment(wrong, nth(1), 1), words);
    expect_mismatch(table.change(wrong, &mut |_| true), words);
    expect_mismatch(table.delete(wrong), words);
    if !wrong.len().is_multiple_of(8) {
        expect_mismatch(table.get_many_with(wrong, &mut |_, _| panic!("it is no key")), &["key"]);
    }
    let transaction = world.db.begin();
    expect_mismatch(payload_of(&table.within(&transaction), wrong), words);
    expect_mismatch(transaction.update(table, wrong, nth(1), &[0; 8]), words);
    expect_mismatch(transaction.delete(table, wrong), words);
    let snapshot = world.db.snapshot();
    expect_mismatch(table.at(&snapshot).get_into(wrong, &mut payload), words);
    if table.key_kind() == KeyKind::Tree {
        for bounds in
            [(Bound::Included(wrong), Bound::Unbounded), (Bound::Unbounded, Bound::Excluded(wrong))]
        {
            let scan = Scan { lower: bounds.0, upper: bounds.1, ..scan(&[0]) };
            expect_mismatch(each_row(cursor(&table, &scan), &mut |_| Ok(true)), words);
            expect_mismatch(
                each_row(cursor(&table.at(&snapshot), &scan), &mut |_| Ok(true)),
                words,
            );
            expect_mismatch(
                each_row(cursor(&table.within(&transaction), &scan), &mut |_| Ok(true)),
                words,
            );
        }
    }
}

#[test]
fn records_buffers_and_columns_that_do_not_fit_are_refused_everywhere() {
    watched(|_| {
        for home in HOMES {
            let world = World::new(home);
            for (name, ..) in TABLES {
                let table = world.table(name);
                let right = record(table.schema(), 90, 3);
                for wrong in misshapen(&right) {
                    expect_mismatch(table.insert(&wrong), &[name]);
                    expect_mismatch(table.upsert(&wrong), &[name]);
                    expect_mismatch(table.insert_all([&right, &wrong]), &[name]);
                    expect_mismatch(table.insert_all_new([&right, &wrong]), &[name]);
                    expect_mismatch(table.upsert_all([&right, &wrong]), &[name]);
                    let transaction = world.db.begin();
                    expect_mismatch(transaction.insert(table, &wrong), &[name]);
                    expect_mismatch(transaction.upsert(table, &wrong), &[name]);
                    expect_mismatch(
                        table.change(key(SAME), &mut |payload| {
                            *payload = wrong.clone();
                            true
                        }),
                        &[name],
                    );
                }
                let size = table.schema().payload_size();
                for wrong in [0, size - 1, size + 1] {
                    let mut buffer = vec![0; wrong];
                    expect_mismatch(table.get_exact(&key(SAME), &mut buffer), &[name]);
                }
                expect_wrong_columns(&world, table);
                table.delete(key(90)).unwrap();
            }
            world.expect_well();
        }
    });
}

fn expect_wrong_columns(world: &World, table: &Table) {
    let transaction = world.db.begin();
    for (column, words) in [(0, "of the key"), (9, "no column 9"), (99, "no column 99")] {
        expect_mismatch(table.update(key(SAME), nth(column), &[0; 8]), &[words]);
        expect_mismatch(table.increment(key(SAME), nth(column), 1), &[words]);
        let bytes = (&[0; 8][..], &[0; 8][..]);
        expect_mismatch(
            table.compare_and_update(key(SAME), nth(column), bytes.0, bytes.1),
            &[words],
        );
        expect_mismatch(transaction.update(table, key(SAME), nth(column), &[0; 8]), &[words]);
    }
    for column in [9, 99] {
        if table.key_kind() == KeyKind::Tree {
            for limit in [0, 3] {
                let scan = Scan { limit, ..scan(&[0, 0]) };
                let columns = [1, column];
                let wrong = Scan { columns: &columns, ..scan };
                expect_mismatch(
                    each_row(cursor(&table, &wrong), &mut |_| Ok(true)),
                    &["no column"],
                );
                let snapshot = world.db.snapshot();
                expect_mismatch(
                    each_row(cursor(&table.at(&snapshot), &wrong), &mut |_| Ok(true)),
                    &["no column"],
                );
                expect_mismatch(
                    each_row(cursor(&table.within(&transaction), &wrong), &mut |_| Ok(true)),
                    &["no column"],
                );
            }
        }
    }
    for bytes in [0, 7, 9, 1 << 21] {
        let bytes = vec![0; bytes];
        expect_mismatch(table.update(key(SAME), nth(1), &bytes), &["column"]);
        expect_mismatch(transaction.update(table, key(SAME), nth(1), &bytes), &["n"]);
        let swap =
            table.compare_and_update(key(SAME), nth(1), &(SAME as i64).to_le_bytes(), &bytes);
        expect_mismatch(swap, &["n"]);
    }
    for by in [i64::MIN, i64::MAX] {
        let sum = (SAME as i64).checked_add(by);
        match sum {
            None => expect_mismatch(table.increment(key(SAME), nth(1), by), &["no room"]),
            Some(sum) => {
                let sum = Ok(Some(Value::Signed(sum)));
                assert_eq!(table.increment(key(SAME), nth(1), by), sum);
                table.upsert(&record(table.schema(), SAME, SAME as i64)).unwrap();
            }
        }
    }
    if table.schema().columns().len() > 2 {
        let text = "x".repeat(40_001);
        expect_mismatch(table.update(key(SAME), nth(2), text.as_bytes()), &["text"]);
        expect_mismatch(table.increment(key(SAME), nth(2), 1), &["text"]);
    }
}

#[test]
fn ranges_that_are_upside_down_or_empty_have_no_records_and_limits_may_be_anything() {
    watched(|_| {
        for home in HOMES {
            let world = World::new(home);
            for name in ["tree", Hooked::TABLE] {
                let table = world.table(name);
                let (low, high) = (key(SAME), key(OTHER));
                let bounds: [MakeBound; 2] =
                    [|key| Bound::Included(key), |key| Bound::Excluded(key)];
                for backward in [false, true] {
                    let count = |scan: &Scan<'_>| {
                        let (mut counts, snapshot) = ([0; 3], world.db.snapshot());
                        let transaction = world.db.begin();
                        transaction.upsert(table, &record(table.schema(), OTHER, 1)).unwrap();
                        each_row(cursor(&table, scan), &mut |_| Ok(count_up(&mut counts[0])))
                            .unwrap();
                        each_row(cursor(&table.at(&snapshot), scan), &mut |_| {
                            Ok(count_up(&mut counts[1]))
                        })
                        .unwrap();
                        each_row(cursor(&table.within(&transaction), scan), &mut |_| {
                            Ok(count_up(&mut counts[2]))
                        })
                        .unwrap();
                        assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
                        counts[0]
                    };
                    let all = Scan { backward, limit: u64::MAX, ..scan(&[]) };
                    assert_eq!(count(&all), COUNT);
                    assert_eq!(count(&Scan { limit: 0, ..all }), 0);
                    assert_eq!(count(&Scan { limit: 1, columns: &[1, 1, 0, 1], ..all }), 1);
                    for (lower, upper) in bounds.iter().flat_map(|a| bounds.map(|b| (a, b))) {
                        let upside_down = Scan { lower: lower(&high), upper: upper(&low), ..all };
                        assert_eq!(count(&upside_down), 0);
                    }
                    let (lower, upper) = (Bound::Excluded(&low[..]), Bound::Excluded(&low[..]));
                    assert_eq!(count(&Scan { lower, upper, ..all }), 0);
                }
            }
            let records = world.db.records::<Hooked>().unwrap();
            #[allow(clippy::reversed_empty_ranges)]
            for limit in [0, 5, u64::MAX] {
                let none = |_: Hooked| -> Result<bool> { panic!("there is none") };
                each_of(records.range(OTHER..SAME).limit(limit), none).unwrap();
                each_of(records.range(OTHER..=SAME).rev().limit(limit), none).unwrap();
                each_of(records.at(&world.db.snapshot()).range(SAME..SAME).limit(limit), none)
                    .unwrap();
                each_of(records.within(&world.db.begin()).range(OTHER..SAME).limit(limit), none)
                    .unwrap();
            }
        }
    });
}

/// Makes a bound of a key.
type MakeBound = fn(&[u8]) -> Bound<&[u8]>;

fn count_up(count: &mut u64) -> bool {
    *count += 1;
    true
}

#[test]
fn what_is_of_another_database_or_another_struct_is_refused() {
    watched(|_| {
        for home in HOMES {
            let (world, foreign) = (World::new(home), World::new(home));
            for (name, ..) in TABLES {
                let table = foreign.table(name);
                let (transaction, snapshot) = (world.db.begin(), world.db.snapshot());
                let whole = record(table.schema(), SAME, 1);
                let words = &["another database"];
                expect_mismatch(payload_of(&table.within(&transaction), key(SAME)), words);
                expect_mismatch(transaction.insert(table, &whole), words);
                expect_mismatch(transaction.upsert(table, &whole), words);
                expect_mismatch(transaction.update(table, key(SAME), nth(1), &[0; 8]), words);
                expect_mismatch(transaction.delete(table, key(SAME)), words);
                expect_mismatch(
                    each_row(cursor(&table.within(&transaction), &scan(&[0])), &mut |_| Ok(true)),
                    words,
                );
                let mut payload = vec![0; table.schema().payload_size()];
                expect_mismatch(table.at(&snapshot).get_into(&key(SAME), &mut payload), words);
                expect_mismatch(table.at(&snapshot).get_into(&key(SAME), &mut payload), words);
                expect_mismatch(
                    each_row(cursor(&table.at(&snapshot), &scan(&[0])), &mut |_| Ok(true)),
                    words,
                );
                expect_mismatch(each_row(table.at(&snapshot).iter(), &mut |_| Ok(true)), words);
                transaction.commit().unwrap();
            }
            world.db.drop_table(Hooked::TABLE).unwrap();
            assert!(matches!(world.db.records::<Hooked>(), Err(Error::NoTable { .. })));
            world.db.create_table(&schema(Hooked::TABLE, false), KeyKind::Hash).unwrap();
            expect_mismatch(world.db.records::<Hooked>(), &["column 3"]);
            let taken = world.db.create_records::<Hooked>(KeyKind::Tree);
            assert!(matches!(taken, Err(Error::TableExists { .. })), "{taken:?}");
            let none = world.db.drop_table("nothing");
            assert!(matches!(none, Err(Error::NoTable { .. })), "{none:?}");
            let hashed = each_row(cursor(&world.table("hash"), &scan(&[0])), &mut |_| Ok(true));
            assert!(matches!(hashed, Err(Error::NoOrder { .. })), "{hashed:?}");
        }
    });
}

#[test]
fn what_is_used_after_its_end_says_so() {
    watched(|doing| {
        for home in HOMES {
            for (name, ..) in TABLES {
                for is_closed in [false, true] {
                    let world = World::new(home);
                    let table = world.table(name);
                    let before = world.db.snapshot();
                    let transaction = world.db.begin();
                    transaction.upsert(table, &record(table.schema(), SAME, 9)).unwrap();
                    match is_closed {
                        true => world.db.clone().close().unwrap(),
                        false => world.db.drop_table(name).unwrap(),
                    }
                    let after = world.db.snapshot();
                    let is_said = |result: Result<()>| match (&result, is_closed) {
                        (Err(Error::Closed), true) | (Err(Error::NoTable { .. }), false) => {}
                        other => panic!("{name}, {home:?}: {other:?}"),
                    };
                    match (transaction.commit(), is_closed) {
                        (Err(Error::Closed), true) | (Err(Error::Conflict { .. }), false) => {}
                        other => panic!("{name}, {home:?}: {other:?}"),
                    }
                    is_said(each_row(table.at(&after).iter(), &mut |_| Ok(true)));
                    is_said(table.insert_all([record(table.schema(), SAME, 1)]).map(drop));
                    is_said(table.get_many_with(&key(SAME), &mut |_, _| ()));
                    match is_closed {
                        true => is_said(each_row(table.at(&before).iter(), &mut |_| Ok(true))),
                        false => each_row(table.at(&before).iter(), &mut |_| Ok(true)).unwrap(),
                    }
                    expect_over(&world, name, is_closed, doing);
                }
            }
        }
    });
}

/// Every operation on a table that is no more.
fn expect_over(world: &World, name: &str, is_closed: bool, doing: &super::watch::Doing) {
    let table = world.table(name);
    for (operation, _, run) in all() {
        doing.set(format!("{operation} of {name} after its end"));
        // Calls on the database as a whole still work after one of its tables is dropped. The state
        // of a closed database can be read, and closing it again is no mistake.
        const WHOLE: [&str; 9] = [
            "create_table",
            "drop another table",
            "flush",
            "checkpoint",
            "compact",
            "check",
            "statistics",
            "drop a handle",
            "close",
        ];
        const HARMLESS: [&str; 3] = ["statistics", "drop a handle", "close"];
        let is_fine = match is_closed {
            true => HARMLESS.contains(&operation),
            false => WHOLE.contains(&operation),
        };
        let is_hashed = table.key_kind() == KeyKind::Hash;
        let has_no_scan = is_hashed && operation == "transaction that scans";
        let is_variable = table.schema().columns().len() > 2;
        let result = run(world, table, SAME);
        match result {
            Ok(()) if is_fine || has_no_scan || (is_variable && operation == "get") => {}
            Ok(()) if is_hashed && operation == "scan" => {}
            Err(Error::Closed) if is_closed => {}
            Err(Error::Corrupt { why, .. }) if is_closed && operation == "check" => {
                assert_eq!(why, Error::Closed.to_string());
            }
            Err(Error::NoTable { .. }) if !is_closed => {}
            other => panic!("{operation} of {name}, closed: {is_closed}: {other:?}"),
        }
        if operation == "close" {
            return;
        }
    }
}

#[test]
fn options_of_any_size_make_a_database_or_an_error() {
    watched(|_| {
        for memory_bytes in [0, 1, 1 << 20] {
            for log_bytes in [0, 1, u64::MAX] {
                for segment_bytes in [0, 1, 1 << 20] {
                    for interval in [Duration::ZERO, Duration::MAX] {
                        let directory = tempfile::tempdir().unwrap();
                        let options = Options::new()
                            .memory_bytes(memory_bytes)
                            .log_bytes(log_bytes)
                            .segment_bytes(segment_bytes)
                            .sync_interval(interval)
                            .durability(Durability::Periodic);
                        let db = options.open(directory.path()).unwrap();
                        let table = db.create_table(&schema("t", true), KeyKind::Hash).unwrap();
                        for id in 0..20 {
                            table.insert(&record(table.schema(), id, 40)).unwrap();
                        }
                        db.close().unwrap();
                        let db = options.open(directory.path()).unwrap();
                        let found = db.table("t").and_then(|table| payload_of(&table, key(7)));
                        assert_eq!(found.unwrap().map(|payload| n_of(&payload)), Some(40));
                    }
                }
            }
        }
        // More than any machine has addresses for is refused, or cut down to what pages can be
        // counted.
        for memory_bytes in [1 << 45, u64::MAX] {
            match Options::new().memory_bytes(memory_bytes).in_memory() {
                Ok(_) | Err(Error::Io { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        // A segment too long for the disk is one that there is no space for.
        let directory = tempfile::tempdir().unwrap();
        let opened = Options::new().segment_bytes(u64::MAX).open(directory.path());
        let table = opened.and_then(|db| db.create_table(&schema("t", false), KeyKind::Hash));
        table.and_then(|table| table.insert(&record(table.schema(), 1, 1))).unwrap();
    });
}

#[test]
fn places_that_are_no_directories_of_databases_are_refused_and_left_alone() {
    watched(|_| {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "text").unwrap();
        for path in [&file, &file.join("below"), directory.path()] {
            let opened = Database::open(path).map(drop);
            assert!(matches!(opened, Err(Error::Io { .. })), "{path:?}: {opened:?}");
        }
        let left = std::fs::read_dir(directory.path()).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.contains(&"file".into()), "{left:?}");
        assert_eq!(std::fs::read(&file).unwrap(), b"text");
        assert!(Database::open("").map(drop).is_err());
        assert!(Database::open("a\0b").map(drop).is_err());
    });
}

#[test]
fn values_that_do_not_fit_a_schema_are_refused() {
    let schema = Schema::build("t")
        .key("id", Type::U8)
        .column("small", Type::I8)
        .nullable("flag", Type::Bool)
        .column("text", Type::Text(2))
        .finish()
        .unwrap();
    let right = [Value::Unsigned(1), Value::Signed(1), Value::Null, Value::Text("a")];
    assert!(schema.pack(&right).is_ok());
    let wrong = [
        (0, Value::Unsigned(256)),
        (0, Value::Signed(-1)),
        (0, Value::Null),
        (1, Value::Signed(-129)),
        (1, Value::Text("1")),
        (2, Value::Unsigned(1)),
        (3, Value::Text("abc")),
        (3, Value::Text("a\0")),
    ];
    for (at, value) in wrong {
        let mut values = right;
        values[at] = value;
        expect_mismatch(schema.pack(&values), &[&schema.columns()[at].name]);
    }
    for count in [0, 3] {
        expect_mismatch(schema.pack(&right[..count]), &["4 columns"]);
    }
    expect_mismatch(schema.pack_key(&[]), &["1 columns"]);
    expect_mismatch(schema.pack_key(&right), &["1 columns"]);
    expect_mismatch(schema.pack_prefix(&right), &["there are 1 columns and 4 values"]);
    expect_mismatch(schema.row(&[0; 3]), &["bytes"]);
    let whole = schema.pack(&right).unwrap();
    let row = schema.row(&whole).unwrap();
    assert_eq!(row.get("nothing"), None);
}

//! Reading with the trait that tables, snapshots and transactions have in common: keys of any
//! shape, lookups of many, and cursors.

use std::collections::BTreeMap;

use lode::{
    Database, Error, Key, KeyKind, Options, ReadTable, Result, Row, Schema, Table, Transaction,
    Type, Value,
};

const KINDS: [KeyKind; 2] = [KeyKind::Hash, KeyKind::Tree];

/// Returns schemas of records in the index, and of records in the heap.
fn schemas() -> [Schema; 2] {
    [Type::Bytes(4), Type::VarBytes(40_000)].map(|data| {
        let schema = Schema::build("t").key("id", Type::U16).column("data", data);
        schema.nullable("note", Type::I32).finish().expect("a schema")
    })
}

fn each_table(mut test: impl FnMut(&Database, &Table)) {
    for (schema, kind) in schemas().iter().flat_map(|schema| KINDS.map(|kind| (schema, kind))) {
        let db = Database::in_memory().expect("memory");
        let table = db.create_table(schema, kind).expect("room");
        test(&db, &table);
    }
}

/// A record whose columns all say its round.
fn record(table: &Table, id: u16, round: u8) -> Vec<u8> {
    let note = if round == 0 { Value::Null } else { Value::Signed(round.into()) };
    let values = [Value::Unsigned(id.into()), Value::Bytes(&[round; 4]), note];
    table.schema().pack(&values).expect("it fits")
}

/// Id and round of a row.
fn parts_of(row: &Row) -> (u16, u8) {
    let (Some(Value::Unsigned(id)), Some(Value::Bytes(data))) = (row.get("id"), row.get("data"))
    else {
        panic!("other columns: {row:?}");
    };
    (id as u16, data[0])
}

type Model = BTreeMap<u16, u8>;

/// Returns the records of a view, by its cursors; in order if it has one.
fn all_of(view: &impl ReadTable) -> Vec<(u16, u8)> {
    let mut all: Vec<_> = view.iter().map(|row| parts_of(&row.expect("it can be read"))).collect();
    if view.table().key_kind() == KeyKind::Hash {
        all.sort_unstable();
    }
    all
}

fn expect(view: &impl ReadTable, model: &Model) {
    let wanted: Vec<_> = model.iter().map(|(id, round)| (*id, *round)).collect();
    assert_eq!(all_of(view), wanted);
    assert_eq!(view.len(), Ok(model.len() as u64));
    assert_eq!(view.is_empty(), Ok(model.is_empty()));
    let ids = [7, 300, 7, 12, 0, 999];
    let found = view.get_many(ids).expect("keys");
    let found: Vec<_> = found.iter().map(|row| row.as_ref().map(parts_of)).collect();
    assert_eq!(found, ids.map(|id| model.get(&id).map(|round| (id, *round))));
    for id in ids {
        assert_eq!(view.contains(id), Ok(model.contains_key(&id)), "{id}");
        let found = view.get(id).expect("a key");
        assert_eq!(found.map(|row| parts_of(&row)), model.get(&id).map(|round| (id, *round)));
    }
    if view.table().key_kind() == KeyKind::Tree {
        let rows = view.range(10u16..=300).rev().limit(9);
        let rows: Vec<_> = rows.map(|row| parts_of(&row.expect("it can be read"))).collect();
        let wanted = model.range(10..=300).rev().take(9).map(|(id, round)| (*id, *round));
        assert_eq!(rows, wanted.collect::<Vec<_>>());
    }
}

/// Writes in a transaction, over records that are there and between them.
fn write(transaction: &Transaction, table: &Table, model: &mut Model, seed: u16) {
    for at in 0..60 {
        let id = at * 37 % 400 + seed % 5;
        let round = (at % 250) as u8 + 1;
        if at % 3 == 0 {
            let was_there = transaction.delete(table, id).expect("a key");
            assert_eq!(was_there, model.remove(&id).is_some());
        } else {
            transaction.upsert(table, &record(table, id, round)).expect("it fits");
            model.insert(id, round);
        }
    }
}

#[test]
fn tables_snapshots_and_transactions_are_read_alike() {
    each_table(|db, table| {
        let mut model = Model::new();
        expect(table, &model);
        for id in (0..400).step_by(3) {
            table.insert(&record(table, id, 0)).expect("it fits");
            model.insert(id, 0);
        }
        let (before, before_model) = (db.snapshot(), model.clone());
        let transaction = db.begin();
        write(&transaction, table, &mut model, 0);
        expect(&table.within(&transaction), &model);
        expect(table, &before_model);
        transaction.commit().expect("no other writer is there");
        expect(table, &model);
        expect(&table.at(&before), &before_model);
        expect(&table.at(&before.clone()), &before_model);
    });
}

#[test]
fn a_cursor_sees_what_there_was_when_it_was_made() {
    each_table(|db, table| {
        let mut model = Model::new();
        for id in 0..400 {
            table.insert(&record(table, id, 0)).expect("it fits");
            model.insert(id, 0);
        }
        let transaction = db.begin();
        let mut written = model.clone();
        write(&transaction, table, &mut written, 1);
        let cursors = [table.iter(), table.within(&transaction).iter()];
        let others = &mut written.clone();
        write(&transaction, table, others, 2);
        for (cursor, wanted) in cursors.into_iter().zip([model, written]) {
            let mut found = Model::new();
            for (at, row) in cursor.enumerate() {
                let (id, round) = parts_of(&row.expect("it can be read"));
                assert_eq!(found.insert(id, round), None, "{id} comes twice");
                table.delete(at as u16).expect("a key");
                table.upsert(&record(table, 500 + at as u16, 9)).expect("it fits");
            }
            assert_eq!(found, wanted);
        }
    });
}

#[test]
fn what_is_to_be_read_can_be_changed_which_begins_again() {
    let db = Database::in_memory().expect("memory");
    let table = db.create_table(&schemas()[0], KeyKind::Tree).expect("room");
    for id in 0..2_000 {
        table.insert(&record(&table, id, (id % 7) as u8)).expect("it fits");
    }
    let (id, note) = ("id", table.schema().column("note").expect("a column"));
    let mut cursor = table.range(100u16..);
    for wanted in 100..1_500u64 {
        let row = cursor.next_row().expect("it can be read").expect("there are more");
        assert_eq!(row.get(id), Some(Value::Unsigned(wanted)));
    }
    let mut cursor = cursor.rev().columns([note]).limit(2);
    for wanted in [1_999u64, 1_998] {
        let row = cursor.next_row().expect("it can be read").expect("there are two");
        let round = wanted % 7;
        assert_eq!(
            row.at(note),
            if round == 0 { Value::Null } else { Value::Signed(round as i64) }
        );
        assert_eq!((row.get(id), row.bytes().len()), (None, 5));
    }
    assert!(cursor.next_row().expect("the end").is_none());
    assert!(cursor.next_row().expect("it stays at the end").is_none());
    let mut cursor = cursor.rev();
    assert_eq!(cursor.by_ref().count(), 2);
    assert!(!cursor.has_ended());
}

#[test]
fn a_cursor_that_skips_damage_has_the_same_rows_where_there_is_none() {
    let numbers = || Schema::build("t").key("id", Type::U32).column("a", Type::U64);
    let texts = Schema::build("t").key("id", Type::Text(4)).column("a", Type::Bytes(300));
    let schemas = [
        numbers().column("b", Type::U16).finish(),
        numbers().column("b", Type::U16).nullable("c", Type::I64).finish(),
        numbers().column("b", Type::VarText(100)).finish(),
        texts.column("b", Type::I32).finish(),
    ];
    let kinds = schemas.iter().flat_map(|schema| KINDS.map(|kind| (schema, kind)));
    for (schema, kind) in kinds {
        let schema = schema.as_ref().expect("a schema");
        let db = Database::in_memory().expect("memory");
        let table = db.create_table(schema, kind).expect("room");
        for id in 0..1_000u32 {
            let text = format!("{id:04}");
            let bytes = [id as u8; 300];
            let values: Vec<_> = (schema.columns().iter())
                .map(|column| match column.kind {
                    Type::Text(_) | Type::VarText(_) => Value::Text(&text),
                    Type::Bytes(_) => Value::Bytes(&bytes),
                    Type::I64 if id % 3 == 0 => Value::Null,
                    Type::I32 | Type::I64 => Value::Signed(-i64::from(id)),
                    _ => Value::Unsigned(u64::from(id) + u64::from(column.name == "b")),
                })
                .collect();
            table.insert(&schema.pack(&values).expect("it fits")).expect("room");
        }
        let columns: Vec<_> = schema.columns().iter().map(lode::Column::id).collect();
        let (first, last) = (columns[0], columns[columns.len() - 1]);
        let backward: Vec<_> = columns.iter().rev().copied().collect();
        let middle = vec![columns[1], columns[2], last];
        for wanted in [vec![], vec![first], vec![last], columns, backward, middle] {
            for is_backward in
                [false, true].into_iter().take(1 + usize::from(kind == KeyKind::Tree))
            {
                let rows = |skips: bool| {
                    let cursor = table.iter().columns(&wanted);
                    let cursor = if is_backward { cursor.rev() } else { cursor };
                    let cursor = if skips { cursor.skip_damaged() } else { cursor };
                    cursor.map(|row| row.expect("it is whole").bytes().to_vec()).collect::<Vec<_>>()
                };
                let found = rows(true);
                assert_eq!(found.len(), 1_000);
                assert!(found == rows(false), "{kind:?}, {wanted:?}, {is_backward}: {schema:?}");
            }
        }
    }
}

#[test]
fn batches_have_all_rows_and_no_more_bytes_than_they_should() {
    each_table(|_, table| {
        let size = if table.schema().is_variable() { 40_000 } else { 4 };
        let count = if size == 4 { 3_000 } else { 500 };
        for id in 0..count {
            let values = [Value::Unsigned(id), Value::Bytes(&vec![7; size]), Value::Null];
            table.insert(&table.schema().pack(&values).expect("it fits")).expect("it fits");
        }
        let mut ids = Vec::new();
        for batch in table.iter().batches(1_000) {
            let batch = batch.expect("it can be read");
            assert!(!batch.is_empty() && batch.len() <= 1_000);
            // One row may be too many.
            assert!(batch.size_bytes() <= (8 << 20) + 50_000, "{} bytes", batch.size_bytes());
            assert_eq!(batch.row(batch.len()).map(|row| row.bytes().len()), None);
            ids.extend(batch.iter().map(|row| row.get("id")).map(|id| match id {
                Some(Value::Unsigned(id)) => id,
                other => panic!("no id: {other:?}"),
            }));
        }
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..count));
        let mut cursor = table.iter().limit(5);
        let batch = cursor.next_batch(2).expect("it can be read").expect("there are five");
        assert_eq!(batch.len(), 2);
        assert_eq!(cursor.next_batch(9).expect("three").map(|batch| batch.len()), Some(3));
        assert!(cursor.next_batch(9).expect("the end").is_none());
    });
}

#[test]
fn an_error_comes_once_and_ends_the_cursor() {
    each_table(|db, table| {
        for id in 0..9 {
            table.insert(&record(table, id, 0)).expect("it fits");
        }
        let is_error = |row: Option<Result<Row>>| row.map(|row| row.map(drop));
        if table.key_kind() == KeyKind::Hash {
            let no_order = || Some(Err(Error::NoOrder { table: "t".into() }));
            for mut cursor in [table.iter().rev(), table.range(2u16..), table.prefix(&[])] {
                assert_eq!(is_error(cursor.next()), no_order());
                assert!(cursor.next().is_none() && cursor.has_ended());
            }
        }
        let mut wrong = table.range("one"..);
        assert!(matches!(wrong.next(), Some(Err(Error::ValueMisfit { .. }))));
        assert!(wrong.next().is_none());
        let (mut begun, mut rest) = (table.iter(), table.iter().limit(1));
        assert!(begun.next_row().expect("it is open").is_some());
        db.clone().close().expect("nothing is wrong");
        assert_eq!(is_error(rest.next()), Some(Err(Error::Closed)));
        assert_eq!(is_error(table.iter().next()), Some(Err(Error::Closed)));
    });
}

#[test]
fn a_key_is_made_from_anything_that_fits() {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("all")
        .key("number", Type::I16)
        .key("when", Type::Timestamp)
        .key("is", Type::Bool)
        .key("name", Type::VarText(9))
        .column("value", Type::U8)
        .finish()
        .expect("a schema");
    for kind in KINDS {
        let table = db.create_table(&schema, kind).expect("room");
        let values = [Value::Signed(-7), Value::Timestamp(8), Value::Bool(true), Value::Text("x")];
        let key = table.schema().pack_key(&values).expect("it fits");
        table.insert(&[&key[..], &[1]].concat()).expect("it fits");
        assert_eq!(table.contains((-7, 8, true, "x")), Ok(true));
        assert_eq!(table.contains((-7i64, 8u8, true, String::from("x"))), Ok(true));
        assert_eq!(table.contains((Value::Signed(-7), 8, &true, &"x")), Ok(true));
        assert_eq!(table.contains(values), Ok(true));
        assert_eq!(table.contains(values.to_vec()), Ok(true));
        assert_eq!(table.contains(&key), Ok(true));
        assert_eq!(table.contains((-7, 8, false, "x")), Ok(false));
        assert_eq!(table.contains((-7, 8, true, "more than nine")), Ok(false));
        let refused = |key: Result<bool>, words: &str| {
            let why = key.expect_err("it is no key").to_string();
            assert!(why.contains(words), "{why}");
        };
        refused(table.contains((-7, 8, true)), "4 columns and 3 values");
        refused(table.contains((-7, 8, 1, "x")), "1 does not fit column is: Bool");
        refused(table.contains((40_000, 8, true, "x")), "does not fit column number: I16");
        refused(table.contains((u64::MAX, 8, true, "x")), "does not fit column number: I16");
        let found = table.get_many([(1, 8, true, "more than nine"), (-7, 8, true, "x")]);
        let found = found.expect("keys");
        assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
        assert_eq!(table.delete((-7, 8, true, "x")), Ok(true));
        assert_eq!(table.len(), Ok(0));
        db.drop_table("all").expect("it is there");
    }
    let numbers = Schema::build("numbers").key("id", Type::U32).column("value", Type::U8);
    let numbers = db.create_table(&numbers.finish().expect("a schema"), KeyKind::Tree);
    let numbers = numbers.expect("room");
    numbers.insert(&[7, 0, 0, 0, 1]).expect("it fits");
    fn is_found(table: &Table, key: impl Key) {
        assert_eq!(table.contains(key), Ok(true));
    }
    is_found(&numbers, 7);
    is_found(&numbers, 7i8);
    is_found(&numbers, 7u64);
    is_found(&numbers, [7, 0, 0, 0]);
    is_found(&numbers, 7u32.to_le_bytes().to_vec());
    is_found(&numbers, Value::Unsigned(7));
    assert!(numbers.contains(-7).is_err());
    assert_eq!(numbers.range(..=7u8).count(), 1);
    assert_eq!(numbers.range(8u8..).count(), 0);
}

/// Records in the heap are read one by one, from a directory that may be another's by then.
#[test]
fn a_cursor_says_that_its_database_was_closed() {
    for kind in KINDS {
        let directory = tempfile::tempdir().expect("a directory");
        let options = Options::new().memory_bytes(1 << 20);
        let db = options.open(directory.path()).expect("a new database");
        let table = db.create_table(&schemas()[1], kind).expect("space");
        for id in 0..2_000 {
            let values = [Value::Unsigned(id), Value::Bytes(&[1; 2_000]), Value::Null];
            table.insert(&table.schema().pack(&values).expect("it fits")).expect("space");
        }
        let mut cursor = table.iter();
        assert!(cursor.next_row().expect("it is open").is_some());
        db.clone().close().expect("it can be written");
        let again = options.open(directory.path()).expect("it was closed");
        let others = again.table("t").expect("it is there");
        for id in 0..2_000 {
            let values = [Value::Unsigned(id), Value::Bytes(&[2; 2_500]), Value::Null];
            others.upsert(&others.schema().pack(&values).expect("it fits")).expect("space");
        }
        again.checkpoint().expect("space");
        assert_eq!(cursor.next_row().map(|row| row.is_some()), Err(Error::Closed), "{kind:?}");
    }
}

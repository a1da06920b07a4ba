//! Which batches a scan returns.

use std::ops::Bound;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use lode::{Database, KeyKind, Schema, Table, Type, Value};
use lode_arrow::{Appended, Error, IfThere, Result, Scan, append};

use crate::support::{TYPES, database, edges, records, table};

fn squares(count: u64) -> (Database, Table) {
    let db = database();
    let schema = Schema::build("square").key("of", Type::U32).column("is", Type::U64).finish();
    let schema = schema.expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    for n in 0..count {
        let record = schema.pack(&[Value::Unsigned(n), Value::Unsigned(n * n)]);
        table.insert(&record.expect("it fits")).expect("there is room");
    }
    (db, table)
}

fn keys(scan: Scan<&Table>) -> Vec<u32> {
    let batches = scan.read().collect::<Result<Vec<_>>>().expect("batches");
    let keys = batches.iter().flat_map(|batch| {
        batch.column_by_name("of").expect("it is there").as_primitive::<UInt32Type>().values()
    });
    keys.copied().collect()
}

#[test]
fn columns_ranges_and_limits_are_those_asked_for() {
    let (_db, table) = squares(1_000);
    let key = |n: u32| n.to_le_bytes().to_vec();
    let range =
        || Scan::of(&table).packed_keys(Bound::Included(key(300)), Bound::Excluded(key(310)));
    assert_eq!(keys(range()), (300..310).collect::<Vec<_>>());
    assert_eq!(keys(range().limit(3).batch_rows(2)), [300, 301, 302]);
    let turned = Scan::of(&table).columns(["is", "of"]).expect("columns").limit(4);
    let batch = turned.read().next().expect("a batch").expect("it is read");
    assert_eq!(batch.schema().field(0).name(), "is");
    assert_eq!(batch.column(0).as_primitive::<UInt64Type>().values()[..], [0, 1, 4, 9]);
    let none: [&str; 0] = [];
    let batches = Scan::of(&table).columns(none).expect("none").read();
    let rows = batches.map(|batch| batch.expect("a batch").num_rows());
    assert_eq!(rows.sum::<usize>(), 1_000);
    let error = Scan::of(&table).columns(["area"]).expect_err("no such column");
    assert_eq!(error.to_string(), "table square: there is no column area");
}

#[test]
fn records_are_looked_up_by_their_keys_in_tables_of_both_kinds() {
    let mut schema = Schema::build("word").key("text", Type::VarText(9)).key("id", Type::U8);
    for kind in TYPES {
        schema = schema.column(&kind.to_string(), kind).nullable(&format!("{kind}?"), kind);
    }
    let schema = schema.finish().expect("a schema");
    let record = |id: u64| {
        let text = ["a", "", "bcd"][id as usize % 3];
        let mut values = vec![Value::Text(text), Value::Unsigned(id)];
        for column in &schema.columns()[2..] {
            let edges = edges(column);
            values.push(edges[id as usize % edges.len()]);
        }
        schema.pack(&values).expect("it fits")
    };
    let all: Vec<_> = (0..9).map(record).collect();
    let keys: Vec<_> = [8u64, 3, 99, 0]
        .map(|id| {
            schema.pack_key(&[Value::Text(["a", "", "bcd"][id as usize % 3]), Value::Unsigned(id)])
        })
        .map(|key| key.expect("it fits"))
        .to_vec();
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let (_db, words) = table(&schema, kind, &all);
        let batch = Scan::of(&words).lookup(&keys).expect("a batch");
        let (copy_db, copy) = table(&schema, kind, &[]);
        append(&copy_db, &copy, &batch, IfThere::Stop).expect("it fits");
        let mut wanted = vec![all[8].clone(), all[3].clone(), all[0].clone()];
        wanted.sort();
        assert_eq!(records(&copy), wanted, "{kind:?}");
        let ids = Scan::of(&words).columns(["id"]).expect("a column").lookup(&keys);
        let ids = ids.expect("a batch");
        assert_eq!(ids.column(0).as_primitive::<UInt8Type>().values()[..], [8, 3, 0]);
        let none: [&str; 0] = [];
        let none = Scan::of(&words).columns(none).expect("none").lookup(&keys).expect("a batch");
        assert_eq!((none.num_rows(), none.num_columns()), (3, 0));
    }
}

#[test]
fn all_batches_are_of_one_moment() {
    let (_db, table) = squares(500);
    let mut batches = Scan::of(&table).batch_rows(100).read();
    let first = batches.next().expect("a batch").expect("it is read");
    for n in 0..500u32 {
        table.delete(n).expect("it is there");
    }
    let rest = batches.map(|batch| batch.expect("a batch").num_rows());
    assert_eq!(first.num_rows() + rest.sum::<usize>(), 500);
}

#[test]
fn a_batch_is_written_as_a_whole_or_not_at_all() {
    let (db, table) = squares(10);
    let batch = Scan::of(&table).read().next().expect("a batch").expect("read");
    for n in 5..10u32 {
        table.delete(n).expect("it is there");
    }
    let before = records(&table);
    let refused = append(&db, &table, &batch, IfThere::Stop).expect_err("keys are there");
    assert!(matches!(refused, Error::KeyIsThere { row: 1 }), "{refused}");
    assert_eq!(records(&table), before);
    let skipped = append(&db, &table, &batch, IfThere::Skip).expect("it is written");
    assert_eq!(skipped, Appended { inserted: 5, replaced: 0, skipped: 5 });
    let replaced = append(&db, &table, &batch, IfThere::Replace).expect("it is written");
    assert_eq!(replaced, Appended { inserted: 0, replaced: 10, skipped: 0 });
}

//! Columns: how files call them, of which types they are there, and values of partitions.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Float64Array, Int16Array, Int32Array, RecordBatch, StringArray,
    StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use lode_delta::{DeltaTable, Error};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use serde_json::{Value, json};

use crate::support::{Bench, field, metadata, protocol, with};

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    let columns = columns.iter().map(|(name, array)| (*name, array.clone(), true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("a batch")
}

fn ints(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

/// A column that files call by another name, or number.
fn mapped(name: &str, kind: &str, physical: &str, id: i32) -> Value {
    let metadata =
        json!({ "delta.columnMapping.physicalName": physical, "delta.columnMapping.id": id });
    field(name, kind, &metadata)
}

/// A table of these columns, whose files are found by a mode.
fn mapping(mode: &str, fields: &Value) -> Value {
    let configuration = json!({ "delta.columnMapping.mode": mode });
    with(&metadata(fields), "metaData", json!({ "configuration": configuration }))
}

/// The rows of a table of columns of 32 bits; nulls are -1.
fn rows(bench: &Bench) -> Vec<Vec<i32>> {
    let mut rows = Vec::new();
    for batch in bench.rows().expect("batches") {
        let columns: Vec<_> =
            batch.columns().iter().map(AsArray::as_primitive::<Int32Type>).collect();
        rows.extend((0..batch.num_rows()).map(|row| {
            columns
                .iter()
                .map(|array| if array.is_null(row) { -1 } else { array.value(row) })
                .collect()
        }));
    }
    rows
}

const MAPPING: &[&str] = &["columnMapping"];

#[test]
fn columns_are_found_by_their_physical_names() {
    let bench = Bench::new();
    // `a` was renamed, another column took its name, and `gone` was dropped.
    let file = batch(&[("a", ints(&[1, 2])), ("col-b", ints(&[3, 4])), ("gone", ints(&[5, 6]))]);
    let add = bench.file("a", &file);
    let fields = json!([
        mapped("renamed", "integer", "a", 1),
        mapped("a", "integer", "col-b", 2),
        mapped("new", "integer", "col-c", 3),
        mapped("part", "integer", "col-p", 4),
    ]);
    let add = with(&add, "add", json!({ "partitionValues": { "col-p": "7" } }));
    let partitions = json!({ "partitionColumns": ["part"] });
    let meta_data = with(&mapping("name", &fields), "metaData", partitions);
    let wanted = [[1, 3, -1, 7], [2, 4, -1, 7]];
    bench.entry(0, &[protocol(MAPPING), meta_data.clone(), add.clone()]);
    assert_eq!(rows(&bench), wanted);
    let versions = json!({ "minReaderVersion": 2, "minWriterVersion": 5 });
    bench.entry(0, &[json!({ "protocol": versions }), meta_data.clone(), add.clone()]);
    assert_eq!(rows(&bench), wanted);
    // The property counts only with the feature. The partition has the other name then.
    bench.entry(0, &[protocol(&["deletionVectors"]), meta_data, add]);
    assert_eq!(bench.why(), "is damaged: file a.parquet: it has no value of part");
}

#[test]
fn columns_are_found_by_their_ids() {
    let bench = Bench::new();
    let numbered = |name: &str, id: i32| {
        let metadata = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_string(), id.to_string())]);
        Field::new(name, DataType::Int32, true).with_metadata(metadata)
    };
    let schema = Schema::new(vec![numbered("x", 2), numbered("y", 1)]);
    let columns = vec![ints(&[20]), ints(&[10])];
    let file = RecordBatch::try_new(Arc::new(schema), columns).expect("a batch");
    let add = bench.file("a", &file);
    let fields = json!([
        mapped("one", "integer", "x", 1),
        mapped("two", "integer", "y", 2),
        mapped("three", "integer", "z", 3),
    ]);
    bench.entry(0, &[protocol(MAPPING), mapping("id", &fields), add]);
    assert_eq!(rows(&bench), [[10, 20, -1]]);
    let without_ids = bench.file("b", &batch(&[("x", ints(&[1]))]));
    bench.entry(1, &[without_ids]);
    let why = "it has no field ids, by which the columns of the table are found";
    assert_eq!(bench.why(), format!("is damaged: file b.parquet: {why}"));
    bench.entry(1, &[mapping("other", &fields)]);
    let why = "has the property delta.columnMapping.mode with \"other\", which Lode does not read";
    assert_eq!(bench.why(), why);
    bench.entry(1, &[mapping("id", &json!([field("one", "integer", &json!({}))]))]);
    assert_eq!(bench.why(), "is damaged: column one has no delta.columnMapping.physicalName");
}

#[test]
fn names_differ_by_more_than_the_case_of_their_letters() {
    let bench = Bench::new();
    let add = bench.file("a", &batch(&[("ID", ints(&[1]))]));
    let one = |name: &str| field(name, "integer", &json!({}));
    bench.entry(0, &[protocol(&[]), metadata(&json!([one("id")])), add]);
    assert_eq!(rows(&bench), [[1]]);
    let add = bench.file("b", &batch(&[("ID", ints(&[1])), ("Id", ints(&[2]))]));
    bench.entry(1, &[add]);
    assert_eq!(bench.why(), "is damaged: file b.parquet: it has column id twice");
    bench.entry(1, &[metadata(&json!([one("id"), one("ID")]))]);
    assert_eq!(bench.why(), "is damaged: column id is there twice");
    let fields = json!([mapped("one", "integer", "x", 1), mapped("two", "integer", "x", 2)]);
    bench.entry(1, &[protocol(MAPPING), mapping("name", &fields)]);
    assert_eq!(bench.why(), "is damaged: two of its columns are called x in files");
}

#[test]
fn files_from_before_a_type_was_widened_are_read() {
    let bench = Bench::new();
    let shorts: ArrayRef = Arc::new(Int16Array::from(vec![7]));
    let adds = [
        bench.file("a", &batch(&[("v", shorts)])),
        bench.file("b", &batch(&[("v", Arc::new(Float64Array::from(vec![0.5])))])),
    ];
    let changes = json!([{ "fromType": "short", "toType": "double" }]);
    let fields = json!([field("v", "double", &json!({ "delta.typeChanges": changes }))]);
    bench.entry(0, &[&[protocol(&["typeWidening"]), metadata(&fields)][..], &adds].concat());
    let found: Vec<f64> = bench
        .rows()
        .expect("batches")
        .iter()
        .map(|batch| batch.column(0).as_primitive::<Float64Type>().value(0))
        .collect();
    assert_eq!(found, [7.0, 0.5]);
    let changes = json!([{ "fromType": "string", "toType": "double" }]);
    let fields = json!([field("v", "double", &json!({ "delta.typeChanges": changes }))]);
    bench.entry(1, &[metadata(&fields)]);
    let change = "{\"fromType\":\"string\",\"toType\":\"double\"}";
    let why = format!("has a change of column v {change}, which Lode does not read");
    assert_eq!(bench.why(), why);
}

#[test]
fn a_file_of_another_type_is_refused() {
    let bench = Bench::new();
    let add = bench.file("a", &batch(&[("v", Arc::new(StringArray::from(vec!["7"])))]));
    bench.entry(0, &[protocol(&[]), metadata(&json!([field("v", "long", &json!({}))])), add]);
    assert_eq!(bench.why(), "is damaged: file a.parquet: column v: it is Utf8 and not Int64");
    let add = bench.file("b", &batch(&[("v", Arc::new(BinaryArray::from_vec(vec![b"\xff"])))]));
    bench.entry(0, &[protocol(&[]), metadata(&json!([field("v", "string", &json!({}))])), add]);
    let why = bench.why();
    assert!(why.starts_with("is damaged: file b.parquet: column v: "), "{why}");
}

#[test]
fn values_of_partitions_are_of_their_types() {
    let bench = Bench::new();
    let add = bench.file("a", &batch(&[("id", ints(&[1])), ("p", ints(&[9]))]));
    let schema = |kind: &str| {
        let fields = json!([field("id", "integer", &json!({})), field("p", kind, &json!({}))]);
        with(&metadata(&fields), "metaData", json!({ "partitionColumns": ["p"] }))
    };
    let valued = |value: Value| with(&add, "add", json!({ "partitionValues": { "p": value } }));
    bench.entry(0, &[protocol(&[]), schema("binary"), valued(json!("\u{1}é"))]);
    let batches = bench.rows().expect("batches");
    assert_eq!(batches[0].column(1).as_binary::<i32>().value(0), "\u{1}é".as_bytes());
    for null in [json!(null), json!("")] {
        bench.entry(0, &[protocol(&[]), schema("integer"), valued(null)]);
        assert_eq!(rows(&bench), [[1, -1]]);
    }
    for (kind, value, shown) in [
        ("binary", json!("\u{fffd}"), "\"\u{fffd}\" of column p (Binary)"),
        ("integer", json!("x"), "\"x\" of column p (Int32)"),
        ("float", json!("1e39"), "\"1e39\" of column p (Float32)"),
    ] {
        bench.entry(0, &[protocol(&[]), schema(kind), valued(value)]);
        let why = format!("has the value {shown} for file a.parquet, which Lode does not read");
        assert_eq!(bench.why(), why);
    }
    bench.entry(0, &[protocol(&[]), schema("integer"), add.clone()]);
    assert_eq!(bench.why(), "is damaged: file a.parquet: it has no value of p");
    let other = json!({ "partitionColumns": ["q"] });
    let fields = with(&schema("integer"), "metaData", other);
    bench.entry(0, &[protocol(&[]), fields, add]);
    assert_eq!(bench.why(), "is damaged: it has no column q for its partitions");
}

#[test]
fn columns_that_no_file_has_are_null() {
    let bench = Bench::new();
    let add = bench.file("a", &batch(&[("id", ints(&[1])), ("_change_type", ints(&[9]))]));
    let fields = json!([field("id", "integer", &json!({})), field("v", "void", &json!({}))]);
    bench.entry(0, &[protocol(&[]), metadata(&fields), add]);
    let batches = bench.rows().expect("batches");
    assert_eq!((batches[0].num_columns(), batches[0].column(1).logical_null_count()), (2, 1));
}

#[test]
fn columns_of_other_types_may_be_left_out() {
    let bench = Bench::new();
    let inner = Field::new("x", DataType::Int32, true);
    let nested = StructArray::from(vec![(Arc::new(inner), ints(&[7, 8]))]);
    let columns: [(&str, ArrayRef); 3] =
        [("n", Arc::new(nested)), ("b", ints(&[3, 4])), ("a", ints(&[1, 2]))];
    let add =
        with(&bench.file("f", &batch(&columns)), "add", json!({ "partitionValues": { "p": "5" } }));
    let inner = json!({ "type": "struct", "fields": [field("x", "integer", &json!({}))] });
    let nested = json!({ "name": "n", "type": inner, "nullable": true, "metadata": {} });
    let int = |name: &str| field(name, "integer", &json!({}));
    let fields = metadata(&json!([nested, int("a"), int("b"), int("p")]));
    let fields = with(&fields, "metaData", json!({ "partitionColumns": ["p"] }));
    bench.entry(0, &[protocol(&[]), fields, add]);
    assert!(bench.why().starts_with("has column n of type {"), "{}", bench.why());
    let read = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let table = DeltaTable::open_columns(&bench.location(), &names)?;
        let batches: Vec<_> = table.batches().collect::<Result<_, _>>()?;
        let of = |batch: &RecordBatch| {
            let columns = batch.columns().iter();
            let values = |array: &ArrayRef| array.as_primitive::<Int32Type>().values().to_vec();
            columns.map(values).collect::<Vec<_>>()
        };
        Ok::<_, Error>(batches.iter().map(of).collect::<Vec<_>>())
    };
    // The partition may be left out, or be all that is read.
    assert_eq!(read(&["b", "a"]).expect("rows"), [[[3, 4], [1, 2]]]);
    assert_eq!(read(&["p"]).expect("rows"), [[[5, 5]]]);
    assert!(matches!(read(&["a", "n"]), Err(Error::Unsupported { .. })));
    let why = read(&["a", "c"]).expect_err("it is refused").to_string();
    assert!(why.ends_with(": there is no column c; columns are n, a, b, p"), "{why}");
}

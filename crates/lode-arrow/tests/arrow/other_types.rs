//! Batches in other types than those that Lode's columns have themselves.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Decimal32Type, Decimal128Type, Decimal256Type, Int8Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Date32Array, Date64Array, Float32Array, Float64Array,
    Int64Array, LargeStringArray, ListArray, NullArray, PrimitiveArray, RecordBatch, StringArray,
    StringViewArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array,
};
use lode::{Decimal, KeyKind, ReadTable, Schema, Type, Value};
use lode_arrow::{
    Error, FileFormat, FileWriter, IfThere, Packer, ReadOptions, TableFiles, WriteOptions, append,
    lode_schema,
};

use crate::support::database;

/// Returns the values of a nullable column after an array was appended, or the refusal.
fn appended(kind: Type, array: ArrayRef) -> Result<Vec<String>, Error> {
    let db = database();
    let schema = Schema::build("t").key("id", Type::U64).nullable("value", kind).finish();
    let table = db.create_table(&schema.expect("a schema"), KeyKind::Tree).expect("a table");
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..array.len() as i64));
    let batch = RecordBatch::try_from_iter([("id", ids), ("value", array)]).expect("a batch");
    append(&db, &table, &batch, IfThere::Stop)?;
    let value = |row: lode::Result<lode::Row>| {
        format!("{:?}", row.expect("a row").get("value").expect("it has the column"))
    };
    Ok(table.iter().map(value).collect())
}

fn comes(kind: Type, array: impl Array + 'static, wanted: &[Value<'_>]) {
    let wanted: Vec<_> = wanted.iter().map(|value| format!("{value:?}")).collect();
    assert_eq!(appended(kind, Arc::new(array)).expect("it fits"), wanted);
}

fn refused(kind: Type, array: impl Array + 'static, why: &str) {
    let error = appended(kind, Arc::new(array)).expect_err("it does not fit");
    assert_eq!(error.to_string(), why);
}

#[test]
fn what_means_the_same_is_taken() {
    let decimals: PrimitiveArray<Decimal128Type> = [Some(7), None].into_iter().collect();
    let decimals = decimals.with_precision_and_scale(20, 0).expect("a precision");
    comes(Type::U64, decimals, &[Value::Unsigned(7), Value::Null]);
    comes(Type::I8, Int64Array::from(vec![-128, 127]), &[-128, 127].map(Value::Signed));
    comes(Type::F32, Float64Array::from(vec![0.5]), &[Value::Float(0.5)]);
    comes(Type::F64, Float32Array::from(vec![0.1]), &[Value::Float(0.1f32.into())]);
    comes(Type::Timestamp, Date32Array::from(vec![1]), &[Value::Timestamp(86_400_000_000)]);
    comes(Type::Timestamp, Date64Array::from(vec![-1]), &[Value::Timestamp(-1_000)]);
    comes(Type::Timestamp, TimestampSecondArray::from(vec![2]), &[Value::Timestamp(2_000_000)]);
    comes(Type::Timestamp, TimestampNanosecondArray::from(vec![-3_000]), &[Value::Timestamp(-3)]);
    comes(Type::Text(3), LargeStringArray::from(vec!["abc"]), &[Value::Text("abc")]);
    comes(Type::VarText(30), StringViewArray::from(vec!["view"]), &[Value::Text("view")]);
    let views = BinaryViewArray::from_iter_values([b"\xff"]);
    comes(Type::VarBytes(3), views, &[Value::Bytes(b"\xff")]);
    comes(Type::U8, NullArray::new(2), &[Value::Null, Value::Null]);
    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    for word in [Some("b"), Some("a"), None, Some("b")] {
        words.append_option(word);
    }
    let wanted = [Value::Text("b"), Value::Text("a"), Value::Null, Value::Text("b")];
    comes(Type::Text(1), words.finish(), &wanted);
}

fn decimal(text: &str) -> Value<'static> {
    Value::Decimal(text.parse::<Decimal>().expect("a decimal"))
}

#[test]
fn decimals_of_all_widths_are_taken_exactly_or_refused() {
    let cents: PrimitiveArray<Decimal32Type> = [Some(-1_230), None].into_iter().collect();
    let cents = cents.with_precision_and_scale(9, 2).expect("a precision");
    let price = Type::Decimal { precision: 12, scale: 2 };
    comes(price, cents.clone(), &[decimal("-12.30"), Value::Null]);
    // With fewer digits after the point, as long as none is lost.
    comes(
        Type::Decimal { precision: 3, scale: 1 },
        cents.clone(),
        &[decimal("-12.3"), Value::Null],
    );
    let whole = Type::Decimal { precision: 12, scale: 0 };
    refused(whole, cents, "row 1: column value (decimal(12,0)) cannot hold -12.30");
    let wide = [12_500, 12_345].map(|number| Some(number.into()));
    let wide: PrimitiveArray<Decimal256Type> = wide.into_iter().collect();
    let wide = wide.with_precision_and_scale(40, 3).expect("a precision");
    refused(price, wide, "row 2: column value (decimal(12,2)) cannot hold 12.345");
    comes(price, Int64Array::from(vec![7]), &[decimal("7.00")]);
    refused(
        Type::Decimal { precision: 2, scale: 1 },
        Int64Array::from(vec![9, 10]),
        "row 2: column value (decimal(2,1)) cannot hold 10",
    );
    let double = Float64Array::from(vec![0.5]);
    assert!(matches!(appended(price, Arc::new(double)), Err(Error::TypeMisfit { .. })));
}

#[test]
fn what_does_not_fit_is_named_with_its_row() {
    let row = "row 2: column value";
    let numbers = Int64Array::from(vec![0, -1]);
    refused(Type::U32, numbers, &format!("{row} (u32) cannot hold -1"));
    let numbers = Int64Array::from(vec![0, 128]);
    refused(Type::I8, numbers, &format!("{row} (i8) cannot hold 128"));
    let floats = Float64Array::from(vec![0.5, 0.1]);
    refused(Type::F32, floats, &format!("{row} (f32) cannot hold 0.1"));
    let moments = TimestampNanosecondArray::from(vec![1_000, 1]);
    let why = "(timestamp) cannot hold the moment 1 ns after the beginning of 1970";
    refused(Type::Timestamp, moments, &format!("{row} {why}"));
    let words = StringArray::from(vec!["ab", "abc"]);
    refused(
        Type::VarText(2),
        words,
        "row 2: table t: column value can have at most 2 bytes, not 3",
    );
    refused(Type::Bool, UInt8Array::from(vec![1]), "column value: UInt8 does not fit bool");
    refused(Type::U8, Float32Array::from(vec![1.0]), "column value: Float32 does not fit u8");
}

#[test]
fn columns_are_found_by_their_names() {
    let db = database();
    let schema = Schema::build("t").key("id", Type::U8).nullable("a", Type::U8);
    let schema = schema.column("b", Type::U8).finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let byte = || -> ArrayRef { Arc::new(UInt8Array::from(vec![7])) };
    let batch = |names: &[&'static str]| {
        RecordBatch::try_from_iter(names.iter().map(|name| (*name, byte()))).expect("a batch")
    };
    append(&db, &table, &batch(&["b", "id"]), IfThere::Stop).expect("it fits");
    let row = table.get(7).expect("it is read").expect("it is there");
    assert_eq!((row.get("a"), row.get("b")), (Some(Value::Null), Some(Value::Unsigned(7))));
    let why = |names: &[&'static str]| {
        append(&db, &table, &batch(names), IfThere::Stop).expect_err("refused").to_string()
    };
    assert_eq!(why(&["id"]), "there is no column b, which cannot be null; columns are id");
    assert_eq!(why(&["id", "b", "c"]), "column c is none of table t, whose columns are id, a, b");
    let null: ArrayRef = Arc::new(UInt8Array::from(vec![None]));
    let batch = RecordBatch::try_from_iter([("id", byte()), ("b", null)]).expect("a batch");
    let error = append(&db, &table, &batch, IfThere::Stop).expect_err("it cannot be null");
    assert_eq!(error.to_string(), "row 1: column b (u8) cannot hold null");
}

#[test]
fn a_schema_is_made_of_what_others_wrote() {
    let column = |array: ArrayRef| array;
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("name", column(Arc::new(LargeStringArray::from(vec!["a"]))), false),
        ("day", column(Arc::new(Date32Array::from(vec![1]))), true),
        ("n", column(Arc::new(Int64Array::from(vec![1]))), false),
    ]);
    let batch = batch.expect("a batch");
    let keys = ["n", "name"].map(String::from);
    let schema = lode_schema("t", &batch.schema(), &keys).expect("a schema");
    let wanted = Schema::build("t").key("n", Type::I64).key("name", Type::VarText(510));
    let wanted = wanted.nullable("day", Type::Timestamp).finish().expect("a schema");
    assert_eq!(schema, wanted);
    let none = lode_schema("t", &batch.schema(), &[]).expect_err("no key");
    assert_eq!(none.to_string(), "table t: it has no key; begin with a key column");
    let list: ArrayRef = Arc::new(ListArray::new_null(
        Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::UInt8, true)),
        1,
    ));
    let batch = RecordBatch::try_from_iter([("list", list)]).expect("a batch");
    let error = lode_schema("t", &batch.schema(), &["list".into()]).expect_err("no type");
    assert!(error.to_string().starts_with("column list: no type of Lode holds List"), "{error}");
}

#[test]
fn times_are_rounded_to_microseconds_on_request() {
    let schema = Schema::build("t").key("at", Type::Timestamp).finish().expect("a schema");
    let moments = vec![-1_500, -501, -500, 499, 500, 1_000];
    let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(moments));
    let batch = RecordBatch::try_from_iter([("at", array)]).expect("a batch");
    let packed = |rounds| {
        let packer = Packer::new(&schema, batch.schema()).expect("it fits");
        let mut packer = packer.rounds_times(rounds);
        let mut all = Vec::new();
        let put = &mut |_, record: &[u8]| {
            all.push(i64::from_le_bytes(record.try_into().expect("eight bytes")));
            Ok::<(), Error>(())
        };
        packer.pack(&batch, put).map(|()| all)
    };
    assert_eq!(packed(true).expect("they fit"), [-1, -1, 0, 0, 1, 1]);
    let why = "row 1: column at (timestamp) cannot hold the moment -1500 ns after the beginning of \
               1970";
    assert_eq!(packed(false).expect_err("it has more digits").to_string(), why);
}

#[test]
fn columns_that_no_type_holds_can_be_left_out() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![7, 8]));
    let lists = [Some(vec![Some(1)]), None];
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int8Type, _, _>(lists));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let columns = [("id", ids), ("list", lists), ("name", names)];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    for format in [FileFormat::Parquet, FileFormat::Ipc] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let file = std::fs::File::create(&path).expect("a file");
        let options = WriteOptions::of(format);
        let mut writer = FileWriter::new(format, &batch.schema(), &options, file).expect("a file");
        writer.write(&batch).expect("it is written");
        writer.finish().expect("it is whole");
        let rows = |columns: &[&str]| {
            let columns = Some(columns.iter().map(ToString::to_string).collect());
            let options = ReadOptions { columns, ..ReadOptions::default() };
            let rows = TableFiles::one(&path, format).open(0, &options)?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let wanted = batch.project(&[2, 0]).expect("they are there");
        let found = rows(&["name", "id"]).expect("they are there");
        assert_eq!(found[0].columns(), wanted.columns(), "{format:?}");
        assert_eq!(rows(&[]).expect("rows without columns")[0].num_rows(), 2);
        let why = rows(&["id", "age"]).expect_err("there is no such column").to_string();
        assert_eq!(why, "there is no column age; columns are id, list, name");
    }
}

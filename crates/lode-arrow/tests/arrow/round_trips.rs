//! Checks that values go through a file unchanged, bit by bit.

use lode::{KeyKind, Schema, Type, Value};
use lode_arrow::{FileFormat, FileReader, ReadOptions, WriteOptions, lode_schema};
use proptest::prelude::*;

use crate::support::{TYPES, edges, every_type, read_back, records, table, through_files, written};

#[test]
fn every_edge_of_every_type_comes_back() {
    let schema = every_type();
    let of_columns: Vec<_> = schema.columns().iter().map(edges).collect();
    let most = of_columns.iter().map(Vec::len).max().expect("there are columns");
    let records = (0..most).map(|row| {
        let values = of_columns.iter().map(|edges| edges[row % edges.len()]);
        let mut values: Vec<_> = values.collect();
        values[0] = Value::Unsigned(row as u64);
        schema.pack(&values).expect("they fit")
    });
    let records: Vec<_> = records.collect();
    through_files(&schema, KeyKind::Tree, &records);
    through_files(&schema, KeyKind::Hash, &records);
}

#[test]
fn an_empty_table_comes_back_with_its_schema() {
    let schema = every_type();
    through_files(&schema, KeyKind::Tree, &[]);
    let (_db, empty) = table(&schema, KeyKind::Tree, &[]);
    for format in [FileFormat::Parquet, FileFormat::Ipc] {
        let file = written(&empty, format, &WriteOptions::of(format));
        let reader = FileReader::open(format, file, &ReadOptions::default()).expect("a file");
        let found = lode_schema("all", reader.schema(), &[]).expect("a schema");
        assert_eq!(found, schema, "{format:?}");
    }
}

#[test]
fn keys_of_any_type_come_back() {
    for kind in TYPES {
        let kind = match kind {
            Type::VarText(_) => Type::VarText(40),
            Type::VarBytes(_) => Type::VarBytes(40),
            other => other,
        };
        let schema = Schema::build("t").key("k", kind).key("n", Type::VarText(3)).finish();
        let schema = schema.expect("a schema");
        let fits = |value: &&Value<'_>| {
            !matches!(value, Value::Text(text) if text.len() > 40)
                && !matches!(value, Value::Bytes(bytes) if bytes.len() > 40)
        };
        let keys = edges(&schema.columns()[0]);
        let records = keys.iter().filter(fits).flat_map(|key| {
            ["", "x", "\u{ffff}"].map(|n| schema.pack(&[*key, Value::Text(n)]).expect("they fit"))
        });
        let records: Vec<_> = records.collect();
        through_files(&schema, KeyKind::Tree, &records);
        through_files(&schema, KeyKind::Hash, &records);
    }
}

/// A value of a column, from bytes that are drawn.
fn value(kind: Type) -> BoxedStrategy<OwnedValue> {
    let text = |most: usize| {
        let text = prop_oneof![".{0,2}", "[,\"\r\n\0 äa]{0,6}", "\\PC{0,40}"];
        text.prop_map(move |text| {
            let end = text.floor_char_boundary(most);
            OwnedValue::Text(text[..end].trim_end_matches('\0').into())
        })
    };
    match kind {
        Type::Text(most) => text(most as usize).boxed(),
        Type::VarText(_) => text(usize::MAX).boxed(),
        Type::Bytes(size) => {
            prop::collection::vec(any::<u8>(), size as usize).prop_map(OwnedValue::Bytes).boxed()
        }
        Type::VarBytes(_) => {
            prop::collection::vec(any::<u8>(), 0..20).prop_map(OwnedValue::Bytes).boxed()
        }
        Type::Bool => any::<bool>().prop_map(|bit| OwnedValue::Bits(vec![bit.into()])).boxed(),
        fixed => {
            let byte = prop_oneof![Just(0), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()];
            prop::collection::vec(byte, fixed.size_bytes()).prop_map(OwnedValue::Bits).boxed()
        }
    }
}

/// A value, or the bytes of its cell.
#[derive(Clone, Debug)]
enum OwnedValue {
    Text(String),
    Bytes(Vec<u8>),
    Bits(Vec<u8>),
}

/// A record of [`every_type`]: an id, and a value or nothing for each other column.
fn record() -> impl Strategy<Value = (u64, Vec<Option<OwnedValue>>)> {
    let columns = TYPES.iter().flat_map(|kind| {
        [value(*kind).prop_map(Some).boxed(), prop::option::of(value(*kind)).boxed()]
    });
    (any::<u64>(), columns.collect::<Vec<_>>())
}

fn packed(schema: &Schema, id: u64, values: &[Option<OwnedValue>]) -> Vec<u8> {
    let columns = schema.columns()[1..].iter().zip(values);
    let mut all = vec![Value::Unsigned(id)];
    all.extend(columns.clone().map(|(column, value)| match value {
        None => Value::Null,
        Some(OwnedValue::Text(text)) => Value::Text(text),
        Some(OwnedValue::Bytes(bytes)) => Value::Bytes(bytes),
        Some(OwnedValue::Bits(_)) => edges(column)[0],
    }));
    let mut record = schema.pack(&all).expect("they fit");
    for (column, value) in columns {
        if let Some(OwnedValue::Bits(bits)) = value {
            record[column.range()].copy_from_slice(bits);
        }
    }
    record
}

/// Gives floats that are no number the bits of the usual one, as CSV does.
fn with_usual_nan(schema: &Schema, record: &mut [u8]) {
    for column in schema.columns() {
        let cell = &mut record[column.range()];
        match column.kind {
            Type::F32 if f32::from_le_bytes(cell.try_into().expect("4")).is_nan() => {
                cell.copy_from_slice(&f32::NAN.to_le_bytes());
            }
            Type::F64 if f64::from_le_bytes(cell.try_into().expect("8")).is_nan() => {
                cell.copy_from_slice(&f64::NAN.to_le_bytes());
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_records_come_back(rows in prop::collection::vec(record(), 0..12)) {
        let schema = every_type();
        let all: Vec<_> = rows.iter().map(|(id, values)| packed(&schema, *id, values)).collect();
        let (_db, original) = table(&schema, KeyKind::Tree, &all);
        let wanted = records(&original);
        for format in [FileFormat::Parquet, FileFormat::Ipc] {
            let file = written(&original, format, &WriteOptions::of(format));
            let copy = read_back(&schema, KeyKind::Tree, format, file);
            prop_assert_eq!(&records(&copy), &wanted, "{:?}", format);
        }
        let mut usual = wanted;
        usual.iter_mut().for_each(|record| with_usual_nan(&schema, record));
        let csv = FileFormat::Csv;
        let file = written(&original, csv, &WriteOptions::of(csv));
        prop_assert_eq!(&records(&read_back(&schema, KeyKind::Tree, csv, file)), &usual);
    }
}

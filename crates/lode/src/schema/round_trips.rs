//! Tests with records of any schema: packed, set or replaced values come back, and bytes that are
//! no record are refused.

use proptest::prelude::*;

use super::{MOST_VARIABLE_BYTES, Schema, Type, Value};
use crate::codec::{Reader, Writer};
use crate::decimal::Decimal;

/// A column, and its values in two records.
#[derive(Clone, Debug)]
struct Cell {
    kind: Type,
    is_nullable: bool,
    contents: [Content; 2],
}

#[derive(Clone, Debug)]
struct Content {
    is_null: bool,
    number: u8,
    text: String,
    bytes: Vec<u8>,
}

impl Cell {
    fn value(&self, record: usize) -> Value<'_> {
        let Content { is_null, number, text, bytes } = &self.contents[record];
        match self.kind {
            _ if self.is_nullable && *is_null => Value::Null,
            Type::U8 => Value::Unsigned((*number).into()),
            Type::I64 => Value::Signed(-i64::from(*number)),
            Type::Text(most) => Value::Text(start(text, most).trim_end_matches('\0')),
            Type::VarText(most) => Value::Text(start(text, most)),
            Type::Bytes(size) => Value::Bytes(&bytes[..size as usize]),
            Type::VarBytes(most) => Value::Bytes(&bytes[..bytes.len().min(most as usize)]),
            Type::Decimal { precision, scale } => {
                // Of any number of digits that the column has, with any number after the point.
                let wide: [u8; 16] = std::array::from_fn(|at| bytes[at % bytes.len()]);
                let digits = u32::from(number % precision + 1);
                let unscaled = i128::from_le_bytes(wide) % 10i128.pow(digits);
                Value::Decimal(Decimal::new(unscaled, scale).expect("it has so few digits"))
            }
            other => unreachable!("{other:?} is not drawn"),
        }
    }
}

fn start(text: &str, most: u32) -> &str {
    &text[..text.floor_char_boundary(most as usize)]
}

fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let kind = prop_oneof![
        Just(Type::U8),
        Just(Type::I64),
        (1..6u32).prop_map(Type::Text),
        (1..4u32).prop_map(Type::Bytes),
        (1..20u32).prop_map(Type::VarText),
        (1..20u32).prop_map(Type::VarBytes),
        (1..=38u8)
            .prop_flat_map(|precision| (Just(precision), 0..=precision))
            .prop_map(|(precision, scale)| Type::Decimal { precision, scale }),
    ];
    let bytes = prop::collection::vec(any::<u8>(), 4..24);
    let content = (any::<bool>(), any::<u8>(), "[a-cä\0]{0,20}", bytes)
        .prop_map(|(is_null, number, text, bytes)| Content { is_null, number, text, bytes });
    let cell = (kind, any::<bool>(), [content.clone(), content])
        .prop_map(|(kind, is_nullable, contents)| Cell { kind, is_nullable, contents });
    prop::collection::vec(cell, 0..12)
}

fn schema(cells: &[Cell]) -> Schema {
    let builder = Schema::build("t").key("key", Type::U16);
    let with_all = cells.iter().enumerate().fold(builder, |builder, (at, cell)| {
        let name = &at.to_string();
        match cell.is_nullable {
            true => builder.nullable(name, cell.kind),
            false => builder.column(name, cell.kind),
        }
    });
    with_all.finish().expect("a schema")
}

fn values(cells: &[Cell], record: usize) -> Vec<Value<'_>> {
    let rest = cells.iter().map(|cell| cell.value(record));
    std::iter::once(Value::Unsigned(513)).chain(rest).collect()
}

fn read<'r>(schema: &'r Schema, record: &'r [u8]) -> Vec<Value<'r>> {
    let row = schema.row(record).expect("a record");
    schema.columns().iter().map(|column| row.at(column.id())).collect()
}

/// Returns true if the ends of a record's columns are those of a record, by the format.
fn is_whole(schema: &Schema, record: &[u8]) -> bool {
    let Some(rest) = record.len().checked_sub(schema.record_size()) else { return false };
    let mut from = 0;
    for column in schema.columns().iter().filter(|column| column.kind.is_variable()) {
        let (Type::VarText(most) | Type::VarBytes(most)) = column.kind else { return false };
        let end = u32::from_le_bytes(record[column.range()].try_into().expect("four bytes"));
        if end < from || end - from > most {
            return false;
        }
        from = end;
    }
    from as usize == rest
}

proptest! {
    #[test]
    fn what_is_packed_comes_back(cells in cells()) {
        let schema = schema(&cells);
        let values = values(&cells, 0);
        let record = schema.pack(&values).expect("it fits");
        prop_assert_eq!(&read(&schema, &record), &values);
        prop_assert!(is_whole(&schema, &record));
        prop_assert_eq!(schema.expect_payload(&record[2..]), Ok(()));
        for (column, value) in schema.columns().iter().zip(&values) {
            let bytes = schema.bytes_of(&record, column);
            match (column.kind, value) {
                (Type::VarText(_) | Type::VarBytes(_), value) => match value {
                    Value::Text(text) => prop_assert_eq!(bytes, text.as_bytes()),
                    Value::Bytes(whole) => prop_assert_eq!(bytes, *whole),
                    _ => prop_assert!(bytes.is_empty()),
                },
                _ => prop_assert_eq!(bytes, &record[column.range()]),
            }
        }
        let mut writer = Writer::default();
        schema.store(&mut writer);
        prop_assert_eq!(Schema::restore(&mut Reader::new(&writer.0, "a schema")), Ok(schema));
    }

    #[test]
    fn a_record_whose_columns_are_set_is_as_if_packed_so(
        cells in cells(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let schema = schema(&cells);
        let mut values = values(&cells, 0);
        let mut record = schema.pack(&values).expect("it fits");
        for at in order {
            let at = at.index(cells.len() + 1);
            values[at] = if at == 0 { Value::Unsigned(2) } else { cells[at - 1].value(1) };
            schema.set(&mut record, &schema.columns()[at], values[at]).expect("it fits");
            prop_assert_eq!(&record, &schema.pack(&values).expect("it fits"));
        }
    }

    #[test]
    fn a_payload_whose_columns_are_replaced_is_as_if_packed_so(
        cells in cells(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let schema = schema(&cells);
        let (mut values, others) = (values(&cells, 0), values(&cells, 1));
        let mut payload = schema.pack(&values).expect("it fits").split_off(2);
        let other = schema.pack(&others).expect("it fits");
        for at in order {
            let at = at.index(cells.len() + 1);
            let column = &schema.columns()[at];
            let bytes = schema.bytes_of(&other, column);
            if at == 0 {
                prop_assert!(schema.replace(&mut payload, column.id(), bytes).is_err());
            } else if values[at] != Value::Null && others[at] != Value::Null {
                values[at] = others[at];
                schema.replace(&mut payload, column.id(), bytes).expect("it fits");
            }
            prop_assert_eq!(&payload[..], &schema.pack(&values).expect("it fits")[2..]);
        }
    }

    #[test]
    fn what_is_no_record_is_refused_and_what_is_can_be_read(
        cells in cells(),
        ends in prop::collection::vec((any::<prop::sample::Index>(), 0..80u32), 1..3),
        more in prop::collection::vec(any::<u8>(), 1..4),
    ) {
        let schema = schema(&cells);
        let whole = schema.pack(&values(&cells, 0)).expect("it fits");
        for end in 0..whole.len() {
            prop_assert!(schema.expect_record(&whole[..end]).is_err(), "cut at {}", end);
            if let Some(payload) = whole[..end].get(2..) {
                prop_assert!(schema.expect_payload(payload).is_err(), "cut at {}", end);
            }
        }
        prop_assert!(schema.row(&[&whole[..], &more].concat()).is_err());
        let mut forged = whole;
        for (column, end) in ends.iter().filter(|_| schema.is_variable()) {
            let column = &schema.columns()[schema.variable[column.index(schema.variable.len())]];
            forged[column.range()].copy_from_slice(&end.to_le_bytes());
        }
        prop_assert_eq!(schema.expect_record(&forged).is_ok(), is_whole(&schema, &forged));
        prop_assert_eq!(schema.expect_payload(&forged[2..]).is_ok(), is_whole(&schema, &forged));
        if is_whole(&schema, &forged) {
            read(&schema, &forged);
        }
    }
}

fn two_long_columns() -> Schema {
    let most = MOST_VARIABLE_BYTES as u32;
    let builder = Schema::build("t").key("id", Type::U16).column("a", Type::VarBytes(most));
    builder.nullable("b", Type::VarText(most)).finish().expect("a schema")
}

fn why<T: std::fmt::Debug>(outcome: crate::Result<T>) -> String {
    outcome.expect_err("it is refused").to_string()
}

#[test]
fn a_value_that_does_not_fit_leaves_the_record_as_it_was() {
    let kinds = [Type::U32, Type::Text(4), Type::U64, Type::Bytes(3), Type::F32, Type::VarText(3)];
    let columns = kinds.iter().zip(["id", "a", "b", "c", "d", "e"]).skip(1);
    let builder = Schema::build("t").key("id", Type::U32);
    let schema = columns.fold(builder, |builder, (kind, name)| builder.column(name, *kind));
    let schema = schema.finish().expect("a schema");
    let bytes = Value::Bytes(&[1, 2, 3]);
    let values = [
        Value::Unsigned(9),
        Value::Text("abcd"),
        Value::Unsigned(77),
        bytes,
        Value::Float(0.5),
        Value::Text("xyz"),
    ];
    let record = schema.pack(&values).expect("it fits");
    let misfits = [
        Value::Null,
        Value::Text("Augusta"),
        Value::Text("aaa\u{e9}"),
        Value::Text("a\0"),
        Value::Unsigned(u64::MAX),
        Value::Signed(-1),
        Value::Bytes(&[7; 40]),
        Value::Float(1e300),
        Value::Bool(true),
    ];
    let mut refused = 0;
    for (column, misfit) in schema.columns().iter().flat_map(|c| misfits.map(|value| (c, value))) {
        let mut changed = record.clone();
        if schema.set(&mut changed, column, misfit).is_err() {
            assert_eq!(changed, record, "{column:?}: {misfit:?}");
            refused += 1;
        }
    }
    assert!(refused > 40, "{refused}");
}

#[test]
fn columns_of_variable_length_have_at_most_a_mebibyte_together() {
    let schema = two_long_columns();
    let id = Value::Unsigned(1);
    let room = MOST_VARIABLE_BYTES;
    let half = vec![7; room / 2];
    let long = "x".repeat(room - room / 2 + 1);
    let fits = [id, Value::Bytes(&half), Value::Text(&long[1..])];
    let record = schema.pack(&fits).expect("just so");
    assert_eq!(record.len(), schema.record_size() + room);
    assert_eq!(read(&schema, &record), fits);

    let too_long = "have at most 1048576 bytes together, not 1048577";
    assert!(why(schema.pack(&[id, fits[1], Value::Text(&long)])).contains(too_long));
    let mut changed = record.clone();
    let last = &schema.columns()[2];
    assert!(why(schema.set(&mut changed, last, Value::Text(&long))).contains(too_long));
    assert_eq!(changed, record);
    let alone = "y".repeat(room);
    let alone = [id, Value::Bytes(b""), Value::Text(&alone)];
    assert_eq!(read(&schema, &schema.pack(&alone).expect("a column has as many")), alone);
    let mut payload = record[2..].to_vec();
    assert!(why(schema.replace(&mut payload, last.id(), long.as_bytes())).contains(too_long));
    assert_eq!(payload, record[2..]);
    let mut forged = [&record[..], b"x"].concat();
    forged[last.range()].copy_from_slice(&(room as u32 + 1).to_le_bytes());
    assert!(why(schema.row(&forged)).contains(too_long));
    assert!(why(schema.expect_payload(&forged[2..])).contains(too_long));
}

#[test]
fn what_is_wrong_with_a_record_is_said() {
    let builder = Schema::build("t").key("id", Type::U16).column("a", Type::VarText(4));
    let schema = builder.column("b", Type::VarBytes(4)).finish().expect("a schema");
    let of = |a: u32, b: u32, rest: &[u8]| {
        let record = [&[0, 0][..], &a.to_le_bytes(), &b.to_le_bytes(), rest].concat();
        schema.row(&record).map(drop)
    };
    assert_eq!(of(3, 5, b"aaabb"), Ok(()));
    assert_eq!(of(0, 0, b""), Ok(()));
    assert!(why(of(3, 2, b"aa")).contains("column b ends before it begins"));
    assert!(why(of(5, 6, b"aaaaab")).contains("column a can have at most 4 bytes, not 5"));
    assert!(why(of(0, u32::MAX, b"")).contains("column b can have at most 4 bytes"));
    let beyond = "have 5 bytes, and the record has 4 for them";
    assert!(why(of(3, 5, b"aaab")).contains(beyond));
    assert!(why(schema.row(&[0; 9])).contains("a packed record has at least 10 bytes, not 9"));
    assert!(why(schema.expect_payload(&[0; 7])).contains("a packed payload has at least 8 bytes"));
}

#[test]
fn values_of_variable_length_that_do_not_fit_are_refused() {
    let builder = Schema::build("t").key("id", Type::U16).column("a", Type::VarText(4));
    let schema = builder.nullable("b", Type::VarBytes(2)).finish().expect("a schema");
    let id = Value::Unsigned(1);
    let packed = |a, b| schema.pack(&[id, a, b]);
    assert!(packed(Value::Text("ab\0\0"), Value::Null).is_ok());
    let long = packed(Value::Text("abcde"), Value::Null);
    assert!(why(long).contains("column a can have at most 4 bytes, not 5"));
    assert!(why(packed(Value::Null, Value::Null)).contains("null does not fit column a"));
    assert!(why(packed(Value::Bytes(b"a"), Value::Null)).contains("does not fit column a"));
    assert!(why(packed(Value::Text(""), Value::Text("b"))).contains("does not fit column b"));
    let endless = vec![0; 1000];
    let refused = why(packed(Value::Bytes(&endless), Value::Null));
    assert!(refused.contains("00… of 1000 bytes does not fit column a"), "{refused}");
    assert!(refused.len() < 400, "{refused}");

    let mut record = packed(Value::Text("é"), Value::Bytes(b"xy")).expect("it fits");
    let at = record.len() - 3;
    record[at] = b'!';
    let row = schema.row(&record).expect("a record");
    assert_eq!(row.get("a"), Some(Value::Bytes(b"\xc3!")));
}

//! Whatever bytes a record has, its line gives them back.

use lode::{Schema, Type};
use proptest::prelude::*;

use super::{Fault, Writer, read};

/// Makes a schema with every type, as it is and nullable.
fn schema() -> Schema {
    let types = [
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::F32,
        Type::F64,
        Type::Bool,
        Type::Timestamp,
        Type::Text(9),
        Type::Bytes(3),
    ];
    let mut builder = Schema::build("t").key("a \"key\"", Type::U64);
    for kind in types {
        builder = builder.column(&format!("{kind:?}"), kind);
        builder = builder.nullable(&format!("{kind:?}?"), kind);
    }
    builder.finish().expect("a schema")
}

/// Makes a schema with columns of variable length.
fn variable_schema() -> Schema {
    Schema::build("t")
        .key("a", Type::U8)
        .key("k", Type::VarText(9))
        .column("b", Type::VarText(20))
        .column("c", Type::VarBytes(20))
        .column("d", Type::U8)
        .nullable("e", Type::VarText(4))
        .finish()
        .expect("a schema")
}

fn line(schema: &Schema, record: &[u8]) -> String {
    let mut line = Vec::new();
    Writer::new(schema).append(record, &mut line).expect("a record");
    String::from_utf8(line).expect("JSON is text")
}

/// Returns pieces of lines, and some text that lines do not have.
fn part() -> impl Strategy<Value = &'static str> {
    const PARTS: [&str; 18] = [
        "{",
        "}",
        "[1]",
        "]",
        "\"hex\"",
        "\"a\"",
        ":",
        ",",
        "1",
        "-",
        "1e99",
        ".5",
        "\"",
        "null",
        "\"\\u0000\"",
        "{\"hex\":\"00\"}",
        "ä",
        " ",
    ];
    prop::sample::select(&PARTS[..])
}

/// Makes bytes that are often the edges of something.
fn bytes(count: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0), Just(1), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()];
    prop::collection::vec(byte, count)
}

/// Clears the cells of columns that are null, and the bits after the last of them.
fn without_meaningless_bytes(schema: &Schema, record: &mut [u8]) {
    let row = record.to_vec();
    let row = schema.row(&row).expect("a record");
    let mut bits = 0;
    for column in schema.columns() {
        bits += u32::from(column.nullable);
        if row.at(column.id()) == lode::Value::Null {
            record[column.range()].fill(0);
        }
    }
    if bits % 8 != 0 {
        let last = record.last_mut().expect("a record has bytes");
        *last &= (1 << (bits % 8)) - 1;
    }
}

proptest! {
    #[test]
    fn any_bytes_come_back(mut record in bytes(schema().record_size())) {
        let schema = schema();
        without_meaningless_bytes(&schema, &mut record);
        let text = line(&schema, &record);
        prop_assert_eq!(text.matches('\n').count(), 1);
        let back = read(&schema, &text);
        prop_assert_eq!(back.as_deref(), Ok(&record[..]), "{}", text);
    }

    #[test]
    fn bytes_of_any_length_come_back(
        text in prop_oneof![bytes(0), bytes(3), "\\PC{0,3}\0?".prop_map(String::into_bytes)],
        raw in prop::collection::vec(any::<u8>(), 0..20),
        maybe in prop::option::of("[a\0\"]{0,4}".prop_map(String::into_bytes)),
        name in prop_oneof![bytes(0), bytes(2), "[ä\0]{0,4}".prop_map(String::into_bytes)],
    ) {
        let schema = variable_schema();
        let ends = [text.len(), text.len() + raw.len()];
        let last = ends[1] + maybe.as_ref().map_or(0, Vec::len);
        let ends = [ends[0], ends[1], last].map(|end| (end as u32).to_le_bytes());
        let key = [&[9, name.len() as u8, 0][..], &name].concat();
        let mut record = [&key[..], &ends[0][..], &ends[1], &[7], &ends[2]].concat();
        record.push(u8::from(maybe.is_none()));
        record.extend([text, raw, maybe.unwrap_or_default()].concat());
        let text = line(&schema, &record);
        let back = read(&schema, &text);
        prop_assert_eq!(back.as_deref(), Ok(&record[..]), "{}", text);
        // Also with the columns in another order.
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let names = ["e", "d", "k", "c", "b", "a"];
        let turned = names.map(|name| format!("\"{name}\":{}", value[name]));
        let back = read(&schema, &format!("{{{}}}", turned.join(",")));
        prop_assert_eq!(back.as_deref(), Ok(&record[..]), "{}", text);
    }

    #[test]
    fn any_numbers_and_text_come_back(
        (a, b, c, d) in any::<(u64, i64, f32, f64)>(),
        text in "\\PC{0,3}[\"\\\\\u{1}-\u{1f}]?",
    ) {
        let schema = Schema::build("t").key("a", Type::U64).column("b", Type::I64)
            .column("c", Type::F32).column("d", Type::F64).column("e", Type::Text(16));
        let schema = schema.finish().expect("a schema");
        let mut record = [&a.to_le_bytes()[..], &b.to_le_bytes(), &c.to_le_bytes()].concat();
        record.extend_from_slice(&d.to_le_bytes());
        record.extend_from_slice(text.as_bytes());
        record.resize(schema.record_size(), 0);
        let text = line(&schema, &record);
        let back = read(&schema, &text);
        prop_assert_eq!(back.as_deref(), Ok(&record[..]), "{}", text);
        // Other readers read the same number.
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        prop_assert_eq!(value["a"].as_u64(), Some(a));
        prop_assert_eq!(value["b"].as_i64(), Some(b));
    }

    #[test]
    fn no_line_is_too_strange(parts in prop::collection::vec(part(), 0..6)) {
        let text = parts.concat();
        let schema = Schema::build("t").key("a", Type::U64).nullable("e", Type::F32);
        let schema = schema.finish().expect("a schema");
        for line in [text.clone(), format!("{{\"a\":{text},\"e\":{text}}}")] {
            if let Err(Fault { at, .. }) = read(&schema, &line) {
                prop_assert!(at <= line.len(), "{at} {line}");
            }
        }
    }
}

#[test]
fn the_form_of_each_value_is_as_documented() {
    let schema = Schema::build("t")
        .key("n", Type::U64)
        .column("i", Type::I64)
        .column("x", Type::F32)
        .column("y", Type::F64)
        .column("b", Type::Bool)
        .column("t", Type::Text(4))
        .column("h", Type::Bytes(2))
        .nullable("z", Type::U8)
        .finish()
        .expect("a schema");
    for values in [
        [
            "18446744073709551615",
            "-9223372036854775808",
            "0.1",
            "0.1",
            "true",
            r#""ä\n""#,
            r#"{"hex":"00ff"}"#,
            "null",
        ],
        [
            "0",
            "9223372036854775807",
            r#""NaN""#,
            r#""NaN""#,
            "false",
            r#""""#,
            r#"{"hex":"0000"}"#,
            "0",
        ],
        [
            "1",
            "0",
            r#""inf""#,
            r#""-inf""#,
            r#"{"hex":"02"}"#,
            r#"{"hex":"c3"}"#,
            r#"{"hex":"0000"}"#,
            "255",
        ],
        ["2", "0", "-0.0", "-0.0", "false", r#""a\u0000b""#, r#"{"hex":"0000"}"#, "null"],
        ["3", "0", "3.4028235e38", "5e-324", "false", r#""""#, r#"{"hex":"0000"}"#, "null"],
        [
            "4",
            "0",
            r#"{"hex":"010080ff"}"#,
            r#"{"hex":"000000000000f8ff"}"#,
            "false",
            r#""""#,
            r#"{"hex":"0000"}"#,
            "null",
        ],
    ] {
        let members = ["n", "i", "x", "y", "b", "t", "h", "z"].iter().zip(values);
        let members = members.map(|(name, value)| format!("\"{name}\":{value}"));
        let form = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let record = read(&schema, &form).unwrap_or_else(|fault| panic!("{form}: {fault:?}"));
        assert_eq!(line(&schema, &record).trim_end(), form);
    }
}

#[test]
fn what_does_not_fit_a_column_of_variable_length_is_said() {
    let schema = variable_schema();
    let why = |b: &str, c: &str, e: &str| {
        let line = format!("{{\"a\":1,\"k\":\"x\",\"b\":{b},\"c\":{c},\"d\":1,\"e\":{e}}}");
        read(&schema, &line).expect_err("it is refused").why
    };
    let none = r#"{"hex":""}"#;
    let write_hex = r#"column c (varbytes(20)) cannot hold "00": write bytes as {"hex": "00ff"}"#;
    assert_eq!(why(r#""""#, r#""00""#, "null"), write_hex);
    let long = r#"column e (vartext(4)) cannot hold "abcde": it has 5 bytes"#;
    assert_eq!(why(r#""""#, none, r#""abcde""#), long);
    let long = r#"column e (vartext(4)) cannot hold {"hex":"0000000000"}: it has 5 bytes"#;
    assert_eq!(why(r#""""#, none, r#"{"hex":"0000000000"}"#), long);
    assert_eq!(why("7", none, "null"), "column b (vartext(20)) cannot hold 7");
    assert_eq!(why("null", none, "null"), "column b cannot be null");

    let most = Type::VarText(1 << 20);
    let schema = Schema::build("t").key("a", Type::U8).column("b", most).column("c", most);
    let half = "x".repeat(600_000);
    let line = format!("{{\"a\":1,\"b\":\"{half}\",\"c\":\"{half}\"}}\n");
    let fault = read(&schema.finish().expect("a schema"), &line).expect_err("it is too long");
    assert!(fault.why.contains("at most 1048576 bytes together, not 1200000"), "{}", fault.why);
    assert_eq!(fault.at, line.len() - 2);
}

//! Checks that a dump, loaded again, has the same records.

use std::io::{BufRead, BufReader};

use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};

use crate::support::{Bench, close, end, start};

/// Returns the types of columns, each also nullable.
fn schema() -> Schema {
    Schema::build("all")
        .key("at", Type::I64)
        .key("place", Type::F64)
        .column("u8", Type::U8)
        .column("u16", Type::U16)
        .column("u32", Type::U32)
        .column("u64", Type::U64)
        .column("i8", Type::I8)
        .column("i16", Type::I16)
        .column("i32", Type::I32)
        .column("i64", Type::I64)
        .column("f32", Type::F32)
        .column("f64", Type::F64)
        .column("bool", Type::Bool)
        .column("timestamp", Type::Timestamp)
        .column("text", Type::Text(8))
        .column("bytes", Type::Bytes(3))
        .nullable("maybe, \"quoted\"", Type::Timestamp)
        .nullable("maybe text", Type::Text(4))
        .column("price", Type::Decimal { precision: 12, scale: 2 })
        .nullable("share", Type::Decimal { precision: 38, scale: 38 })
        .finish()
        .expect("a schema")
}

fn decimal(text: &str) -> Value<'static> {
    Value::Decimal(text.parse().expect("a decimal"))
}

/// Records at the edges of what there can be.
fn edges(schema: &Schema) -> Vec<Vec<u8>> {
    let highest = [
        Value::Signed(i64::MAX),
        Value::Float(f64::INFINITY),
        Value::Unsigned(u8::MAX.into()),
        Value::Unsigned(u16::MAX.into()),
        Value::Unsigned(u32::MAX.into()),
        Value::Unsigned(u64::MAX),
        Value::Signed(i8::MAX.into()),
        Value::Signed(i16::MAX.into()),
        Value::Signed(i32::MAX.into()),
        Value::Signed(i64::MAX),
        Value::Float(f32::MAX.into()),
        Value::Float(f64::MAX),
        Value::Bool(true),
        Value::Timestamp(i64::MAX),
        Value::Text("äöü\n\""),
        Value::Bytes(b"\xff\xff\xff"),
        Value::Timestamp(i64::MAX),
        Value::Text("\u{1}"),
        decimal("9999999999.99"),
        decimal("0.00000000000000000000000000000000000001"),
    ];
    let lowest = [
        Value::Signed(i64::MIN),
        Value::Float(f64::NEG_INFINITY),
        Value::Unsigned(0),
        Value::Unsigned(0),
        Value::Unsigned(0),
        Value::Unsigned(0),
        Value::Signed(i8::MIN.into()),
        Value::Signed(i16::MIN.into()),
        Value::Signed(i32::MIN.into()),
        Value::Signed(i64::MIN),
        Value::Float(f32::MIN.into()),
        Value::Float(5e-324),
        Value::Bool(false),
        Value::Timestamp(i64::MIN),
        Value::Text(""),
        Value::Bytes(b"\0\0\0"),
        Value::Null,
        Value::Null,
        decimal("-9999999999.99"),
        Value::Null,
    ];
    let with = |changes: &[(&str, Value<'_>)]| {
        let mut record = schema.pack(&lowest).expect("a record");
        for (name, value) in changes {
            let column = &schema[schema.column(name).expect("a column")];
            schema.set(&mut record, column, *value).expect("it fits");
        }
        record
    };
    let place = |at: i64| ("at", Value::Signed(at));
    let mut strange = with(&[place(5)]);
    for (name, bytes) in [
        ("text", &b"\xc3(\0\xff"[..]),
        ("bool", &[2]),
        ("f32", &[1, 0, 0x80, 0xff]),
        ("price", &i64::MAX.to_le_bytes()),
    ] {
        let from = schema[schema.column(name).expect("a column")].offset;
        strange[from..from + bytes.len()].copy_from_slice(bytes);
    }
    vec![
        schema.pack(&highest).expect("a record"),
        schema.pack(&lowest).expect("a record"),
        with(&[place(1), ("f32", Value::Float(f64::NAN)), ("f64", Value::Float(f64::NAN))]),
        with(&[place(1), ("place", Value::Float(f64::NAN))]),
        with(&[place(1), ("place", Value::Float(-f64::NAN))]),
        with(&[place(2), ("f32", Value::Float(0.1)), ("f64", Value::Float(0.1))]),
        with(&[place(3), ("place", Value::Float(-0.0)), ("f64", Value::Float(1e300))]),
        with(&[place(3), ("place", Value::Float(0.0)), ("f32", Value::Float(-0.0))]),
        with(&[place(4), ("text", Value::Text("a\0b")), ("maybe text", Value::Text(""))]),
        strange,
    ]
}

/// All packed records of a table, sorted by their bytes.
fn records(db: &Database, table: &str) -> Vec<Vec<u8>> {
    let table = db.table(table).expect("a table");
    let rows = table.iter().map(|row| row.expect("the table is read").into_bytes());
    let mut records: Vec<_> = rows.collect();
    records.sort();
    records
}

fn sorted(lines: &str) -> Vec<&str> {
    let mut lines: Vec<_> = lines.lines().collect();
    lines.sort_unstable();
    lines
}

fn comes_back(kind: KeyKind, word: &str) {
    let bench = Bench::new();
    let schema = schema();
    let db = bench.open("first");
    let table = db.create_table(&schema, kind).expect("a table");
    let mut wanted = edges(&schema);
    for record in &wanted {
        assert!(table.insert(record).expect("there is room"), "the keys are different");
    }
    close(db);

    let dumped = bench.succeeds(&["dump", "first", "all"]);
    let described = bench.succeeds(&["schema", "first", "all"]);
    let columns = described.trim_end().rsplit('\t').next().expect("three fields");
    let load = ["load", "second", "all", "--schema", columns, "--kind", word];
    assert_eq!(bench.feeds(&load, &dumped), "10 records loaded\n");
    assert_eq!(bench.succeeds(&["schema", "second", "all"]), described);
    let again = bench.succeeds(&["dump", "second", "all"]);
    match kind {
        KeyKind::Tree => assert_eq!(again, dumped),
        // Their order is another in each database.
        KeyKind::Hash => assert_eq!(sorted(&again), sorted(&dumped)),
    }

    wanted.sort();
    assert_eq!(records(&bench.open("second"), "all"), wanted);
}

#[test]
fn every_record_of_an_ordered_table_comes_back() {
    comes_back(KeyKind::Tree, "tree");
}

#[test]
fn every_record_of_a_hashed_table_comes_back() {
    comes_back(KeyKind::Hash, "hash");
}

#[test]
fn a_dump_can_be_piped_into_another_database() {
    let bench = Bench::new();
    bench.with_numbers("first", KeyKind::Tree, 10_000);
    let mut dump = start(&mut bench.command(&["dump", "first", "number"]));
    let mut load =
        bench.command(&["load", "second", "number", "--schema", "id:u64 key, square:u64"]);
    let load = start(load.stdin(dump.stdout.take().expect("it is piped")));
    assert_eq!(end(load).stdout, "10000 records loaded\n");
    assert_eq!(end(dump).code, Some(0));
    let first = bench.open("first");
    let second = bench.open("second");
    assert_eq!(records(&first, "number"), records(&second, "number"));
}

/// One of them reads a moment of the database, and the other writes to it.
#[test]
fn a_dump_can_be_piped_into_the_same_database() {
    let bench = Bench::new();
    bench.with_numbers("zoo", KeyKind::Tree, 200_000);
    let mut dump = start(&mut bench.command(&["dump", "zoo", "number"]));
    let mut load = bench.command(&["load", "zoo", "copy", "--schema", "id:u64 key, square:u64"]);
    let load = start(load.stdin(dump.stdout.take().expect("it is piped")));
    assert_eq!(end(load).stdout, "200000 records loaded\n");
    assert_eq!(end(dump).code, Some(0));
    let zoo = bench.open("zoo");
    assert_eq!(records(&zoo, "number"), records(&zoo, "copy"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    bench.with_numbers("zoo", KeyKind::Tree, 20_000);
    let mut dump = start(&mut bench.command(&["dump", "zoo", "number"]));
    let mut first = String::new();
    let mut reader = BufReader::with_capacity(16, dump.stdout.take().expect("it is piped"));
    reader.read_line(&mut first).expect("a line");
    drop(reader);
    assert_eq!(first, "{\"id\":0,\"square\":0}\n");
    let ended = end(dump);
    assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
}

#[test]
fn records_of_variable_length_come_back() {
    let bench = Bench::new();
    let columns = "id:u64 key, text:vartext(100000), raw:varbytes(70000)?, after:u8";
    let mut lines = String::new();
    for id in 0..300u64 {
        let text = "ä\\n\\u0000".repeat((id * id) as usize % 9_000);
        let raw = match id % 3 {
            0 => "null".into(),
            rest => format!("{{\"hex\":\"{}\"}}", "0aff".repeat((id * rest) as usize)),
        };
        lines += &format!("{{\"id\":{id},\"text\":\"{text}\",\"raw\":{raw},\"after\":7}}\n");
    }
    lines += &format!("{{\"id\":300,\"text\":{},\"raw\":null,\"after\":0}}\n", r#"{"hex":"c328"}"#);
    let load = ["load", "first", "long", "--schema", columns];
    assert_eq!(bench.feeds(&load, &lines), "301 records loaded\n");
    assert_eq!(bench.succeeds(&["schema", "first", "long"]), format!("long\ttree\t{columns}\n"));
    assert!(bench.succeeds(&["stat", "first"]).contains("18+"));
    let dumped = bench.succeeds(&["dump", "first", "long"]);
    assert_eq!(dumped, lines);
    let load = ["load", "second", "long", "--schema", columns, "--kind", "hash"];
    assert_eq!(bench.feeds(&load, &dumped), "301 records loaded\n");
    assert_eq!(sorted(&bench.succeeds(&["dump", "second", "long"])), sorted(&lines));
    let load = ["load", "second", "long", "--replace"];
    let replaced = "301 records loaded, 301 of them replaced others\n";
    assert_eq!(bench.feeds(&load, &dumped), replaced);
    let first = bench.open("first");
    let second = bench.open("second");
    assert_eq!(records(&first, "long"), records(&second, "long"));
}

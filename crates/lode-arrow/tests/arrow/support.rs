//! Tables with every type, and their way through files.

use std::fs::File;
use std::io::{Seek, SeekFrom};

use lode::{Column, Database, KeyKind, Options, ReadTable, Schema, Table, Type, Value};
use lode_arrow::{
    Compression, FileFormat, FileReader, FileWriter, IfThere, ReadOptions, Scan, WriteOptions,
    append, arrow_schema,
};

/// The formats.
pub const FORMATS: [FileFormat; 3] = [FileFormat::Parquet, FileFormat::Ipc, FileFormat::Csv];

/// The types of columns.
pub const TYPES: [Type; 16] = [
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
    Type::VarText(200_000),
    Type::VarBytes(3_000),
];

/// A schema with every type, as it is and nullable.
pub fn every_type() -> Schema {
    let mut builder = Schema::build("all").key("id", Type::U64);
    for kind in TYPES {
        builder = builder.column(&kind.to_string(), kind);
        builder = builder.nullable(&format!("{kind}?"), kind);
    }
    builder.finish().expect("a schema")
}

pub fn database() -> Database {
    Options::new().memory_bytes(64 << 20).in_memory().expect("a database")
}

/// A table of records in a database of its own.
pub fn table(schema: &Schema, kind: KeyKind, records: &[Vec<u8>]) -> (Database, Table) {
    let db = database();
    let table = db.create_table(schema, kind).expect("a table");
    for record in records {
        table.upsert(record).expect("there is room");
    }
    (db, table)
}

/// All records in the order of their bytes.
pub fn records(table: &Table) -> Vec<Vec<u8>> {
    let rows = table.iter().map(|row| row.expect("a record").into_bytes());
    let mut records: Vec<_> = rows.collect();
    records.sort();
    records
}

/// A file of all records, at its start.
pub fn written(table: &Table, format: FileFormat, options: &WriteOptions) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    let batches = Scan::of(table).batch_rows(100).read();
    let out = file.try_clone().expect("a handle");
    let mut writer = FileWriter::new(format, batches.schema(), options, out).expect("a writer");
    for batch in batches {
        writer.write(&batch.expect("a batch")).expect("it is written");
    }
    writer.finish().expect("it is finished");
    file.seek(SeekFrom::Start(0)).expect("it can be read");
    file
}

/// A table of the same schema with what is in a file.
pub fn read_back(schema: &Schema, kind: KeyKind, format: FileFormat, file: File) -> Table {
    let (db, copy) = table(schema, kind, &[]);
    let schema = Some(arrow_schema(schema));
    let options = ReadOptions { batch_rows: 64, schema, ..ReadOptions::default() };
    for batch in FileReader::open(format, file, &options).expect("a file") {
        append(&db, &copy, &batch.expect("a batch"), IfThere::Stop).expect("it fits");
    }
    copy
}

/// Writes records to a file of each format and compression, and returns them as read again.
pub fn through_files(schema: &Schema, kind: KeyKind, all: &[Vec<u8>]) {
    let (_db, original) = table(schema, kind, all);
    let wanted = records(&original);
    for format in FORMATS {
        let compressions: &[Compression] = match format {
            FileFormat::Parquet => {
                &[Compression::None, Compression::Snappy, Compression::Lz4, Compression::Zstd]
            }
            FileFormat::Ipc => &[Compression::None, Compression::Lz4, Compression::Zstd],
            FileFormat::Csv => &[Compression::None, Compression::Gzip, Compression::Zstd],
        };
        for &compression in compressions {
            let usual = WriteOptions::of(format);
            let options = WriteOptions { compression, row_group_rows: 70, ..usual };
            let file = written(&original, format, &options);
            let copy = read_back(schema, kind, format, file);
            assert_eq!(records(&copy), wanted, "{format:?} {compression:?}");
        }
    }
}

/// The values of a type that are at some edge.
pub fn edges(column: &Column) -> Vec<Value<'static>> {
    let long: &str = "lång ".repeat(30_000).leak();
    let mut edges = match column.kind {
        Type::U8 => [0, 1, u8::MAX.into()].map(Value::Unsigned).to_vec(),
        Type::U16 => [0, 1, u16::MAX.into()].map(Value::Unsigned).to_vec(),
        Type::U32 => [0, 1, u32::MAX.into()].map(Value::Unsigned).to_vec(),
        Type::U64 => [0, 1 << 63, u64::MAX].map(Value::Unsigned).to_vec(),
        Type::I8 => [i8::MIN, -1, i8::MAX].map(|n| Value::Signed(n.into())).to_vec(),
        Type::I16 => [i16::MIN, -1, i16::MAX].map(|n| Value::Signed(n.into())).to_vec(),
        Type::I32 => [i32::MIN, -1, i32::MAX].map(|n| Value::Signed(n.into())).to_vec(),
        Type::I64 => [i64::MIN, -1, i64::MAX].map(Value::Signed).to_vec(),
        Type::F32 => [f32::MIN, f32::MAX, f32::MIN_POSITIVE, 1e-45, -0.0, 0.1, f32::INFINITY]
            .map(|number| Value::Float(number.into()))
            .to_vec(),
        Type::F64 => [f64::MIN, f64::MAX, 5e-324, -0.0, 0.1, f64::NAN, f64::NEG_INFINITY]
            .map(Value::Float)
            .to_vec(),
        Type::Bool => [false, true].map(Value::Bool).to_vec(),
        Type::Timestamp => [i64::MIN, -1, 0, i64::MAX].map(Value::Timestamp).to_vec(),
        Type::Text(_) => {
            ["", "ä", "a\0b", " x ", "\"", ",\r\n", "123456789"].map(Value::Text).to_vec()
        }
        Type::VarText(_) => ["", "\0", "\n", "null", "\r", long].map(Value::Text).to_vec(),
        Type::Bytes(_) => [b"\0\0\0", b"\xff\0\xc3", b"abc"].map(|b| Value::Bytes(b)).to_vec(),
        _ => [&b""[..], b"\0", &[0xff; 3_000]].map(Value::Bytes).to_vec(),
    };
    if column.nullable {
        edges.push(Value::Null);
    }
    edges
}

//! Files are written and read with memory for one batch, or row group, whatever the table's size.

use std::fs::File;
use std::io::{Seek, SeekFrom};

use lode::{Database, KeyKind, Options, Schema, Table, Type, Value};
use lode_arrow::{
    Error, FileFormat, FileReader, FileWriter, Packer, ReadOptions, Scan, WriteOptions,
    arrow_schema,
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// A table in which each record has some 100 bytes.
fn table(rows: u64) -> (Database, Table, Schema) {
    let schema = Schema::build("t").key("id", Type::U64).column("text", Type::VarText(200));
    let schema = schema.finish().expect("a schema");
    let db = Options::new().memory_bytes(256 << 20).in_memory().expect("a database");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    for id in 0..rows {
        let text = format!("{:0>84}", id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let values = [Value::Unsigned(id), Value::Text(&text)];
        table.insert(&schema.pack(&values).expect("a record")).expect("there is room");
    }
    (db, table, schema)
}

/// Returns the most bytes that `work` has allocated at a time, without those from before.
fn peak_bytes(work: impl FnOnce()) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    work();
    ALLOCATOR.peak_usage() - before
}

fn write(table: &Table, format: FileFormat, out: File) {
    let batches = Scan::of(table).read();
    let options = WriteOptions { row_group_rows: 8_192, ..WriteOptions::of(format) };
    let mut writer = FileWriter::new(format, batches.schema(), &options, out).expect("a writer");
    for batch in batches {
        writer.write(&batch.expect("a batch")).expect("it is written");
    }
    writer.finish().expect("it is finished");
}

fn read(schema: &Schema, format: FileFormat, file: File) -> u64 {
    let options = ReadOptions { schema: Some(arrow_schema(schema)), ..ReadOptions::default() };
    let reader = FileReader::open(format, file, &options).expect("a file");
    let mut packer = Packer::new(schema, reader.schema().clone()).expect("the same columns");
    for batch in reader {
        packer.pack(&batch.expect("a batch"), &mut |_, _| Ok::<_, Error>(())).expect("it fits");
    }
    packer.rows()
}

/// The peaks of writing and of reading a table of `rows` rows in each format.
fn peaks(rows: u64) -> Vec<(FileFormat, [usize; 2])> {
    let (_db, table, schema) = table(rows);
    let formats = [FileFormat::Parquet, FileFormat::Ipc, FileFormat::Csv];
    let peaks = formats.map(|format| {
        let mut file = tempfile::tempfile().expect("a file");
        let out = file.try_clone().expect("a handle");
        let written = peak_bytes(|| write(&table, format, out));
        file.seek(SeekFrom::Start(0)).expect("it can be read");
        let read = peak_bytes(|| assert_eq!(read(&schema, format, file), rows));
        (format, [written, read])
    });
    peaks.into()
}

#[test]
fn ten_times_the_rows_take_no_more_memory() {
    let few = peaks(40_000);
    let many = peaks(400_000);
    for ((format, few), (_, many)) in few.into_iter().zip(many) {
        for (doing, few, many) in [("writing", few[0], many[0]), ("reading", few[1], many[1])] {
            let bound = few + few / 2;
            assert!(many < bound, "{doing} {format:?}: {few} bytes for few rows, {many} for many");
        }
    }
}

//! Measures how fast one thread reads tables as record batches, in MB/s of the rows' own bytes. The
//! other side reads a Parquet file of the same rows into the same batches.
//!
//! `cargo bench -p lodedb-arrow` measures ten million rows; `LODE_ROWS` says how many else. Run
//! as a test, it does a thousand. `tests/python/scan.py` measures DuckDB on the file
//! that is named by `LODE_PARQUET`, which this leaves there.

use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

use lode::{Database, KeyKind, Options, Schema, Type, Value};
use lode_arrow::{
    Compression, FileFormat, FileReader, FileWriter, ReadOptions, Scan, WriteOptions,
};

/// The rounds of each measurement; the fastest counts.
const ROUNDS: usize = 5;

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let rows = std::env::var("LODE_ROWS").ok().and_then(|rows| rows.parse().ok());
    let rows = rows.unwrap_or(if is_bench { 10_000_000 } else { 1_000 });
    let folder = tempfile::tempdir().expect("a directory");
    let parquet = std::env::var_os("LODE_PARQUET").map(PathBuf::from);
    let parquet = parquet.unwrap_or_else(|| folder.path().join("sale.parquet"));
    println!("{rows} rows; MB/s of the rows' bytes, best of {ROUNDS}");
    for (name, schema, order) in [
        ("fixed", fixed(), Order::ByKey),
        ("with text", with_text(), Order::ByKey),
        ("of any length", of_any_length(), Order::ByKey),
        ("scattered", of_any_length(), Order::Scattered),
    ] {
        let db = Options::new().in_memory().expect("a database");
        let size_bytes = fill(&db, &schema, rows, order);
        let table = db.table("sale").expect("it is there");
        write(&table, &parquet);
        let lode = fastest(|| Scan::of(&table).read().map(|batch| count(&batch)).sum());
        let file = fastest(|| {
            let file = File::open(&parquet).expect("it is there");
            let reader = FileReader::open(FileFormat::Parquet, file, &ReadOptions::default());
            reader.expect("a file").map(|batch| count(&batch)).sum()
        });
        let rate = |fastest: (u64, f64)| {
            assert_eq!(fastest.0, rows, "every row is read");
            size_bytes as f64 / 1e6 / fastest.1
        };
        let lode = rate(lode);
        let file = rate(file);
        println!(
            "{name:13} {:4} bytes a row: Lode {lode:6.0}, Parquet by the parquet crate {file:6.0}, \
             ratio {:.2}",
            size_bytes / rows,
            lode / file
        );
    }
}

fn count(batch: &lode_arrow::Result<arrow_array::RecordBatch>) -> u64 {
    batch.as_ref().expect("a batch").num_rows() as u64
}

/// The result of the fastest round, and its seconds.
fn fastest(work: impl Fn() -> u64) -> (u64, f64) {
    let rounds = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        (work(), begun.elapsed().as_secs_f64())
    });
    rounds.min_by(|(_, one), (_, other)| one.total_cmp(other)).expect("there are rounds")
}

fn fixed() -> Schema {
    let schema = Schema::build("sale").key("id", Type::U64).column("customer", Type::U32);
    let schema = schema.column("at", Type::Timestamp).column("cents", Type::I64);
    schema.column("share", Type::F64).column("kind", Type::U16).finish().expect("a schema")
}

fn with_text() -> Schema {
    let schema = Schema::build("sale").key("id", Type::U64).column("customer", Type::U32);
    let schema = schema.column("at", Type::Timestamp).nullable("cents", Type::I64);
    schema.column("name", Type::Text(24)).column("paid", Type::Bool).finish().expect("a schema")
}

fn of_any_length() -> Schema {
    let schema = Schema::build("sale").key("id", Type::U64).column("customer", Type::U32);
    let schema = schema.column("at", Type::Timestamp).nullable("cents", Type::I64);
    schema.column("name", Type::VarText(100)).column("paid", Type::Bool).finish().expect("a schema")
}

/// The order in which rows come into the table.
#[derive(Clone, Copy)]
enum Order {
    ByKey,
    /// No order: rows whose keys follow each other are stored apart.
    Scattered,
}

/// Loads rows; returns the bytes of all of them.
fn fill(db: &Database, schema: &Schema, rows: u64, order: Order) -> u64 {
    let table = db.create_table(schema, KeyKind::Tree).expect("a table");
    let record = |id: u64| {
        let bits = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let text = format!("name {:x}", bits >> 20);
        let values = schema.columns().iter().map(|column| match column.kind {
            Type::U64 => Value::Unsigned(id),
            Type::U32 => Value::Unsigned(bits >> 40),
            Type::U16 => Value::Unsigned(bits >> 60),
            Type::Timestamp => Value::Timestamp((id * 1_000_000) as i64),
            Type::I64 if column.nullable && bits.is_multiple_of(8) => Value::Null,
            Type::I64 => Value::Signed((bits >> 44) as i64),
            Type::F64 => Value::Float(bits as f64 / 3.0),
            Type::Bool => Value::Bool(bits & 1 << 50 != 0),
            _ => Value::Text(&text),
        });
        schema.pack(&values.collect::<Vec<_>>()).expect("it fits")
    };
    let mut size_bytes = 0;
    let mut records = |id: u64| {
        let record = record(id);
        size_bytes += record.len() as u64;
        record
    };
    match order {
        Order::ByKey => {
            // All together could be more than a transaction may hold.
            const TOGETHER: usize = 1 << 12;
            for first in (0..rows).step_by(TOGETHER) {
                let ids = first..rows.min(first + TOGETHER as u64);
                table.insert_all(ids.map(&mut records)).expect("there is memory");
            }
        }
        Order::Scattered => {
            // Multiplying by an odd number permutes what is below a power of two.
            let most = rows.next_power_of_two();
            let ids = (0..most).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) & (most - 1));
            for record in ids.filter(|id| *id < rows).map(records) {
                assert!(table.insert(&record).expect("there is memory"));
            }
        }
    }
    size_bytes
}

fn write(table: &lode::Table, path: &std::path::Path) {
    let batches = Scan::of(table).read();
    let options =
        WriteOptions { compression: Compression::Snappy, ..WriteOptions::of(FileFormat::Parquet) };
    let file = File::create(path).expect("a file");
    let mut writer = FileWriter::new(FileFormat::Parquet, batches.schema(), &options, file);
    let writer_ref = writer.as_mut().expect("a writer");
    for batch in batches {
        writer_ref.write(&batch.expect("a batch")).expect("it is written");
    }
    writer.and_then(FileWriter::finish).expect("it is finished");
}

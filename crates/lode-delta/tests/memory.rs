//! A Delta table is written and read with memory for one of its files, whatever the table's size.

use lode::{KeyKind, Options, Schema, Type, Value};
use lode_arrow::Scan;
use lode_delta::{DeltaTable, ExportOptions, Location, export};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Returns the most bytes that `work` has allocated at a time, without those from before.
fn peak_bytes(work: impl FnOnce()) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    work();
    ALLOCATOR.peak_usage() - before
}

/// The peaks of writing and of reading a table of `rows` rows of some 100 bytes.
fn peaks(rows: u64) -> [usize; 2] {
    let schema = Schema::build("t").key("id", Type::U64).column("text", Type::VarText(200));
    let schema = schema.finish().expect("a schema");
    let db = Options::new().memory_bytes(256 << 20).in_memory().expect("a database");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    for id in 0..rows {
        let text = format!("{:0>84}", id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let values = [Value::Unsigned(id), Value::Text(&text)];
        table.insert(&schema.pack(&values).expect("a record")).expect("there is room");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("t");
    let location = Location::parse(place.to_str().expect("a plain name")).expect("a place");
    let options =
        ExportOptions { row_group_rows: 8_192, file_bytes: 1 << 20, ..ExportOptions::default() };
    let written = peak_bytes(|| {
        let scan = Scan::of(&table);
        let exported = export(&location, scan, &options, &mut |_| false).expect("it is written");
        assert_eq!(exported.rows, rows);
    });
    let read = peak_bytes(|| {
        let table = DeltaTable::open(&location).expect("a table");
        let rows_read = table.batches().map(|batch| batch.expect("a batch").num_rows() as u64);
        assert_eq!(rows_read.sum::<u64>(), rows);
    });
    [written, read]
}

#[test]
fn ten_times_the_rows_take_no_more_memory() {
    let few = peaks(40_000);
    let many = peaks(400_000);
    for ((doing, few), many) in ["writing", "reading"].into_iter().zip(few).zip(many) {
        let bound = few + few / 2;
        assert!(many < bound, "{doing}: {few} bytes for few rows, {many} for many");
    }
}

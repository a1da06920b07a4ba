//! Files that are damaged, cut off, or something else.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use lode::{KeyKind, Schema, Type, Value};
use lode_arrow::{
    Compression, Error, FileFormat, FileReader, FileWriter, Packer, ReadOptions, Result,
    WriteOptions, arrow_schema, silence_reader_panics,
};

use crate::support::{FORMATS, table, written};

fn schema() -> Schema {
    let schema = Schema::build("t").key("id", Type::U32).nullable("name", Type::VarText(50));
    schema.column("bits", Type::Bytes(2)).finish().expect("a schema")
}

fn file_of(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(content).expect("it is written");
    file.seek(SeekFrom::Start(0)).expect("it can be read");
    file
}

/// Reads a file to its end, or to what is wrong with it; returns its rows.
fn read(format: FileFormat, content: &[u8]) -> Result<u64> {
    let options = ReadOptions { schema: Some(arrow_schema(&schema())), ..Default::default() };
    let reader = FileReader::open(format, file_of(content), &options)?;
    let mut packer = Packer::new(&schema(), reader.schema().clone())?;
    for batch in reader {
        packer.pack(&batch?, &mut |_, _| Ok::<_, Error>(()))?;
    }
    Ok(packer.rows())
}

fn content(format: FileFormat) -> Vec<u8> {
    compressed(format, WriteOptions::of(format).compression)
}

fn compressed(format: FileFormat, compression: Compression) -> Vec<u8> {
    let schema = schema();
    let records = (0..300u64).map(|id| {
        let name = if id % 3 == 0 { Value::Null } else { Value::Text("a \"name\"\n, of more") };
        schema.pack(&[Value::Unsigned(id), name, Value::Bytes(b"xy")]).expect("it fits")
    });
    let records: Vec<_> = records.collect();
    let (_db, table) = table(&schema, KeyKind::Tree, &records);
    let mut content = Vec::new();
    let mut file =
        written(&table, format, &WriteOptions { compression, ..WriteOptions::of(format) });
    file.read_to_end(&mut content).expect("it is read");
    content
}

#[test]
fn what_is_cut_off_is_refused_wherever_it_ends() {
    for format in [FileFormat::Parquet, FileFormat::Ipc] {
        let whole = content(format);
        assert_eq!(read(format, &whole).expect("it is whole"), 300);
        for end in 0..whole.len() {
            read(format, &whole[..end]).expect_err("it is cut off");
        }
    }
    // The start of a file of lines is such a file, if it ends between two of them.
    let whole = content(FileFormat::Csv);
    for end in 0..whole.len() {
        let rows = read(FileFormat::Csv, &whole[..end]);
        assert!(rows.map_or(true, |rows| rows < 300 || end + 1 == whole.len()), "{end}");
    }
}

#[test]
fn no_damage_is_too_strange() {
    silence_reader_panics();
    let compressions = [Compression::Lz4, Compression::Zstd];
    let wholes = FORMATS.map(|format| (format, content(format))).into_iter();
    let wholes = wholes.chain(
        compressions.map(|compression| (FileFormat::Ipc, compressed(FileFormat::Ipc, compression))),
    );
    for (format, whole) in wholes {
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            // Damage in a value cannot be seen: no panic is all that is wanted.
            let _ = read(format, &damaged);
        }
    }
}

#[test]
fn a_batch_that_cannot_be_so_large_is_refused() {
    for compression in [Compression::Lz4, Compression::Zstd] {
        let whole = compressed(FileFormat::Ipc, compression);
        assert_eq!(read(FileFormat::Ipc, &whole).expect("it is whole"), 300);
        // The column `bits` of 100 rows, with its size before it.
        let size = 200u64.to_le_bytes();
        let places = (0..whole.len() - size.len()).filter(|at| whole[*at..].starts_with(&size));
        let mut refused = 0;
        for at in places {
            let mut damaged = whole.clone();
            damaged[at..][..size.len()].copy_from_slice(&(1u64 << 56).to_le_bytes());
            if let Err(error) = read(FileFormat::Ipc, &damaged) {
                let why = "a batch says that it has 72057594037927936 bytes, decompressed";
                refused += u32::from(error.to_string() == why);
            }
        }
        assert!(refused >= 3, "{compression:?}: {refused} batches are refused");
    }
}

#[test]
fn another_format_is_named() {
    for (format, why) in [
        (FileFormat::Parquet, "Invalid Parquet file. Corrupt footer"),
        (FileFormat::Ipc, "this is no file of Arrow IPC, or it is cut off"),
    ] {
        let error = read(format, &content(FileFormat::Csv)).expect_err("another format");
        assert_eq!(error.to_string(), why);
    }
    let error = FileReader::open(FileFormat::Csv, file_of(b"id\n"), &ReadOptions::default());
    assert!(matches!(error.err(), Some(Error::NeedsSchema)));
}

#[test]
fn a_line_that_is_wrong_is_named() {
    for (content, why) in [
        ("", "line 1: the names of the columns should be here"),
        ("id,id\n", "line 1: column id is there twice"),
        ("id,name,bits\n1,a\n", "line 2: it has 2 fields and the header 3"),
        (
            "id,name,bits\n\n1,a,7879\n2,\"b\nc\",zz\n",
            "line 4: column bits (bytes(2)) cannot hold zz",
        ),
        ("id,name,bits\n4294967296,,7879", "line 2: column id (u32) cannot hold 4294967296"),
        ("id,name,bits\n1,\"a", "line 2: the file ends between quotes"),
        (
            "id,name,bits\n1,\"a\"b,7879",
            "line 2: a comma should come after a quote that ends a field",
        ),
    ] {
        let error = read(FileFormat::Csv, content.as_bytes()).expect_err("it is wrong");
        assert_eq!(error.to_string(), why);
    }
    let rows = read(FileFormat::Csv, "\u{feff}bits,id\r\n7879,1\r\n\r\n7879,2".as_bytes());
    assert_eq!(rows.expect("it is right"), 2);
}

#[test]
fn compressions_that_a_format_has_not_are_refused() {
    let schema = arrow_schema(&schema());
    for (format, compression, why) in [
        (FileFormat::Ipc, Compression::Snappy, "Arrow IPC has no compression snappy"),
        (FileFormat::Csv, Compression::Lz4, "CSV has no compression lz4"),
        (FileFormat::Ipc, Compression::Gzip, "Arrow IPC has no compression gzip"),
    ] {
        let options = WriteOptions { compression, ..WriteOptions::of(format) };
        let refused = FileWriter::new(format, &schema, &options, Vec::new()).err();
        assert_eq!(refused.map(|error| error.to_string()).as_deref(), Some(why));
    }
}

//! Files that are whole, and say something that readers overlook easily.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::FileWriter as IpcWriter;
use arrow_ipc::{
    Block, Endianness, Field as IpcField, FieldArgs, Footer, FooterArgs, Int, IntArgs,
    MetadataVersion, Schema as IpcSchema, SchemaArgs, Type as IpcType, root_as_footer,
};
use arrow_schema::{DataType, Field, Schema};
use flatbuffers::FlatBufferBuilder;
use lode::{Schema as LodeSchema, Type};
use lode_arrow::{
    Error, FileFormat, FileReader, FileWriter, Packer, ReadOptions, WriteOptions,
    silence_reader_panics,
};

fn file_of(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(content).expect("it is written");
    file.seek(SeekFrom::Start(0)).expect("it can be read");
    file
}

/// The rows of a file, or why it is refused.
fn rows(format: FileFormat, content: &[u8]) -> Result<usize, String> {
    silence_reader_panics();
    let reader = FileReader::open(format, file_of(content), &ReadOptions::default());
    let reader = reader.map_err(|error| error.to_string())?;
    reader.map(|batch| Ok(batch.map_err(|error| error.to_string())?.num_rows())).sum()
}

fn why(format: FileFormat, content: &[u8]) -> String {
    rows(format, content).expect_err("it is refused")
}

fn numbers(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let fields = ["k", "v", "v"].map(|name| Field::new(name, DataType::Int32, false));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let columns = [[1, 2], [3, 4], [5, 6]].iter().map(|values| numbers(values)).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).expect("a batch");
    for format in [FileFormat::Parquet, FileFormat::Ipc] {
        let options = WriteOptions::of(format);
        let mut writer = FileWriter::new(format, &schema, &options, Vec::new()).expect("a writer");
        writer.write(&batch).expect("it is written");
        let content = writer.finish().expect("it is finished");
        assert_eq!(why(format, &content), "column v is there twice");
    }
    let table = LodeSchema::build("t").key("k", Type::I32).column("v", Type::I32);
    let table = table.finish().expect("a schema");
    let error = Packer::new(&table, schema).expect_err("it is refused");
    assert!(matches!(&error, Error::Format(why) if &**why == "column v is there twice"), "{error}");
}

/// A file of Arrow IPC with nothing but a footer after `content`.
fn with_footer(content: &[u8], footer: &[u8]) -> Vec<u8> {
    let begin: &[u8] = if content.is_empty() { b"ARROW1\0\0" } else { content };
    let size = (footer.len() as u32).to_le_bytes();
    [begin, footer, &size, b"ARROW1"].concat()
}

/// A file with a column of integers.
fn integers_file(endianness: Endianness, bits: i32) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let int = Int::create(&mut builder, &IntArgs { bitWidth: bits, is_signed: true });
    let name = builder.create_string("n");
    let children = builder.create_vector::<flatbuffers::ForwardsUOffset<IpcField<'_>>>(&[]);
    let field = FieldArgs {
        name: Some(name),
        nullable: true,
        type_type: IpcType::Int,
        type_: Some(int.as_union_value()),
        children: Some(children),
        ..FieldArgs::default()
    };
    let field = IpcField::create(&mut builder, &field);
    let fields = Some(builder.create_vector(&[field]));
    let schema = SchemaArgs { endianness, fields, ..SchemaArgs::default() };
    let schema = IpcSchema::create(&mut builder, &schema);
    let footer =
        FooterArgs { version: MetadataVersion::V5, schema: Some(schema), ..FooterArgs::default() };
    let footer = Footer::create(&mut builder, &footer);
    builder.finish(footer, None);
    with_footer(&[], builder.finished_data())
}

#[test]
fn bytes_in_the_other_order_are_refused() {
    assert_eq!(rows(FileFormat::Ipc, &integers_file(Endianness::Little, 32)), Ok(0));
    let said = "its values have their bytes in the other order (big-endian), which Lode does not \
                read";
    assert_eq!(why(FileFormat::Ipc, &integers_file(Endianness::Big, 32)), said);
}

#[test]
fn integers_of_other_sizes_are_refused_by_name() {
    let content = integers_file(Endianness::Little, 128);
    let said = "column n has integers of 128 bits, which Lode does not read";
    assert_eq!(why(FileFormat::Ipc, &content), said);
}

#[test]
fn a_dictionary_that_replaces_another_is_refused() {
    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    ["a", "b", "a"].iter().for_each(|word| words.append_value(word));
    let words: ArrayRef = Arc::new(words.finish());
    let batch = RecordBatch::try_from_iter([("word", words)]).expect("a batch");
    let mut writer = IpcWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    writer.write(&batch).expect("it is written");
    let content = writer.into_inner().expect("it is finished");
    assert_eq!(rows(FileFormat::Ipc, &content), Ok(3));
    // The footer has its size and a mark after it.
    let end = content.len() - 10;
    let size = u32::from_le_bytes(*content[end..].first_chunk().expect("a size")) as usize;
    let footer = root_as_footer(&content[end - size..end]).expect("a footer");
    let blocks = |blocks: Option<flatbuffers::Vector<'_, Block>>| -> Vec<Block> {
        blocks.iter().flatten().copied().collect()
    };
    let dictionaries = blocks(footer.dictionaries());
    let batches = blocks(footer.recordBatches());
    let twice = [&dictionaries[..], &dictionaries].concat();
    let mut builder = FlatBufferBuilder::new();
    let mut tracker = arrow_ipc::writer::DictionaryTracker::new(true);
    let schema = IpcSchemaEncoder::new()
        .with_dictionary_tracker(&mut tracker)
        .schema_to_fb_offset(&mut builder, &batch.schema());
    let args = FooterArgs {
        version: MetadataVersion::V5,
        schema: Some(schema),
        dictionaries: Some(builder.create_vector(&twice)),
        recordBatches: Some(builder.create_vector(&batches)),
        custom_metadata: None,
    };
    let footer = Footer::create(&mut builder, &args);
    builder.finish(footer, None);
    let replaced = with_footer(&content[..end - size], builder.finished_data());
    let said = "it replaces a dictionary, which Lode does not read";
    assert_eq!(why(FileFormat::Ipc, &replaced), said);
}

/// A Parquet file of one value of column `v`, byte by byte: its page, and the members of the footer
/// that stand after the schema (Apache Parquet, `parquet.thrift`, in Thrift's compact protocol).
fn parquet_file(page: &[u8], after_schema: &[u8]) -> Vec<u8> {
    let schema: &[u8] = &[
        0x15, 2, // version 1
        0x19, 0x2c, // two elements of the schema
        0x48, 1, b's', 0x15, 2, 0, // the root has one child
        0x15, 2, 0x25, 0, 0x18, 1, b'v', 0, // an integer of 32 bits
    ];
    let footer = [schema, after_schema, &[0]].concat();
    let size = (footer.len() as u32).to_le_bytes();
    [b"PAR1", page, &footer, &size, b"PAR1"].concat()
}

/// A page of one value, with its checksum.
fn page(checksum: u32) -> Vec<u8> {
    let mut page = vec![0x15, 0, 0x15, 8, 0x15, 8, 0x15];
    let signed = checksum as i32;
    let mut zigzag = ((signed << 1) ^ (signed >> 31)) as u32;
    while zigzag >= 0x80 {
        page.push((zigzag | 0x80) as u8);
        zigzag >>= 7;
    }
    page.extend([zigzag as u8, 0x1c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]);
    page.extend(VALUE);
    page
}

const VALUE: [u8; 4] = 7i32.to_le_bytes();

/// Returns the members of the footer after the schema: the number of rows, and a group of one row
/// whose column starts with `chunk`.
fn group(rows: u8, chunk: &[u8], page_bytes: usize) -> Vec<u8> {
    let size = (page_bytes * 2) as u8;
    let column: &[u8] = &[
        0x15, 2, 0x19, 0x15, 0, 0x19, 0x18, 1, b'v', 0x15, 0, // type, encodings, path, codec
        0x16, 2, 0x16, size, 0x16, size, 0x26, 8, 0, // values, sizes, place
    ];
    let begin = [0x16, rows * 2, 0x19, 0x1c, 0x19, 0x1c];
    [&begin, chunk, column, &[0, 0x16, size, 0x16, 2, 0]].concat()
}

/// A chunk that is in the file itself.
const CHUNK: [u8; 3] = [0x26, 8, 0x1c];

#[test]
fn a_page_whose_checksum_is_wrong_is_refused() {
    let right = page(crc32fast::hash(&VALUE));
    let content = parquet_file(&right, &group(1, &CHUNK, right.len()));
    assert_eq!(rows(FileFormat::Parquet, &content), Ok(1));
    let wrong = page(crc32fast::hash(&VALUE) ^ 1);
    let content = parquet_file(&wrong, &group(1, &CHUNK, wrong.len()));
    assert_eq!(why(FileFormat::Parquet, &content), "Parquet error: Page CRC checksum mismatch");
}

#[test]
fn a_parquet_file_whose_values_are_elsewhere_is_refused() {
    let page = page(crc32fast::hash(&VALUE));
    let elsewhere = [0x18, 1, b'x', 0x16, 8, 0x1c];
    let content = parquet_file(&page, &group(1, &elsewhere, page.len()));
    let said = "its values are in another file, x, which is not read";
    assert_eq!(why(FileFormat::Parquet, &content), said);
    let content = parquet_file(&page, &group(2, &CHUNK, page.len()));
    let said = "it says that it has 2 rows, and its groups have 1";
    assert_eq!(why(FileFormat::Parquet, &content), said);
}

#[test]
fn encryption_is_named() {
    // The first byte of the page ends its header.
    let mut content = parquet_file(&[0; 8], &group(1, &CHUNK, 8));
    let said = "a page of a column has no header: it is damaged, or the column is encrypted, which \
                Lode does not read";
    assert_eq!(why(FileFormat::Parquet, &content), said);
    let end = content.len() - 4;
    content[end..].copy_from_slice(b"PARE");
    let said = "the file is encrypted, which Lode does not read";
    assert_eq!(why(FileFormat::Parquet, &content), said);
}

#[test]
fn numbers_of_fields_are_known() {
    let numbered = |name: &str, id: i32| {
        let key = parquet::arrow::PARQUET_FIELD_ID_META_KEY.to_string();
        let metadata = HashMap::from([(key, id.to_string())]);
        Field::new(name, DataType::Int32, false).with_metadata(metadata)
    };
    let plain = Field::new("b", DataType::Int32, false);
    let schema = Arc::new(Schema::new(vec![numbered("a", 7), plain]));
    let columns = vec![numbers(&[1]), numbers(&[2])];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).expect("a batch");
    let options = WriteOptions::of(FileFormat::Parquet);
    let out = Cursor::new(Vec::new());
    let mut writer =
        FileWriter::new(FileFormat::Parquet, &schema, &options, out).expect("a writer");
    writer.write(&batch).expect("it is written");
    let content = writer.finish().expect("it is finished").into_inner();
    let reader = FileReader::open(FileFormat::Parquet, file_of(&content), &ReadOptions::default());
    assert_eq!(reader.expect("a file").field_ids(), [Some(7), None]);
}

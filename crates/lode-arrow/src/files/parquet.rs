//! Apache Parquet.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression as Codec, GzipLevel, Type as PhysicalType, ZstdLevel};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::WriterProperties;

use super::{Compression, ReadOptions, WriteOptions, names_of, places};
use crate::error::{Error, Result};

pub(super) type Writer<W> = ArrowWriter<W>;
pub(super) type Reader = ParquetRecordBatchReader;

/// The most bytes of a row group: it is in memory until it is whole.
const MOST_ROW_GROUP_BYTES: usize = 64 << 20;

/// Starts a file.
pub(super) fn writer<W: Write + Send>(
    schema: &SchemaRef,
    options: &WriteOptions,
    out: W,
) -> Result<Writer<W>> {
    let codec = match options.compression {
        Compression::None => Codec::UNCOMPRESSED,
        Compression::Snappy => Codec::SNAPPY,
        Compression::Lz4 => Codec::LZ4_RAW,
        Compression::Zstd => Codec::ZSTD(ZstdLevel::default()),
        Compression::Gzip => Codec::GZIP(GzipLevel::default()),
    };
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_max_row_group_row_count(Some(options.row_group_rows.max(1)))
        .set_max_row_group_bytes(Some(MOST_ROW_GROUP_BYTES))
        .set_created_by(concat!("lode-arrow ", env!("CARGO_PKG_VERSION")).into());
    Ok(ArrowWriter::try_new(out, Arc::clone(schema), Some(properties.build()))?)
}

/// A file that was opened: its description and its reader.
pub(super) struct Opened {
    pub(super) schema: SchemaRef,
    pub(super) rows: u64,
    pub(super) field_ids: Vec<Option<i32>>,
    pub(super) reader: Reader,
}

/// The library's words for a file whose footer is encrypted, and for a page that has no header, as
/// one that is encrypted.
const ENCRYPTED_FOOTER: &str = "has an encrypted footer";
const NO_HEADER: &str = "Required field type_ is missing";

/// Returns the next batch of a file; `None` at the end.
pub(super) fn next_batch(reader: &mut Reader) -> Result<Option<RecordBatch>> {
    let batch = reader.next().transpose();
    batch.map_err(|error| match error.to_string() {
        said if said.contains(NO_HEADER) => Error::Format(
            "a page of a column has no header: it is damaged, or the column is encrypted, which \
             Lode does not read"
                .into(),
        ),
        _ => error.into(),
    })
}

/// Opens a file.
pub(super) fn reader(file: File, options: &ReadOptions) -> Result<Opened> {
    let loaded = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default());
    let mut metadata = loaded.map_err(|error| match error.to_string() {
        said if said.contains(ENCRYPTED_FOOTER) => {
            Error::Format("the file is encrypted, which Lode does not read".into())
        }
        _ => error.into(),
    })?;
    let rows = expect_whole(&metadata)?;
    if let Some(schema) = with_wide_moments(&metadata) {
        let options = ArrowReaderOptions::default().with_schema(schema);
        metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)?;
    }
    let fields = metadata.parquet_schema().root_schema().get_fields().iter();
    let field_ids = fields.map(|field| {
        let info = field.get_basic_info();
        info.has_id().then(|| info.id())
    });
    let mut field_ids: Vec<_> = field_ids.collect();
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
    if let Some(wanted) = &options.columns {
        let places = places(wanted, names_of(builder.schema()))?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), places.iter().copied());
        let is_read = |at: &usize| places.contains(at);
        field_ids = (0..).zip(field_ids).filter(|(at, _)| is_read(at)).map(|(_, id)| id).collect();
        builder = builder.with_projection(mask);
    }
    let reader = builder.with_batch_size(options.batch_rows.max(1)).build()?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    Ok(Opened { schema, rows, field_ids, reader })
}

/// Returns how many rows a file has. Refuses one whose groups have others, or whose values are in
/// other files.
fn expect_whole(metadata: &ArrowReaderMetadata) -> Result<u64> {
    let wrong = |why: String| Err(Error::Format(why.into()));
    let groups = metadata.metadata().row_groups();
    let chunks = groups.iter().flat_map(RowGroupMetaData::columns);
    if let Some(other) = chunks.filter_map(|chunk| chunk.file_path()).find(|path| !path.is_empty())
    {
        return wrong(format!("its values are in another file, {other}, which is not read"));
    }
    let rows = metadata.metadata().file_metadata().num_rows();
    match groups.iter().map(RowGroupMetaData::num_rows).sum::<i64>() {
        found if found == rows => Ok(rows.max(0) as u64),
        found => wrong(format!("it says that it has {rows} rows, and its groups have {found}")),
    }
}

/// Returns the schema of a file in which moments have 96 bits, as Spark writes them, with
/// microseconds for these: nanoseconds in 64 bits would end in the year 2262. `None` if it has no
/// such columns.
fn with_wide_moments(metadata: &ArrowReaderMetadata) -> Option<SchemaRef> {
    let columns = metadata.parquet_schema().root_schema().get_fields();
    let is_wide = |column: &parquet::schema::types::TypePtr| {
        column.is_primitive() && column.get_physical_type() == PhysicalType::INT96
    };
    if !columns.iter().any(is_wide) {
        return None;
    }
    let fields = metadata.schema().fields().iter().zip(columns).map(|(field, column)| {
        if is_wide(column) {
            let kind = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
            Arc::new(field.as_ref().clone().with_data_type(kind))
        } else {
            Arc::clone(field)
        }
    });
    Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

//! Apache Parquet.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression as Codec, GzipLevel, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{Compression, ReadOptions, WriteOptions, names_of, places};
use crate::error::Result;

pub(super) type Writer<W> = ArrowWriter<W>;
pub(super) type Reader = ParquetRecordBatchReader;

/// The most bytes of a row group: it is in memory until it is whole.
const MOST_ROW_GROUP_BYTES: usize = 64 << 20;

/// Begins a file.
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

/// Opens a file: its columns, its rows, and what reads them.
pub(super) fn reader(file: File, options: &ReadOptions) -> Result<(SchemaRef, u64, Reader)> {
    let mut metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default())?;
    if let Some(schema) = with_wide_moments(&metadata) {
        let options = ArrowReaderOptions::default().with_schema(schema);
        metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)?;
    }
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
    if let Some(wanted) = &options.columns {
        let places = places(wanted, names_of(builder.schema()))?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), places);
        builder = builder.with_projection(mask);
    }
    let rows = builder.metadata().file_metadata().num_rows();
    let reader = builder.with_batch_size(options.batch_rows.max(1)).build()?;
    Ok((arrow_array::RecordBatchReader::schema(&reader), rows.max(0) as u64, reader))
}

/// The schema of a file in which moments have 96 bits, as Spark writes them, with microseconds for
/// these: nanoseconds in 64 bits would end in the year 2262. `None` if there are no such columns.
fn with_wide_moments(metadata: &ArrowReaderMetadata) -> Option<SchemaRef> {
    let columns = metadata.parquet_schema().root_schema().get_fields();
    let is_wide = |column: &parquet::schema::types::TypePtr| {
        column.is_primitive() && column.get_physical_type() == PhysicalType::INT96
    };
    if !columns.iter().any(is_wide) {
        return None;
    }
    let fields =
        metadata.schema().fields().iter().zip(columns).map(|(field, column)| {
            match is_wide(column) {
                true => {
                    let kind = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
                    Arc::new(field.as_ref().clone().with_data_type(kind))
                }
                false => Arc::clone(field),
            }
        });
    Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

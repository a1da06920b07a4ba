//! The file format of Arrow IPC.

mod claims;
mod expected;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{Block, CompressionType, root_as_footer};
use arrow_schema::SchemaRef;

use self::claims::expect_possible;
use self::expected::{Dictionaries, expect_readable};
use super::{Compression, FileFormat, WriteOptions};
use crate::error::{Error, Result};

pub(super) type Writer<W> = FileWriter<Counted<W>>;

/// Bytes of the length of the footer and the mark after it.
const TRAILER_BYTES: usize = 10;

/// An output that counts what is written.
pub(super) struct Counted<W> {
    pub(super) out: W,
    pub(super) written_bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.written_bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Starts a file.
pub(super) fn writer<W: Write>(
    schema: &SchemaRef,
    options: &WriteOptions,
    out: W,
) -> Result<Writer<W>> {
    let codec = match options.compression {
        Compression::None => None,
        Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
        Compression::Zstd => Some(CompressionType::ZSTD),
        Compression::Snappy | Compression::Gzip => {
            return Err(Error::NoCompression {
                format: FileFormat::Ipc.name(),
                compression: options.compression.name(),
            });
        }
    };
    let options = IpcWriteOptions::default().try_with_compression(codec)?;
    let out = Counted { out, written_bytes: 0 };
    Ok(FileWriter::try_new_with_options(out, schema, options)?)
}

/// Reads the batches of a file. [`arrow_ipc::reader::FileReader`] would take as much memory as a
/// damaged file says that a batch has; here no batch has more bytes than its file, and
/// no buffer is decompressed that [cannot be so large](claims).
pub(super) struct Reader {
    file: File,
    size_bytes: u64,
    decoder: FileDecoder,
    schema: SchemaRef,
    /// The blocks to come, the next one last.
    blocks: Vec<Block>,
}

impl Reader {
    /// Opens a file.
    pub(super) fn new(mut file: File) -> Result<Self> {
        let size_bytes = file.metadata()?.len();
        let no_footer = || Error::Format("this is no file of Arrow IPC, or it is cut off".into());
        let trailer_at = size_bytes.checked_sub(TRAILER_BYTES as u64).ok_or_else(no_footer)?;
        let mut trailer = [0; TRAILER_BYTES];
        file.seek(SeekFrom::Start(trailer_at))?;
        file.read_exact(&mut trailer)?;
        let footer_size = read_footer_length(trailer).map_err(|_| no_footer())?;
        let footer_at = trailer_at.checked_sub(footer_size as u64).ok_or_else(no_footer)?;
        let mut footer = vec![0; footer_size];
        file.seek(SeekFrom::Start(footer_at))?;
        file.read_exact(&mut footer)?;
        let footer = root_as_footer(&footer).map_err(|_| no_footer())?;
        let schema = footer.schema().ok_or_else(no_footer)?;
        expect_readable(&schema)?;
        let schema = Arc::new(fb_to_schema(schema));
        let blocks = footer.recordBatches().iter().flatten().rev().copied().collect();
        let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let mut reader = Self { file, size_bytes, decoder, schema, blocks };
        let mut dictionaries = Dictionaries::default();
        for block in footer.dictionaries().iter().flatten() {
            let bytes = reader.bytes_of(block)?;
            dictionaries.add(bytes.get(..block.metaDataLength() as usize).unwrap_or_default())?;
            reader.decoder.read_dictionary(block, &bytes)?;
        }
        Ok(reader)
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the next batch; `None` at the end.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(block) = self.blocks.pop() {
            let bytes = self.bytes_of(&block)?;
            if let Some(batch) = self.decoder.read_record_batch(&block, &bytes)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn bytes_of(&mut self, block: &Block) -> Result<Buffer> {
        let outside = || Error::Format("a batch is outside of the file".into());
        let at = u64::try_from(block.offset()).map_err(|_| outside())?;
        let metadata = u64::try_from(block.metaDataLength()).map_err(|_| outside())?;
        let body = u64::try_from(block.bodyLength()).map_err(|_| outside())?;
        let size = metadata.checked_add(body).ok_or_else(outside)?;
        if at.checked_add(size).is_none_or(|end| end > self.size_bytes) {
            return Err(outside());
        }
        let mut bytes = MutableBuffer::from_len_zeroed(size as usize);
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut bytes)?;
        let (metadata, body) = bytes.split_at(metadata as usize);
        expect_possible(metadata, body)?;
        Ok(bytes.into())
    }
}

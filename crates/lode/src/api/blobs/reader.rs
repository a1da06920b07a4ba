//! Reading a blob.

use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom};
use std::ops::{Bound, RangeBounds};

use super::Blobs;
use super::removal::Held;
use super::tables::{CHUNK_BYTES, Head, bytes_of_chunk, chunk_key};
use crate::api::ReadTable;
use crate::error::{Error, Result};

/// A blob that is being read; made by [`Blobs::read`]. It is an [`io::Read`], an [`io::BufRead`]
/// and an [`io::Seek`].
///
/// It reads the blob that was found, also when that is replaced or removed in the meantime. Until
/// it is dropped, the space of that blob is not free; dropping its last reader frees it, chunk by
/// chunk.
///
/// Errors are those of the database, as [`io::Error`]s; [`io::Error::downcast`] returns the
/// [`Error`] itself. A process that [reads only](crate::Options::open_read_only) may find
/// `MomentExpired`.
///
/// ```
/// use std::io::{Read, Seek, SeekFrom};
/// use lode::Database;
///
/// let db = Database::in_memory()?;
/// let files = db.create_blobs("files")?;
/// files.put("log", &b"first line\nlast line\n"[..])?;
/// let mut reader = files.read("log")?.expect("it was written");
/// assert_eq!(reader.length_bytes(), 21);
/// reader.seek(SeekFrom::Start(11))?;
/// let mut rest = String::new();
/// reader.read_to_string(&mut rest)?;
/// assert_eq!(rest, "last line\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BlobReader {
    blobs: Blobs,
    head: Head,
    /// Keeps the chunks where they are.
    _held: Option<Held>,
    position: u64,
    /// The chunk that was read last, with its number.
    chunk: Vec<u8>,
    number: Option<u64>,
}

impl fmt::Debug for BlobReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("BlobReader");
        debug.field("length_bytes", &self.head.length_bytes).field("position", &self.position);
        debug.finish_non_exhaustive()
    }
}

impl BlobReader {
    pub(super) fn new(blobs: Blobs, head: Head, held: Option<Held>) -> Self {
        Self { blobs, head, _held: held, position: 0, chunk: Vec::new(), number: None }
    }

    /// Returns the number of bytes of the blob.
    pub fn length_bytes(&self) -> u64 {
        self.head.length_bytes
    }

    /// Returns the bytes from the position to the end of a chunk; none at the end.
    fn rest_of_chunk(&mut self) -> Result<&[u8]> {
        if self.position >= self.head.length_bytes {
            return Ok(&[]);
        }
        let number = self.position / CHUNK_BYTES as u64;
        if self.number != Some(number) {
            self.read_chunk(number)?;
        }
        let from = (self.position % CHUNK_BYTES as u64) as usize;
        debug_assert!(from < bytes_of_chunk(&self.chunk).len(), "the position is in its chunk");
        Ok(&bytes_of_chunk(&self.chunk)[from..])
    }

    fn read_chunk(&mut self, number: u64) -> Result<()> {
        self.number = None;
        let chunks = &self.blobs.tables().chunks;
        let corrupt =
            |why: String| Error::corrupt(format!("table {}", chunks.schema().name()), why);
        let Some(id) = self.head.id else {
            return Err(corrupt("a blob with bytes has no chunks".into()));
        };
        // A length in a file may be any number.
        let of_key = u32::try_from(number).ok();
        let is_there = match of_key {
            Some(number) => chunks.get_into(&chunk_key(id, number), &mut self.chunk)?,
            None => false,
        };
        if !is_there {
            return Err(corrupt(format!("chunk {number} of blob {id} is missing")));
        }
        let has = bytes_of_chunk(&self.chunk).len();
        let expected = self.head.chunk_size(number);
        if has != expected {
            let why = format!("chunk {number} of blob {id} has {has} bytes, not {expected}");
            return Err(corrupt(why));
        }
        self.number = Some(number);
        Ok(())
    }

    /// Returns the bytes at these offsets, as far as there are any.
    pub(super) fn into_range(mut self, range: &impl RangeBounds<u64>) -> Result<Vec<u8>> {
        let length = self.head.length_bytes;
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => length,
        };
        let end = end.min(length);
        self.position = from.min(end);
        debug_assert!(end <= length, "a range ends with its blob");
        let mut bytes = Vec::new();
        while self.position < end {
            let left = usize::try_from(end - self.position).unwrap_or(usize::MAX);
            let rest = self.rest_of_chunk()?;
            let count = rest.len().min(left);
            bytes.extend_from_slice(&rest[..count]);
            self.position += count as u64;
        }
        Ok(bytes)
    }
}

impl Read for BlobReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let rest = self.rest_of_chunk()?;
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        debug_assert!(
            count == 0 || self.position <= self.head.length_bytes,
            "no byte is after the end"
        );
        Ok(count)
    }
}

impl BufRead for BlobReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.rest_of_chunk()?)
    }

    fn consume(&mut self, count: usize) {
        self.position = self.position.saturating_add(count as u64);
    }
}

impl Seek for BlobReader {
    /// Goes to another offset, which may be after the end. One before the start is an error of the
    /// kind `InvalidInput`.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(by) => self.head.length_bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        let to = to.ok_or_else(|| {
            io::Error::new(ErrorKind::InvalidInput, "a blob has no bytes before its start")
        })?;
        self.position = to;
        Ok(to)
    }
}

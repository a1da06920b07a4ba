//! Writing a blob.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use super::Blobs;
use super::removal::Held;
use super::tables::{ChunkRecord, Head};
use crate::error::{Error, Result};
use crate::schema::Value;

/// The most bytes of a blob: 4 GiB.
pub const MOST_BLOB_BYTES: u64 = 4 << 30;

/// A blob that is being written; made by [`Blobs::write`]. It is an [`io::Write`].
///
/// Each full chunk is written to the database, where no reader sees it. [`finish`](Self::finish)
/// puts the blob in its place. If it is dropped without that, the key has what it had before, and
/// the chunks are removed. After a crash, the first write or removal of the next process does that.
///
/// A write that fails has taken none of its bytes, and may be tried again. Errors are those of the
/// database, as [`io::Error`]s: `StorageFull` if the disk is full; [`io::Error::downcast`] returns
/// the [`Error`] itself.
///
/// ```
/// use std::io::Write;
/// use lode::Database;
///
/// let db = Database::in_memory()?;
/// let files = db.create_blobs("files")?;
/// files.put("notes", &b"first"[..])?;
/// let mut writer = files.write("notes")?;
/// writer.write_all(b"second")?;
/// drop(writer);
/// assert_eq!(files.get("notes")?.as_deref(), Some(&b"first"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BlobWriter {
    blobs: Blobs,
    key: Vec<u8>,
    /// The id, once a chunk had to be written.
    held: Option<Held>,
    /// The chunk that is being filled, and the number of those before it.
    chunk: ChunkRecord,
    written: u32,
    length_bytes: u64,
    is_too_long: bool,
}

impl fmt::Debug for BlobWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length_bytes = self.length_bytes;
        f.debug_struct("BlobWriter").field("length_bytes", &length_bytes).finish_non_exhaustive()
    }
}

impl BlobWriter {
    pub(super) fn new(blobs: Blobs, key: &[u8]) -> Result<Self> {
        let table = &blobs.tables().blobs;
        table.schema().pack_key(&[Value::Bytes(key)])?;
        table.core().ensure_open()?;
        let engine = table.database();
        engine.expect_open()?;
        if engine.store().is_some_and(crate::store::Store::is_read_only) {
            return Err(Error::ReadOnly);
        }
        engine.expect_healthy()?;
        blobs.remove_left_if_possible();
        let chunk = ChunkRecord::new();
        let key = key.to_vec();
        Ok(Self { blobs, key, held: None, chunk, written: 0, length_bytes: 0, is_too_long: false })
    }

    /// Returns the number of bytes that were written so far.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Puts the blob in the place of the one before, in one commit. When this returns it is as
    /// durable as commits are.
    ///
    /// # Errors
    /// `BlobTooLong` when more than [`MOST_BLOB_BYTES`] were to be written; and as
    /// [`Transaction::commit`](crate::Transaction::commit). What was there before stays, unless
    /// [`Error::effect`] says otherwise.
    pub fn finish(mut self) -> Result<()> {
        self.expect_length()?;
        if self.held.is_some() && self.chunk.size() > 0 {
            self.write_chunk()?;
        }
        let replaced = self.publish()?;
        // It is no more pending.
        self.held = None;
        if replaced.is_some_and(|head| head.id.is_some()) {
            self.blobs.remove_pending_if_possible();
        }
        Ok(())
    }

    /// Gives the key its new chunks. Returns the head that it had before.
    fn publish(&mut self) -> Result<Option<Head>> {
        let is_pending = self.held.is_some();
        if !is_pending && self.length_bytes > 0 {
            // The only chunk is written together with the head.
            self.held = Some(Held::of_new(&self.blobs)?);
        }
        let id = self.held.as_ref().map(|held| held.id);
        debug_assert!(self.length_bytes <= MOST_BLOB_BYTES, "no blob is too long");
        debug_assert!(is_pending || self.written == 0, "chunks are written under an id");
        let head = Head { id, length_bytes: self.length_bytes };
        let Self { blobs, key, chunk, .. } = self;
        let tables = blobs.tables();
        blobs.store.db.transact(|transaction| {
            let before = tables.head(&tables.blobs.within(transaction), key)?;
            tables.put_head(transaction, key, head)?;
            blobs.give_up(transaction, before)?;
            match id {
                // Chunks of an id that is not pending may have been removed.
                Some(id) if is_pending && !transaction.delete(&tables.pending, id)? => {
                    let table = tables.pending.schema().name().into();
                    return Err(Error::Conflict { table });
                }
                Some(_) if is_pending => {}
                Some(id) => {
                    transaction.upsert(&tables.chunks, chunk.packed(id, 0))?;
                }
                None => {}
            }
            Ok(before)
        })
    }

    /// Takes all that a source has.
    pub(super) fn take_all(&mut self, mut source: impl Read) -> Result<()> {
        loop {
            self.make_room()?;
            debug_assert!(self.chunk.room() > 0, "a full chunk was written");
            // One byte more than a blob can have shows that the source has too many.
            let left = MOST_BLOB_BYTES - self.length_bytes;
            if left == 0 {
                match read(&mut source, &mut ChunkRecord::new(), 1)? {
                    0 => return Ok(()),
                    _ => self.is_too_long = true,
                }
                return self.expect_length();
            }
            match read(&mut source, &mut self.chunk, usize::try_from(left).unwrap_or(usize::MAX))? {
                0 => return Ok(()),
                count => self.length_bytes += count as u64,
            }
        }
    }

    fn expect_length(&self) -> Result<()> {
        if self.is_too_long {
            let store = self.blobs.name().into();
            return Err(Error::BlobTooLong { store, most_bytes: MOST_BLOB_BYTES });
        }
        Ok(())
    }

    /// Makes room in the chunk that is being filled.
    fn make_room(&mut self) -> Result<()> {
        if self.chunk.room() == 0 { self.write_chunk() } else { Ok(()) }
    }

    /// Writes the chunk to the database, and starts another.
    fn write_chunk(&mut self) -> Result<()> {
        let id = match &self.held {
            Some(held) => held.id,
            None => self.begin()?,
        };
        debug_assert!(self.chunk.size() > 0, "no chunk is empty");
        let record = self.chunk.packed(id, self.written);
        self.blobs.tables().chunks.upsert_early(record)?;
        self.written += 1;
        self.chunk.clear();
        Ok(())
    }

    /// Makes an id for the blob, which is pending. The commit is before all chunks in the log.
    fn begin(&mut self) -> Result<u64> {
        debug_assert!(self.held.is_none() && self.written == 0, "a blob gets one id, at its start");
        let held = Held::of_new(&self.blobs)?;
        let id = held.id;
        let transaction = self.blobs.store.db.begin();
        let is_new = transaction.insert(&self.blobs.tables().pending, &id.to_le_bytes())?;
        debug_assert!(is_new, "nobody has had a new id");
        transaction.commit_early()?;
        self.held = Some(held);
        Ok(id)
    }
}

/// Reads up to `most` bytes of a source into a chunk; returns how many there were.
fn read(source: &mut impl Read, chunk: &mut ChunkRecord, most: usize) -> Result<usize> {
    loop {
        match chunk.read_from(source, most) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(of_source(error)),
            Ok(count) => return Ok(count),
        }
    }
}

/// Returns the error of a source, which may be one of a database itself.
fn of_source(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::io("read what a blob is made of", &error),
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        self.make_room()?;
        let left = usize::try_from(MOST_BLOB_BYTES - self.length_bytes).unwrap_or(usize::MAX);
        if left == 0 {
            self.is_too_long = true;
            return Err(self.expect_length().expect_err("it is too long").into());
        }
        let count = bytes.len().min(left).min(self.chunk.room());
        debug_assert!(count > 0, "there is room");
        self.chunk.extend(&bytes[..count]);
        self.length_bytes += count as u64;
        Ok(count)
    }

    /// Does nothing: [`finish`](BlobWriter::finish) writes what is left.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for BlobWriter {
    fn drop(&mut self) {
        if self.held.take().is_some() {
            self.blobs.remove_pending_if_possible();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Database;

    #[test]
    fn a_blob_of_more_than_4_gib_is_refused_and_the_one_before_stays() {
        let db = Database::in_memory().expect("memory");
        let files = db.create_blobs("files").expect("a store");
        files.put("a", &b"old"[..]).expect("there is room");
        let full = || {
            let mut writer = files.write("a").expect("a writer");
            // As if all of these had been written.
            writer.length_bytes = MOST_BLOB_BYTES - 3;
            writer
        };
        let too_long = Error::BlobTooLong { store: "files".into(), most_bytes: 1 << 32 };
        let mut writer = full();
        assert_eq!(writer.write(b"12345").expect("three bytes have room"), 3);
        let error = writer.write(b"4").expect_err("it is full");
        assert_eq!(error.downcast::<Error>().expect("an error of the database"), too_long);
        assert_eq!(writer.finish(), Err(too_long.clone()));
        assert_eq!(full().take_all(&b"1234"[..]), Err(too_long));
        assert_eq!(files.get("a"), Ok(Some(b"old".to_vec())));
        let mut most = full();
        assert_eq!(most.take_all(&b"123"[..]), Ok(()));
        assert_eq!(most.length_bytes(), MOST_BLOB_BYTES);
        assert_eq!(most.finish(), Ok(()));
        assert_eq!(files.length_bytes("a"), Ok(Some(MOST_BLOB_BYTES)));
    }
}

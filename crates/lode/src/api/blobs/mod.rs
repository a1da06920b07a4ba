//! Blobs: values of any length, written and read as streams.
//!
//! A layer over tables. A blob is cut into *chunks*, records of a table under an id that no other
//! blob has. They are written before the blob is there, one by one. Then one commit gives the key
//! the id. So a reader finds the old chunks or the new ones, and no transaction has more than one.
//!
//! Ids whose chunks belong to no blob are *pending*: from before the first chunk until the blob is
//! there, and from its replacement or removal until the last chunk is gone. `removal` removes the
//! chunks of pending ids that no reader or writer of this process holds.

mod check;
mod cursor;
mod mend;
mod range;
mod reader;
mod removal;
mod tables;
mod writer;

use std::fmt;
use std::io::Read;
use std::ops::RangeBounds;
use std::sync::Arc;

pub use cursor::{BlobCursor, BlobEntry};
pub use reader::BlobReader;
pub use tables::MOST_BLOB_KEY_BYTES;
pub use writer::{BlobWriter, MOST_BLOB_BYTES};

use super::{Database, ReadTable};
use crate::engine::BlobIds;
use crate::error::{Error, Result, none_if_too_long};
use removal::Held;
use tables::{Head, Part, Tables};

impl Database {
    /// Creates a blob store. It is kept in three tables: `NAME.blobs`, `NAME.chunks` and
    /// `NAME.pending`. They can be listed, dumped, checked and backed up as others; write them by
    /// the store only.
    ///
    /// # Errors
    /// `TableExists` when there is such a store, or another table of these names that has records
    /// or other columns; and as
    /// [`create_table`](Self::create_table).
    pub fn create_blobs(&self, name: &str) -> Result<Blobs> {
        {
            let _turn = self.turn_for_blobs()?;
            Tables::create(self, name)?;
        }
        self.blobs(name)
    }

    /// Returns the blob store with a name.
    ///
    /// # Errors
    /// `NoTable` when no store has the name; `OtherColumns` and `NoOrder` when its tables were
    /// altered; and as [`table`](Self::table).
    pub fn blobs(&self, name: &str) -> Result<Blobs> {
        let tables = Tables::of(self, name)?;
        let ids = tables.blobs.database().blob_ids(tables.blobs.core().id());
        let store = Store { name: name.into(), db: self.clone(), tables, ids };
        Ok(Blobs { store: Arc::new(store) })
    }

    /// Returns the blob store with a name; creates it if it does not exist.
    ///
    /// # Errors
    /// As [`blobs`](Self::blobs) and [`create_blobs`](Self::create_blobs).
    pub fn blobs_or_create(&self, name: &str) -> Result<Blobs> {
        let missing = Part::Blobs.of(name);
        match self.blobs(name) {
            Err(Error::NoTable { table }) if table == missing => match self.create_blobs(name) {
                // Another thread was quicker.
                Err(Error::TableExists { table }) if table == missing => self.blobs(name),
                created => created,
            },
            opened => opened,
        }
    }

    /// Drops a blob store with all blobs. Handles, writers and readers of it find no table then.
    ///
    /// # Errors
    /// `NoTable` when no store has the name; `OtherColumns` and `NoOrder` when a table of its names
    /// is none of a store, and nothing is dropped; and as [`drop_table`](Self::drop_table). After
    /// such an error, the store is there or is not; call it again to drop what is left.
    pub fn drop_blobs(&self, name: &str) -> Result<()> {
        let _turn = self.turn_for_blobs()?;
        let names = self.table_names();
        let is_there = |part: &Part| names.contains(&part.of(name));
        if !Part::ALL.iter().any(is_there) {
            return Err(Error::NoTable { table: Part::Blobs.of(name) });
        }
        // Chunks last: a crash leaves what `create_blobs` takes over.
        let parts = [Part::Blobs, Part::Pending, Part::Chunks].into_iter();
        let parts = Vec::from_iter(parts.filter(is_there));
        for part in &parts {
            match part.table(self, name) {
                Ok(_) | Err(Error::Corrupt { .. }) => {}
                // It is a table of the user's, or was altered.
                Err(error) => return Err(error),
            }
        }
        parts.into_iter().try_for_each(|part| self.drop_table(&part.of(name)))
    }

    /// Returns the names of all blob stores, in their order.
    pub fn blob_names(&self) -> Vec<String> {
        let suffix = Part::Blobs.of("");
        let names = self.table_names().into_iter();
        let stores = names.filter_map(|table| table.strip_suffix(&suffix).map(str::to_string));
        stores.filter(|name| Tables::of(self, name).is_ok()).collect()
    }

    fn turn_for_blobs(&self) -> Result<std::sync::MutexGuard<'_, ()>> {
        // In a forked process, the turn may never come.
        self.engine().expect_here()?;
        Ok(self.engine().turn_for_blobs())
    }
}

/// A blob store: values of any length up to [`MOST_BLOB_BYTES`], under keys of any bytes. Handles
/// are cheap to clone, and may be used by any number of threads.
///
/// Blobs are written and read as streams, in chunks of 65,500 bytes. A writer or reader holds one
/// chunk in memory, besides the memory budget.
///
/// A write is seen as a whole or not at all: [`BlobWriter::finish`] puts the new blob in the place
/// of the old one, and is as durable as a [commit](super::Transaction::commit). Of several writers
/// of one key, the last one to finish counts. A reader reads the blob that it has found to its end,
/// also when that is replaced or removed.
///
/// The space of what was replaced or removed is free for others soon after; while it is being read,
/// it is so when its last reader is dropped. What an ended process has left of blobs that it did
/// not finish is removed by the first write or removal of another process.
///
/// In a copy of a database, which [follows its changes](crate::Changes), blobs are only read. What
/// looks left there is of a blob that is being written in the other database. A reader of a blob
/// gets `Corrupt` once changes have removed its chunks.
///
/// ```
/// use std::io::{Read, Seek, SeekFrom, Write};
/// use lode::Database;
///
/// let db = Database::in_memory()?;
/// let files = db.create_blobs("files")?;
/// let mut writer = files.write("report.pdf")?;
/// for page in 0..100_u8 {
///     writer.write_all(&[page; 4_000])?;
/// }
/// assert!(!files.contains("report.pdf")?, "it is not there before its end");
/// writer.finish()?;
/// assert_eq!(files.length_bytes("report.pdf")?, Some(400_000));
///
/// let mut reader = files.read("report.pdf")?.expect("it was written");
/// files.put("report.pdf", &b"shorter"[..])?;
/// reader.seek(SeekFrom::End(-1))?;
/// let mut last = [0];
/// reader.read_exact(&mut last)?;
/// assert_eq!(last, [99], "a reader reads on in what it has found");
/// assert_eq!(files.get("report.pdf")?.as_deref(), Some(&b"shorter"[..]));
/// assert_eq!(files.read_range("report.pdf", 1..3)?.as_deref(), Some(&b"ho"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [reading](super::ReadTable#errors) and [writing](super::Table#errors) tables: `NoTable`
/// when the store was dropped, and `Corrupt` when a chunk of a blob is missing.
#[derive(Clone)]
pub struct Blobs {
    store: Arc<Store>,
}

/// The state that all handles of a store share.
struct Store {
    name: String,
    db: Database,
    tables: Tables,
    ids: Arc<BlobIds>,
}

impl fmt::Debug for Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blobs").field("name", &self.store.name).finish_non_exhaustive()
    }
}

impl Blobs {
    fn tables(&self) -> &Tables {
        &self.store.tables
    }

    /// Returns the name of the store.
    pub fn name(&self) -> &str {
        &self.store.name
    }

    /// Starts to write a blob. Nothing is seen of it before [`BlobWriter::finish`].
    ///
    /// # Errors
    /// `KeyTooLong` when the key has more than [`MOST_BLOB_KEY_BYTES`]; `ReadOnly`, `Closed`.
    pub fn write(&self, key: impl AsRef<[u8]>) -> Result<BlobWriter> {
        BlobWriter::new(self.clone(), key.as_ref())
    }

    /// Writes a blob of all that a source has, and replaces one with its key. Returns the number of
    /// bytes.
    ///
    /// # Errors
    /// As [`write`](Self::write) and [`BlobWriter::finish`]; `Io` when the source cannot be read.
    /// What was there before stays then.
    pub fn put(&self, key: impl AsRef<[u8]>, source: impl Read) -> Result<u64> {
        let mut writer = self.write(key)?;
        writer.take_all(source)?;
        let length_bytes = writer.length_bytes();
        writer.finish()?;
        Ok(length_bytes)
    }

    /// Returns a reader of the blob with a key; `None` if it is missing.
    ///
    /// # Errors
    /// Those of [blob stores](Self#errors).
    pub fn read(&self, key: impl AsRef<[u8]>) -> Result<Option<BlobReader>> {
        let key = key.as_ref();
        while let Some(head) = self.head(key)? {
            if let Some(reader) = self.reader_of(key, head)? {
                return Ok(Some(reader));
            }
        }
        Ok(None)
    }

    /// Returns a reader of the blob with a head; `None` if the key does not have it any more.
    fn reader_of(&self, key: &[u8], head: Head) -> Result<Option<BlobReader>> {
        let held = head.id.map(|id| Held::new(self, id)).transpose()?;
        // If it is still there, its chunks stay from now on.
        let is_there = held.is_none() || self.head(key)? == Some(head);
        Ok(is_there.then(|| BlobReader::new(self.clone(), head, held)))
    }

    /// Returns a part of the blob with a key: the bytes at these offsets, as far as there are any;
    /// `None` if the blob is missing. It reads only the chunks of that part.
    ///
    /// # Errors
    /// Those of [blob stores](Self#errors).
    pub fn read_range(
        &self,
        key: impl AsRef<[u8]>,
        range: impl RangeBounds<u64>,
    ) -> Result<Option<Vec<u8>>> {
        self.read(key)?.map(|reader| reader.into_range(&range)).transpose()
    }

    /// Returns the bytes of the blob with a key, all at once in memory; `None` if it is missing.
    ///
    /// # Errors
    /// Those of [blob stores](Self#errors).
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.read_range(key, ..)
    }

    /// Returns the number of bytes of the blob with a key; `None` if it is missing.
    ///
    /// # Errors
    /// Those of [blob stores](Self#errors).
    pub fn length_bytes(&self, key: impl AsRef<[u8]>) -> Result<Option<u64>> {
        Ok(self.head(key.as_ref())?.map(|head| head.length_bytes))
    }

    /// Returns true if there is a blob with a key.
    ///
    /// # Errors
    /// Those of [blob stores](Self#errors).
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.head(key.as_ref())?.is_some())
    }

    /// Returns the number of blobs.
    ///
    /// # Errors
    /// Those of [blob stores](Self#errors).
    pub fn len(&self) -> Result<u64> {
        self.tables().blobs.len()
    }

    /// Returns true if there is no blob.
    ///
    /// # Errors
    /// Those of [blob stores](Self#errors).
    pub fn is_empty(&self) -> Result<bool> {
        self.tables().blobs.is_empty()
    }

    /// Returns all keys with the lengths of their blobs, in the order of the keys.
    pub fn iter(&self) -> BlobCursor {
        BlobCursor::new(self.tables().blobs.iter())
    }

    /// Returns the keys that start with some bytes, with the lengths of their blobs, in the order
    /// of the keys.
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> BlobCursor {
        BlobCursor::new(range::with_prefix(&self.tables().blobs, start.as_ref()))
    }

    /// Removes a blob; returns false if it is missing.
    ///
    /// # Errors
    /// Those of [blob stores](Self#errors).
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.remove_left_if_possible();
        let is_removed = self.unlink(key.as_ref())?;
        if is_removed {
            self.remove_pending_if_possible();
        }
        Ok(is_removed)
    }

    fn head(&self, key: &[u8]) -> Result<Option<Head>> {
        none_if_too_long(self.tables().head(&self.tables().blobs, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_was_late_finds_that_its_blob_was_replaced() {
        let db = Database::in_memory().expect("memory");
        let files = db.create_blobs("files").expect("a store");
        files.put("a", &b"old"[..]).expect("there is room");
        let head = files.head(b"a").expect("it is read").expect("it is there");
        assert!(files.reader_of(b"a", head).expect("it is read").is_some());
        files.put("a", &b"new"[..]).expect("there is room");
        assert!(files.reader_of(b"a", head).expect("it is read").is_none(), "its chunk is gone");
    }
}

//! The tables of a blob store, and their records.
//!
//! | table | key | columns |
//! |---|---|---|
//! | `NAME.blobs` | key of the blob | id, which an empty blob does not have; length |
//! | `NAME.chunks` | id, number of the chunk | bytes, which only in the last chunk are fewer |
//! | `NAME.pending` | id whose chunks are of no blob | |

use crate::api::record::expect_same;
use crate::api::{Database, ReadTable, Table, Transaction};
use crate::error::{Error, Result};
use crate::schema::{IndexSchema, RowRef, Schema, Type, Value};
use crate::table::KeyKind;

/// The most bytes of the key of a blob.
pub const MOST_BLOB_KEY_BYTES: usize = 1_000;

/// The bytes of a chunk that is not the last one: with the end of its column, four whole pages.
pub(super) const CHUNK_BYTES: usize = 65_500;

/// Bytes before those of a chunk in its packed record: id, number, and the end of the column.
const FRONT_BYTES: usize = 16;

const KEY: usize = 0;
const ID: usize = 1;
const LENGTH: usize = 2;

/// The name of the index that finds a blob by its id.
const BY_ID: &str = "by_id";

/// The three tables of a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Blobs,
    Chunks,
    Pending,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::Blobs, Self::Chunks, Self::Pending];

    fn suffix(self) -> &'static str {
        match self {
            Self::Blobs => ".blobs",
            Self::Chunks => ".chunks",
            Self::Pending => ".pending",
        }
    }

    /// Returns the name of the table of a store.
    pub(super) fn of(self, store: &str) -> String {
        format!("{store}{}", self.suffix())
    }

    /// Returns the table of a store.
    ///
    /// # Errors
    /// `NoTable`; `OtherColumns` and `NoOrder` when it is no table of a store; `Corrupt`; and as
    /// [`Database::table`].
    pub(super) fn table(self, db: &Database, store: &str) -> Result<Table> {
        let table = db.table(&self.of(store))?;
        expect_same(table.schema(), &self.schema(store)?)?;
        match table.key_kind() {
            KeyKind::Tree => Ok(table),
            KeyKind::Hash => Err(Error::NoOrder { table: self.of(store) }),
        }
    }

    fn schema(self, store: &str) -> Result<Schema> {
        let build = Schema::build(&self.of(store));
        let build = match self {
            Self::Blobs => build
                .key("key", Type::VarBytes(MOST_BLOB_KEY_BYTES as u32))
                .nullable("id", Type::U64)
                .column("length", Type::U64),
            Self::Chunks => build
                .key("id", Type::U64)
                .key("number", Type::U32)
                .column("bytes", Type::VarBytes(CHUNK_BYTES as u32)),
            Self::Pending => build.key("id", Type::U64),
        };
        build.finish()
    }
}

/// The tables of a store.
#[derive(Clone)]
pub(super) struct Tables {
    pub blobs: Table,
    pub chunks: Table,
    pub pending: Table,
}

/// A blob, as its table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The id of its chunks, unless it is empty.
    pub id: Option<u64>,
    pub length_bytes: u64,
}

impl Head {
    /// Returns the head in a row of all columns.
    fn of(row: RowRef<'_>) -> Self {
        let columns = row.schema().columns();
        let id = row.bytes_at(columns[ID].id()).map(number_of);
        let length_bytes = row.bytes_at(columns[LENGTH].id()).map_or(0, number_of);
        Self { id, length_bytes }
    }

    /// Returns the number of chunks.
    pub(super) fn chunks(self) -> u64 {
        self.length_bytes.div_ceil(CHUNK_BYTES as u64)
    }

    /// Returns the number of bytes that a chunk of the blob has.
    pub(super) fn chunk_size(self, number: u64) -> usize {
        let left = self.length_bytes.saturating_sub(number.saturating_mul(CHUNK_BYTES as u64));
        left.min(CHUNK_BYTES as u64) as usize
    }
}

/// Returns the key and the head in a row of all columns.
pub(super) fn blob_of(row: RowRef<'_>) -> (&[u8], Head) {
    let key = row.bytes_at(row.schema().columns()[KEY].id());
    (key.unwrap_or_default(), Head::of(row))
}

/// Returns the number in the cell of a column.
fn number_of(cell: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    debug_assert!(cell.len() <= bytes.len(), "a number has at most eight bytes");
    bytes[..cell.len()].copy_from_slice(cell);
    u64::from_le_bytes(bytes)
}

/// Returns the packed key of a chunk.
pub(super) fn chunk_key(id: u64, number: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.to_le_bytes());
    key[8..].copy_from_slice(&number.to_le_bytes());
    key
}

/// Returns the id with which a packed key starts.
pub(super) fn id_of(key: &[u8]) -> u64 {
    number_of(&key[..8])
}

/// Returns the id and the number in the packed key of a chunk.
pub(super) fn parts_of_chunk(key: &[u8]) -> (u64, u32) {
    (id_of(key), number_of(&key[8..]) as u32)
}

/// Returns the bytes of a chunk in its payload.
pub(super) fn bytes_of_chunk(payload: &[u8]) -> &[u8] {
    // The engine has checked that they are there.
    &payload[FRONT_BYTES - 12..]
}

impl Tables {
    /// Returns the tables of a store, if they are such.
    ///
    /// # Errors
    /// `NoTable`, `OtherColumns`, `Corrupt`; and as [`Database::table`].
    pub(super) fn of(db: &Database, store: &str) -> Result<Self> {
        let [blobs, chunks, pending] = Part::ALL.map(|part| part.table(db, store));
        Ok(Self { blobs: blobs?, chunks: chunks?, pending: pending? })
    }

    /// Creates the tables of a store. That of the blobs comes last: with it there is a store.
    pub(super) fn create(db: &Database, store: &str) -> Result<()> {
        let blobs = Part::Blobs.schema(store)?;
        let names = db.table_names();
        let is_there = |part: Part| names.contains(&part.of(store));
        let taken = |part: Part| Error::TableExists { table: part.of(store) };
        if is_there(Part::Blobs) {
            return Err(taken(Part::Blobs));
        }
        // Takes over the tables of a store that was being created or dropped at a crash. Only
        // stores have a table of chunks; one of numbers may be a user's.
        let mut are_left = false;
        for part in [Part::Chunks, Part::Pending].into_iter().filter(|part| is_there(*part)) {
            let table = part.table(db, store).map_err(|_| taken(part))?;
            are_left |= part == Part::Chunks;
            if !are_left && !table.is_empty()? {
                return Err(taken(part));
            }
        }
        for part in [Part::Chunks, Part::Pending] {
            if is_there(part) {
                db.clear_table(&part.of(store))?;
            } else {
                db.create_table(&part.schema(store)?, KeyKind::Tree)?;
            }
        }
        let by_id = IndexSchema::new(BY_ID, ["id"]).unique();
        db.create_indexed_table(&blobs, KeyKind::Tree, &[by_id]).map(drop)
    }

    /// Returns true if a blob has an id.
    pub(super) fn has_id(&self, view: &impl ReadTable, id: u64) -> Result<bool> {
        Ok(view.by(BY_ID)?.get(id)?.is_some())
    }

    /// Returns the highest id that there is.
    pub(super) fn last_id(&self) -> Result<u64> {
        let last = |table: &Table| -> Result<u64> {
            let mut last = table.iter().rev().limit(1);
            let row = last.next_row()?;
            Ok(row.map_or(0, |row| id_of(row.key())))
        };
        let of_blobs = self.blobs.by(BY_ID)?.iter().rev().limit(1).next().transpose()?;
        let of_blobs = of_blobs.and_then(|row| Head::of(row.as_ref()).id).unwrap_or(0);
        Ok(of_blobs.max(last(&self.chunks)?).max(last(&self.pending)?))
    }

    /// Returns the head of the blob with a key, wherever the table is read.
    pub(super) fn head(&self, view: &impl ReadTable, key: &[u8]) -> Result<Option<Head>> {
        let row = view.get(Value::Bytes(key))?;
        Ok(row.map(|row| Head::of(row.as_ref())))
    }

    /// Writes the head of a blob in a transaction.
    pub(super) fn put_head(&self, transaction: &Transaction, key: &[u8], head: Head) -> Result<()> {
        debug_assert!(head.id.is_some() == (head.length_bytes > 0), "an empty blob has no chunks");
        let id = head.id.map_or(Value::Null, Value::Unsigned);
        let values = [Value::Bytes(key), id, Value::Unsigned(head.length_bytes)];
        transaction.upsert(&self.blobs, &self.blobs.schema().pack(&values)?).map(drop)
    }
}

/// The packed record of a chunk that is being filled.
pub(super) struct ChunkRecord {
    record: Vec<u8>,
}

impl ChunkRecord {
    pub(super) fn new() -> Self {
        Self { record: vec![0; FRONT_BYTES] }
    }

    /// Returns the number of bytes of the chunk.
    pub(super) fn size(&self) -> usize {
        self.record.len() - FRONT_BYTES
    }

    /// Returns the number of bytes that it can still take.
    pub(super) fn room(&self) -> usize {
        CHUNK_BYTES - self.size()
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.room(), "a chunk takes what it has room for");
        self.record.extend_from_slice(bytes);
    }

    /// Reads up to `most` bytes into the chunk; returns how many there were.
    pub(super) fn read_from(
        &mut self,
        source: &mut impl std::io::Read,
        most: usize,
    ) -> std::io::Result<usize> {
        let before = self.record.len();
        self.record.resize(before + self.room().min(most), 0);
        let read = source.read(&mut self.record[before..]);
        // A source that says that it has read more than it was given room for is not believed.
        let count = read.as_ref().map_or(0, |count| (*count).min(self.record.len() - before));
        self.record.truncate(before + count);
        debug_assert!(count <= most && self.size() <= CHUNK_BYTES, "a chunk takes what it may");
        read.map(|_| count)
    }

    /// Returns the packed record, as the chunk with this number.
    pub(super) fn packed(&mut self, id: u64, number: u32) -> &[u8] {
        debug_assert!(self.size() <= CHUNK_BYTES, "a chunk has at most its bytes");
        let size = self.size() as u32;
        self.record[..12].copy_from_slice(&chunk_key(id, number));
        self.record[12..FRONT_BYTES].copy_from_slice(&size.to_le_bytes());
        &self.record
    }

    pub(super) fn clear(&mut self) {
        self.record.truncate(FRONT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_chunks_are_packed_as_their_schema_packs_them() {
        let schema = Part::Chunks.schema("store").expect("a schema");
        let bytes = vec![7; CHUNK_BYTES];
        let mut chunk = ChunkRecord::new();
        chunk.extend(&bytes);
        assert_eq!(chunk.room(), 0);
        let values = [Value::Unsigned(300), Value::Unsigned(5), Value::Bytes(&bytes)];
        let packed = schema.pack(&values).expect("it fits");
        assert!(chunk.packed(300, 5) == packed, "the record has other bytes");
        let (key, payload) = packed.split_at(12);
        assert_eq!((key, parts_of_chunk(key)), (&chunk_key(300, 5)[..], (300, 5)));
        assert!(bytes_of_chunk(payload) == bytes);
        chunk.clear();
        assert_eq!(chunk.room(), CHUNK_BYTES);
    }

    #[test]
    fn a_chunk_fills_whole_pages() {
        let pages = crate::heap::pages_for(CHUNK_BYTES + 4);
        assert_eq!((pages, crate::heap::pages_for(CHUNK_BYTES + 4 + 20)), (4, 4));
        assert_eq!(crate::heap::pages_for(CHUNK_BYTES + 3), 4, "{pages}");
    }
}

//! Definitions and locations of tables, as the catalogue and the log have them.

use super::KeyKind;
use super::secondary::IndexOf;
use super::successor::SuccessorOf;
use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::hash;
use crate::heap::{DIGEST_BYTES, Entry, IndexKeys};
use crate::index::Shape;
use crate::pager::{Epoch, PageNumber, Pager, Space};
use crate::schema::Schema;
use crate::schema::key::KeyOrder;
use crate::tree;
use crate::wal::TableId;

/// The definition of a table.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub id: TableId,
    pub kind: KeyKind,
    /// The place of its records.
    pub records: Records,
    /// The seed of its hash function.
    pub seed: u64,
    pub schema: Schema,
    /// The part of a definition that only a secondary index has; `None` for a table.
    pub index: Option<IndexOf>,
    /// The part of a definition that only a successor has; `None` for others.
    pub(super) successor: Option<SuccessorOf>,
}

/// The place of the records of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// In its index.
    Index,
    /// In a heap; the index has their keys, and their addresses.
    Heap,
    /// In a heap, with their keys; the index has digests of these.
    HeapWithKeys,
}

/// The location of a table.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// The first page of its index.
    pub root: PageNumber,
    /// The first page of each extent of its index.
    pub extents: Vec<PageNumber>,
    /// The first page of each extent of its heap.
    pub heap: Vec<PageNumber>,
}

/// The place of the pages of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In memory only.
    Memory,
    /// In a directory, and the last used pages in memory.
    Directory,
}

/// Returns the longest payload that is stored in the index, next to its key.
///
/// Hashed keys come in no order, and each changes a page of the index, which is written out again.
/// So in a directory an index is kept small. In memory a record next to its key saves a cache miss.
/// A scan of a tree finds the records of a leaf next to each other.
fn most_in_index_bytes(kind: KeyKind, storage: Storage) -> usize {
    match (kind, storage) {
        (KeyKind::Hash, Storage::Directory) => 64,
        (KeyKind::Hash, Storage::Memory) => 128,
        (KeyKind::Tree, _) => 1024,
    }
}

/// The bytes that say what a definition is of.
const OF_TABLE: u8 = 0;
const OF_INDEX: u8 = 1;
const OF_SUCCESSOR: u8 = 2;

/// The longest key that is stored in an index of hashed keys next to an address. A digest and an
/// address, and the key in the heap, take up as much as one of eight bytes.
const MOST_KEY_IN_HASH_BYTES: usize = 15;

impl Definition {
    /// Makes the definition of a new table.
    pub(crate) fn new(
        id: TableId,
        kind: KeyKind,
        seed: u64,
        schema: Schema,
        storage: Storage,
    ) -> Self {
        let most = most_in_index_bytes(kind, storage);
        let has_heap = schema.is_variable() || schema.payload_size() > most;
        let has_long_keys = schema.most_key_size() > MOST_KEY_IN_HASH_BYTES;
        let records = match (has_heap, kind) {
            (_, KeyKind::Hash) if schema.is_key_variable() => Records::HeapWithKeys,
            (false, _) => Records::Index,
            (true, KeyKind::Hash) if has_long_keys => Records::HeapWithKeys,
            (true, _) => Records::Heap,
        };
        debug_assert!(
            kind == KeyKind::Hash || records != Records::HeapWithKeys,
            "a tree has the keys themselves"
        );
        Self { id, kind, records, seed, schema, index: None, successor: None }
    }

    /// Makes the definition that of a secondary index.
    pub(crate) fn of_index(self, index: IndexOf) -> Self {
        Self { index: Some(index), ..self }
    }

    /// Returns the definition with another schema, which suits the records as they are. What
    /// becomes of an index is known to both.
    pub(crate) fn redefined(&self, schema: Schema) -> Self {
        let redefined = Self { schema, ..self.clone() };
        debug_assert_eq!(redefined.shape(), self.shape(), "the index stays as it is");
        redefined
    }

    /// Returns the parameters of its index, if keys are hashed.
    pub(crate) fn hash_parameters(&self) -> hash::Parameters {
        hash::Parameters { shape: self.shape(), seed: self.seed }
    }

    /// Returns the sizes of the entries in the index.
    pub(crate) fn shape(&self) -> Shape {
        let order = self.order();
        let (key_size, is_variable) = match self.records {
            Records::Index | Records::Heap => (order.size(), order.is_variable()),
            Records::HeapWithKeys => (DIGEST_BYTES, false),
        };
        let payload_size = if self.has_heap() { Entry::BYTES } else { self.schema.payload_size() };
        Shape { key_size, is_variable, payload_size }
    }

    /// Returns the kind of keys that the index has for a heap; `None` without a heap.
    pub(crate) fn index_keys(&self) -> Option<IndexKeys> {
        match self.records {
            Records::Index => None,
            Records::Heap => Some(IndexKeys::Keys),
            Records::HeapWithKeys => Some(IndexKeys::Digests { seed: self.seed }),
        }
    }

    /// Returns true if there is a heap.
    pub(crate) fn has_heap(&self) -> bool {
        self.records != Records::Index
    }

    pub(crate) fn store(&self, writer: &mut Writer) {
        let kind = match (self.kind, self.records) {
            (KeyKind::Hash, Records::Index) => 1,
            (KeyKind::Tree, Records::Index) => 2,
            (KeyKind::Hash, Records::Heap) => 3,
            (KeyKind::Tree, _) => 4,
            (KeyKind::Hash, Records::HeapWithKeys) => 5,
        };
        let before = writer.0.len();
        writer.u32(self.id.0).u8(kind).u64(self.seed);
        self.schema.store(writer);
        match (&self.index, self.as_successor()) {
            (None, None) => drop(writer.u8(OF_TABLE)),
            (Some(index), _) => index.store(writer.u8(OF_INDEX)),
            (None, Some(successor)) => successor.store(writer.u8(OF_SUCCESSOR)),
        }
        let size = writer.0.len() - before;
        debug_assert_eq!(size, self.size_bytes(), "a definition has as many bytes as it says");
    }

    /// Returns the bytes that [`store`](Self::store) writes.
    pub(crate) fn size_bytes(&self) -> usize {
        let index = self.index.as_ref().map_or(0, IndexOf::size_bytes);
        let successor = self.as_successor().map_or(0, |_| SuccessorOf::BYTES);
        let numbers = size_of::<u32>() + size_of::<u8>() + size_of::<u64>();
        numbers + self.schema.stored_bytes() + size_of::<u8>() + index + successor
    }

    pub(crate) fn restore(reader: &mut Reader<'_>) -> Result<Self> {
        let id = TableId::read(reader)?;
        let kind = reader.u8()?;
        let seed = reader.u64()?;
        let (kind, records) = match kind {
            1 => (KeyKind::Hash, Records::Index),
            2 => (KeyKind::Tree, Records::Index),
            3 => (KeyKind::Hash, Records::Heap),
            4 => (KeyKind::Tree, Records::Heap),
            5 => (KeyKind::Hash, Records::HeapWithKeys),
            0 => return Err(Error::corrupt("a table", "it has no kind")),
            kind => return Err(Error::TableVersion { kind }),
        };
        let schema = Schema::restore(reader)?;
        let needs_keys_in_heap = kind == KeyKind::Hash && schema.is_key_variable();
        if schema.is_variable() && records == Records::Index
            || needs_keys_in_heap && records != Records::HeapWithKeys
        {
            return Err(Error::corrupt(
                "a table",
                "its records or keys have any length, and it has no heap for them",
            ));
        }
        if kind == KeyKind::Hash
            && records == Records::Heap
            && schema.most_key_size() > MOST_KEY_IN_HASH_BYTES
        {
            return Err(Error::corrupt("a table", "its keys are too long to be in its index"));
        }
        let mut index = None;
        let mut successor = None;
        match reader.u8()? {
            OF_TABLE => {}
            OF_INDEX if kind == KeyKind::Tree => index = Some(IndexOf::restore(reader)?),
            OF_INDEX => return Err(Error::corrupt("an index", "its keys are hashed")),
            OF_SUCCESSOR => successor = Some(SuccessorOf::restore(reader)?),
            _ => return Err(Error::corrupt("a table", "it is neither a table nor an index")),
        }
        Ok(Self { id, kind, records, seed, schema, index, successor })
    }

    /// Refuses records that are too long for a table of its kind.
    pub(crate) fn expect_fit(&self) -> Result<()> {
        let most = match self.kind {
            KeyKind::Hash => hash::MOST_RECORD_BYTES,
            KeyKind::Tree => tree::MOST_RECORD_BYTES,
        };
        let Shape { key_size, payload_size, .. } = self.shape();
        let size = key_size + payload_size;
        if size <= most {
            Ok(())
        } else {
            Err(Error::SchemaTooLong {
                table: self.schema.name().into(),
                most_bytes: most,
                size_bytes: size,
            })
        }
    }

    pub(crate) fn order(&self) -> KeyOrder {
        match self.kind {
            KeyKind::Hash => KeyOrder::packed(&self.schema),
            KeyKind::Tree => KeyOrder::new(&self.schema),
        }
    }
}

impl Location {
    /// Returns the first pages of all extents.
    pub(crate) fn all_extents(&self) -> impl Iterator<Item = PageNumber> {
        self.extents.iter().chain(&self.heap).copied()
    }

    /// Frees all pages, without a look at their content; no thread may be at work in the table.
    pub(crate) fn free(self, pager: &Pager) {
        for extents in [self.extents, self.heap] {
            free_all(pager, &Space::restore(extents), pager.epoch());
        }
    }
}

/// Frees all pages of a space.
pub(crate) fn free_all(pager: &Pager, space: &Space, epoch: Epoch) {
    pager.free_all(space, epoch);
    pager.give_extents(space.clear());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::types::Type;

    #[test]
    fn a_definition_of_each_kind_comes_back() {
        let schema = Schema::build("t").key("id", Type::U64).column("n", Type::U8);
        let schema = schema.finish().unwrap();
        let new = Definition::new(TableId(7), KeyKind::Hash, 3, schema, Storage::Memory);
        for kind in 1..=5 {
            let mut writer = Writer::default();
            new.store(&mut writer);
            // The byte after the number of the table.
            writer.0[4] = kind;
            let mut reader = Reader::new(&writer.0, "a definition");
            let found = Definition::restore(&mut reader).unwrap();
            assert_eq!((found.id, found.seed), (TableId(7), 3));
            let mut again = Writer::default();
            found.store(&mut again);
            assert_eq!(again.0, writer.0);
            assert_eq!(found.size_bytes(), writer.0.len());
        }
        for kind in [0, 6] {
            let mut writer = Writer::default();
            new.store(&mut writer);
            writer.0[4] = kind;
            let found = Definition::restore(&mut Reader::new(&writer.0, "a definition"));
            if kind == 0 {
                assert!(matches!(found, Err(Error::Corrupt { .. })));
                continue;
            }
            assert!(matches!(found, Err(Error::TableVersion { kind: of }) if of == kind));
        }
    }
}

//! What makes a table, and where it is: as the catalogue and the log have it.

use super::KeyKind;
use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::hash;
use crate::heap::Address;
use crate::index::Shape;
use crate::pager::{PageNumber, Pager, Space};
use crate::schema::Schema;
use crate::schema::key::KeyOrder;
use crate::tree;

/// What makes a table.
#[derive(Clone, Debug)]
pub struct Definition {
    pub id: u32,
    pub kind: KeyKind,
    /// Whether its records lie in a heap, and its index has their addresses.
    pub has_heap: bool,
    /// What its hash function begins with.
    pub seed: u64,
    pub schema: Schema,
}

/// Where a table is.
#[derive(Clone, Debug)]
pub struct Location {
    /// The page that its index begins at.
    pub root: PageNumber,
    /// The first page of each of the extents of its index.
    pub extents: Vec<PageNumber>,
    /// And of its heap.
    pub heap: Vec<PageNumber>,
}

/// The longest payload that lies in the index, beside its key. A page of hashed keys is changed by keys
/// that come in no order, so the more records it has the better; and a scan of a tree finds the
/// records of a leaf beside each other.
const MOST_IN_HASH_BYTES: usize = 128;
const MOST_IN_TREE_BYTES: usize = 1024;

impl Definition {
    /// Of a new table.
    pub fn new(id: u32, kind: KeyKind, seed: u64, schema: Schema) -> Self {
        let most = match kind {
            KeyKind::Hash => MOST_IN_HASH_BYTES,
            KeyKind::Tree => MOST_IN_TREE_BYTES,
        };
        let has_heap = schema.is_variable() || schema.payload_size() > most;
        Self { id, kind, has_heap, seed, schema }
    }

    /// What the index has.
    pub(super) fn shape(&self) -> Shape {
        let payload_size = match self.has_heap {
            true => Address::BYTES,
            false => self.schema.payload_size(),
        };
        Shape { key_size: self.schema.key_size(), payload_size }
    }

    pub fn store(&self, writer: &mut Writer) {
        let kind = match (self.kind, self.has_heap) {
            (KeyKind::Hash, false) => 1,
            (KeyKind::Tree, false) => 2,
            (KeyKind::Hash, true) => 3,
            (KeyKind::Tree, true) => 4,
        };
        writer.u32(self.id).u8(kind).u64(self.seed);
        self.schema.store(writer);
    }

    pub fn restore(reader: &mut Reader<'_>) -> Result<Self> {
        let (id, kind, seed) = (reader.u32()?, reader.u8()?, reader.u64()?);
        let (kind, has_heap) = match kind {
            1 => (KeyKind::Hash, false),
            2 => (KeyKind::Tree, false),
            3 => (KeyKind::Hash, true),
            4 => (KeyKind::Tree, true),
            _ => return Err(Error::corrupt("a table", format!("it has no kind of keys {kind}"))),
        };
        let schema = Schema::restore(reader)?;
        if schema.is_variable() && !has_heap {
            return Err(Error::corrupt(
                "a table",
                "its records have any length, and it has no heap",
            ));
        }
        Ok(Self { id, kind, has_heap, seed, schema })
    }

    /// Refuses records that are too long for a table of its kind.
    pub(super) fn expect_fit(&self) -> Result<()> {
        let most = match self.kind {
            KeyKind::Hash => hash::MOST_RECORD_BYTES,
            KeyKind::Tree => tree::MOST_RECORD_BYTES,
        };
        let Shape { key_size, payload_size } = self.shape();
        let size = key_size + payload_size;
        match size <= most {
            true => Ok(()),
            false => Err(self.schema.mismatch(format!(
                "its records of {size} bytes are too long; a table of this kind has at most {most}"
            ))),
        }
    }

    pub(super) fn order(&self) -> KeyOrder {
        match self.kind {
            KeyKind::Hash => KeyOrder::packed(&self.schema),
            KeyKind::Tree => KeyOrder::new(&self.schema),
        }
    }
}

impl Location {
    /// The first pages of all extents.
    pub fn all_extents(&self) -> impl Iterator<Item = PageNumber> {
        self.extents.iter().chain(&self.heap).copied()
    }

    /// Gives all pages back, without looking at what is in them; nobody may be at work in the table.
    pub fn free(self, pager: &Pager) {
        for extents in [self.extents, self.heap] {
            free_all(pager, &Space::restore(extents), pager.epoch());
        }
    }
}

/// Gives all pages of a space back.
pub(super) fn free_all(pager: &Pager, space: &Space, epoch: u64) {
    pager.free_all(space, epoch);
    pager.give_extents(space.clear());
}

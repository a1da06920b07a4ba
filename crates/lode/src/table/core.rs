//! What a table is: its schema, its index, its pages.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::KeyKind;
use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::hash::{self, Hash};
use crate::index::{Index, Journal, Put, Shape};
use crate::pager::{Moment, PageNumber, Pager, Space};
use crate::schema::Schema;
use crate::schema::key::KeyOrder;
use crate::tree::{self, Tree};
use crate::wal::Kind;

/// The index, of either kind.
pub(super) enum Kinds {
    Hash(Box<Hash>),
    Tree(Tree),
}

/// What makes a table.
#[derive(Clone, Debug)]
pub struct Definition {
    pub id: u32,
    pub kind: KeyKind,
    /// What its hash function begins with.
    pub seed: u64,
    pub schema: Schema,
}

/// Where a table is.
#[derive(Clone, Debug)]
pub struct Location {
    /// The page that its index begins at.
    pub root: PageNumber,
    /// The first page of each of its extents.
    pub extents: Vec<PageNumber>,
}

impl Definition {
    pub fn store(&self, writer: &mut Writer) {
        let kind = match self.kind {
            KeyKind::Hash => 1,
            KeyKind::Tree => 2,
        };
        writer.u32(self.id).u8(kind).u64(self.seed);
        self.schema.store(writer);
    }

    pub fn restore(reader: &mut Reader<'_>) -> Result<Self> {
        let (id, kind, seed) = (reader.u32()?, reader.u8()?, reader.u64()?);
        let kind = match kind {
            1 => KeyKind::Hash,
            2 => KeyKind::Tree,
            _ => return Err(Error::corrupt("a table", format!("it has no kind of keys {kind}"))),
        };
        let schema = Schema::restore(reader)?;
        Ok(Self { id, kind, seed, schema })
    }

    /// Refuses records that are too long for a table of its kind.
    fn expect_fit(&self) -> Result<()> {
        let most = match self.kind {
            KeyKind::Hash => hash::MOST_RECORD_BYTES,
            KeyKind::Tree => tree::MOST_RECORD_BYTES,
        };
        let size = self.schema.record_size();
        match size <= most && !self.schema.is_variable() {
            true => Ok(()),
            false => Err(self.schema.mismatch(format!(
                "its records of {size} bytes are too long; a table of this kind has at most {most}"
            ))),
        }
    }

    fn order(&self) -> KeyOrder {
        match self.kind {
            KeyKind::Hash => KeyOrder::packed(&self.schema),
            KeyKind::Tree => KeyOrder::new(&self.schema),
        }
    }
}

impl Location {
    /// Gives all pages back, without looking at what is in them; nobody may be at work in the table.
    pub fn free(self, pager: &Pager) {
        let space = Space::restore(self.extents);
        pager.free_all(&space, pager.epoch());
        pager.give_extents(space.clear());
    }
}

/// Whether a table can be used.
const THERE: u8 = 0;
const DROPPED: u8 = 1;
const CLOSED: u8 = 2;

/// What all handles of a table share.
pub struct Core {
    definition: Definition,
    pub(super) order: KeyOrder,
    pub(super) index: Kinds,
    pub(super) space: Space,
    state: AtomicU8,
    /// The epoch in which it was dropped.
    dropped_in: AtomicU64,
}

/// Bytes of a key that need no allocation.
const SHORT_KEY: usize = 40;

impl Core {
    pub(crate) fn create(pager: &Pager, definition: Definition) -> Result<Self> {
        definition.expect_fit()?;
        let (space, shape) = (Space::default(), Shape::of(&definition.schema));
        let index = match definition.kind {
            KeyKind::Hash => Hash::create(pager, &space, shape, definition.seed)
                .map(|hash| Kinds::Hash(Box::new(hash))),
            KeyKind::Tree => Tree::create(pager, &space, shape).map(Kinds::Tree),
        };
        match index {
            Ok(index) => Ok(Self::new(definition, index, space)),
            Err(error) => {
                pager.free_all(&space, pager.epoch());
                pager.give_extents(space.clear());
                Err(error)
            }
        }
    }

    /// One that is there.
    pub(crate) fn open(pager: &Pager, definition: Definition, location: Location) -> Result<Self> {
        definition.expect_fit()?;
        let (space, shape) = (Space::restore(location.extents), Shape::of(&definition.schema));
        let index = match definition.kind {
            KeyKind::Hash => {
                Kinds::Hash(Box::new(Hash::open(pager, location.root, shape, definition.seed)?))
            }
            KeyKind::Tree => Kinds::Tree(Tree::open(location.root, shape)),
        };
        Ok(Self::new(definition, index, space))
    }

    fn new(definition: Definition, index: Kinds, space: Space) -> Self {
        let order = definition.order();
        let (state, dropped_in) = (AtomicU8::new(THERE), AtomicU64::new(0));
        Self { definition, order, index, space, state, dropped_in }
    }

    pub(crate) fn id(&self) -> u32 {
        self.definition.id
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.definition.schema
    }

    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    pub(crate) fn location(&self) -> Location {
        let root = match &self.index {
            Kinds::Hash(hash) => hash.root(),
            Kinds::Tree(tree) => tree.root(),
        };
        Location { root, extents: self.space.extents() }
    }

    /// Whether it can be used no more, for [`is_there`](Self::is_there) to say why.
    #[inline(always)]
    pub(crate) fn is_gone(&self) -> bool {
        self.state.load(Ordering::Acquire) != THERE
    }

    /// Fails if the table was dropped, or the database closed.
    #[inline(always)]
    pub(crate) fn is_there(&self) -> Result<()> {
        if self.is_gone() { self.say_why() } else { Ok(()) }
    }

    #[cold]
    fn say_why(&self) -> Result<()> {
        match self.state.load(Ordering::Acquire) {
            CLOSED => Err(Error::Closed),
            _ => Err(Error::NoTable { table: self.schema().name().into() }),
        }
    }

    /// Fails if the table was not there any more at a moment, or the database was closed.
    pub(crate) fn was_there(&self, moment: Moment) -> Result<()> {
        match self.state.load(Ordering::Acquire) {
            THERE => Ok(()),
            DROPPED if !moment.sees(self.dropped_in.load(Ordering::Relaxed)) => Ok(()),
            _ => self.say_why(),
        }
    }

    /// The database is closed.
    pub(crate) fn close(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    /// Calls `work` with a packed key as the table's index has it: in the order of keys.
    #[inline(always)]
    pub(crate) fn in_order<T>(&self, packed: &[u8], work: impl FnOnce(&[u8]) -> T) -> T {
        if self.order.is_packed() {
            return work(packed);
        }
        let size = self.order.size();
        if size <= SHORT_KEY {
            let mut short = [0; SHORT_KEY];
            self.order.encode(packed, &mut short[..size]);
            return work(&short[..size]);
        }
        let mut long = vec![0; size];
        self.order.encode(packed, &mut long);
        work(&long)
    }

    #[inline(always)]
    pub(super) fn expect_key(&self, key: &[u8]) -> Result<()> {
        self.schema().expect_size("key", key.len(), self.schema().key_size())
    }

    /// Key and payload of a packed record.
    pub(crate) fn split<'r>(&self, record: &'r [u8]) -> Result<(&'r [u8], &'r [u8])> {
        self.schema().expect_record(record)?;
        Ok(record.split_at(self.schema().key_size()))
    }

    /// Where a column is in the payload, for bytes that fit it.
    pub(crate) fn payload_place(&self, column: usize, bytes: &[u8]) -> Result<usize> {
        let found = self.schema().columns().get(column);
        let found = found.ok_or_else(|| self.schema().mismatch(format!("no column {column}")))?;
        if column < self.schema().key_columns() {
            let name = &found.name;
            return Err(self.schema().mismatch(format!("column {name} is of the key; it stays")));
        }
        if found.nullable {
            let name = &found.name;
            return Err(self.schema().mismatch(format!(
                "column {name} can be null; change it with its null bit by `change`"
            )));
        }
        self.schema().expect_size("column", bytes.len(), found.range().len())?;
        Ok(found.offset - self.schema().key_size())
    }

    fn read(&self, pager: &Pager, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        match &self.index {
            Kinds::Hash(hash) => hash.get(pager, key, payload),
            Kinds::Tree(tree) => tree.get(pager, key, payload),
        }
    }

    /// The payload under a key in order, for somebody who is alone.
    pub(crate) fn payload_of(&self, pager: &Pager, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut payload = vec![0; self.schema().payload_size()];
        Ok(self.read(pager, key, &mut payload)?.then_some(payload))
    }

    pub(super) fn put(
        &self,
        journal: &Journal<'_>,
        record: (&[u8], &[u8]),
        put: Put,
    ) -> Result<bool> {
        match &self.index {
            Kinds::Hash(hash) => hash.put(journal, &self.space, record, put),
            Kinds::Tree(tree) => tree.put(journal, &self.space, record, put),
        }
    }

    pub(super) fn patch(
        &self,
        journal: &Journal<'_>,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<bool> {
        match &self.index {
            Kinds::Hash(hash) => hash.write(journal, &self.space, key, at, bytes),
            Kinds::Tree(tree) => tree.write(journal, &self.space, key, at, bytes),
        }
    }

    pub(super) fn change(
        &self,
        journal: &Journal<'_>,
        key: &[u8],
        payload: &mut Vec<u8>,
        change: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        match &self.index {
            Kinds::Hash(hash) => hash.update(journal, &self.space, key, payload, change),
            Kinds::Tree(tree) => tree.update(journal, &self.space, key, payload, change),
        }
    }

    pub(super) fn remove(&self, journal: &Journal<'_>, key: &[u8]) -> Result<bool> {
        match &self.index {
            Kinds::Hash(hash) => hash.delete(journal, &self.space, key),
            Kinds::Tree(tree) => tree.delete(journal, &self.space, key),
        }
    }

    /// Makes a record under a key in order what it shall be, telling nobody.
    pub(crate) fn set(&self, pager: &Pager, key: &[u8], payload: Option<&[u8]>) -> Result<bool> {
        let journal = Journal::new(pager, None, self.id());
        match payload {
            Some(payload) => self.put(&journal, (key, payload), Put::UPSERT),
            None => self.remove(&journal, key),
        }
    }

    /// Does again what an outcome in the log says.
    pub(crate) fn apply(&self, pager: &Pager, kind: Kind, body: &[u8]) -> Result<()> {
        let mut reader = Reader::new(body, "an outcome in the log");
        let (key_size, payload_size) = (self.schema().key_size(), self.schema().payload_size());
        match kind {
            Kind::Put => {
                let (key, payload) = (reader.bytes(key_size)?, reader.bytes(payload_size)?);
                self.set(pager, key, Some(payload))?;
            }
            Kind::Delete => {
                self.set(pager, reader.bytes(key_size)?, None)?;
            }
            Kind::Patch => {
                let (at, key) = (reader.u32()? as usize, reader.bytes(key_size)?);
                let bytes = reader.rest();
                if at + bytes.len() > payload_size {
                    return Err(Error::corrupt("an outcome in the log", "it is beyond its record"));
                }
                self.patch(&Journal::new(pager, None, self.id()), key, at, bytes)?;
                return Ok(());
            }
            Kind::Commit | Kind::Create | Kind::Drop => {
                return Err(Error::corrupt("the log", "an outcome is not of a record"));
            }
        }
        match reader.is_empty() {
            true => Ok(()),
            false => Err(Error::corrupt("an outcome in the log", "it is longer than its record")),
        }
    }

    /// Gives all pages back; nobody may be at work in the table.
    pub(crate) fn drop_pages(&self, pager: &Pager) {
        let epoch = pager.epoch();
        self.dropped_in.store(epoch, Ordering::Relaxed);
        self.state.store(DROPPED, Ordering::Release);
        pager.free_all(&self.space, epoch);
        pager.give_extents(self.space.clear());
    }

    pub(crate) fn get_at(
        &self,
        pager: &Pager,
        moment: Moment,
        key: &[u8],
        payload: &mut [u8],
    ) -> Result<bool> {
        match &self.index {
            Kinds::Hash(hash) => hash.get_at(pager, moment, key, payload),
            Kinds::Tree(tree) => tree.get_at(pager, moment, key, payload),
        }
    }

    pub(crate) fn check_at(&self, pager: &Pager, moment: Moment) -> Result<(), String> {
        match &self.index {
            Kinds::Hash(hash) => hash.check(pager, moment),
            Kinds::Tree(tree) => tree.check(pager, moment),
        }
    }
}

//! Tables: typed records under their keys.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::db::Inner;
use crate::error::{Error, Result};
use crate::hash::{self, Hash};
use crate::index::{Put, Shape};
use crate::pager::{Moment, Pager, Space};
use crate::schema::key::KeyOrder;
use crate::schema::{Row, Schema};
use crate::tree::{self, Direction, Range, Span, Tree};

/// How a table finds its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// By a hash of the key: the fastest for single records, in no order.
    Hash,
    /// In the order of keys: ranges can be scanned.
    Tree,
}

enum Index {
    Hash(Box<Hash>),
    Tree(Tree),
}

/// What all handles of a table share.
pub struct Core {
    id: u32,
    schema: Schema,
    order: KeyOrder,
    index: Index,
    space: Space,
    dropped: AtomicBool,
}

/// Bytes of a key that need no allocation.
const SHORT_KEY: usize = 40;

impl Core {
    pub(crate) fn create(
        pager: &Pager,
        id: u32,
        schema: &Schema,
        kind: KeyKind,
        seed: u64,
    ) -> Result<Self> {
        let (space, shape) = (Space::default(), Shape::of(schema));
        let most = match kind {
            KeyKind::Hash => hash::MOST_RECORD_BYTES,
            KeyKind::Tree => tree::MOST_RECORD_BYTES,
        };
        if schema.record_size() > most {
            let size = schema.record_size();
            return Err(schema.mismatch(format!(
                "its records of {size} bytes are too long; a table of this kind has at most {most}"
            )));
        }
        let index = match kind {
            KeyKind::Hash => Index::Hash(Box::new(Hash::create(pager, &space, shape, seed)?)),
            KeyKind::Tree => Index::Tree(Tree::create(pager, &space, shape)?),
        };
        let order = match kind {
            KeyKind::Hash => KeyOrder::packed(schema),
            KeyKind::Tree => KeyOrder::new(schema),
        };
        let dropped = AtomicBool::new(false);
        Ok(Self { id, schema: schema.clone(), order, index, space, dropped })
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Fails if the table was dropped.
    pub(crate) fn is_there(&self) -> Result<()> {
        match self.dropped.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::NoTable { table: self.schema.name().into() }),
        }
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
    fn expect_key(&self, key: &[u8]) -> Result<()> {
        self.schema.expect_size("key", key.len(), self.schema.key_size())
    }

    /// Key and payload of a packed record.
    pub(crate) fn split<'r>(&self, record: &'r [u8]) -> Result<(&'r [u8], &'r [u8])> {
        self.schema.expect_size("record", record.len(), self.schema.record_size())?;
        Ok(record.split_at(self.schema.key_size()))
    }

    /// Where a column is in the payload, for bytes that fit it.
    pub(crate) fn payload_place(&self, column: usize, bytes: &[u8]) -> Result<usize> {
        let found = self.schema.columns().get(column);
        let found = found.ok_or_else(|| self.schema.mismatch(format!("no column {column}")))?;
        if column < self.schema.key_columns() {
            let name = &found.name;
            return Err(self.schema.mismatch(format!("column {name} is of the key; it stays")));
        }
        if found.nullable {
            let name = &found.name;
            return Err(self.schema.mismatch(format!(
                "column {name} can be null; change it with its null bit by `change`"
            )));
        }
        self.schema.expect_size("column", bytes.len(), found.range().len())?;
        Ok(found.offset - self.schema.key_size())
    }

    fn read(&self, pager: &Pager, key: &[u8], payload: &mut [u8]) -> bool {
        match &self.index {
            Index::Hash(hash) => hash.get(pager, key, payload),
            Index::Tree(tree) => tree.get(pager, key, payload),
        }
    }

    /// The payload under a key in order, for somebody who is alone.
    pub(crate) fn payload_of(&self, pager: &Pager, key: &[u8]) -> Option<Vec<u8>> {
        let mut payload = vec![0; self.schema.payload_size()];
        self.read(pager, key, &mut payload).then_some(payload)
    }

    fn put(&self, pager: &Pager, record: (&[u8], &[u8]), put: Put) -> Result<bool> {
        match &self.index {
            Index::Hash(hash) => hash.put(pager, &self.space, record, put),
            Index::Tree(tree) => tree.put(pager, &self.space, record, put),
        }
    }

    fn remove(&self, pager: &Pager, key: &[u8]) -> Result<bool> {
        match &self.index {
            Index::Hash(hash) => hash.delete(pager, &self.space, key),
            Index::Tree(tree) => tree.delete(pager, &self.space, key),
        }
    }

    /// Makes a record under a key in order what it shall be.
    pub(crate) fn set(&self, pager: &Pager, key: &[u8], payload: Option<&[u8]>) -> Result<bool> {
        match payload {
            Some(payload) => self.put(pager, (key, payload), Put::UPSERT),
            None => self.remove(pager, key),
        }
    }

    /// Gives all pages back; nobody may be at work in the table.
    pub(crate) fn drop_pages(&self, pager: &Pager) {
        self.dropped.store(true, Ordering::Release);
        let moment = pager.moment();
        let mut pages = Vec::new();
        match &self.index {
            Index::Hash(hash) => hash.pages(pager, moment, &mut |page| pages.push(page)),
            Index::Tree(tree) => tree.pages(pager, moment, &mut |page| pages.push(page)),
        }
        pager.release(moment);
        for page in pages {
            let (seen, _) = pager.look(page);
            let latched = pager.latch(seen).expect("nobody else is at work in the table");
            latched.free(&self.space, pager.epoch());
        }
        pager.give_extents(&self.space);
    }
}

/// A table. Handles are cheap to clone, and may be used by any number of threads.
///
/// Records and keys are *packed* as [`Schema`] says. Every operation happens as a whole or not at
/// all, and is seen by all that begin after it has ended.
#[derive(Clone)]
pub struct Table {
    db: Arc<Inner>,
    core: Arc<Core>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.core.schema.name()).finish_non_exhaustive()
    }
}

impl Table {
    pub(crate) fn new(db: Arc<Inner>, core: Arc<Core>) -> Self {
        Self { db, core }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn database(&self) -> &Arc<Inner> {
        &self.db
    }

    /// What its records look like.
    pub fn schema(&self) -> &Schema {
        &self.core.schema
    }

    /// How it finds them.
    pub fn key_kind(&self) -> KeyKind {
        match self.core.index {
            Index::Hash(_) => KeyKind::Hash,
            Index::Tree(_) => KeyKind::Tree,
        }
    }

    /// Does something that changes the table, together with others.
    #[inline]
    fn write<T>(&self, work: impl FnOnce(&Pager) -> Result<T>) -> Result<T> {
        let _inside = self.db.gate().enter();
        self.core.is_there()?;
        work(self.db.pager())
    }

    /// Copies the columns after the key into the caller's buffer; false if there is no such record.
    ///
    /// # Errors
    /// `Schema` when key or buffer do not have the bytes that they should.
    #[inline]
    pub fn get(&self, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        let schema = &self.core.schema;
        schema.expect_size("payload", payload.len(), schema.payload_size())?;
        self.core.expect_key(key)?;
        let pager = self.db.pager();
        match &self.core.index {
            Index::Hash(hash) => self.read(|| hash.get(pager, key, payload)),
            Index::Tree(tree) => {
                self.core.in_order(key, |key| self.read(|| tree.get(pager, key, payload)))
            }
        }
    }

    /// Looks something up while no commit is under way.
    #[inline(always)]
    fn read(&self, mut look: impl FnMut() -> bool) -> Result<bool> {
        let dropped = || self.core.dropped.load(Ordering::Acquire);
        match self.db.gate().read(|| (look(), dropped())) {
            (found, false) => Ok(found),
            (_, true) => self.core.is_there().map(|()| false),
        }
    }

    /// The columns after the key; `None` if there is no such record.
    pub fn payload(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut payload = vec![0; self.core.schema.payload_size()];
        Ok(self.get(key, &mut payload)?.then_some(payload))
    }

    /// Calls `look` with the record if there is one; it sees a copy that does not change.
    pub fn with<T>(&self, key: &[u8], look: impl FnOnce(Row<'_>) -> T) -> Result<Option<T>> {
        let mut record = vec![0; self.core.schema.record_size()];
        let (front, payload) = record.split_at_mut(self.core.schema.key_size());
        if !self.get(key, payload)? {
            return Ok(None);
        }
        front.copy_from_slice(key);
        Ok(Some(look(self.core.schema.row(&record)?)))
    }

    /// Looks several keys up, packed one after another, and calls `found` with the place of each and
    /// its payload, if there is one. In a table of hashed keys their cache misses overlap. Each
    /// lookup is by itself: commits may happen between them.
    pub fn get_many(&self, keys: &[u8], found: &mut dyn FnMut(usize, Option<&[u8]>)) -> Result<()> {
        let schema = &self.core.schema;
        let size = schema.key_size();
        if !keys.len().is_multiple_of(size) {
            return Err(schema.mismatch(format!("packed keys have {size} bytes each")));
        }
        let mut payload = vec![0; schema.payload_size()];
        let Index::Hash(hash) = &self.core.index else {
            for (at, key) in keys.chunks_exact(size).enumerate() {
                let there = self.get(key, &mut payload)?;
                found(at, there.then_some(&payload));
            }
            return Ok(());
        };
        for (group, keys) in keys.chunks(size * hash::AHEAD).enumerate() {
            hash.fetch(self.db.pager(), keys);
            for (at, key) in keys.chunks_exact(size).enumerate() {
                let there = self.db.gate().read(|| hash.get(self.db.pager(), key, &mut payload));
                found(group * hash::AHEAD + at, there.then_some(&payload));
            }
        }
        self.core.is_there()
    }

    /// Inserts a packed record; false if there is one with its key.
    #[inline]
    pub fn insert(&self, record: &[u8]) -> Result<bool> {
        let (key, payload) = self.core.split(record)?;
        let there = self.core.in_order(key, |key| {
            self.write(|pager| self.core.put(pager, (key, payload), Put::INSERT))
        });
        there.map(|there| !there)
    }

    /// Writes a packed record, whether there is one with its key or not; answers whether there was.
    pub fn upsert(&self, record: &[u8]) -> Result<bool> {
        let (key, payload) = self.core.split(record)?;
        self.core.in_order(key, |key| {
            self.write(|pager| self.core.put(pager, (key, payload), Put::UPSERT))
        })
    }

    /// Sets a column to the bytes that it has in a packed record; false if there is no such record.
    ///
    /// # Errors
    /// `Schema` when the column is of the key, can be null, or has another size.
    #[inline]
    pub fn update(&self, key: &[u8], column: usize, bytes: &[u8]) -> Result<bool> {
        let at = self.core.payload_place(column, bytes)?;
        self.core.expect_key(key)?;
        let space = &self.core.space;
        self.core.in_order(key, |key| {
            self.write(|pager| match &self.core.index {
                Index::Hash(hash) => hash.write(pager, space, key, at, bytes),
                Index::Tree(tree) => tree.write(pager, space, key, at, bytes),
            })
        })
    }

    /// Lets `change` look at the columns after the key and change them in place: if it answers true,
    /// they are written. Nobody changes the record between. Answers whether there is such a record.
    ///
    /// `change` may be called more than once, and must not use the database.
    pub fn change(&self, key: &[u8], change: &mut dyn FnMut(&mut [u8]) -> bool) -> Result<bool> {
        self.core.expect_key(key)?;
        let (space, mut payload) = (&self.core.space, vec![0; self.core.schema.payload_size()]);
        self.core.in_order(key, |key| {
            self.write(|pager| match &self.core.index {
                Index::Hash(hash) => hash.update(pager, space, key, &mut payload, change),
                Index::Tree(tree) => tree.update(pager, space, key, &mut payload, change),
            })
        })
    }

    /// Deletes a record; false if there is none.
    #[inline]
    pub fn delete(&self, key: &[u8]) -> Result<bool> {
        self.core.expect_key(key)?;
        self.core.in_order(key, |key| self.write(|pager| self.core.remove(pager, key)))
    }

    /// Calls `visit` with the columns asked for, packed one after another, of every record in a
    /// range of packed keys, until it answers false. The scan sees the table as it is at its start.
    ///
    /// # Errors
    /// `NoOrder` for hashed keys, whose records are read by [`Snapshot::each`](crate::Snapshot::each).
    pub fn scan(
        &self,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        crate::db::Snapshot::new(Arc::clone(&self.db)).scan(self, scan, visit)
    }
}

/// What a scan asks for.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'s> {
    /// The packed key that it begins at.
    pub lower: Bound<&'s [u8]>,
    /// The packed key that it ends at.
    pub upper: Bound<&'s [u8]>,
    /// From the highest key down.
    pub backward: bool,
    /// The columns wanted, in the order wanted.
    pub columns: &'s [usize],
    /// The most records.
    pub limit: u64,
}

impl Core {
    pub(crate) fn get_at(
        &self,
        pager: &Pager,
        moment: Moment,
        key: &[u8],
        payload: &mut [u8],
    ) -> bool {
        match &self.index {
            Index::Hash(hash) => hash.get_at(pager, moment, key, payload),
            Index::Tree(tree) => tree.get_at(pager, moment, key, payload),
        }
    }

    pub(crate) fn scan_at(
        &self,
        pager: &Pager,
        moment: Moment,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let Index::Tree(tree) = &self.index else {
            return Err(Error::NoOrder { table: self.schema.name().into() });
        };
        let range = Range { lower: self.bound(scan.lower)?, upper: self.bound(scan.upper)? };
        let (key_size, columns) = (self.schema.key_size(), self.schema.columns());
        // A column of the key cannot be turned back without what is before it; so the key comes whole.
        let needs_key = scan.columns.iter().any(|at| *at < self.schema.key_columns());
        let mut spans = Vec::new();
        if needs_key {
            spans.push(Span { from: 0, size: key_size });
        }
        // Where each column wanted lies in what is copied.
        let mut places = Vec::new();
        let mut size = if needs_key { key_size } else { 0 };
        for &column in scan.columns {
            let found = columns.get(column);
            let found = found.ok_or_else(|| self.schema.mismatch(format!("no column {column}")))?;
            let bytes = found.range();
            if column < self.schema.key_columns() {
                places.push(bytes);
                continue;
            }
            places.push(size..size + bytes.len());
            size += bytes.len();
            match spans.last_mut() {
                Some(last) if last.from + last.size == bytes.start => last.size += bytes.len(),
                _ => spans.push(Span { from: bytes.start, size: bytes.len() }),
            }
        }
        let in_order = !needs_key
            || places.iter().try_fold(0, |end, place| (place.start == end).then_some(place.end))
                == Some(size);
        let direction = if scan.backward { Direction::Backward } else { Direction::Forward };
        let (mut left, mut key, mut row) = (scan.limit, vec![0; key_size], Vec::new());
        let mut copy = vec![0; size];
        if left == 0 {
            return Ok(());
        }
        tree.scan(pager, moment, (&range, direction), &spans, &mut |bytes| {
            left -= 1;
            let more = if needs_key {
                self.order.decode(&bytes[..key_size], &mut key);
                copy.copy_from_slice(bytes);
                copy[..key_size].copy_from_slice(&key);
                if in_order {
                    visit(&copy)?
                } else {
                    row.clear();
                    places.iter().for_each(|place| row.extend_from_slice(&copy[place.clone()]));
                    visit(&row)?
                }
            } else {
                visit(bytes)?
            };
            Ok(more && left > 0)
        })
    }

    fn bound(&self, bound: Bound<&[u8]>) -> Result<Bound<Vec<u8>>> {
        let ordered = |key: &[u8]| {
            self.schema.expect_size("key", key.len(), self.schema.key_size())?;
            Ok::<_, Error>(self.in_order(key, <[u8]>::to_vec))
        };
        Ok(match bound {
            Bound::Included(key) => Bound::Included(ordered(key)?),
            Bound::Excluded(key) => Bound::Excluded(ordered(key)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    }

    /// Calls `visit` with every packed record at a moment, until it answers false.
    pub(crate) fn each_at(
        &self,
        pager: &Pager,
        moment: Moment,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let key_size = self.schema.key_size();
        let mut record = vec![0; self.schema.record_size()];
        match &self.index {
            Index::Hash(hash) => hash.scan(pager, moment, &mut |key, payload| {
                self.order.decode(key, &mut record[..key_size]);
                record[key_size..].copy_from_slice(payload);
                visit(&record)
            }),
            Index::Tree(tree) => {
                let all = Range { lower: Bound::Unbounded, upper: Bound::Unbounded };
                let spans = [Span { from: 0, size: record.len() }];
                tree.scan(pager, moment, (&all, Direction::Forward), &spans, &mut |bytes| {
                    record.copy_from_slice(bytes);
                    self.order.decode(&bytes[..key_size], &mut record[..key_size]);
                    visit(&record)
                })
            }
        }
    }

    pub(crate) fn check_at(&self, pager: &Pager, moment: Moment) -> Result<(), String> {
        match &self.index {
            Index::Hash(hash) => hash.check(pager, moment),
            Index::Tree(tree) => tree.check(pager, moment),
        }
    }
}

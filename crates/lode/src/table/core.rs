//! The core of a table: its schema, its index, its heap if it has one, its pages.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::definition::{Definition, Location, free_all};
use super::kinds::Kinds;
use super::secondary::Secondaries;
use super::sweep::Sweep;
use super::watch::Watch;
use crate::error::{Error, PackedPart, Result, none_if_too_long};
use crate::heap::{Buffer, Heap, Outcome};
use crate::index::{Delete, Index, Patch, Upsert, Write, WriteContext};
use crate::io::Home;
use crate::pager::{Epoch, PageNumber, Pager, ReadEpoch, Space};
use crate::schema::key::KeyOrder;
use crate::schema::{Column, ColumnId, Schema};
use crate::tree::Tree;
use crate::wal::{Log, LogRecord, TableId};

/// The state of a table that can be used. Those below [`DROPPED`] are sums of the two that follow.
const THERE: u8 = 0;
/// Added for a table that has secondary indexes, is watched, or whose changes are kept.
const INDEXED: u8 = 1;
/// Added for a table whose records expire.
const EXPIRES: u8 = 2;
const DROPPED: u8 = 4;
const CLOSED: u8 = 5;

/// The state that all handles of a table share.
pub(crate) struct TableCore {
    definition: Definition,
    pub(crate) order: KeyOrder,
    pub(crate) index: Kinds,
    pub(crate) space: Arc<Space>,
    pub(crate) heap: Option<Arc<Heap>>,
    state: AtomicU8,
    /// Its secondary indexes: they change while the gate is closed.
    secondaries: RwLock<Arc<Secondaries>>,
    /// The keys of records that are written while a successor is made.
    watch: Watch,
    /// The progress of removing expired records.
    pub(crate) sweep: Sweep,
    /// The turn to create an index or a successor: one is ready, or gone again, before the next
    /// one starts.
    turn_to_build: Mutex<()>,
    /// The process that may use it.
    home: Home,
    /// The epoch in which it was created, or took its place; the one before all if it existed when
    /// the database was opened.
    created_in: AtomicU64,
    /// The epoch in which it was dropped.
    dropped_in: AtomicU64,
}

/// The operation that the processor fetches memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchFor {
    Lookup,
    Insert,
}

/// Bytes of a key that need no allocation.
const SHORT_KEY: usize = 40;

impl TableCore {
    pub(crate) fn create(pager: &Pager, definition: Definition) -> Result<Self> {
        definition.expect_fit()?;
        let space = Space::default();
        let index = Kinds::create(pager, &space, &definition);
        let created_in = pager.epoch();
        match index {
            Ok(index) => {
                let heap = heap_of(&definition, Space::default());
                let table = Self::new(definition, index, Arc::new(space), heap, pager.home());
                table.note_created(created_in);
                Ok(table)
            }
            Err(error) => {
                free_all(pager, &space, created_in);
                Err(error)
            }
        }
    }

    /// Opens an existing table.
    pub(crate) fn open(pager: &Pager, definition: Definition, location: Location) -> Result<Self> {
        definition.expect_fit()?;
        let space = Arc::new(Space::restore(location.extents));
        let index = Kinds::open(pager, location.root, &definition)?;
        let heap = heap_of(&definition, Space::restore(location.heap));
        Ok(Self::new(definition, index, space, heap, pager.home()))
    }

    /// Returns the table with another definition, which suits its records as they are, while no
    /// thread is at work in it. It has these pages, and this one is [retired](Self::retire).
    pub(crate) fn redefine(&self, pager: &Pager, definition: Definition) -> Self {
        debug_assert_eq!(definition.id, self.id(), "it is one table");
        debug_assert!(
            definition.schema.suits_records_of(self.schema()),
            "records stay as they are"
        );
        let (index, space) = (self.index.clone(), Arc::clone(&self.space));
        let table = Self::new(definition, index, space, self.heap.clone(), pager.home());
        let epoch = pager.epoch();
        table.note_created(epoch);
        self.retire(epoch);
        table
    }

    fn new(
        definition: Definition,
        index: Kinds,
        space: Arc<Space>,
        heap: Option<Arc<Heap>>,
        home: Home,
    ) -> Self {
        let order = definition.order();
        let expires = definition.schema.expires().is_some() && definition.index.is_none();
        let state = AtomicU8::new(if expires { EXPIRES } else { THERE });
        let dropped_in = AtomicU64::new(0);
        debug_assert!(
            definition.index.is_none() || definition.schema.expires().is_none(),
            "an entry lives as long as its record"
        );
        let created_in = AtomicU64::new(0);
        Epoch::default().store(&created_in, Ordering::Relaxed);
        let secondaries = RwLock::default();
        Self {
            definition,
            order,
            index,
            space,
            heap,
            state,
            secondaries,
            watch: Watch::default(),
            sweep: Sweep::default(),
            turn_to_build: Mutex::default(),
            home,
            created_in,
            dropped_in,
        }
    }

    /// Notes that moments before an epoch do not see the table.
    pub(crate) fn note_created(&self, epoch: Epoch) {
        epoch.store(&self.created_in, Ordering::Relaxed);
    }

    pub(crate) fn id(&self) -> TableId {
        self.definition.id
    }

    /// Returns true if both are one table, under one schema.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.definition.schema
    }

    /// Returns the name of the table; of an index, that of the table that it belongs to.
    pub(crate) fn table_name(&self) -> &str {
        let name = self.schema().name();
        let of_index = self.definition.index.as_ref();
        let of_table = of_index.and_then(|index| name.strip_suffix(&index.name)?.strip_suffix('.'));
        of_table.unwrap_or(name)
    }

    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    pub(crate) fn location(&self) -> Location {
        let heap = self.heap.as_ref().map_or_else(Vec::new, |heap| heap.space().extents());
        Location { root: self.index.root(), extents: self.space.extents(), heap }
    }

    /// Returns true if the table cannot be used; [`ensure_open`](Self::ensure_open) says why.
    #[inline(always)]
    pub(crate) fn is_gone(&self) -> bool {
        self.state.load(Ordering::Acquire) >= DROPPED || !self.home.is_here()
    }

    /// Returns true if the table can be used, and all records that it has are found by reads: they
    /// do not expire.
    #[inline(always)]
    pub(crate) fn shows_all(&self) -> bool {
        self.state.load(Ordering::Acquire) <= INDEXED && self.home.is_here()
    }

    /// Returns true if records of the table expire.
    #[inline(always)]
    pub(crate) fn has_expiry(&self) -> bool {
        self.schema().expires().is_some()
    }

    /// Returns true if a write of a record is no write of anything else: the table can be used, and
    /// has no secondary index; and its records do not expire.
    #[inline(always)]
    pub(crate) fn has_records_only(&self) -> bool {
        self.state.load(Ordering::Acquire) == THERE && self.home.is_here()
    }

    /// Returns true if the table can be used, and a write of a record notes more: entries of
    /// secondary indexes, the key while the table is watched, or what was before the write.
    #[inline(always)]
    pub(crate) fn is_indexed(&self) -> bool {
        self.state.load(Ordering::Acquire) & !EXPIRES == INDEXED
    }

    /// Returns the secondary indexes.
    pub(crate) fn secondaries(&self) -> Arc<Secondaries> {
        Arc::clone(&self.secondaries.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `work` with the secondary indexes. A list that replaces them waits for that.
    pub(crate) fn with_secondaries<T>(&self, work: impl FnOnce(&Secondaries) -> T) -> T {
        work(&self.secondaries.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for the turn to create a secondary index.
    pub(crate) fn turn_to_build(&self) -> MutexGuard<'_, ()> {
        self.turn_to_build.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the list of secondary indexes, while the gate is closed, or before the table is
    /// used.
    pub(crate) fn set_secondaries(&self, secondaries: Secondaries) {
        *self.secondaries.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(secondaries);
        self.note_way_of_writing();
    }

    /// Has writers note the keys of the records that they write from now on, and wait when these
    /// take more than `most_bytes`; while the gate is closed.
    pub(crate) fn begin_watch(&self, most_bytes: usize) {
        self.watch.begin(most_bytes);
        self.note_way_of_writing();
    }

    /// Ends the noting of keys, while the gate is closed.
    pub(crate) fn end_watch(&self) {
        self.watch.end();
        self.note_way_of_writing();
    }

    /// Returns the keys of records that were written, if they are noted.
    #[inline(always)]
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Notes if a write of a record is one of something else, too.
    fn note_way_of_writing(&self) {
        let is_noted = self.with_secondaries(|list| list.notes_changes);
        let is_longer = is_noted || self.has_secondaries() || self.watch.is_on();
        let changed = |state: u8| match (state < DROPPED, is_longer) {
            (true, true) => Some(state | INDEXED),
            (true, false) => Some(state & !INDEXED),
            // A table that is gone stays so.
            (false, _) => None,
        };
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
    }

    /// Returns true if the table has secondary indexes, ready or not.
    pub(crate) fn has_secondaries(&self) -> bool {
        self.with_secondaries(|list| !list.all.is_empty() || list.damaged.is_some())
    }

    /// Returns true if this is the process that opened the table.
    #[inline(always)]
    pub(crate) fn is_here(&self) -> bool {
        self.home.is_here()
    }

    /// Fails if the table was dropped, the database closed, or the process forked since.
    #[inline(always)]
    pub(crate) fn ensure_open(&self) -> Result<()> {
        if self.is_gone() { self.say_why() } else { Ok(()) }
    }

    #[cold]
    fn say_why(&self) -> Result<()> {
        match self.state.load(Ordering::Acquire) {
            _ if !self.home.is_here() => Err(Error::Forked),
            CLOSED => Err(Error::Closed),
            _ => Err(self.no_table()),
        }
    }

    fn no_table(&self) -> Error {
        Error::NoTable { table: self.table_name().into() }
    }

    /// Fails if the table did not exist at a moment, or the database was closed.
    pub(crate) fn was_there(&self, moment: ReadEpoch) -> Result<()> {
        match self.state.load(Ordering::Acquire) {
            _ if !self.home.is_here() => self.say_why(),
            ..=DROPPED if !moment.sees(Epoch::load(&self.created_in, Ordering::Relaxed)) => {
                Err(self.no_table())
            }
            ..DROPPED => Ok(()),
            DROPPED if !moment.sees(Epoch::load(&self.dropped_in, Ordering::Relaxed)) => Ok(()),
            _ => self.say_why(),
        }
    }

    /// Notes that the database is closed.
    pub(crate) fn close(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    /// Calls `work` with a packed key as the table's index has it: in the order of keys.
    #[inline(always)]
    pub(crate) fn in_order<T>(&self, packed: &[u8], work: impl FnOnce(&[u8]) -> T) -> T {
        if self.order.is_packed() {
            return work(packed);
        }
        if self.order.is_variable() {
            return self.order.with_any(packed, work);
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
    pub(crate) fn expect_key(&self, key: &[u8]) -> Result<()> {
        self.schema().expect_key(key)
    }

    /// Returns true if a record can have a packed key: not if a column of it is too long.
    #[inline(always)]
    pub(crate) fn can_have(&self, key: &[u8]) -> Result<bool> {
        none_if_too_long(self.expect_key(key).map(|()| true))
    }

    /// Refuses a buffer that does not fit the payload of every record.
    #[inline(always)]
    pub(crate) fn expect_buffer(&self, payload: &[u8]) -> Result<()> {
        if self.schema().is_variable() {
            Err(Error::VariablePayload { table: self.schema().name().into() })
        } else {
            self.schema().expect_size(
                PackedPart::Payload,
                payload.len(),
                self.schema().payload_size(),
            )
        }
    }

    /// Splits a packed record into key and payload.
    pub(crate) fn split<'r>(&self, record: &'r [u8]) -> Result<(&'r [u8], &'r [u8])> {
        self.schema().split(record)
    }

    /// Returns a column if it may be set by itself.
    #[inline]
    pub(crate) fn column_to_set(&self, column: ColumnId) -> Result<&Column> {
        let found = self.schema().expect_column(column)?;
        if column.index() < self.schema().key_columns() {
            return Err(self.schema().key_column(found));
        }
        if found.nullable {
            let table = self.schema().name().into();
            let column = found.name.clone();
            return Err(Error::NullableColumn { table, column });
        }
        Ok(found)
    }

    /// Copies the payload of a record, by its key in order; returns false if there is no record.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        pager: &Pager,
        key: &[u8],
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<bool> {
        if let Some(heap) = &self.heap {
            return heap.get(&self.index, pager, key, payload);
        }
        match payload.of_size(self.schema().payload_size()) {
            Some(payload) => self.index.get(pager, key, payload),
            None => self.schema().expect_payload(&[]).map(|()| false),
        }
    }

    /// Returns the tree, if it has the records themselves.
    pub(crate) fn tree_of_records(&self) -> Option<&Tree> {
        match (&self.index, &self.heap) {
            (Kinds::Tree(tree), None) => Some(tree),
            _ => None,
        }
    }

    /// Finds a page that a write of the record under a key in order changes, if nothing is in the
    /// way: that of the record, or its future one. A new record of a heap may go anywhere.
    pub(crate) fn page_of(&self, pager: &Pager, key: &[u8]) -> Option<PageNumber> {
        match (&self.heap, &self.index) {
            (Some(heap), index) => heap.page_of(index, pager, key),
            (None, Kinds::Hash(hash)) => hash.page_of(pager, key),
            (None, Kinds::Tree(tree)) => tree.page_of(pager, key),
        }
    }

    /// Has the processor fetch the memory for lookups or insertions of these packed keys, all at
    /// the same time, if the index knows it. There should not be more keys than are worth it.
    pub(crate) fn fetch<'k>(
        &self,
        pager: &Pager,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
        fetch_for: FetchFor,
    ) {
        let Kinds::Hash(hash) = &self.index else { return };
        let fetch = |key: &[u8]| match (hash.try_read(pager, key), fetch_for) {
            (Some(attempt), FetchFor::Lookup) => hash.fetch(&attempt),
            (Some(attempt), FetchFor::Insert) => hash.fetch_to_insert(&attempt),
            (None, _) => {}
        };
        let Some(heap) = &self.heap else { return keys.for_each(fetch) };
        keys.clone().for_each(|key| fetch(heap.index_key(key).bytes()));
        keys.for_each(|key| heap.fetch(&self.index, pager, key));
    }

    /// Returns the payload under a key in order, while the gate is closed.
    pub(crate) fn payload_of(&self, pager: &Pager, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut payload = Vec::new();
        Ok(self.read(pager, key, &mut payload)?.then_some(payload))
    }

    /// Returns the payload that the record under a key in order had at a moment.
    pub(crate) fn payload_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        self.was_there(moment)?;
        let mut payload = Vec::new();
        Ok(self.get_at(pager, moment, key, &mut payload)?.then_some(payload))
    }

    /// Returns the context for a write that is logged, if there is a log.
    #[inline(always)]
    pub(crate) fn write_context<'w>(
        &'w self,
        pager: &'w Pager,
        log: Option<&'w Log>,
    ) -> WriteContext<'w> {
        WriteContext::new(pager, &self.space, log, self.id())
    }

    /// Returns the context for a write that is not logged: it has been, or changes no record.
    pub(crate) fn unlogged<'w>(&'w self, pager: &'w Pager) -> WriteContext<'w> {
        self.write_context(pager, None)
    }

    /// Writes the record under a key in order.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        write: impl Write,
    ) -> Result<Outcome> {
        match &self.heap {
            None => {
                let answer = self.index.write(context, key, write)?;
                Ok(Outcome { answer, undo: None })
            }
            Some(heap) => heap.write(&self.index, context, key, write),
        }
    }

    /// Repeats the change of a record of the log.
    pub(crate) fn apply(&self, pager: &Pager, record: &LogRecord<'_>) -> Result<()> {
        let corrupt = |why: String| Error::corrupt("a record of the log", why);
        let split = |bytes| self.order.split(self.schema(), bytes);
        let context = self.unlogged(pager);
        match *record {
            LogRecord::Put { record, .. } => {
                let (key, payload) = record.split(split)?;
                let checked = self.schema().expect_payload(payload);
                checked.map_err(|error| corrupt(error.to_string()))?;
                self.write(&context, key, Upsert(payload)).map(drop)
            }
            LogRecord::Delete { key, .. } => {
                let (key, rest) = key.split(split)?;
                if !rest.is_empty() {
                    return Err(corrupt("it is longer than its key".into()));
                }
                self.write(&context, key, Delete).map(drop)
            }
            LogRecord::Patch { at, bytes, .. } => {
                let (at, (key, bytes)) = (at as usize, bytes.split(split)?);
                if at + bytes.len() > self.schema().payload_size() {
                    return Err(corrupt("it is beyond its record".into()));
                }
                self.write(&context, key, Patch { at, bytes }).map(drop)
            }
            LogRecord::CreateTable { .. }
            | LogRecord::DropTable { .. }
            | LogRecord::IndexReady { .. }
            | LogRecord::TakePlace { .. }
            | LogRecord::Redefine { .. }
            | LogRecord::Expired { .. }
            | LogRecord::Before { .. }
            | LogRecord::Definition { .. } => Err(corrupt("it is of no record of a table".into())),
        }
    }

    /// Notes that the table is gone for moments from an epoch on, while no thread is at work in it.
    fn retire(&self, epoch: Epoch) {
        epoch.store(&self.dropped_in, Ordering::Relaxed);
        self.state.store(DROPPED, Ordering::Release);
    }

    /// Gives all pages back; no thread may be at work in the table.
    pub(crate) fn drop_pages(&self, pager: &Pager) {
        let epoch = pager.epoch();
        self.retire(epoch);
        free_all(pager, &self.space, epoch);
        self.heap.iter().for_each(|heap| free_all(pager, heap.space(), epoch));
    }

    /// Copies the payload that a record had at a moment; returns false if there was no record.
    pub(crate) fn get_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        key: &[u8],
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<bool> {
        let Some(heap) = &self.heap else {
            return match payload.of_size(self.schema().payload_size()) {
                Some(payload) => self.index.get_at(pager, moment, key, payload),
                None => self.schema().expect_payload(&[]).map(|()| false),
            };
        };
        Ok(heap.get_at(&self.index, pager, moment, key, payload)?.is_some())
    }
}

/// Returns the heap of a table, which has these pages.
fn heap_of(definition: &Definition, space: Space) -> Option<Arc<Heap>> {
    definition.index_keys().map(|index_keys| Arc::new(Heap::new(space, index_keys)))
}

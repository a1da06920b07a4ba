//! Secondary indexes of a table: each is a tree of [entries](crate::schema::Entries), with pages of
//! its own, and belongs to the table. A write of a record writes its entries in the same commit.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Definition, SuccessorOf, TableCore};
use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::pager::{Epoch, ReadEpoch};
use crate::schema::{Entries, Entry, IndexSchema, Schema};
use crate::wal::TableId;

/// The epoch in which an index became ready, of one that is being built: no moment sees it.
const BEING_BUILT: u64 = u64::MAX - 1;
/// The epoch of an index that is not ready, and that no thread builds.
const GIVEN_UP: u64 = u64::MAX;

/// The part of the definition of an index that a table does not have.
#[derive(Clone, Debug)]
pub(crate) struct IndexOf {
    /// The table whose records it has.
    pub owner: TableId,
    /// The name of the index among those of its table.
    pub name: String,
    /// The places of the indexed columns among those of the table.
    pub columns: Vec<u32>,
    pub is_unique: bool,
    /// The epoch in which it became ready: from then on it has an entry for each record.
    ready_in: Arc<AtomicU64>,
}

impl IndexOf {
    /// Describes an index that is to be built.
    pub(crate) fn new(owner: TableId, index: &IndexSchema, entries: &Entries) -> Self {
        let columns = entries.columns().iter().map(|column| column.index() as u32).collect();
        let ready_in = Arc::new(AtomicU64::new(BEING_BUILT));
        let name = index.name().into();
        let is_unique = index.is_unique();
        Self { owner, name, columns, is_unique, ready_in }
    }

    /// Returns true if the index has an entry for each record now.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready_in.load(Ordering::Acquire) < BEING_BUILT
    }

    /// Returns true if the index is not ready, and never will be.
    pub(crate) fn is_given_up(&self) -> bool {
        self.ready_in.load(Ordering::Acquire) == GIVEN_UP
    }

    /// Notes that the index is of no use: another one may take its place, and opening drops it.
    pub(crate) fn give_up(&self) {
        self.ready_in.store(GIVEN_UP, Ordering::Release);
    }

    /// Returns true if the index had an entry for each record at a moment.
    pub(crate) fn was_ready(&self, moment: ReadEpoch) -> bool {
        self.is_ready() && moment.sees(Epoch::load(&self.ready_in, Ordering::Acquire))
    }

    /// Notes that the index has an entry for each record from an epoch on.
    pub(crate) fn make_ready(&self, epoch: Epoch) {
        epoch.store(&self.ready_in, Ordering::Release);
    }

    /// Describes the index as users do.
    pub(crate) fn described(&self, table: &Schema) -> Result<IndexSchema> {
        let column = |at: &u32| table.columns().get(*at as usize).map(|column| &column.name[..]);
        let columns = self.columns.iter().map(column).collect::<Option<Vec<_>>>();
        let columns = columns.ok_or_else(|| {
            Error::corrupt(format!("index {}", self.name), "it has columns that its table has not")
        })?;
        let index = IndexSchema::new(&self.name, columns);
        Ok(if self.is_unique { index.unique() } else { index })
    }

    pub(super) fn store(&self, writer: &mut Writer) {
        writer.u32(self.owner.0).u8(self.is_unique.into()).u8(self.is_ready().into());
        writer.counted(self.name.as_bytes()).u32(self.columns.len() as u32);
        for column in &self.columns {
            writer.u32(*column);
        }
    }

    /// Returns the bytes that [`store`](Self::store) writes.
    pub(super) fn size_bytes(&self) -> usize {
        const NUMBER: usize = size_of::<u32>();
        NUMBER + 2 + NUMBER + self.name.len() + NUMBER + self.columns.len() * NUMBER
    }

    pub(super) fn restore(reader: &mut Reader<'_>) -> Result<Self> {
        let owner = TableId::read(reader)?;
        let is_unique = reader.u8()? != 0;
        let is_ready = reader.u8()? != 0;
        let name = reader.text()?.into();
        let count = reader.u32()?;
        let columns = (0..count).map(|_| reader.u32()).collect::<Result<_>>()?;
        // One that is not ready was being built before a crash.
        let ready_in = Arc::new(AtomicU64::new(GIVEN_UP));
        if is_ready {
            Epoch::default().store(&ready_in, Ordering::Release);
        }
        Ok(Self { owner, name, columns, is_unique, ready_in })
    }
}

/// A secondary index of a table.
pub(crate) struct Secondary {
    core: Arc<TableCore>,
    entries: Entries,
}

/// The secondary indexes that a table has: another list when one is created or dropped.
#[derive(Default)]
pub(crate) struct Secondaries {
    pub all: Vec<Arc<Secondary>>,
    /// The error of an index that cannot be read. The table takes no writes until it is dropped.
    pub damaged: Option<Error>,
    /// True if writes note what was before them, for readers of changes.
    pub notes_changes: bool,
}

/// The entries of a record that a write of it removes and adds in one index.
pub(crate) struct EntryChange<'s> {
    pub secondary: &'s Secondary,
    pub old: Option<Entry>,
    pub new: Option<Entry>,
}

impl Secondary {
    /// Puts together an index and its table.
    ///
    /// # Errors
    /// `Corrupt` when the definitions do not belong together.
    pub(crate) fn new(table: &Schema, core: &Arc<TableCore>) -> Result<Self> {
        let wrong = || core.corrupt("its columns are not those of its table");
        let of = core.definition().index.as_ref().ok_or_else(wrong)?;
        let entries = Entries::new(table, &of.described(table)?).map_err(|_| wrong())?;
        if entries.schema() != core.schema() {
            return Err(wrong());
        }
        Ok(Self { core: Arc::clone(core), entries })
    }

    pub(crate) fn core(&self) -> &Arc<TableCore> {
        &self.core
    }

    pub(crate) fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Returns what the definition of the index says besides that of a table.
    pub(crate) fn of(&self) -> &IndexOf {
        self.core.definition().index.as_ref().expect("it is the definition of an index")
    }

    /// Copies the packed key of the record of a whole entry, in place of the content of `key`.
    ///
    /// # Errors
    /// `Corrupt` when no record of the table can have the key.
    pub(crate) fn key_of_record(
        &self,
        table: &Schema,
        entry: &[u8],
        key: &mut Vec<u8>,
    ) -> Result<()> {
        self.entries.key_of_record(table, entry, key);
        let expected = table.expect_key(key);
        expected.map_err(|error| self.core.corrupt(format!("an entry leads nowhere: {error}")))
    }

    /// Returns the packed key of a record in the payload of its entry in a unique index.
    ///
    /// # Errors
    /// `Corrupt` when no record of the table can have the key.
    pub(crate) fn key_in_payload<'e>(&self, table: &Schema, payload: &'e [u8]) -> Result<&'e [u8]> {
        let key = self.entries.key_in_payload(table, payload);
        let expected = table.expect_key(key);
        expected.map_err(|error| self.core.corrupt(format!("an entry leads nowhere: {error}")))?;
        Ok(key)
    }

    /// Returns the error that another record has the entry that a record should have.
    pub(crate) fn violation(&self, table: &Schema, entry: &Entry) -> Error {
        let entry = [&entry.key[..], &entry.payload].concat();
        Error::UniqueViolation {
            table: table.name().into(),
            index: self.of().name.as_str().into(),
            key: self.entries.shown(table, &entry).into(),
        }
    }
}

impl std::fmt::Debug for Secondary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secondary").field("index", &self.of().name).finish_non_exhaustive()
    }
}

impl Secondaries {
    /// Refuses a write if an index cannot be read.
    pub(crate) fn expect_whole(&self) -> Result<()> {
        self.damaged.as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Returns true if no entry of a record changes with these bytes of its payload.
    pub(crate) fn are_elsewhere(&self, table: &Schema, place: &Range<usize>) -> bool {
        self.all.iter().all(|secondary| secondary.entries.are_elsewhere(table, place))
    }

    /// Returns true if a record has equal entries with either of two payloads.
    pub(crate) fn are_equal(&self, table: &Schema, payload: &[u8], other: &[u8]) -> bool {
        self.all.iter().all(|secondary| secondary.entries.are_equal(table, payload, other))
    }

    /// Finds an index by its name.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Secondary>> {
        self.all.iter().find(|secondary| secondary.of().name == name)
    }

    /// Returns the entries that a write of a record changes, by its key as the table has it, and
    /// its payload before and after; `None` stands for no record.
    pub(crate) fn changes(
        &self,
        table: &TableCore,
        key: &[u8],
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<Vec<EntryChange<'_>>> {
        before.map_or(Ok(()), |payload| table.expect_stored(payload))?;
        let mut unpacked = Vec::new();
        let packed = table.packed_key(key, &mut unpacked)?;
        let schema = table.schema();
        let mut changes = Vec::with_capacity(self.all.len());
        for secondary in &self.all {
            let entry = |payload| secondary.entries.entry_of(schema, packed, payload);
            let old = before.map(entry);
            let new = after.map(entry);
            if old != new {
                changes.push(EntryChange { secondary, old, new });
            }
        }
        Ok(changes)
    }
}

impl Definition {
    /// Returns the number of the table that an index is of; `None` for a table.
    pub(crate) fn owner(&self) -> Option<TableId> {
        self.index.as_ref().map(|index| index.owner)
    }

    /// Returns true for an index that is not ready and never will be, and for a successor that is
    /// of no use.
    pub(crate) fn is_given_up(&self) -> bool {
        self.index.as_ref().is_some_and(IndexOf::is_given_up)
            || self.as_successor().is_some_and(SuccessorOf::is_given_up)
    }

    /// Returns the name in the catalogue: that of a table, or that of an index among those of its
    /// table.
    pub(crate) fn name(&self) -> &str {
        self.index.as_ref().map_or(self.schema.name(), |index| &index.name)
    }
}

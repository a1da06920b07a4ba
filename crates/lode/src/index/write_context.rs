//! The context of a write of one table.

use std::cell::Cell;

use super::{Change, Record, Redo};
use crate::error::{Error, Result};
use crate::pager::{Epoch, Pager, Space};
use crate::wal::{Body, Log, LogPosition, RecordKind, TableId, Together};

/// The purpose of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// One operation.
    Operation,
    /// A step of a commit, which is undone if another step fails. The commit is logged as a whole.
    Step(Keeps),
    /// The undoing of a step, which needs no room.
    Undo,
}

/// The parts that a step of a commit leaves in place, in case it is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// All pages, even those that become empty.
    Pages,
    /// All pages, and the room that deleted records have left in their leaves. So no leaf gives
    /// records to another.
    PagesAndRoom,
}

/// The context of a write: the pages of one table that it changes, and the log that it writes.
pub(crate) struct WriteContext<'w> {
    pub pager: &'w Pager,
    /// The pages of the table's index.
    pub space: &'w Space,
    log: Option<&'w Log>,
    table: TableId,
    purpose: Purpose,
    /// The end of the last log record.
    end: Cell<LogPosition>,
    /// Bytes of a log record that had no room.
    wanted_bytes: Cell<usize>,
}

impl<'w> WriteContext<'w> {
    /// Creates the context of an operation that is logged, if there is a log.
    #[inline]
    pub(crate) fn new(
        pager: &'w Pager,
        space: &'w Space,
        log: Option<&'w Log>,
        table: TableId,
    ) -> Self {
        let (end, wanted_bytes) = (Cell::default(), Cell::new(0));
        Self { pager, space, log, table, purpose: Purpose::Operation, end, wanted_bytes }
    }

    /// Makes it the context of a step of a commit.
    pub(crate) fn of_step(self, keeps: Keeps) -> Self {
        Self { purpose: Purpose::Step(keeps), ..self }
    }

    /// Makes it the context of undoing a step of a commit.
    pub(crate) fn of_undo(self) -> Self {
        Self { purpose: Purpose::Undo, ..self }
    }

    /// Returns true if it is a step of a commit, which may be undone.
    pub(crate) fn is_step(&self) -> bool {
        matches!(self.purpose, Purpose::Step(_))
    }

    /// Returns true if pages have to stay even if they become empty.
    #[inline(always)]
    pub(crate) fn keeps_pages(&self) -> bool {
        self.purpose != Purpose::Operation
    }

    /// Returns the space that pages go back to which few records are left in; `None` if they have
    /// to stay.
    pub(crate) fn joins(&self) -> Option<&'w Space> {
        (!self.keeps_pages()).then_some(self.space)
    }

    /// Returns true if deleted records must have room in their pages when they are put back.
    pub(crate) fn keeps_room(&self) -> bool {
        matches!(self.purpose, Purpose::Step(Keeps::PagesAndRoom) | Purpose::Undo)
    }

    /// Returns the end of the last log record; the default position if nothing was logged.
    pub(crate) fn end(&self) -> LogPosition {
        self.end.get()
    }

    /// Appends a record to the log. If that has no room, [`make_log_room`](Self::make_log_room)
    /// makes it.
    fn append(
        &self,
        log: &Log,
        kind: RecordKind,
        body: &(impl Body + ?Sized),
    ) -> Result<Option<Epoch>> {
        let Some((epoch, end)) = log.append(kind, body, || self.pager.epoch())? else {
            self.wanted_bytes.set(body.size_bytes());
            return Ok(None);
        };
        self.end.set(end);
        Ok(Some(epoch))
    }

    /// Makes the room that the log did not have. No latch may be held.
    #[cold]
    pub(crate) fn make_log_room(&self) -> Result<()> {
        self.log.map_or(Ok(()), |log| log.make_room(self.wanted_bytes.get()))
    }

    /// Logs that several records exist at once.
    pub(crate) fn log_put_all<'r>(
        &self,
        records: impl Iterator<Item = Record<'r>> + Clone,
    ) -> Result<Option<Epoch>> {
        let Some(log) = self.log else { return Ok(Some(self.pager.epoch())) };
        let put =
            |record: Record<'r>| Change::Put(record.payload).log_record(self.table, record.key);
        match Together::of(records.map(put)) {
            Some(together) => self.append(log, together.kind(), &together),
            None => Ok(Some(self.pager.epoch())),
        }
    }
}

impl Redo for WriteContext<'_> {
    type Error = Error;

    #[inline(always)]
    fn log(&self, key: &[u8], change: Change<'_>) -> Result<Option<Epoch>> {
        match self.log {
            None => Ok(Some(self.pager.epoch())),
            Some(log) => {
                let record = change.log_record(self.table, key);
                record.encode(|kind, parts| self.append(log, kind, parts))
            }
        }
    }
}

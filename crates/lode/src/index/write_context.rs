//! The context of a write of one table.

use std::cell::Cell;

use super::Record;
use crate::error::Result;
use crate::pager::{Epoch, Pager, Space};
use crate::wal::{Body, Keyed, Log, LogPosition, LogRecord, RecordKind, TableId, Together};

/// The purpose of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// One operation.
    Operation,
    /// A step of a commit, which is undone if another step fails. The commit is logged as a whole.
    CommitStep(Keeps),
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

    /// Creates the context of an operation that is not logged: it has been, or changes no record.
    pub(crate) fn unlogged(pager: &'w Pager, space: &'w Space, table: TableId) -> Self {
        Self::new(pager, space, None, table)
    }

    /// Creates the context of a step of a commit.
    pub(crate) fn of_commit(
        pager: &'w Pager,
        space: &'w Space,
        table: TableId,
        keeps: Keeps,
    ) -> Self {
        Self { purpose: Purpose::CommitStep(keeps), ..Self::unlogged(pager, space, table) }
    }

    /// Returns true if pages have to stay even if they become empty.
    pub(crate) fn keeps_pages(&self) -> bool {
        self.purpose != Purpose::Operation
    }

    /// Returns true if deleted records must have room in their pages when they are put back.
    pub(crate) fn keeps_room(&self) -> bool {
        self.purpose == Purpose::CommitStep(Keeps::PagesAndRoom)
    }

    /// Returns the end of the last log record; the default position if nothing was logged.
    pub(crate) fn end(&self) -> LogPosition {
        self.end.get()
    }

    /// Appends a record to the log. Returns the epoch of the operation; `None` if the log has no
    /// room, for [`make_log_room`](Self::make_log_room).
    #[inline(always)]
    fn log(&self, record: &LogRecord<'_>) -> Result<Option<Epoch>> {
        match self.log {
            None => Ok(Some(self.pager.epoch())),
            Some(log) => record.encode(|kind, parts| self.append(log, kind, parts)),
        }
    }

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

    /// Logs that a record exists.
    #[inline(always)]
    pub(crate) fn log_put(&self, Record { key, payload }: Record<'_>) -> Result<Option<Epoch>> {
        let record = Keyed::Apart { key, rest: payload };
        self.log(&LogRecord::Put { table: self.table, record })
    }

    /// Logs that several records exist at once.
    pub(crate) fn log_put_all<'r>(
        &self,
        records: impl Iterator<Item = Record<'r>> + Clone,
    ) -> Result<Option<Epoch>> {
        let Some(log) = self.log else { return Ok(Some(self.pager.epoch())) };
        let put = |Record { key, payload }: Record<'r>| {
            let record = Keyed::Apart { key, rest: payload };
            LogRecord::Put { table: self.table, record }
        };
        match Together::of(records.map(put)) {
            Some(together) => self.append(log, together.kind(), &together),
            None => Ok(Some(self.pager.epoch())),
        }
    }

    /// Logs the new bytes of a record's payload, from byte `at` on.
    #[inline(always)]
    pub(crate) fn log_patch(&self, key: &[u8], at: usize, bytes: &[u8]) -> Result<Option<Epoch>> {
        let bytes = Keyed::Apart { key, rest: bytes };
        self.log(&LogRecord::Patch { table: self.table, at: at as u32, bytes })
    }

    /// Logs that a record does not exist any more.
    #[inline(always)]
    pub(crate) fn log_delete(&self, key: &[u8]) -> Result<Option<Epoch>> {
        let key = Keyed::Apart { key, rest: &[] };
        self.log(&LogRecord::Delete { table: self.table, key })
    }
}

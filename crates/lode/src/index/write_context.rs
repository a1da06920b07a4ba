//! The context of a write of one table.

use std::cell::Cell;

use super::{Change, Record, Redo};
use crate::error::{Error, Result};
use crate::pager::{Epoch, Pager, Space};
use crate::wal::{Body, Lane, Log, LogPosition, RecordKind, TableId, Together, Touched};

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

/// The log that a thread appends to, and its lane there.
#[derive(Clone, Copy)]
struct LogOf<'w> {
    log: &'w Log,
    lane: &'w Lane,
}

/// The context of a write: the pages of one table that it changes, and the log that it writes.
pub(crate) struct WriteContext<'w> {
    pub pager: &'w Pager,
    /// The pages of the table's index.
    pub space: &'w Space,
    log: Option<LogOf<'w>>,
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
        let log = log.map(|log| LogOf { log, lane: log.own_lane() });
        let end = Cell::default();
        let wanted_bytes = Cell::new(0);
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

    /// Returns true if changes are logged.
    pub(crate) fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    /// Returns the end of the last log record; the default position if nothing was logged.
    pub(crate) fn end(&self) -> LogPosition {
        self.end.get()
    }

    /// Appends a record to the log. If that has no room, [`make_log_room`](Self::make_log_room)
    /// makes it.
    #[inline(always)]
    fn append<'p>(
        &self,
        LogOf { log, lane }: LogOf<'_>,
        kind: RecordKind,
        body: &(impl Body + ?Sized),
        touch: impl FnOnce() -> Touched<'p>,
    ) -> Result<Option<Epoch>> {
        let appended = log.append(lane, kind, body, touch, || self.pager.epoch())?;
        let Some((epoch, end)) = appended else {
            self.wanted_bytes.set(body.size_bytes());
            return Ok(None);
        };
        self.end.set(end);
        Ok(Some(epoch))
    }

    /// Makes the room that the log did not have. No latch may be held.
    #[cold]
    pub(crate) fn make_log_room(&self) -> Result<()> {
        self.log.map_or(Ok(()), |LogOf { log, lane }| log.make_room(lane, self.wanted_bytes.get()))
    }

    /// Logs that several records exist at once, in the page that `touch` returns.
    pub(crate) fn log_put_all<'r, 'p>(
        &self,
        records: impl Iterator<Item = Record<'r>> + Clone,
        touch: impl FnOnce() -> Touched<'p>,
    ) -> Result<Option<Epoch>> {
        let Some(log) = self.log else { return Ok(Some(self.pager.epoch())) };
        let put =
            |record: Record<'r>| Change::Put(record.payload).log_record(self.table, record.key);
        match Together::of(records.map(put)) {
            Some(together) => self.append(log, together.kind(), &together, touch),
            None => Ok(Some(self.pager.epoch())),
        }
    }
}

impl Redo for WriteContext<'_> {
    type Error = Error;

    #[inline(always)]
    fn log<'p>(
        &self,
        key: &[u8],
        change: Change<'_>,
        touch: impl FnOnce() -> Touched<'p>,
    ) -> Result<Option<Epoch>> {
        match self.log {
            None => Ok(Some(self.pager.epoch())),
            Some(log) => {
                let record = change.log_record(self.table, key);
                record.encode(|kind, parts| self.append(log, kind, parts, touch))
            }
        }
    }
}

//! Cursors: many records of a table, one after another, as the caller asks for them.
//!
//! A cursor owns its sources: a snapshot, and a copy of a transaction's writes. So it borrows
//! nothing, and other records can be written between two rows.

mod batch;
mod merge;
mod noted;

use std::cmp::Ordering;
use std::sync::Arc;

pub use batch::{Batches, RowBatch};
use merge::Own;
pub(super) use merge::Written;
pub(super) use noted::Within;

use super::row::Shape;
use super::transaction::Scan;
use super::{Row, Snapshot, Table};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::schema::{ColumnId, RowRef};
use crate::table::{Needs, Rows, TableCore, Walk};
use crate::tree::{Direction, Range, Wanted};

/// The records of a table, or of a range of its keys, one after another. It is an iterator of
/// [`Row`]s; made by [`ReadTable`](super::ReadTable).
///
/// It sees the table as it was when the cursor was made, whatever is written later; a cursor of a
/// transaction also sees that transaction's writes until then. Until it is dropped, it is a
/// [snapshot](super::Database::snapshot).
///
/// [`columns`](Self::columns), [`limit`](Self::limit), [`rev`](Self::rev) and
/// [`skip_damaged`](Self::skip_damaged) say what to read. Call them before the first row; later
/// they start again at the first one.
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("reading").key("sensor", Type::U32).key("time", Type::Timestamp);
/// let schema = schema.column("celsius", Type::F32).column("raw", Type::Bytes(200)).finish()?;
/// let readings = db.create_table(&schema, KeyKind::Tree)?;
/// for (sensor, time, celsius) in [(1, 10, 15.5), (2, 10, 19.0), (2, 20, 19.5), (3, 0, 8.0)] {
///     let (sensor, time) = (Value::Unsigned(sensor), Value::Timestamp(time));
///     let values = [sensor, time, Value::Float(celsius), Value::Bytes(&[0; 200])];
///     readings.insert(&schema.pack(&values)?)?;
/// }
///
/// let celsius = schema.column("celsius")?;
/// let latest = readings.prefix(&[Value::Unsigned(2)]).rev().limit(1).columns([celsius]);
/// for row in latest {
///     assert_eq!(row?.at(celsius), Value::Float(19.5));
/// }
/// # Ok::<(), lode::Error>(())
/// ```
///
/// # Errors
/// A cursor that cannot be made has its error in the place of its first row: `NoTable`, `Closed`,
/// `Forked`; `NoOrder` for ranges of hashed keys, and for such tables backward; `NoColumn`;
/// `NotPacked`, `ValueCount`, `ValueMisfit` and `KeyTooLong` when a bound is no key. Later come
/// `SnapshotTooOld`, in its place `Conflict` within a transaction, `Corrupt`, `Io`. After an error
/// it has ended.
///
/// # Rows without a copy
/// As an iterator, a cursor copies each row into new memory. [`next_row`](Self::next_row)
/// lends the row instead, which is faster; [`next_batch`](Self::next_batch) copies many at once.
pub struct Cursor {
    state: State,
}

// Most cursors are read, so the plan and the run are stored in the cursor itself.
#[expect(clippy::large_enum_variant)]
enum State {
    /// An error in the place of the first row.
    Failed(Error),
    Ready {
        plan: Plan,
        run: Option<Run>,
    },
    Ended,
}

/// The records and columns that a cursor reads.
struct Plan {
    snapshot: Snapshot,
    core: Arc<TableCore>,
    /// The range of keys; `None` for all keys.
    range: Option<Arc<Range>>,
    within: Option<Within>,
    direction: Direction,
    damage: Damage,
    columns: Option<Arc<[ColumnId]>>,
    limit: u64,
}

/// The behaviour of a cursor at a damaged page or record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damage {
    Ends,
    IsSkipped,
}

/// The position of a cursor.
struct Run {
    walk: Walk,
    wanted: Wanted,
    rows: Rows,
    batch: Batch,
    /// Records of the batch that have been passed.
    passed: usize,
    own: Option<Own>,
    /// The note on what it has read, if a commit will look at that again.
    noted: Option<Arc<Scan>>,
    is_forward: bool,
    left: u64,
    /// True if the cursor is at a row: it has read one, and is not past the last one.
    is_at_row: bool,
    /// The latest time at which a record expired that it has left out, until that is logged.
    left_out_us: Option<i64>,
}

impl Cursor {
    /// Makes a cursor over the records whose keys are in `range`; over all if that is `None`. It
    /// may be `within` a transaction.
    pub(super) fn new(
        snapshot: Snapshot,
        table: &Table,
        range: Option<Range>,
        within: Option<Within>,
    ) -> Self {
        if let Err(error) = snapshot.core(table) {
            return Self::failed(error);
        }
        let plan = Plan {
            snapshot,
            core: Arc::clone(table.core()),
            range: range.map(Arc::new),
            within,
            direction: Direction::Forward,
            damage: Damage::Ends,
            columns: None,
            limit: u64::MAX,
        };
        Self { state: State::Ready { plan, run: None } }
    }

    /// Makes a cursor with an error in the place of the first row.
    pub(super) fn failed(error: Error) -> Self {
        Self { state: State::Failed(error) }
    }

    /// Changes what is read, and starts again.
    fn with(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        if let State::Ready { plan, run } = &mut self.state {
            if run.take().is_some() {
                plan.within.iter().for_each(Within::note_all);
            }
            change(plan);
        }
        self
    }

    /// Reverses the direction: from the last key to the first, or if called twice, back again.
    #[must_use]
    pub fn rev(self) -> Self {
        self.with(|plan| {
            plan.direction = match plan.direction {
                Direction::Forward => Direction::Backward,
                Direction::Backward => Direction::Forward,
            };
        })
    }

    /// Limits the cursor to at most `rows` rows.
    #[must_use]
    pub fn limit(self, rows: u64) -> Self {
        self.with(|plan| plan.limit = rows)
    }

    /// Reads only these columns of each record, in this order. If records are in a tree, only these
    /// are copied; if its leaves have keys and addresses, columns of the key are read from them.
    ///
    /// [`RowRef::bytes`] has the cells of such a row one after another. A cell has the bytes that
    /// its column has in a packed record. Before those of a column of variable length come four
    /// bytes that say how many, little-endian. After a column that can be null comes one byte more,
    /// which is 1 if it is null.
    #[must_use]
    pub fn columns(self, columns: impl AsRef<[ColumnId]>) -> Self {
        self.with(|plan| plan.columns = Some(columns.as_ref().into()))
    }

    /// Continues after a damaged page or record. Its error, `Corrupt`, comes in the place of its
    /// rows. The pages of the whole table are read, whatever the range.
    #[must_use]
    pub fn skip_damaged(self) -> Self {
        self.with(|plan| plan.damage = Damage::IsSkipped)
    }

    /// Returns true if an error has ended the cursor, so that there are no more rows.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Reads the next row, lent until the next call; `None` at the end.
    ///
    /// # Errors
    /// Those of the [cursor](Self#errors).
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<RowRef<'_>>> {
        if self.advance()? { Ok(self.current_row()) } else { Ok(None) }
    }

    /// Lends the row that [`next_row`](Self::next_row) returned last again; `None` before the first
    /// row, after the last one, and after an error.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Tree)?;
    /// bytes.insert(&[7])?;
    ///
    /// let mut rows = bytes.iter();
    /// assert!(rows.current_row().is_none());
    /// while rows.next_row()?.is_some() {
    ///     assert_eq!(rows.current_row().map(|row| row.bytes()), Some(&[7][..]));
    /// }
    /// assert!(rows.current_row().is_none());
    /// # Ok::<(), lode::Error>(())
    /// ```
    #[inline]
    pub fn current_row(&self) -> Option<RowRef<'_>> {
        let State::Ready { plan, run: Some(run) } = &self.state else { return None };
        if !run.is_at_row {
            return None;
        }
        Some(plan.core.schema().row_of(run.rows.bytes(&run.batch), plan.columns.as_deref()))
    }

    /// Counts the rows to the end.
    pub(super) fn count_rows(mut self) -> Result<u64> {
        let mut count = 0;
        while self.next_row()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Returns what all rows have in common.
    fn shape(&self) -> Option<Shape> {
        let State::Ready { plan, .. } = &self.state else { return None };
        Some(Shape::new(Arc::clone(&plan.core), plan.columns.clone()))
    }

    /// Moves to the next row; returns false at the end.
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        if let State::Ready { plan, run: Some(run) } = &mut self.state
            && run.advance_in_batch(&plan.core)
        {
            run.is_at_row = true;
            return Ok(true);
        }
        self.advance_slowly()
    }

    #[inline(never)]
    fn advance_slowly(&mut self) -> Result<bool> {
        if let State::Ready { plan, run: Some(run) } = &mut self.state {
            let advanced = run.advance(plan);
            if let Some(at_us) = run.left_out_us.take() {
                plan.snapshot.database().leave_out(at_us);
            }
            run.is_at_row = matches!(advanced, Ok(true));
            return match advanced {
                Err(error) => Err(self.end_at(error)),
                advanced => advanced,
            };
        }
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Failed(error) => Err(error),
            State::Ended => Ok(false),
            State::Ready { plan, .. } => {
                let run = Some(plan.begin()?);
                self.state = State::Ready { plan, run };
                self.advance_slowly()
            }
        }
    }

    /// Ends the cursor at an error, unless it can continue after it.
    #[cold]
    fn end_at(&mut self, mut error: Error) -> Error {
        if let State::Ready { plan: Plan { within: Some(within), core, .. }, .. } = &self.state {
            error = within.of_transaction(core, error);
        }
        if !self.goes_on(&error) {
            self.state = State::Ended;
        }
        error
    }

    /// Returns true if there can be more rows after an error.
    fn goes_on(&self, error: &Error) -> bool {
        match &self.state {
            State::Ready { plan, run: Some(run) } => {
                plan.damage == Damage::IsSkipped && run.walk.goes_on(error)
            }
            _ => false,
        }
    }
}

impl Iterator for Cursor {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        match self.advance() {
            Err(error) => Some(Err(error)),
            Ok(false) => None,
            Ok(true) => {
                let bytes = self.current_row()?.bytes().to_vec();
                Some(Ok(Row::new(self.shape()?, bytes)))
            }
        }
    }
}

impl std::iter::FusedIterator for Cursor {}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = match &self.state {
            State::Ready { plan, .. } => Some(plan.core.schema().name()),
            State::Failed(_) | State::Ended => None,
        };
        f.debug_struct("Cursor").field("table", &table).finish_non_exhaustive()
    }
}

impl Plan {
    fn begin(&self) -> Result<Run> {
        let core = &*self.core;
        for column in self.columns.iter().flat_map(|columns| columns.iter()) {
            core.schema().expect_column(*column)?;
        }
        let walk = match (&self.range, self.damage) {
            (Some(range), Damage::Ends) => {
                core.walk_range(Arc::clone(range), self.direction, self.most_records())?
            }
            (None, Damage::Ends) => core.walk_all(self.snapshot.pager(), self.direction)?,
            (range, Damage::IsSkipped) => {
                core.walk_readable(self.snapshot.pager(), range.is_some(), self.direction)?
            }
        };
        // A walk that continues after damage copies nothing less than records.
        let is_record_needed =
            self.damage == Damage::IsSkipped || self.within.is_some() || core.has_expiry();
        let needs = if is_record_needed { Needs::Record } else { Needs::Row };
        let rows = Rows::new(core, self.columns.clone(), needs);
        let own =
            self.within.as_ref().map(|within| within.own(core.definition().kind, self.direction));
        if self.damage == Damage::IsSkipped {
            self.within.iter().for_each(Within::note_all);
        }
        Ok(Run {
            walk,
            wanted: rows.wanted(core),
            rows,
            batch: Batch::default(),
            passed: 0,
            own,
            noted: self.within.as_ref().filter(|_| self.damage == Damage::Ends).map(Within::scan),
            is_forward: self.direction == Direction::Forward,
            left: self.limit,
            is_at_row: false,
            left_out_us: None,
        })
    }

    /// Returns the most records of the table that are needed.
    fn most_records(&self) -> u64 {
        // Of a transaction, some may have been deleted; others may have expired.
        let may_leave_out = self.within.is_some() || self.core.has_expiry();
        if may_leave_out { u64::MAX } else { self.limit }
    }

    /// Returns true if a key in order is in the range.
    fn has(&self, key: &[u8]) -> bool {
        self.range.as_ref().is_none_or(|range| range.contains(key))
    }
}

impl Run {
    /// Moves to the next row if the batch has it as it is; false if that is not known yet.
    #[inline]
    fn advance_in_batch(&mut self, core: &TableCore) -> bool {
        let is_next = self.is_forward && self.passed < self.batch.len() && self.left > 0;
        if is_next && self.rows.show_in_batch(core, &self.batch, self.passed) {
            self.passed += 1;
            self.left -= 1;
            return true;
        }
        false
    }

    /// Moves to the next row; returns false at the end.
    fn advance(&mut self, plan: &Plan) -> Result<bool> {
        let core = &*plan.core;
        while self.left > 0 {
            if self.passed == self.batch.len() {
                if !self.next_page(plan)? {
                    return self.show_rest(plan);
                }
                continue;
            }
            let at = match plan.direction {
                Direction::Forward => self.passed,
                Direction::Backward => self.batch.len() - 1 - self.passed,
            };
            let (key, _) = self.batch.record(at);
            let order = self.own.as_ref().map_or(Ordering::Greater, |own| own.order(key));
            if order != Ordering::Greater {
                self.passed += usize::from(order == Ordering::Equal);
                if self.show_own(plan)? {
                    return Ok(true);
                }
                continue;
            }
            self.passed += 1;
            // A walk over leaves has no others.
            if plan.damage == Damage::IsSkipped && !plan.has(key) {
                continue;
            }
            let pager = plan.snapshot.pager();
            let moment = plan.snapshot.moment();
            if self.rows.needs_heap() {
                core.fetch_ahead(pager, &self.batch, at, plan.direction);
            }
            if self.rows.read(core, pager, moment, &self.batch, at)?
                && !self.is_overwritten(core)?
                && self.is_found(plan)?
            {
                self.left -= 1;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves to the next page of the walk; returns false at the end.
    #[inline(never)]
    fn next_page(&mut self, plan: &Plan) -> Result<bool> {
        self.passed = 0;
        self.batch.clear();
        let pager = plan.snapshot.pager();
        let moment = plan.snapshot.moment();
        let more =
            plan.core.next_page(pager, moment, &mut self.walk, &self.wanted, &mut self.batch);
        self.note_page();
        more
    }

    /// Returns true if a transaction has replaced the hashed record that was read.
    fn is_overwritten(&self, core: &TableCore) -> Result<bool> {
        let Some(own) = &self.own else { return Ok(false) };
        let record = self.rows.record();
        Ok(own.overwrites(&record[..core.schema().key_length(record)?]))
    }

    /// Returns true if the record of the row has not expired, and otherwise notes when it did.
    fn is_found(&mut self, plan: &Plan) -> Result<bool> {
        let core = &*plan.core;
        if !core.has_expiry() {
            return Ok(true);
        }
        let record = self.rows.record();
        let payload = &record[core.schema().key_length(record)?..];
        let db = plan.snapshot.database();
        let expired_us = match &plan.within {
            None => db.expired_us(core, payload),
            Some(within) => within.lifetime().expired_us(db, core, payload)?,
        };
        self.left_out_us = self.left_out_us.max(expired_us);
        Ok(expired_us.is_none())
    }

    /// Shows the next record of the transaction; returns false if it was deleted or has expired.
    fn show_own(&mut self, plan: &Plan) -> Result<bool> {
        let Some((key, Some(payload))) = self.own.as_mut().and_then(Own::pass) else {
            return Ok(false);
        };
        self.rows.pack(&plan.core, key, payload)?;
        if !self.is_found(plan)? {
            return Ok(false);
        }
        self.left -= 1;
        Ok(true)
    }

    /// Shows the next record of the transaction after all records of the table; false at the end.
    fn show_rest(&mut self, plan: &Plan) -> Result<bool> {
        while self.own.as_ref().is_some_and(Own::has_more) {
            if self.show_own(plan)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

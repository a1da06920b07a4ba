//! Cursors: the rows of a table that a statement reads.

use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

use lode::{ColumnId, Cursor, IndexKeys, RowRef};
use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator as _;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{Context, Filters, VTabCursor, sqlite3_vtab_cursor};
use rusqlite::{Result, ffi};

use crate::error::{error, of_engine};
use crate::plan::Plan;
use crate::plan::range::{Target, only};
use crate::plan::transient::{Index, Lookup, MOST_INDEX_BYTES, Way};
use crate::session::single::MOST_KEPT_BYTES;
use crate::table::shared::Shared;
use crate::values::position::{Position, position};
use crate::values::row_numbers::has_row_numbers;
use crate::values::set_result;

/// A cursor over a virtual table.
#[repr(C)]
pub(crate) struct TableCursor {
    /// SQLite's part, which is the first.
    base: sqlite3_vtab_cursor,
    shared: Rc<Shared>,
    rows: Rows,
    /// The record, if there is one.
    record: Vec<u8>,
    /// The targets after these rows, the next one last.
    targets: Vec<Target>,
    plan: Option<Rc<Plan>>,
    /// The most rows of a range.
    limit: Option<u64>,
}

/// The rows that are still to come, starting with the one that the cursor is at.
enum Rows {
    None,
    /// One record.
    One,
    Many(Box<Cursor>),
    /// The record, and others whose keys a secondary index has.
    ByIndex(Box<IndexKeys>),
    /// The record, and others whose keys an index has that was built for the statement.
    Indexed(Rc<Index>, std::ops::Range<usize>),
    /// Records of which nothing was read so far, and the one that the cursor is at.
    Unread(RefCell<Walk>),
    Counted(Counted),
}

/// Records of which only the number is wanted.
struct Counted {
    /// The number of rows still to come, with the one that the cursor is at.
    left: u64,
    /// The number of rows before the one that the cursor is at.
    passed: u64,
    /// The records themselves, if SQLite wants more of them after all.
    walk: RefCell<Walk>,
}

/// A cursor, and how far it has come.
struct Walk {
    cursor: Box<Cursor>,
    /// The number of its row: that of the first is 0.
    at: u64,
    /// True if a row of the walk was read.
    was_read: bool,
}

impl Walk {
    /// Reads a row, which is not before the one that was read last.
    fn read<T>(&mut self, number: u64, work: impl FnOnce(RowRef<'_>) -> Result<T>) -> Result<T> {
        self.was_read = true;
        while self.at < number {
            self.cursor.next_row().map_err(|cause| of_engine(&cause))?.ok_or_else(no_row)?;
            self.at += 1;
        }
        work(self.cursor.current_row().ok_or_else(no_row)?)
    }
}

fn no_row() -> rusqlite::Error {
    error(ffi::SQLITE_MISUSE, "the cursor is at no row")
}

impl TableCursor {
    pub(crate) fn new(shared: Rc<Shared>) -> Self {
        if shared.open_cursor() {
            shared.numbers.forget();
        }
        let record = shared.spare.borrow_mut().pop().unwrap_or_default();
        Self {
            base: sqlite3_vtab_cursor::default(),
            shared,
            rows: Rows::None,
            record,
            targets: Vec::new(),
            plan: None,
            limit: None,
        }
    }

    #[inline]
    fn row(&self) -> Option<RowRef<'_>> {
        match &self.rows {
            Rows::None => None,
            Rows::One | Rows::ByIndex(_) | Rows::Indexed(..) => {
                self.shared.schema().row(&self.record).ok()
            }
            Rows::Many(cursor) => cursor.current_row(),
            Rows::Unread(_) | Rows::Counted(_) => None,
        }
    }

    /// Calls a function with the row, which has the columns that [`has`](Self::has) says.
    fn with_row<T>(&self, work: impl FnOnce(RowRef<'_>) -> Result<T>) -> Result<T> {
        match &self.rows {
            Rows::Unread(walk) => walk.borrow_mut().read(0, work),
            Rows::Counted(counted) => counted.walk.borrow_mut().read(counted.passed, work),
            _ => work(self.row().ok_or_else(no_row)?),
        }
    }

    /// Returns true if the row has a column.
    fn has(&self, column: ColumnId) -> bool {
        let columns = self.plan.as_ref().and_then(|plan| plan.columns.as_ref());
        match (&self.rows, columns) {
            (Rows::Many(_), Some(columns)) => columns.contains(&column),
            (Rows::Unread(_) | Rows::Counted(_), _) => {
                column.index() < self.shared.schema().key_columns()
            }
            _ => true,
        }
    }

    /// Returns the packed key of the row.
    fn key(&self) -> Result<Vec<u8>> {
        let schema = self.shared.schema();
        let columns = &schema.columns()[..schema.key_columns()];
        self.with_row(|row| {
            let values: Vec<_> = columns.iter().map(|column| row.at(column.id())).collect();
            schema.pack_key(&values).map_err(|cause| of_engine(&cause))
        })
    }

    /// Starts to read what a plan finds with these values.
    fn begin(&mut self, number: c_int, values: &Filters<'_>) -> Result<()> {
        let plan = self.shared.plan(number)?;
        let Shared { table, .. } = &*self.shared;
        let schema = table.schema();
        self.targets.clear();
        self.rows = Rows::None;
        (self.limit, self.plan) = (None, None);
        if let Some(key) = plan.single_key(schema)
            && let Some(value) = only(key.kind, values.iter().next().unwrap_or(ValueRef::Null))
        {
            // Most lookups, without a list of values.
            self.record.clear();
            let packed = schema.append_key(&[value], &mut self.record);
            packed.map_err(|cause| of_engine(&cause))?;
            return self.begin_at_key();
        }
        let given: Vec<_> = values.iter().collect();
        if let Some(secondary) = &plan.secondary {
            let Some(range) = secondary.range(schema, &given) else { return Ok(()) };
            let keys = self.shared.session.keys_by(table, secondary, &range)?;
            self.rows = Rows::ByIndex(Box::new(keys));
            return self.next_by_index();
        }
        let add = |given: &[ValueRef<'_>], targets: &mut Vec<Target>| {
            let target = plan.target(schema, table.key_kind(), given);
            let target = target.map_err(|cause| of_engine(&cause))?;
            // All values of a list can have the same range, where one before it is not single.
            if target != Target::Nothing && targets.last() != Some(&target) {
                targets.push(target);
            }
            Ok::<_, rusqlite::Error>(())
        };
        match plan.list {
            None => add(&given, &mut self.targets)?,
            Some(column) => {
                let kind = table.schema().columns()[column].kind;
                let mut list = values.in_values(column)?;
                while let Some(value) = list.next()? {
                    let mut given = given.clone();
                    given[column] = value.get_raw();
                    if position(kind, given[column]) == Position::Unknown {
                        // SQLite may find it equal to any value: one range has the others, too.
                        self.targets.clear();
                        add(&given, &mut self.targets)?;
                        break;
                    }
                    add(&given, &mut self.targets)?;
                }
            }
        }
        self.limit = plan.limit(&given);
        self.plan = Some(Rc::clone(&plan));
        if !plan.indexed.is_empty() && !self.targets.is_empty() {
            return self.begin_indexed(number, &plan, plan.indexed_values(&given));
        }
        self.begin_target()
    }

    /// Starts to read those records of the targets that may have these values, if an index of them
    /// is there or worth it; all of them if not.
    fn begin_indexed(&mut self, number: c_int, plan: &Plan, values: &[ValueRef<'_>]) -> Result<()> {
        let Shared { session, table, transients, .. } = &*self.shared;
        let schema = table.schema();
        let moment = session.moment(table);
        let mut transients = transients.borrow_mut();
        let transient = transients.entry(number).or_default();
        let index = match transient.look(&self.targets, moment) {
            Way::Look(index) => Some(index),
            Way::Read => None,
            Way::Build => {
                let index = self.build(plan)?.map(Rc::new);
                transient.keep(index.as_ref());
                index
            }
        };
        drop(transients);
        let Some(index) = index else { return self.begin_target() };
        match index.find(schema, &plan.indexed, values) {
            Lookup::All => self.begin_target(),
            Lookup::Nothing => {
                self.targets.clear();
                Ok(())
            }
            Lookup::Entries(entries) => {
                self.targets.clear();
                self.rows = Rows::Indexed(index, entries);
                self.next_indexed()
            }
        }
    }

    /// Builds an index of the records of the only target.
    fn build(&self, plan: &Plan) -> Result<Option<Index>> {
        let Shared { session, table, .. } = &*self.shared;
        let [Target::Range(range)] = &self.targets[..] else { return Ok(None) };
        let schema = table.schema();
        let columns: Vec<_> =
            (0..schema.key_columns()).chain(plan.indexed.iter().copied()).collect();
        let columns: Vec<_> = columns.iter().map(|column| schema.columns()[*column].id()).collect();
        let cursor = session.walk(table, range)?.columns(&columns);
        let mut cursor = if plan.is_backward { cursor.rev() } else { cursor };
        Index::build(&mut cursor, schema, &plan.indexed, MOST_INDEX_BYTES)
    }

    /// Reads all records if the first one was read; otherwise only their number.
    fn read_or_count(&mut self) -> Result<()> {
        let Shared { session, table, .. } = &*self.shared;
        let Rows::Unread(walk) = std::mem::replace(&mut self.rows, Rows::None) else {
            return Ok(());
        };
        let walk = walk.into_inner();
        self.rows = if walk.was_read {
            Rows::Many(walk.cursor)
        } else {
            let left = session.count(table)?;
            let walk = RefCell::new(walk);
            Rows::Counted(Counted { left, passed: 0, walk })
        };
        Ok(())
    }

    /// Moves to the next record whose key a secondary index has.
    fn next_by_index(&mut self) -> Result<()> {
        let Shared { session, table, .. } = &*self.shared;
        while let Rows::ByIndex(keys) = &mut self.rows
            && let Some(key) = keys.next_key().map_err(|cause| of_engine(&cause))?
        {
            self.record.clear();
            self.record.extend_from_slice(key);
            if session.find(table, &mut self.record)? {
                return Ok(());
            }
        }
        self.rows = Rows::None;
        Ok(())
    }

    /// Moves to the next record whose key the index has.
    fn next_indexed(&mut self) -> Result<()> {
        let Shared { session, table, .. } = &*self.shared;
        while let Rows::Indexed(index, left) = &mut self.rows
            && let Some(number) = left.next()
        {
            self.record.clear();
            self.record.extend_from_slice(index.key(number).unwrap_or_default());
            if session.find(table, &mut self.record)? {
                return Ok(());
            }
        }
        self.rows = Rows::None;
        Ok(())
    }

    /// Moves to the first row of the next target that has one.
    fn begin_target(&mut self) -> Result<()> {
        while matches!(self.rows, Rows::None)
            && let Some(target) = self.targets.pop()
        {
            self.begin_at(target)?;
        }
        Ok(())
    }

    /// Moves to the record whose packed key is there, if it exists.
    fn begin_at_key(&mut self) -> Result<()> {
        let Shared { session, table, .. } = &*self.shared;
        self.rows = if session.find(table, &mut self.record)? { Rows::One } else { Rows::None };
        Ok(())
    }

    /// Moves to the first row of a target, if it has one.
    fn begin_at(&mut self, target: Target) -> Result<()> {
        let Shared { session, table, .. } = &*self.shared;
        self.rows = match target {
            Target::Nothing => Rows::None,
            Target::Key(key) => {
                self.record = key;
                return self.begin_at_key();
            }
            Target::Range(range) => {
                let mut cursor = session.walk(table, &range)?;
                if let Some(plan) = &self.plan {
                    cursor = match &plan.columns {
                        Some(columns) => cursor.columns(columns),
                        None => cursor,
                    };
                    cursor = if plan.is_backward { cursor.rev() } else { cursor };
                }
                cursor = match self.limit {
                    Some(limit) => cursor.limit(limit),
                    None => cursor,
                };
                let may_be_count = self.plan.as_ref().is_some_and(|plan| plan.may_be_count);
                if cursor.next_row().map_err(|cause| of_engine(&cause))?.is_none() {
                    Rows::None
                } else if may_be_count {
                    let cursor = Box::new(cursor);
                    Rows::Unread(RefCell::new(Walk { cursor, at: 0, was_read: false }))
                } else {
                    Rows::Many(Box::new(cursor))
                }
            }
        };
        Ok(())
    }
}

impl Drop for TableCursor {
    fn drop(&mut self) {
        self.shared.close_cursor();
        self.record.clear();
        self.record.shrink_to(MOST_KEPT_BYTES);
        self.shared.spare.borrow_mut().push(std::mem::take(&mut self.record));
    }
}

// SAFETY: the first field is SQLite's part, and the layout is that of C.
#[expect(unsafe_code)]
unsafe impl VTabCursor for TableCursor {
    fn filter(&mut self, number: c_int, _: Option<&str>, values: &Filters<'_>) -> Result<()> {
        self.begin(number, values)
    }

    fn next(&mut self) -> Result<()> {
        if let Rows::Unread(_) = self.rows {
            self.read_or_count()?;
        }
        match &mut self.rows {
            Rows::Many(cursor) => {
                if cursor.next_row().map_err(|cause| of_engine(&cause))?.is_some() {
                    return Ok(());
                }
            }
            Rows::Counted(counted) if counted.left > 1 => {
                (counted.left, counted.passed) = (counted.left - 1, counted.passed + 1);
                return Ok(());
            }
            Rows::Indexed(..) => return self.next_indexed(),
            Rows::ByIndex(_) => return self.next_by_index(),
            Rows::None | Rows::One | Rows::Unread(_) | Rows::Counted(_) => {}
        }
        self.rows = Rows::None;
        self.begin_target()
    }

    fn eof(&self) -> bool {
        matches!(self.rows, Rows::None)
    }

    fn column(&self, context: &mut Context, at: c_int) -> Result<()> {
        if context.no_change() {
            // The update keeps what the record has.
            return Ok(());
        }
        let schema = self.shared.schema();
        let column = usize::try_from(at).ok().and_then(|at| schema.columns().get(at));
        let Some(column) = column else {
            return Err(error(ffi::SQLITE_RANGE, format!("there is no column {at}")));
        };
        let name = &self.shared.name;
        if self.has(column.id()) {
            return self.with_row(|row| set_result(context, name, column, row));
        }
        // The statement did not say that it would use it.
        let mut whole = self.key()?;
        if !self.shared.session.read(&self.shared.table, &mut whole)? {
            return Err(error(ffi::SQLITE_MISUSE, "the row is not there any more"));
        }
        let whole = schema.row(&whole).map_err(|cause| of_engine(&cause))?;
        set_result(context, name, column, whole)
    }

    fn rowid(&self) -> Result<i64> {
        if has_row_numbers(self.shared.schema()) {
            self.shared.numbers.number(&self.key()?)
        } else {
            Err(error(ffi::SQLITE_MISUSE, "the table has a key in the place of row numbers"))
        }
    }
}

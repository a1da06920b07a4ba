//! Cursors: the rows of a table that a statement reads.

use std::ffi::c_int;
use std::rc::Rc;

use lode::{ColumnId, Cursor, RowRef};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{Context, Filters, VTabCursor, sqlite3_vtab_cursor};
use rusqlite::{Result, ffi};

use crate::error::{error, of_engine};
use crate::plan::Plan;
use crate::position::{Position, position};
use crate::range::Target;
use crate::rows::has_row_numbers;
use crate::table::Shared;
use crate::values::to_sqlite;

/// A cursor over a virtual table.
#[repr(C)]
pub(crate) struct TableCursor {
    /// SQLite's part, which is the first.
    base: sqlite3_vtab_cursor,
    shared: Rc<Shared>,
    rows: Rows,
    buffers: Buffers,
    /// What comes after these rows, the next one last.
    targets: Vec<Target>,
    plan: Option<Rc<Plan>>,
    /// The most rows of a range.
    limit: Option<u64>,
}

/// The rows that are still to come, beginning with the one that the cursor is at.
enum Rows {
    None,
    /// The record in the buffers.
    One,
    Many(Box<Cursor>),
}

/// Memory that cursors use again.
#[derive(Default)]
pub(crate) struct Buffers {
    payload: Vec<u8>,
    record: Vec<u8>,
}

impl TableCursor {
    pub(crate) fn new(shared: Rc<Shared>) -> Self {
        if shared.session.open_cursor() {
            shared.numbers.forget();
        }
        let buffers = shared.spare.borrow_mut().pop().unwrap_or_default();
        Self {
            base: sqlite3_vtab_cursor::default(),
            shared,
            rows: Rows::None,
            buffers,
            targets: Vec::new(),
            plan: None,
            limit: None,
        }
    }

    fn row(&self) -> Result<RowRef<'_>> {
        let row = match &self.rows {
            Rows::None => None,
            Rows::One => self.shared.schema().row(&self.buffers.record).ok(),
            Rows::Many(cursor) => cursor.current_row(),
        };
        row.ok_or_else(|| error(ffi::SQLITE_MISUSE, "the cursor is at no row"))
    }

    /// Whether the row has a column.
    fn has(&self, column: ColumnId) -> bool {
        let columns = self.plan.as_ref().and_then(|plan| plan.columns.as_ref());
        match (&self.rows, columns) {
            (Rows::Many(_), Some(columns)) => columns.contains(&column),
            _ => true,
        }
    }

    /// The packed key of the row.
    fn key(&self) -> Result<Vec<u8>> {
        let (row, schema) = (self.row()?, self.shared.schema());
        let columns = &schema.columns()[..schema.key_columns()];
        let values: Vec<_> = columns.iter().map(|column| row.at(column.id())).collect();
        schema.pack_key(&values).map_err(|cause| of_engine(&cause))
    }

    /// Begins to read what a plan finds with these values.
    fn begin(&mut self, plan: Rc<Plan>, values: &Filters<'_>) -> Result<()> {
        let Shared { table, .. } = &*self.shared;
        let shape = (table.schema(), table.key_kind());
        self.targets.clear();
        self.rows = Rows::None;
        self.limit = None;
        if plan.is_single_key(shape.0) {
            // Most look-ups, without a list of values.
            let value = values.iter().next().unwrap_or(ValueRef::Null);
            let target = plan.target(shape, &[value]).map_err(|cause| of_engine(&cause))?;
            self.plan = Some(plan);
            return self.begin_at(target);
        }
        let mut given: Vec<_> = values.iter().collect();
        let add = |given: &[ValueRef<'_>], targets: &mut Vec<Target>| {
            let target = plan.target(shape, given).map_err(|cause| of_engine(&cause))?;
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
                    given[column] = value;
                    if position(kind, value) == Position::Unknown {
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
        self.plan = Some(plan);
        self.begin_target()
    }

    /// Goes to the first row of the next target that has one.
    fn begin_target(&mut self) -> Result<()> {
        while matches!(self.rows, Rows::None)
            && let Some(target) = self.targets.pop()
        {
            self.begin_at(target)?;
        }
        Ok(())
    }

    /// Goes to the first row of a target, if it has one.
    fn begin_at(&mut self, target: Target) -> Result<()> {
        let Shared { session, table, .. } = &*self.shared;
        self.rows = match target {
            Target::Nothing => Rows::None,
            Target::Key(key) => {
                let Buffers { payload, record } = &mut self.buffers;
                match session.find(table, &key, payload)? {
                    false => Rows::None,
                    true => {
                        record.clear();
                        record.extend_from_slice(&key);
                        record.extend_from_slice(payload);
                        Rows::One
                    }
                }
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
                match cursor.next_row().map_err(|cause| of_engine(&cause))?.is_some() {
                    true => Rows::Many(Box::new(cursor)),
                    false => Rows::None,
                }
            }
        };
        Ok(())
    }
}

impl Drop for TableCursor {
    fn drop(&mut self) {
        self.shared.session.close_cursor();
        self.shared.spare.borrow_mut().push(std::mem::take(&mut self.buffers));
    }
}

// SAFETY: the first field is SQLite's part, and the layout is that of C.
#[expect(unsafe_code)]
unsafe impl VTabCursor for TableCursor {
    fn filter(&mut self, number: c_int, _: Option<&str>, values: &Filters<'_>) -> Result<()> {
        self.begin(self.shared.plan(number)?, values)
    }

    fn next(&mut self) -> Result<()> {
        if let Rows::Many(cursor) = &mut self.rows
            && cursor.next_row().map_err(|cause| of_engine(&cause))?.is_some()
        {
            return Ok(());
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
        let (schema, row) = (self.shared.schema(), self.row()?);
        let column = usize::try_from(at).ok().and_then(|at| schema.columns().get(at));
        let Some(column) = column else {
            return Err(error(ffi::SQLITE_RANGE, format!("there is no column {at}")));
        };
        let name = &self.shared.name;
        if self.has(column.id()) {
            return context.set_result(to_sqlite(name, column, row.at(column.id()))?);
        }
        // The statement did not say that it would use it.
        let whole = self.shared.session.read(&self.shared.table, &self.key()?)?;
        let whole =
            whole.ok_or_else(|| error(ffi::SQLITE_MISUSE, "the row is not there any more"))?;
        let whole = schema.row(&whole).map_err(|cause| of_engine(&cause))?;
        context.set_result(to_sqlite(name, column, whole.at(column.id()))?)
    }

    fn rowid(&self) -> Result<i64> {
        match has_row_numbers(self.shared.schema()) {
            false => {
                Err(error(ffi::SQLITE_MISUSE, "the table has a key in the place of row numbers"))
            }
            true => self.shared.numbers.number(&self.key()?),
        }
    }
}

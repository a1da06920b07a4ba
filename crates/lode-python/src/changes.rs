//! The change feed: committed changes in their order.

use std::sync::Mutex;
use std::vec::IntoIter;

use lode::{Change, ChangedTable, Error, IndexSchema, KeyKind, NoPosition, Position, RowChange};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::failure::{Failure, Result};
use crate::record::{self, Shape};
use crate::signals;
use crate::view::{expect_open, lock};

/// Returns the position after all changes so far.
pub(crate) fn position(py: Python<'_>, database: &lode::Database) -> Result<String> {
    Ok(py.detach(|| database.position()).map_err(of_feed)?.to_string())
}

/// Makes the failure of an error of the feed, in the words of Python's options.
fn of_feed(error: Error) -> Failure {
    let code = error.code();
    match error {
        Error::ChangesNotKept => {
            let message = "the database keeps no changes; open one in a directory for writing, \
                           with keep_changes_bytes=, and take those from then on";
            Failure::Call(code, message.into())
        }
        other => other.into(),
    }
}

/// The changes of a database, one after another, in the order in which they happened.
///
/// `Database.changes` returns it, and it gives a `Change` each time. A loop ends with what was the
/// last change when it began, also if others are made in it; another loop gives those. `next` alone
/// gives changes as long as there are any.
#[pyclass(frozen, module = "lode")]
pub(crate) struct Changes {
    database: lode::Database,
    state: Mutex<State>,
}

/// A reader of the log, and the changes that were read and not given out yet.
struct State {
    feed: lode::Changes,
    /// The change that is given out next.
    next: Option<Change>,
    /// The changes after it in its commit.
    rest: IntoIter<Change>,
    /// The position after their commit.
    position: Position,
    /// The position after the last commit that was given out as a whole.
    reached: Position,
    /// The position at which a loop ends.
    until: Option<Position>,
}

impl State {
    /// Reads the next commit if all changes before were given out, unless the loop is at its end.
    fn read(&mut self) -> Result<()> {
        if self.next.is_some() || self.until.is_some_and(|until| self.reached >= until) {
            return Ok(());
        }
        match self.feed.next().transpose().map_err(of_feed)? {
            Some(commit) => {
                self.position = commit.position;
                self.rest = commit.changes.into_iter();
                self.next = self.rest.next();
            }
            None => self.reached = self.feed.reached(),
        }
        Ok(())
    }

    /// Counts the next change as given out.
    fn advance(&mut self) {
        self.next = self.rest.next();
        if self.next.is_none() {
            self.reached = self.position;
        }
    }

    /// Makes an object of the next change.
    fn give<'py>(&self, py: Python<'py>, change: &Change) -> Result<Bound<'py, PyAny>> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let given = match change {
            Change::Row(row) => Given::row(py, row)?,
            Change::CreateTable { table } => Given::table(py, "create table", None, Some(table))?,
            Change::DropTable { table } => Given::table(py, "drop table", Some(table), None)?,
            Change::AlterTable { before, after } => {
                Given::table(py, "alter table", Some(before), Some(after))?
            }
            Change::CreateIndex { table, index } => Given {
                after: Some(describe_index(py, index)?),
                ..Given::of("create index", table)
            },
            Change::DropIndex { table, index } => {
                Given { before: Some(describe_index(py, index)?), ..Given::of("drop index", table) }
            }
            // Stopped at the border, rather than to leave out a change.
            other => panic!("Python has no object for {other:?}"),
        };
        let is_last = self.rest.len() == 0;
        let position = self.position.to_string();
        let Given { kind, table, key, before, after } = given;
        let values = (kind, table, key, before, after, is_last, position);
        Ok(CLASS.import(py, "lode._changes", "Change")?.call1(values)?)
    }
}

/// The parts of a change that its kind decides.
struct Given<'py, 'c> {
    kind: &'static str,
    table: &'c str,
    key: Option<Bound<'py, PyAny>>,
    before: Option<Bound<'py, PyAny>>,
    after: Option<Bound<'py, PyAny>>,
}

impl<'py, 'c> Given<'py, 'c> {
    fn of(kind: &'static str, table: &'c ChangedTable) -> Self {
        Self { kind, table: table.name(), key: None, before: None, after: None }
    }

    fn row(py: Python<'py>, row: &'c RowChange) -> Result<Self> {
        let schema = row.table().schema();
        let shape = Shape::new(py, schema, None);
        let unpack =
            |bytes: Option<&[u8]>| bytes.map(|record| record::unpack(schema, record)).transpose();
        let before = unpack(row.before_bytes())?;
        let after = unpack(row.after_bytes())?;
        let values = after.as_ref().or(before.as_ref());
        let key = values.map(|values| record::give_key(py, &values[..schema.key_columns()]));
        let give = |values: Option<&Vec<_>>| values.map(|values| shape.row(py, values)).transpose();
        Ok(Self {
            key: key.transpose()?,
            before: give(before.as_ref())?,
            after: give(after.as_ref())?,
            ..Self::of("row", row.table())
        })
    }

    fn table(
        py: Python<'py>,
        kind: &'static str,
        before: Option<&'c ChangedTable>,
        after: Option<&'c ChangedTable>,
    ) -> Result<Self> {
        let describe =
            |table: Option<&ChangedTable>| table.map(|table| describe_table(py, table)).transpose();
        let table = before.or(after).expect("a table was there, or is");
        let [before, after] = [describe(before)?, describe(after)?];
        Ok(Self { before, after, ..Self::of(kind, table) })
    }
}

/// Describes a table in the words of `Database.create`.
fn describe_table<'py>(py: Python<'py>, table: &ChangedTable) -> Result<Bound<'py, PyAny>> {
    let described = PyDict::new(py);
    described.set_item("name", table.name())?;
    described.set_item("columns", record::describe(py, table.schema())?)?;
    described.set_item("key", record::key_names(py, table.schema())?)?;
    described.set_item("ordered", table.key_kind() == KeyKind::Tree)?;
    Ok(described.into_any())
}

/// Describes an index in the words of `Table.create_index`.
fn describe_index<'py>(py: Python<'py>, index: &IndexSchema) -> Result<Bound<'py, PyAny>> {
    let described = PyDict::new(py);
    described.set_item("name", index.name())?;
    described.set_item("columns", PyTuple::new(py, index.columns())?)?;
    described.set_item("unique", index.is_unique())?;
    Ok(described.into_any())
}

impl Changes {
    pub(crate) fn since(
        py: Python<'_>,
        database: &lode::Database,
        since: Option<&str>,
    ) -> Result<Self> {
        let since = since.map(str::parse::<Position>).transpose();
        let since = since.map_err(|error: NoPosition| Failure::argument(error.to_string()))?;
        let of = database.clone();
        // It may look through a long log first.
        let feed = signals::wait_for(py, move || of.changes(since))?.map_err(of_feed)?;
        let reached = feed.reached();
        let rest = Vec::new().into_iter();
        let state = State { feed, next: None, rest, position: reached, reached, until: None };
        Ok(Self { database: database.clone(), state: state.into() })
    }
}

#[pymethods]
impl Changes {
    fn __iter__(this: Py<Self>, py: Python<'_>) -> Result<Py<Self>> {
        let changes = this.get();
        let mut state = lock(&changes.state, "iterator")?;
        // A database that is open for reading shows one moment; after that, there is no end.
        let now = py.detach(|| changes.database.position()).ok();
        state.until = now.filter(|now| *now > state.reached);
        drop(state);
        Ok(this)
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let mut locked = lock(&self.state, "iterator")?;
        let state = &mut *locked;
        py.detach(|| {
            expect_open(&self.database)?;
            state.read()
        })?;
        let Some(change) = &state.next else { return Ok(None) };
        let given = state.give(py, change)?;
        state.advance();
        Ok(Some(given))
    }

    /// The position after the last commit of which all changes were given: `Database.changes`
    /// continues there.
    #[getter]
    fn reached(&self) -> Result<String> {
        Ok(lock(&self.state, "iterator")?.reached.to_string())
    }

    /// Makes all that was read durable, whatever the level: then no crash of the machine can take
    /// back what a copy has.
    fn sync(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            expect_open(&self.database)?;
            Ok(lock(&self.state, "iterator")?.feed.sync()?)
        })
    }
}

//! The rows of a table, or of a range of keys, one after another.

use std::collections::VecDeque;
use std::ops::Bound as Edge;
use std::sync::Mutex;

use lode::{Column, ColumnId, Cursor, Schema};
use lode_arrow::{Batches, Scan};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::failure::{Failure, Result};
use crate::record::{self, Shape};
use crate::value::OwnedValue;
use crate::view::{View, lock};
use crate::{arrays, arrow};

/// The most rows that are read ahead of the program.
const MOST_AHEAD: usize = 64;

/// The part of each row that an iterator gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gives {
    /// The key.
    Keys,
    /// The row.
    Rows,
    /// The key and the row.
    Items,
}

/// The rows and columns that are read of a table.
pub(crate) struct Query {
    pub(crate) table: lode::Table,
    pub(crate) view: View,
    /// The lowest and the highest packed key; `None` for all of them.
    pub(crate) keys: Option<[Edge<Vec<u8>>; 2]>,
    /// The columns, if not all.
    pub(crate) columns: Option<Vec<ColumnId>>,
    pub(crate) limit: Option<u64>,
    pub(crate) is_reverse: bool,
}

fn slices(keys: &[Edge<Vec<u8>>; 2]) -> [Edge<&[u8]>; 2] {
    keys.each_ref().map(|edge| edge.as_ref().map(Vec::as_slice))
}

impl Query {
    /// Reads all of a table.
    pub(crate) fn all(table: lode::Table, view: View) -> Self {
        Self { table, view, keys: None, columns: None, limit: None, is_reverse: false }
    }

    /// Reads the rows from `start` up to `stop`, which is left out; or those whose keys start with
    /// `prefix`.
    pub(crate) fn between(
        mut self,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let schema = self.table.schema();
        let pack = |key| -> Result<(Vec<u8>, Vec<u8>)> {
            let owned = record::key_values(schema, key, true)?;
            Ok(schema.pack_prefix(&record::values(schema, &owned))?)
        };
        self.keys = match (start, stop, prefix) {
            (None, None, None) => None,
            (None, None, Some(prefix)) => {
                let (lowest, highest) = pack(prefix)?;
                Some([Edge::Included(lowest), Edge::Included(highest)])
            }
            (start, stop, None) => {
                let start = start.map(pack).transpose()?;
                let stop = stop.map(pack).transpose()?;
                let lower = start.map_or(Edge::Unbounded, |(lowest, _)| Edge::Included(lowest));
                let upper = stop.map_or(Edge::Unbounded, |(lowest, _)| Edge::Excluded(lowest));
                Some([lower, upper])
            }
            _ => return Err(Failure::argument("give a prefix, or a start and a stop, not both")),
        };
        Ok(self)
    }

    fn cursor(&self, py: Python<'_>) -> Result<Cursor> {
        self.view.read(py, &self.table, |read| {
            let mut cursor = match &self.keys {
                None => read.iter(),
                Some(keys) => {
                    let [lower, upper] = slices(keys);
                    read.range_packed(lower, upper)
                }
            };
            if self.is_reverse {
                cursor = cursor.rev();
            }
            if let Some(rows) = self.limit {
                cursor = cursor.limit(rows);
            }
            if let Some(columns) = &self.columns {
                cursor = cursor.columns(columns);
            }
            Ok(cursor)
        })
    }

    /// Reads batches of Arrow.
    fn batches(&self, py: Python<'_>) -> Result<Batches> {
        if self.is_reverse {
            return Err(Failure::argument("arrays and streams of Arrow are in the order of keys"));
        }
        self.view.read(py, &self.table, |read| {
            let mut scan = Scan::of(read);
            if let Some(columns) = &self.columns {
                let all = self.table.schema().columns();
                scan = scan.columns(columns.iter().map(|at| &all[at.index()].name))?;
            }
            if let Some(rows) = self.limit {
                scan = scan.limit(rows);
            }
            if let Some([lower, upper]) = self.keys.clone() {
                scan = scan.packed_keys(lower, upper);
            }
            Ok(scan.read())
        })
    }

    /// Makes a stream of Arrow of what is read.
    pub(crate) fn stream<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        arrow::stream(py, self.batches(py)?)
    }

    /// Reads arrays of NumPy, by the names of their columns.
    fn arrays<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let all = self.table.schema().columns();
        let columns: Vec<&Column> = match &self.columns {
            Some(columns) => columns.iter().map(|at| &all[at.index()]).collect(),
            None => all.iter().collect(),
        };
        arrays::give(py, &columns, self.batches(py)?)
    }
}

/// The rows that were read and not given out yet.
struct State {
    /// The cursor, until all was read.
    cursor: Option<Cursor>,
    ahead: VecDeque<Vec<OwnedValue>>,
    /// The number of rows to be read next.
    next: usize,
}

impl State {
    /// Reads some more rows.
    fn read_ahead(&mut self, schema: &Schema, columns: Option<&[ColumnId]>) -> Result<()> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        for _ in 0..self.next {
            let row = cursor.next_row();
            let Some(row) = row.inspect_err(|_| self.ahead.clear())? else {
                self.cursor = None;
                return Ok(());
            };
            let values = match columns {
                Some(columns) => columns.iter().map(|column| row.at(*column).into()).collect(),
                None => schema.columns().iter().map(|of| row.at(of.id()).into()).collect(),
            };
            self.ahead.push_back(values);
        }
        self.next = MOST_AHEAD.min(2 * self.next);
        Ok(())
    }
}

/// The rows of a table, one after another, as the table was when the iterator was made.
///
/// It is a stream of Arrow too, for pyarrow, polars, pandas or duckdb, which starts anew.
#[pyclass(frozen, module = "lode")]
pub(crate) struct Rows {
    query: Query,
    shape: Shape,
    gives: Gives,
    state: Mutex<State>,
}

impl Rows {
    pub(crate) fn of(py: Python<'_>, query: Query, shape: Shape, gives: Gives) -> Result<Self> {
        let cursor = Some(query.cursor(py)?);
        let state = State { cursor, ahead: VecDeque::new(), next: 1 }.into();
        Ok(Self { query, shape, gives, state })
    }
}

#[pymethods]
impl Rows {
    /// Visits the dataclass, which may have an attribute that is this iterator.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.shape.traverse(&visit)
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let schema = self.query.table.schema();
        let columns = self.query.columns.as_deref();
        let next = py.detach(|| {
            let mut state = lock(&self.state, "iterator")?;
            if state.ahead.is_empty() {
                state.read_ahead(schema, columns)?;
            }
            Ok::<_, Failure>(state.ahead.pop_front())
        })?;
        let Some(values) = next else { return Ok(None) };
        let given = match (self.gives, columns) {
            (Gives::Rows, Some(columns)) => self.shape.part(py, columns, &values)?,
            (Gives::Rows, None) => self.shape.row(py, &values)?,
            (Gives::Keys, _) => record::give_key(py, &values[..schema.key_columns()])?,
            (Gives::Items, _) => {
                let key = record::give_key(py, &values[..schema.key_columns()])?;
                PyTuple::new(py, [key, self.shape.row(py, &values)?])?.into_any()
            }
        };
        Ok(Some(given))
    }

    /// Returns the rows as a dict of arrays of NumPy, by the names of their columns.
    ///
    /// Moments are of `datetime64[us]`, texts of `StringDType`; bytes of a fixed length are rows of
    /// `uint8`. A column that can be None is a masked array, or texts with None. Decimals and
    /// bytes of any length have no arrays; leave them out by `columns`. Rows that the iterator gave
    /// already are there too.
    fn arrays<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        self.query.arrays(py)
    }

    /// Returns the rows as a stream of Arrow, in a capsule.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>> {
        // A wish that a producer may pass over, says Arrow's PyCapsule interface.
        let _ = requested_schema;
        self.query.stream(py)
    }
}

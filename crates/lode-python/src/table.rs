//! Tables: records by their keys, like a dict.

use lode::Schema;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PySlice, PyTuple};

use crate::failure::{Failure, Result};
use crate::find::Find;
use crate::record::{self, Shape};
use crate::rows::{Gives, Query, Rows};
use crate::value::OwnedValue;
use crate::view::View;
use crate::write::{Update, all_or_none};
use crate::{arrays, arrow};

/// A table: records by their keys.
///
/// `table[key]` is a record, as a dict or as an object of the table's dataclass. A key of several
/// columns is a tuple. A table of a transaction or a snapshot sees what that sees.
#[pyclass(frozen, module = "lode")]
pub(crate) struct Table {
    table: lode::Table,
    view: View,
    shape: Shape,
}

impl Table {
    pub(crate) fn of(
        py: Python<'_>,
        table: lode::Table,
        view: View,
        record: Option<Py<PyAny>>,
    ) -> Self {
        let shape = Shape::new(py, table.schema(), record);
        Self { table, view, shape }
    }

    pub(crate) fn open(
        py: Python<'_>,
        database: &lode::Database,
        name: &str,
        view: View,
        record: Option<Py<PyAny>>,
    ) -> Result<Self> {
        let table = py.detach(|| database.table(name))?;
        Ok(Self::of(py, table, view, record))
    }

    fn schema(&self) -> &Schema {
        self.table.schema()
    }

    /// Returns the values of the record with a key.
    fn look_up(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<Option<Vec<OwnedValue>>> {
        let Some(mut packed) = record::pack_key(self.schema(), key)? else { return Ok(None) };
        self.view.read(py, &self.table, |read| {
            let mut payload = Vec::new();
            if !read.get_into(&packed, &mut payload)? {
                return Ok(None);
            }
            packed.append(&mut payload);
            record::unpack(self.schema(), &packed).map(Some)
        })
    }

    /// Packs the records of an iterable.
    fn pack_all(&self, records: &Bound<'_, PyAny>) -> Result<Vec<Vec<u8>>> {
        let pack = |record: PyResult<_>| self.shape.pack(self.schema(), &record?, None);
        records.try_iter()?.map(pack).collect()
    }

    /// Refuses what is done to tables of a database only.
    fn expect_now(&self, what: &str) -> Result<()> {
        if matches!(self.view, View::Now) {
            return Ok(());
        }
        let message = format!("{what} is by itself; call it with a table of the database");
        Err(Failure::argument(message))
    }

    fn delete_key(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<bool> {
        let Some(key) = record::pack_key(self.schema(), key)? else { return Ok(false) };
        let key = key.as_slice();
        self.view.write(
            py,
            || Ok(self.table.delete(key)?),
            |transaction| Ok(transaction.delete(&self.table, key)?),
        )
    }

    fn upsert_packed(&self, py: Python<'_>, record: &[u8]) -> Result<bool> {
        self.view.write(
            py,
            || Ok(self.table.upsert(record)?),
            |transaction| Ok(transaction.upsert(&self.table, record)?),
        )
    }

    /// Returns the columns of a secondary index.
    fn columns_of_index(&self, name: &str) -> Result<Vec<&lode::Column>> {
        let schema = self.schema();
        let indexes = self.table.indexes()?;
        let found = indexes.iter().find(|index| index.name() == name).ok_or_else(|| {
            let table = schema.name().into();
            let index = name.into();
            lode::Error::NoIndex { table, index }
        })?;
        let column = |name: &String| Ok(&schema.columns()[schema.column(name)?.index()]);
        found.columns().iter().map(column).collect()
    }

    fn query(&self) -> Query {
        Query::all(self.table.clone(), self.view.clone())
    }

    fn rows_of(&self, py: Python<'_>, query: Query, gives: Gives) -> Result<Rows> {
        Rows::of(py, query, self.shape.clone_ref(py), gives)
    }
}

#[pymethods]
impl Table {
    /// The name of the table.
    #[getter]
    fn name(&self) -> &str {
        self.schema().name()
    }

    /// The types of the columns, by their names. Those of the key come first.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        record::describe(py, self.schema())
    }

    /// The names of the columns of the key.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        record::key_names(py, self.schema())
    }

    /// True if the table has ranges of keys.
    #[getter]
    fn ordered(&self) -> bool {
        self.table.key_kind() == lode::KeyKind::Tree
    }

    /// Visits the dataclass, which may have an attribute that is this table.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.shape.traverse(&visit)
    }

    fn __repr__(&self) -> String {
        format!("<lode.Table {:?}>", self.schema().name())
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>> {
        if let Ok(slice) = key.cast::<PySlice>() {
            if !slice.getattr("step")?.is_none() {
                return Err(Failure::argument("a range of keys has no step"));
            }
            let start = slice.getattr("start")?;
            let stop = slice.getattr("stop")?;
            let [start, stop] = [&start, &stop].map(|edge| (!edge.is_none()).then_some(edge));
            let query = self.query().between(start, stop, None)?;
            let rows = self.rows_of(py, query, Gives::Rows)?;
            return Ok(Bound::new(py, rows)?.into_any());
        }
        match self.look_up(py, key)? {
            Some(values) => self.shape.row(py, &values),
            None => Err(PyKeyError::new_err((key.clone().unbind(),)).into()),
        }
    }

    /// Returns the record with a key, or `default` if no record has it.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        match self.look_up(py, key)? {
            Some(values) => self.shape.row(py, &values),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<bool> {
        Ok(self.look_up(py, key)?.is_some())
    }

    /// Returns the records with some keys, in their order: `None` for a key without a record. It is
    /// faster than single lookups.
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyList>> {
        let schema = self.schema();
        let mut packed = Vec::new();
        // The places of keys that records can have.
        let mut places = Vec::new();
        let mut count = 0;
        for key in keys.try_iter()? {
            if let Some(key) = record::pack_key(schema, &key?)? {
                places.push(count);
                packed.push(key);
            }
            count += 1;
        }
        let joined = packed.concat();
        let rows = self.view.read(py, &self.table, |read| {
            let mut rows = vec![None; count];
            let mut outcome = Ok(());
            read.get_many_with(&joined, &mut |at, payload| {
                let Some(payload) = payload else { return };
                match record::unpack(schema, &[&packed[at], payload].concat()) {
                    Ok(values) => rows[places[at]] = Some(values),
                    Err(failure) => outcome = Err(failure),
                }
            })?;
            outcome.map(|()| rows)
        })?;
        record::list(py, &self.shape, &rows)
    }

    /// Returns the number of records.
    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        let len = self.view.read(py, &self.table, |read| Ok(read.len()?))?;
        usize::try_from(len).map_err(|_| Failure::argument("there are too many records to count"))
    }

    fn __iter__(&self, py: Python<'_>) -> Result<Rows> {
        self.rows_of(py, self.query(), Gives::Keys)
    }

    /// Returns an iterator over the keys.
    fn keys(&self, py: Python<'_>) -> Result<Rows> {
        self.rows_of(py, self.query(), Gives::Keys)
    }

    /// Returns an iterator over the records.
    fn values(&self, py: Python<'_>) -> Result<Rows> {
        self.rows_of(py, self.query(), Gives::Rows)
    }

    /// Returns an iterator over pairs of keys and records.
    fn items(&self, py: Python<'_>) -> Result<Rows> {
        self.rows_of(py, self.query(), Gives::Items)
    }

    /// Returns an iterator over the records with keys from `start` up to `stop`, which is left out,
    /// or with those that start with `prefix`. A bound may have the first columns of a key only.
    ///
    /// Records are in the order of keys, or from the last to the first with `reverse`; at most
    /// `limit` of them. With `columns`, a list of names, they are dicts of these. It sees the table
    /// as it is now, whatever is written later.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (
        start = None,
        stop = None,
        *,
        prefix = None,
        columns = None,
        limit = None,
        reverse = false,
    ))]
    fn rows(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        columns: Option<&Bound<'_, PyAny>>,
        limit: Option<u64>,
        reverse: bool,
    ) -> Result<Rows> {
        let mut query = self.query().between(start, stop, prefix)?;
        query.columns = columns.map(|names| record::columns(self.schema(), names)).transpose()?;
        query.limit = limit;
        query.is_reverse = reverse;
        self.rows_of(py, query, Gives::Rows)
    }

    /// Returns a list of the records with some values of the columns of a secondary index: with
    /// those of `prefix`, a value or a tuple, or from `start` up to `stop`, which is left out. Each
    /// may have the first columns only.
    ///
    /// Records are in the order of the index, or from the last to the first with `reverse`; at most
    /// `limit` of them. With `columns`, a list of names, they are dicts of these.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (
        index,
        prefix = None,
        *,
        start = None,
        stop = None,
        columns = None,
        limit = None,
        reverse = false,
    ))]
    fn find<'py>(
        &self,
        py: Python<'py>,
        index: &str,
        prefix: Option<&Bound<'py, PyAny>>,
        start: Option<&Bound<'py, PyAny>>,
        stop: Option<&Bound<'py, PyAny>>,
        columns: Option<&Bound<'py, PyAny>>,
        limit: Option<u64>,
        reverse: bool,
    ) -> Result<Bound<'py, PyList>> {
        let of_index = self.columns_of_index(index)?;
        let read = |edge: &Bound<'py, PyAny>| {
            record::values_of(&format!("index {index}"), &of_index, edge, true)
        };
        if prefix.is_some() && (start.is_some() || stop.is_some()) {
            return Err(Failure::argument("give a prefix, or a start and a stop, not both"));
        }
        let lower = prefix.or(start).map(read).transpose()?;
        let upper = prefix.or(stop).map(read).transpose()?;
        let chosen = columns.map(|names| record::columns(self.schema(), names)).transpose()?;
        let find = Find {
            index,
            columns: &of_index,
            lower: lower.as_deref(),
            upper: upper.as_deref(),
            has_upper: prefix.is_some(),
            chosen: chosen.as_deref(),
            limit,
            is_reverse: reverse,
        };
        let rows = self.view.read(py, &self.table, |table| find.run(table))?;
        let list = PyList::empty(py);
        for values in &rows {
            list.append(match &chosen {
                Some(columns) => self.shape.part(py, columns, values)?,
                None => self.shape.row(py, values)?,
            })?;
        }
        Ok(list)
    }

    /// Creates a secondary index on some columns, a name or several, while the table is in use. A
    /// `unique` one refuses records with equal values in these columns: `UniqueError`.
    #[pyo3(signature = (name, columns, *, unique = false))]
    fn create_index(
        &self,
        py: Python<'_>,
        name: &str,
        columns: &Bound<'_, PyAny>,
        unique: bool,
    ) -> Result<()> {
        self.expect_now("create_index")?;
        let columns: Vec<String> = match columns.extract() {
            Ok(one) => vec![one],
            Err(_) => columns.extract()?,
        };
        let index = lode::IndexSchema::new(name, columns);
        let index = if unique { index.unique() } else { index };
        py.detach(|| Ok(self.table.create_index(&index)?))
    }

    /// Drops a secondary index.
    fn drop_index(&self, py: Python<'_>, name: &str) -> Result<()> {
        self.expect_now("drop_index")?;
        py.detach(|| Ok(self.table.drop_index(name)?))
    }

    /// The secondary indexes: the names of their columns, by their names.
    #[getter]
    fn indexes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let indexes = PyDict::new(py);
        for index in self.table.indexes()? {
            indexes.set_item(index.name(), PyTuple::new(py, index.columns())?)?;
        }
        Ok(indexes)
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        record: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let packed = self.shape.pack(self.schema(), record, Some(key))?;
        self.upsert_packed(py, &packed).map(|_| ())
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<()> {
        match self.delete_key(py, key)? {
            true => Ok(()),
            false => Err(PyKeyError::new_err((key.clone().unbind(),)).into()),
        }
    }

    /// Inserts a record, a mapping or an object with the columns as attributes. Returns false if
    /// there is one with its key, which stays.
    fn insert(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> Result<bool> {
        let packed = self.shape.pack(self.schema(), record, None)?;
        let packed = packed.as_slice();
        self.view.write(
            py,
            || Ok(self.table.insert(packed)?),
            |transaction| Ok(transaction.insert(&self.table, packed)?),
        )
    }

    /// Writes a record, in the place of one with its key. Returns true if there was one.
    fn upsert(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> Result<bool> {
        let packed = self.shape.pack(self.schema(), record, None)?;
        self.upsert_packed(py, &packed)
    }

    /// Sets columns of the record with a key: `table.update(7, age=37)`. Returns false if there is
    /// none. No other write of the record comes between.
    #[pyo3(signature = (key, /, **columns))]
    fn update(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        columns: Option<&Bound<'_, PyDict>>,
    ) -> Result<bool> {
        let schema = self.schema();
        let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
            return Err(PyTypeError::new_err("update takes columns, such as age=37").into());
        };
        let mut values = Vec::new();
        for (name, object) in columns {
            let at = schema.column(&name.extract::<String>()?)?.index();
            let column = &schema.columns()[at];
            if at < schema.key_columns() {
                let table = schema.name().into();
                let column = column.name.clone();
                return Err(lode::Error::KeyColumn { table, column }.into());
            }
            values.push((at, OwnedValue::take(&object, column)?));
        }
        let Some(key) = record::pack_key(schema, key)? else { return Ok(false) };
        let update = Update { table: &self.table, key: &key, values: &values };
        self.view.write(py, || update.alone(), |transaction| update.within(transaction))
    }

    /// Deletes the record with a key. Returns false if no record has it.
    fn delete(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<bool> {
        self.delete_key(py, key)
    }

    /// Adds `by` to a column of whole numbers of the record with a key, by itself and not in a
    /// transaction. Returns the sum, or `None` if there is no such record.
    #[pyo3(signature = (key, column, by = 1))]
    fn increment<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        column: &str,
        by: i64,
    ) -> Result<Bound<'py, PyAny>> {
        self.expect_now("increment")?;
        let column = self.schema().column(column)?;
        let none = || py.None().into_bound(py);
        let Some(key) = record::pack_key(self.schema(), key)? else { return Ok(none()) };
        let sum = py.detach(|| -> Result<Option<OwnedValue>> {
            Ok(self.table.increment(key.as_slice(), column, by)?.map(OwnedValue::from))
        })?;
        sum.map_or_else(|| Ok(none()), |sum| Ok(sum.give(py)?))
    }

    /// Inserts the records of an iterable together: others see all of them or none. Those whose
    /// keys are there, or come earlier, are left out. Returns the number of inserted ones.
    fn insert_many(&self, py: Python<'_>, records: &Bound<'_, PyAny>) -> Result<u64> {
        let packed = self.pack_all(records)?;
        self.view.write(
            py,
            || Ok(self.table.insert_all(&packed)?),
            |transaction| {
                all_or_none(transaction, &packed, |record| {
                    Ok(transaction.insert(&self.table, record)?)
                })
            },
        )
    }

    /// Writes the records of an iterable together, in the place of those with their keys. Returns
    /// the number of new keys.
    fn upsert_many(&self, py: Python<'_>, records: &Bound<'_, PyAny>) -> Result<u64> {
        let packed = self.pack_all(records)?;
        self.view.write(
            py,
            || Ok(self.table.upsert_all(&packed)?),
            |transaction| {
                all_or_none(transaction, &packed, |record| {
                    Ok(!transaction.upsert(&self.table, record)?)
                })
            },
        )
    }

    /// Writes the rows of a stream of Arrow (a table of pyarrow, a frame of polars, …), each batch
    /// as a whole; or of NumPy, a dict of arrays or a structured array, as a whole. Columns are
    /// found by their names. Rows whose keys are there are left out, or take their place with
    /// `replace`. Returns the number of new keys.
    #[pyo3(signature = (data, *, replace = false))]
    fn load(&self, data: &Bound<'_, PyAny>, replace: bool) -> Result<u64> {
        self.expect_now("load")?;
        if record::is_arrow(data)? {
            return arrow::load(&self.table, data, replace);
        }
        arrays::load(&self.table, data, replace)?.ok_or_else(|| {
            let takes = "load takes a stream of Arrow, a dict of arrays or a structured array";
            let message = format!("{takes}; use insert_many for other records");
            PyTypeError::new_err(message).into()
        })
    }

    /// Returns all rows as a stream of Arrow, in a capsule.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>> {
        // A wish that a producer may pass over, says Arrow's PyCapsule interface.
        let _ = requested_schema;
        self.query().stream(py)
    }
}

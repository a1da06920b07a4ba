//! Records and keys, packed for Lode and as objects of Python.

use lode::{Column, ColumnId, Schema, Type, Value};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};

use crate::failure::{Failure, Result};
use crate::value::OwnedValue;

/// The shape of a table's rows in Python.
pub(crate) struct Shape {
    /// The names of the columns.
    names: Vec<Py<PyString>>,
    /// The dataclass of the rows; `None` if they are dicts.
    class: Option<Py<PyAny>>,
}

/// The source of the values of a record.
enum Source<'py> {
    Mapping(Bound<'py, PyMapping>),
    Object(Bound<'py, PyAny>),
}

impl<'py> Source<'py> {
    /// Returns the value of a column, if there is one.
    fn get(&self, name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Self::Mapping(mapping) if mapping.contains(name)? => mapping.get_item(name).map(Some),
            Self::Mapping(_) => Ok(None),
            Self::Object(object) => object.getattr_opt(name),
        }
    }

    /// Refuses an object that has none of the columns as an attribute.
    fn expect_record(&self, names: &[Py<PyString>]) -> Result<()> {
        let Self::Object(object) = self else { return Ok(()) };
        for name in names {
            if object.hasattr(name.bind(object.py()))? {
                return Ok(());
            }
        }
        let class = object.get_type().name()?;
        Err(Failure::value(format!(
            "a record is a mapping, or an object with the columns as attributes, not {class}"
        )))
    }
}

impl Shape {
    pub(crate) fn new(py: Python<'_>, schema: &Schema, class: Option<Py<PyAny>>) -> Self {
        let name = |column: &Column| PyString::intern(py, &column.name).unbind();
        Self { names: schema.columns().iter().map(name).collect(), class }
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            names: self.names.iter().map(|name| name.clone_ref(py)).collect(),
            class: self.class.as_ref().map(|class| class.clone_ref(py)),
        }
    }

    /// Visits the dataclass, for the collection of garbage.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.class.as_ref().map_or(Ok(()), |class| visit.call(class))
    }

    /// Makes a row of all columns: an object of the dataclass, or a dict.
    pub(crate) fn row<'py>(
        &self,
        py: Python<'py>,
        values: &[OwnedValue],
    ) -> Result<Bound<'py, PyAny>> {
        let row = PyDict::new(py);
        for (name, value) in self.names.iter().zip(values) {
            row.set_item(name.bind(py), value.give(py)?)?;
        }
        match &self.class {
            None => Ok(row.into_any()),
            Some(class) => Ok(class.bind(py).call((), Some(&row))?),
        }
    }

    /// Makes a dict of some columns.
    pub(crate) fn part<'py>(
        &self,
        py: Python<'py>,
        columns: &[ColumnId],
        values: &[OwnedValue],
    ) -> Result<Bound<'py, PyAny>> {
        let row = PyDict::new(py);
        for (column, value) in columns.iter().zip(values) {
            row.set_item(self.names[column.index()].bind(py), value.give(py)?)?;
        }
        Ok(row.into_any())
    }

    /// Packs a record of an object of Python: a mapping by the names of columns, or an object with
    /// attributes of these names. A `key` that is given is that of the record.
    ///
    /// # Errors
    /// `value_misfit` for a value that is missing or of another class, and for a name that is no
    /// column; those of packing.
    pub(crate) fn pack(
        &self,
        schema: &Schema,
        record: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
    ) -> Result<Vec<u8>> {
        let py = record.py();
        let source = match record.cast::<PyMapping>() {
            Ok(mapping) => Source::Mapping(mapping.clone()),
            Err(_) => Source::Object(record.clone()),
        };
        source.expect_record(&self.names)?;
        let key = key.map(|key| key_values(schema, key, false)).transpose()?;
        let mut seen = 0;
        let mut packed = Vec::new();
        let mut packer = schema.packer(&mut packed);
        for (at, (name, column)) in self.names.iter().zip(schema.columns()).enumerate() {
            let given = source.get(name.bind(py))?;
            seen += usize::from(given.is_some());
            let given = given.map(|object| OwnedValue::take(&object, column)).transpose()?;
            let of_key = key.as_ref().and_then(|values| values.get(at));
            let value = match (of_key, &given) {
                (Some(of_key), None) => of_key,
                (Some(of_key), Some(given)) => {
                    expect_equal(column, of_key, given)?;
                    of_key
                }
                (None, Some(given)) => given,
                (None, None) if column.nullable => &OwnedValue::Null,
                (None, None) => {
                    let column = &column.name;
                    let table = schema.name();
                    let message =
                        format!("column {column} of table {table} has no value; give it one");
                    return Err(Failure::value(message));
                }
            };
            packer.push(value.value(column))?;
        }
        packer.finish()?;
        if let Source::Mapping(mapping) = &source
            && mapping.len()? != seen
        {
            return Err(unknown_name(schema, mapping)?);
        }
        Ok(packed)
    }
}

/// Refuses a record whose key is not the one under which it is written.
fn expect_equal(column: &Column, of_key: &OwnedValue, given: &OwnedValue) -> Result<()> {
    let is_equal = match (of_key, given, column.kind) {
        (OwnedValue::Float(of_key), OwnedValue::Float(given), Type::F32) => {
            (*of_key as f32).to_bits() == (*given as f32).to_bits()
        }
        (OwnedValue::Float(of_key), OwnedValue::Float(given), _) => {
            of_key.to_bits() == given.to_bits()
        }
        _ => of_key.value(column) == given.value(column),
    };
    if is_equal {
        return Ok(());
    }
    let message = format!("column {} of the record is not that of the key", column.name);
    Err(Failure::value(message))
}

/// Makes the failure of a mapping with a name that is none of the columns.
fn unknown_name(schema: &Schema, mapping: &Bound<'_, PyMapping>) -> Result<Failure> {
    let is_column = |name: &str| schema.columns().iter().any(|column| column.name == name);
    for key in mapping.keys()?.iter() {
        match key.extract::<String>() {
            Ok(name) if is_column(&name) => {}
            Ok(name) => {
                let message = format!("table {} has no column {name}", schema.name());
                return Ok(Failure::value(message));
            }
            Err(_) => {
                return Ok(Failure::value("a record has the names of columns, which are str"));
            }
        }
    }
    Ok(Failure::value("a record has more values than columns"))
}

/// Reads a key: its value if it has one column, a tuple of its values if it has more. With
/// `is_prefix` it may have fewer values.
pub(crate) fn key_values(
    schema: &Schema,
    key: &Bound<'_, PyAny>,
    is_prefix: bool,
) -> Result<Vec<OwnedValue>> {
    let columns: Vec<_> = schema.columns()[..schema.key_columns()].iter().collect();
    values_of(&format!("a key of table {}", schema.name()), &columns, key, is_prefix)
}

/// Reads the values of some columns, one value or a tuple. With `is_prefix` there may be fewer.
pub(crate) fn values_of(
    what: &str,
    columns: &[&Column],
    object: &Bound<'_, PyAny>,
    is_prefix: bool,
) -> Result<Vec<OwnedValue>> {
    let parts = match object.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![object.clone()],
    };
    let is_possible = parts.len() == columns.len() || is_prefix && parts.len() < columns.len();
    if !is_possible {
        let expected = columns.len();
        let given = parts.len();
        return Err(Failure::value(format!("{what} has {expected} values, not {given}")));
    }
    parts.iter().zip(columns).map(|(part, column)| OwnedValue::take(part, column)).collect()
}

/// Packs a key; `None` if no record can have it, since it is too long.
pub(crate) fn pack_key(schema: &Schema, key: &Bound<'_, PyAny>) -> Result<Option<Vec<u8>>> {
    let owned = key_values(schema, key, false)?;
    match schema.pack_key(&values(schema, &owned)) {
        Ok(packed) => Ok(Some(packed)),
        Err(lode::Error::KeyTooLong { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the values of the first columns of a key.
pub(crate) fn values<'v>(schema: &Schema, owned: &'v [OwnedValue]) -> Vec<Value<'v>> {
    owned.iter().zip(schema.columns()).map(|(value, column)| value.value(column)).collect()
}

/// Reads a packed record.
pub(crate) fn unpack(schema: &Schema, record: &[u8]) -> Result<Vec<OwnedValue>> {
    let row = schema.row(record)?;
    Ok(schema.columns().iter().map(|column| row.at(column.id()).into()).collect())
}

/// Makes the key of a record: its value if it has one column, or else a tuple.
pub(crate) fn give_key<'py>(py: Python<'py>, values: &[OwnedValue]) -> Result<Bound<'py, PyAny>> {
    if let [value] = values {
        return Ok(value.give(py)?);
    }
    let parts = values.iter().map(|value| value.give(py)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, parts)?.into_any())
}

/// Returns the columns of these names.
pub(crate) fn columns(schema: &Schema, names: &Bound<'_, PyAny>) -> Result<Vec<ColumnId>> {
    if names.is_instance_of::<PyString>() {
        return Err(Failure::argument("columns is a list of names, not a str"));
    }
    let mut found = Vec::new();
    for name in names.try_iter()? {
        found.push(schema.column(&name?.extract::<String>()?)?);
    }
    if found.is_empty() {
        return Err(Failure::argument("columns is empty; name some, or leave it out for all"));
    }
    Ok(found)
}

/// Describes a schema: the types of columns in words, by their names.
pub(crate) fn describe<'py>(py: Python<'py>, schema: &Schema) -> Result<Bound<'py, PyDict>> {
    let described = PyDict::new(py);
    for column in schema.columns() {
        let nullable = if column.nullable { "?" } else { "" };
        let expires = if schema.expires() == Some(column.id()) { " expires" } else { "" };
        described.set_item(&column.name, format!("{}{nullable}{expires}", column.kind))?;
    }
    Ok(described)
}

/// Returns the names of the columns of the key.
pub(crate) fn key_names<'py>(py: Python<'py>, schema: &Schema) -> Result<Bound<'py, PyTuple>> {
    let names = schema.columns()[..schema.key_columns()].iter().map(|column| &column.name);
    Ok(PyTuple::new(py, names.collect::<Vec<_>>())?)
}

/// Returns true if an object has an Arrow stream.
pub(crate) fn is_arrow(object: &Bound<'_, PyAny>) -> Result<bool> {
    Ok(object.hasattr(intern!(object.py(), "__arrow_c_stream__"))?)
}

/// Makes a list of rows, `None` for those that are missing.
pub(crate) fn list<'py>(
    py: Python<'py>,
    shape: &Shape,
    rows: &[Option<Vec<OwnedValue>>],
) -> Result<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in rows {
        match row {
            Some(values) => list.append(shape.row(py, values)?)?,
            None => list.append(py.None())?,
        }
    }
    Ok(list)
}

//! Arrays of NumPy, both ways, through batches of Arrow. NumPy is imported by the first call.

use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch,
    StringArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema as ArrowSchema};
use lode::{Column, Type};
use lode_arrow::{Batches, Packer};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMapping, PyString, PyTuple};

use crate::arrow;
use crate::failure::{Failure, Result};

/// A column that is being read into an array.
struct Filling<'py> {
    name: String,
    nullable: bool,
    form: Form,
    /// The bytes of the array, but for texts.
    bytes: Vec<u8>,
    texts: Bound<'py, PyList>,
    /// One byte a row: 1 if it is null.
    mask: Vec<u8>,
}

/// The form of an array.
#[derive(Clone, Copy)]
enum Form {
    /// One value a row, of a `dtype` and a number of bytes.
    Values(&'static str, usize),
    /// A row of bytes for each row of the table.
    Bytes(usize),
    Bools,
    Texts,
}

impl Form {
    /// # Errors
    /// `value_misfit` for columns without such arrays.
    fn of(column: &Column) -> Result<Self> {
        Ok(match column.kind {
            Type::U8 => Self::Values("=u1", 1),
            Type::U16 => Self::Values("=u2", 2),
            Type::U32 => Self::Values("=u4", 4),
            Type::U64 => Self::Values("=u8", 8),
            Type::I8 => Self::Values("=i1", 1),
            Type::I16 => Self::Values("=i2", 2),
            Type::I32 => Self::Values("=i4", 4),
            Type::I64 => Self::Values("=i8", 8),
            Type::F32 => Self::Values("=f4", 4),
            Type::F64 => Self::Values("=f8", 8),
            Type::Timestamp => Self::Values("=M8[us]", 8),
            Type::Bytes(size) => Self::Bytes(size as usize),
            Type::Bool => Self::Bools,
            Type::Text(_) | Type::VarText(_) => Self::Texts,
            kind => {
                let how = "has no array of NumPy; leave it out by columns=, or read Arrow";
                return Err(Failure::value(format!("column {} of type {kind} {how}", column.name)));
            }
        })
    }
}

impl<'py> Filling<'py> {
    fn new(py: Python<'py>, column: &Column) -> Result<Self> {
        let form = Form::of(column)?;
        let name = column.name.clone();
        let texts = PyList::empty(py);
        let [bytes, mask] = [const { Vec::new() }; 2];
        Ok(Self { name, nullable: column.nullable, form, bytes, texts, mask })
    }

    /// Appends the values of a batch.
    fn append(&mut self, array: &dyn Array) -> PyResult<()> {
        if self.nullable {
            let nulls = (0..array.len()).map(|at| u8::from(array.is_null(at)));
            self.mask.extend(nulls);
        }
        match self.form {
            Form::Values(_, size) | Form::Bytes(size) => {
                let data = array.to_data();
                let bytes = data.buffers()[0].as_slice();
                self.bytes.extend(&bytes[data.offset() * size..][..data.len() * size]);
            }
            Form::Bools => {
                let bools = array.as_any().downcast_ref::<BooleanArray>();
                let bools = bools.expect("columns of bools are arrays of them");
                self.bytes.extend((0..bools.len()).map(|at| u8::from(bools.value(at))));
            }
            Form::Texts => {
                let texts = array.as_any().downcast_ref::<StringArray>();
                for text in texts.expect("columns of text are arrays of it") {
                    self.texts.append(text)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the array: one with a mask if the column can be null, but for texts, which are None.
    fn finish(self, numpy: &Bound<'py, PyModule>, rows: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = numpy.py();
        let array = |shape: Bound<'py, PyAny>, dtype: &str, bytes: &[u8]| {
            let class = numpy.getattr("ndarray")?;
            class.call1((
                shape,
                numpy.call_method1("dtype", (dtype,))?,
                PyByteArray::new(py, bytes),
            ))
        };
        let shape = (rows,).into_pyobject(py)?.into_any();
        let values = match self.form {
            Form::Values(dtype, _) => array(shape.clone(), dtype, &self.bytes)?,
            Form::Bools => array(shape.clone(), "?", &self.bytes)?,
            Form::Bytes(size) => {
                array((rows, size).into_pyobject(py)?.into_any(), "u1", &self.bytes)?
            }
            Form::Texts => {
                let options = PyDict::new(py);
                if self.nullable {
                    options.set_item("na_object", py.None())?;
                }
                let class = numpy.getattr("dtypes")?.getattr("StringDType")?;
                let dtype = class.call((), Some(&options))?;
                return numpy.call_method1("array", (self.texts, dtype));
            }
        };
        if !self.nullable {
            return Ok(values);
        }
        let mut mask = array(shape, "?", &self.mask)?;
        if let Form::Bytes(size) = self.form {
            // A mask has the shape of its array.
            mask =
                mask.call_method1("repeat", (size,))?.call_method1("reshape", ((rows, size),))?;
        }
        let options = PyDict::new(py);
        options.set_item("mask", mask)?;
        numpy.getattr("ma")?.call_method("array", (values,), Some(&options))
    }
}

/// Reads batches into arrays of NumPy, by the names of their columns.
pub(crate) fn give<'py>(
    py: Python<'py>,
    columns: &[&Column],
    mut batches: Batches,
) -> Result<Bound<'py, PyDict>> {
    let filling = columns.iter().map(|column| Filling::new(py, column));
    let mut filling = filling.collect::<Result<Vec<_>>>()?;
    let numpy = py.import("numpy")?;
    let mut rows = 0;
    while let Some(batch) = py.detach(|| batches.next()).transpose()? {
        for (filling, array) in filling.iter_mut().zip(batch.columns()) {
            filling.append(array)?;
        }
        rows += batch.num_rows();
        py.check_signals()?;
    }
    let arrays = PyDict::new(py);
    for filling in filling {
        let name = filling.name.clone();
        arrays.set_item(name, filling.finish(&numpy, rows)?)?;
    }
    Ok(arrays)
}

/// Columns by their names.
type Columns<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// Returns the columns of a structured array or of a dict of arrays; `None` for other objects.
fn columns_of<'py>(data: &Bound<'py, PyAny>) -> Result<Option<Columns<'py>>> {
    let mut columns = Vec::new();
    if let Ok(mapping) = data.cast::<PyMapping>() {
        for item in mapping.items()? {
            columns.push(item.extract()?);
        }
        return Ok(Some(columns));
    }
    let names = data.getattr("dtype").and_then(|dtype| dtype.getattr("names"));
    let Some(names) = names.ok().and_then(|names| names.cast_into::<PyTuple>().ok()) else {
        return Ok(None);
    };
    for name in names {
        let array = data.get_item(&name)?;
        columns.push((name.extract()?, array));
    }
    Ok(Some(columns))
}

/// Writes the rows of a structured array or of a dict of arrays into a table, all or none of them.
/// Returns the number of those whose keys were new; `None` for other objects.
pub(crate) fn load(
    table: &lode::Table,
    data: &Bound<'_, PyAny>,
    replace: bool,
) -> Result<Option<u64>> {
    let Some(columns) = columns_of(data)? else { return Ok(None) };
    let py = data.py();
    let numpy = py.import("numpy")?;
    let mut fields = Vec::new();
    let mut arrays = Vec::<ArrayRef>::new();
    for (name, values) in columns {
        let array = take(&numpy, &name, &values)?;
        if let Some(first) = arrays.first()
            && first.len() != array.len()
        {
            let [one, other] = [first.len(), array.len()];
            let before: &Field = &fields[0];
            let message = format!("has {one} rows, and column {name} has {other}");
            return Err(Failure::value(format!("column {} {message}", before.name())));
        }
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let schema = Arc::new(ArrowSchema::new(fields));
    let mut packer = Packer::new(table.schema(), schema.clone())?;
    let batch = RecordBatch::try_new(schema, arrays).map_err(arrow::of_stream)?;
    py.detach(|| arrow::load_batch(table, &mut packer, &batch, replace)).map(Some)
}

/// Reads the bytes of an array of NumPy as values of a type.
macro_rules! primitive {
    ($bytes:expr, $nulls:expr, $kind:ty) => {{
        type Native = <$kind as arrow_array::ArrowPrimitiveType>::Native;
        let (values, _) = $bytes.as_chunks();
        let values = values.iter().map(|bytes| Native::from_ne_bytes(*bytes));
        Arc::new(PrimitiveArray::<$kind>::new(values.collect::<Vec<_>>().into(), $nulls))
    }};
}

/// Reads an array of NumPy, or what it makes one of.
fn take(numpy: &Bound<'_, PyModule>, name: &str, values: &Bound<'_, PyAny>) -> Result<ArrayRef> {
    let array = numpy.call_method1("asanyarray", (values,))?;
    let dtype = array.getattr("dtype")?;
    let refuse = |why: String| Failure::value(format!("column {name}: an array {why}"));
    let of_no_column = || refuse(format!("of {dtype} fits no column"));
    let kind: String = dtype.getattr("kind")?.extract()?;
    let size: usize = dtype.getattr("itemsize")?.extract()?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let is_bytes = kind == "u" && size == 1;
    let (rows, width) = match shape[..] {
        [rows] => (rows, None),
        [rows, width] if is_bytes && width > 0 => (rows, Some(width)),
        _ => {
            let shape = array.getattr("shape")?;
            let wanted = "is none of one dimension, nor rows of bytes (uint8)";
            return Err(refuse(format!("of shape {shape} {wanted}")));
        }
    };
    let masked = numpy.getattr("ma")?;
    let mut nulls = None;
    if array.is_instance(&masked.getattr("MaskedArray")?)? {
        let mut mask = masked.call_method1("getmaskarray", (&array,))?;
        if width.is_some() {
            mask = mask.call_method1("all", (1,))?;
        }
        let mask = bytes_of(&mask)?;
        nulls = Some(mask.as_bytes().iter().map(|is_null| *is_null == 0).collect::<NullBuffer>());
    }
    if matches!(kind.as_str(), "S" | "U" | "T" | "O") {
        let list = array.call_method0("tolist")?.cast_into::<PyList>().map_err(PyErr::from)?;
        return take_objects(&list, nulls.as_ref())
            .ok_or_else(|| refuse(format!("of {dtype} has other values than str, or than bytes")));
    }
    // Half floats are widened; Lode has none. Others get the order of bytes of this machine.
    let native = match (kind.as_str(), size) {
        ("f", 2) => numpy.call_method1("dtype", ("=f4",))?,
        _ => dtype.call_method1("newbyteorder", ("=",))?,
    };
    let array = numpy.call_method1("ascontiguousarray", (array, native))?;
    let bytes = bytes_of(&array)?;
    let bytes = bytes.as_bytes();
    let of_bytes = |width: usize| -> Result<ArrayRef> {
        let size = i32::try_from(width).map_err(|_| of_no_column())?;
        let made = FixedSizeBinaryArray::try_new(size, bytes.to_vec().into(), nulls.clone());
        Ok(Arc::new(made.map_err(arrow::of_stream)?))
    };
    if let Some(width) = width {
        return of_bytes(width);
    }
    Ok(match (kind.as_str(), size) {
        ("u", 1) => primitive!(bytes, nulls, UInt8Type),
        ("u", 2) => primitive!(bytes, nulls, UInt16Type),
        ("u", 4) => primitive!(bytes, nulls, UInt32Type),
        ("u", 8) => primitive!(bytes, nulls, UInt64Type),
        ("i", 1) => primitive!(bytes, nulls, Int8Type),
        ("i", 2) => primitive!(bytes, nulls, Int16Type),
        ("i", 4) => primitive!(bytes, nulls, Int32Type),
        ("i", 8) => primitive!(bytes, nulls, Int64Type),
        ("f", 2 | 4) => primitive!(bytes, nulls, Float32Type),
        ("f", 8) => primitive!(bytes, nulls, Float64Type),
        ("b", 1) => {
            let bools = bytes.iter().map(|byte| *byte != 0).collect();
            Arc::new(BooleanArray::new(bools, nulls))
        }
        ("V", 1..) if rows == 0 || bytes.len() / rows == size => of_bytes(size)?,
        ("M", 8) => {
            let (unit, count): (String, u64) =
                numpy.call_method1("datetime_data", (&dtype,))?.extract()?;
            let (times, _) = bytes.as_chunks();
            let times: Vec<i64> = times.iter().map(|bytes| i64::from_ne_bytes(*bytes)).collect();
            // NumPy's moment that is none.
            let there = |at: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at));
            let nulls = times.iter().enumerate().map(|(at, time)| *time != i64::MIN && there(at));
            let nulls = Some(nulls.collect::<NullBuffer>());
            match (unit.as_str(), count) {
                ("s", 1) => moments::<TimestampSecondType>(times, nulls),
                ("ms", 1) => moments::<TimestampMillisecondType>(times, nulls),
                ("us", 1) => moments::<TimestampMicrosecondType>(times, nulls),
                ("ns", 1) => moments::<TimestampNanosecondType>(times, nulls),
                _ => {
                    let how = "make it one of datetime64[s], [ms], [us] or [ns]";
                    return Err(refuse(format!("of {dtype} fits no column; {how}")));
                }
            }
        }
        _ => return Err(of_no_column()),
    })
}

fn bytes_of<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(array.call_method0("tobytes")?.cast_into()?)
}

fn moments<T>(times: Vec<i64>, nulls: Option<NullBuffer>) -> ArrayRef
where
    T: arrow_array::types::ArrowTimestampType,
{
    Arc::new(PrimitiveArray::<T>::new(times.into(), nulls))
}

/// Reads objects of Python: texts, or bytes, or None; `None` if there are others.
fn take_objects(list: &Bound<'_, PyList>, nulls: Option<&NullBuffer>) -> Option<ArrayRef> {
    let is_null = |at: usize, item: &Bound<'_, PyAny>| {
        item.is_none() || nulls.is_some_and(|nulls| nulls.is_null(at))
    };
    let items = || list.iter().enumerate();
    let is_bytes = |(at, item): (usize, Bound<'_, PyAny>)| {
        !is_null(at, &item) && item.is_instance_of::<PyBytes>()
    };
    if items().any(is_bytes) {
        let bytes = items().map(|(at, item)| {
            if is_null(at, &item) {
                return Some(None);
            }
            Some(Some(item.cast::<PyBytes>().ok()?.as_bytes().to_vec()))
        });
        return Some(Arc::new(bytes.collect::<Option<BinaryArray>>()?));
    }
    let texts = items().map(|(at, item)| {
        if is_null(at, &item) {
            return Some(None);
        }
        Some(Some(item.cast::<PyString>().ok()?.extract::<String>().ok()?))
    });
    Some(Arc::new(texts.collect::<Option<StringArray>>()?))
}

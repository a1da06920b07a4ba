//! Functions of arrays.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use crate::types::array::Array;

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8;

/// Returns the array that the first argument is; none for NULL.
fn argument(context: &Context<'_>) -> Option<Array> {
    match context.get_raw(0) {
        ValueRef::Text(text) => Some(Array::parse(&String::from_utf8_lossy(text))),
        ValueRef::Integer(number) => Some(Array::parse(&number.to_string())),
        _ => None,
    }
}

/// Returns a value of SQLite as an element.
fn element(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Value::Text(String::from_utf8_lossy(text).into_owned())
        }
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Null => Value::Null,
    }
}

/// The most bytes of an array that is gathered, with what each element needs besides.
const MOST_BYTES: usize = 16 << 20;

/// `array_agg`
struct Gathering;

/// The elements so far, and their bytes.
#[derive(Default)]
struct Gathered {
    elements: Vec<Value>,
    bytes: usize,
}

impl Aggregate<Gathered, Option<String>> for Gathering {
    fn init(&self, _: &mut Context<'_>) -> Result<Gathered> {
        Ok(Gathered::default())
    }

    fn step(&self, context: &mut Context<'_>, found: &mut Gathered) -> Result<()> {
        let element = element(context.get_raw(0));
        let text = if let Value::Text(text) = &element { text.len() } else { 0 };
        found.bytes += size_of::<Value>() + text;
        if found.bytes > MOST_BYTES {
            let line = format!("array_agg makes arrays of at most {MOST_BYTES} bytes");
            return Err(Error::UserFunctionError(line.into()));
        }
        found.elements.push(element);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, found: Option<Gathered>) -> Result<Option<String>> {
        Ok(found.map(|found| Array::text(&found.elements)))
    }
}

/// Adds functions of arrays to a connection.
pub(super) fn add_arrays(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("array", -1, FLAGS, |context| {
        let elements: Vec<_> = (0..context.len()).map(|at| element(context.get_raw(at))).collect();
        Ok(Array::text(&elements))
    })?;
    connection.create_scalar_function("array_at", 2, FLAGS, |context| {
        let Some(array) = argument(context) else { return Ok(Value::Null) };
        let place = context.get::<Option<i64>>(1)?.and_then(|at| at.checked_sub(array.first));
        let at = place.and_then(|place| usize::try_from(place).ok());
        Ok(at.and_then(|at| array.elements.get(at)).cloned().unwrap_or(Value::Null))
    })?;
    connection.create_scalar_function("array_json", 1, FLAGS, |context| {
        Ok(argument(context).map(|array| array.json()))
    })?;
    for name in ["array_length", "array_upper"] {
        connection.create_scalar_function(name, 2, FLAGS, |context| {
            let array = argument(context).filter(|array| !array.elements.is_empty());
            let is_first = context.get::<Option<i64>>(1)? == Some(1);
            Ok(array.filter(|_| is_first).map(|array| array.elements.len() as i64))
        })?;
    }
    connection.create_scalar_function("current_schemas", 1, FLAGS, |context| {
        let is_all = context.get::<Option<bool>>(0)?;
        Ok(is_all.map(|is_all| if is_all { "{pg_catalog,public}" } else { "{public}" }))
    })?;
    connection.create_aggregate_function("array_agg", 1, FLAGS, Gathering)
}

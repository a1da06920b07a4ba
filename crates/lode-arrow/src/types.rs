//! The Arrow types of columns, and the schemas of Lode for schemas of Arrow.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};
use lode::{Column, MOST_DECIMAL_DIGITS, MOST_KEY_BYTES, MOST_VARIABLE_BYTES, Schema, Type};

use crate::error::{Error, Result};

/// The key of a field's metadata that says which type of Lode it has.
pub(crate) const TYPE: &str = "lode.type";

/// The key of a field's metadata that says that it is of the primary key.
pub(crate) const IS_KEY: &str = "lode.key";

/// The key of a field's metadata that says that records expire at the time in it.
const EXPIRES: &str = "lode.expires";

/// Returns the Arrow schema of a table's records. The metadata of a field gives its type in Lode
/// (`lode.type`). It also marks fields of the primary key (`lode.key`) and the one by which records
/// expire (`lode.expires`).
pub fn arrow_schema(schema: &Schema) -> SchemaRef {
    let fields = schema.columns().iter().map(|column| field(schema, column));
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

/// Returns the Arrow field of a column.
pub(crate) fn field(schema: &Schema, column: &Column) -> Field {
    let mut metadata = HashMap::from([(TYPE.to_string(), column.kind.to_string())]);
    if column.id().index() < schema.key_columns() {
        metadata.insert(IS_KEY.to_string(), "true".to_string());
    }
    if schema.expires() == Some(column.id()) {
        metadata.insert(EXPIRES.to_string(), "true".to_string());
    }
    Field::new(&column.name, arrow_type(column.kind), column.nullable).with_metadata(metadata)
}

/// Returns the Arrow type of a type of Lode.
fn arrow_type(kind: Type) -> DataType {
    match kind {
        Type::U8 => DataType::UInt8,
        Type::U16 => DataType::UInt16,
        Type::U32 => DataType::UInt32,
        Type::U64 => DataType::UInt64,
        Type::I8 => DataType::Int8,
        Type::I16 => DataType::Int16,
        Type::I32 => DataType::Int32,
        Type::I64 => DataType::Int64,
        Type::F32 => DataType::Float32,
        Type::F64 => DataType::Float64,
        Type::Bool => DataType::Boolean,
        Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Type::Text(_) | Type::VarText(_) => DataType::Utf8,
        // At most 4,096, as a schema of Lode takes them.
        Type::Bytes(size) => DataType::FixedSizeBinary(size as i32),
        Type::VarBytes(_) => DataType::Binary,
        // At most 38 digits, as a schema of Lode takes them.
        Type::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
        other => unreachable!("{other} is a type that this crate does not know"),
    }
}

/// Returns the schema of a table for rows of an Arrow schema.
///
/// The columns named in `keys` become the primary key, in that order. If `keys` is empty, those do
/// whose metadata says so. The metadata also says the type of a column; one without has the
/// smallest type that holds all values of its Arrow type. Text and bytes may then have as many
/// bytes as there can be: 1 MiB, or in a key an equal share of 1,024.
///
/// # Errors
/// `NoColumn` when a column of `keys` is not there; `NoType`; `Lode` when there is no key, or the
/// schema cannot be.
pub fn lode_schema(table: &str, schema: &ArrowSchema, keys: &[String]) -> Result<Schema> {
    let is_key = |field: &&Arc<Field>| field.metadata().contains_key(IS_KEY);
    let key_fields: Vec<&Arc<Field>> = match keys {
        [] => schema.fields().iter().filter(is_key).collect(),
        named => named.iter().map(|name| key_field(schema, name)).collect::<Result<_>>()?,
    };
    let is_in_key = |field: &Field| key_fields.iter().any(|key| key.name() == field.name());
    let most_key = MOST_KEY_BYTES / key_fields.len().max(1) - KEY_LENGTH_BYTES;
    let mut builder = Schema::build(table);
    for field in &key_fields {
        builder = builder.key(field.name(), lode_type(field, most_key as u32)?);
    }
    for field in schema.fields().iter().filter(|field| !is_in_key(field)) {
        let kind = lode_type(field, MOST_VARIABLE_BYTES as u32)?;
        builder = if field.is_nullable() {
            builder.nullable(field.name(), kind)
        } else {
            builder.column(field.name(), kind)
        };
    }
    for field in schema.fields().iter().filter(|field| field.metadata().contains_key(EXPIRES)) {
        builder = builder.expires(field.name());
    }
    Ok(builder.finish()?)
}

/// Bytes that a key has for the length of a text or of bytes.
const KEY_LENGTH_BYTES: usize = 2;

fn key_field<'s>(schema: &'s ArrowSchema, name: &str) -> Result<&'s Arc<Field>> {
    let found = schema.fields().iter().find(|field| field.name() == name);
    found.ok_or_else(|| no_column(name, schema))
}

/// Makes an error that says which columns a schema has instead.
pub(crate) fn no_column(name: &str, schema: &ArrowSchema) -> Error {
    let columns: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    Error::NoColumn { column: name.into(), columns: columns.join(", ").into() }
}

/// Refuses two columns of one name: no lookup could distinguish them.
pub(crate) fn expect_distinct(schema: &ArrowSchema) -> Result<()> {
    let mut names = HashSet::new();
    match schema.fields().iter().find(|field| !names.insert(field.name())) {
        Some(twice) => Err(Error::Format(format!("column {} is there twice", twice.name()).into())),
        None => Ok(()),
    }
}

/// Returns the type of Lode that a field has by its metadata, or else the smallest that holds its
/// values.
fn lode_type(field: &Field, most_bytes: u32) -> Result<Type> {
    if let Some(kind) = field.metadata().get(TYPE).and_then(|words| words.parse().ok()) {
        return Ok(kind);
    }
    smallest_type(field.data_type(), most_bytes).ok_or_else(|| Error::NoType {
        column: field.name().as_str().into(),
        found: Box::new(field.data_type().clone()),
    })
}

/// Returns the type of a column for decimals of Arrow; `None` if Lode has none: for more than 38
/// digits, or digits before the point only from the tens on.
fn decimal_type(precision: u8, scale: i8) -> Option<Type> {
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= precision)?;
    (precision <= MOST_DECIMAL_DIGITS).then_some(Type::Decimal { precision, scale })
}

fn smallest_type(found: &DataType, most_bytes: u32) -> Option<Type> {
    Some(match found {
        DataType::UInt8 => Type::U8,
        DataType::UInt16 => Type::U16,
        DataType::UInt32 => Type::U32,
        DataType::UInt64 => Type::U64,
        DataType::Int8 => Type::I8,
        DataType::Int16 => Type::I16,
        DataType::Int32 => Type::I32,
        DataType::Int64 => Type::I64,
        DataType::Float32 => Type::F32,
        DataType::Float64 => Type::F64,
        DataType::Boolean => Type::Bool,
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => Type::Timestamp,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::VarText(most_bytes),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            Type::VarBytes(most_bytes)
        }
        DataType::FixedSizeBinary(size) => Type::Bytes(u32::try_from(*size).ok()?),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal_type(*precision, *scale)?,
        DataType::Dictionary(_, values) => smallest_type(values, most_bytes)?,
        _ => return None,
    })
}

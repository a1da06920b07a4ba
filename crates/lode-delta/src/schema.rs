//! Columns of a Delta table: their types, and which of them the columns of Lode become ("Schema
//! Serialization Format" in the protocol).
//!
//! Delta has no unsigned integers, and no bytes of a fixed number: these become the next larger
//! type. The metadata of a field says which type of Lode it had, so that it comes back.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BinaryArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::convert::converts;
use crate::error::{Error, Result};
use crate::protocol::Mapping;

/// The keys of a field's metadata that say how files call it.
const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";
const PHYSICAL_ID: &str = "delta.columnMapping.id";

/// The key of a field's metadata that has the types that it had before.
const TYPE_CHANGES: &str = "delta.typeChanges";

/// The digits of a decimal that holds every unsigned integer of 64 bits.
const U64_DIGITS: u8 = 20;

/// A schema as the log has it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Struct {
    r#type: String,
    fields: Vec<StructField>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct StructField {
    name: String,
    /// A word, or an object for a nested type.
    r#type: serde_json::Value,
    nullable: bool,
    #[serde(default)]
    metadata: serde_json::Map<String, serde_json::Value>,
}

/// Returns the schema of the Parquet files for batches of a table of Lode.
pub(crate) fn stored(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let kind = match field.data_type() {
            DataType::UInt8 => DataType::Int16,
            DataType::UInt16 => DataType::Int32,
            DataType::UInt32 => DataType::Int64,
            DataType::UInt64 => DataType::Decimal128(U64_DIGITS, 0),
            DataType::FixedSizeBinary(_) => DataType::Binary,
            same => same.clone(),
        };
        field.as_ref().clone().with_data_type(kind)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Turns a batch into the form that the files have.
pub(crate) fn to_store(batch: &RecordBatch, stored: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(stored_column).collect();
    let batch = RecordBatch::try_new(Arc::clone(stored), columns);
    Ok(batch.map_err(lode_arrow::Error::from)?)
}

fn stored_column(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::UInt8 => {
            Arc::new(column.as_primitive::<UInt8Type>().unary::<_, Int16Type>(i16::from))
        }
        DataType::UInt16 => {
            Arc::new(column.as_primitive::<UInt16Type>().unary::<_, Int32Type>(i32::from))
        }
        DataType::UInt32 => {
            Arc::new(column.as_primitive::<UInt32Type>().unary::<_, Int64Type>(i64::from))
        }
        DataType::UInt64 => {
            let wide: PrimitiveArray<Decimal128Type> =
                column.as_primitive::<UInt64Type>().unary(i128::from);
            let wide = wide.with_precision_and_scale(U64_DIGITS, 0);
            Arc::new(wide.expect("it holds every such integer"))
        }
        DataType::FixedSizeBinary(_) => {
            Arc::new(column.as_fixed_size_binary().iter().collect::<BinaryArray>())
        }
        _ => Arc::clone(column),
    }
}

/// Returns the word for a type that files have.
fn word(kind: &DataType) -> Option<String> {
    Some(match kind {
        DataType::Int8 => "byte".into(),
        DataType::Int16 => "short".into(),
        DataType::Int32 => "integer".into(),
        DataType::Int64 => "long".into(),
        DataType::Decimal128(digits, scale) => format!("decimal({digits},{scale})"),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Boolean => "boolean".into(),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => "timestamp".into(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "timestamp_ntz".into(),
        DataType::Date32 => "date".into(),
        DataType::Utf8 => "string".into(),
        DataType::Binary => "binary".into(),
        DataType::Null => "void".into(),
        _ => return None,
    })
}

/// Returns the type of a word.
fn type_of(word: &str) -> Option<DataType> {
    let decimal = || {
        let (digits, scale) = word.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
        let (digits, scale): (u8, i8) = (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
        let is_decimal = (1..=38).contains(&digits) && (0..=digits as i8).contains(&scale);
        is_decimal.then_some(DataType::Decimal128(digits, scale))
    };
    let moments =
        |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    Some(match word {
        "byte" => DataType::Int8,
        "short" => DataType::Int16,
        "integer" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "boolean" => DataType::Boolean,
        "timestamp" => moments(Some("UTC")),
        "timestamp_ntz" => moments(None),
        "date" => DataType::Date32,
        "string" => DataType::Utf8,
        "binary" => DataType::Binary,
        "void" => DataType::Null,
        _ => decimal()?,
    })
}

/// Returns the schema of files as the log has it.
pub(crate) fn print(stored: &Schema) -> String {
    let fields = stored.fields().iter().map(|field| {
        let metadata = field.metadata().iter();
        let mut metadata: Vec<_> =
            metadata.map(|(key, value)| (key.clone(), value.clone().into())).collect();
        metadata.sort_by(|(one, _), (other, _)| one.cmp(other));
        StructField {
            name: field.name().clone(),
            r#type: word(field.data_type()).expect("files have types of Delta").into(),
            nullable: field.is_nullable(),
            metadata: metadata.into_iter().collect(),
        }
    });
    let schema = Struct { r#type: "struct".into(), fields: fields.collect() };
    serde_json::to_string(&schema).expect("names and words are JSON")
}

/// The name of a column in the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredColumn {
    /// The name, also in the values of partitions.
    pub(crate) name: String,
    /// The number of its field in Parquet, if columns are found by it.
    pub(crate) id: Option<i32>,
}

/// The columns of a table that are read.
pub(crate) struct Columns {
    pub(crate) schema: SchemaRef,
    /// The names of the read columns in the files.
    pub(crate) stored: Vec<StoredColumn>,
    /// The names of all columns of the table, also of those that are not read.
    pub(crate) names: Vec<String>,
}

/// Returns the schema that the log says; columns of types that Lode does not hold are refused.
pub(crate) fn parse(text: &str, place: &str) -> Result<SchemaRef> {
    Ok(Columns::parse(text, Mapping::None, None, place)?.schema)
}

impl Columns {
    /// Reads the schema that the log says: these columns in this order, or all. Refuses types that
    /// Lode does not hold, but for columns that are not read.
    pub(crate) fn parse(
        text: &str,
        mapping: Mapping,
        wanted: Option<&[String]>,
        place: &str,
    ) -> Result<Self> {
        let damaged = |why: &str| Error::Damaged { place: place.into(), why: why.into() };
        let schema: Struct =
            serde_json::from_str(text).map_err(|error| damaged(&format!("its schema: {error}")))?;
        let stored = schema.fields.iter().map(|field| names_in_files(field, mapping));
        let stored: Vec<_> =
            stored.collect::<Result<_, _>>().map_err(|why: String| damaged(&why))?;
        // Columns do not differ by the case of their letters alone.
        let names = schema.fields.iter().map(|field| field.name.to_lowercase());
        expect_distinct(names).map_err(|name| damaged(&format!("column {name} is there twice")))?;
        let names = stored.iter().map(|column| column.name.clone());
        let twice =
            |name: String| damaged(&format!("two of its columns are called {name} in files"));
        expect_distinct(names).map_err(twice)?;
        let names: Vec<_> = schema.fields.iter().map(|field| field.name.clone()).collect();
        let read: Vec<usize> = match wanted {
            None => (0..names.len()).collect(),
            Some(wanted) => {
                let at = |name: &String| {
                    names.iter().position(|found| found == name).ok_or_else(|| Error::NoColumn {
                        place: place.into(),
                        column: name.as_str().into(),
                        columns: names.join(", ").into(),
                    })
                };
                wanted.iter().map(at).collect::<Result<_>>()?
            }
        };
        let fields = read.iter().map(|at| arrow_field(&schema.fields[*at], place));
        let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
        let stored = read.iter().map(|at| stored[*at].clone()).collect();
        Ok(Self { schema, stored, names })
    }
}

/// Returns a column as Arrow has it. Refuses types that Lode does not hold.
fn arrow_field(field: &StructField, place: &str) -> Result<Field> {
    let no =
        |what: String| Error::Unsupported { place: place.into(), what: what.into(), verb: "read" };
    let kind = field.r#type.as_str().and_then(type_of);
    let kind = kind.ok_or_else(|| no(format!("column {} of type {}", field.name, field.r#type)))?;
    if let Some(change) = strange_change(field) {
        return Err(no(format!("a change of column {} {change}", field.name)));
    }
    let metadata = field.metadata.iter();
    let metadata: HashMap<_, _> = metadata
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_string())))
        .collect();
    Ok(Field::new(&field.name, kind, field.nullable).with_metadata(metadata))
}

/// Returns what files call a column, or what its metadata lacks.
fn names_in_files(field: &StructField, mapping: Mapping) -> Result<StoredColumn, String> {
    let lacks = |key: &str| format!("column {} has no {key}", field.name);
    if mapping == Mapping::None {
        return Ok(StoredColumn { name: field.name.clone(), id: None });
    }
    let name = field.metadata.get(PHYSICAL_NAME).and_then(|name| name.as_str());
    let name = name.ok_or_else(|| lacks(PHYSICAL_NAME))?.to_string();
    let id = match mapping {
        Mapping::Id => {
            let id = field.metadata.get(PHYSICAL_ID).and_then(|id| id.as_i64()?.try_into().ok());
            Some(id.ok_or_else(|| lacks(PHYSICAL_ID))?)
        }
        Mapping::None | Mapping::Name => None,
    };
    Ok(StoredColumn { name, id })
}

/// Refuses names of which two are equal, and returns one of these.
fn expect_distinct(names: impl Iterator<Item = String>) -> Result<(), String> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if let Some(name) = seen.replace(name) {
            return Err(name);
        }
    }
    Ok(())
}

/// Returns a change of a column's type that cannot be followed, in words ("Type Change Metadata" in
/// the protocol).
fn strange_change(field: &StructField) -> Option<String> {
    let changes = field.metadata.get(TYPE_CHANGES)?;
    let Some(changes) = changes.as_array() else { return Some(changes.to_string()) };
    let word = |change: &serde_json::Value, key: &str| Some(change.get(key)?.as_str()?.to_string());
    let strange = changes.iter().find(|change| {
        let types = || {
            let before = word(change, "fromType")?;
            let after = word(change, "toType")?;
            Some((type_of(&before)?, type_of(&after)?))
        };
        types().is_none_or(|(before, after)| !converts(&before, &after))
    })?;
    Some(strange.to_string())
}

/// Returns the columns of a schema in words, as `name:type`.
pub(crate) fn words(schema: &Schema) -> Box<str> {
    let columns = schema.fields().iter().map(|field| {
        let null = if field.is_nullable() { "?" } else { "" };
        format!("{}:{}{null}", field.name(), word(field.data_type()).unwrap_or_default())
    });
    columns.collect::<Vec<_>>().join(", ").into()
}

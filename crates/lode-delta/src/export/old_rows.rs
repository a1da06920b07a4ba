//! The rows of a version whose records have changed since: which files have them, and where.

use std::mem::discriminant;

use lode::{Schema, Value};
use lode_arrow::Packer;
use roaring::RoaringTreemap;
use serde_json::Value as Json;

use super::net::{NetChanges, of_lode};
use crate::actions::Add;
use crate::error::{Error, Result};
use crate::read::DeltaTable;

/// A file with rows whose records have changed.
pub(super) struct OldRows<'t> {
    pub(super) file: &'t Add,
    /// The number of rows of the file.
    pub(super) rows: u64,
    /// The places of those that count no more, with those that were deleted before.
    pub(super) deleted: RoaringTreemap,
}

/// The rows of a version whose records have changed.
pub(super) struct Found<'t> {
    pub(super) files: Vec<OldRows<'t>>,
    /// The number of records that were deleted: they have a row, and no record follows it.
    pub(super) deleted: u64,
}

/// Returns the schema of the keys of a table alone.
pub(super) fn key_schema(schema: &Schema) -> Result<Schema> {
    let keys = schema.columns()[..schema.key_columns()].iter();
    let builder = Schema::build(schema.name());
    let builder = keys.fold(builder, |builder, column| builder.key(&column.name, column.kind));
    builder.finish().map_err(of_lode)
}

/// Finds the rows of a version whose records have changed. The table is read by its key columns.
/// Files that cannot have a changed key, as their statistics say, are left out.
pub(super) fn find<'t>(
    table: &'t DeltaTable,
    keys: &Schema,
    net: &NetChanges,
    stop: &mut dyn FnMut(u64) -> bool,
) -> Result<Found<'t>> {
    let first = keys.columns()[0].name.as_str();
    let changed = firsts(keys, net)?;
    let mut found = Found { files: Vec::new(), deleted: 0 };
    for file in table.files() {
        if net.records.is_empty() || !may_have(file, first, changed.as_deref()) {
            continue;
        }
        let mut places = RoaringTreemap::new();
        let mut gone = RoaringTreemap::new();
        let mut packer = None;
        let (rows, before) = table.each_row_of(file, &mut |batch| {
            let packer = match &mut packer {
                Some(packer) => packer,
                None => packer.insert(Packer::new(keys, batch.schema())?),
            };
            packer.pack(batch, &mut |row, key| {
                if let Some(record) = net.records.get(key) {
                    let place = row - 1;
                    places.insert(place);
                    if record.is_none() {
                        gone.insert(place);
                    }
                }
                Ok::<(), lode_arrow::Error>(())
            })?;
            if stop(0) { Err(Error::Interrupted) } else { Ok(()) }
        })?;
        found.deleted += (gone - &before).len();
        if !places.is_subset(&before) {
            found.files.push(OldRows { file, rows, deleted: places | before });
        }
    }
    Ok(found)
}

/// A value of the first column of the key, as statistics have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum First {
    Integer(i128),
    Text(String),
}

impl First {
    /// Takes a value of a record; `None` if statistics lack such values, or have them otherwise.
    fn of_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Unsigned(value) => Some(Self::Integer(value.into())),
            Value::Signed(value) => Some(Self::Integer(value.into())),
            Value::Text(text) => Some(Self::Text(text.into())),
            _ => None,
        }
    }

    fn of_json(value: &Json) -> Option<Self> {
        let integer = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
        integer.map(Self::Integer).or(value.as_str().map(|text| Self::Text(text.into())))
    }
}

/// Returns the values of the first column in the changed keys, in order; `None` if statistics do
/// not have such values.
fn firsts(keys: &Schema, net: &NetChanges) -> Result<Option<Vec<First>>> {
    let first = keys.columns()[0].id();
    let mut values = Vec::new();
    for key in net.records.keys() {
        let row = keys.row(key).map_err(of_lode)?;
        match First::of_value(row.at(first)) {
            Some(value) => values.push(value),
            None => return Ok(None),
        }
    }
    values.sort_unstable();
    values.dedup();
    Ok(Some(values))
}

fn is_of_kind(one: &First, other: &First) -> bool {
    discriminant(one) == discriminant(other)
}

/// Returns false if a file cannot have a row with one of these values in a column.
fn may_have(file: &Add, column: &str, values: Option<&[First]>) -> bool {
    let bounds = || {
        let stats: Json = serde_json::from_str(file.stats.as_deref()?).ok()?;
        let bound = |kind: &str| First::of_json(stats.get(kind)?.get(column)?);
        bound("minValues").zip(bound("maxValues"))
    };
    match (values, bounds()) {
        // Bounds of another kind are not as this program reads them.
        (Some(values), Some((low, high)))
            if values.iter().all(|value| is_of_kind(value, &low) && is_of_kind(value, &high)) =>
        {
            let next = values.partition_point(|value| *value < low);
            values.get(next).is_some_and(|value| *value <= high)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_left_out_only_if_no_value_is_within_its_bounds() {
        let file = |stats: Option<&str>| Add {
            path: "a".into(),
            partition_values: Default::default(),
            size: 1,
            modification_time: 0,
            data_change: true,
            stats: stats.map(String::from),
            deletion_vector: None,
        };
        let values = [3, 7, u64::MAX].map(|value| First::Integer(value.into()));
        let may = |low: &str, high: &str| {
            let stats = format!(r#"{{"minValues":{{"k":{low}}},"maxValues":{{"k":{high}}}}}"#);
            may_have(&file(Some(&stats)), "k", Some(&values))
        };
        for (low, high, wanted) in [
            ("4", "6", false),
            ("-5", "2", false),
            ("8", "18446744073709551614", false),
            ("4", "7", true),
            ("3", "3", true),
            ("18446744073709551615", "18446744073709551615", true),
            // Not as this program reads it.
            ("4.5", "6", true),
            ("4", "null", true),
            (r#""1""#, r#""2""#, true),
        ] {
            assert_eq!(may(low, high), wanted, "{low} to {high}");
        }
        assert!(may_have(&file(None), "k", Some(&values)));
        assert!(may_have(&file(Some("{")), "k", Some(&values)));
        assert!(may_have(&file(Some("{}")), "k", None));
    }
}

//! A Parquet file of a checkpoint: a row for each action, a column for each kind of them
//! ("Checkpoint Schema" in the protocol).

use std::fs::File;
use std::sync::Arc;

use lode_arrow::guard_panics;
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{Type, TypePtr};

use crate::actions::Action;

/// The needed fields of an added file: statistics by column, in types of their own, are not.
const ADD: [&str; 7] = [
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "stats",
    "deletionVector",
];

/// Calls `take` with the actions of a file, as far as they are of the wanted kinds. An error says
/// what is wrong with the file.
pub(crate) fn actions_of(
    file: File,
    kinds: &[&str],
    take: &mut dyn FnMut(Action),
) -> Result<(), String> {
    let read = guard_panics(|| {
        let wrong = |why: String| lode_arrow::Error::Format(why.into());
        let reader = SerializedFileReader::new(file)?;
        let schema = reader.metadata().file_metadata().schema();
        let wanted = projected(schema, kinds).map_err(wrong)?;
        for row in reader.get_row_iter(Some(wanted))? {
            let action = serde_json::from_value(row?.to_json_value());
            take(action.map_err(|error| wrong(error.to_string()))?);
        }
        Ok(())
    });
    read.map_err(|error| error.to_string())
}

/// Returns the columns that are read.
fn projected(schema: &Type, kinds: &[&str]) -> Result<Type, String> {
    let mut columns = Vec::new();
    for column in schema.get_fields().iter().filter(|column| kinds.contains(&column.name())) {
        if !column.is_group() {
            return Err(format!("its column {} has no members", column.name()));
        }
        let column = match column.name() {
            "add" => members(column, &ADD)?,
            _ => Arc::clone(column),
        };
        expect_text(&column)?;
        columns.push(column);
    }
    let whole = Type::group_type_builder(schema.name()).with_fields(columns).build();
    whole.map_err(|error| error.to_string())
}

/// Returns a column with some of its members.
fn members(column: &Type, names: &[&str]) -> Result<TypePtr, String> {
    let members = column.get_fields().iter().filter(|member| names.contains(&member.name()));
    let group = Type::group_type_builder(column.name())
        .with_repetition(column.get_basic_info().repetition())
        .with_fields(members.cloned().collect());
    group.build().map(Arc::new).map_err(|error| error.to_string())
}

/// Refuses bytes that are not said to be text: they would be read as another text.
fn expect_text(column: &Type) -> Result<(), String> {
    if column.is_group() {
        return column.get_fields().iter().try_for_each(|member| expect_text(member));
    }
    let is_text = column.get_basic_info().converted_type() == ConvertedType::UTF8;
    match column.get_physical_type() {
        PhysicalType::BYTE_ARRAY if !is_text => {
            Err(format!("{} is bytes and not text", column.name()))
        }
        _ => Ok(()),
    }
}

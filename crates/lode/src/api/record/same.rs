//! Compares the columns of a table with those of a struct.

use crate::error::{Error, Result};
use crate::schema::{Column, Schema};

/// Refuses a table whose columns are not those of a record, and says which one differs.
pub(in crate::api) fn expect_same(table: &Schema, record: &Schema) -> Result<()> {
    let describe = |schema: &Schema, at: usize| {
        let column = schema.columns().get(at);
        column.map_or("missing".into(), |column| description(schema, at, column))
    };
    let most = table.columns().len().max(record.columns().len());
    for at in 0..most {
        let in_table = describe(table, at);
        let in_record = describe(record, at);
        if in_table != in_record {
            let number = at + 1;
            return Err(Error::OtherColumns {
                table: table.name().into(),
                number,
                in_table: in_table.into(),
                in_record: in_record.into(),
            });
        }
    }
    Ok(())
}

fn description(schema: &Schema, at: usize, column: &Column) -> String {
    let Column { name, kind, nullable, .. } = column;
    let role = match (at < schema.key_columns(), nullable) {
        (true, _) => ", of the key",
        (false, true) => ", can be null",
        (false, false) => "",
    };
    let expires = if schema.expires() == Some(column.id()) { ", expires" } else { "" };
    format!("{name} ({kind:?}{role}{expires})")
}

//! Keys of imported records: columns of the source, or numbers that are made for its rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use lode::{Column, ReadTable, Schema, Table, Type, Value};
use program_support::exit::{Failure, Outcome};

use crate::database::Opened;

/// The word of `--key` for numbers that are made.
const AUTO: &str = "auto";

/// The column of a new table that has these numbers.
pub(super) const ROW: &str = "row";

/// The keys that `--key` names.
#[derive(Clone, Copy)]
pub(super) enum Keys<'a> {
    /// These columns; those of the source if the list is empty.
    Named(&'a [String]),
    /// A number for each row.
    Auto,
}

impl<'a> Keys<'a> {
    pub(super) fn of(names: &'a [String]) -> Self {
        match names {
            [word] if word == AUTO => Self::Auto,
            names => Self::Named(names),
        }
    }

    /// Refuses a table whose key is another.
    pub(super) fn expect_of(self, table: &Table) -> Outcome {
        let schema = table.schema();
        let columns = schema.columns()[..schema.key_columns()].iter();
        let key: Vec<_> = columns.map(|column| column.name.as_str()).collect();
        match self {
            Self::Named(names) if !names.is_empty() && names != key => {
                Err(Failure::Usage(format!(
                    "--key: table {} is there already, and its key is {}",
                    schema.name(),
                    key.join(", ")
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Numbers for the rows of a source, as the key of a table.
#[derive(Debug)]
pub(super) struct Numbers {
    column: String,
    kind: Type,
    /// The number of the first row.
    first: u64,
}

impl Numbers {
    /// Returns the columns of a new table: those of a source after the numbers.
    pub(super) fn before(found: &ArrowSchema) -> (SchemaRef, Vec<String>) {
        let number = Arc::new(Field::new(ROW, DataType::Int64, false));
        let fields = std::iter::once(number).chain(found.fields().iter().cloned());
        (Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>())), vec![ROW.into()])
    }

    /// Returns numbers from 1 on for the key of a schema, which has to be one integer.
    pub(super) fn of(schema: &Schema) -> Outcome<Self> {
        match &schema.columns()[..schema.key_columns()] {
            [key] if is_integer(key) => {
                Ok(Self { column: key.name.clone(), kind: key.kind, first: 1 })
            }
            _ => Err(Failure::Usage(format!(
                "--key auto: the key of table {} is not a single integer",
                schema.name()
            ))),
        }
    }

    /// Returns numbers from that after the largest key of a table on.
    pub(super) fn after(opened: &Opened, table: &Table) -> Outcome<Self> {
        let numbers = Self::of(table.schema())?;
        let largest = largest_key(table).map_err(|error| opened.failure(&error))?;
        let first = match largest {
            None | Some(..=0) => Some(1),
            Some(largest) => u64::try_from(largest + 1).ok(),
        };
        let first = first.ok_or_else(|| numbers.overflow())?;
        Ok(Self { first, ..numbers })
    }

    /// Returns the column that has the numbers.
    pub(super) fn column(&self) -> &str {
        &self.column
    }

    /// Adds its number to each row of a batch, before which there were `before` rows.
    pub(super) fn add_to(&self, batch: &RecordBatch, before: u64) -> Outcome<RecordBatch> {
        let rows = batch.num_rows() as u64;
        let from = self.first.checked_add(before);
        let to = from.and_then(|from| from.checked_add(rows));
        let (Some(from), Some(to)) = (from, to) else { return Err(self.overflow()) };
        let numbers: ArrayRef = if is_unsigned(self.kind) {
            Arc::new(UInt64Array::from_iter_values(from..to))
        } else {
            let signed = |number: u64| i64::try_from(number).ok();
            let numbers = (from..to).map(signed).collect::<Option<Vec<_>>>();
            Arc::new(Int64Array::from(numbers.ok_or_else(|| self.overflow())?))
        };
        let field = Arc::new(Field::new(&self.column, numbers.data_type().clone(), false));
        let schema = batch.schema();
        let fields = std::iter::once(field).chain(schema.fields().iter().cloned());
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let columns = std::iter::once(numbers).chain(batch.columns().iter().cloned()).collect();
        RecordBatch::try_new(schema, columns).map_err(|error| Failure::Wrong(error.to_string()))
    }

    fn overflow(&self) -> Failure {
        let Self { column, kind, .. } = self;
        Failure::Wrong(format!("--key auto: column {column} ({kind}) has no numbers left"))
    }
}

/// Refuses a source of that name that has the column whose values are made.
pub(super) fn expect_unnumbered(name: &str, found: &ArrowSchema, column: &str) -> Outcome {
    match found.index_of(column) {
        Err(_) => Ok(()),
        Ok(_) => Err(Failure::Usage(format!(
            "{name}: it has a column {column}, which --key auto would number; --columns leaves it \
             out"
        ))),
    }
}

fn is_unsigned(kind: Type) -> bool {
    matches!(kind, Type::U8 | Type::U16 | Type::U32 | Type::U64)
}

fn is_integer(column: &Column) -> bool {
    is_unsigned(column.kind) || matches!(column.kind, Type::I8 | Type::I16 | Type::I32 | Type::I64)
}

/// Returns the largest key of a table whose key is one integer: the last one of a tree, and of a
/// hash one that all of its records are read for.
fn largest_key(table: &Table) -> lode::Result<Option<i128>> {
    let key = table.schema().columns()[0].id();
    let mut rows = match table.key_kind() {
        lode::KeyKind::Tree => table.iter().rev().limit(1),
        lode::KeyKind::Hash => table.iter(),
    };
    let mut largest = None;
    while let Some(row) = rows.next_row()? {
        let number = match row.at(key) {
            Value::Unsigned(number) => Some(i128::from(number)),
            Value::Signed(number) => Some(i128::from(number)),
            _ => None,
        };
        largest = largest.max(number);
    }
    Ok(largest)
}

//! From columns to rows: record batches become packed records.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use lode::{Column, Schema, Value};

use crate::cells::{Cells, takes};
use crate::error::{Error, Result};
use crate::types::{expect_distinct, no_column};

/// A function that is called with the number of a row, counted from 1, and its packed record.
pub type Put<'p, E> = dyn FnMut(u64, &[u8]) -> Result<(), E> + 'p;

/// Packs the rows of record batches as records of a table.
///
/// Columns are found by their names. A column that can be null may be missing. Values may come in
/// other types than those of [`arrow_schema`](crate::arrow_schema), as long as they mean the same:
/// integers in any integer type, moments in any unit, text and bytes in any layout. One that does
/// not fit exactly is an error.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use lode::{Schema, Type};
/// use lode_arrow::Packer;
///
/// let schema = Schema::build("byte").key("id", Type::U8).nullable("bits", Type::U8).finish()?;
/// let ids: ArrayRef = Arc::new(Int64Array::from(vec![7, 255, 256]));
/// let batch = RecordBatch::try_from_iter([("id", ids)])?;
///
/// let mut packer = Packer::new(&schema, batch.schema())?;
/// let mut records = Vec::new();
/// let refused = packer.pack(&batch, &mut |_, record| {
///     records.push(record.to_vec());
///     Ok::<(), lode_arrow::Error>(())
/// });
/// assert_eq!(records, [[7, 0, 1], [255, 0, 1]]);
/// let why = refused.expect_err("it does not fit").to_string();
/// assert_eq!(why, "row 3: column id (u8) cannot hold 256");
/// # Ok::<(), lode_arrow::Error>(())
/// ```
#[derive(Debug)]
pub struct Packer {
    schema: Schema,
    /// The schema of the batch before.
    found: SchemaRef,
    /// The places of the values of each column of the table; `None` if the column is null.
    sources: Vec<Option<usize>>,
    /// The number of rows before.
    rows: u64,
    rounds_times: bool,
}

impl Packer {
    /// Makes a packer for batches of this schema. Later ones may be of others.
    ///
    /// # Errors
    /// `NoColumn`, `ExtraColumn`, `TypeMisfit`; `Format` when two columns have one name.
    pub fn new(schema: &Schema, found: SchemaRef) -> Result<Self> {
        expect_distinct(&found)?;
        let sources = schema.columns().iter().map(|column| source(column, &found));
        let sources = sources.collect::<Result<_>>()?;
        for field in found.fields() {
            if schema.column(field.name()).is_err() {
                let names: Vec<_> = schema.columns().iter().map(|column| &*column.name).collect();
                return Err(Error::ExtraColumn {
                    column: field.name().as_str().into(),
                    table: schema.name().into(),
                    columns: names.join(", ").into(),
                });
            }
        }
        Ok(Self { schema: schema.clone(), found, sources, rows: 0, rounds_times: false })
    }

    /// Rounds times to the nearest microsecond, if that is wanted. Times with more digits are
    /// refused otherwise.
    #[must_use]
    pub fn rounds_times(self, rounds_times: bool) -> Self {
        Self { rounds_times, ..self }
    }

    /// Returns the number of rows that were packed so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Packs the rows of a batch. Calls `put` with the number of each row, counted from 1 over all
    /// batches, and its record.
    ///
    /// # Errors
    /// `ValueMisfit`, and `Row` when values do not fit; those of [`new`](Self::new) when the batch
    /// is of another schema; those of `put`. What comes before the error was put.
    pub fn pack<E: From<Error>>(
        &mut self,
        batch: &RecordBatch,
        put: &mut Put<'_, E>,
    ) -> Result<(), E> {
        let is_same = Arc::ptr_eq(batch.schema_ref(), &self.found)
            || batch.schema_ref().fields() == self.found.fields();
        if !is_same {
            let next = Self::new(&self.schema, batch.schema())?;
            *self = Self { rows: self.rows, rounds_times: self.rounds_times, ..next };
        }
        let columns = self.schema.columns().iter().zip(&self.sources);
        let cells = |source: Option<usize>| {
            Some(Cells::of(batch.column(source?))?.rounding(self.rounds_times))
        };
        let columns: Vec<(&Column, Option<Cells<'_>>)> =
            columns.map(|(column, source)| (column, cells(*source))).collect();
        for at in 0..batch.num_rows() {
            self.rows += 1;
            let record = pack_row(&self.schema, &columns, at, self.rows)?;
            put(self.rows, &record)?;
        }
        Ok(())
    }
}

/// Returns the place of the values of a column.
fn source(column: &Column, found: &ArrowSchema) -> Result<Option<usize>> {
    let mut fields = found.fields().iter();
    let Some(at) = fields.position(|field| *field.name() == column.name) else {
        return if column.nullable { Ok(None) } else { Err(no_column(&column.name, found)) };
    };
    let kind = found.field(at).data_type();
    if takes(column.kind, kind) {
        Ok(Some(at))
    } else {
        Err(Error::TypeMisfit {
            column: column.name.as_str().into(),
            found: Box::new(kind.clone()),
            kind: column.kind,
        })
    }
}

fn pack_row(
    schema: &Schema,
    columns: &[(&Column, Option<Cells<'_>>)],
    at: usize,
    row: u64,
) -> Result<Vec<u8>> {
    let misfit = |column: &Column, value: &str| Error::ValueMisfit {
        row,
        column: column.name.as_str().into(),
        kind: column.kind,
        value: value.into(),
    };
    let mut values = Vec::with_capacity(columns.len());
    for (column, cells) in columns {
        let value = cells.as_ref().map_or(Ok(Value::Null), |cells| cells.value(at, column.kind));
        let value = value.map_err(|why| misfit(column, &why.0))?;
        if value == Value::Null && !column.nullable {
            return Err(misfit(column, "null"));
        }
        values.push(value);
    }
    let mut record = schema.pack(&values).map_err(|source| Error::Row { row, source })?;
    for (column, cells) in columns {
        let is_null = || values[column.id().index()] == Value::Null;
        if column.kind == lode::Type::F32
            && let Some(bits) = cells.as_ref().and_then(|cells| cells.odd_float(at))
            && !is_null()
        {
            let cell = schema.bytes_of(&record, column).as_ptr().addr() - record.as_ptr().addr();
            record[cell..cell + bits.len()].copy_from_slice(&bits);
        }
    }
    Ok(record)
}

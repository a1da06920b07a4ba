//! The columns that a table has after changes, and what its records are then.

use super::Change;
use crate::api::Table;
use crate::decimal::Decimal;
use crate::error::{Error, Result, SchemaFault};
use crate::schema::{Column, ColumnId, IndexSchema, Packer, RowRef, Schema, Type, Value};
use crate::table::KeyKind;

/// The source of the values of a column.
#[derive(Clone, Copy)]
enum Source<'v> {
    /// A column of the table before.
    Column(ColumnId),
    /// One value for all records.
    Value(Value<'v>),
}

/// A column of the table after the changes.
struct Planned<'v> {
    name: String,
    kind: Type,
    nullable: bool,
    source: Source<'v>,
}

/// The table after changes, and how its records come from those before.
pub(super) struct Conversion<'v> {
    pub schema: Schema,
    pub kind: KeyKind,
    pub indexes: Vec<IndexSchema>,
    /// The source of the values of each column: those of the key come from columns.
    sources: Vec<Source<'v>>,
}

/// The changes that are being put together.
struct Plan<'v, 's> {
    before: &'s Schema,
    columns: Vec<Planned<'v>>,
    name: String,
    kind: KeyKind,
    indexes: Vec<IndexSchema>,
    /// The name of the column by which records expire.
    expires: Option<String>,
}

impl<'v> Conversion<'v> {
    /// Puts changes of a table together.
    ///
    /// # Errors
    /// `NoColumn`, `KeyColumn`, `ColumnInUse`, `InvalidSchema`; `ValueMisfit` and `ValueTooLong` of
    /// the value of a new column.
    pub(super) fn new(
        before: &Schema,
        kind: KeyKind,
        indexes: &[IndexSchema],
        changes: &[Change<'v>],
    ) -> Result<Self> {
        let columns = before.columns().iter().map(|column| Planned {
            name: column.name.clone(),
            kind: column.kind,
            nullable: column.nullable,
            source: Source::Column(column.id()),
        });
        let columns = columns.collect();
        let name = before.name().into();
        let expires = before.expires().map(|column| before[column].name.clone());
        let mut plan = Plan { before, columns, name, kind, indexes: indexes.to_vec(), expires };
        changes.iter().try_for_each(|change| plan.take(change))?;
        let Plan { columns, name, kind, indexes, expires, .. } = plan;
        let mut builder =
            columns.iter().enumerate().fold(Schema::build(&name), |builder, (at, column)| {
                let Planned { name, kind, nullable, .. } = column;
                match (at < before.key_columns(), nullable) {
                    (true, _) => builder.key(name, *kind),
                    (false, true) => builder.nullable(name, *kind),
                    (false, false) => builder.column(name, *kind),
                }
            });
        if let Some(name) = &expires {
            builder = builder.expires(name);
        }
        let sources = columns.iter().map(|column| column.source).collect();
        Ok(Self { schema: builder.finish()?, kind, indexes, sources })
    }

    /// Returns true if each record of a table stays as it is, and each entry of its indexes.
    pub(super) fn keeps_records(&self, table: &Table) -> bool {
        let is_own = |(at, source): (usize, &Source<'_>)| match source {
            Source::Column(column) => column.index() == at,
            Source::Value(_) => false,
        };
        // An entry has the indexed columns in its key.
        let is_indexed = |column: &Column| {
            self.indexes.iter().any(|index| index.columns().contains(&column.name))
        };
        let mut both = self.schema.columns().iter().zip(table.schema().columns());
        self.kind == table.key_kind()
            && self.sources.iter().enumerate().all(is_own)
            && self.schema.suits_records_of(table.schema())
            && both.all(|(own, before)| own.kind == before.kind || !is_indexed(own))
    }

    /// Converts a packed key of the table before, in place of the content of `converted`.
    ///
    /// # Errors
    /// `RecordMisfit`.
    pub(super) fn key(&self, before: &Schema, key: &[u8], converted: &mut Vec<u8>) -> Result<()> {
        let row = before.row_of(key, None);
        let mut packer = self.schema.packer(converted);
        let columns = self.schema.columns().iter().zip(&self.sources);
        for (column, source) in columns.take(before.key_columns()) {
            self.push(&mut packer, &row, column, source)?;
        }
        let key_bytes = packer.key_bytes();
        converted.truncate(key_bytes);
        Ok(())
    }

    /// Converts a packed record of the table before, in place of the content of `converted`.
    /// Returns the bytes of its key.
    ///
    /// # Errors
    /// `NotPacked`, `RecordMisfit`.
    pub(super) fn record(
        &self,
        before: &Schema,
        record: &[u8],
        converted: &mut Vec<u8>,
    ) -> Result<usize> {
        let row = before.row(record)?;
        let mut packer = self.schema.packer(converted);
        for (column, source) in self.schema.columns().iter().zip(&self.sources) {
            self.push(&mut packer, &row, column, source)?;
        }
        packer.finish()
    }

    /// Packs the value of the next column of a record.
    fn push(
        &self,
        packer: &mut Packer<'_>,
        row: &RowRef<'_>,
        column: &Column,
        source: &Source<'_>,
    ) -> Result<()> {
        let at = match source {
            Source::Value(value) => return packer.push(*value),
            Source::Column(at) => *at,
        };
        // Also a text that is none: what has the same type has the same bytes.
        if row.schema()[at].kind == column.kind
            && let Some(bytes) = row.bytes_at(at)
        {
            return packer.push_bytes(bytes);
        }
        let value = row.at(at);
        let fitting = fitting(value, column.kind);
        let pushed = fitting.and_then(|value| packer.push(value).ok());
        pushed.ok_or_else(|| self.misfit(row, column, value))
    }

    #[cold]
    fn misfit(&self, row: &RowRef<'_>, column: &Column, value: Value<'_>) -> Error {
        let before = row.schema();
        let source = Error::ValueMisfit {
            table: before.name().into(),
            column: column.name.as_str().into(),
            kind: column.kind,
            value: value.shown().into(),
        };
        Error::RecordMisfit { key: before.shown_key(row.bytes()).into(), source: source.into() }
    }
}

/// Returns a value as one of another type; `None` if it is no such value.
fn fitting(value: Value<'_>, kind: Type) -> Option<Value<'_>> {
    use Type::{
        Bytes, Decimal as Digits, F32, F64, I8, I16, I32, I64, Text, Timestamp, U8, U16, U32, U64,
        VarBytes, VarText,
    };
    let whole = match value {
        Value::Unsigned(number) => Some(i128::from(number)),
        Value::Signed(number) | Value::Timestamp(number) => Some(i128::from(number)),
        _ => None,
    };
    Some(match (kind, whole, value) {
        (U8 | U16 | U32 | U64, Some(number), _) => Value::Unsigned(number.try_into().ok()?),
        (I8 | I16 | I32 | I64, Some(number), _) => Value::Signed(number.try_into().ok()?),
        (Timestamp, Some(number), _) => Value::Timestamp(number.try_into().ok()?),
        (Digits { .. }, Some(number), _) => Value::Decimal(Decimal::new(number, 0)?),
        (F32 | F64, Some(number), _) => Value::Float(exact(number, kind)?),
        (F32, _, Value::Float(number)) => {
            let is_exact = number.is_nan() || f64::from(number as f32) == number;
            is_exact.then_some(value)?
        }
        (Bytes(_) | VarBytes(_), _, Value::Text(text)) => Value::Bytes(text.as_bytes()),
        (Text(_) | VarText(_), _, Value::Bytes(bytes)) => {
            Value::Text(std::str::from_utf8(bytes).ok()?)
        }
        _ => value,
    })
}

/// Returns a whole number as a float of a type; `None` if it is not exactly one.
fn exact(number: i128, kind: Type) -> Option<f64> {
    let float = if kind == Type::F32 { f64::from(number as f32) } else { number as f64 };
    (float as i128 == number).then_some(float)
}

impl<'v> Plan<'v, '_> {
    fn take(&mut self, change: &Change<'v>) -> Result<()> {
        match change {
            Change::AddColumn { name, kind, nullable, value } => {
                self.expect_new(name)?;
                self.expect_value(name, *kind, *nullable, *value)?;
                let name = name.clone();
                let source = Source::Value(*value);
                self.columns.push(Planned { name, kind: *kind, nullable: *nullable, source });
            }
            Change::DropColumn { name } => {
                let at = self.column_after_key(name)?;
                self.expect_unused(name)?;
                self.columns.remove(at);
            }
            Change::RenameColumn { from, to } => {
                let at = self.column(from)?;
                if from != to {
                    self.expect_new(to)?;
                }
                self.columns[at].name.clone_from(to);
                self.rename_in_indexes(from, to);
                if self.expires.as_ref() == Some(from) {
                    self.expires = Some(to.clone());
                }
            }
            Change::Retype { name, kind } => {
                let at = self.column(name)?;
                let before = self.columns[at].kind;
                if at < self.before.key_columns() && !can_be_key_of(before, *kind) {
                    return Err(self.key_column(name));
                }
                self.columns[at].kind = *kind;
            }
            Change::SetNullable { name, nullable } => {
                let at = self.column_after_key(name)?;
                self.columns[at].nullable = *nullable;
            }
            Change::RenameTable { name } => self.name.clone_from(name),
            Change::FindBy { kind } => self.kind = *kind,
            Change::ExpireBy { name } => {
                name.iter().try_for_each(|name| self.column_after_key(name).map(drop))?;
                self.expires.clone_from(name);
            }
        }
        Ok(())
    }

    /// Refuses the name of another column.
    fn expect_new(&self, name: &str) -> Result<()> {
        match self.column(name) {
            Err(_) => Ok(()),
            Ok(_) => Err(Error::InvalidSchema {
                table: self.table(),
                fault: SchemaFault::SameName { column: name.into() },
            }),
        }
    }

    /// Returns the place of a column.
    fn column(&self, name: &str) -> Result<usize> {
        let found = self.columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| Error::NoColumn { table: self.table(), column: name.into() })
    }

    /// Returns the place of a column that is not of the key.
    fn column_after_key(&self, name: &str) -> Result<usize> {
        let at = self.column(name)?;
        if at < self.before.key_columns() { Err(self.key_column(name)) } else { Ok(at) }
    }

    fn table(&self) -> String {
        self.before.name().into()
    }

    fn key_column(&self, name: &str) -> Error {
        Error::KeyColumn { table: self.table(), column: name.into() }
    }

    /// Refuses a column that an index has.
    fn expect_unused(&self, name: &str) -> Result<()> {
        let has_it = |index: &&IndexSchema| index.columns().iter().any(|column| column == name);
        match self.indexes.iter().find(has_it) {
            None => Ok(()),
            Some(index) => Err(Error::ColumnInUse {
                table: self.table(),
                column: name.into(),
                index: index.name().into(),
            }),
        }
    }

    /// Refuses a value that a column cannot have.
    fn expect_value(&self, name: &str, kind: Type, nullable: bool, value: Value<'_>) -> Result<()> {
        let schema = Schema::build(self.before.name()).key("", Type::U8);
        let schema = match nullable {
            true => schema.nullable(name, kind),
            false => schema.column(name, kind),
        };
        schema.finish()?.pack(&[Value::Unsigned(0), value]).map(drop)
    }

    fn rename_in_indexes(&mut self, from: &str, to: &str) {
        for index in &mut self.indexes {
            let columns = index.columns().iter();
            let columns = columns.map(|name| if name == from { to } else { name.as_str() });
            let renamed = IndexSchema::new(index.name(), columns);
            *index = if index.is_unique() { renamed.unique() } else { renamed };
        }
    }
}

/// Returns true if keys stay different when a column becomes one of another type.
fn can_be_key_of(before: Type, after: Type) -> bool {
    use Type::{I8, I16, I32, I64, Text, Timestamp, U8, U16, U32, U64, VarBytes, VarText};
    let is_whole = |kind| matches!(kind, U8 | U16 | U32 | U64 | I8 | I16 | I32 | I64 | Timestamp);
    match (before, after) {
        (Text(_), Text(_) | VarText(_)) | (VarText(_), VarText(_)) | (VarBytes(_), VarBytes(_)) => {
            true
        }
        _ => before == after || is_whole(before) && is_whole(after),
    }
}

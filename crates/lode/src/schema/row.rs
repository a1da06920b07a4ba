//! Records as values, for those who do not pack them themselves.

use super::key::KeyOrder;
use super::{Column, Schema, Type};
use crate::error::Result;

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'v> {
    /// None.
    Null,
    /// Of the unsigned integer types.
    Unsigned(u64),
    /// Of the signed integer types.
    Signed(i64),
    /// Of the float types.
    Float(f64),
    /// Of `Bool`.
    Bool(bool),
    /// Of `Timestamp`.
    Timestamp(i64),
    /// Of `Text`.
    Text(&'v str),
    /// Of `Bytes`.
    Bytes(&'v [u8]),
}

impl Schema {
    /// Packs a record from the values of all columns.
    ///
    /// # Errors
    /// `Schema` when there are more or fewer values than columns, or one does not fit its column.
    pub fn pack(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        let mut record = vec![0; self.record_size()];
        self.pack_columns(self.columns(), values, &mut record)?;
        Ok(record)
    }

    /// Packs a key from the values of its columns.
    ///
    /// # Errors
    /// As [`pack`](Self::pack).
    pub fn pack_key(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        let mut key = vec![0; self.key_size()];
        self.pack_columns(&self.columns()[..self.key_columns()], values, &mut key)?;
        Ok(key)
    }

    /// Packs the lowest and the highest key that begin with the values of the first columns of the
    /// key: the bounds, both included, of a [scan](crate::Scan) of all keys that do.
    ///
    /// ```
    /// use std::ops::Bound;
    /// use lode::{Database, KeyKind, Scan, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("call").key("caller", Type::I32).key("time", Type::Timestamp);
    /// let calls = db.create_table(&schema.finish()?, KeyKind::Tree)?;
    /// for (caller, time) in [(1, 10), (2, 5), (2, -7), (3, 0)] {
    ///     calls.insert(&calls.schema().pack(&[Value::Signed(caller), Value::Timestamp(time)])?)?;
    /// }
    ///
    /// let (lower, upper) = calls.schema().pack_prefix(&[Value::Signed(2)])?;
    /// let scan = Scan {
    ///     lower: Bound::Included(&lower),
    ///     upper: Bound::Included(&upper),
    ///     backward: false,
    ///     columns: &[1],
    ///     limit: u64::MAX,
    /// };
    /// let mut times = Vec::new();
    /// calls.scan(&scan, &mut |row| {
    ///     times.push(i64::from_le_bytes(row.try_into().expect("eight bytes")));
    ///     Ok(true)
    /// })?;
    /// assert_eq!(times, [-7, 5]);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`pack`](Self::pack); and when there are more values than columns of the key.
    pub fn pack_prefix(&self, values: &[Value<'_>]) -> Result<(Vec<u8>, Vec<u8>)> {
        let columns = self.columns()[..self.key_columns()].get(..values.len());
        let columns = columns.ok_or_else(|| {
            let (most, given) = (self.key_columns(), values.len());
            self.mismatch(format!("the key has {most} columns, and there are {given} values"))
        })?;
        let (order, size) = (KeyOrder::new(self), self.key_size());
        let bound = |rest: u8| {
            let mut key = vec![0; size];
            order.decode(&vec![rest; size], &mut key);
            self.pack_columns(columns, values, &mut key).map(|()| key)
        };
        Ok((bound(0)?, bound(u8::MAX)?))
    }

    fn pack_columns(&self, columns: &[Column], values: &[Value<'_>], to: &mut [u8]) -> Result<()> {
        if columns.len() != values.len() {
            let (wanted, given) = (columns.len(), values.len());
            return Err(self.mismatch(format!("there are {wanted} columns and {given} values")));
        }
        for (column, value) in columns.iter().zip(values) {
            self.set(to, column, *value)?;
        }
        Ok(())
    }

    /// Sets a column of a packed record.
    ///
    /// # Errors
    /// `Schema` when the value does not fit the column.
    pub fn set(&self, record: &mut [u8], column: &Column, value: Value<'_>) -> Result<()> {
        let cell = &mut record[column.range()];
        let fits = match (column.kind, value) {
            (_, Value::Null) => {
                cell.fill(0);
                column.nullable
            }
            (Type::U8 | Type::U16 | Type::U32 | Type::U64, Value::Unsigned(number)) => {
                let bytes = number.to_le_bytes();
                let (low, high) = bytes.split_at(cell.len());
                cell.copy_from_slice(low);
                high.iter().all(|byte| *byte == 0)
            }
            (Type::I8 | Type::I16 | Type::I32 | Type::I64, Value::Signed(number))
            | (Type::Timestamp, Value::Timestamp(number)) => {
                let bits = cell.len() * 8;
                cell.copy_from_slice(&number.to_le_bytes()[..bits / 8]);
                number << (64 - bits) >> (64 - bits) == number
            }
            (Type::F32, Value::Float(number)) => {
                cell.copy_from_slice(&(number as f32).to_le_bytes());
                // Rounded, as everywhere; but not to infinity.
                (number as f32).is_finite() || !number.is_finite()
            }
            (Type::F64, Value::Float(number)) => {
                cell.copy_from_slice(&number.to_le_bytes());
                true
            }
            (Type::Bool, Value::Bool(bool)) => {
                cell[0] = u8::from(bool);
                true
            }
            (Type::Text(_), Value::Text(text)) => {
                let fits = text.len() <= cell.len() && !text.ends_with('\0');
                cell.fill(0);
                let count = text.len().min(cell.len());
                cell[..count].copy_from_slice(&text.as_bytes()[..count]);
                fits
            }
            (Type::Bytes(_), Value::Bytes(bytes)) => {
                let fits = bytes.len() == cell.len();
                if fits {
                    cell.copy_from_slice(bytes);
                }
                fits
            }
            _ => false,
        };
        if !fits {
            let Column { name, kind, .. } = column;
            return Err(self.mismatch(format!("{value:?} does not fit column {name}: {kind:?}")));
        }
        if let Some((at, mask)) = self.null_bit(column) {
            match value {
                Value::Null => record[at] |= mask,
                _ => record[at] &= !mask,
            }
        }
        Ok(())
    }

    /// Where the bit is that says that a column is null: its byte, and which bit of it.
    pub(crate) fn null_bit(&self, column: &Column) -> Option<(usize, u8)> {
        let bits = self.null_bits().start;
        column.null_bit.map(|bit| (bits + bit / 8, 1 << (bit % 8)))
    }

    /// Where the bits are that say what is null.
    pub(crate) fn null_bits(&self) -> std::ops::Range<usize> {
        self.columns().last().map_or(0, |last| last.range().end)..self.record_size()
    }

    /// A packed record, to look at its values.
    ///
    /// # Errors
    /// `Schema` when it has more or fewer bytes than a record.
    pub fn row<'r>(&'r self, record: &'r [u8]) -> Result<Row<'r>> {
        self.expect_record(record)?;
        Ok(Row { schema: self, record })
    }
}

/// A packed record with its schema.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    schema: &'r Schema,
    record: &'r [u8],
}

impl<'r> Row<'r> {
    /// What it looks like.
    pub fn schema(&self) -> &'r Schema {
        self.schema
    }

    /// The value of a column by its name; `None` if there is no such column.
    pub fn get(&self, name: &str) -> Option<Value<'r>> {
        self.schema.position(name).map(|at| self.at(at))
    }

    /// The value of the column at a place.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn at(&self, column: usize) -> Value<'r> {
        let column = &self.schema.columns()[column];
        if let Some((at, mask)) = self.schema.null_bit(column)
            && self.record[at] & mask != 0
        {
            return Value::Null;
        }
        let cell = &self.record[column.range()];
        let mut bytes = [0; 8];
        let count = cell.len().min(8);
        bytes[..count].copy_from_slice(&cell[..count]);
        let bits = count as u32 * 8;
        let signed = || i64::from_le_bytes(bytes) << (64 - bits) >> (64 - bits);
        match column.kind {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
                Value::Unsigned(u64::from_le_bytes(bytes))
            }
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => Value::Signed(signed()),
            Type::Timestamp => Value::Timestamp(signed()),
            Type::F32 => {
                let four = bytes.first_chunk().expect("eight bytes");
                Value::Float(f32::from_le_bytes(*four).into())
            }
            Type::F64 => Value::Float(f64::from_le_bytes(bytes)),
            Type::Bool => Value::Bool(cell[0] != 0),
            Type::Text(_) => {
                let end = cell.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                // Whoever packs records himself may put there what is no text.
                match str::from_utf8(&cell[..end]) {
                    Ok(text) => Value::Text(text),
                    Err(_) => Value::Bytes(&cell[..end]),
                }
            }
            Type::Bytes(_) => Value::Bytes(cell),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_what_does_not_fit_is_refused() {
        let schema = Schema::build("t")
            .key("a", Type::U16)
            .column("b", Type::I8)
            .nullable("c", Type::Text(4))
            .nullable("d", Type::F32)
            .column("e", Type::Bytes(2))
            .column("f", Type::Bool)
            .column("g", Type::Timestamp)
            .finish()
            .expect("a schema");
        let values = [
            Value::Unsigned(65535),
            Value::Signed(-128),
            Value::Text("äh"),
            Value::Null,
            Value::Bytes(b"xy"),
            Value::Bool(true),
            Value::Timestamp(-1),
        ];
        let record = schema.pack(&values).expect("they fit");
        let row = schema.row(&record).expect("a record");
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        for (name, value) in names.iter().zip(values) {
            assert_eq!(row.get(name), Some(value), "{name}");
        }
        assert_eq!(row.get("h"), None);
        for (at, value) in [
            (0, Value::Unsigned(65536)),
            (0, Value::Null),
            (0, Value::Signed(1)),
            (1, Value::Signed(128)),
            (1, Value::Signed(-129)),
            (2, Value::Text("abcde")),
            (2, Value::Text("a\0")),
            (3, Value::Float(1e39)),
            (4, Value::Bytes(b"x")),
            (5, Value::Unsigned(1)),
        ] {
            let mut wrong = values;
            wrong[at] = value;
            let why = schema.pack(&wrong).expect_err("it does not fit").to_string();
            assert!(why.contains(&format!("column {}", names[at])), "{why}");
        }
        assert!(schema.pack(&values[1..]).is_err());
        assert!(schema.row(&record[1..]).is_err());
    }
}

//! Packing records from values. A caller can also write the bytes of a record itself.

use super::{Column, MOST_RECORD_BYTES, Schema, Type, Value, key, packed_key};
use crate::error::{Error, Result};

/// The most bytes of a number.
const NUMBER_BYTES: usize = 8;

/// A record that is being packed, made by [`Schema::packer`]: the values of its columns come one
/// after another.
pub struct Packer<'p> {
    schema: &'p Schema,
    record: &'p mut Vec<u8>,
    /// The column whose value comes next.
    next: usize,
    /// The bytes of the key, when it is whole.
    front: usize,
}

impl Packer<'_> {
    /// Packs the value of the next column.
    ///
    /// # Errors
    /// As [`Schema::pack`]. The next value is again for the same column then.
    pub fn push(&mut self, value: Value<'_>) -> Result<()> {
        let Some(column) = self.schema.columns.get(self.next) else {
            return Err(self.schema.value_count(self.schema.columns.len(), self.next + 1));
        };
        if self.next < self.schema.key_columns {
            self.push_to_key(column, value)?
        } else {
            self.push_to_payload(column, value)?
        }
        self.next += 1;
        Ok(())
    }

    fn push_to_key(&mut self, column: &Column, value: Value<'_>) -> Result<()> {
        let before = self.record.len();
        let packed = self.schema.pack_cell(column, value, self.record);
        if packed.is_err() {
            self.record.truncate(before);
        } else if self.next + 1 == self.schema.key_columns {
            self.front = self.record.len();
            self.record.resize(self.front + self.schema.payload_size(), 0);
        }
        packed
    }

    fn push_to_payload(&mut self, column: &Column, value: Value<'_>) -> Result<()> {
        let Self { schema, record, front, .. } = self;
        if column.kind.is_variable() {
            let bytes = schema.variable_bytes(column, value)?;
            schema.append(record, *front, column, bytes)?;
        } else {
            let place = schema.range_in_payload(column);
            schema.fill(&mut record[*front..][place], column, value)?;
        }
        schema.set_null(&mut record[*front..], column, value);
        Ok(())
    }

    /// Packs the bytes of the next column, as [`RowRef::bytes_at`](super::RowRef::bytes_at) returns
    /// them from one of the same type.
    ///
    /// # Errors
    /// `ValueTooLong` or `KeyTooLong`; `RecordTooLong`.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let Self { schema, record, front, next } = self;
        let column = &schema.columns[*next];
        let size = column.range().len();
        debug_assert!(column.kind.is_variable() || bytes.len() <= size, "it is of the type");
        match (*next < schema.key_columns, column.kind.is_variable()) {
            (true, true) => {
                schema.expect_length(column, bytes.len())?;
                packed_key::append(bytes, record);
            }
            (true, false) => {
                let end = record.len() + size;
                record.extend_from_slice(bytes);
                record.resize(end, 0);
            }
            (false, true) => schema.append(record, *front, column, bytes)?,
            (false, false) => {
                let begin = *front + schema.range_in_payload(column).start;
                record[begin..begin + bytes.len()].copy_from_slice(bytes);
            }
        }
        if *next + 1 == schema.key_columns {
            *front = record.len();
            record.resize(*front + schema.payload_size(), 0);
        }
        *next += 1;
        Ok(())
    }

    /// Returns the bytes of the key, which is whole.
    pub(crate) fn key_bytes(&self) -> usize {
        debug_assert!(self.next >= self.schema.key_columns, "the columns of the key come first");
        self.front
    }

    /// Ends the record. Returns the bytes of its key.
    ///
    /// # Errors
    /// `ValueCount` when columns have had no value.
    pub fn finish(self) -> Result<usize> {
        self.schema.expect_count(&self.schema.columns, self.next)?;
        Ok(self.front)
    }
}

impl std::fmt::Debug for Packer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Schema {
    /// Packs a record from the values of all columns.
    ///
    /// # Errors
    /// `ValueCount` when there are more or fewer values than columns; `ValueMisfit`, `ValueTooLong`
    /// or `KeyTooLong` when one does not fit its column; `RecordTooLong`.
    pub fn pack(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        let columns = self.columns();
        self.expect_count(columns, values.len())?;
        let variable = columns.iter().zip(values).filter(|(column, _)| column.kind.is_variable());
        // A value that does not fit needs no room.
        let variable =
            variable.map(|(_, value)| value.size()).sum::<usize>().min(MOST_RECORD_BYTES);
        let mut record = Vec::with_capacity(self.record_size() + variable + NUMBER_BYTES);
        let mut packer = self.packer(&mut record);
        for value in values {
            packer.push(*value)?;
        }
        packer.finish()?;
        debug_assert!(self.expect_record(&record).is_ok(), "a packed record can be read");
        Ok(record)
    }

    /// Packs a record value by value, in the place of the content of `record`: memory that is used
    /// for many records. Until [`finish`](Packer::finish) there is no whole record in it.
    ///
    /// ```
    /// use lode::{Schema, Type, Value};
    ///
    /// let schema = Schema::build("square").key("of", Type::U32).column("is", Type::U64).finish()?;
    /// let mut record = Vec::new();
    /// for number in 0..4 {
    ///     let mut packer = schema.packer(&mut record);
    ///     packer.push(Value::Unsigned(number))?;
    ///     packer.push(Value::Unsigned(number * number))?;
    ///     packer.finish()?;
    ///     assert_eq!(schema.row(&record)?.get("is"), Some(Value::Unsigned(number * number)));
    /// }
    /// # Ok::<(), lode::Error>(())
    /// ```
    pub fn packer<'p>(&'p self, record: &'p mut Vec<u8>) -> Packer<'p> {
        record.clear();
        Packer { schema: self, record, next: 0, front: 0 }
    }

    /// Packs a key from the values of its columns.
    ///
    /// # Errors
    /// As [`pack`](Self::pack).
    pub fn pack_key(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(self.key_size() + NUMBER_BYTES);
        self.append_key(values, &mut key)?;
        Ok(key)
    }

    /// Packs a key, and appends it to `to`.
    ///
    /// # Errors
    /// As [`pack`](Self::pack). Anything may have been appended to `to` then.
    pub fn append_key(&self, values: &[Value<'_>], to: &mut Vec<u8>) -> Result<()> {
        self.pack_cells(&self.columns()[..self.key_columns()], values, to)
    }

    /// Packs the lowest and the highest key that start with the values of the first columns of the
    /// key: the bounds, both included, of a range of all keys that do.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("call").key("caller", Type::I32).key("time", Type::Timestamp);
    /// let calls = db.create_table(&schema.finish()?, KeyKind::Tree)?;
    /// for (caller, time) in [(1, 10), (2, 5), (2, -7), (3, 0)] {
    ///     calls.insert(&calls.schema().pack(&[Value::Signed(caller), Value::Timestamp(time)])?)?;
    /// }
    ///
    /// let (lower, upper) = calls.schema().pack_prefix(&[Value::Signed(2)])?;
    /// let mut times = Vec::new();
    /// for row in calls.range(lower..=upper) {
    ///     if let Some(Value::Timestamp(time)) = row?.get("time") {
    ///         times.push(time);
    ///     }
    /// }
    /// assert_eq!(times, [-7, 5]);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`pack`](Self::pack); and when there are more values than columns of the key.
    pub fn pack_prefix(&self, values: &[Value<'_>]) -> Result<(Vec<u8>, Vec<u8>)> {
        let columns = self.columns()[..self.key_columns()].get(..values.len());
        let columns = columns.ok_or_else(|| self.value_count(self.key_columns(), values.len()))?;
        let mut lowest = Vec::new();
        self.pack_cells(columns, values, &mut lowest)?;
        let mut highest = lowest.clone();
        for column in &self.columns()[values.len()..self.key_columns()] {
            key::append_lowest(column.kind, &mut lowest);
            key::append_highest(column.kind, &mut highest);
        }
        Ok((lowest, highest))
    }

    /// Appends columns of the key.
    fn pack_cells(&self, columns: &[Column], values: &[Value<'_>], to: &mut Vec<u8>) -> Result<()> {
        self.expect_count(columns, values.len())?;
        for (column, value) in columns.iter().zip(values) {
            self.pack_cell(column, *value, to)?;
        }
        Ok(())
    }

    /// Appends a column of the key.
    pub(super) fn pack_cell(
        &self,
        column: &Column,
        value: Value<'_>,
        to: &mut Vec<u8>,
    ) -> Result<()> {
        if column.kind.is_variable() {
            let bytes = self.variable_bytes(column, value)?;
            self.expect_length(column, bytes.len())?;
            packed_key::append(bytes, to);
            return Ok(());
        }
        let from = to.len();
        if let Value::Text(_) | Value::Bytes(_) = value
            && let Type::Text(most) | Type::Bytes(most) = column.kind
            && value.size() > most as usize
        {
            return Err(self.key_too_long(column, value.size()));
        }
        let size = column.range().len();
        if size <= NUMBER_BYTES {
            // Appends eight zeros at once, without a call.
            to.extend_from_slice(&[0; NUMBER_BYTES]);
            to.truncate(from + size);
        } else {
            to.resize(from + size, 0);
        }
        self.fill(&mut to[from..], column, value)
    }

    /// Refuses `given` values if that is not the number of columns.
    pub(crate) fn expect_count(&self, columns: &[Column], given: usize) -> Result<()> {
        let wanted = columns.len();
        if wanted == given { Ok(()) } else { Err(self.value_count(wanted, given)) }
    }

    fn value_count(&self, columns: usize, values: usize) -> Error {
        Error::ValueCount { table: self.name().into(), columns, values }
    }

    /// Sets a column of a packed record, which gets longer or shorter if the column is of variable
    /// length.
    ///
    /// # Errors
    /// `ValueMisfit`, `ValueTooLong` or `KeyTooLong` when the value does not fit the column;
    /// `NotPacked` when the record is none; `RecordTooLong`.
    pub fn set(&self, record: &mut Vec<u8>, column: &Column, value: Value<'_>) -> Result<()> {
        self.expect_record(record)?;
        let front = self.front_of(record);
        match (self.is_of_key(column), column.kind.is_variable()) {
            (true, false) => {
                let place = self.place_in_key(record, column);
                self.fill(&mut record[place], column, value)?;
            }
            (true, true) => {
                self.exchange_in_key(record, column, self.variable_bytes(column, value)?)?;
            }
            (false, false) => {
                self.fill(&mut record[front..][self.range_in_payload(column)], column, value)?;
            }
            (false, true) => {
                self.exchange(record, front, column, self.variable_bytes(column, value)?)?;
            }
        }
        let front = self.front_of(record);
        self.set_null(&mut record[front..], column, value);
        Ok(())
    }

    /// Returns the bytes that a column of variable length has for a value.
    fn variable_bytes<'v>(&self, column: &Column, value: Value<'v>) -> Result<&'v [u8]> {
        match (column.kind, value) {
            (_, Value::Null) if column.nullable => Ok(&[]),
            (Type::VarText(_), Value::Text(text)) => Ok(text.as_bytes()),
            (Type::VarBytes(_), Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(self.misfit(column, value)),
        }
    }

    /// Fills the cell of a column of fixed length; it stays as it is if the value does not fit.
    fn fill(&self, cell: &mut [u8], column: &Column, value: Value<'_>) -> Result<()> {
        let fits = match (column.kind, value) {
            (_, Value::Null) => {
                if column.nullable {
                    cell.fill(0);
                }
                column.nullable
            }
            (Type::U8, Value::Unsigned(number)) => {
                u8::try_from(number).is_ok_and(|number| put(cell, number.to_le_bytes()))
            }
            (Type::U16, Value::Unsigned(number)) => {
                u16::try_from(number).is_ok_and(|number| put(cell, number.to_le_bytes()))
            }
            (Type::U32, Value::Unsigned(number)) => {
                u32::try_from(number).is_ok_and(|number| put(cell, number.to_le_bytes()))
            }
            (Type::U64, Value::Unsigned(number)) => put(cell, number.to_le_bytes()),
            (Type::I8, Value::Signed(number)) => {
                i8::try_from(number).is_ok_and(|number| put(cell, number.to_le_bytes()))
            }
            (Type::I16, Value::Signed(number)) => {
                i16::try_from(number).is_ok_and(|number| put(cell, number.to_le_bytes()))
            }
            (Type::I32, Value::Signed(number)) => {
                i32::try_from(number).is_ok_and(|number| put(cell, number.to_le_bytes()))
            }
            (Type::I64, Value::Signed(number)) | (Type::Timestamp, Value::Timestamp(number)) => {
                put(cell, number.to_le_bytes())
            }
            (Type::F32, Value::Float(number)) => {
                // Rounded, as in all conversions to `f32`; but not to infinity.
                let rounded = number as f32;
                (rounded.is_finite() || !number.is_finite()) && put(cell, rounded.to_le_bytes())
            }
            (Type::F64, Value::Float(number)) => put(cell, number.to_le_bytes()),
            (Type::Decimal { precision, scale }, Value::Decimal(number)) => {
                number.rescaled(precision, scale).is_some_and(|unscaled| {
                    // Decimals of at most 18 digits fit 8 bytes.
                    let size = cell.len();
                    cell.copy_from_slice(&unscaled.to_le_bytes()[..size]);
                    true
                })
            }
            (Type::Bool, Value::Bool(bool)) => {
                cell[0] = u8::from(bool);
                true
            }
            (Type::Text(_), Value::Text(text)) => {
                let fits = text.len() <= cell.len() && !text.ends_with('\0');
                if fits {
                    let (front, rest) = cell.split_at_mut(text.len());
                    front.copy_from_slice(text.as_bytes());
                    rest.fill(0);
                }
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
        if fits { Ok(()) } else { Err(self.misfit(column, value)) }
    }

    fn misfit(&self, column: &Column, value: Value<'_>) -> Error {
        Error::ValueMisfit {
            table: self.name().into(),
            column: column.name.as_str().into(),
            kind: column.kind,
            value: value.shown().into(),
        }
    }

    /// Sets or clears the null bit of a column in a payload, if it can be null.
    fn set_null(&self, payload: &mut [u8], column: &Column, value: Value<'_>) {
        if let Some((at, mask)) = self.null_bit(column) {
            match value {
                Value::Null => payload[at] |= mask,
                _ => payload[at] &= !mask,
            }
        }
    }
}

/// Puts a number into its cell, which has the same size.
fn put<const SIZE: usize>(cell: &mut [u8], number: [u8; SIZE]) -> bool {
    cell.copy_from_slice(&number);
    true
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
        let mut again = record.clone();
        let mut packer = schema.packer(&mut again);
        values.iter().for_each(|value| packer.push(*value).expect("it fits"));
        assert!(packer.push(Value::Null).is_err(), "there is no eighth column");
        assert_eq!(packer.finish(), Ok(2));
        assert_eq!(again, record);
        assert!(schema.packer(&mut again).finish().is_err(), "there are no values");
        let mut packer = schema.packer(&mut again);
        for value in values {
            assert!(packer.push(Value::Unsigned(1 << 60)).is_err(), "it does not fit");
            packer.push(value).expect("the column has come again");
        }
        packer.finish().expect("it is whole");
        assert_eq!(again, record);
        let mut key = b"before".to_vec();
        schema.append_key(&values[..1], &mut key).expect("it fits");
        assert_eq!(key, b"before\xff\xff");
        assert!(schema.row(&record[1..]).is_err());
    }
}

//! Packing records from values. A caller can also write the bytes of a record itself.

use super::{Column, MOST_RECORD_BYTES, Schema, Type, Value, key, packed_key};
use crate::error::{Error, Result};

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
        // What does not fit needs no room.
        let variable =
            variable.map(|(_, value)| value.size()).sum::<usize>().min(MOST_RECORD_BYTES);
        let (of_key, others) = columns.split_at(self.key_columns());
        let (key, values) = values.split_at(self.key_columns());
        let mut record = Vec::with_capacity(self.record_size() + variable);
        self.pack_cells(of_key, key, &mut record)?;
        let front = record.len();
        record.resize(front + self.payload_size(), 0);
        for (column, value) in others.iter().zip(values) {
            if column.kind.is_variable() {
                let bytes = self.variable_bytes(column, *value)?;
                self.append(&mut record, front, column, bytes)?;
            } else {
                self.fill(&mut record[front..][self.range_in_payload(column)], column, *value)?;
            }
            self.set_null(&mut record[front..], column, *value);
        }
        Ok(record)
    }

    /// Packs a key from the values of its columns.
    ///
    /// # Errors
    /// As [`pack`](Self::pack).
    pub fn pack_key(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(self.key_size());
        self.pack_cells(&self.columns()[..self.key_columns()], values, &mut key)?;
        Ok(key)
    }

    /// Packs the lowest and the highest key that begin with the values of the first columns of the
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
            if column.kind.is_variable() {
                let bytes = self.variable_bytes(column, *value)?;
                self.expect_length(column, bytes.len())?;
                packed_key::append(bytes, to);
                continue;
            }
            let from = to.len();
            if let Value::Text(_) | Value::Bytes(_) = value
                && let Type::Text(most) | Type::Bytes(most) = column.kind
                && value.size() > most as usize
            {
                return Err(self.key_too_long(column, value.size()));
            }
            to.resize(from + column.range().len(), 0);
            self.fill(&mut to[from..], column, *value)?;
        }
        Ok(())
    }

    /// Refuses `given` values for columns that are not as many.
    pub(crate) fn expect_count(&self, columns: &[Column], given: usize) -> Result<()> {
        let wanted = columns.len();
        match wanted == given {
            true => Ok(()),
            false => Err(self.value_count(wanted, given)),
        }
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

    /// The bytes that a column of variable length has for a value.
    fn variable_bytes<'v>(&self, column: &Column, value: Value<'v>) -> Result<&'v [u8]> {
        match (column.kind, value) {
            (_, Value::Null) if column.nullable => Ok(&[]),
            (Type::VarText(_), Value::Text(text)) => Ok(text.as_bytes()),
            (Type::VarBytes(_), Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(self.misfit(column, value)),
        }
    }

    /// Fills the cell of a column of fixed length.
    fn fill(&self, cell: &mut [u8], column: &Column, value: Value<'_>) -> Result<()> {
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

    /// Says in a payload whether a column is null, if it can be.
    fn set_null(&self, payload: &mut [u8], column: &Column, value: Value<'_>) {
        if let Some((at, mask)) = self.null_bit(column) {
            match value {
                Value::Null => payload[at] |= mask,
                _ => payload[at] &= !mask,
            }
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

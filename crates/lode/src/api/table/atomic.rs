//! Changes of a record, or of a column of it, that depend on its current value.

use super::Table;
use super::writes::Under;
use crate::api::Key;
use crate::api::read::with_key;
use crate::error::{Error, Result};
use crate::index::Swap;
use crate::schema::{Column, ColumnId, Type, Value};

impl Table {
    /// Writes `new` in the place of the columns after the key, if they are equal to `expected`,
    /// which the caller has read. Returns false if they are others, or there is no such record. No
    /// other write of the record comes between.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("page").key("id", Type::U8).column("views", Type::U8).finish()?;
    /// let pages = db.create_table(&schema, KeyKind::Hash)?;
    /// pages.insert(&[7, 41])?;
    /// assert!(pages.compare_and_swap(7, &[41], &[42])?);
    /// assert!(!pages.compare_and_swap(7, &[41], &[43])?, "it is 42");
    /// assert!(!pages.compare_and_swap(8, &[41], &[42])?, "there is none");
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotPacked`, `ValueTooLong` and `RecordTooLong` when `new` is no payload of such a record.
    /// `Reentered` when it is called in a closure that is changing the same record.
    pub fn compare_and_swap(&self, key: impl Key, expected: &[u8], new: &[u8]) -> Result<bool> {
        with_key(self, key, |key| {
            self.schema().expect_payload(new)?;
            self.write(Under { key, write: Swap::of(expected, new) })
        })
    }

    /// Sets a column as [`update`](Self::update) does, if its bytes are `expected` now. Returns
    /// false if it has others, or there is no such record.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn compare_and_update(
        &self,
        key: impl Key,
        column: ColumnId,
        expected: &[u8],
        bytes: &[u8],
    ) -> Result<bool> {
        with_key(self, key, |key| self.compare_and_update_packed(key, column, expected, bytes))
    }

    fn compare_and_update_packed(
        &self,
        key: &[u8],
        column: ColumnId,
        expected: &[u8],
        bytes: &[u8],
    ) -> Result<bool> {
        let schema = self.schema();
        let found = self.core.column_to_set(column)?;
        let mut outcome = Ok(false);
        let there = self.change_in_place(key, |payload| {
            let same = schema.bytes_of_payload(payload, found) == expected;
            outcome = if same {
                schema.replace(payload, column, bytes).map(|()| true)
            } else {
                Ok(false)
            };
            outcome == Ok(true)
        })?;
        // Between two attempts the record may have been deleted.
        outcome.map(|changed| changed && there)
    }

    /// Adds to a column of whole numbers. Returns the sum, or `None` if there is no such record.
    ///
    /// ```
    /// use lode::{Database, KeyKind, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("page").key("id", Type::U32).column("views", Type::U16);
    /// let schema = schema.finish()?;
    /// let pages = db.create_table(&schema, KeyKind::Hash)?;
    /// pages.insert(&schema.pack(&[Value::Unsigned(7), Value::Unsigned(65_530)])?)?;
    /// let views = schema.column("views")?;
    /// assert_eq!(pages.increment(7, views, 3)?, Some(Value::Unsigned(65_533)));
    /// assert!(pages.increment(7, views, 3).is_err());
    /// assert_eq!(pages.increment(7, views, -65_533)?, Some(Value::Unsigned(0)));
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NoRoomInColumn` when the column is not one of whole numbers, or has no room for the sum: it
    /// stays as it is then. And as [`update`](Self::update).
    pub fn increment(
        &self,
        key: impl Key,
        column: ColumnId,
        by: i64,
    ) -> Result<Option<Value<'static>>> {
        with_key(self, key, |key| self.increment_packed(key, column, by))
    }

    fn increment_packed(
        &self,
        key: &[u8],
        column: ColumnId,
        by: i64,
    ) -> Result<Option<Value<'static>>> {
        let schema = self.schema();
        let found = self.core.column_to_set(column)?;
        let place = schema.range_in_payload(found);
        let mut outcome = Ok(None);
        let there = self.change_in_place(key, |payload| {
            let cell = &mut payload[place.clone()];
            outcome = match sum_of(found, cell, by) {
                Some(sum) => {
                    let bytes = sum.to_le_bytes();
                    cell.copy_from_slice(&bytes[..cell.len()]);
                    Ok(Some(value_of(found, sum)))
                }
                None => Err(Error::NoRoomInColumn {
                    table: schema.name().into(),
                    column: found.name.clone(),
                    kind: found.kind,
                    by,
                }),
            };
            matches!(outcome, Ok(Some(_)))
        })?;
        // Between two attempts the record may have been deleted.
        outcome.map(|sum| sum.filter(|_| there))
    }
}

/// Returns the value of a column plus `by`; `None` if the column has no room for that, or is not of
/// whole numbers.
fn sum_of(column: &Column, cell: &[u8], by: i64) -> Option<i128> {
    let mut bytes = [0; 8];
    let bits = cell.len() as u32 * 8;
    let (most, least, before) = match column.kind {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
            bytes[..cell.len()].copy_from_slice(cell);
            ((1 << bits) - 1, 0, i128::from(u64::from_le_bytes(bytes)))
        }
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Timestamp => {
            bytes[..cell.len()].copy_from_slice(cell);
            let number = i64::from_le_bytes(bytes) << (64 - bits) >> (64 - bits);
            let half = 1i128 << (bits - 1);
            (half - 1, -half, i128::from(number))
        }
        _ => return None,
    };
    Some(before + i128::from(by)).filter(|sum| (least..=most).contains(sum))
}

/// Returns the value of a sum that fits its column.
fn value_of(column: &Column, sum: i128) -> Value<'static> {
    match column.kind {
        Type::Timestamp => Value::Timestamp(sum as i64),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => Value::Signed(sum as i64),
        _ => Value::Unsigned(sum as u64),
    }
}

//! Columns of variable length after the key: the places of their bytes, the check that all are
//! there, and how they change.
//!
//! Their bytes come after the fixed part, one after another in the order of the columns. In the
//! fixed part such a column has the end of its bytes, in 32 bits, counted from the end of the fixed
//! part; its bytes start at the end of those before. In a record the payload starts after the key,
//! of `front` bytes; in a payload, front is 0.

use std::ops::Range;

use super::{Column, ColumnId, MOST_VARIABLE_BYTES, Schema};
use crate::error::{Error, PackedFault, PackedPart, Result};

/// Bytes of a stored end of a column.
pub(super) const END_BYTES: usize = 4;

impl Schema {
    /// Returns true if there are columns of variable length after the key.
    pub fn is_variable(&self) -> bool {
        !self.variable.is_empty()
    }

    /// Returns the bytes of a column in a packed record.
    ///
    /// ```
    /// use lode::{Schema, Type, Value};
    ///
    /// let schema = Schema::build("page").key("id", Type::U8).column("text", Type::VarText(9_000));
    /// let schema = schema.finish()?;
    /// let record = schema.pack(&[Value::Unsigned(7), Value::Text("short")])?;
    /// let [id, text] = schema.columns() else { unreachable!("there are two columns") };
    /// assert_eq!(schema.bytes_of(&record, id), [7]);
    /// assert_eq!(schema.bytes_of(&record, text), b"short");
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Panics
    /// If they are not there; they are if there is a [row](Self::row) of the record.
    pub fn bytes_of<'r>(&self, record: &'r [u8], column: &Column) -> &'r [u8] {
        self.bytes_after(record, self.front_of(record), column)
    }

    /// Returns the bytes of a column in a record whose key has `front` bytes.
    #[inline]
    pub(super) fn bytes_after<'r>(
        &self,
        record: &'r [u8],
        front: usize,
        column: &Column,
    ) -> &'r [u8] {
        if self.is_of_key(column) {
            &record[self.place_in_key(record, column)]
        } else {
            self.bytes_of_payload(&record[front..], column)
        }
    }

    /// Returns the bytes of a column that is not of the key in a payload.
    #[inline]
    pub(crate) fn bytes_of_payload<'r>(&self, payload: &'r [u8], column: &Column) -> &'r [u8] {
        match column.variable {
            None => &payload[self.range_in_payload(column)],
            Some(number) => &payload[self.place(payload, 0, number)],
        }
    }

    /// Returns the bytes of a column of the record with a packed key and a payload; `None` if it is
    /// null.
    #[inline]
    pub(super) fn cell_of<'r>(
        &self,
        key: &'r [u8],
        payload: &'r [u8],
        column: &Column,
    ) -> Option<&'r [u8]> {
        if self.is_of_key(column) {
            return Some(&key[self.place_in_key(key, column)]);
        }
        match self.null_bit(column) {
            Some((at, mask)) if payload[at] & mask != 0 => None,
            _ => Some(self.bytes_of_payload(payload, column)),
        }
    }

    /// Refuses bytes that are no payload of a record.
    #[inline(always)]
    pub(crate) fn expect_payload(&self, payload: &[u8]) -> Result<()> {
        if payload.len() == self.whole_payload_size {
            Ok(())
        } else {
            self.expect_parts(PackedPart::Payload, payload, 0)
        }
    }

    /// Refuses bytes that are no record.
    #[inline(always)]
    pub(crate) fn expect_record(&self, record: &[u8]) -> Result<()> {
        if record.len() == self.whole_size { Ok(()) } else { self.split_any(record).map(drop) }
    }

    /// Splits a packed record into key and payload.
    #[inline(always)]
    pub(crate) fn split<'r>(&self, record: &'r [u8]) -> Result<(&'r [u8], &'r [u8])> {
        if record.len() == self.whole_size {
            Ok(record.split_at(self.key_size))
        } else {
            self.split_any(record)
        }
    }

    /// Splits a record that has no fixed size; refuses all others.
    #[inline(never)]
    fn split_any<'r>(&self, record: &'r [u8]) -> Result<(&'r [u8], &'r [u8])> {
        let front = if self.is_key_variable() { self.key_length(record)? } else { self.key_size };
        self.expect_parts(PackedPart::Record, record, front)?;
        Ok(record.split_at(front))
    }

    /// Refuses bytes that have no whole payload after `front` bytes of key.
    #[inline(never)]
    fn expect_parts(&self, part: PackedPart, bytes: &[u8], front: usize) -> Result<()> {
        let fixed = front + self.payload_size();
        if !self.is_variable() {
            return self.expect_size(part, bytes.len(), fixed);
        }
        let Some(rest) = bytes.len().checked_sub(fixed) else {
            let size_bytes = bytes.len();
            let fault = PackedFault::TooShort { part, least_bytes: fixed, size_bytes };
            return Err(self.not_packed(fault));
        };
        self.expect_room(bytes.len() - front)?;
        let mut from = 0;
        for &at in &self.variable {
            let column = &self.columns[at];
            let end = end_at(bytes, self.cell(front, column));
            let Some(size) = end.checked_sub(from) else {
                let column = column.name.as_str().into();
                return Err(self.not_packed(PackedFault::EndsBeforeItBegins { column }));
            };
            self.expect_length(column, size)?;
            from = end;
        }
        if from == rest {
            Ok(())
        } else {
            let columns_bytes = from;
            let room_bytes = rest;
            Err(self.not_packed(PackedFault::Lengths { part, columns_bytes, room_bytes }))
        }
    }

    /// Refuses a payload of `size` bytes whose columns of variable length have too many together.
    fn expect_room(&self, size: usize) -> Result<()> {
        let size = size.saturating_sub(self.payload_size());
        if size <= MOST_VARIABLE_BYTES {
            Ok(())
        } else {
            Err(Error::RecordTooLong {
                table: self.name.clone(),
                most_bytes: MOST_VARIABLE_BYTES,
                size_bytes: size,
            })
        }
    }

    /// Refuses bytes in a column of variable length if they are too many.
    pub(super) fn expect_length(&self, column: &Column, size: usize) -> Result<()> {
        let most_bytes = column.kind.most_bytes();
        if size <= most_bytes {
            return Ok(());
        }
        if self.is_of_key(column) {
            return Err(self.key_too_long(column, size));
        }
        Err(Error::ValueTooLong {
            table: self.name.clone(),
            column: column.name.as_str().into(),
            most_bytes,
            size_bytes: size,
        })
    }

    pub(super) fn key_too_long(&self, column: &Column, size_bytes: usize) -> Error {
        Error::KeyTooLong {
            table: self.name.clone(),
            column: column.name.clone(),
            most_bytes: column.kind.most_bytes(),
            size_bytes,
        }
    }

    /// Returns the place where the end of a column is stored.
    fn cell(&self, front: usize, column: &Column) -> usize {
        front + column.offset - self.key_size
    }

    /// Returns the place of the bytes of one of the columns of variable length.
    fn place(&self, bytes: &[u8], front: usize, number: usize) -> Range<usize> {
        let fixed = front + self.payload_size();
        let end = |number: usize| {
            fixed + end_at(bytes, self.cell(front, &self.columns[self.variable[number]]))
        };
        number.checked_sub(1).map_or(fixed, end)..end(number)
    }

    /// Appends the bytes of the next column of variable length to a record that is being packed.
    pub(super) fn append(
        &self,
        record: &mut Vec<u8>,
        front: usize,
        column: &Column,
        bytes: &[u8],
    ) -> Result<()> {
        self.expect_length(column, bytes.len())?;
        self.expect_room(record.len() + bytes.len() - front)?;
        record.extend_from_slice(bytes);
        let end = record.len() - front - self.payload_size();
        set_end(record, self.cell(front, column), end);
        Ok(())
    }

    /// Replaces the bytes of a column of variable length, in a record or a payload.
    pub(super) fn exchange(
        &self,
        record: &mut Vec<u8>,
        front: usize,
        column: &Column,
        bytes: &[u8],
    ) -> Result<()> {
        let number = column.variable.expect("the column is of variable length");
        let place = self.place(record, front, number);
        let before = record.len();
        let end = place.start + bytes.len();
        let size = before - place.len() + bytes.len();
        self.expect_length(column, bytes.len())?;
        self.expect_room(size - front)?;
        record.resize(before.max(size), 0);
        record.copy_within(place.end..before, end);
        record.truncate(size);
        record[place.start..end].copy_from_slice(bytes);
        for &at in &self.variable[number..] {
            let cell = self.cell(front, &self.columns[at]);
            let moved = end_at(record, cell) + bytes.len() - place.len();
            set_end(record, cell, moved);
        }
        Ok(())
    }

    /// Replaces the bytes of a column of a payload by those that it has in a packed record. Its
    /// null bit stays as it is.
    ///
    /// # Errors
    /// `NoColumn`; `KeyColumn`; `NotPacked` when the bytes do not fit the column, or the payload is
    /// none; `ValueTooLong`; `RecordTooLong`.
    pub(crate) fn replace(
        &self,
        payload: &mut Vec<u8>,
        column: ColumnId,
        bytes: &[u8],
    ) -> Result<()> {
        let found = self.expect_column(column)?;
        if column.index() < self.key_columns {
            return Err(self.key_column(found));
        }
        self.expect_payload(payload)?;
        if found.kind.is_variable() {
            return self.exchange(payload, 0, found, bytes);
        }
        self.expect_size(PackedPart::Column, bytes.len(), found.range().len())?;
        payload[self.range_in_payload(found)].copy_from_slice(bytes);
        Ok(())
    }
}

/// Returns the end of a column, which is stored at `cell`.
fn end_at(bytes: &[u8], cell: usize) -> usize {
    let end = bytes[cell..].first_chunk().expect("the fixed part is there");
    u32::from_le_bytes(*end) as usize
}

fn set_end(bytes: &mut [u8], cell: usize, end: usize) {
    bytes[cell..cell + END_BYTES].copy_from_slice(&(end as u32).to_le_bytes());
}

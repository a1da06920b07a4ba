//! Packed keys: the columns of the key one after another. One of variable length has two bytes with
//! the number of its bytes, and then these: so a key itself shows where it ends.

use std::ops::Range;

use super::{Column, Schema};
use crate::error::{PackedFault, PackedPart, Result};

/// Bytes of the length of a column of variable length.
pub(super) const LENGTH_BYTES: usize = 2;

/// Returns the most bytes that a key of these columns can have.
pub(super) fn most_bytes(columns: &[Column]) -> usize {
    let most = |column: &Column| {
        if column.kind.is_variable() {
            LENGTH_BYTES + column.kind.most_bytes()
        } else {
            column.size
        }
    };
    columns.iter().map(most).sum()
}

/// Appends a column of variable length, whose bytes are not too many.
pub(super) fn append(bytes: &[u8], key: &mut Vec<u8>) {
    key.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    key.extend_from_slice(bytes);
}

impl Schema {
    /// Returns true if columns of the key are of variable length.
    pub fn is_key_variable(&self) -> bool {
        self.whole_key_size == usize::MAX
    }

    /// Returns the most bytes of a packed key.
    pub fn most_key_size(&self) -> usize {
        self.most_key_size
    }

    /// Returns the bytes of the packed key at the start of `bytes`.
    ///
    /// ```
    /// use lode::{Schema, Type, Value};
    ///
    /// let schema = Schema::build("page").key("site", Type::U8).key("path", Type::VarText(200));
    /// let schema = schema.column("visits", Type::U32).finish()?;
    /// let record = schema.pack(&[Value::Unsigned(7), Value::Text("/en"), Value::Unsigned(1)])?;
    /// let (key, payload) = record.split_at(schema.key_length(&record)?);
    /// assert_eq!(key, schema.pack_key(&[Value::Unsigned(7), Value::Text("/en")])?);
    /// assert_eq!(payload, 1u32.to_le_bytes());
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotPacked` when there is no whole key; `KeyTooLong`.
    #[inline]
    pub fn key_length(&self, bytes: &[u8]) -> Result<usize> {
        if bytes.len() >= self.whole_key_size {
            Ok(self.key_size)
        } else {
            self.any_key_length(bytes)
        }
    }

    fn any_key_length(&self, bytes: &[u8]) -> Result<usize> {
        let mut end = 0;
        for column in &self.columns[..self.key_columns] {
            end += column.size;
            let Some(before) = bytes.get(..end) else { return Err(self.no_whole_key(bytes)) };
            if column.kind.is_variable() {
                let length = length_at(before, end - LENGTH_BYTES);
                self.expect_length(column, length)?;
                end += length;
            }
        }
        if end <= bytes.len() { Ok(end) } else { Err(self.no_whole_key(bytes)) }
    }

    #[cold]
    fn no_whole_key(&self, bytes: &[u8]) -> crate::Error {
        self.not_packed(PackedFault::KeyCutOff { size_bytes: bytes.len() })
    }

    /// Refuses bytes that are not whole keys one after another.
    pub(crate) fn expect_keys(&self, keys: &[u8]) -> Result<()> {
        let mut rest = keys;
        if !self.is_key_variable() && !keys.len().is_multiple_of(self.key_size) {
            return Err(self.not_packed(PackedFault::KeysCutOff { key_bytes: self.key_size }));
        }
        while self.is_key_variable() && !rest.is_empty() {
            rest = &rest[self.key_length(rest)?..];
        }
        Ok(())
    }

    /// Refuses bytes that are no key.
    #[inline(always)]
    pub(crate) fn expect_key(&self, key: &[u8]) -> Result<()> {
        if key.len() == self.whole_key_size { Ok(()) } else { self.expect_any_key(key) }
    }

    #[inline(never)]
    fn expect_any_key(&self, key: &[u8]) -> Result<()> {
        let expected = if self.is_key_variable() { self.key_length(key)? } else { self.key_size };
        self.expect_size(PackedPart::Key, key.len(), expected)
    }

    /// Returns the bytes of the key of a record.
    #[inline(always)]
    pub(super) fn front_of(&self, record: &[u8]) -> usize {
        if self.is_key_variable() {
            self.places_in_key(record).last().map_or(0, |(_, place)| place.end)
        } else {
            self.key_size
        }
    }

    #[inline]
    pub(super) fn is_of_key(&self, column: &Column) -> bool {
        column.offset < self.key_size
    }

    /// Returns the columns of the key, and the places of their bytes in a key or record.
    fn places_in_key<'s>(
        &'s self,
        record: &'s [u8],
    ) -> impl Iterator<Item = (&'s Column, Range<usize>)> {
        let mut end = 0;
        self.columns[..self.key_columns].iter().map(move |column| {
            let from = end + if column.kind.is_variable() { LENGTH_BYTES } else { 0 };
            end = if column.kind.is_variable() {
                from + length_at(record, from - LENGTH_BYTES)
            } else {
                from + column.size
            };
            (column, from..end)
        })
    }

    /// Returns the place of the bytes of a column of the key in a key or record.
    #[inline]
    pub(super) fn place_in_key(&self, record: &[u8], column: &Column) -> Range<usize> {
        if !self.is_key_variable() {
            return column.range();
        }
        let mut places = self.places_in_key(record);
        let found = places.find(|(other, _)| other.offset == column.offset);
        found.expect("the column is of the key").1
    }

    /// Replaces the bytes of a column of variable length in a record's key.
    pub(super) fn exchange_in_key(
        &self,
        record: &mut Vec<u8>,
        column: &Column,
        bytes: &[u8],
    ) -> Result<()> {
        self.expect_length(column, bytes.len())?;
        let place = self.place_in_key(record, column);
        let mut cell = Vec::with_capacity(LENGTH_BYTES + bytes.len());
        append(bytes, &mut cell);
        record.splice(place.start - LENGTH_BYTES..place.end, cell);
        Ok(())
    }
}

fn length_at(bytes: &[u8], at: usize) -> usize {
    let length = bytes[at..].first_chunk().expect("the length is there");
    u16::from_le_bytes(*length).into()
}

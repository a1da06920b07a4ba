//! Columns of variable length: where their bytes are, whether all is there, and how they change.
//!
//! Their bytes come after the fixed part, one after another in the order of the columns. In the
//! fixed part such a column has where its bytes end, in 32 bits, counted from the end of the fixed
//! part; they begin where those of the one before end. A payload is a record without its key, so
//! all that is in it comes that much earlier: `skipped` bytes.

use std::ops::Range;

use super::{Column, MOST_RECORD_BYTES, Schema};
use crate::error::Result;

/// Bytes of the place where it says where a column ends.
const END_BYTES: usize = 4;

impl Schema {
    /// Whether there are columns of variable length.
    pub fn is_variable(&self) -> bool {
        !self.variable.is_empty()
    }

    /// The most bytes that a payload can have.
    pub(crate) fn most_payload_size(&self) -> usize {
        let variable = self.variable.iter().map(|at| self.columns[*at].kind.most_bytes());
        let most = self.record_size + variable.sum::<usize>();
        most.min(MOST_RECORD_BYTES.max(self.record_size)) - self.key_size
    }

    /// The bytes of a column in a packed record.
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
        match column.variable {
            None => &record[column.range()],
            Some(number) => &record[self.place(record, 0, number)],
        }
    }

    /// The bytes of a column that is not of the key in a payload.
    pub(crate) fn bytes_of_payload<'r>(&self, payload: &'r [u8], column: &Column) -> &'r [u8] {
        match column.variable {
            None => &payload[column.offset - self.key_size..][..column.range().len()],
            Some(number) => &payload[self.place(payload, self.key_size, number)],
        }
    }

    /// Refuses bytes that are no payload of a record.
    #[inline(always)]
    pub(crate) fn expect_payload(&self, payload: &[u8]) -> Result<()> {
        match payload.len() == self.whole_size - self.key_size {
            true => Ok(()),
            false => self.expect_parts("payload", payload, self.key_size),
        }
    }

    /// Refuses bytes that are no record.
    #[inline(always)]
    pub(crate) fn expect_record(&self, record: &[u8]) -> Result<()> {
        match record.len() == self.whole_size {
            true => Ok(()),
            false => self.expect_parts("record", record, 0),
        }
    }

    /// The same, of records that do not always have as many bytes, and of all that is refused.
    #[inline(never)]
    fn expect_parts(&self, what: &str, bytes: &[u8], skipped: usize) -> Result<()> {
        let fixed = self.record_size - skipped;
        if !self.is_variable() {
            return self.expect_size(what, bytes.len(), fixed);
        }
        let Some(rest) = bytes.len().checked_sub(fixed) else {
            let why = format!("a packed {what} has at least {fixed} bytes, not {}", bytes.len());
            return Err(self.mismatch(why));
        };
        self.expect_room(bytes.len() + skipped)?;
        let mut from = 0;
        for &at in &self.variable {
            let column = &self.columns[at];
            let end = end_at(bytes, column.offset - skipped);
            let Some(size) = end.checked_sub(from) else {
                let why = format!("column {} ends before it begins", column.name);
                return Err(self.mismatch(why));
            };
            self.expect_length(column, size)?;
            from = end;
        }
        match from == rest {
            true => Ok(()),
            false => Err(self.mismatch(format!(
                "the columns of variable length have {from} bytes, and the {what} has {rest} for them"
            ))),
        }
    }

    /// Refuses a record of so many bytes if it is too long.
    fn expect_room(&self, size: usize) -> Result<()> {
        match size <= MOST_RECORD_BYTES {
            true => Ok(()),
            false => Err(self.mismatch(format!(
                "a packed record has at most {MOST_RECORD_BYTES} bytes, not {size}"
            ))),
        }
    }

    /// Refuses so many bytes in a column of variable length if they are too many.
    fn expect_length(&self, column: &Column, size: usize) -> Result<()> {
        let (name, most) = (&column.name, column.kind.most_bytes());
        match size <= most {
            true => Ok(()),
            false => {
                Err(self
                    .mismatch(format!("column {name} can have at most {most} bytes, not {size}")))
            }
        }
    }

    /// Where the bytes of one of the columns of variable length are.
    fn place(&self, bytes: &[u8], skipped: usize, number: usize) -> Range<usize> {
        let fixed = self.record_size - skipped;
        let end = |number: usize| {
            fixed + end_at(bytes, self.columns[self.variable[number]].offset - skipped)
        };
        number.checked_sub(1).map_or(fixed, end)..end(number)
    }

    /// Appends the bytes of the next column of variable length to a record that is being packed.
    pub(super) fn append(&self, record: &mut Vec<u8>, column: &Column, bytes: &[u8]) -> Result<()> {
        self.expect_length(column, bytes.len())?;
        self.expect_room(record.len() + bytes.len())?;
        record.extend_from_slice(bytes);
        let end = record.len() - self.record_size;
        set_end(record, column.offset, end);
        Ok(())
    }

    /// Gives a column of variable length other bytes, in a record or a payload.
    pub(super) fn exchange(
        &self,
        record: &mut Vec<u8>,
        skipped: usize,
        column: &Column,
        bytes: &[u8],
    ) -> Result<()> {
        let number = column.variable.expect("the column is of variable length");
        let place = self.place(record, skipped, number);
        let (before, end) = (record.len(), place.start + bytes.len());
        let size = before - place.len() + bytes.len();
        self.expect_length(column, bytes.len())?;
        self.expect_room(size + skipped)?;
        record.resize(before.max(size), 0);
        record.copy_within(place.end..before, end);
        record.truncate(size);
        record[place.start..end].copy_from_slice(bytes);
        for &at in &self.variable[number..] {
            let cell = self.columns[at].offset - skipped;
            let moved = end_at(record, cell) + bytes.len() - place.len();
            set_end(record, cell, moved);
        }
        Ok(())
    }

    /// Gives a column of a payload other bytes: those that it has in a packed record. Whether it is
    /// null stays as it is.
    ///
    /// # Errors
    /// `Schema` when there is no such column, it is of the key, the bytes do not fit it, the payload
    /// is none, or the record gets too long.
    pub(crate) fn replace(&self, payload: &mut Vec<u8>, column: usize, bytes: &[u8]) -> Result<()> {
        let found = self.columns.get(column);
        let found = found.ok_or_else(|| self.mismatch(format!("no column {column}")))?;
        if column < self.key_columns {
            return Err(self.mismatch(format!("column {} is of the key; it stays", found.name)));
        }
        self.expect_payload(payload)?;
        if found.kind.is_variable() {
            return self.exchange(payload, self.key_size, found, bytes);
        }
        self.expect_size("column", bytes.len(), found.range().len())?;
        payload[found.offset - self.key_size..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// The end of a column, in the place where it says so.
fn end_at(bytes: &[u8], cell: usize) -> usize {
    let end = bytes[cell..].first_chunk().expect("the fixed part is there");
    u32::from_le_bytes(*end) as usize
}

fn set_end(bytes: &mut [u8], cell: usize, end: usize) {
    bytes[cell..cell + END_BYTES].copy_from_slice(&(end as u32).to_le_bytes());
}

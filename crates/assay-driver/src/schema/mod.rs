//! The shape of a suite's records, and the packed form in which they travel.
//!
//! A packed record is laid out as a C compiler would lay out a struct of its columns, in
//! little-endian byte order: first the *key area* (the primary-key columns, padded to 8 bytes),
//! then the *payload area* (all other columns, padded to 8 bytes). Padding is zero. So a driver in
//! C can overlay a struct, and a key-value engine can store the payload area as it is.

mod key_order;
mod value;

pub use key_order::KeyOrder;
use value::shortened;
pub use value::{ColumnType, LENGTH_SIZE, Value, var_bytes, write_bytes, write_integer};

#[cfg(not(target_endian = "little"))]
compile_error!("packed records are defined for little-endian machines");

/// A column and its position in a packed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name, a plain identifier.
    pub name: &'static str,
    /// The type of the column's values.
    pub kind: ColumnType,
    /// Bytes from the start of the record to the column.
    pub offset: usize,
    /// True if the column belongs to the primary key.
    pub in_key: bool,
}

impl Column {
    /// Returns the column's bytes in a packed record.
    pub fn slice<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        &record[self.offset..self.offset + self.kind.size_bytes()]
    }

    /// Returns the column's bytes in a packed record, to be written.
    pub fn slice_mut<'r>(&self, record: &'r mut [u8]) -> &'r mut [u8] {
        &mut record[self.offset..self.offset + self.kind.size_bytes()]
    }

    /// Returns the column's value in a packed record.
    pub fn value<'r>(&self, record: &'r [u8]) -> Value<'r> {
        Value::read(self.kind, self.slice(record))
    }
}

/// The columns of a suite's records. The first `key_len` of them are the primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    name: &'static str,
    columns: Vec<Column>,
    key_len: usize,
    key_size: usize,
    record_size: usize,
    varied_texts: bool,
    positions: Vec<usize>,
    indexed: Vec<usize>,
}

impl Schema {
    /// Lays out `columns`; the first `key_len` are the primary key.
    ///
    /// # Panics
    /// If there is no key column or no other column, or a column of variable length that is not the
    /// last: errors of the suite's author, not of a user.
    pub fn new(name: &'static str, columns: &[(&'static str, ColumnType)], key_len: usize) -> Self {
        assert!(key_len >= 1 && key_len < columns.len(), "a key and at least one more column");
        let mut laid_out = Vec::new();
        let mut offset = 0usize;
        let mut key_size = 0;
        for (at, &(name, kind)) in columns.iter().enumerate() {
            if at == key_len {
                offset = offset.next_multiple_of(8);
                key_size = offset;
            }
            let is_last = at + 1 == columns.len();
            assert!(is_last || !matches!(kind, ColumnType::VarBytes(_)), "only the last may vary");
            offset = offset.next_multiple_of(kind.align_bytes());
            laid_out.push(Column { name, kind, offset, in_key: at < key_len });
            offset += kind.size_bytes();
        }
        let record_size = offset.next_multiple_of(8);
        Self {
            name,
            positions: (0..laid_out.len()).collect(),
            columns: laid_out,
            key_len,
            key_size,
            record_size,
            varied_texts: false,
            indexed: Vec::new(),
        }
    }

    /// Marks the schema's texts outside of the key as of very different lengths. Packed records
    /// stay as they are; engines that can keep each text by its own length do so.
    ///
    /// # Panics
    /// If a text can be longer than 65,535 bytes.
    pub fn with_varied_texts(mut self) -> Self {
        let is_short = |column: &Column| match column.kind {
            ColumnType::Text(most) => most <= u32::from(u16::MAX),
            _ => true,
        };
        assert!(self.payload_columns().iter().all(is_short), "a text has at most 65,535 bytes");
        self.varied_texts = true;
        self
    }

    /// Asks engines that have secondary indexes to keep one of a column, which is not unique.
    ///
    /// # Panics
    /// If the column, a position among all, is a part of the primary key, is of variable length or
    /// has an index already.
    pub fn with_index(mut self, column: usize) -> Self {
        let kind = self.columns[column].kind;
        let is_fixed = !matches!(kind, ColumnType::VarBytes(_));
        assert!(column >= self.key_len && is_fixed, "a column after the key, of a fixed size");
        assert!(!self.indexed.contains(&column), "one index of a column");
        self.indexed.push(column);
        self
    }

    /// Returns the positions of the columns with a secondary index.
    pub fn indexed(&self) -> &[usize] {
        &self.indexed
    }

    /// Returns true if engines that can should keep each text by its own length.
    pub fn has_varied_texts(&self) -> bool {
        self.varied_texts
    }

    /// Returns the name of the table.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns all columns in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the columns of the primary key.
    pub fn key_columns(&self) -> &[Column] {
        &self.columns[..self.key_len]
    }

    /// Returns the columns that are not in the primary key.
    pub fn payload_columns(&self) -> &[Column] {
        &self.columns[self.key_len..]
    }

    /// Returns the positions of all columns, ascending.
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Returns the position of a column among all.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Returns the bytes of the key area.
    pub fn key_size(&self) -> usize {
        self.key_size
    }

    /// Returns the bytes of the payload area.
    pub fn payload_size(&self) -> usize {
        self.record_size - self.key_size
    }

    /// Returns the offset of the last column in a packed record.
    pub fn last_offset(&self) -> usize {
        self.columns.last().map_or(0, |column| column.offset)
    }

    /// Returns the column whose values vary in length, if there is one: the last.
    pub fn variable_column(&self) -> Option<&Column> {
        self.columns.last().filter(|column| matches!(column.kind, ColumnType::VarBytes(_)))
    }

    /// Returns the number of meaningful bytes of a payload area: all of them, or those up to the
    /// end of the value of variable length.
    #[inline]
    pub fn used_payload(&self, payload: &[u8]) -> usize {
        match self.variable_column() {
            None => self.payload_size(),
            Some(column) => {
                let from = column.offset - self.key_size;
                from + LENGTH_SIZE + var_bytes(&payload[from..]).len()
            }
        }
    }

    /// Returns true if `got` is the expected payload area; bytes behind a value of variable length
    /// do not count.
    #[inline]
    pub fn same_payload(&self, expected: &[u8], got: &[u8]) -> bool {
        match self.variable_column() {
            None => same_words(expected, got),
            Some(_) => {
                let used = self.used_payload(expected);
                expected[..used] == got[..used]
            }
        }
    }

    /// Returns the bytes of a whole packed record.
    pub fn record_size(&self) -> usize {
        self.record_size
    }

    /// Returns a text that two schemas share only if their records are interchangeable.
    pub fn fingerprint(&self) -> String {
        let columns: Vec<_> =
            self.columns.iter().map(|column| format!("{} {}", column.name, column.kind)).collect();
        let varied = if self.varied_texts { ", texts of their own lengths" } else { "" };
        let indexes = self.indexed.iter().map(|at| format!(", index {}", self.columns[*at].name));
        let indexes: String = indexes.collect();
        format!("{} ({}) key {}{varied}{indexes}", self.name, columns.join(", "), self.key_len)
    }

    /// Names the first column in which two payload areas differ, with both values.
    pub fn first_difference(&self, expected: &[u8], got: &[u8]) -> Option<String> {
        self.payload_columns().iter().find_map(|column| {
            let range = column.offset - self.key_size
                ..column.offset - self.key_size + column.kind.size_bytes();
            let expected = &expected[range.clone()];
            let got = &got[range];
            let values = (Value::read(column.kind, expected), Value::read(column.kind, got));
            let same = match column.kind {
                ColumnType::VarBytes(_) => values.0 == values.1,
                _ => expected == got,
            };
            (!same).then(|| {
                let expected = shortened(values.0);
                let got = shortened(values.1);
                format!("column {}: expected {expected}, got {got}", column.name)
            })
        })
    }
}

/// Returns true if two payload areas, which are whole words, are equal. (A call of the C library's
/// comparison for 32 bytes takes longer.)
fn same_words(a: &[u8], b: &[u8]) -> bool {
    let word = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().expect("a word"));
    let pairs = a.chunks_exact(8).zip(b.chunks_exact(8));
    pairs.fold(0, |differences, (a, b)| differences | (word(a) ^ word(b))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a schema with columns of every alignment.
    fn sensor() -> Schema {
        let columns = [
            ("station", ColumnType::U32),
            ("channel", ColumnType::U8),
            ("flags", ColumnType::U16),
            ("unit", ColumnType::Text(5)),
            ("reading", ColumnType::F64),
        ];
        Schema::new("sensor", &columns, 2)
    }

    #[test]
    fn fingerprints_stay_those_that_stores_have() {
        use ColumnType::{Bytes, F64, I32, I64, Text, U8, U16, U32, U64, VarBytes};
        let kinds = [U64, U8, U16, U32, I32, I64, F64, Text(4), Bytes(5), VarBytes(6)];
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let columns: Vec<_> = names.into_iter().zip(kinds).collect();
        assert_eq!(
            Schema::new("t", &columns, 1).fingerprint(),
            "t (a U64, b U8, c U16, d U32, e I32, f I64, g F64, h Text(4), i Bytes(5), \
             j VarBytes(6)) key 1"
        );
    }

    #[test]
    fn a_record_is_laid_out_like_a_c_struct() {
        let schema = sensor();
        let offsets: Vec<_> = schema.columns().iter().map(|c| c.offset).collect();
        assert_eq!(offsets, [0, 4, 8, 10, 16]);
        assert_eq!((schema.key_size(), schema.record_size()), (8, 24));
    }

    #[test]
    fn the_first_differing_column_is_named() {
        let schema = sensor();
        let expected = vec![0; schema.payload_size()];
        let mut got = expected.clone();
        assert_eq!(schema.first_difference(&expected, &got), None);
        got[0] = 7;
        got[8] = 1;
        let said = schema.first_difference(&expected, &got).expect("they differ");
        assert_eq!(said, "column flags: expected Unsigned(0), got Unsigned(7)");
    }
}

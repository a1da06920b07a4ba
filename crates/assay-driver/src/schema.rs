//! The shape of a suite's records, and the packed form in which they travel.
//!
//! A packed record is laid out as a C compiler would lay out a struct of its columns, in
//! little-endian byte order: first the *key area* (the primary-key columns, padded to 8 bytes),
//! then the *payload area* (all other columns, padded to 8 bytes). Padding is zero. So a driver in
//! C can overlay a struct, and an engine that keeps bytes under bytes can store the payload area as
//! it is.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(not(target_endian = "little"))]
compile_error!("packed records are defined for little-endian machines");

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Unsigned, 1 byte.
    U8,
    /// Unsigned, 2 bytes.
    U16,
    /// Unsigned, 4 bytes.
    U32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 4 bytes.
    I32,
    /// Signed, 8 bytes.
    I64,
    /// IEEE 754, 8 bytes.
    F64,
    /// UTF-8 text of at most this number of bytes, filled up with zero bytes.
    Text(u32),
    /// Exactly this number of bytes.
    Bytes(u32),
    /// At most this number of bytes, with their length (4 bytes) before them. Only the last column
    /// can have this type.
    VarBytes(u32),
}

/// Bytes of the number that stands before a value of variable length.
pub const LENGTH_SIZE: usize = 4;

impl ColumnType {
    /// Bytes that a value takes in a packed record.
    pub fn size_bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            Self::Text(size) | Self::Bytes(size) => size as usize,
            Self::VarBytes(most) => LENGTH_SIZE + most as usize,
        }
    }

    /// Bytes of a value's packed form that mean something: all, or those up to its end.
    pub fn used_bytes(self, value: &[u8]) -> usize {
        match self {
            Self::VarBytes(_) => LENGTH_SIZE + var_bytes(value).len(),
            fixed => fixed.size_bytes(),
        }
    }

    fn align_bytes(self) -> usize {
        match self {
            Self::Text(_) | Self::Bytes(_) => 1,
            Self::VarBytes(_) => LENGTH_SIZE,
            number => number.size_bytes(),
        }
    }
}

/// The type as the marker of a store names it: the texts must never change.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U8 => f.write_str("U8"),
            Self::U16 => f.write_str("U16"),
            Self::U32 => f.write_str("U32"),
            Self::U64 => f.write_str("U64"),
            Self::I32 => f.write_str("I32"),
            Self::I64 => f.write_str("I64"),
            Self::F64 => f.write_str("F64"),
            Self::Text(most) => write!(f, "Text({most})"),
            Self::Bytes(size) => write!(f, "Bytes({size})"),
            Self::VarBytes(most) => write!(f, "VarBytes({most})"),
        }
    }
}

/// A column and where it lies in a packed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, a plain identifier.
    pub name: &'static str,
    /// The type of its values.
    pub kind: ColumnType,
    /// Where it begins, in bytes from the start of the record.
    pub offset: usize,
    /// Whether it belongs to the primary key.
    pub in_key: bool,
}

impl Column {
    /// This column's bytes in a packed record.
    pub fn slice<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        &record[self.offset..self.offset + self.kind.size_bytes()]
    }

    /// This column's bytes in a packed record, to be written.
    pub fn slice_mut<'r>(&self, record: &'r mut [u8]) -> &'r mut [u8] {
        &mut record[self.offset..self.offset + self.kind.size_bytes()]
    }

    /// This column's value in a packed record.
    pub fn value<'r>(&self, record: &'r [u8]) -> Value<'r> {
        Value::read(self.kind, self.slice(record))
    }
}

/// One value of a record, for code that treats columns one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'r> {
    /// Any unsigned integer.
    Unsigned(u64),
    /// Any signed integer.
    Signed(i64),
    /// A float.
    Float(f64),
    /// Text without its filling.
    Text(&'r [u8]),
    /// Bytes.
    Bytes(&'r [u8]),
}

impl<'r> Value<'r> {
    /// Reads a value of type `kind` from its packed bytes.
    pub fn read(kind: ColumnType, bytes: &'r [u8]) -> Self {
        match kind {
            ColumnType::U8 => Self::Unsigned(u64::from(bytes[0])),
            ColumnType::U16 => Self::Unsigned(u64::from(u16::from_le_bytes(array(bytes)))),
            ColumnType::U32 => Self::Unsigned(u64::from(u32::from_le_bytes(array(bytes)))),
            ColumnType::U64 => Self::Unsigned(u64::from_le_bytes(array(bytes))),
            ColumnType::I32 => Self::Signed(i64::from(i32::from_le_bytes(array(bytes)))),
            ColumnType::I64 => Self::Signed(i64::from_le_bytes(array(bytes))),
            ColumnType::F64 => Self::Float(f64::from_le_bytes(array(bytes))),
            ColumnType::Text(_) => {
                let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
                Self::Text(&bytes[..end])
            }
            ColumnType::Bytes(_) => Self::Bytes(bytes),
            ColumnType::VarBytes(_) => Self::Bytes(var_bytes(bytes)),
        }
    }
}

/// The value in a slot of variable length; one whose length is impossible is empty.
pub fn var_bytes(slot: &[u8]) -> &[u8] {
    let len = u32::from_le_bytes(array(slot)) as usize;
    slot[LENGTH_SIZE..].get(..len).unwrap_or_default()
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("a column's slice has its type's size")
}

/// Writes an integer that an engine returned into a column's packed bytes.
pub fn write_integer(kind: ColumnType, value: i64, bytes: &mut [u8]) {
    let size = kind.size_bytes();
    bytes[..size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// Writes text or bytes that an engine returned into a column's packed bytes; what is too long
/// is cut (and found by the check of what was read).
pub fn write_bytes(kind: ColumnType, value: &[u8], bytes: &mut [u8]) {
    let (length, bytes) = match kind {
        ColumnType::VarBytes(_) => bytes.split_at_mut(LENGTH_SIZE),
        _ => (&mut [] as &mut [u8], bytes),
    };
    let len = value.len().min(bytes.len());
    if !length.is_empty() {
        length.copy_from_slice(&(len as u32).to_le_bytes());
    }
    bytes[..len].copy_from_slice(&value[..len]);
    bytes[len..].fill(0);
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
}

impl Schema {
    /// Lays out `columns`; the first `key_len` are the primary key.
    ///
    /// # Panics
    /// When there is no key column or no other column, or a column of variable length that is
    /// not the last: errors of the suite's author, not of a user.
    pub fn new(name: &'static str, columns: &[(&'static str, ColumnType)], key_len: usize) -> Self {
        assert!(key_len >= 1 && key_len < columns.len(), "a key and at least one more column");
        let (mut laid_out, mut offset, mut key_size) = (Vec::new(), 0usize, 0);
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
        Self { name, columns: laid_out, key_len, key_size, record_size, varied_texts: false }
    }

    /// The same, with texts outside of the key that are of very different lengths. Packed records
    /// stay as they are; engines that can keep each text by its own length do so.
    ///
    /// # Panics
    /// When a text can be longer than 65,535 bytes.
    pub fn with_varied_texts(mut self) -> Self {
        let is_short = |column: &Column| match column.kind {
            ColumnType::Text(most) => most <= u32::from(u16::MAX),
            _ => true,
        };
        assert!(self.payload_columns().iter().all(is_short), "a text has at most 65,535 bytes");
        self.varied_texts = true;
        self
    }

    /// Whether engines that can are to keep each text by its own length.
    pub fn has_varied_texts(&self) -> bool {
        self.varied_texts
    }

    /// The name of the table.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// All columns in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns of the primary key.
    pub fn key_columns(&self) -> &[Column] {
        &self.columns[..self.key_len]
    }

    /// The columns that are not in the primary key.
    pub fn payload_columns(&self) -> &[Column] {
        &self.columns[self.key_len..]
    }

    /// The position of a column among all.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Bytes of the key area.
    pub fn key_size(&self) -> usize {
        self.key_size
    }

    /// Bytes of the payload area.
    pub fn payload_size(&self) -> usize {
        self.record_size - self.key_size
    }

    /// The column whose values vary in length, if there is one: the last.
    pub fn variable_column(&self) -> Option<&Column> {
        self.columns.last().filter(|column| matches!(column.kind, ColumnType::VarBytes(_)))
    }

    /// How many bytes of a payload area mean something: all of them, or those up to the end of
    /// the value of variable length.
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

    /// Whether what was read is the expected payload area; what lies behind a value of variable
    /// length does not count.
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

    /// Bytes of a whole packed record.
    pub fn record_size(&self) -> usize {
        self.record_size
    }

    /// A text that two schemas share only when their records are interchangeable.
    pub fn fingerprint(&self) -> String {
        let columns: Vec<_> =
            self.columns.iter().map(|column| format!("{} {}", column.name, column.kind)).collect();
        let varied = if self.varied_texts { ", texts of their own lengths" } else { "" };
        format!("{} ({}) key {}{varied}", self.name, columns.join(", "), self.key_len)
    }

    /// Names the first column in which two payload areas differ, with both values.
    pub fn first_difference(&self, expected: &[u8], got: &[u8]) -> Option<String> {
        self.payload_columns().iter().find_map(|column| {
            let range = column.offset - self.key_size
                ..column.offset - self.key_size + column.kind.size_bytes();
            let (expected, got) = (&expected[range.clone()], &got[range]);
            let values = (Value::read(column.kind, expected), Value::read(column.kind, got));
            let same = match column.kind {
                ColumnType::VarBytes(_) => values.0 == values.1,
                _ => expected == got,
            };
            (!same).then(|| {
                let (expected, got) = (shortened(values.0), shortened(values.1));
                format!("column {}: expected {expected}, got {got}", column.name)
            })
        })
    }
}

/// A value as messages show it.
fn shortened(value: Value<'_>) -> String {
    const SHOWN: usize = 16;
    match value {
        Value::Text(bytes) | Value::Bytes(bytes) if bytes.len() > SHOWN => {
            format!("{} bytes beginning {:02x?}", bytes.len(), &bytes[..SHOWN])
        }
        value => format!("{value:?}"),
    }
}

/// Whether two payload areas, which are whole words, are the same. (A call of the C library's
/// comparison for 32 bytes takes longer.)
fn same_words(a: &[u8], b: &[u8]) -> bool {
    let word = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().expect("a word"));
    let pairs = a.chunks_exact(8).zip(b.chunks_exact(8));
    pairs.fold(0, |differences, (a, b)| differences | (word(a) ^ word(b))) == 0
}

/// Turns the key area into bytes whose bytewise order is the order of the key: integers
/// big-endian with the sign bit flipped, floats by IEEE 754 total order, text and bytes as
/// they are; no padding between the columns.
#[derive(Clone, Debug)]
pub struct KeyOrder {
    parts: Vec<(usize, ColumnType)>,
    size: usize,
}

impl KeyOrder {
    /// The order of a schema's primary key.
    pub fn new(schema: &Schema) -> Self {
        let parts: Vec<_> =
            schema.key_columns().iter().map(|column| (column.offset, column.kind)).collect();
        let size = parts.iter().map(|(_, kind)| kind.size_bytes()).sum();
        Self { parts, size }
    }

    /// Bytes of an encoded key.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Encodes a key area into `out`, which is [`Self::size`] bytes long.
    #[inline]
    pub fn encode(&self, key: &[u8], out: &mut [u8]) {
        let mut at = 0;
        for &(offset, kind) in &self.parts {
            let from = &key[offset..];
            match kind {
                ColumnType::U8 => out[at] = from[0],
                ColumnType::U16 => {
                    out[at..at + 2].copy_from_slice(&u16::from_le_bytes(array(from)).to_be_bytes());
                }
                ColumnType::U32 => {
                    out[at..at + 4].copy_from_slice(&u32::from_le_bytes(array(from)).to_be_bytes());
                }
                ColumnType::U64 => {
                    out[at..at + 8].copy_from_slice(&u64::from_le_bytes(array(from)).to_be_bytes());
                }
                ColumnType::I32 => {
                    let flipped = u32::from_le_bytes(array(from)) ^ (1 << 31);
                    out[at..at + 4].copy_from_slice(&flipped.to_be_bytes());
                }
                ColumnType::I64 => {
                    let flipped = u64::from_le_bytes(array(from)) ^ (1 << 63);
                    out[at..at + 8].copy_from_slice(&flipped.to_be_bytes());
                }
                ColumnType::F64 => {
                    let bits = float_order(u64::from_le_bytes(array(from)));
                    out[at..at + 8].copy_from_slice(&bits.to_be_bytes());
                }
                ColumnType::Text(size) | ColumnType::Bytes(size) => {
                    let size = size as usize;
                    out[at..at + size].copy_from_slice(&from[..size]);
                }
                ColumnType::VarBytes(_) => unreachable!("a key column is not the last column"),
            }
            at += kind.size_bytes();
        }
    }

    /// Decodes what [`Self::encode`] wrote into a key area (whose padding must be zero).
    pub fn decode(&self, encoded: &[u8], key: &mut [u8]) {
        let mut at = 0;
        for &(offset, kind) in &self.parts {
            let size = kind.size_bytes();
            let from = &encoded[at..at + size];
            let to = &mut key[offset..offset + size];
            match kind {
                ColumnType::Text(_) | ColumnType::Bytes(_) => to.copy_from_slice(from),
                ColumnType::F64 => {
                    let bits = float_order_back(u64::from_be_bytes(array(from)));
                    to.copy_from_slice(&bits.to_le_bytes());
                }
                _ => {
                    to.copy_from_slice(from);
                    to.reverse();
                    if matches!(kind, ColumnType::I32 | ColumnType::I64) {
                        to[size - 1] ^= 0x80;
                    }
                }
            }
            at += size;
        }
    }
}

/// Maps the bits of a float to an integer of the same order (IEEE 754 totalOrder).
fn float_order(bits: u64) -> u64 {
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn float_order_back(ordered: u64) -> u64 {
    if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn route() -> Schema {
        Schema::new(
            "route",
            &[
                ("prefix", ColumnType::U32),
                ("mask", ColumnType::U8),
                ("nexthop", ColumnType::U32),
                ("metric", ColumnType::U8),
                ("intf", ColumnType::Text(16)),
                ("birth", ColumnType::U32),
                ("flags", ColumnType::U32),
            ],
            2,
        )
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
        let schema = route();
        let offsets: Vec<_> = schema.columns().iter().map(|c| c.offset).collect();
        assert_eq!(offsets, [0, 4, 8, 12, 13, 32, 36]);
        assert_eq!((schema.key_size(), schema.record_size()), (8, 40));
    }

    #[test]
    fn the_first_differing_column_is_named() {
        let schema = route();
        let expected = vec![0; schema.payload_size()];
        let mut got = expected.clone();
        assert_eq!(schema.first_difference(&expected, &got), None);
        got[24] = 7;
        let said = schema.first_difference(&expected, &got).expect("they differ");
        assert_eq!(said, "column birth: expected Unsigned(0), got Unsigned(7)");
    }

    fn mixed() -> Schema {
        Schema::new(
            "mixed",
            &[
                ("a", ColumnType::I32),
                ("b", ColumnType::F64),
                ("c", ColumnType::U16),
                ("d", ColumnType::I64),
                ("e", ColumnType::Bytes(3)),
                ("payload", ColumnType::U8),
            ],
            5,
        )
    }

    fn pack(schema: &Schema, key: (i32, f64, u16, i64, [u8; 3])) -> Vec<u8> {
        let mut packed = vec![0; schema.key_size()];
        let columns = schema.key_columns();
        columns[0].slice_mut(&mut packed).copy_from_slice(&key.0.to_le_bytes());
        columns[1].slice_mut(&mut packed).copy_from_slice(&key.1.to_le_bytes());
        columns[2].slice_mut(&mut packed).copy_from_slice(&key.2.to_le_bytes());
        columns[3].slice_mut(&mut packed).copy_from_slice(&key.3.to_le_bytes());
        columns[4].slice_mut(&mut packed).copy_from_slice(&key.4);
        packed
    }

    type Key = (i32, f64, u16, i64, [u8; 3]);

    fn any_key() -> impl Strategy<Value = Key> {
        (-2..2i32, any::<f64>(), 0..3u16, any::<i64>(), any::<[u8; 3]>())
    }

    proptest! {
        #[test]
        fn encoded_keys_sort_as_the_typed_keys_and_come_back(a in any_key(), b in any_key()) {
            let schema = mixed();
            let order = KeyOrder::new(&schema);
            let encode = |key| {
                let mut out = vec![0; order.size()];
                order.encode(&pack(&schema, key), &mut out);
                out
            };
            let typed = a.0.cmp(&b.0)
                .then(a.1.total_cmp(&b.1))
                .then(a.2.cmp(&b.2))
                .then(a.3.cmp(&b.3))
                .then(a.4.cmp(&b.4));
            prop_assert_eq!(encode(a).cmp(&encode(b)), typed);
            let mut back = vec![0; schema.key_size()];
            order.decode(&encode(a), &mut back);
            prop_assert_eq!(back, pack(&schema, a));
        }
    }
}

//! Keys as bytes that sort as the keys do: numbers big-endian, signed ones with their sign turned,
//! floats with all bits turned if negative, text and bytes as they are.
//!
//! Values of variable length are followed by a 0 and a 1, so that a shorter one comes first; a 0 in
//! them is a 0 and a 255. So no key is the start of another, and a key itself shows where it ends.

use std::cell::Cell;

use super::{Column, Schema, Type, packed_key};

/// The conversion of a column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// No change.
    Keep,
    /// The bytes reversed.
    Reverse,
    /// The bytes reversed, and the sign turned.
    Signed,
    /// The bytes reversed, and the sign turned, or all bits if negative.
    Float,
    /// Zeros escaped and an end added, for variable length.
    Delimit,
}

/// The byte after a 0 in a value of variable length: the end, or an escaped zero.
const END: u8 = 1;
const ZERO: u8 = 255;

impl Turn {
    fn of(kind: Type) -> Self {
        match kind {
            Type::U8 | Type::Bool | Type::Text(_) | Type::Bytes(_) => Self::Keep,
            Type::VarText(_) | Type::VarBytes(_) => Self::Delimit,
            Type::U16 | Type::U32 | Type::U64 => Self::Reverse,
            Type::I8
            | Type::I16
            | Type::I32
            | Type::I64
            | Type::Timestamp
            | Type::Decimal { .. } => Self::Signed,
            Type::F32 | Type::F64 => Self::Float,
        }
    }
}

/// The conversion of a schema's keys to bytes in their order, and back.
#[derive(Clone, Debug)]
pub(crate) struct KeyOrder {
    /// The columns at fixed places in the packed key, each with its conversion.
    columns: Vec<(std::ops::Range<usize>, Turn)>,
    /// The most bytes of a key.
    size: usize,
    is_packed: bool,
    is_variable: bool,
}

impl KeyOrder {
    /// Makes the conversion for the keys of a schema.
    pub(crate) fn new(schema: &Schema) -> Self {
        let columns = &schema.columns()[..schema.key_columns()];
        let turned = |column: &Column| (column.range(), Turn::of(column.kind));
        let columns: Vec<_> = columns.iter().map(turned).collect();
        let is_packed = columns.iter().all(|(_, turn)| *turn == Turn::Keep);
        let is_variable = schema.is_key_variable();
        // Each byte may be a zero; and the end has as many bytes as the length has in a packed key.
        let size = schema.most_key_size() * if is_variable { 2 } else { 1 };
        Self { columns, size, is_packed, is_variable }
    }

    /// Makes the conversion for tables in which keys have no order and stay packed.
    pub(crate) fn packed(schema: &Schema) -> Self {
        let columns = vec![(0..schema.key_size(), Turn::Keep)];
        let size = schema.most_key_size();
        let is_variable = schema.is_key_variable();
        Self { columns, size, is_packed: true, is_variable }
    }

    /// Returns true if packed keys are in order as they are.
    pub(crate) fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Returns true if keys have different lengths.
    pub(crate) fn is_variable(&self) -> bool {
        self.is_variable
    }

    /// Returns the most bytes of a key, packed or in order.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Converts a packed key to order, for a schema whose keys all have the same length.
    #[inline]
    pub(crate) fn encode(&self, packed: &[u8], ordered: &mut [u8]) {
        for (range, turn) in &self.columns {
            turn_to(*turn, &packed[range.clone()], &mut ordered[range.clone()]);
        }
    }

    /// Calls `work` with any packed key in order.
    pub(crate) fn with_any<T>(&self, packed: &[u8], work: impl FnOnce(&[u8]) -> T) -> T {
        thread_local! {
            static ORDERED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
        }
        // In a thread that is ending the buffer may be gone.
        let mut ordered = ORDERED.try_with(Cell::take).unwrap_or_default();
        self.encode_any(packed, &mut ordered);
        let done = work(&ordered);
        let _ = ORDERED.try_with(|kept| kept.set(ordered));
        done
    }

    /// Converts any packed key to order.
    pub(crate) fn encode_any(&self, packed: &[u8], ordered: &mut Vec<u8>) {
        ordered.clear();
        let mut rest = packed;
        for (range, turn) in &self.columns {
            let (cell, after) = rest.split_at(range.len());
            rest = after;
            if *turn != Turn::Delimit {
                let from = ordered.len();
                ordered.resize(from + cell.len(), 0);
                turn_to(*turn, cell, &mut ordered[from..]);
                continue;
            }
            let length = u16::from_le_bytes(*cell.first_chunk().expect("the length of a column"));
            let (bytes, after) = rest.split_at(length.into());
            rest = after;
            for piece in bytes.split_inclusive(|byte| *byte == 0) {
                ordered.extend_from_slice(piece);
                ordered.extend((piece.last() == Some(&0)).then_some(ZERO));
            }
            ordered.extend([0, END]);
        }
    }

    /// Converts a key in order to a packed one; returns `None` if it is no key.
    #[inline]
    pub(crate) fn decode(&self, ordered: &[u8], packed: &mut Vec<u8>) -> Option<()> {
        if self.is_variable && !self.is_packed {
            let rest = self.decode_any(ordered, packed)?;
            return rest.is_empty().then_some(());
        }
        packed.resize(ordered.len(), 0);
        if self.is_packed {
            packed.copy_from_slice(ordered);
            return Some(());
        }
        for (range, turn) in &self.columns {
            turn_back(*turn, ordered.get(range.clone())?, &mut packed[range.clone()]);
        }
        Some(())
    }

    /// Converts the key in order at the start of the bytes to a packed one; returns the rest.
    fn decode_any<'b>(&self, ordered: &'b [u8], packed: &mut Vec<u8>) -> Option<&'b [u8]> {
        packed.clear();
        let mut rest = ordered;
        for (range, turn) in &self.columns {
            let from = packed.len();
            packed.resize(from + range.len(), 0);
            if *turn != Turn::Delimit {
                let (cell, after) = rest.split_at_checked(range.len())?;
                rest = after;
                turn_back(*turn, cell, &mut packed[from..]);
                continue;
            }
            loop {
                let (byte, after) = rest.split_first()?;
                rest = after;
                if *byte == 0 {
                    let (what, after) = rest.split_first()?;
                    rest = after;
                    match *what {
                        END => break,
                        ZERO => {}
                        _ => return None,
                    }
                }
                packed.push(*byte);
            }
            let length = u16::try_from(packed.len() - from - range.len()).ok()?;
            packed[from..from + range.len()].copy_from_slice(&length.to_le_bytes());
        }
        Some(rest)
    }

    /// Splits bytes after the key at their start, which is as in a table's index: in order, or
    /// packed if keys have no order. Returns `None` if there is no whole key.
    pub(crate) fn split<'b>(
        &self,
        schema: &Schema,
        bytes: &'b [u8],
    ) -> Option<(&'b [u8], &'b [u8])> {
        let length = match (self.is_variable, self.is_packed) {
            (false, _) => self.size,
            (true, true) => schema.key_length(bytes).ok()?,
            (true, false) => {
                let mut packed = Vec::new();
                let rest = self.decode_any(bytes, &mut packed)?;
                schema.expect_key(&packed).ok()?;
                bytes.len() - rest.len()
            }
        };
        bytes.split_at_checked(length)
    }
}

/// Appends the lowest value of a column of the key to a packed key.
pub(super) fn append_lowest(kind: Type, packed: &mut Vec<u8>) {
    append_bound(kind, 0, 0, packed);
}

/// Appends a value as high as any of a column of the key to a packed key.
pub(super) fn append_highest(kind: Type, packed: &mut Vec<u8>) {
    append_bound(kind, u8::MAX, kind.most_bytes(), packed);
}

fn append_bound(kind: Type, byte: u8, length: usize, packed: &mut Vec<u8>) {
    match Turn::of(kind) {
        Turn::Delimit => packed_key::append(&vec![byte; length], packed),
        turn => {
            let from = packed.len();
            let cell = vec![byte; kind.size_bytes()];
            packed.resize(from + cell.len(), 0);
            turn_back(turn, &cell, &mut packed[from..]);
        }
    }
}

/// Converts a column to order.
#[inline(always)]
fn turn_to(turn: Turn, from: &[u8], to: &mut [u8]) {
    reverse_unless_kept(turn, from, to);
    match turn {
        Turn::Keep | Turn::Reverse | Turn::Delimit => {}
        Turn::Signed => to[0] ^= 0x80,
        Turn::Float if to[0] & 0x80 != 0 => to.iter_mut().for_each(|byte| *byte = !*byte),
        Turn::Float => to[0] ^= 0x80,
    }
}

/// Converts a column back from order.
#[inline(always)]
fn turn_back(turn: Turn, from: &[u8], to: &mut [u8]) {
    reverse_unless_kept(turn, from, to);
    let first = to.len() - 1;
    match turn {
        Turn::Keep | Turn::Reverse | Turn::Delimit => {}
        Turn::Signed => to[first] ^= 0x80,
        Turn::Float if to[first] & 0x80 == 0 => to.iter_mut().for_each(|byte| *byte = !*byte),
        Turn::Float => to[first] ^= 0x80,
    }
}

#[inline(always)]
fn reverse_unless_kept(turn: Turn, from: &[u8], to: &mut [u8]) {
    match (turn, from.len()) {
        // The usual widths take one instruction each.
        (_, 1) => to[0] = from[0],
        (Turn::Keep, _) => to.copy_from_slice(from),
        (_, 4) => {
            let word = u32::from_le_bytes(*from.first_chunk().expect("four bytes"));
            to.copy_from_slice(&word.to_be_bytes());
        }
        (_, 8) => {
            let word = u64::from_le_bytes(*from.first_chunk().expect("eight bytes"));
            to.copy_from_slice(&word.to_be_bytes());
        }
        _ => to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::super::Value;
    use super::*;
    use crate::decimal::Decimal;
    use proptest::prelude::*;

    fn schema() -> Schema {
        Schema::build("all")
            .key("u8", Type::U8)
            .key("i16", Type::I16)
            .key("f32", Type::F32)
            .key("text", Type::Text(3))
            .key("u64", Type::U64)
            .key("i64", Type::I64)
            .key("f64", Type::F64)
            .key("bool", Type::Bool)
            .key("u16", Type::U16)
            .key("i32", Type::I32)
            .key("time", Type::Timestamp)
            .key("i8", Type::I8)
            .key("short", Type::Decimal { precision: 18, scale: 3 })
            .key("long", Type::Decimal { precision: 38, scale: 20 })
            .finish()
            .expect("a schema")
    }

    type Key = (u8, i16, f32, u8, u64, i64, f64, bool, u16, i32, i64, (i8, i64, i128));

    fn packed(key: Key) -> Vec<u8> {
        let text = [b'a' + key.3 % 3];
        let text = str::from_utf8(&text).expect("a letter");
        let values = [
            Value::Unsigned(key.0.into()),
            Value::Signed(key.1.into()),
            Value::Float(key.2.into()),
            Value::Text(text),
            Value::Unsigned(key.4),
            Value::Signed(key.5),
            Value::Float(key.6),
            Value::Bool(key.7),
            Value::Unsigned(key.8.into()),
            Value::Signed(key.9.into()),
            Value::Timestamp(key.10),
            Value::Signed(key.11.0.into()),
            Value::Decimal(Decimal::new(key.11.1.into(), 3).expect("18 digits")),
            Value::Decimal(Decimal::new(key.11.2, 20).expect("38 digits")),
        ];
        schema().pack_key(&values).expect("values that fit")
    }

    fn compare(a: Key, b: Key) -> Ordering {
        a.0.cmp(&b.0)
            .then(a.1.cmp(&b.1))
            .then(a.2.total_cmp(&b.2))
            .then((a.3 % 3).cmp(&(b.3 % 3)))
            .then(a.4.cmp(&b.4))
            .then(a.5.cmp(&b.5))
            .then(a.6.total_cmp(&b.6))
            .then(a.7.cmp(&b.7))
            .then(a.8.cmp(&b.8))
            .then(a.9.cmp(&b.9))
            .then(a.10.cmp(&b.10))
            .then(a.11.cmp(&b.11))
    }

    /// Generates keys whose first columns are often the same.
    fn keys() -> impl Strategy<Value = Key> {
        let float = prop_oneof![Just(0.0), Just(-0.0), any::<f32>(), Just(f32::NAN)];
        let short = 10i64.pow(18);
        let long = 10i128.pow(38);
        let last = (-1..2i8, 1 - short..short, any::<i128>().prop_map(move |n| n % long));
        let rest = (any::<bool>(), any::<u16>(), any::<i32>(), -1..2i64, last);
        let front = (0..2u8, -1..2i16, float, any::<u8>(), 0..3u64, -1..2i64, any::<f64>());
        (front, rest).prop_map(|((a, b, c, d, e, f, g), (h, i, j, k, l))| {
            (a, b, c, d, e, f, g, h, i, j, k, l)
        })
    }

    proptest! {
        #[test]
        fn bytes_are_in_the_order_of_keys_and_lead_back(a in keys(), b in keys()) {
            let order = KeyOrder::new(&schema());
            let encode = |key| {
                let packed = packed(key);
                let mut ordered = vec![0; order.size()];
                order.encode(&packed, &mut ordered);
                let mut back = Vec::new();
                order.decode(&ordered, &mut back).expect("a key");
                assert_eq!(back, packed);
                ordered
            };
            prop_assert_eq!(encode(a).cmp(&encode(b)), compare(a, b));
        }
    }
}

//! Keys as bytes that sort as the keys do: numbers big-endian, signed ones with their sign turned,
//! floats with all bits turned if negative, text and bytes as they are.

use super::{Schema, Type};

/// What has to be done to a column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing.
    Keep,
    /// Its bytes the other way round.
    Reverse,
    /// The same, and the sign turned.
    Signed,
    /// The same as for signed ones, and negative ones turned whole.
    Float,
}

/// How the keys of a schema become bytes in their order, and back.
#[derive(Clone, Debug)]
pub struct KeyOrder {
    columns: Vec<(std::ops::Range<usize>, Turn)>,
    size: usize,
    is_packed: bool,
}

impl KeyOrder {
    /// For the keys of a schema.
    pub fn new(schema: &Schema) -> Self {
        let turn = |kind| match kind {
            Type::U8 | Type::Bool | Type::Text(_) | Type::Bytes(_) => Turn::Keep,
            Type::VarText(_) | Type::VarBytes(_) => unreachable!("no schema has these in its key"),
            Type::U16 | Type::U32 | Type::U64 => Turn::Reverse,
            Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Timestamp => Turn::Signed,
            Type::F32 | Type::F64 => Turn::Float,
        };
        let columns = &schema.columns()[..schema.key_columns()];
        let columns: Vec<_> =
            columns.iter().map(|column| (column.range(), turn(column.kind))).collect();
        let is_packed = columns.iter().all(|(_, turn)| *turn == Turn::Keep);
        Self { columns, size: schema.key_size(), is_packed }
    }

    /// For tables in which keys have no order and stay packed.
    pub fn packed(schema: &Schema) -> Self {
        let size = schema.key_size();
        Self { columns: vec![(0..size, Turn::Keep)], size, is_packed: true }
    }

    /// Whether packed keys are in order as they are.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Bytes of a key, packed or in order.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Writes a packed key in order.
    #[inline]
    pub fn encode(&self, packed: &[u8], ordered: &mut [u8]) {
        for (range, turn) in &self.columns {
            let (from, to) = (&packed[range.clone()], &mut ordered[range.clone()]);
            reverse_unless_kept(*turn, from, to);
            match turn {
                Turn::Keep | Turn::Reverse => {}
                Turn::Signed => to[0] ^= 0x80,
                Turn::Float if to[0] & 0x80 != 0 => to.iter_mut().for_each(|byte| *byte = !*byte),
                Turn::Float => to[0] ^= 0x80,
            }
        }
    }

    /// Writes a key that is in order packed.
    #[inline]
    pub fn decode(&self, ordered: &[u8], packed: &mut [u8]) {
        for (range, turn) in &self.columns {
            let (from, to) = (&ordered[range.clone()], &mut packed[range.clone()]);
            reverse_unless_kept(*turn, from, to);
            let first = to.len() - 1;
            match turn {
                Turn::Keep | Turn::Reverse => {}
                Turn::Signed => to[first] ^= 0x80,
                Turn::Float if to[first] & 0x80 == 0 => {
                    to.iter_mut().for_each(|byte| *byte = !*byte);
                }
                Turn::Float => to[first] ^= 0x80,
            }
        }
    }
}

#[inline(always)]
fn reverse_unless_kept(turn: Turn, from: &[u8], to: &mut [u8]) {
    match (turn, from.len()) {
        // The usual widths in one instruction each.
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
            .finish()
            .expect("a schema")
    }

    type Key = (u8, i16, f32, u8, u64, i64, f64, bool, u16, i32, i64, i8);

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
            Value::Signed(key.11.into()),
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

    /// Keys whose first columns are often the same.
    fn keys() -> impl Strategy<Value = Key> {
        let float = prop_oneof![Just(0.0), Just(-0.0), any::<f32>(), Just(f32::NAN)];
        let rest = (any::<bool>(), any::<u16>(), any::<i32>(), any::<i64>(), any::<i8>());
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
                let mut back = vec![0; order.size()];
                order.decode(&ordered, &mut back);
                assert_eq!(back, packed);
                ordered
            };
            prop_assert_eq!(encode(a).cmp(&encode(b)), compare(a, b));
        }
    }
}

//! Keys as bytes in the order of keys.

use super::value::array;
use super::{ColumnType, Schema};

/// Turns the key area into bytes whose bytewise order is the order of the key: integers
/// big-endian with the sign bit flipped, floats by IEEE 754 total order, text and bytes as
/// they are; no padding between the columns.
#[derive(Clone, Debug)]
pub struct KeyOrder {
    parts: Vec<(usize, ColumnType)>,
    size: usize,
}

impl KeyOrder {
    /// Makes the order of a schema's primary key.
    pub fn new(schema: &Schema) -> Self {
        let parts: Vec<_> =
            schema.key_columns().iter().map(|column| (column.offset, column.kind)).collect();
        let size = parts.iter().map(|(_, kind)| kind.size_bytes()).sum();
        Self { parts, size }
    }

    /// Returns the bytes of an encoded key.
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

    /// Decodes the result of [`Self::encode`] into a key area (whose padding must be zero).
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
    use proptest::prelude::*;

    use super::*;

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

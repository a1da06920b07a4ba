//! Keys of at most eight bytes as one 64-bit word, for containers in memory: a comparison of
//! words is the comparison of the typed keys.

use assay_driver::schema::{Column, ColumnType, Schema};

/// The conversion of a schema's key area to a word in the order of the typed key: the first column
/// above the second (which is empty in keys of one column), with the sign bits flipped. C++ has the
/// same struct.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordKey {
    first: Part,
    second: Part,
    sign: u64,
}

/// One column inside the word.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Part {
    mask: u64,
    offset_bits: u32,
    width_bits: u32,
}

impl WordKey {
    /// Makes the conversion; none if the key is longer than a word, has more than two columns or
    /// other columns than integers.
    pub(crate) fn new(schema: &Schema) -> Option<Self> {
        if schema.key_size() != 8 {
            return None;
        }
        let column = |column: &Column| {
            let signed = match column.kind {
                ColumnType::U8 | ColumnType::U16 | ColumnType::U32 | ColumnType::U64 => false,
                ColumnType::I32 | ColumnType::I64 => true,
                ColumnType::F64
                | ColumnType::Text(_)
                | ColumnType::Bytes(_)
                | ColumnType::VarBytes(_) => return None,
            };
            let width_bits = column.kind.size_bytes() as u32 * 8;
            let part = Part {
                mask: u64::MAX >> (64 - width_bits),
                offset_bits: column.offset as u32 * 8,
                width_bits,
            };
            Some((part, u64::from(signed) << (width_bits - 1)))
        };
        let empty = Part { mask: 0, offset_bits: 0, width_bits: 0 };
        let ((first, first_sign), (second, second_sign)) = match schema.key_columns() {
            [only] => (column(only)?, (empty, 0)),
            [first, second] => (column(first)?, column(second)?),
            _ => return None,
        };
        Some(Self { first, second, sign: first_sign << second.width_bits | second_sign })
    }

    /// Returns the key area as it is: equal words for equal keys, no order.
    #[inline(always)]
    pub(crate) fn raw(key: &[u8]) -> u64 {
        u64::from_le_bytes(*key.first_chunk().expect("the key area is one word"))
    }

    /// Returns a word in the order of the typed key.
    #[inline(always)]
    pub(crate) fn ordered(&self, key: &[u8]) -> u64 {
        let raw = Self::raw(key);
        let part = |part: Part| (raw >> part.offset_bits) & part.mask;
        (part(self.first) << self.second.width_bits | part(self.second)) ^ self.sign
    }

    /// Returns the key area's word that [`Self::ordered`] was made from.
    pub(crate) fn raw_from_ordered(&self, ordered: u64) -> u64 {
        let plain = ordered ^ self.sign;
        let first = (plain >> self.second.width_bits) & self.first.mask;
        let second = plain & self.second.mask;
        first << self.first.offset_bits | second << self.second.offset_bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_the_order_of_composite_keys_and_come_back() {
        let schema = Schema::new(
            "t",
            &[("a", ColumnType::I32), ("b", ColumnType::U8), ("c", ColumnType::U8)],
            2,
        );
        let word_key = WordKey::new(&schema).expect("five bytes of integers");
        let mut keys = Vec::new();
        for a in [i32::MIN, -1, 0, 1, i32::MAX] {
            for b in [0u8, 1, 255] {
                let mut key = [0; 8];
                key[..4].copy_from_slice(&a.to_le_bytes());
                key[4] = b;
                keys.push(key);
            }
        }
        let words: Vec<_> = keys.iter().map(|key| word_key.ordered(key)).collect();
        assert!(words.is_sorted_by(|a, b| a < b));
        for (key, word) in keys.iter().zip(words) {
            assert_eq!(word_key.raw_from_ordered(word), WordKey::raw(key));
        }
    }

    #[test]
    fn a_full_word_keeps_its_order() {
        let schema = Schema::new("t", &[("a", ColumnType::I64), ("b", ColumnType::U8)], 1);
        let word_key = WordKey::new(&schema).expect("one word");
        let words: Vec<_> =
            [i64::MIN, -1, 0, i64::MAX].map(|a| word_key.ordered(&a.to_le_bytes())).to_vec();
        assert!(words.is_sorted_by(|a, b| a < b));
        assert_eq!(word_key.raw_from_ordered(words[1]), u64::MAX);
    }
}

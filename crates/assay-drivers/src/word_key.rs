//! Keys of at most eight bytes as one 64-bit word, for containers in memory: a comparison of
//! words is the comparison of the typed keys.

use assay_core::schema::{ColumnType, Schema};

/// How a schema's key area becomes a word.
#[derive(Clone, Debug)]
pub(crate) struct WordKey {
    parts: Vec<Part>,
}

/// One column inside the word. C++ has the same struct.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    offset_bits: u32,
    width_bits: u32,
    sign: u64,
}

impl WordKey {
    /// None if the key is longer than a word or has other columns than integers.
    pub(crate) fn new(schema: &Schema) -> Option<Self> {
        if schema.key_size() != 8 {
            return None;
        }
        let parts = schema.key_columns().iter().map(|column| {
            let signed = match column.kind {
                ColumnType::U8 | ColumnType::U16 | ColumnType::U32 | ColumnType::U64 => false,
                ColumnType::I32 | ColumnType::I64 => true,
                ColumnType::F64 | ColumnType::Text(_) | ColumnType::Bytes(_) => return None,
            };
            let width_bits = column.kind.size_bytes() as u32 * 8;
            Some(Part {
                offset_bits: column.offset as u32 * 8,
                width_bits,
                sign: u64::from(signed) << (width_bits - 1),
            })
        });
        Some(Self {
            parts: parts.collect::<Option<_>>()?,
        })
    }

    /// The columns, most significant first.
    #[cfg(feature = "stl")]
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The key area as it stands: equal words for equal keys, no order.
    #[inline(always)]
    pub(crate) fn raw(key: &[u8]) -> u64 {
        u64::from_le_bytes(*key.first_chunk().expect("the key area is one word"))
    }

    /// A word in the order of the typed key.
    #[inline(always)]
    pub(crate) fn ordered(&self, key: &[u8]) -> u64 {
        let word = Self::raw(key);
        match self.parts.as_slice() {
            [only] => only.of(word),
            parts => parts
                .iter()
                .fold(0, |ordered, part| ordered << part.width_bits | part.of(word)),
        }
    }

    /// The key area's word that [`Self::ordered`] was made from.
    pub(crate) fn raw_from_ordered(&self, mut ordered: u64) -> u64 {
        let mut raw = 0;
        for part in self.parts.iter().rev() {
            raw |= ((ordered & part.mask()) ^ part.sign) << part.offset_bits;
            ordered = ordered.checked_shr(part.width_bits).unwrap_or(0);
        }
        raw
    }
}

impl Part {
    #[inline(always)]
    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width_bits)
    }

    #[inline(always)]
    fn of(self, word: u64) -> u64 {
        ((word >> self.offset_bits) & self.mask()) ^ self.sign
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
        let words: Vec<_> = [i64::MIN, -1, 0, i64::MAX]
            .map(|a| word_key.ordered(&a.to_le_bytes()))
            .to_vec();
        assert!(words.is_sorted_by(|a, b| a < b));
        assert_eq!(word_key.raw_from_ordered(words[1]), u64::MAX);
    }
}

//! The items of NuDB's bench.

use assay_core::random::{Bijection, Words, derive, draw, mix};
use assay_core::tape::Records;
use assay_driver::schema::{ColumnType, Schema};

/// The fewest bytes of a value. The constants below give 501 lengths: 250 to 750 bytes.
const LEAST_VALUE_BYTES: usize = 250;
const VALUE_LENGTHS: u64 = 501;
const MOST_VALUE_BYTES: u32 = 750;

/// The items of a seed.
pub(super) struct Items {
    schema: Schema,
    /// The bijection for keys of less than eight bytes, so that no two items have the same key.
    short: Option<Bijection>,
    seed: u64,
}

impl Items {
    pub(super) fn new(key_size: u32, seed: u64) -> Self {
        let columns =
            [("k", ColumnType::Bytes(key_size)), ("v", ColumnType::VarBytes(MOST_VALUE_BYTES))];
        Self {
            schema: Schema::new("items", &columns, 1),
            short: super::most_items(key_size)
                .map(|keys| Bijection::new(derive(seed, "keys"), keys)),
            seed: derive(seed, "items"),
        }
    }
}

/// Fills bytes with the words of a sequence.
fn fill(mut words: Words, bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&words.next().to_le_bytes()[..chunk.len()]);
    }
}

impl Records for Items {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Writes a key. The first word of a long one is a bijection of the number, so keys differ.
    fn key(&self, row: u64, key: &mut [u8]) {
        let size = self.schema.key_columns()[0].kind.size_bytes();
        let first = match &self.short {
            Some(bijection) => bijection.at(row),
            None => mix(self.seed, row),
        };
        let word = size.min(8);
        key[..word].copy_from_slice(&first.to_le_bytes()[..word]);
        fill(Words::new(mix(!self.seed, row)), &mut key[word..size]);
        key[size..].fill(0);
    }

    /// Writes random bytes; another version has other bytes and another length.
    fn payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        let seed = mix(self.seed ^ u64::from(version) << 32, row);
        let len = LEAST_VALUE_BYTES + draw(seed, 0, VALUE_LENGTHS) as usize;
        payload[..4].copy_from_slice(&(len as u32).to_le_bytes());
        fill(Words::new(seed), &mut payload[4..4 + len]);
        payload[4 + len..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_driver::schema::Value;
    use std::collections::BTreeSet;

    #[test]
    fn keys_of_every_size_differ() {
        for key_size in [1, 2, 7, 8, 9, 64] {
            let items = Items::new(key_size, 1);
            let rows = super::super::most_items(key_size).unwrap_or(5_000).min(5_000);
            let mut key = vec![0xff; items.schema().key_size()];
            let keys: BTreeSet<_> = (0..rows)
                .map(|row| {
                    items.key(row, &mut key);
                    key.clone()
                })
                .collect();
            assert_eq!(keys.len() as u64, rows, "keys of {key_size} bytes");
            assert!(key[key_size as usize..].iter().all(|&byte| byte == 0), "padding is zero");
        }
    }

    #[test]
    fn values_have_every_published_length() {
        let items = Items::new(64, 1);
        let schema = items.schema();
        let mut record = vec![0; schema.record_size()];
        let lengths: BTreeSet<_> = (0..20_000)
            .map(|row| {
                items.payload(row, 0, &mut record[schema.key_size()..]);
                match schema.columns()[1].value(&record) {
                    Value::Bytes(value) => value.len(),
                    other => panic!("{other:?}"),
                }
            })
            .collect();
        assert_eq!((lengths.first(), lengths.last()), (Some(&250), Some(&750)));
        assert_eq!(lengths.len(), 501);
    }
}

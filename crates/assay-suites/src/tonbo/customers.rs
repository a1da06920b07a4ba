//! Customers with random contents: an i32 key and seven columns, texts of 50 characters.

use assay_core::random::{Bijection, Words, derive, draw, mix};
use assay_core::tape::Records;
use assay_driver::schema::{Column, ColumnType, Schema};

/// Characters of a text.
const TEXT_SIZE: u32 = 50;

/// The number of different keys.
const KEYS: u64 = 1 << 32;

/// Bytes of a customer: six texts of fifty, and three numbers.
pub(super) const RECORD_BYTES: u64 = 308;

/// The number of texts of a customer.
pub(super) const TEXTS: usize = 6;

/// Returns the shape of a customer whose texts have at most these numbers of bytes.
pub(super) fn schema(most: [u32; TEXTS]) -> Schema {
    let [name, address, phone, balance, segment, comment] = most.map(ColumnType::Text);
    Schema::new(
        "customer",
        &[
            ("c_custkey", ColumnType::I32),
            ("c_name", name),
            ("c_address", address),
            ("c_nationkey", ColumnType::I32),
            ("c_phone", phone),
            ("c_acctbal", balance),
            ("c_mktsegment", segment),
            ("c_comment", comment),
        ],
        1,
    )
}

/// The order of keys in which the rows are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    /// Row 0 has the least key.
    ByKey,
    /// Rows are numbered at random.
    Scattered,
}

/// `rows` customers.
///
/// Their keys are spread over the whole range of i32: the range is cut into as many equal parts
/// as there are rows, and each has one key at a random place. So keys are random, no two are the
/// same, and a range of any size can be named without a list of keys.
pub(super) struct Customers {
    schema: Schema,
    rows: u64,
    scattered: Option<Bijection>,
    seed: u64,
}

impl Customers {
    pub(super) fn new(rows: u64, numbering: Numbering, seed: u64) -> Self {
        Self {
            schema: schema([TEXT_SIZE; TEXTS]),
            rows,
            scattered: (numbering == Numbering::Scattered)
                .then(|| Bijection::new(derive(seed, "ranks"), rows)),
            seed: derive(seed, "customers"),
        }
    }

    fn key_of_rank(&self, rank: u64) -> i32 {
        let part = KEYS / self.rows;
        let above_least = rank * part + draw(self.seed, rank, part);
        (above_least as i64 + i64::from(i32::MIN)) as i32
    }
}

/// The most rows: the number of keys.
pub(super) const MOST_ROWS: u64 = KEYS;

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Writes random letters and digits, eight from a word of random bits.
fn letters(words: &mut Words, text: &mut [u8]) {
    for chunk in text.chunks_mut(8) {
        for (to, bits) in chunk.iter_mut().zip(words.next().to_le_bytes()) {
            *to = ALPHANUMERIC[(usize::from(bits) * ALPHANUMERIC.len()) >> 8];
        }
    }
}

impl Records for Customers {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn key(&self, row: u64, key: &mut [u8]) {
        let rank = self.scattered.as_ref().map_or(row, |bijection| bijection.at(row));
        key[..4].copy_from_slice(&self.key_of_rank(rank).to_le_bytes());
        key[4..].fill(0);
    }

    fn payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        let mut words = Words::new(mix(self.seed ^ u64::from(version) << 32, !row));
        let base = self.schema.key_size();
        payload.fill(0);
        for column in self.schema.payload_columns() {
            let slot = slot_mut(column, base, payload);
            match column.kind {
                ColumnType::I32 => slot.copy_from_slice(&(words.next() as i32).to_le_bytes()),
                _ => letters(&mut words, slot),
            }
        }
    }
}

/// Returns a column's bytes in a payload area.
pub(super) fn slot_mut<'p>(column: &Column, base: usize, payload: &'p mut [u8]) -> &'p mut [u8] {
    &mut payload[column.offset - base..column.offset - base + column.kind.size_bytes()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_driver::schema::Value;

    #[test]
    fn keys_ascend_with_the_rows_and_cover_the_range() {
        let customers = Customers::new(1_000, Numbering::ByKey, 1);
        let mut key = [0; 8];
        let keys: Vec<_> = (0..1_000)
            .map(|row| {
                customers.key(row, &mut key);
                i32::from_le_bytes([key[0], key[1], key[2], key[3]])
            })
            .collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(keys[0] < -2_100_000_000 && keys[999] > 2_100_000_000);
    }

    #[test]
    fn texts_are_50_letters_and_digits() {
        let customers = Customers::new(10, Numbering::Scattered, 1);
        let schema = customers.schema();
        let mut record = vec![0; schema.record_size()];
        customers.payload(3, 0, &mut record[schema.key_size()..]);
        for column in schema.payload_columns() {
            if let Value::Text(text) = column.value(&record) {
                assert_eq!(text.len(), 50, "{}", column.name);
                assert!(text.iter().all(u8::is_ascii_alphanumeric));
            }
        }
    }
}

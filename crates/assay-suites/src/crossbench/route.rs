//! CrossBench's record: a route.

use assay_core::random::{Bijection, Words, derive, mix};
use assay_core::tape::Records;
use assay_driver::schema::{ColumnType, Schema};

use super::Keys;

/// The first prefix: 10.1.1.0.
const FIRST_PREFIX: u64 = 0x0a01_0100;
const MASK: u8 = 24;
/// The number of different prefixes from the first one on.
pub const MOST_ROWS: u64 = (1 << 32) - FIRST_PREFIX;

/// The routes of a run.
pub struct Routes {
    schema: Schema,
    scattered: Option<Bijection>,
    seed: u64,
}

impl Routes {
    /// Returns the routes with these keys that `seed` names.
    pub fn new(keys: Keys, seed: u64) -> Self {
        Self {
            schema: Schema::new(
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
            ),
            scattered: (keys == Keys::Sparse)
                .then(|| Bijection::new(derive(seed, "keys"), 1 << 32)),
            seed: derive(seed, "records"),
        }
    }
}

/// Returns eight letters of an interface name from 64 random bits: six bits of each byte, from '0'
/// up to 'o', so all printable ASCII and no character more likely than another.
fn letters(bits: u64) -> [u8; 8] {
    ((bits & 0x3f3f_3f3f_3f3f_3f3f) + 0x3030_3030_3030_3030).to_le_bytes()
}

impl Records for Routes {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn key(&self, row: u64, key: &mut [u8]) {
        let prefix = match &self.scattered {
            Some(bijection) => bijection.at(row),
            None => FIRST_PREFIX + row,
        };
        key[..4].copy_from_slice(&(prefix as u32).to_le_bytes());
        key[4..].copy_from_slice(&[MASK, 0, 0, 0]);
    }

    /// Writes nexthop 0..4, metric 4, intf 5..21 (15 characters), birth 24..28, flags 28..32.
    fn payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        let mut words = Words::new(mix(self.seed, row));
        let numbers = words.next();
        let name = words.next();
        let rest = words.next();
        let birth = mix(self.seed ^ u64::from(version), !row);
        payload[..4].copy_from_slice(&(numbers as u32).to_le_bytes());
        payload[4] = (rest >> 56) as u8;
        payload[5..13].copy_from_slice(&letters(name));
        payload[13..21].copy_from_slice(&letters(rest));
        payload[20..24].fill(0);
        payload[24..28].copy_from_slice(&(birth as u32).to_le_bytes());
        payload[28..32].copy_from_slice(&((numbers >> 32) as u32).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_driver::schema::Value;

    #[test]
    fn dense_prefixes_run_upward_from_the_published_one() {
        let routes = Routes::new(Keys::Dense, 1);
        let mut key = [0xff; 8];
        routes.key(256, &mut key);
        let columns = routes.schema().key_columns();
        assert_eq!(columns[0].value(&key), Value::Unsigned(0x0a01_0200));
        assert_eq!(columns[1].value(&key), Value::Unsigned(24));
        assert_eq!(key[5..], [0; 3], "padding is zero");
    }

    #[test]
    fn a_payload_fills_its_columns_and_only_birth_changes_with_the_version() {
        let routes = Routes::new(Keys::Sparse, 1);
        let schema = routes.schema();
        let mut first = [0xff; 32];
        let mut second = [0; 32];
        routes.payload(7, 0, &mut first);
        routes.payload(7, 1, &mut second);
        let difference = schema.first_difference(&first, &second).expect("another birth");
        assert!(difference.starts_with("column birth"), "{difference}");
        second[24..28].copy_from_slice(&first[24..28]);
        assert_eq!(first, second);
        let mut record = vec![0; 8];
        record.extend(first);
        let intf = schema.columns()[schema.position("intf").expect("intf")].value(&record);
        assert!(matches!(intf, Value::Text(name) if name.len() == 15));
    }
}

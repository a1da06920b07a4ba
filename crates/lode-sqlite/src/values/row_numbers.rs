//! Numbers of rows, which SQLite wants where it cannot name a row by one value of its key.
//!
//! A number is a hash of the packed key, so a row has the same one in every statement. While
//! statements run, it is known which key each number stands for; two keys with one number are an
//! error. (Of a million rows, that happens to two with a chance of one to ten million.)

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use lode::Schema;
use rusqlite::{Result, ffi};

use crate::error::error;
use crate::values::position::is_float;

/// Returns true if a table's rows have numbers: those with several columns in the key, and those
/// with a float, since SQLite takes one zero for the other.
pub(crate) fn has_row_numbers(schema: &Schema) -> bool {
    schema.key_columns() > 1 || is_float(schema.columns()[0].kind)
}

/// The keys for which the numbers that SQLite got stand.
#[derive(Default)]
pub(crate) struct RowNumbers {
    keys: RefCell<HashMap<i64, Box<[u8]>>>,
}

impl RowNumbers {
    /// Returns the number of a packed key.
    pub(crate) fn number(&self, key: &[u8]) -> Result<i64> {
        let number = hash(key);
        match self.keys.borrow_mut().entry(number) {
            Entry::Occupied(entry) if **entry.get() != *key => Err(error(
                ffi::SQLITE_ERROR,
                "two keys of the table have the same row number; write them in statements apart",
            )),
            Entry::Occupied(_) => Ok(number),
            Entry::Vacant(entry) => {
                entry.insert(key.into());
                Ok(number)
            }
        }
    }

    /// Returns the packed key that a number stands for.
    pub(crate) fn key(&self, number: i64) -> Option<Box<[u8]>> {
        self.keys.borrow().get(&number).cloned()
    }

    pub(crate) fn forget(&self) {
        let mut keys = self.keys.borrow_mut();
        if !keys.is_empty() {
            *keys = HashMap::new();
        }
    }
}

/// Hashes a key with FNV-1a of 64 bits, mixed as by SplitMix64, without the sign.
fn hash(key: &[u8]) -> i64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut z = key.iter().fold(0xcbf2_9ce4_8422_2325, step);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) >> 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_one_key() {
        let numbers = RowNumbers::default();
        let first = numbers.number(b"a").expect("the first");
        assert_eq!(numbers.number(b"a"), Ok(first));
        assert_ne!(numbers.number(b"b"), Ok(first));
        assert_eq!(numbers.key(first).as_deref(), Some(&b"a"[..]));
        numbers.keys.borrow_mut().insert(hash(b"c"), Box::from(*b"d"));
        assert!(numbers.number(b"c").is_err());
        numbers.forget();
        assert_eq!(numbers.key(first), None);
    }
}

//! Tests of finding the records of a transaction.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use super::*;
use crate::{Database, KeyKind, Schema, Type};

#[test]
fn records_are_told_apart_whose_keys_have_the_same_hash() {
    let db = Database::in_memory().unwrap();
    let schema = Schema::build("t").key("id", Type::U32).finish().unwrap();
    let table = db.create_table(&schema, KeyKind::Hash).unwrap();
    let mut touched = Touched::new(Arc::clone(table.core()));
    // Two of a hundred thousand keys have the same, about.
    let mut hashes = HashSet::new();
    for id in 0..u32::MAX {
        let key = id.to_le_bytes();
        touched.note(&key, None);
        if !hashes.insert(touched.hash(&key)) {
            break;
        }
    }
    assert!(hashes.len() + 1 == touched.count(), "none has the hash of another");
    for number in 0..touched.count() {
        assert_eq!(touched.find(&(number as u32).to_le_bytes()), Some(number));
    }
    assert_eq!(touched.find(&u32::MAX.to_le_bytes()), None);
}

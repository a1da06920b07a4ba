//! The tables of small databases in tests, and records whose bytes follow from key and value.

use lode::{KeyKind, Schema, Type};

/// The tables that there may be, with the bytes of their records after key and value.
pub const TABLES: [(&str, KeyKind, u32); 5] = [
    ("hash", KeyKind::Hash, 900),
    ("tree", KeyKind::Tree, 1900),
    ("short", KeyKind::Hash, 4),
    ("shrub", KeyKind::Tree, 4),
    ("late", KeyKind::Tree, 4),
];

pub fn schema(table: usize) -> Schema {
    let (name, _, rest) = TABLES[table];
    Schema::build(name)
        .key("key", Type::U32)
        .column("value", Type::U32)
        .column("rest", Type::Bytes(rest))
        .finish()
        .expect("a schema")
}

/// All bytes of a record follow from key and value, so that each of them is looked at.
pub fn record(table: usize, key: u32, value: u32) -> Vec<u8> {
    let rest = (0..TABLES[table].2).map(|at| (value ^ key ^ at) as u8);
    key.to_le_bytes().into_iter().chain(value.to_le_bytes()).chain(rest).collect()
}

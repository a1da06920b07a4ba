//! Records of routes, as crossbench has them: a key of five bytes and 29 more.

use lode::{Schema, Type};

/// Bytes of a key.
pub const KEY_BYTES: usize = 5;

/// Bytes of the other columns.
pub const PAYLOAD_BYTES: usize = 29;

/// A record, packed.
pub type Record = [u8; KEY_BYTES + PAYLOAD_BYTES];

/// Their schema.
pub fn schema() -> Schema {
    schema_named("route")
}

/// Returns the schema of a table with this name.
pub fn schema_named(name: &str) -> Schema {
    Schema::build(name)
        .key("prefix", Type::U32)
        .key("mask", Type::U8)
        .column("next_hop", Type::U32)
        .column("rest", Type::Bytes(PAYLOAD_BYTES as u32 - 4))
        .finish()
        .expect("a schema")
}

/// The keys of all rows, in no order.
pub fn keys(rows: u64) -> impl Iterator<Item = [u8; KEY_BYTES]> {
    let size = rows.next_power_of_two();
    let shuffled = (0..size).map(move |at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) & (size - 1));
    shuffled.filter(move |id| *id < rows).map(|id| {
        let [a, b, c, d] = (id as u32).to_le_bytes();
        [a, b, c, d, 24]
    })
}

/// The record of a key.
pub fn record(key: &[u8; KEY_BYTES]) -> Record {
    let mut record = [7; KEY_BYTES + PAYLOAD_BYTES];
    record[..KEY_BYTES].copy_from_slice(key);
    record
}

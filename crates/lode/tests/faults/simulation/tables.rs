//! The tables of the simulation: what their records are made of, and what is in a database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::reading::each_row;
use lode::{Database, Error, KeyKind, ReadTable, Schema, Type, Value};

/// The rest of a table's records after key and value: a fixed number of bytes, or any number.
#[derive(Clone, Copy)]
pub enum Rest {
    Fixed(u32),
    Any,
}

/// The tables that there may be.
pub const TABLES: [(&str, KeyKind, Rest); 8] = [
    ("hash", KeyKind::Hash, Rest::Fixed(900)),
    ("tree", KeyKind::Tree, Rest::Fixed(1900)),
    ("short", KeyKind::Hash, Rest::Fixed(4)),
    ("shrub", KeyKind::Tree, Rest::Fixed(4)),
    ("letters", KeyKind::Hash, Rest::Any),
    ("books", KeyKind::Tree, Rest::Any),
    ("words", KeyKind::Hash, Rest::Fixed(30)),
    ("names", KeyKind::Tree, Rest::Fixed(60)),
];

/// The number of a table with keys of variable length.
pub const WORDS: usize = 6;
pub const NAMES: usize = 7;
pub const MOST_NAME_BYTES: u32 = 300;

/// The one whose keys are so long that its index has digests of them.
pub const LETTERS: usize = 4;
pub const LONG_KEY_BYTES: usize = 20;

pub const KEY: usize = 0;
pub const VALUE: usize = 1;
pub const REST: usize = 2;

/// The most bytes of a rest.
pub const MOST_REST_BYTES: u32 = 60_000;

/// The most changed bytes before operations during a checkpoint stop: the least memory has room
/// for 40 changed pages.
pub const MOST_CHANGED_BYTES: u64 = 28 * 16_384;

/// The value of a record, and the number that its other bytes are made of.
pub type Entry = (u32, u32);

/// The content of the database: records under keys, of each table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub tables: BTreeSet<usize>,
    pub records: BTreeMap<(usize, u32), Entry>,
}

/// The schemas of the tables.
static SCHEMAS: LazyLock<Vec<Schema>> =
    LazyLock::new(|| (0..TABLES.len()).map(schema_of).collect());

/// Returns the schema of a table.
pub fn schema(table: usize) -> &'static Schema {
    &SCHEMAS[table]
}

fn schema_of(table: usize) -> Schema {
    let (name, _, rest) = TABLES[table];
    let rest = match rest {
        Rest::Fixed(size) => Type::Bytes(size),
        Rest::Any => Type::VarBytes(MOST_REST_BYTES),
    };
    let key = match table {
        LETTERS => Type::Bytes(LONG_KEY_BYTES as u32),
        WORDS | NAMES => Type::VarBytes(MOST_NAME_BYTES),
        _ => Type::U32,
    };
    Schema::build(name)
        .key("key", key)
        .column("value", Type::U32)
        .column("rest", rest)
        .finish()
        .expect("a schema")
}

/// Returns the length of a rest of any length: mostly short, seldom longer than a page.
pub fn size_of_any(seed: u32) -> u32 {
    let random = seed.wrapping_mul(0x9e37_79b1) >> 8;
    let most = match random % 40 {
        0 => MOST_REST_BYTES,
        1..6 => 4_000,
        _ => 300,
    };
    4 + random / 40 % (most - 4)
}

/// Returns bytes that start with the number from which they are made.
pub fn rest(table: usize, seed: u32) -> Vec<u8> {
    let size = match TABLES[table].2 {
        Rest::Fixed(size) => size,
        Rest::Any => size_of_any(seed),
    };
    let byte = (seed.wrapping_mul(0x9e37_79b1) >> 24) as u8;
    let others = (4..size).map(|at| byte ^ (at ^ at >> 8) as u8);
    seed.to_le_bytes().into_iter().chain(others).collect()
}

/// Returns the column of a key: it starts with its number.
pub fn key_cell(table: usize, key: u32) -> Vec<u8> {
    let mut cell = key.to_le_bytes().to_vec();
    match table {
        LETTERS => cell.resize(LONG_KEY_BYTES, key as u8),
        // Few are long.
        WORDS | NAMES if key.is_multiple_of(11) => cell.resize(4 + key as usize % 290, key as u8),
        WORDS | NAMES => cell.resize(4 + key as usize % 20, key as u8),
        _ => {}
    }
    cell
}

/// A packed key.
pub fn packed(table: usize, key: u32) -> Vec<u8> {
    let cell = key_cell(table, key);
    match table {
        WORDS | NAMES => [&(cell.len() as u16).to_le_bytes()[..], &cell].concat(),
        _ => cell,
    }
}

pub fn record(table: usize, key: u32, value: u32) -> Vec<u8> {
    let (cell, rest) = (key_cell(table, key), rest(table, value));
    let key = match table {
        LETTERS | WORDS | NAMES => Value::Bytes(&cell),
        _ => Value::Unsigned(key.into()),
    };
    let values = [key, Value::Unsigned(value.into()), Value::Bytes(&rest)];
    schema(table).pack(&values).expect("they fit")
}

/// Returns the record of a new value.
pub fn entry(value: u32) -> Entry {
    (value, value)
}

pub fn value_of(payload: &[u8]) -> u32 {
    u32::from_le_bytes(*payload.first_chunk().expect("four bytes"))
}

/// The key and the entry of a record, which is whole.
pub fn parts_of(table: usize, bytes: &[u8]) -> (u32, Entry) {
    let schema = schema(table);
    schema.row(bytes).expect("a record");
    let found = schema.bytes_of(bytes, &schema.columns()[REST]);
    let seed = value_of(found);
    assert!(found == rest(table, seed), "a record of {} is torn", TABLES[table].0);
    let (packed_key, payload) = bytes.split_at(schema.key_length(bytes).expect("a key"));
    let key = value_of(schema.bytes_of(bytes, &schema.columns()[KEY]));
    assert!(packed_key == packed(table, key), "a key of {} is torn", TABLES[table].0);
    (key, (value_of(payload), seed))
}

/// Returns the content of the database.
pub fn read(db: &Database) -> Result<Model, Error> {
    let mut model = Model::default();
    let snapshot = db.snapshot();
    for name in db.table_names() {
        let at = TABLES.iter().position(|(other, ..)| *other == name).expect("a known table");
        model.tables.insert(at);
        let table = db.table(&name)?;
        assert_eq!(table.key_kind(), TABLES[at].1);
        each_row(table.at(&snapshot).iter(), &mut |record| {
            let (key, entry) = parts_of(at, record);
            model.records.insert((at, key), entry);
            Ok(true)
        })?;
    }
    Ok(model)
}

//! Databases with some tables of each kind.

use crate::reading::check;
use lode::simulation::{self, Simulated};
use lode::{Database, Durability, KeyKind, Options, Schema, Table, Type, Value};

use super::hooked::Hooked;

/// The key of the record that closures look at or change, and one in the same page.
pub const SAME: u64 = 3;
pub const OTHER: u64 = 4;

/// Records of each table.
pub const COUNT: u64 = 8;

/// The tables: of fixed size in each kind of index, and of variable length in a heap.
pub const TABLES: [(&str, KeyKind, bool); 4] = [
    ("hash", KeyKind::Hash, false),
    ("tree", KeyKind::Tree, false),
    ("long", KeyKind::Hash, true),
    (Hooked::TABLE, KeyKind::Tree, true),
];

/// The place of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    Memory,
    Disk(Durability),
}

pub const HOMES: [Home; 2] = [Home::Memory, Home::Disk(Durability::Commit)];

pub struct World {
    pub db: Database,
    tables: Vec<Table>,
}

/// The schema of a table.
pub fn schema(name: &str, is_variable: bool) -> Schema {
    let schema = Schema::build(name).key("id", Type::U64).column("n", Type::I64);
    match is_variable {
        true => schema.column("text", Type::VarText(40_000)).finish().unwrap(),
        false => schema.finish().unwrap(),
    }
}

/// A packed record of a table.
pub fn record(schema: &Schema, id: u64, n: i64) -> Vec<u8> {
    let text = "x".repeat(20 * n.unsigned_abs() as usize);
    let mut values = vec![Value::Unsigned(id), Value::Signed(n)];
    if schema.columns().len() > 2 {
        values.push(Value::Text(&text));
    }
    schema.pack(&values).unwrap()
}

pub fn key(id: u64) -> [u8; 8] {
    id.to_le_bytes()
}

/// Column `n` of a payload.
pub fn n_of(payload: &[u8]) -> i64 {
    i64::from_le_bytes(*payload.first_chunk().unwrap())
}

impl World {
    pub fn new(home: Home) -> Self {
        let options = Options::new().memory_bytes(4 << 20).log_bytes(1 << 20);
        let db = match home {
            Home::Memory => options.in_memory().unwrap(),
            Home::Disk(level) => {
                simulation::open(&options.durability(level), &Simulated::new(7), 7).unwrap()
            }
        };
        let make = |(name, kind, is_variable): (&str, KeyKind, bool)| {
            let table = db.create_table(&schema(name, is_variable), kind).unwrap();
            for id in 0..COUNT {
                assert!(table.insert(&record(table.schema(), id, id as i64)).unwrap());
            }
            table
        };
        let tables = TABLES.into_iter().map(make).collect();
        Self { db, tables }
    }

    pub fn table(&self, name: &str) -> &Table {
        self.tables.iter().find(|table| table.schema().name() == name).unwrap()
    }

    /// Nothing is latched, closed or half done: all that can be done can be done still.
    pub fn expect_well(&self) {
        for table in &self.tables {
            let schema = table.schema();
            let transaction = self.db.begin();
            for id in 0..COUNT {
                transaction.upsert(table, &record(schema, id, 1 + id as i64)).unwrap();
            }
            transaction.commit().unwrap();
            for id in 0..COUNT {
                table.upsert(&record(schema, id, id as i64)).unwrap();
            }
        }
        self.db.checkpoint().unwrap();
        check(&self.db).unwrap();
    }
}

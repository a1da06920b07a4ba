//! One kind of operation over and over, for a profiler or a count of instructions:
//! `cargo bench -p lodedb --bench single`. `LODE_OPERATION` says which (`grow`, `insert`, `get`,
//! `update`, `replace`, `refill`, `rewrite`, `resize`, `scan`), `LODE_KEYS` of what keys (`hash`,
//! `tree`), `LODE_ROWS` and `LODE_ROUNDS` how often. `LODE_DIRECTORY` says where the database is,
//! at the level `process`; without it, it is in memory. Without any of them, each operation is
//! done, a little. Its time is printed; the counts are those of the profiler, of which a run with
//! no rounds has what is not the operation's.

#[path = "common/routes.rs"]
mod routes;

use std::cell::Cell;
use std::ops::Bound;
use std::time::Instant;

use lode::{ColumnId, Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type};
use routes::{KEY_BYTES, PAYLOAD_BYTES, Record};

/// Rows that a scan asks for.
const SCANNED: u64 = 10;

/// The most bytes in the column of variable length.
const MOST_VARIABLE_BYTES: usize = 200;

/// An operation with each record of a table that has all of them.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// An insert of each record into a table that is new in each round.
    Grow,
    /// An insertion that finds its key.
    Insert,
    Get,
    /// Of one column.
    Update,
    /// A delete, and an insert of the same record.
    Replace,
    /// A delete of each record, and then an insert of each.
    Refill,
    /// One of variable length, of the same length as before.
    Rewrite,
    /// One of variable length, as a rule of another length than before.
    Resize,
    /// From a key on.
    Scan,
}

impl Operation {
    const ALL: [Self; 9] = [
        Self::Grow,
        Self::Insert,
        Self::Get,
        Self::Update,
        Self::Replace,
        Self::Refill,
        Self::Rewrite,
        Self::Resize,
        Self::Scan,
    ];

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// With each record.
    fn run_all(self, tables: &Tables, records: &[Record], round: usize) -> lode::Result<()> {
        if let Self::Refill = self {
            let mut deletes =
                records.iter().map(|record| tables.fixed.delete(&record[..KEY_BYTES]));
            deletes.try_for_each(|was_there| was_there.map(|was_there| assert!(was_there)))?;
        }
        let table = tables.new.get(round).unwrap_or(&tables.fixed);
        records.iter().try_for_each(|record| self.run(tables, table, record))
    }

    fn run(self, tables: &Tables, table: &Table, record: &Record) -> lode::Result<()> {
        let key = &record[..KEY_BYTES];
        match self {
            Self::Insert => assert!(!table.insert(record)?),
            Self::Get => assert!(table.get_exact(key, &mut [0; PAYLOAD_BYTES])?),
            Self::Update => assert!(table.update(key, tables.next_hop, &[1, 2, 3, 4])?),
            Self::Replace => {
                assert!(table.delete(key)?);
                assert!(table.insert(record)?);
            }
            Self::Grow | Self::Refill => assert!(table.insert(record)?),
            Self::Rewrite => assert!(tables.variable.upsert(&variable(record))?),
            Self::Resize => {
                let (key, rest) = record.split_at(KEY_BYTES);
                let bytes = [rest[0]; MOST_VARIABLE_BYTES];
                assert!(tables.variable.upsert(&packed(key, &bytes[..tables.next_length()]))?);
            }
            Self::Scan => {
                let from = Bound::Included(key);
                let mut cursor = table.range_packed(from, Bound::Unbounded).limit(SCANNED);
                while cursor.next_row()?.is_some() {}
            }
        }
        Ok(())
    }
}

/// Tables with the same routes, in records of one size and of any.
struct Tables {
    fixed: Table,
    next_hop: ColumnId,
    variable: Table,
    length: Cell<usize>,
    /// One for each round, if it grows.
    new: Vec<Table>,
}

impl Tables {
    /// A length of the column of variable length: all from half of the longest on, in no order.
    fn next_length(&self) -> usize {
        const HALF: usize = MOST_VARIABLE_BYTES / 2;
        // Has no factor in common with it.
        const STEP: usize = 37;
        self.length.set((self.length.get() + STEP) % (HALF + 1));
        HALF + self.length.get()
    }
}

/// The schema of the same records with all but the key in one column of variable length.
fn variable_schema() -> Schema {
    Schema::build("variable_route")
        .key("prefix", Type::U32)
        .key("mask", Type::U8)
        .column("rest", Type::VarBytes(MOST_VARIABLE_BYTES as u32))
        .finish()
        .expect("a schema")
}

/// A record in that schema, packed.
fn packed(key: &[u8], rest: &[u8]) -> Vec<u8> {
    [key, &(rest.len() as u32).to_le_bytes(), rest].concat()
}

fn variable(record: &Record) -> Vec<u8> {
    let (key, rest) = record.split_at(KEY_BYTES);
    packed(key, rest)
}

fn measure(operation: Operation, keys: KeyKind, rows: u64, rounds: u64) -> lode::Result<()> {
    let parent = std::env::var_os("LODE_DIRECTORY");
    let directory = parent.map(|parent| tempfile::tempdir_in(parent).expect("a directory"));
    let db = match &directory {
        None => Database::in_memory()?,
        Some(directory) => Options::new().durability(Durability::Process).open(directory.path())?,
    };
    let fixed = db.create_table(&routes::schema(), keys)?;
    let next_hop = fixed.schema().column("next_hop")?;
    let variable_table = db.create_table(&variable_schema(), keys)?;
    let grows = matches!(operation, Operation::Grow);
    let new = (0..if grows { rounds } else { 0 })
        .map(|round| db.create_table(&routes::schema_named(&format!("new_{round}")), keys))
        .collect::<lode::Result<_>>()?;
    let tables = Tables { fixed, next_hop, variable: variable_table, length: Cell::new(0), new };
    let records: Vec<_> = routes::keys(rows).map(|key| routes::record(&key)).collect();
    for record in &records {
        assert!(tables.fixed.insert(record)?);
        assert!(tables.variable.insert(&variable(record))?);
    }
    let start = Instant::now();
    for round in 0..rounds {
        operation.run_all(&tables, &records, round as usize)?;
    }
    let each_ns = start.elapsed().as_nanos() as f64 / (rows * rounds).max(1) as f64;
    println!("{} {keys:?}, {rows} rows, {rounds} rounds: {each_ns:.1} ns", operation.name());
    Ok(())
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn main() -> lode::Result<()> {
    let chosen = |name: &str, own: &str| std::env::var(name).map_or(true, |text| text == own);
    let (rows, rounds) = (number("LODE_ROWS", 1_000), number("LODE_ROUNDS", 2));
    for (keys, name) in [(KeyKind::Hash, "hash"), (KeyKind::Tree, "tree")] {
        for operation in Operation::ALL {
            // Hashed keys have no order.
            let exists = keys == KeyKind::Tree || !matches!(operation, Operation::Scan);
            if exists && chosen("LODE_OPERATION", &operation.name()) && chosen("LODE_KEYS", name) {
                measure(operation, keys, rows, rounds)?;
            }
        }
    }
    Ok(())
}

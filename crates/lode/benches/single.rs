//! One kind of operation over and over, for a profiler or a count of instructions:
//! `cargo bench -p lodedb --bench single`. `LODE_OPERATION` says which (`insert`, `get`, `update`,
//! `replace`, `scan`), `LODE_KEYS` of what keys (`hash`, `tree`), `LODE_ROWS` and `LODE_ROUNDS` how
//! often. Without them, each is done, a little. Its time is printed; the counts are those of the
//! profiler, of which a run with no rounds has what is not the operation's.

#[path = "common/routes.rs"]
mod routes;

use std::ops::Bound;
use std::time::Instant;

use lode::{ColumnId, Database, KeyKind, ReadTable, Table};
use routes::{KEY_BYTES, PAYLOAD_BYTES, Record};

/// Rows that a scan asks for.
const SCANNED: u64 = 10;

/// What is done with each record of a table that has all of them.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// One that finds its key there.
    Insert,
    Get,
    /// Of one column.
    Update,
    /// A delete, and an insert of the same record.
    Replace,
    /// From a key on.
    Scan,
}

impl Operation {
    const ALL: [Self; 5] = [Self::Insert, Self::Get, Self::Update, Self::Replace, Self::Scan];

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn run(self, table: &Table, next_hop: ColumnId, record: &Record) -> lode::Result<()> {
        let key = &record[..KEY_BYTES];
        match self {
            Self::Insert => assert!(!table.insert(record)?),
            Self::Get => assert!(table.get_exact(key, &mut [0; PAYLOAD_BYTES])?),
            Self::Update => assert!(table.update(key, next_hop, &[1, 2, 3, 4])?),
            Self::Replace => {
                assert!(table.delete(key)?);
                assert!(table.insert(record)?);
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

fn measure(operation: Operation, keys: KeyKind, rows: u64, rounds: u64) -> lode::Result<()> {
    let schema = routes::schema();
    let next_hop = schema.column("next_hop").expect("a column");
    let table = Database::in_memory()?.create_table(&schema, keys)?;
    let records: Vec<_> = routes::keys(rows).map(|key| routes::record(&key)).collect();
    for record in &records {
        assert!(table.insert(record)?);
    }
    let start = Instant::now();
    for _ in 0..rounds {
        records.iter().try_for_each(|record| operation.run(&table, next_hop, record))?;
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

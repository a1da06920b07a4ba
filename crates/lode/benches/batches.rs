//! Inserts of many records, by turns in each way that there is: one by one, in transactions, and
//! together: `cargo bench -p lodedb --bench batches`. Run by the tests, the sizes are tiny.
//!
//! `LODE_ROWS` is the number of records, and `LODE_BATCH` that of a batch. `LODE_ROUNDS` is the
//! number of rounds, each of which fills a new table in each way. `LODE_DIRECTORY` is where the
//! database is, at the level `process`.

mod common;
#[path = "common/routes.rs"]
mod routes;

use std::time::Instant;

use lode::{Database, Durability, KeyKind, Options, Schema, Table, Type};

/// Bytes of a long record without its key.
const LONG_REST: usize = 292;

/// A way to insert a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    OneByOne,
    Transaction,
    InsertAll,
    InsertAllNew,
    UpsertAll,
}

impl Way {
    const ALL: [Self; 5] =
        [Self::OneByOne, Self::Transaction, Self::InsertAll, Self::InsertAllNew, Self::UpsertAll];

    fn insert(self, db: &Database, table: &Table, batch: &[Vec<u8>]) -> lode::Result<()> {
        let new = match self {
            Self::OneByOne => {
                let inserts = batch.iter().map(|record| table.insert(record));
                inserts.collect::<lode::Result<Vec<_>>>()?.iter().filter(|new| **new).count()
            }
            Self::Transaction => {
                let transaction = db.begin();
                let inserts = batch.iter().map(|record| transaction.insert(table, record));
                let new = inserts.collect::<lode::Result<Vec<_>>>()?;
                transaction.commit()?;
                new.iter().filter(|new| **new).count()
            }
            Self::InsertAll => table.insert_all(batch)? as usize,
            Self::InsertAllNew => table.insert_all_new(batch)?.unwrap_or(batch.len()),
            Self::UpsertAll => table.upsert_all(batch)? as usize,
        };
        assert_eq!(new, batch.len(), "all keys are new");
        Ok(())
    }
}

/// Records that are inserted.
struct Records {
    name: &'static str,
    schema: Schema,
    all: Vec<Vec<u8>>,
}

impl Records {
    fn routes(rows: u64) -> Self {
        let all = routes::keys(rows).map(|key| routes::record(&key).to_vec()).collect();
        Self { name: "34 bytes", schema: routes::schema(), all }
    }

    fn long(rows: u64) -> Self {
        let schema = common::schema(Type::U64, Type::Bytes(LONG_REST as u32));
        let record = |at: u64| {
            let id = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut record = id.to_le_bytes().to_vec();
            record.resize(8 + LONG_REST, id as u8);
            record
        };
        Self { name: "300 bytes", schema, all: (0..rows).map(record).collect() }
    }
}

/// Nanoseconds a record.
fn measure(way: Way, records: &Records, keys: KeyKind, batch: usize) -> lode::Result<f64> {
    let directory = common::directory();
    let db = Options::new().durability(Durability::Process).open(directory.path())?;
    let table = db.create_table(&records.schema, keys)?;
    let start = Instant::now();
    for batch in records.all.chunks(batch) {
        way.insert(&db, &table, batch)?;
    }
    let took_ns = start.elapsed().as_nanos() as f64;
    db.close()?;
    Ok(took_ns / records.all.len() as f64)
}

fn main() -> lode::Result<()> {
    let rows = common::number("LODE_ROWS", 200_000, 300);
    let batch = common::number("LODE_BATCH", 100, 7).max(1) as usize;
    let rounds = common::number("LODE_ROUNDS", 5, 1).max(1);
    println!(
        "records, keys, way: ns a record (the fastest of {rounds} rounds), batches of {batch}"
    );
    for records in [Records::routes(rows), Records::long(rows)] {
        for keys in [KeyKind::Hash, KeyKind::Tree] {
            let mut fastest_ns = Way::ALL.map(|_| f64::INFINITY);
            for _ in 0..rounds {
                for (way, fastest_ns) in Way::ALL.into_iter().zip(&mut fastest_ns) {
                    *fastest_ns = fastest_ns.min(measure(way, &records, keys, batch)?);
                }
            }
            for (way, ns) in Way::ALL.into_iter().zip(fastest_ns) {
                let ratio = fastest_ns[0] / ns;
                println!("{:<9} {keys:?} {way:<12?} {ns:>7.0} ns {ratio:>5.2} ×", records.name);
            }
        }
    }
    Ok(())
}

//! Bytes that a record takes up: in memory, and on the disk at the fullest, after a checkpoint, and
//! after a pause; again when half of the records were deleted. Of records of some other short
//! sizes, in memory: `cargo bench -p lodedb --bench space -- [ROWS…]`. `LODE_IDLE_SECONDS` says how
//! long the pauses are (25 by default), `LODE_DIRECTORY` where. Run by the tests, the sizes are
//! tiny.

mod common;
#[path = "common/routes.rs"]
mod routes;

use std::path::Path;
use std::time::Duration;

use lode::{Database, KeyKind, Options, Schema, Table, Type};
use routes::KEY_BYTES;

/// Bytes of a long record: a key of 8, and the rest.
const LONG_BYTES: usize = 1_000;

/// Short records: the type of the key, and the bytes of the rest.
const SHORT: [(Type, u32); 6] = [
    (Type::U32, 1),
    (Type::U32, 4),
    (Type::U64, 8),
    (Type::U64, 16),
    (Type::U64, 20),
    (Type::U64, 56),
];

/// A kind of records.
struct Records {
    name: String,
    schema: Schema,
    key_bytes: usize,
    all: Vec<Vec<u8>>,
}

impl Records {
    fn routes(rows: u64) -> Self {
        let all = routes::keys(rows).map(|key| routes::record(&key).to_vec()).collect();
        Self { name: "routes".into(), schema: routes::schema(), key_bytes: KEY_BYTES, all }
    }

    fn long(rows: u64) -> Self {
        let schema = common::schema(Type::U64, Type::Bytes(LONG_BYTES as u32 - 8));
        let record = |at: u64| {
            let id = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut record = vec![id as u8; LONG_BYTES];
            record[..8].copy_from_slice(&id.to_le_bytes());
            record
        };
        let name = "long".into();
        Self { name, schema, key_bytes: 8, all: (0..rows).map(record).collect() }
    }

    /// In no order: the keys are multiples of an odd number, in as many bytes as they have.
    fn short(key: Type, rest_bytes: u32, rows: u64) -> Self {
        let key_bytes = if key == Type::U32 { 4 } else { 8 };
        let record = |at: u64| {
            let id = match key_bytes {
                4 => u64::from((at as u32).wrapping_mul(0x9e37_79b1)),
                _ => at.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            };
            let mut record = vec![at as u8; key_bytes + rest_bytes as usize];
            record[..key_bytes].copy_from_slice(&id.to_le_bytes()[..key_bytes]);
            record
        };
        let (name, schema) =
            (format!("{key_bytes}+{rest_bytes}"), common::schema(key, Type::Bytes(rest_bytes)));
        Self { name, schema, key_bytes, all: (0..rows).map(record).collect() }
    }

    /// Inserts all; calls `look` now and then.
    fn insert(&self, table: &Table, mut look: impl FnMut()) -> lode::Result<()> {
        for (at, record) in self.all.iter().enumerate() {
            assert!(table.insert(record)?);
            if at % (self.all.len() / 64).max(1) == 0 {
                look();
            }
        }
        Ok(())
    }

    fn line(&self, keys: KeyKind, what: &str, bytes: u64, records: usize) {
        let each = bytes as f64 / records as f64;
        let rows = self.all.len();
        println!("{:<7} {keys:?} {rows:>9} rows, {what:<22} {each:>8.1} bytes a record", self.name);
    }
}

/// Bytes that the files of a directory have allocated.
fn allocated_bytes(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(directory).expect("the directory");
    // A file may be removed at any time.
    files.filter_map(|file| file.ok()?.metadata().ok()).map(|file| file.blocks() * 512).sum()
}

fn measure_in_memory(records: &Records, keys: KeyKind) -> lode::Result<()> {
    let db = Database::in_memory()?;
    records.insert(&db.create_table(&records.schema, keys)?, || {})?;
    records.line(keys, "in memory", db.statistics().page_bytes, records.all.len());
    Ok(())
}

fn measure(records: &Records, keys: KeyKind, idle: Duration) -> lode::Result<()> {
    let rows = records.all.len();
    measure_in_memory(records, keys)?;
    let directory = common::directory();
    let db = Options::new().open(directory.path())?;
    let table = db.create_table(&records.schema, keys)?;
    let mut fullest = 0;
    records.insert(&table, || fullest = fullest.max(allocated_bytes(directory.path())))?;
    records.line(keys, "on disk, at the fullest", fullest, rows);
    db.checkpoint()?;
    records.line(keys, "after a checkpoint", allocated_bytes(directory.path()), rows);
    std::thread::sleep(idle);
    records.line(keys, "after a pause", allocated_bytes(directory.path()), rows);
    let mut left = rows;
    for record in records.all.iter().step_by(2) {
        assert!(table.delete(&record[..records.key_bytes])?);
        left -= 1;
    }
    db.checkpoint()?;
    records.line(keys, "half of them deleted", allocated_bytes(directory.path()), left);
    std::thread::sleep(idle);
    records.line(keys, "after another pause", allocated_bytes(directory.path()), left);
    db.compact()?;
    records.line(keys, "compacted", allocated_bytes(directory.path()), left);
    db.close()?;
    records.line(keys, "closed", allocated_bytes(directory.path()), left);
    Ok(())
}

fn main() -> lode::Result<()> {
    let mut sizes: Vec<u64> = std::env::args().filter_map(|text| text.parse().ok()).collect();
    if sizes.is_empty() {
        sizes.push(common::number("LODE_ROWS", 1_000_000, 1_000));
    }
    let idle = Duration::from_secs(common::number("LODE_IDLE_SECONDS", 25, 0));
    for rows in sizes {
        for keys in [KeyKind::Hash, KeyKind::Tree] {
            measure(&Records::routes(rows), keys, idle)?;
            measure(&Records::long(rows / 10), keys, idle)?;
            for (key, rest_bytes) in SHORT {
                measure_in_memory(&Records::short(key, rest_bytes, rows), keys)?;
            }
        }
    }
    Ok(())
}

//! Single operations by several threads at once, each on its own share of the records. Prints
//! millions of operations a second, and how many times that is of one thread's:
//! `cargo bench -p lodedb --bench scaling`. A map of the standard library behind a lock is measured
//! with them.
//!
//! `LODE_THREADS` lists the numbers of threads, as in `1,2,4`; `LODE_ROWS` is the number of records
//! (a tenth as many are long ones), `LODE_TRIALS` of trials, of which the median counts.
//! `LODE_DIRECTORY` is where databases in directories are made. Run by the tests, the sizes are
//! tiny.

#[expect(dead_code, reason = "other benchmarks use the rest of it")]
#[path = "common/mod.rs"]
mod common;
#[expect(dead_code, reason = "other benchmarks use the rest of it")]
#[path = "common/routes.rs"]
mod routes;

use std::collections::HashMap;
use std::sync::{Barrier, RwLock};
use std::time::{Duration, Instant};

use common::{directory, number};
use lode::{ColumnId, Database, Durability, KeyKind, Options, Schema, Table, Type};
use routes::{KEY_BYTES, PAYLOAD_BYTES};
use tempfile::TempDir;

type Key = [u8; KEY_BYTES];

/// An operation with the record of a key.
#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Insert,
    Get,
    Update,
    Delete,
}

impl Operation {
    const ALL: [Self; 4] = [Self::Insert, Self::Get, Self::Update, Self::Delete];

    fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Get => "get",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// A store of records that threads share.
trait Subject: Sync {
    /// Performs an operation on the records of keys, each of which must succeed.
    fn perform(&self, operation: Operation, keys: &[Key]);
}

/// A table of Lode.
struct Records {
    table: Table,
    column: ColumnId,
    payload_bytes: usize,
    /// Removed when the database is closed.
    _directory: Option<TempDir>,
}

/// The place of a database, its kind of table, and bytes of a record after the key.
#[derive(Clone, Copy)]
struct Setting {
    durability: Option<Durability>,
    kind: KeyKind,
    payload_bytes: usize,
}

impl Setting {
    fn name(self) -> String {
        let place = if self.durability.is_some() { "directory" } else { "memory" };
        let kind = if self.kind == KeyKind::Hash { "hash" } else { "tree" };
        format!("{place} {kind} {}", self.payload_bytes)
    }

    fn create(self) -> Records {
        let schema = Schema::build("records")
            .key("prefix", Type::U32)
            .key("mask", Type::U8)
            .column("next_hop", Type::U32)
            .column("rest", Type::Bytes(self.payload_bytes as u32 - 4))
            .finish()
            .expect("a schema");
        let (db, directory) = match self.durability {
            None => (Database::in_memory().expect("memory"), None),
            Some(level) => {
                let directory = directory();
                let options = Options::new().durability(level).memory_bytes(1 << 30);
                let db = options.create_new(directory.path().join("db")).expect("a directory");
                (db, Some(directory))
            }
        };
        let table = db.create_table(&schema, self.kind).expect("a table");
        let column = schema.column("next_hop").expect("a column");
        Records { table, column, payload_bytes: self.payload_bytes, _directory: directory }
    }
}

impl Subject for Records {
    fn perform(&self, operation: Operation, keys: &[Key]) {
        let mut record = vec![7; KEY_BYTES + self.payload_bytes];
        let mut payload = vec![0; self.payload_bytes];
        for key in keys {
            let done = match operation {
                Operation::Insert => {
                    record[..KEY_BYTES].copy_from_slice(key);
                    self.table.insert(&record)
                }
                Operation::Get => self.table.get_exact(key, &mut payload),
                Operation::Update => self.table.update(key, self.column, &key[..4]),
                Operation::Delete => self.table.delete(key),
            };
            assert!(done.expect("it has room"), "each key is there when it should be");
        }
    }
}

impl Subject for RwLock<HashMap<Key, [u8; PAYLOAD_BYTES]>> {
    fn perform(&self, operation: Operation, keys: &[Key]) {
        for key in keys {
            let done = match operation {
                Operation::Insert => {
                    self.write().expect("no panic").insert(*key, [7; PAYLOAD_BYTES]).is_none()
                }
                Operation::Get => self.read().expect("no panic").contains_key(key),
                Operation::Update => {
                    let mut map = self.write().expect("no panic");
                    map.get_mut(key)
                        .map(|payload| payload[..4].copy_from_slice(&key[..4]))
                        .is_some()
                }
                Operation::Delete => self.write().expect("no panic").remove(key).is_some(),
            };
            assert!(done, "each key is there when it should be");
        }
    }
}

/// Returns the time from the first start to the last end of `threads` threads. Each performs an
/// operation on its share of the keys.
fn time(subject: &dyn Subject, operation: Operation, keys: &[Key], threads: usize) -> Duration {
    let all_here = Barrier::new(threads);
    let work = |share: &[Key]| {
        all_here.wait();
        let start = Instant::now();
        subject.perform(operation, share);
        (start, Instant::now())
    };
    std::thread::scope(|scope| {
        let shares = keys.chunks_exact(keys.len() / threads);
        let workers: Vec<_> =
            shares.take(threads).map(|share| scope.spawn(|| work(share))).collect();
        let spans = workers.into_iter().map(|worker| worker.join().expect("no panic"));
        let (starts, ends): (Vec<_>, Vec<_>) = spans.unzip();
        let start = starts.into_iter().min().expect("a thread");
        ends.into_iter().max().expect("a thread") - start
    })
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Measures all operations by each number of threads; prints a row for each operation.
fn measure(name: &str, keys: &[Key], threads: &[usize], create: &dyn Fn() -> Box<dyn Subject>) {
    let trials = number("LODE_TRIALS", 3, 1);
    let mut rates = vec![Vec::new(); Operation::ALL.len()];
    for count in threads {
        let mut of_count = vec![Vec::new(); Operation::ALL.len()];
        for _ in 0..trials {
            let subject = create();
            for (operation, rates) in Operation::ALL.iter().zip(&mut of_count) {
                let taken = time(&*subject, *operation, keys, *count);
                rates.push(keys.len() as f64 / taken.as_secs_f64() / 1e6);
            }
        }
        rates.iter_mut().zip(of_count).for_each(|(rates, trials)| rates.push(median(trials)));
    }
    for (operation, rates) in Operation::ALL.iter().zip(&rates) {
        let row: String =
            rates.iter().map(|rate| format!(" {rate:9.2} {:5.2}×", rate / rates[0])).collect();
        println!("{name:22} {:8}{row}", operation.name());
    }
}

fn main() {
    let rows = number("LODE_ROWS", 400_000, 400);
    let usual = if rows > 10_000 { "1,2,4,8,16" } else { "1,2" };
    let threads = std::env::var("LODE_THREADS").unwrap_or_else(|_| usual.into());
    let threads: Vec<usize> =
        threads.split(',').map(|count| count.trim().parse().expect("a number")).collect();
    // Each thread has as many keys as the others.
    let most = *threads.iter().max().expect("a number of threads") as u64;
    let keys: Vec<_> = routes::keys(rows.next_multiple_of(most * 10)).collect();
    println!("millions a second by {threads:?} threads; × of the first");
    measure("locked map 29", &keys, &threads, &|| {
        Box::new(RwLock::new(HashMap::<Key, [u8; PAYLOAD_BYTES]>::new()))
    });
    for durability in [None, Some(Durability::Process)] {
        for (kind, payload_bytes) in
            [(KeyKind::Hash, PAYLOAD_BYTES), (KeyKind::Tree, PAYLOAD_BYTES), (KeyKind::Hash, 1000)]
        {
            let setting = Setting { durability, kind, payload_bytes };
            let few = if payload_bytes > PAYLOAD_BYTES { keys.len() / 10 } else { keys.len() };
            measure(&setting.name(), &keys[..few], &threads, &|| Box::new(setting.create()));
        }
    }
}

//! Single operations on records of routes, next to those of the standard library's maps and of
//! hashbrown's behind a lock, all taking turns: `cargo bench -p lodedb -- [ROWS…]`. Run by the
//! tests, the sizes are tiny.

#[path = "common/routes.rs"]
mod routes;

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::RwLock;
use std::time::Instant;

use hashbrown::HashMap as Hashbrown;
use lode::{ColumnId, Database, KeyKind, ReadTable, Schema, Table};
use routes::{PAYLOAD_BYTES, Record};

/// The operations that are measured of each table.
const OPERATIONS: [&str; 4] = ["insert", "get", "get many", "update"];

trait Subject {
    fn insert(&mut self, record: &Record);
    fn get(&self, key: &[u8; 5], payload: &mut [u8; PAYLOAD_BYTES]) -> bool;
    fn get_many(&self, keys: &[u8]) -> usize;
    fn update(&mut self, key: &[u8; 5], bytes: [u8; 4]) -> bool;
}

/// A table of Lode.
struct Routes {
    table: Table,
    next_hop: ColumnId,
}

impl Routes {
    fn new(schema: &Schema, kind: KeyKind) -> Self {
        let db = Database::in_memory().expect("memory");
        let table = db.create_table(schema, kind).expect("a table");
        Self { table, next_hop: schema.column("next_hop").expect("a column") }
    }
}

impl Subject for Routes {
    fn insert(&mut self, record: &Record) {
        assert!(self.table.insert(record).expect("memory"));
    }

    fn get(&self, key: &[u8; 5], payload: &mut [u8; PAYLOAD_BYTES]) -> bool {
        self.table.get_exact(key, payload).expect("a key")
    }

    fn get_many(&self, keys: &[u8]) -> usize {
        let mut count = 0;
        let found = &mut |_, found: Option<&[u8]>| count += usize::from(found.is_some());
        self.table.get_many_with(keys, found).expect("keys");
        count
    }

    fn update(&mut self, key: &[u8; 5], bytes: [u8; 4]) -> bool {
        self.table.update(key, self.next_hop, &bytes).expect("a key")
    }
}

/// Maps behind a lock, as many an application keeps its records.
macro_rules! subject {
    ($map:ident) => {
        impl Subject for RwLock<$map<[u8; 5], [u8; PAYLOAD_BYTES]>> {
            fn insert(&mut self, record: &Record) {
                let (key, payload) = record.split_first_chunk().expect("a key");
                let payload = *payload.first_chunk().expect("a payload");
                self.write().expect("no panic").insert(*key, payload);
            }

            fn get(&self, key: &[u8; 5], payload: &mut [u8; PAYLOAD_BYTES]) -> bool {
                let map = self.read().expect("no panic");
                map.get(key).map(|found| *payload = *found).is_some()
            }

            fn get_many(&self, keys: &[u8]) -> usize {
                let map = self.read().expect("no panic");
                let keys = keys.chunks_exact(5).map(|key| key.first_chunk().expect("a key"));
                keys.filter(|key| map.get(*key).map(black_box).is_some()).count()
            }

            fn update(&mut self, key: &[u8; 5], bytes: [u8; 4]) -> bool {
                let mut map = self.write().expect("no panic");
                map.get_mut(key).map(|found| found[..4].copy_from_slice(&bytes)).is_some()
            }
        }
    };
}

subject!(HashMap);
subject!(Hashbrown);
subject!(BTreeMap);

/// Nanoseconds for each operation, as [`OPERATIONS`] has them.
fn measure(subject: &mut dyn Subject, rows: u64, keys: &[[u8; 5]]) -> [f64; 4] {
    let count = keys.len();
    let each = |start: Instant, count: usize| start.elapsed().as_nanos() as f64 / count as f64;
    let records: Vec<_> = routes::keys(rows).map(|key| routes::record(&key)).collect();
    let start = Instant::now();
    records.iter().for_each(|record| subject.insert(record));
    let insert = each(start, rows as usize);
    let mut payload = [0; PAYLOAD_BYTES];
    let start = Instant::now();
    let found = keys.iter().filter(|key| subject.get(key, &mut payload)).count();
    let get = each(start, count);
    assert_eq!(found, count);
    let packed: Vec<u8> = keys.concat();
    let start = Instant::now();
    assert_eq!(subject.get_many(&packed), count);
    let many = each(start, count);
    let start = Instant::now();
    let updated = keys.iter().filter(|key| subject.update(key, [1, 2, 3, 4])).count();
    let update = each(start, count);
    assert_eq!(updated, count);
    [insert, get, many, update]
}

fn main() {
    let schema = routes::schema();
    let mut sizes: Vec<u64> = std::env::args().filter_map(|text| text.parse().ok()).collect();
    // `cargo bench` says so.
    let (lookups, default) = match std::env::args().any(|argument| argument == "--bench") {
        true => (2_000_000, vec![1_000, 100_000, 1_000_000]),
        false => (1_000, vec![1_000]),
    };
    if sizes.is_empty() {
        sizes = default;
    }
    println!("nanoseconds: {}", OPERATIONS.join(", "));
    for rows in sizes {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let all: Vec<_> = routes::keys(rows).collect();
        let chosen: Vec<_> = (0..lookups).map(|_| all[(random() % rows) as usize]).collect();
        for round in 1..=3 {
            let subjects: [(&str, Box<dyn Subject>); 5] = [
                ("hash", Box::new(Routes::new(&schema, KeyKind::Hash))),
                ("HashMap", Box::new(RwLock::new(HashMap::<[u8; 5], [u8; PAYLOAD_BYTES]>::new()))),
                (
                    "hashbrown",
                    Box::new(RwLock::new(Hashbrown::<[u8; 5], [u8; PAYLOAD_BYTES]>::new())),
                ),
                ("tree", Box::new(Routes::new(&schema, KeyKind::Tree))),
                (
                    "BTreeMap",
                    Box::new(RwLock::new(BTreeMap::<[u8; 5], [u8; PAYLOAD_BYTES]>::new())),
                ),
            ];
            for (name, mut subject) in subjects {
                let took = measure(&mut *subject, rows, &chosen);
                let took: Vec<_> = took.iter().map(|ns| format!("{ns:>8.1}")).collect();
                println!("{rows:>9} rows, round {round}, {name:<9} {}", took.join(" "));
            }
        }
    }
}

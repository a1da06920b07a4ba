//! Single records by SQL, in tables of Lode and in SQLite's own, taking turns: `cargo bench -p
//! lodedb-sqlite -- [ROWS…]`. Each line is an operation by a prepared statement, in nanoseconds of
//! the fastest of five rounds, and how many times as fast Lode is. In memory, the last column is a
//! virtual table that does as little as one can ([`array`]): the difference between it and SQLite's
//! own is the price of SQLite's interface. Run by the tests, the sizes are tiny.
//!
//! In a directory (that which `LODE_DIRECTORY` names, or in the one for temporary files) both sync
//! each commit, and then neither does: Lode at `Commit` against SQLite with a write-ahead log and
//! `synchronous=FULL`, and `Process` against `synchronous=OFF`.

mod array;

use std::path::Path;
use std::time::Instant;

use lode::{Database, Durability, KeyKind, Options, Schema, Type};
use rusqlite::{Connection, params};

/// The operations measured on each table.
const OPERATIONS: [&str; 4] = ["insert", "select", "update", "scan of 1k rows"];

/// Turns of each kind of table.
const ROUNDS: usize = 5;

/// The place of tables, and what a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Memory,
    DiskUnsynced,
    DiskSynced,
}

/// The amount of work.
struct Load {
    rows: u64,
    lookups: u64,
    /// Rows that are written one by one, where each waits for the disk.
    synced: u64,
}

fn lode(kind: KeyKind, place: Place, directory: &Path) -> (Connection, Database) {
    let options = Options::new().memory_bytes(1 << 30);
    let db = match place {
        Place::Memory => options.in_memory(),
        Place::DiskUnsynced => options.durability(Durability::Process).create_new(directory),
        Place::DiskSynced => options.durability(Durability::Commit).create_new(directory),
    };
    let db = db.expect("a database");
    let schema = Schema::build("t").key("id", Type::U64).column("a", Type::I64);
    let schema = schema.column("name", Type::Text(16)).finish().expect("a schema");
    db.create_table(&schema, kind).expect("a table");
    let connection = Connection::open_in_memory().expect("a connection");
    lode_sqlite::attach(&connection, &db).expect("it is attached");
    (connection, db)
}

fn sqlite(place: Place, directory: &Path) -> Connection {
    let connection = match place {
        Place::Memory => Connection::open_in_memory(),
        _ => Connection::open(directory.join("file.db")),
    };
    let connection = connection.expect("a connection");
    let synchronous = if place == Place::DiskSynced { "FULL" } else { "OFF" };
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
             CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, name TEXT NOT NULL)"
        ))
        .expect("a table");
    connection
}

/// A table in an array.
fn array() -> Connection {
    let connection = Connection::open_in_memory().expect("a connection");
    array::attach(&connection).expect("it is attached");
    connection
}

/// Keys in no order.
fn key(number: u64, rows: u64) -> i64 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) % rows) as i64
}

/// Nanoseconds of each operation, as [`OPERATIONS`] has them.
fn measure(connection: &Connection, load: &Load, place: Place) -> [f64; 4] {
    let each = |start: Instant, count: u64| start.elapsed().as_nanos() as f64 / count as f64;
    let insert = "INSERT INTO t VALUES (?1, ?2, 'a name of some')";
    let mut insert = connection.prepare(insert).expect("a statement");
    let single = if place == Place::DiskSynced { load.synced } else { load.rows };
    let start = Instant::now();
    for id in 0..single {
        insert.execute(params![id as i64, 1]).expect("a row");
    }
    let inserted = each(start, single);
    connection.execute_batch("BEGIN").expect("a transaction");
    for id in single..load.rows {
        insert.execute(params![id as i64, 1]).expect("a row");
    }
    connection.execute_batch("COMMIT").expect("it is committed");

    let mut select = connection.prepare("SELECT a, name FROM t WHERE id = ?1").expect("a query");
    let mut sum = 0;
    let start = Instant::now();
    for number in 0..load.lookups {
        let mut rows = select.query(params![key(number, load.rows)]).expect("it starts");
        let row = rows.next().expect("it can be read").expect("it is there");
        sum += row.get::<_, i64>(0).expect("a number");
        assert!(!row.get_ref(1).expect("a text").as_bytes().expect("a text").is_empty());
    }
    let selected = each(start, load.lookups);
    assert_eq!(sum, load.lookups as i64);

    let mut update = connection.prepare("UPDATE t SET a = ?2 WHERE id = ?1").expect("a statement");
    let updates = if place == Place::DiskSynced { load.synced } else { load.lookups };
    let start = Instant::now();
    for number in 0..updates {
        let count = update.execute(params![key(number, load.rows), 2]).expect("a row");
        assert_eq!(count, 1);
    }
    let updated = each(start, updates);

    let mut scan = connection.prepare("SELECT sum(a), count(name) FROM t").expect("a query");
    let scans = load.lookups / load.rows + 1;
    let start = Instant::now();
    for _ in 0..scans {
        let count: i64 = scan.query_row([], |row| row.get(1)).expect("it can be read");
        assert_eq!(count, load.rows as i64);
    }
    let scanned = each(start, scans * load.rows) * 1e3;
    [inserted, selected, updated, scanned]
}

/// The least value: what others do on the machine only adds to it.
fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

fn main() {
    // `cargo bench` says so.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let mut sizes: Vec<u64> = std::env::args().filter_map(|text| text.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = if is_bench { vec![100_000] } else { vec![500] };
    }
    let parent = std::env::var_os("LODE_DIRECTORY").map_or_else(std::env::temp_dir, Into::into);
    for rows in sizes {
        let (lookups, synced) = if is_bench { (200_000, 300) } else { (200, 5) };
        let load = Load { rows, lookups, synced };
        for place in [Place::Memory, Place::DiskUnsynced, Place::DiskSynced] {
            let mut took = [(); 4].map(|()| Vec::new());
            for _ in 0..if is_bench { ROUNDS } else { 1 } {
                let folder = tempfile::tempdir_in(&parent).expect("a directory");
                for (at, kind) in [KeyKind::Hash, KeyKind::Tree].into_iter().enumerate() {
                    let directory = folder.path().join(at.to_string());
                    let (connection, db) = lode(kind, place, &directory);
                    took[at].push(measure(&connection, &load, place));
                    drop(connection);
                    db.close().expect("it closes");
                }
                let own = sqlite(place, folder.path());
                took[2].push(measure(&own, &load, place));
                if place == Place::Memory {
                    took[3].push(measure(&array(), &load, place));
                }
            }
            for (at, name) in OPERATIONS.into_iter().enumerate() {
                let [hash, tree, own, array] =
                    took.each_ref().map(|all| least(all.iter().map(|one| one[at])));
                let floor = match place {
                    Place::Memory => format!(", array {array:>6.0} ns ({:.2} ×)", own / array),
                    _ => String::new(),
                };
                println!(
                    "{rows} rows, {place:?}, {name:<16} SQLite {own:>9.0} ns, hash {hash:>9.0} ns \
                     ({:.2} ×), tree {tree:>9.0} ns ({:.2} ×){floor}",
                    own / hash,
                    own / tree
                );
            }
        }
    }
}

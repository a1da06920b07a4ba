//! Checks what SQL transactions promise, by histories: reads of seeded transactions must be
//! explained by some order of them.

use assay_isolation::drive::{Engine, Plan, Session, Stop, in_threads, in_turns};
use assay_isolation::{Level, Outcome, check};
use lode::{Database, KeyKind, Schema, Type};
use rusqlite::{Connection, OptionalExtension, Params, ffi};

use crate::support::connect;

/// The level that docs/sql.md promises.
const PROMISE: Level = Level::StrictlySerializable;

const PLAN: Plan = Plan { seed: 0, threads: 8, transactions: 2_000, keys: 32, ranges: true };

/// A database whose odd keys are in an ordered table, and even ones in a hashed one.
struct Tables {
    db: Database,
}

impl Tables {
    fn new() -> Self {
        let db = Database::in_memory().expect("memory");
        for (name, kind) in [("even", KeyKind::Hash), ("odd", KeyKind::Tree)] {
            let schema = Schema::build(name).key("key", Type::U64);
            let schema = schema.column("list", Type::VarBytes(4_096)).finish();
            db.create_table(&schema.expect("a schema"), kind).expect("room");
        }
        Self { db }
    }
}

impl Engine for Tables {
    fn connect(&self, work: &mut dyn FnMut(&mut dyn Session)) -> Result<(), String> {
        work(&mut Sql { connection: connect(&self.db) });
        Ok(())
    }
}

struct Sql {
    connection: Connection,
}

fn table(key: u64) -> &'static str {
    if key.is_multiple_of(2) { "even" } else { "odd" }
}

impl Sql {
    /// Returns what follows from an error: the transaction is rolled back, if it has not ended.
    fn stop(&self, error: &rusqlite::Error) -> Stop {
        let code = error.sqlite_error().map(|error| error.extended_code & 0xff);
        if code != Some(ffi::SQLITE_BUSY) {
            return Stop::Failed(error.to_string());
        }
        if self.connection.is_autocommit() {
            return Stop::Refused;
        }
        match self.connection.execute_batch("ROLLBACK") {
            Ok(()) => Stop::Refused,
            Err(error) => Stop::Failed(error.to_string()),
        }
    }

    fn run(&self, statement: &str) -> Result<(), Stop> {
        self.connection.execute_batch(statement).map_err(|error| self.stop(&error))
    }

    fn change(&self, statement: &str, parameters: impl Params) -> Result<(), Stop> {
        let changed = self.connection.prepare(statement).and_then(|mut it| it.execute(parameters));
        changed.map(|_| ()).map_err(|error| self.stop(&error))
    }
}

impl Session for Sql {
    fn begin(&mut self) -> Result<(), Stop> {
        self.run("BEGIN")
    }

    fn get(&mut self, key: u64) -> Result<Option<Vec<u8>>, Stop> {
        let query = format!("SELECT list FROM {} WHERE key = ?1", table(key));
        let found = self.connection.prepare(&query).and_then(|mut statement| {
            statement.query_row([key as i64], |row| row.get(0)).optional()
        });
        found.map_err(|error| self.stop(&error))
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<(), Stop> {
        let statement = format!("INSERT OR REPLACE INTO {} VALUES (?1, ?2)", table(key));
        self.change(&statement, (key as i64, value))
    }

    fn delete(&mut self, key: u64) -> Result<(), Stop> {
        let statement = format!("DELETE FROM {} WHERE key = ?1", table(key));
        self.change(&statement, [key as i64])
    }

    fn range(&mut self, low: u64, high: u64) -> Result<Vec<(u64, Vec<u8>)>, Stop> {
        let query = "SELECT key, list FROM even WHERE key BETWEEN ?1 AND ?2
                     UNION ALL SELECT key, list FROM odd WHERE key BETWEEN ?1 AND ?2";
        let rows = self.connection.prepare(query).and_then(|mut statement| {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?));
            statement.query_map([low as i64, high as i64], row)?.collect()
        });
        rows.map_err(|error| self.stop(&error))
    }

    fn commit(&mut self) -> Result<(), Stop> {
        self.run("COMMIT")
    }

    fn abort(&mut self) -> Result<(), Stop> {
        self.run("ROLLBACK")
    }
}

#[test]
fn transactions_of_threads_keep_the_level_that_is_promised() {
    let history = in_threads(&Tables::new(), &PLAN).expect("room");
    let verdict = check(&history).expect("values are written once");
    assert!(verdict.level >= PROMISE, "{verdict}");
}

#[test]
fn transactions_that_take_turns_keep_the_level_that_is_promised() {
    let history = in_turns(&Tables::new(), &PLAN).expect("room");
    let verdict = check(&history).expect("values are written once");
    assert!(verdict.level >= PROMISE, "{verdict}");
    let committed = history.iter().filter(|one| one.outcome == Outcome::Committed).count();
    assert!(committed > 200, "{committed} were committed");
}

//! Two connections with the same tables: of Lode, and of SQLite.

use lode::{Database, Durability, Options};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::random::Random;
use crate::schema::Table;
use crate::statement::Statement;

pub struct Twins {
    db: Database,
    lode: Connection,
    sqlite: Connection,
    /// All statements so far.
    log: Vec<String>,
    is_in_transaction: bool,
    /// For a database in a directory.
    _directory: Option<tempfile::TempDir>,
}

/// The outcome of a statement: rows, or SQLite's code.
type Answer = Result<Vec<Vec<Value>>, (i32, String)>;

/// Values in an order in which different ones are not the same.
fn shown(rows: &[Vec<Value>], is_ordered: bool) -> Vec<String> {
    let mut shown: Vec<_> = rows.iter().map(|row| format!("{row:?}")).collect();
    if !is_ordered {
        shown.sort_unstable();
    }
    shown
}

fn answer(connection: &Connection, text: &str) -> Answer {
    let run = || -> rusqlite::Result<Vec<Vec<Value>>> {
        let mut statement = connection.prepare(text)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?);
        }
        Ok(found)
    };
    run().map_err(|error| match &error {
        rusqlite::Error::SqliteFailure(code, _) => (code.extended_code & 0xff, error.to_string()),
        other => (-1, other.to_string()),
    })
}

impl Twins {
    /// Makes the tables; those of Lode have secondary indexes over columns that `random` chooses.
    pub fn new(tables: &[Table], is_on_disk: bool, random: &mut Random) -> Self {
        let directory = is_on_disk.then(|| tempfile::tempdir().expect("a directory"));
        let options = Options::new().memory_bytes(64 << 20).durability(Durability::None);
        let db = match &directory {
            Some(directory) => options.open(directory.path()),
            None => options.in_memory(),
        };
        let db = db.expect("it opens");
        let open = || Connection::open_in_memory().expect("a connection");
        let lode = open();
        let sqlite = open();
        for table in tables {
            let indexes = table.any_indexes(random);
            db.create_indexed_table(&table.schema, table.kind, &indexes).expect("a table");
            sqlite.execute_batch(&table.declaration()).expect("a table");
        }
        lode_sqlite::attach(&lode, &db).expect("they are attached");
        let log = tables.iter().map(|table| format!("{} -- {:?}", table.declaration(), table.kind));
        Self {
            db,
            lode,
            sqlite,
            log: log.collect(),
            is_in_transaction: false,
            _directory: directory,
        }
    }

    /// Starts, ends, or rolls back a transaction.
    pub fn transaction(&mut self, random: &mut Random) -> Statement {
        let words: &[&str] = if self.is_in_transaction {
            &[
                "COMMIT",
                "COMMIT",
                "ROLLBACK",
                "SAVEPOINT a",
                "SAVEPOINT b",
                "SAVEPOINT b",
                "ROLLBACK TO a",
                "ROLLBACK TO b",
                "RELEASE a",
                "RELEASE b",
            ]
        } else {
            &["BEGIN", "BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT a"]
        };
        Statement { text: (*random.one_of(words)).into(), is_ordered: true }
    }

    /// Runs a statement on both. Returns how many rows came, or that both refused it.
    ///
    /// # Errors
    /// What differs.
    pub fn run(&mut self, statement: &Statement) -> Result<Result<usize, ()>, String> {
        let Statement { text, is_ordered } = statement;
        self.log.push(text.clone());
        let lode = answer(&self.lode, text);
        let sqlite = answer(&self.sqlite, text);
        self.is_in_transaction = !self.sqlite.is_autocommit();
        let (found, expected) = match (&lode, &sqlite) {
            (Ok(found), Ok(expected)) => (shown(found, *is_ordered), shown(expected, *is_ordered)),
            (Err((one, _)), Err((other, _))) if one == other => return Ok(Err(())),
            _ => return Err(self.differs(text, &format!("{lode:?}"), &format!("{sqlite:?}"))),
        };
        // Of a virtual table, SQLite counts a row twice that it finds twice, and deletes once.
        let is_counted = text.starts_with("INSERT") || text.starts_with("UPDATE");
        let counts_differ = is_counted && self.lode.changes() != self.sqlite.changes();
        if found != expected || counts_differ {
            let changes = (self.lode.changes(), self.sqlite.changes());
            let found = found.join("\n  ");
            let expected = expected.join("\n  ");
            return Err(self.differs(&format!("{text} -- changes {changes:?}"), &found, &expected));
        }
        Ok(Ok(found.len()))
    }

    fn differs(&self, text: &str, found: &str, expected: &str) -> String {
        let log = self.log.join(";\n");
        format!("{text}\nLode:\n  {found}\nSQLite:\n  {expected}\nafter:\n{log}")
    }

    /// Compares all that is there in the end.
    ///
    /// # Errors
    /// What differs.
    pub fn finish(mut self, tables: &[Table]) -> Result<(), String> {
        if self.is_in_transaction {
            let _ = self.run(&Statement { text: "COMMIT".into(), is_ordered: true })?;
        }
        for table in tables {
            let text = format!("SELECT * FROM {}", table.name);
            let _ = self.run(&Statement { text, is_ordered: false })?;
        }
        let report = self.db.check().expect("it is open");
        if report.faults.is_empty() { Ok(()) } else { Err(format!("{:?}", report.faults)) }
    }
}

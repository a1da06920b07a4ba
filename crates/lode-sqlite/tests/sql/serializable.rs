//! What a transaction of SQL has read is looked at again by its `COMMIT`.

use crate::support::{connect, database, refusal, rows};
use lode::Database;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ffi};

fn filled() -> (Database, Connection, Connection) {
    let db = database();
    let (one, other) = (connect(&db), connect(&db));
    one.execute_batch(
        "INSERT INTO account VALUES (1, 10), (2, 20), (3, 30);
         INSERT INTO call VALUES (1, 10, 5, NULL), (1, 20, 6, NULL), (2, 10, 7, NULL);
         INSERT INTO word VALUES ('a', 1), ('c', 3)",
    )
    .expect("rows");
    (db, one, other)
}

/// Runs `first` in a transaction that writes something else, has another session change something,
/// and returns true if that was refused.
fn is_refused(first: &str, change: &str) -> bool {
    let (_, one, other) = filled();
    one.execute_batch("BEGIN").expect("a transaction");
    for statement in first.split("; ") {
        match statement.starts_with("SELECT") {
            true => drop(rows(&one, statement)),
            false => one.execute_batch(statement).unwrap_or_else(|why| panic!("{first}: {why}")),
        }
    }
    other.execute_batch(change).unwrap_or_else(|why| panic!("{change}: {why}"));
    // The write may be refused already.
    match one.execute_batch("INSERT INTO word VALUES ('z', 9); COMMIT") {
        Ok(()) => false,
        Err(error) => {
            if !one.is_autocommit() {
                one.execute_batch("ROLLBACK").expect("a transaction");
            }
            let code = error.sqlite_error().map(|error| error.extended_code);
            assert_eq!(code, Some(ffi::SQLITE_BUSY_SNAPSHOT), "{error}");
            assert!(rows(&one, "SELECT * FROM word WHERE text = 'z'").is_empty());
            true
        }
    }
}

#[test]
fn what_was_read_by_key_or_by_scan_has_to_be_the_same() {
    let cases = [
        ("SELECT cents FROM account WHERE id = 1", "UPDATE account SET cents = 1 WHERE id = 1"),
        ("SELECT cents FROM account WHERE id = 9", "INSERT INTO account VALUES (9, 1)"),
        ("SELECT cents FROM account WHERE id IN (1, 9)", "INSERT INTO account VALUES (9, 1)"),
        ("SELECT sum(cents) FROM account", "DELETE FROM account WHERE id = 3"),
        ("SELECT sum(cents) FROM account", "UPDATE account SET cents = 1 WHERE id = 1"),
        ("SELECT count(*) FROM account", "INSERT INTO account VALUES (9, 1)"),
        ("SELECT * FROM call WHERE caller = 1", "INSERT INTO call VALUES (1, 15, 1, NULL)"),
        ("SELECT * FROM call WHERE caller = 3", "INSERT INTO call VALUES (3, 15, 1, NULL)"),
        ("SELECT * FROM call WHERE caller > 1", "UPDATE call SET note = 'x' WHERE caller = 2"),
        ("SELECT max(text) FROM word", "INSERT INTO word VALUES ('d', 4)"),
        (
            "SELECT cents, seconds FROM call JOIN account ON id = caller WHERE seconds = 7",
            "UPDATE account SET cents = 1 WHERE id = 2",
        ),
        (
            "SELECT a.n FROM account, word AS a WHERE a.n = cents",
            "UPDATE word SET n = 10 WHERE text = 'c'",
        ),
        ("UPDATE account SET cents = 5 WHERE cents = 77", "UPDATE account SET cents = 77"),
        ("INSERT OR IGNORE INTO account VALUES (1, 7)", "DELETE FROM account WHERE id = 1"),
        (
            "SAVEPOINT s; SELECT cents FROM account WHERE id = 1; ROLLBACK TO s",
            "UPDATE account SET cents = 1 WHERE id = 1",
        ),
        (
            "SAVEPOINT s; INSERT INTO account VALUES (9, 1); ROLLBACK TO s",
            "INSERT INTO account VALUES (9, 2)",
        ),
        (
            "SAVEPOINT s; UPDATE account SET cents = 5 WHERE cents > 10; ROLLBACK TO s",
            "UPDATE account SET cents = 50 WHERE id = 1",
        ),
    ];
    for (first, change) in cases {
        assert!(is_refused(first, change), "{first}; {change}");
    }
}

#[test]
fn what_was_not_read_may_change() {
    let cases = [
        ("SELECT cents FROM account WHERE id = 1", "UPDATE account SET cents = 1 WHERE id = 2"),
        ("SELECT * FROM call WHERE caller = 1", "INSERT INTO call VALUES (2, 15, 1, NULL)"),
        ("SELECT * FROM call WHERE caller = 1 LIMIT 1", "DELETE FROM call WHERE time = 20"),
        ("SELECT sum(cents) FROM account", "UPDATE account SET cents = cents + 0"),
        ("SELECT min(text) FROM word", "INSERT INTO word VALUES ('d', 4)"),
    ];
    for (first, change) in cases {
        assert!(!is_refused(first, change), "{first}; {change}");
    }
}

#[test]
fn no_write_skew_is_committed() {
    let (_, one, other) = filled();
    for (session, id) in [(&one, 1), (&other, 2)] {
        session.execute_batch("BEGIN").expect("a transaction");
        assert_eq!(rows(session, "SELECT count(*) FROM account WHERE cents > 5"), ["3"]);
        let off = format!("UPDATE account SET cents = 0 WHERE id = {id}");
        session.execute_batch(&off).expect("a row");
    }
    one.execute_batch("COMMIT").expect("it is first");
    assert_eq!(refusal(&other, "COMMIT").0, ffi::SQLITE_BUSY_SNAPSHOT);
}

#[test]
fn a_transaction_that_only_reads_is_never_refused() {
    let (_, one, other) = filled();
    one.execute_batch("BEGIN; SAVEPOINT s; DELETE FROM word; ROLLBACK TO s").expect("rows");
    assert_eq!(rows(&one, "SELECT sum(cents) FROM account"), ["60"]);
    other.execute_batch("DELETE FROM account; DELETE FROM word").expect("rows");
    assert_eq!(rows(&one, "SELECT sum(cents), count(*) FROM account"), ["60|3"]);
    one.execute_batch("COMMIT").expect("it only reads");
    assert_eq!(rows(&one, "SELECT count(*) FROM account"), ["0"]);
}

/// A statement outside of `BEGIN` is a transaction too: a record that it reads by key, before it
/// reads or writes anything else, is a part of it.
#[test]
fn a_statement_by_itself_is_checked_for_all_that_it_has_read() {
    for (statement, changed) in [
        (
            "UPDATE word SET n = (SELECT cents + later() FROM account WHERE id = 1) \
             WHERE text = 'a'",
            1,
        ),
        (
            "INSERT INTO word SELECT 'k', cents FROM account WHERE id = 1 UNION ALL \
             SELECT 'l', later()",
            1,
        ),
        ("UPDATE word SET n = later() WHERE n < (SELECT min(cents) FROM account)", 3),
    ] {
        let (db, one, _) = filled();
        let account = db.table("account").expect("a table");
        let cents = account.schema().column("cents").expect("a column");
        let later = move |_: &mut rusqlite::functions::Context<'_>| {
            account.update(changed, cents, &5i64.to_le_bytes()).expect("room");
            Ok(0)
        };
        one.create_scalar_function("later", 0, FunctionFlags::SQLITE_UTF8, later)
            .expect("a function");
        let before = rows(&one, "SELECT * FROM word");
        assert_eq!(refusal(&one, statement).0, ffi::SQLITE_BUSY_SNAPSHOT, "{statement}");
        assert_eq!(rows(&one, "SELECT * FROM word"), before, "{statement}");
    }
}

/// Runs with two connections on one file of SQLite, in which `town` is a table of Lode.
fn with_file(test: impl FnOnce(&Connection, &Connection)) {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().join("db").to_str().expect("text").to_owned();
    let open = || {
        let connection = Connection::open(folder.path().join("file.db")).expect("a file");
        lode_sqlite::register(&connection).expect("the module");
        connection
    };
    let (one, other) = (open(), open());
    one.execute_batch("PRAGMA journal_mode = wal").expect("a log");
    rows(&one, &format!("SELECT lode_attach('{dir}', 'create')"));
    let create = "CREATE TABLE city (id U32 PRIMARY KEY, people U64)";
    rows(&one, &format!("SELECT lode_create('{create}')"));
    one.execute_batch(&format!(
        "CREATE VIRTUAL TABLE main.town USING lode('{dir}', 'city');
         INSERT INTO town VALUES (1, 10), (2, 20)"
    ))
    .expect("a table with rows");
    test(&one, &other);
}

#[test]
fn a_transaction_on_a_table_in_a_file_has_the_file_or_is_busy() {
    with_file(|one, other| {
        let read = "SELECT people FROM town WHERE id = 1";
        one.execute_batch("BEGIN").expect("a transaction");
        assert_eq!(rows(one, read), ["10"]);
        other.busy_timeout(std::time::Duration::ZERO).expect("it does not wait");
        other.execute_batch("BEGIN").expect("a transaction");
        assert_eq!(refusal(other, read).0, ffi::SQLITE_BUSY, "its read would not be checked");
        one.execute_batch("UPDATE town SET people = 11 WHERE id = 1; COMMIT").expect("it is first");
        other.execute_batch("ROLLBACK; BEGIN IMMEDIATE").expect("the file is free");
        assert_eq!(rows(other, read), ["11"]);
        other.execute_batch("UPDATE town SET people = 12 WHERE id = 1; COMMIT").expect("a row");
        assert_eq!(rows(one, read), ["12"]);
    });
}

#[test]
fn what_was_read_where_nothing_could_be_written_is_followed_by_no_write() {
    let (_, one, other) = filled();
    let read = "SELECT cents FROM account WHERE id = 1";
    one.execute_batch("BEGIN; PRAGMA query_only = 1").expect("a transaction");
    assert_eq!(rows(&one, read), ["10"]);
    other.execute_batch("UPDATE account SET cents = 11 WHERE id = 1").expect("a row");
    one.execute_batch("PRAGMA query_only = 0").expect("it can write");
    let write = "UPDATE word SET n = 10; COMMIT";
    assert_eq!(refusal(&one, write).0, ffi::SQLITE_BUSY_SNAPSHOT);
    one.execute_batch("ROLLBACK; BEGIN").expect("a transaction");
    one.execute_batch(write).expect("it has read nothing");

    // Each statement by itself has ended before the next transaction.
    one.execute_batch("BEGIN; PRAGMA query_only = 1").expect("a transaction");
    assert_eq!(rows(&one, read), ["11"]);
    one.execute_batch("COMMIT; PRAGMA query_only = 0").expect("it has read");
    assert_eq!(rows(&one, read), ["11"]);
    one.execute_batch("BEGIN").expect("a transaction");
    one.execute_batch(write).expect("it has read nothing");
}

/// A statement that is open when a transaction starts is no part of it.
#[test]
fn an_open_statement_has_no_part_in_a_later_transaction() {
    let (_, one, other) = filled();
    for open in ["SELECT * FROM account", "SELECT * FROM account WHERE id = 1"] {
        let mut statement = one.prepare(open).expect("a query");
        let mut found = statement.query([]).expect("it starts");
        assert!(found.next().expect("a row").is_some());
        other.execute_batch("UPDATE account SET cents = cents + 1").expect("rows");
        one.execute_batch("UPDATE word SET n = 5 WHERE text = 'a'").expect("nobody else writes it");
        let now = rows(&other, "SELECT sum(cents) FROM account");
        one.execute_batch("BEGIN").expect("a transaction");
        assert_eq!(rows(&one, "SELECT sum(cents) FROM account"), now);
        one.execute_batch("COMMIT").expect("it has read");
    }
}

#[test]
fn an_open_statement_is_refused_at_most_once() {
    let (_, one, other) = filled();
    let mut statement = one.prepare("SELECT * FROM account WHERE id = 1").expect("a query");
    let mut found = statement.query([]).expect("it starts");
    assert!(found.next().expect("a row").is_some());
    other.execute_batch("UPDATE account SET cents = 11 WHERE id = 1").expect("a row");
    let sum = "SELECT sum(cents) FROM account";
    assert_eq!(refusal(&one, sum).0, ffi::SQLITE_BUSY_SNAPSHOT, "it is not of the same moment");
    assert_eq!(rows(&one, sum), ["61"]);
}

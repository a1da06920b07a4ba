//! The moment that a transaction reads at: that of its first statement, whatever it does.

use lode::{Database, Options};
use rusqlite::{Connection, ffi};

use crate::support::{connect, database, refusal, rows};

/// Returns the answer to a statement: `ok`, its rows, or that the transaction cannot continue.
fn say(connection: &Connection, statement: &str) -> Result<String, i32> {
    if statement.starts_with("SELECT") {
        return Ok(rows(connection, statement).join(","));
    }
    match connection.execute_batch(statement) {
        Ok(()) => Ok("ok".into()),
        Err(error) => Err(error.sqlite_error().map_or(0, |error| error.extended_code)),
    }
}

/// All orders of the statements of two sessions, each of which keeps its own: which session is
/// next.
fn orders(left: usize, right: usize) -> Vec<Vec<usize>> {
    if left == 0 || right == 0 {
        return vec![[vec![0; left], vec![1; right]].concat()];
    }
    let with = |first: usize, rest: Vec<Vec<usize>>| {
        rest.into_iter().map(move |order| [vec![first], order].concat())
    };
    with(0, orders(left - 1, right)).chain(with(1, orders(left, right - 1))).collect()
}

#[test]
fn no_update_is_lost_in_any_order_of_two_sessions() {
    let reads = [
        "SELECT cents FROM account WHERE id = 1",
        "SELECT sum(cents) FROM account",
        "SELECT cents FROM account ORDER BY cents LIMIT 1",
    ];
    for read in reads {
        let mut failed = 0;
        let mut done = 0;
        for order in orders(4, 4) {
            let db = database();
            let sessions = [connect(&db), connect(&db)];
            sessions[0].execute_batch("INSERT INTO account VALUES (1, 100)").expect("a row");
            let mut next = [0; 2];
            let mut seen = [0; 2];
            let mut commits = 0;
            for session in order {
                let connection = &sessions[session];
                let step = next[session];
                next[session] += 1;
                let statement = match step {
                    0 => "BEGIN".to_string(),
                    1 => read.to_string(),
                    // What a program computes from what it has read.
                    2 => format!("UPDATE account SET cents = {} WHERE id = 1", seen[session] + 10),
                    _ => "COMMIT".into(),
                };
                match say(connection, &statement) {
                    Ok(found) if step == 1 => seen[session] = found.parse().expect("cents"),
                    Ok(_) if step == 3 => commits += 1,
                    Ok(_) => {}
                    Err(code) => {
                        assert_eq!(code, ffi::SQLITE_BUSY_SNAPSHOT, "{statement}");
                        assert_eq!(step, 3, "an update need not fail");
                    }
                }
            }
            let cents = rows(&sessions[0], "SELECT cents FROM account");
            assert_eq!(cents, [(100 + 10 * commits).to_string()], "an update is lost: {read}");
            (failed, done) = (failed + usize::from(commits < 2), done + usize::from(commits == 2));
        }
        assert!(failed > 0 && done > 0, "{read}: {failed} {done}");
    }
}

#[test]
fn statements_of_a_transaction_see_one_moment_and_the_next_transaction_another() {
    let db = database();
    let one = connect(&db);
    let other = connect(&db);
    let account = "SELECT count(*) FROM account";
    let word = "SELECT count(*) FROM word";
    for begin in ["BEGIN", "SAVEPOINT a"] {
        one.execute_batch("DELETE FROM account; DELETE FROM word").expect("rows");
        one.execute_batch(begin).expect("it starts");
        assert_eq!(rows(&one, account), ["0"]);
        other
            .execute_batch("INSERT INTO account VALUES (1, 1); INSERT INTO word VALUES ('a', 1)")
            .expect("rows");
        assert_eq!((rows(&one, account), rows(&one, word)), (vec!["0".into()], vec!["0".into()]));
        assert_eq!(rows(&one, "SELECT * FROM account WHERE id = 1"), [""; 0]);
        one.execute_batch(
            "SAVEPOINT b; INSERT INTO word VALUES ('b', 1); ROLLBACK TO b; RELEASE b",
        )
        .expect("it goes back");
        assert_eq!((rows(&one, account), rows(&one, word)), (vec!["0".into()], vec!["0".into()]));
        one.execute_batch("COMMIT; BEGIN").expect("nothing was written");
        assert_eq!((rows(&one, account), rows(&one, word)), (vec!["1".into()], vec!["1".into()]));
        one.execute_batch("ROLLBACK").expect("a transaction");
    }
}

#[test]
fn an_insert_after_a_read_is_refused_if_another_writer_was_quicker() {
    let db = database();
    let one = connect(&db);
    let other = connect(&db);
    one.execute_batch("BEGIN").expect("it starts");
    assert!(rows(&one, "SELECT * FROM account WHERE id = 7").is_empty());
    other.execute_batch("INSERT INTO account VALUES (7, 1)").expect("a row");
    let inserted = one.execute_batch("INSERT INTO account VALUES (7, 2)");
    inserted.expect("it is not there for the transaction");
    assert_eq!(refusal(&one, "COMMIT").0, ffi::SQLITE_BUSY_SNAPSHOT);
    assert_eq!(rows(&one, "SELECT cents FROM account"), ["1"]);
}

#[test]
fn a_transaction_of_what_is_only_read_can_be_committed() {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().join("db");
    Database::open(&dir).and_then(Database::close).expect("it is made");
    let connection = Connection::open_in_memory().expect("a connection");
    lode_sqlite::register(&connection).expect("the module");
    let dir = dir.to_str().expect("text");
    rows(&connection, &format!("SELECT lode_attach('{dir}')"));
    rows(&connection, "SELECT lode_create('CREATE TABLE t (id INT PRIMARY KEY)')");
    drop(connection);
    let connection = Connection::open_in_memory().expect("a connection");
    lode_sqlite::register(&connection).expect("the module");
    rows(&connection, &format!("SELECT lode_attach('{dir}', 'read_only')"));
    connection.execute_batch("BEGIN").expect("it starts");
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["0"]);
    assert_eq!(refusal(&connection, "INSERT INTO t VALUES (1)").0, ffi::SQLITE_READONLY);
    connection.execute_batch("COMMIT; PRAGMA query_only = 1; BEGIN").expect("nothing was written");
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["0"]);
    connection.execute_batch("COMMIT").expect("nothing was written");
    drop(connection);
    Options::new().open_existing(dir).expect("it was closed");
}

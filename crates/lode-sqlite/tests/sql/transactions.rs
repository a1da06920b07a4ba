//! Transactions of SQLite as transactions of Lode.

use crate::support::{connect, database, refusal, rows};
use lode::{Database, ReadTable, Value};
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ErrorCode, ffi};

#[test]
fn a_transaction_sees_what_it_wrote_and_others_see_it_when_it_is_committed() {
    let db = database();
    let one = connect(&db);
    let other = connect(&db);
    let all = "SELECT * FROM account ORDER BY id";
    one.execute_batch("BEGIN; INSERT INTO account VALUES (1, 10), (2, 20)").expect("rows");
    one.execute_batch("UPDATE account SET cents = cents + 1 WHERE id = 2").expect("a row");
    assert_eq!(rows(&one, all), ["1|10", "2|21"]);
    assert!(rows(&other, all).is_empty());
    one.execute_batch("COMMIT").expect("no other writer");
    assert_eq!(rows(&other, all), ["1|10", "2|21"]);
    one.execute_batch("BEGIN; DELETE FROM account; INSERT INTO word VALUES ('a', 1); ROLLBACK")
        .expect("it is rolled back");
    assert_eq!(rows(&one, all), ["1|10", "2|21"]);
    assert!(rows(&one, "SELECT * FROM word").is_empty());
}

#[test]
fn a_conflict_is_busy_and_nothing_of_the_transaction_happens() {
    let db = database();
    let one = connect(&db);
    let other = connect(&db);
    one.execute_batch("INSERT INTO account VALUES (1, 10), (2, 20)").expect("rows");
    one.execute_batch(
        "BEGIN; UPDATE account SET cents = 11 WHERE id = 1; INSERT INTO word VALUES ('a', 1)",
    )
    .expect("rows");
    other.execute_batch("UPDATE account SET cents = 12 WHERE id = 1").expect("it is first");
    let (code, why) = refusal(&one, "COMMIT");
    assert_eq!(code & 0xff, ffi::SQLITE_BUSY);
    assert_eq!(
        why,
        "another writer changed a record of table account meanwhile; run the transaction again"
    );
    assert!(one.is_autocommit(), "the transaction has ended");
    assert_eq!(rows(&one, "SELECT cents FROM account ORDER BY id"), ["12", "20"]);
    assert!(rows(&one, "SELECT * FROM word").is_empty());
    one.execute_batch("UPDATE account SET cents = 13 WHERE id = 1").expect("it can go on");
}

#[test]
fn what_another_writer_was_quicker_with_is_not_dropped_from_a_transaction() {
    let add = |db: &Database, id: u64, cents: i64| {
        let account = db.table("account").expect("a table");
        account.upsert(&[id.to_le_bytes(), cents.to_le_bytes()].concat()).expect("room");
    };
    let single =
        ["INSERT INTO account VALUES (3, 30)", "UPDATE account SET cents = 5 WHERE id = 1"];
    let next = [
        "INSERT INTO account VALUES (4, 40)",
        "INSERT INTO account VALUES (4, 40), (5, 50)",
        "UPDATE account SET cents = 9 WHERE id = 2",
        "DELETE FROM account WHERE id = 2",
        "SELECT * FROM account WHERE id = 2",
    ];
    for (first, second) in single.iter().flat_map(|first| next.map(|second| (*first, second))) {
        let db = database();
        let connection = connect(&db);
        connection.execute_batch("INSERT INTO account VALUES (1, 10), (2, 20)").expect("rows");
        connection.execute_batch(&format!("BEGIN; SAVEPOINT a; {first}")).expect("a row");
        add(&db, 1, 11);
        add(&db, 3, 33);
        for _ in 0..2 {
            assert_eq!(refusal(&connection, second).0, ffi::SQLITE_BUSY_SNAPSHOT, "{second}");
        }
        connection.execute_batch("ROLLBACK TO a").expect("a savepoint");
        assert_eq!(refusal(&connection, "COMMIT").0, ffi::SQLITE_BUSY_SNAPSHOT, "{first}");
        assert!(connection.is_autocommit(), "the transaction has ended");
        let all = "SELECT id, cents FROM account ORDER BY id";
        assert_eq!(rows(&connection, all), ["1|11", "2|20", "3|33"], "{first}; {second}");
        connection.execute_batch(&format!("BEGIN; {second}; ROLLBACK")).expect("it can go on");
    }
}

#[test]
fn an_update_is_of_what_the_statement_read() {
    let db = database();
    let one = connect(&db);
    let account = db.table("account").expect("a table");
    one.execute_batch("INSERT INTO account VALUES (1, 10)").expect("a row");
    one.execute_batch("BEGIN; UPDATE account SET cents = cents + 1").expect("a row");
    // Another writer, between the statement and its commit.
    let cents = account.schema().column("cents").expect("a column");
    account.update(1, cents, &50i64.to_le_bytes()).expect("room");
    assert_eq!(rows(&one, "SELECT cents FROM account"), ["11"]);
    assert_eq!(refusal(&one, "COMMIT").0 & 0xff, ffi::SQLITE_BUSY);
    let row = account.get(1).expect("it can be read").expect("it is there");
    assert_eq!(row.at(cents), Value::Signed(50), "no update is lost");
}

#[test]
fn a_statement_that_fails_half_way_leaves_nothing() {
    let connection = connect(&database());
    connection.execute_batch("INSERT INTO account VALUES (3, 30)").expect("a row");
    let three = "INSERT INTO account VALUES (1, 10), (2, 20), (3, 31)";
    refusal(&connection, three);
    assert_eq!(rows(&connection, "SELECT id FROM account"), ["3"]);
    connection.execute_batch("BEGIN; INSERT INTO account VALUES (4, 40)").expect("a row");
    refusal(&connection, three);
    assert_eq!(rows(&connection, "SELECT id FROM account ORDER BY id"), ["3", "4"]);
    connection.execute_batch("COMMIT").expect("no other writer");
    assert_eq!(rows(&connection, "SELECT id FROM account ORDER BY id"), ["3", "4"]);
    refusal(&connection, "INSERT OR FAIL INTO account VALUES (1, 10), (3, 31), (2, 20)");
    assert_eq!(rows(&connection, "SELECT id FROM account ORDER BY id"), ["1", "3", "4"]);
}

#[test]
fn savepoints_are_kept() {
    let connection = connect(&database());
    connection
        .execute_batch(
            "SAVEPOINT a; INSERT INTO account VALUES (1, 1);
             SAVEPOINT b; INSERT INTO account VALUES (2, 2); INSERT INTO word VALUES ('b', 2);
             SAVEPOINT c; DELETE FROM account; UPDATE word SET n = 3;
             ROLLBACK TO c; INSERT INTO account VALUES (3, 3); RELEASE c",
        )
        .expect("all of it");
    let ids = "SELECT id FROM account ORDER BY id";
    assert_eq!(rows(&connection, ids), ["1", "2", "3"]);
    connection.execute_batch("ROLLBACK TO b").expect("it is kept");
    assert_eq!(rows(&connection, ids), ["1"]);
    assert!(rows(&connection, "SELECT * FROM word").is_empty());
    connection
        .execute_batch("ROLLBACK TO a; INSERT INTO account VALUES (9, 9); RELEASE a")
        .expect("it is kept");
    assert_eq!(rows(&connection, ids), ["9"]);
}

#[test]
fn a_statement_reads_one_moment() {
    let db = database();
    let connection = connect(&db);
    let account = db.table("account").expect("a table");
    let put = |id: u64, cents: i64| {
        let record = [id.to_le_bytes(), cents.to_le_bytes()].concat();
        account.upsert(&record).expect("room");
    };
    (1..=50).for_each(|id| put(id, 1));
    let mut statement = connection
        .prepare(
            "SELECT a.cents, (SELECT sum(b.cents) FROM account b), (SELECT c.cents FROM account c \
             WHERE c.id = a.id) FROM account a",
        )
        .expect("a query");
    let mut query = statement.query([]).expect("it starts");
    let mut count = 0;
    while let Some(row) = query.next().expect("a row") {
        let found: (i64, i64, i64) =
            (row.get(0).expect("a"), row.get(1).expect("b"), row.get(2).expect("c"));
        assert_eq!(found, (1, 50, 1));
        // Another writer between two rows.
        (1..=60).for_each(|id| put(id, 7 + count));
        count += 1;
    }
    assert_eq!(count, 50);
    drop(query);
    let found = rows(&connection, "SELECT count(*), sum(cents) FROM account");
    assert_eq!(found, [format!("60|{}", 60 * (6 + count))]);
}

#[test]
fn a_savepoint_is_kept_though_tables_join_the_transaction_after_it() {
    let connection = connect(&database());
    connection
        .execute_batch(
            "SAVEPOINT a; SAVEPOINT b;
             INSERT INTO account VALUES (1, 1), (2, 2);
             INSERT INTO word VALUES ('c', 3);
             ROLLBACK TO b; INSERT INTO call VALUES (1, 1, 1, NULL); RELEASE a",
        )
        .expect("all of it");
    let counts = "SELECT (SELECT count(*) FROM account), (SELECT count(*) FROM word), \
                  (SELECT count(*) FROM call)";
    assert_eq!(rows(&connection, counts), ["0|0|1"]);
}

/// Adds a cent to an account, as another writer.
fn add_cent(db: &Database, id: u64) {
    let account = db.table("account").expect("a table");
    let cents = account.schema().column("cents").expect("a column");
    account.increment(id, cents, 1).expect("room").expect("it is there");
}

#[test]
fn a_record_that_is_read_by_itself_is_of_the_moment_of_what_is_read_after_it() {
    let db = database();
    let connection = connect(&db);
    connection.execute_batch("INSERT INTO account VALUES (1, 10), (2, 20)").expect("rows");
    let writer = db.clone();
    connection
        .create_scalar_function("add_cent", 1, FunctionFlags::SQLITE_UTF8, move |context| {
            add_cent(&writer, context.get::<i64>(0)? as u64);
            Ok(0)
        })
        .expect("a function");
    let query = |id: u64| {
        format!(
            "SELECT add_cent({id}), cents, (SELECT sum(cents) FROM account) FROM account \
             WHERE id = 1"
        )
    };
    assert_eq!(rows(&connection, &query(2)), ["0|10|31"]);
    let (code, why) = {
        let mut statement = connection.prepare(&query(1)).expect("a query");
        match statement.query_row([], |_| Ok(())) {
            Err(rusqlite::Error::SqliteFailure(error, Some(why))) => (error.extended_code, why),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code, ffi::SQLITE_BUSY_SNAPSHOT, "{why}");

    // A transaction whose only write is of a record that has changed since it was read.
    connection
        .execute_batch("BEGIN; UPDATE account SET cents = cents + 5 WHERE id = 2")
        .expect("a row");
    add_cent(&db, 2);
    assert_eq!(refusal(&connection, "COMMIT").0, ffi::SQLITE_BUSY_SNAPSHOT);
    connection.execute_batch("BEGIN; INSERT INTO account VALUES (3, 30)").expect("a row");
    let account = db.table("account").expect("a table");
    let record = [3u64.to_le_bytes(), 31i64.to_le_bytes()].concat();
    assert_eq!(account.insert(&record), Ok(true));
    assert_eq!(refusal(&connection, "COMMIT").0, ffi::SQLITE_BUSY_SNAPSHOT);
    let all = rows(&connection, "SELECT * FROM account ORDER BY id");
    assert_eq!(all, ["1|11", "2|22", "3|31"]);
}

#[test]
fn writers_on_several_threads_lose_nothing() {
    const ACCOUNTS: u64 = 5;
    const TURNS: u64 = 300;
    let db = database();
    let connection = connect(&db);
    for id in 0..ACCOUNTS {
        connection.execute("INSERT INTO account VALUES (?1, 100)", [id as i64]).expect("a row");
    }
    // Runs statements until no other writer is quicker.
    let insist = |connection: &Connection, statements: &str| loop {
        match connection.execute_batch(statements) {
            Ok(()) => break,
            Err(error) => {
                assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy), "{error}");
                if !connection.is_autocommit() {
                    connection.execute_batch("ROLLBACK").expect("a transaction");
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                let connection = connect(db);
                for turn in 0..TURNS {
                    let from = (thread + turn) % ACCOUNTS;
                    let to = (turn * 3 + 1) % ACCOUNTS;
                    let add = |id: u64, cents: i64| {
                        format!("UPDATE account SET cents = cents + {cents} WHERE id = {id};")
                    };
                    let take = add(from, -7);
                    let give = add(to, 7);
                    insist(&connection, &format!("BEGIN; {take} {give} COMMIT"));
                    insist(&connection, &add(from, 1));
                }
            });
        }
    });
    let sum = rows(&connection, "SELECT sum(cents) FROM account");
    assert_eq!(sum, [(100 * ACCOUNTS + 4 * TURNS).to_string()]);
}

//! Secondary indexes: SQL creates and drops them, statements use them, and unique ones refuse rows.

use lode::{Database, IndexSchema};
use lode_sqlite::{Console, Step};

use crate::support::{connect, refusal, rows};

/// A console on a database with `person (id, mail, city, age)`, and three of them.
fn console(db: &Database) -> Console {
    let console = Console::new(db).expect("a console");
    run(
        &console,
        "CREATE TABLE person (id U32 PRIMARY KEY, mail VARTEXT(40), city VARTEXT(20) NOT NULL, age \
         U8) USING HASH; INSERT INTO person VALUES (1, 'ada', 'Bern', 36), (2, NULL, 'Thun', 7), \
         (3, 'cy', 'Bern', NULL)",
    )
    .expect("it is right");
    console
}

fn run(console: &Console, text: &str) -> Result<(), String> {
    let shown = &mut |_: Step<'_, '_>| Ok(());
    console.run(text, shown).map_err(|error: rusqlite::Error| error.to_string())
}

#[test]
fn statements_create_and_drop_indexes() {
    let db = Database::in_memory().expect("memory");
    let console = console(&db);
    let indexes = || db.table("person").and_then(|table| table.indexes()).expect("it is there");
    run(&console, "create index by_city on PERSON (City, age)").expect("it is right");
    run(&console, "CREATE UNIQUE INDEX IF NOT EXISTS by_mail ON person (mail);").expect("right");
    run(&console, "CREATE UNIQUE INDEX IF NOT EXISTS by_mail ON person (mail);").expect("right");
    let by_mail = IndexSchema::new("by_mail", ["mail"]).unique();
    assert_eq!(indexes(), [IndexSchema::new("by_city", ["city", "age"]), by_mail.clone()]);
    for (wrong, why) in [
        ("CREATE INDEX by_mail ON person (age)", "table person has an index by_mail already"),
        ("CREATE INDEX x ON person (name)", "table person: there is no column name"),
        (
            "CREATE INDEX x ON person (age DESC)",
            "at character 31 of CREATE INDEX: an index of Lode has columns, without DESC, COLLATE \
             and expressions; ')' should be here",
        ),
        (
            "CREATE INDEX x ON person (age) WHERE age > 1",
            "at character 32 of CREATE INDEX: the statement should end here; an index of Lode has \
             no WHERE",
        ),
        (
            "CREATE UNIQUE INDEX x ON person (city)",
            "table person: several records have (\"Bern\") in the columns of the unique index x",
        ),
        ("BEGIN; CREATE INDEX x ON person (age)", "outside of transactions; commit it first"),
        ("DROP INDEX by_mail", "outside of transactions; commit it first"),
        ("ROLLBACK; DROP INDEX by_name", "no such index: by_name"),
        ("CREATE INDEX x ON animal (age)", "no such table: main.animal"),
    ] {
        let said = run(&console, wrong).expect_err(wrong);
        assert!(said.contains(why), "{wrong}: {said}");
    }
    run(&console, "DROP INDEX By_City; DROP INDEX IF EXISTS by_name").expect("it is right");
    assert_eq!(indexes(), [by_mail]);
}

#[test]
fn conditions_on_indexed_columns_are_carried_out_by_lode() {
    let db = Database::in_memory().expect("memory");
    drop(console(&db));
    let table = db.table("person").expect("it is there");
    table.create_index(&IndexSchema::new("by_city", ["city", "age"])).expect("room");
    table.create_index(&IndexSchema::new("by_age", ["age"])).expect("room");
    table.create_index(&IndexSchema::new("by_mail", ["mail"]).unique()).expect("no two");
    let connection = connect(&db);
    connection
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 900) \
             INSERT INTO person SELECT i, NULL, 'x' || i, i % 50 FROM n",
        )
        .expect("room");
    for (query, plan, expected) in [
        ("id FROM person WHERE mail = 'cy'", "index by_mail (mail=?)", &["3"][..]),
        ("id FROM person WHERE city = 'Bern'", "index by_city (city=?)", &["3", "1"]),
        ("id FROM person WHERE city = 'Bern' AND age < 40", "(city=? AND age<?)", &["1"]),
        (
            "id FROM person WHERE age >= 48 AND id > 850 ORDER BY age DESC, id DESC",
            "index by_age (age>=?), backward",
            &["899", "898"],
        ),
        ("id FROM person WHERE city = 'Bern' AND age IS NULL", "(city=?)", &["3"]),
        ("id FROM person WHERE mail > 'b' AND mail < 'd'", "(mail>? AND mail<?)", &["3"]),
        ("id FROM person WHERE mail < 'b'", "index by_mail (mail<?)", &["1"]),
        ("id FROM person WHERE id = 1 AND mail = 'cy'", "key (id=?)", &[]),
        ("mail FROM person WHERE mail IN ('cy', 'ada') ORDER BY mail", "", &["ada", "cy"]),
    ] {
        let lines = rows(&connection, &format!("EXPLAIN QUERY PLAN SELECT {query}"));
        assert!(lines[0].contains(plan), "{query}: {lines:?}");
        assert!(plan.is_empty() || lines.len() == 1, "{query}: {lines:?}");
        assert_eq!(rows(&connection, &format!("SELECT {query}")), expected, "{query}");
    }
    // Within a transaction, what it wrote is found, too.
    connection
        .execute_batch("BEGIN; UPDATE person SET mail = 'eve' WHERE city = 'Thun'")
        .expect("it is right");
    let eve = "SELECT id FROM person WHERE mail = 'eve'";
    assert_eq!(rows(&connection, eve), ["2"]);
    connection.execute_batch("ROLLBACK").expect("it is right");
    assert_eq!(rows(&connection, eve), [""; 0]);
    // A statement that was planned before plans again.
    let mut kept = connection.prepare("SELECT id FROM person WHERE mail = 'cy'").expect("right");
    let mut id = || kept.query_row([], |row| row.get::<_, i64>(0)).expect("a row");
    assert_eq!(id(), 3);
    table.drop_index("by_mail").expect("it is there");
    assert_eq!(id(), 3);
}

#[test]
fn a_unique_index_refuses_rows_as_statements_say() {
    let db = Database::in_memory().expect("memory");
    drop(console(&db));
    let table = db.table("person").expect("it is there");
    table.create_index(&IndexSchema::new("by_mail", ["mail"]).unique()).expect("no two");
    let connection = connect(&db);
    let why = "table person: another record has (\"ada\") in the unique index by_mail";
    for wrong in [
        "INSERT INTO person VALUES (4, 'ada', 'Bern', 1)",
        "UPDATE person SET mail = 'ada' WHERE id = 3",
        "BEGIN; INSERT INTO person VALUES (4, 'ada', 'Bern', 1)",
        "UPDATE person SET id = 9, mail = 'ada' WHERE id = 3",
    ] {
        assert_eq!(refusal(&connection, wrong), (rusqlite::ffi::SQLITE_CONSTRAINT, why.into()));
    }
    connection.execute_batch("ROLLBACK").expect("it is right");
    let all = "SELECT id || ':' || coalesce(mail, '-') FROM person ORDER BY id";
    assert_eq!(rows(&connection, all), ["1:ada", "2:-", "3:cy"]);
    // A row that would get another key stays under its own.
    let moved = "BEGIN; UPDATE person SET id = 9, mail = 'ada' WHERE id = 3";
    assert_eq!(refusal(&connection, moved), (rusqlite::ffi::SQLITE_CONSTRAINT, why.into()));
    for statement in ["COMMIT", "UPDATE OR IGNORE person SET id = 9, mail = 'ada' WHERE id = 3"] {
        connection.execute_batch(statement).expect(statement);
        assert_eq!(rows(&connection, all), ["1:ada", "2:-", "3:cy"], "{statement}");
    }
    for (statement, expected) in [
        ("INSERT OR IGNORE INTO person VALUES (4, 'ada', 'x', 1)", &["1:ada", "2:-", "3:cy"][..]),
        ("INSERT OR REPLACE INTO person VALUES (2, 'ada', 'x', 1)", &["2:ada", "3:cy"]),
        ("UPDATE OR REPLACE person SET mail = 'cy' WHERE id = 2", &["2:cy"]),
        (
            "BEGIN; DELETE FROM person; INSERT INTO person VALUES (8, 'cy', 'x', 1); COMMIT",
            &["8:cy"],
        ),
    ] {
        connection.execute_batch(statement).expect(statement);
        assert_eq!(rows(&connection, all), expected, "{statement}");
    }
}

//! Joins on columns that are no key: how much SQLite looks at, and what it finds.

use lode::{Database, KeyKind, Schema, Type};
use rusqlite::{Connection, StatementStatus};

use crate::support::{connect, rows};

/// Rows of each table.
const ROWS: i32 = 3_000;

/// Tables `a (id, x, word)` and `b (id, y, word)`; each x is twice in y.
fn tables() -> (Database, Connection) {
    let db = Database::in_memory().expect("memory");
    for (name, column) in [("a", "x"), ("b", "y")] {
        let schema = Schema::build(name).key("id", Type::U32).nullable(column, Type::I64);
        let schema = schema.nullable("word", Type::VarText(12)).finish().expect("a schema");
        db.create_table(&schema, KeyKind::Tree).expect("a table");
    }
    let connection = connect(&db);
    let fill = format!(
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
         INSERT INTO a SELECT i, i, 'w' || i FROM n;
         INSERT INTO b SELECT id, (id + 1) / 2, upper(word) FROM a"
    );
    connection.execute_batch(&fill).expect("rows");
    (db, connection)
}

/// Runs a query. Returns its first value, and the steps that SQLite took.
fn steps(connection: &Connection, query: &str) -> (i64, i32) {
    let mut statement = connection.prepare(query).expect("a query");
    let found = statement.query_row([], |row| row.get(0)).expect("a row");
    (found, statement.get_status(StatementStatus::VmStep))
}

#[test]
fn a_join_on_any_column_looks_at_each_row_a_few_times() {
    let (_db, connection) = tables();
    for (query, found) in [
        ("SELECT count(*) FROM a JOIN b ON x = y", i64::from(ROWS)),
        ("SELECT count(*) FROM a JOIN b ON a.word = b.word COLLATE NOCASE", i64::from(ROWS)),
        ("SELECT count(*) FROM a LEFT JOIN b ON x = y WHERE y IS NULL", i64::from(ROWS / 2)),
        ("SELECT sum((SELECT count(*) FROM b WHERE y = x)) FROM a", i64::from(ROWS)),
        ("SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE y = x)", i64::from(ROWS / 2)),
        (
            "SELECT count(*) FROM a WHERE x < (SELECT 2 * avg(b.id) FROM b WHERE y = x)",
            i64::from(ROWS / 2),
        ),
        ("SELECT count(*) FROM a JOIN b ON x = y AND b.id > 0", i64::from(ROWS)),
    ] {
        let (count, steps) = steps(&connection, query);
        assert_eq!(count, found, "{query}");
        assert!(steps < 100 * ROWS, "{query}: {steps} steps");
    }
    let plan = rows(&connection, "EXPLAIN QUERY PLAN SELECT count(*) FROM a JOIN b ON x = y");
    assert!(plan.iter().any(|line| line.contains("index built (")), "{plan:?}");
    // What is looked for once is found by its key, or by reading.
    let plan =
        rows(&connection, "EXPLAIN QUERY PLAN SELECT * FROM a WHERE id = 7 AND x = (SELECT 7)");
    assert!(plan[0].contains("key (id=?)") && !plan[0].contains("built"), "{plan:?}");
}

/// Tables `a (id, i, r, t)` and `b` of the same columns: decimals that are INTEGER, REAL and TEXT
/// in SQL. Each value of `a` is twice in `b`, where they have other digits after the point.
#[test]
fn a_join_on_decimals_looks_at_each_row_a_few_times() {
    let db = Database::in_memory().expect("memory");
    for (name, scale) in [("a", 2), ("b", 3)] {
        let decimal = |precision, scale| Type::Decimal { precision, scale };
        let schema = Schema::build(name).key("id", Type::U32).nullable("i", decimal(18, 0));
        let schema = schema.nullable("r", decimal(12, scale)).nullable("t", decimal(38, scale));
        db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree).expect("a table");
    }
    let connection = connect(&db);
    let fill = |name: &str, number: &str| {
        format!(
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
             INSERT INTO {name}
             SELECT i, {number}, {number} / 4.0, {number} / 4.0 FROM n;"
        )
    };
    let fill = fill("a", "(i - 5)") + &fill("b", "((i + 1) / 2 - 5)");
    connection.execute_batch(&fill).expect("rows");
    for (query, found) in [
        ("SELECT count(*) FROM a JOIN b ON a.i = b.i", ROWS),
        ("SELECT count(*) FROM a JOIN b ON a.r = b.r", ROWS),
        ("SELECT count(*) FROM a JOIN b ON a.t = b.t", ROWS),
        ("SELECT count(*) FROM a JOIN b ON b.t = a.t", ROWS),
        ("SELECT count(*) FROM a JOIN b ON b.i = +a.r", 1_500),
        // Text with the collation of SQLite itself differs by its zeros.
        ("SELECT count(*) FROM a JOIN b ON a.t = b.t COLLATE BINARY", 0),
        ("SELECT count(*) FROM a JOIN b ON a.t || '0' = b.t COLLATE RTRIM", ROWS),
        ("SELECT count(*) FROM a JOIN b ON b.t = ' ' || a.t || ' '", ROWS),
        ("SELECT count(*) FROM a JOIN b ON b.t = CAST(a.t AS BLOB)", 0),
    ] {
        let (count, steps) = steps(&connection, query);
        assert_eq!(count, i64::from(found), "{query}");
        assert!(steps < 100 * ROWS, "{query}: {steps} steps");
    }
    // A number is compared as SQLite likes, and other texts too, so each row is looked at.
    for (condition, found) in [
        ("b.t = a.i", "32"),
        ("b.t = a.t || 'x'", "0"),
        ("b.t = a.t || '000000000000000000000000000000000000000'", "38"),
    ] {
        let few = format!("SELECT count(*) FROM a JOIN b ON {condition} WHERE a.id < 20");
        assert_eq!(rows(&connection, &few), [found], "{condition}");
    }
}

#[test]
fn an_index_is_of_what_there_is_when_it_is_looked_in() {
    let (_db, connection) = tables();
    let pairs = "SELECT count(*) FROM a JOIN b ON x = y";
    connection.execute_batch("BEGIN; DELETE FROM b WHERE id > 10").expect("rows");
    assert_eq!(rows(&connection, pairs), ["10"]);
    connection.execute_batch("UPDATE b SET y = 1 WHERE id = 10").expect("a row");
    assert_eq!(rows(&connection, "SELECT count(*) FROM a JOIN b ON x = y AND x = 1"), ["3"]);
    // Rows that the statement itself writes are not among those that it reads.
    connection
        .execute_batch("INSERT INTO b SELECT 100 + b.id, 1, NULL FROM a JOIN b ON x = y")
        .expect("rows");
    assert_eq!(rows(&connection, "SELECT count(*) FROM b"), ["20"]);
    connection
        .execute_batch("UPDATE a SET x = (SELECT count(*) FROM b WHERE y = a.x) WHERE id < 4")
        .expect("rows");
    assert_eq!(rows(&connection, "SELECT x FROM a ORDER BY id LIMIT 4"), ["13", "2", "2", "4"]);
    connection.execute_batch("ROLLBACK").expect("a transaction");
    assert_eq!(rows(&connection, pairs), [ROWS.to_string()]);
}

#[test]
fn the_number_of_records_is_known_without_reading_them() {
    let (_db, connection) = tables();
    let count = i64::from(ROWS);
    assert_eq!(steps(&connection, "SELECT count(*) FROM a").0, count);
    let plan = rows(&connection, "EXPLAIN QUERY PLAN SELECT count(*) FROM a");
    assert!(plan[0].contains("or their number"), "{plan:?}");
    connection.execute_batch("BEGIN; DELETE FROM a WHERE id < 11").expect("rows");
    assert_eq!(rows(&connection, "SELECT count(*) FROM a"), [(count - 10).to_string()]);
    // Without any column, and with all that SQLite asks for after all.
    connection.execute_batch("DELETE FROM a; ROLLBACK").expect("rows");
    assert_eq!(rows(&connection, "SELECT count(*), (SELECT 7 FROM b) FROM a"), ["3000|7"]);
    // The ends of the key are found by it.
    for end in ["min(id)", "max(id)"] {
        let steps = steps(&connection, &format!("SELECT {end} FROM a")).1;
        assert!(steps < 100, "{end}: {steps} steps");
    }
}

#[test]
fn a_plan_knows_what_its_transaction_has_written() {
    let (_db, connection) = tables();
    connection.execute_batch("DELETE FROM a; DELETE FROM b").expect("rows");
    let fill =
        "BEGIN; WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
         INSERT INTO a SELECT i, i, NULL FROM n; INSERT INTO b SELECT id, x, NULL FROM a";
    connection.execute_batch(fill).expect("rows");
    let query = "SELECT count(*) FROM a, b, a AS other
                 WHERE other.x IN (1, 2, 3) AND b.y IN (4, 5, 6) AND a.x = b.y";
    let plan = || rows(&connection, &format!("EXPLAIN QUERY PLAN {query}"));
    let before = plan();
    let (found, steps) = steps(&connection, query);
    assert_eq!(found, 9);
    assert!(steps < 100_000, "{steps} steps: {before:?}");
    connection.execute_batch("COMMIT").expect("it is kept");
    let shape = |lines: Vec<String>| -> Vec<String> {
        let words = lines.iter().map(|line| line.rsplit('|').next().unwrap_or_default().into());
        words.collect()
    };
    assert_eq!(shape(before), shape(plan()));
}

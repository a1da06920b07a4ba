//! Columns of decimals, as keys and after them: what SQLite compares, sorts, groups and stores is
//! what a model of hundredths says.

use std::collections::BTreeSet;

use lode::{Database, KeyKind};
use rusqlite::Connection;

use crate::support::{connect, refusal, rows};

/// A table whose key, a REAL in SQL, and another column, a text, have these hundredths.
fn prices(kind: KeyKind, hundredths: &[i64]) -> (Database, Connection) {
    let db = Database::in_memory().expect("memory");
    let connection = connect(&db);
    let using = if kind == KeyKind::Hash { "HASH" } else { "TREE" };
    let create = format!(
        "SELECT lode_create('CREATE TABLE t (k DECIMAL(6, 2) PRIMARY KEY, v NUMERIC(20,2), \
         n INTEGER) USING {using}')"
    );
    connection.query_row(&create, [], |_| Ok(())).expect("it is created");
    for number in hundredths {
        let text = shown(*number);
        let insert = format!("INSERT INTO t VALUES ('{text}', '{text}', {number})");
        connection.execute(&insert, []).expect("it is inserted");
    }
    (db, connection)
}

fn shown(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", hundredths.abs() / 100, hundredths.abs() % 100)
}

/// A comparison of two numbers.
type Test = fn(i64, i64) -> bool;

const HUNDREDTHS: [i64; 12] =
    [-999_999, -1_000, -950, -5, 0, 5, 50, 950, 1_000, 1_001, 9_950, 999_999];

#[test]
fn comparisons_are_by_value_whatever_the_literal_looks_like() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let (_db, connection) = prices(kind, &HUNDREDTHS);
        // Each literal, and the thousandths that it is.
        let literals: [(&str, i64); 14] = [
            ("9.5", 9_500),
            ("9.50", 9_500),
            ("'9.5'", 9_500),
            ("' 9.500 '", 9_500),
            ("10", 10_000),
            ("'10'", 10_000),
            ("10.005", 10_005),
            ("'10.005'", 10_005),
            ("-9.505", -9_505),
            ("'-9.505'", -9_505),
            ("0", 0),
            ("-0.05", -50),
            ("1e4", 10_000_000),
            ("'-123456.789'", -123_456_789),
        ];
        for (literal, thousandths) in literals {
            let tests: [(&str, Test); 6] = [
                ("=", |one, other| one == other),
                ("<>", |one, other| one != other),
                ("<", |one, other| one < other),
                ("<=", |one, other| one <= other),
                (">", |one, other| one > other),
                (">=", |one, other| one >= other),
            ];
            for (operator, test) in tests {
                let wanted: Vec<_> = HUNDREDTHS
                    .iter()
                    .filter(|number| test(**number * 10, thousandths))
                    .map(ToString::to_string)
                    .collect();
                // Without affinity, as in `+k`, SQLite finds text greater than any number.
                let columns = ["k", "v", "+k"];
                for column in &columns[..if literal.starts_with('\'') { 2 } else { 3 }] {
                    let query =
                        format!("SELECT n FROM t WHERE {column} {operator} {literal} ORDER BY n");
                    assert_eq!(rows(&connection, &query), wanted, "{kind:?}: {query}");
                }
            }
        }
        let list = "SELECT n FROM t WHERE k IN (9.5, '10.000', 7, '0.050') ORDER BY n";
        assert_eq!(rows(&connection, list), ["5", "950", "1000"]);
        let list = "SELECT n FROM t WHERE v IN (SELECT k FROM t WHERE n > 9000) ORDER BY n";
        assert_eq!(rows(&connection, list), ["9950", "999999"]);
        let between = "SELECT n FROM t WHERE k BETWEEN '-9.5' AND 9.5 ORDER BY n";
        assert_eq!(rows(&connection, between), ["-950", "-5", "0", "5", "50", "950"]);
        assert_eq!(rows(&connection, "SELECT n FROM t WHERE k = NULL OR k = 'x'"), [""; 0]);
    }
}

#[test]
fn order_groups_and_extremes_are_by_value() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let (_db, connection) = prices(kind, &HUNDREDTHS);
        let in_order: Vec<_> = HUNDREDTHS.iter().map(ToString::to_string).collect();
        let backward: Vec<_> = in_order.iter().rev().cloned().collect();
        for column in ["k", "v"] {
            let query = format!("SELECT n FROM t ORDER BY {column}");
            assert_eq!(rows(&connection, &query), in_order, "{query}");
            assert_eq!(rows(&connection, &(query + " DESC")), backward);
            let extremes = format!("SELECT min({column}), max({column}) FROM t");
            assert_eq!(rows(&connection, &extremes), ["-9999.99|9999.99"]);
        }
        let having = "SELECT count(*) FROM t GROUP BY n > 0 HAVING max(k) > 0.05";
        assert_eq!(rows(&connection, having), ["7"]);
        connection
            .execute_batch("CREATE TEMP TABLE more (d TEXT); INSERT INTO more VALUES ('9.5')")
            .expect("a table of SQLite's own");
        let union = "SELECT v FROM t WHERE n = 950 UNION SELECT d FROM more";
        assert_eq!(rows(&connection, union).len(), 1, "9.50 and 9.5 are one");
        connection.execute("UPDATE t SET v = 5 WHERE n > 0", []).expect("5 is a decimal");
        let groups = "SELECT v, count(*) FROM t GROUP BY v ORDER BY v DESC LIMIT 2";
        assert_eq!(rows(&connection, groups), ["5.00|7", "0.00|1"]);
        let distinct: BTreeSet<_> =
            rows(&connection, "SELECT DISTINCT v FROM t").into_iter().collect();
        assert_eq!(distinct.len(), 6);
    }
}

#[test]
fn text_and_integers_are_stored_exactly_and_reals_are_rounded() {
    let (_db, connection) = prices(KeyKind::Tree, &[]);
    let stored = |value: &str| {
        connection.execute_batch("DELETE FROM t").expect("it is emptied");
        connection
            .execute(&format!("INSERT INTO t VALUES ({value}, {value}, 0)"), [])
            .map(|_| rows(&connection, "SELECT k FROM t")[0].clone())
            .map_err(|error| error.to_string())
    };
    let is = |value: &str, wanted: &str| assert_eq!(stored(value), Ok(wanted.into()), "{value}");
    is("'12.30'", "12.3");
    is("12", "12.0");
    is("12.3", "12.3");
    is("'1e3'", "1000.0");
    is("0.1 + 0.2", "0.3");
    is("12.3 * 1.077", "13.25");
    is("'-0.000'", "0.0");
    let digits = "it takes 6 digits, 2 of them after the point";
    let kind = "it takes decimals of at most 38 digits, such as '12.30'";
    for (value, why) in [
        ("'0.125'", digits),
        ("10000", digits),
        ("9999.995", digits),
        ("'x'", kind),
        ("'1,5'", kind),
        ("x'31'", kind),
        ("9e999", kind),
    ] {
        let refused = stored(value).expect_err(value);
        assert!(refused.contains(why) && refused.contains("t.k"), "{value}: {refused}");
    }
    let text = "INSERT INTO t VALUES (0, 12.3 * 1.077, 0)";
    connection.execute_batch("DELETE FROM t").expect("it is emptied");
    connection.execute(text, []).expect("it is rounded");
    assert_eq!(rows(&connection, "SELECT v FROM t"), ["13.25"]);
    let (code, _) = refusal(&connection, "INSERT INTO t VALUES ('0.125', NULL, 0)");
    assert_eq!(code, rusqlite::ffi::SQLITE_CONSTRAINT_DATATYPE);
}

#[test]
fn sums_are_exact_by_the_functions_for_decimals() {
    let (_db, connection) = prices(KeyKind::Tree, &[10, 20, 999_999]);
    connection.execute("UPDATE t SET v = '123456789012345678.91'", []).expect("it fits");
    assert_eq!(
        rows(&connection, "SELECT decimal_sum(v), decimal_sum(k), decimal_sum(NULL) FROM t"),
        ["370370367037037036.73|10000.29|NULL"]
    );
    let exact = "SELECT decimal_add('0.1', 0.2), decimal_sub(1, '0.9'), decimal_mul('1.10', 3)";
    assert_eq!(rows(&connection, exact), ["0.3|0.1|3.30"]);
    let long = format!("SELECT decimal_mul('{0}', '{0}')", "9".repeat(20));
    assert!(refusal(&connection, &long).1.contains("more than 38 digits"));
    assert!(refusal(&connection, "SELECT decimal_add(1, 'x')").1.contains("such as '12.30'"));
}

#[test]
fn a_condition_on_a_key_of_decimals_reads_only_its_range() {
    let (_db, connection) = prices(KeyKind::Tree, &HUNDREDTHS);
    let plan = |query: &str| rows(&connection, &format!("EXPLAIN QUERY PLAN {query}")).join("\n");
    assert!(plan("SELECT n FROM t WHERE k >= '9.5' AND k < 100").contains("key (k>=? AND k<?)"));
    assert!(!plan("SELECT n FROM t ORDER BY k").contains("TEMP B-TREE"));
}

/// Keys of each form, each twice the one before, found by themselves and by bounds.
#[test]
fn keys_of_all_forms_are_found() {
    for (digits, wanted) in [("18", "INTEGER"), ("15, 3", "REAL"), ("38, 3", "TEXT")] {
        let db = Database::in_memory().expect("memory");
        let connection = connect(&db);
        let create =
            format!("SELECT lode_create('CREATE TABLE t (k DECIMAL({digits}) PRIMARY KEY)')");
        connection.query_row(&create, [], |_| Ok(())).expect("it is created");
        for number in [-4, -2, 0, 1, 2, 4, 8, 16, 512, 1024] {
            connection.execute("INSERT INTO t VALUES (?1)", [number]).expect("it is inserted");
        }
        let types = rows(&connection, "SELECT DISTINCT upper(typeof(k)) FROM t");
        assert_eq!(types, [wanted], "{digits}");
        for (condition, count) in [
            ("k = 16", "1"),
            ("k = '16'", "1"),
            ("k = 16.0", "1"),
            ("k > 16", "2"),
            ("k >= 15.9", "3"),
            ("k < '-2.5'", "1"),
            ("k < 1e30", "10"),
            ("k > -1e300", "10"),
            ("k BETWEEN -2 AND 2.5", "4"),
            ("k > 0.0000001", "7"),
        ] {
            let query = format!("SELECT count(*) FROM t WHERE {condition}");
            assert_eq!(rows(&connection, &query), [count], "{digits}: {condition}");
        }
        connection.execute("UPDATE t SET k = k + 1 WHERE k = 1024", []).expect("it is moved");
        connection.execute("DELETE FROM t WHERE k < 512", []).expect("they are deleted");
        assert_eq!(rows(&connection, "SELECT k + 0 = 512, k + 0 = 1025 FROM t"), ["1|0", "0|1"]);
    }
}

/// A REAL that is whole is that number, whatever its shortest digits look like.
#[test]
fn large_whole_reals_find_their_keys() {
    let db = Database::in_memory().expect("memory");
    let connection = connect(&db);
    let create = "SELECT lode_create('CREATE TABLE t (k DECIMAL(18) PRIMARY KEY)')";
    connection.query_row(create, [], |_| Ok(())).expect("it is created");
    connection.execute("INSERT INTO t VALUES (1 << 59)", []).expect("it is inserted");
    for condition in ["k = 1.0 * (1 << 59)", "k >= 1.0 * (1 << 59)", "+k = 1.0 * (1 << 59)"] {
        let query = format!("SELECT count(*) FROM t WHERE {condition}");
        assert_eq!(rows(&connection, &query), ["1"], "{condition}");
    }
}

//! Checks the part of a statement that Lode carries out, as `EXPLAIN QUERY PLAN` says it.

use lode::Database;

use crate::support::{connect, database, rows};

/// The plan of a query: what it says of each table.
fn plan(query: &str) -> Vec<String> {
    let connection = connect(&database());
    let lines = rows(&connection, &format!("EXPLAIN QUERY PLAN {query}"));
    let index = "VIRTUAL TABLE INDEX ";
    lines
        .iter()
        .map(|line| match line.split_once(index) {
            Some((_, plan)) => plan.split_once(':').expect("a number and words").1.to_string(),
            None => line.rsplit('|').next().expect("words").to_string(),
        })
        .collect()
}

#[test]
fn conditions_on_the_key_are_carried_out_by_lode() {
    for (condition, expected) in [
        ("account WHERE id = 7", "key (id=?)"),
        ("account WHERE id = 7 AND cents > 1", "key (id=?)"),
        ("account WHERE id IN (1, 2, 3)", "key (id=?)"),
        ("account WHERE id > 7", "all records"),
        ("word WHERE text = 'a'", "key (text=?)"),
        ("word WHERE text IN ('a', 'b')", "key (text IN (?))"),
        ("word WHERE text > 'a'", "key (text>?)"),
        ("word WHERE text BETWEEN 'a' AND 'b'", "key (text>=? AND text<=?)"),
        ("word WHERE text GLOB 'a*'", "key (text>=? AND text<?)"),
        ("word WHERE text = 'a' COLLATE NOCASE", "all records, index built (text=?)"),
        ("call WHERE caller = 7", "key (caller=?)"),
        ("call WHERE caller = 7 AND time = 1", "key (caller=? AND time=?)"),
        ("call WHERE caller = 7 AND time < 1", "key (caller=? AND time<?)"),
        (
            "call WHERE caller = 7 AND time >= 1 AND time < 9",
            "key (caller=? AND time>=? AND time<?)",
        ),
        ("call WHERE caller > 7 AND time = 1", "key (caller>?)"),
        ("call WHERE time = 1", "all records"),
        ("call WHERE 7 >= caller", "key (caller<=?)"),
    ] {
        assert_eq!(plan(&format!("SELECT * FROM {condition}")), [expected], "{condition}");
    }
}

#[test]
fn an_order_that_the_key_has_needs_no_sorting() {
    let sorted = "USE TEMP B-TREE FOR ORDER BY";
    for (query, expected) in [
        ("call ORDER BY caller", &["all records"][..]),
        ("call ORDER BY caller, time", &["all records"]),
        ("call ORDER BY caller DESC, time DESC", &["all records, backward"]),
        ("call WHERE caller = 7 ORDER BY time DESC", &["key (caller=?), backward"]),
        ("call ORDER BY caller, time, seconds", &["all records"]),
        ("call ORDER BY caller, time DESC", &["all records", sorted]),
        ("call ORDER BY time", &["all records", sorted]),
        ("account ORDER BY id", &["all records", sorted]),
        ("account WHERE id = 7 ORDER BY cents", &["key (id=?)"]),
        ("call ORDER BY caller LIMIT 3", &["all records, limit"]),
        ("call WHERE caller = 7 ORDER BY time DESC LIMIT 3", &["key (caller=?), backward, limit"]),
        ("call WHERE seconds = 1 ORDER BY caller LIMIT 3", &["all records"]),
    ] {
        assert_eq!(plan(&format!("SELECT * FROM {query}")), expected, "{query}");
    }
}

#[test]
fn only_the_columns_that_are_used_are_read() {
    // Records with columns of any length are copied whole, unless their keys are enough.
    let keys = ["all records, columns caller time"];
    assert_eq!(plan("SELECT min(caller), max(caller) FROM call"), keys);
    assert_eq!(plan("SELECT sum(seconds) FROM call WHERE caller = 7"), ["key (caller=?)"]);
    assert_eq!(plan("SELECT count(*) FROM word WHERE n > 7"), ["all records"]);
    assert_eq!(plan("SELECT count(*) FROM word"), ["all records, columns text, or their number"]);
}

#[test]
fn a_join_looks_records_up_by_their_keys() {
    let db = database();
    let connection = connect(&db);
    connection
        .execute_batch(
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO account SELECT i, i FROM n;
             INSERT INTO call VALUES (7, 1, 1, NULL), (9, 2, 3, 'x')",
        )
        .expect("rows");
    let query = "SELECT cents FROM account JOIN call ON id = caller";
    let lines = rows(&connection, &format!("EXPLAIN QUERY PLAN {query}"));
    assert!(lines[0].contains("call") && lines[1].contains("key (id=?)"), "{lines:?}");
    assert_eq!(rows(&connection, query), ["7", "9"]);
}

/// Most sellers have many lines: to look each one's up costs more than to read all lines once.
#[test]
fn what_most_of_a_large_table_matches_is_read_once() {
    let db = Database::in_memory().expect("memory");
    let connection = connect(&db);
    for columns in [
        "line (id U32 PRIMARY KEY, seller U32, bill U32, day U32)",
        "seller (id U32 PRIMARY KEY, land U32)",
        "bill (id U32 PRIMARY KEY, client U32)",
        "land (id U32 PRIMARY KEY, name VARTEXT(9))",
    ] {
        let create = format!("SELECT lode_create('CREATE TABLE {columns}')");
        connection.query_row(&create, [], |_| Ok(())).expect("it is created");
    }
    let fill = |name: &str, rows: i32, values: &str| {
        let rows = format!("SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {}", rows - 1);
        format!("WITH RECURSIVE n(i) AS ({rows}) INSERT INTO {name} SELECT i, {values} FROM n;")
    };
    let fill = fill("line", 30_000, "i % 100, i / 4, i % 365")
        + &fill("bill", 7_500, "i % 1000")
        + &fill("seller", 100, "i % 25")
        + &fill("land", 25, "'land ' || i");
    connection.execute_batch(&fill).expect("rows");
    let query = "SELECT land.name, sum(client) FROM land, seller, line, bill
                 WHERE line.seller = seller.id AND seller.land = land.id AND bill.id = line.bill
                 AND day BETWEEN 30 AND 200 GROUP BY land.name";
    let lines = rows(&connection, &format!("EXPLAIN QUERY PLAN {query}"));
    assert!(lines.iter().all(|line| !line.contains("index built")), "{lines:?}");
    assert!(lines[0].contains("SCAN line "), "{lines:?}");
}

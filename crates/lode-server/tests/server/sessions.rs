//! Sessions as clients see them: queries, parameters, transactions, errors.

use crate::support::{Bench, code};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::Type;

const TABLE: &str = "CREATE TABLE reading (id U32 PRIMARY KEY, at TIMESTAMP, celsius F32,
                     note VARTEXT(20) NOT NULL, raw VARBYTES(9), ok BOOLEAN)";

#[tokio::test]
async fn values_of_all_types_come_back_in_text_and_in_binary() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    let insert = "INSERT INTO reading VALUES ($1, $2, $3, $4, $5, $6)";
    let statement = client.prepare(insert).await.expect("it is prepared");
    let expected =
        [Type::INT8, Type::TIMESTAMPTZ, Type::FLOAT8, Type::TEXT, Type::BYTEA, Type::BOOL];
    assert_eq!(statement.params(), expected);
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_micros(1_767_225_600_500_000);
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&7_i64, &at, &1.5_f64, &"é", &vec![0_u8, 255], &true];
    assert_eq!(client.execute(&statement, &parameters).await.expect("it is inserted"), 1);
    let row = client.query_one("SELECT * FROM reading WHERE id = $1", &[&7_i64]).await;
    let row = row.expect("a row");
    assert_eq!(row.get::<_, i64>("id"), 7);
    assert_eq!(row.get::<_, std::time::SystemTime>("at"), at);
    assert_eq!(row.get::<_, f64>("celsius"), 1.5);
    assert_eq!(row.get::<_, &str>("note"), "é");
    assert_eq!(row.get::<_, Vec<u8>>("raw"), [0, 255]);
    assert!(row.get::<_, bool>("ok"));
    let messages = client.simple_query("SELECT * FROM reading").await.expect("rows");
    let SimpleQueryMessage::Row(row) = &messages[1] else { panic!("{messages:?}") };
    let texts: Vec<_> = (0..row.len()).map(|at| row.get(at).expect("a value")).collect();
    assert_eq!(texts, ["7", "2026-01-01 00:00:00.5+00", "1.5", "é", "\\x00ff", "t"]);
    let empty: Option<i64> = None;
    client
        .execute("UPDATE reading SET at = $1", &[&None::<std::time::SystemTime>])
        .await
        .expect("NULL");
    let row = client.query_one("SELECT at IS NULL, $1::int8 FROM reading", &[&empty]).await;
    let row = row.expect("a row");
    assert!(row.get::<_, bool>(0));
    assert_eq!(row.get::<_, Option<i64>>(1), None);
}

#[tokio::test]
async fn texts_in_a_statement_mean_what_their_columns_take() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    let insert = "INSERT INTO reading (id, at, note, raw, ok) VALUES
                  (1, '9999-12-31 23:59:59.999999Z', 't', '\\x00ff', 'true'),
                  (2, '10000-01-01', '\\x00', '\\x61', 'f'),
                  (3, '0044-03-15 12:00+01 BC', '', NULL, '1')";
    client.batch_execute(insert).await.expect("rows");
    let query = "SELECT id, at, note, raw, ok FROM reading
                 WHERE at > '0050-01-01 BC' AND ok IN ('t', 'f') ORDER BY id";
    let mut found = Vec::new();
    for message in client.simple_query(query).await.expect("rows") {
        if let SimpleQueryMessage::Row(row) = message {
            let texts = (0..row.len()).map(|at| row.get(at).unwrap_or("NULL"));
            found.push(texts.collect::<Vec<_>>().join("|"));
        }
    }
    let expected = [
        "1|9999-12-31 23:59:59.999999+00|t|\\x00ff|t",
        "2|10000-01-01 00:00:00+00|\\x00|\\x61|f",
        "3|0044-03-15 11:00:00+00 BC||NULL|t",
    ];
    assert_eq!(found, expected);
    for wrong in ["at = 'soon'", "at = '2026-02-30'", "ok = 'perhaps'"] {
        let update = format!("UPDATE reading SET {wrong}");
        let error = client.batch_execute(&update).await.expect_err(wrong);
        assert_eq!(code(&error), "22000", "{wrong}: {error:?}");
    }
    // A client that has its values in the text casts them.
    let cast = "SELECT 't'::bool, '\\x00ff'::bytea, 'off'::boolean";
    let row = client.query_one(cast, &[]).await.expect(cast);
    assert_eq!((row.get(0), row.get(1), row.get(2)), (true, &[0_u8, 255][..], false));
    let error = client.batch_execute("SELECT 'perhaps'::bool").await.expect_err("neither");
    assert_eq!(code(&error), "22P02");
    let returning = "UPDATE reading SET ok = true RETURNING id";
    let error = client.batch_execute(returning).await.expect_err("SQLite has it for INSERT only");
    assert_eq!(code(&error), "0A000");
}

#[tokio::test]
async fn the_moment_of_a_statement_is_stored_and_compared() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    let before = std::time::SystemTime::now();
    let moments = ["CURRENT_TIMESTAMP", "localtimestamp", "now()", "clock_timestamp()"];
    for (id, moment) in moments.into_iter().enumerate() {
        let insert = format!("INSERT INTO reading (id, note, at) VALUES ({id}, '', {moment})");
        client.batch_execute(&insert).await.expect(moment);
    }
    // It may be another day by now.
    let query = "SELECT at, current_date FROM reading
                 WHERE at + 86400000000 > current_date AND at <= CURRENT_TIMESTAMP";
    let rows = client.query(query, &[]).await.expect("rows");
    let after = std::time::SystemTime::now();
    assert_eq!(rows.len(), moments.len());
    let day = std::time::Duration::from_secs(86_400);
    let is_within = |at: std::time::SystemTime, day: std::time::Duration| {
        // A moment has whole microseconds.
        at + std::time::Duration::from_micros(1) + day > before && at <= after
    };
    for row in rows {
        assert!(is_within(row.get(0), std::time::Duration::ZERO), "{row:?}");
        assert!(is_within(row.get(1), day), "{row:?}");
    }
    // One moment for all rows of a statement, and of a transaction.
    let is_one = "SELECT count(DISTINCT now()) FROM generate_series(1, 1000000)";
    assert_eq!(client.query_one(is_one, &[]).await.expect("a row").get::<_, i64>(0), 1);
    client.batch_execute("BEGIN").await.expect("it starts");
    let moments = "SELECT now(), clock_timestamp()";
    let moments = async || {
        let row = client.query_one(moments, &[]).await.expect("a row");
        [0, 1].map(|at| row.get::<_, std::time::SystemTime>(at))
    };
    let [first, second] = [moments().await, moments().await];
    assert_eq!(first[0], second[0]);
    assert_ne!(first[1], second[1]);
    client.batch_execute("COMMIT").await.expect("it ends");
    assert_ne!(moments().await[0], first[0]);
}

#[tokio::test]
async fn arrays_are_parameters_beside_any_and_all() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    client.batch_execute("ALTER TABLE reading ADD COLUMN price DECIMAL(20, 2)").await.expect("it");
    let insert = "INSERT INTO reading (id, at, celsius, note, ok, price) VALUES
                  (1, '1970-01-01 00:00:01Z', 1.5, '7', 't', 1.5),
                  (2, '1970-01-02', -2.25, 'a, \"b\"', 'f', '123456789012345678.25'),
                  (3, NULL, NULL, '', NULL, NULL)";
    client.batch_execute(insert).await.expect("rows");
    let ids = async |query: &str, array: &(dyn tokio_postgres::types::ToSql + Sync)| {
        let query = format!("SELECT id FROM reading WHERE {query} ORDER BY id");
        let rows = client.query(&query, &[array]).await.expect(&query);
        rows.iter().map(|row| row.get::<_, i64>(0)).collect::<Vec<_>>()
    };
    assert_eq!(ids("id = ANY($1)", &vec![3_i64, 1, 7]).await, [1, 3]);
    assert_eq!(ids("id = ANY ($1::int4[])", &vec![Some(2_i64), None]).await, [2]);
    assert_eq!(ids("id <> ALL ($1)", &vec![3_i64, 1]).await, [2]);
    assert_eq!(ids("id <> ALL ($1)", &Vec::<i64>::new()).await, [1, 2, 3]);
    assert_eq!(ids("id = SOME ($1)", &None::<Vec<i64>>).await, [0_i64; 0]);
    assert_eq!(ids("id <> ALL ($1)", &None::<Vec<i64>>).await, [0_i64; 0]);
    assert_eq!(ids("id <> ALL ($1)", &vec![Some(7_i64), None]).await, [0_i64; 0]);
    assert_eq!(ids("lower(note) = ANY($1)", &vec!["7", "07"]).await, [1]);
    assert_eq!(ids("note = ANY($1)", &vec!["7", "a, \"b\"", ""]).await, [1, 2, 3]);
    assert_eq!(ids("celsius = ANY($1)", &vec![-2.25_f64, 1.5]).await, [1, 2]);
    assert_eq!(ids("ok = ANY($1)", &vec![true]).await, [1]);
    let day = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400);
    assert_eq!(ids("at = ANY($1)", &vec![day]).await, [2]);
    for (query, found) in [
        ("id = ANY('{1,3}')", "1,3"),
        ("id = ANY(ARRAY[3, 2])", "2,3"),
        ("price = ANY('{1.50,123456789012345678.250}')", "1,2"),
        ("at = ANY(ARRAY['1970-01-02', '1970-01-03'])", "2"),
        ("ok <> ALL (ARRAY['t'])", "2"),
    ] {
        let query = format!("SELECT group_concat(id) FROM reading WHERE {query}");
        let row = client.query_one(&query, &[]).await.expect(&query);
        assert_eq!(row.get::<_, &str>(0), found, "{query}");
    }
    let bytes = "SELECT 1 FROM reading WHERE raw = ANY($1)";
    let error = client.query(bytes, &[&vec![vec![7_u8]]]).await.expect_err("bytes");
    assert_eq!(code(&error), "0A000", "{error:?}");
    let order = "SELECT 1 FROM reading WHERE id < ANY($1)";
    assert_eq!(code(&client.prepare(order).await.expect_err("no equality")), "42883");
}

#[tokio::test]
async fn results_of_expressions_have_types() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    client
        .batch_execute(
            "INSERT INTO reading (id, celsius, note) VALUES (1, 2.5, 'a'), (2, 3.5, 'b')",
        )
        .await
        .expect("rows");
    let query = "SELECT count(*), sum(celsius), max(note), avg(id) FROM reading WHERE id > $1";
    let row = client.query_one(query, &[&0_i64]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 2);
    assert_eq!(row.get::<_, f64>(1), 6.0);
    assert_eq!(row.get::<_, &str>(2), "b");
    assert_eq!(row.get::<_, f64>(3), 1.5);
}

#[tokio::test]
async fn errors_have_the_states_that_drivers_look_for() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    client
        .batch_execute("CREATE TABLE price (id I64 PRIMARY KEY, amount DECIMAL(30, 2))")
        .await
        .expect("a table");
    client.batch_execute("INSERT INTO reading (id, note) VALUES (1, 'a')").await.expect("a row");
    for (statement, state) in [
        ("INSERT INTO reading (id, note) VALUES (1, 'b')", "23505"),
        ("INSERT INTO reading (id) VALUES (2)", "23502"),
        ("INSERT INTO reading (id, note) VALUES (-1, 'b')", "22003"),
        ("INSERT INTO reading (id, note) VALUES (2, '123456789012345678901')", "22001"),
        ("SELEKT 1", "42601"),
        ("SELECT 1 FROM nowhere", "42P01"),
        ("SELECT nonsense FROM reading", "42703"),
        ("SELECT nonsense(1)", "42883"),
        ("CREATE VIEW v AS SELECT 1", "0A000"),
        (TABLE, "42P07"),
        ("SAVEPOINT a", "25P01"),
        ("SET nothing = 1", "42704"),
        ("SELECT 1::nothing", "42704"),
        ("SELECT sum(id) FROM (SELECT 9223372036854775807 AS id UNION ALL SELECT 1)", "22003"),
    ] {
        let error = client.batch_execute(statement).await.expect_err(statement);
        assert_eq!(code(&error), state, "{statement}: {error:?}");
    }
    // The session continues.
    let wrong = client.query("SELECT $1::int8", &[&"text"]).await.expect_err("another type");
    assert_eq!(code(&wrong), "none", "the driver refuses: {wrong}");
    let row = client.query_one("SELECT note FROM reading", &[]).await.expect("a row");
    assert_eq!(row.get::<_, &str>(0), "a");
    let precise = "INSERT INTO price VALUES (1, '1234567890123456789012345678.25')";
    client.batch_execute(precise).await.expect("a decimal");
    let messages = client.simple_query("SELECT amount FROM price").await.expect("rows");
    let SimpleQueryMessage::Row(row) = &messages[1] else { panic!("{messages:?}") };
    assert_eq!(row.get(0), Some("1234567890123456789012345678.25"));
}

#[tokio::test]
async fn a_failed_transaction_takes_only_its_end() {
    let bench = Bench::new();
    let mut client = bench.client().await;
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.expect("open");
    client.batch_execute("INSERT INTO t VALUES (1)").await.expect_err("a key twice");
    let error = client.batch_execute("SELECT 1").await.expect_err("it has failed");
    assert_eq!(code(&error), "25P02");
    let error = client.query("SELECT 1", &[]).await.expect_err("it has failed");
    assert_eq!(code(&error), "25P02");
    // As PostgreSQL does, the end of a failed transaction undoes it.
    client.batch_execute("COMMIT").await.expect("its end");
    let count = |rows: Vec<tokio_postgres::Row>| rows[0].get::<_, i64>(0);
    let query = "SELECT count(*) FROM t";
    assert_eq!(count(client.query(query, &[]).await.expect("rows")), 0);
    let transaction = client.transaction().await.expect("open");
    transaction.execute("INSERT INTO t VALUES ($1)", &[&1_i64]).await.expect("a row");
    transaction.batch_execute("SAVEPOINT a").await.expect("a savepoint");
    transaction.execute("INSERT INTO t VALUES ($1)", &[&1_i64]).await.expect_err("a key twice");
    transaction.batch_execute("ROLLBACK TO a").await.expect("back to it");
    transaction.execute("INSERT INTO t VALUES ($1)", &[&2_i64]).await.expect("a row");
    transaction.commit().await.expect("a commit");
    assert_eq!(count(client.query(query, &[]).await.expect("rows")), 2);
    client.batch_execute("BEGIN READ ONLY").await.expect("open");
    let error = client.batch_execute("DELETE FROM t").await.expect_err("it only reads");
    assert_eq!(code(&error), "25006");
    client.batch_execute("ROLLBACK").await.expect("its end");
    assert_eq!(count(client.query(query, &[]).await.expect("rows")), 2);
}

#[tokio::test]
async fn of_two_transactions_that_meet_one_is_told_to_run_again() {
    let bench = Bench::new();
    let (one, other) = (bench.client().await, bench.client().await);
    one.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY, x I64)").await.expect("a table");
    one.batch_execute("INSERT INTO t VALUES (1, 0)").await.expect("a row");
    for client in [&one, &other] {
        client.batch_execute("BEGIN").await.expect("open");
        client.query("SELECT x FROM t WHERE id = 1", &[]).await.expect("rows");
    }
    for client in [&one, &other] {
        client.batch_execute("UPDATE t SET x = x + 1 WHERE id = 1").await.expect("a row");
    }
    one.batch_execute("COMMIT").await.expect("the first");
    let error = other.batch_execute("COMMIT").await.expect_err("the second");
    assert_eq!(code(&error), "40001");
    // The transaction has ended.
    other.batch_execute("UPDATE t SET x = x + 1 WHERE id = 1").await.expect("again");
    let row = one.query_one("SELECT x FROM t", &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_by_themselves_are_carried_out_anew_after_a_conflict() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY, x I64)").await.expect("a table");
    client.batch_execute("INSERT INTO t VALUES (1, 0)").await.expect("a row");
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let client = bench.client().await;
        tasks.push(tokio::spawn(async move {
            for _ in 0..50 {
                let update = "UPDATE t SET x = x + 1 WHERE id = $1";
                assert_eq!(client.execute(update, &[&1_i64]).await.expect("a row"), 1);
            }
        }));
    }
    for task in tasks {
        task.await.expect("no panic");
    }
    let row = client.query_one("SELECT x FROM t", &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 200);
}

#[tokio::test]
async fn rows_come_in_portions_that_a_portal_remembers() {
    let bench = Bench::new();
    let mut client = bench.client().await;
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    let fill = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
                INSERT INTO t SELECT i FROM n";
    assert_eq!(client.execute(fill, &[]).await.expect("rows"), 10_000);
    let transaction = client.transaction().await.expect("open");
    let portal = transaction.bind("SELECT id FROM t WHERE id >= $1", &[&5_i64]).await;
    let portal = portal.expect("a portal");
    let mut ids = Vec::new();
    loop {
        let rows = transaction.query_portal(&portal, 1_000).await.expect("rows");
        ids.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
        if rows.len() < 1_000 {
            break;
        }
    }
    assert_eq!(ids, (5..10_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn tables_that_one_client_creates_are_seen_by_the_others() {
    let bench = Bench::new();
    let (one, other) = (bench.client().await, bench.client().await);
    other.batch_execute("SELECT 1").await.expect("a session");
    one.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    other.execute("INSERT INTO t VALUES ($1)", &[&1_i64]).await.expect("a row");
    one.batch_execute("DROP TABLE t").await.expect("dropped");
    let error = other.query("SELECT * FROM t", &[]).await.expect_err("it is gone");
    assert_eq!(code(&error), "42P01");
    one.batch_execute("CREATE TABLE t (name VARTEXT(9) PRIMARY KEY)").await.expect("a table");
    other.execute("INSERT INTO t VALUES ($1)", &[&"a"]).await.expect("a row");
    other.batch_execute("CREATE UNIQUE INDEX i ON t (name)").await.expect("an index");
    one.batch_execute("DROP INDEX i").await.expect("dropped");
    one.batch_execute("ALTER TABLE t ADD n I64 NOT NULL DEFAULT 7").await.expect("altered");
    let row = other.query_one("SELECT n FROM t", &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 7);
}

#[tokio::test]
async fn settings_are_those_that_the_server_has() {
    let bench = Bench::new();
    let client = bench.client().await;
    client
        .batch_execute("SET application_name = 'test'; SET statement_timeout = '2s'")
        .await
        .expect("set");
    let shown = |messages: Vec<SimpleQueryMessage>| match &messages[1] {
        SimpleQueryMessage::Row(row) => row.get(0).expect("a value").to_string(),
        other => panic!("{other:?}"),
    };
    for (name, value) in [
        ("application_name", "test"),
        ("statement_timeout", "2000"),
        ("server_version", "15.0"),
        ("TRANSACTION ISOLATION LEVEL", "serializable"),
        ("TimeZone", "UTC"),
    ] {
        let messages = client.simple_query(&format!("SHOW {name}")).await.expect(name);
        assert_eq!(shown(messages), value, "{name}");
    }
    let error =
        client.batch_execute("SET client_encoding = 'LATIN1'").await.expect_err("UTF-8 only");
    assert_eq!(code(&error), "22023");
}

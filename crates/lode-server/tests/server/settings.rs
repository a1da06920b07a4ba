//! Settings of sessions: which hold, how far they go, and how they come back.

use std::time::Duration;

use lode_server::Limits;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::support::{Bench, code, connect};

async fn shown(client: &Client, name: &str) -> String {
    let messages = client.simple_query(&format!("SHOW {name}")).await.expect(name);
    match &messages[1] {
        SimpleQueryMessage::Row(row) => row.get(0).expect("a value").to_string(),
        other => panic!("{other:?}"),
    }
}

async fn refuses(client: &Client, statement: &str, state: &str) {
    let error = client.batch_execute(statement).await.expect_err(statement);
    assert_eq!(code(&error), state, "{statement}: {error:?}");
}

const READING: &str = "transaction_read_only";

#[tokio::test]
async fn a_session_that_only_reads_writes_in_no_statement() {
    let bench = Bench::new();
    let client = bench.client().await;
    let create = "CREATE TABLE t (id I64 PRIMARY KEY)";
    client.batch_execute(create).await.expect("a table");
    for set in [
        "SET default_transaction_read_only = on",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    ] {
        client.batch_execute(set).await.expect(set);
        assert_eq!(shown(&client, READING).await, "on");
        for write in [
            "INSERT INTO t VALUES (1)",
            "DELETE FROM t",
            "DROP TABLE t",
            "COPY t FROM STDIN",
            "BEGIN; INSERT INTO t VALUES (1)",
        ] {
            refuses(&client, write, "25006").await;
        }
        client.batch_execute("ROLLBACK; SELECT * FROM t").await.expect("it reads");
        let error = client.execute("INSERT INTO t VALUES ($1)", &[&1_i64]).await;
        assert_eq!(code(&error.expect_err("it only reads")), "25006");
        client.batch_execute("BEGIN READ WRITE; INSERT INTO t VALUES (1)").await.expect("a row");
        assert_eq!(shown(&client, READING).await, "off");
        client.batch_execute("ROLLBACK; RESET ALL").await.expect("as at the start");
        client.batch_execute("INSERT INTO t VALUES (1); DELETE FROM t").await.expect("it writes");
    }
    let mut config = bench.config();
    config.options("-c default_transaction_read_only=on");
    let client = connect(&config).await.expect("it connects");
    refuses(&client, "INSERT INTO t VALUES (1)", "25006").await;
    client.batch_execute("SET default_transaction_read_only = off").await.expect("it writes");
    client.batch_execute("INSERT INTO t VALUES (1); DISCARD ALL").await.expect("a row");
    refuses(&client, "INSERT INTO t VALUES (2)", "25006").await;
}

#[tokio::test]
async fn a_transaction_says_whether_it_only_reads() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    assert_eq!(shown(&client, READING).await, "off");
    for begin in ["BEGIN READ ONLY", "BEGIN; SET TRANSACTION READ ONLY"] {
        client.batch_execute(begin).await.expect(begin);
        assert_eq!(shown(&client, READING).await, "on");
        client.batch_execute("SET transaction_read_only = off").await.expect("nothing was read");
        client.batch_execute("SET transaction_read_only = on; SELECT * FROM t").await.expect("on");
        refuses(&client, "SET transaction_read_only = off", "25001").await;
        client.batch_execute("ROLLBACK").await.expect("its end");
        assert_eq!(shown(&client, READING).await, "off");
    }
    refuses(&client, "SET transaction_read_only = perhaps", "22023").await;
    // Outside of a transaction it changes nothing, and warns.
    client.batch_execute("SET transaction_read_only = on").await.expect("a warning");
    client.batch_execute("INSERT INTO t VALUES (1)").await.expect("a row");
    let bench = Bench::with(Limits { reads_only: true, ..Limits::default() });
    let client = bench.client().await;
    assert_eq!(shown(&client, READING).await, "on");
    refuses(&client, "SET default_transaction_read_only = off", "25006").await;
    refuses(&client, "BEGIN READ WRITE", "25006").await;
    client.batch_execute("RESET ALL; BEGIN").await.expect("it begins");
    refuses(&client, "SET TRANSACTION READ WRITE", "25006").await;
}

#[tokio::test]
async fn settings_come_back_to_those_of_the_start() {
    let statement_timeout = Some(Duration::from_secs(600));
    let bench = Bench::with(Limits { statement_timeout, ..Limits::default() });
    let mut config = bench.config();
    config.application_name("first").options("-c statement_timeout=5min");
    let client = connect(&config).await.expect("it connects");
    for reset in ["RESET ALL", "DISCARD ALL", "RESET application_name; RESET statement_timeout"] {
        let set = "SET application_name = 'other'; SET statement_timeout = '9min'";
        client.batch_execute(set).await.expect("set");
        client.batch_execute(reset).await.expect(reset);
        assert_eq!(shown(&client, "application_name").await, "first", "{reset}");
        assert_eq!(shown(&client, "statement_timeout").await, "300000", "{reset}");
    }
    let temporary =
        "CREATE TEMP TABLE \"a\"\"b\" (x UNIQUE); CREATE TEMP VIEW v AS SELECT * FROM \"a\"\"b\";
                     INSERT INTO \"a\"\"b\" VALUES (1)";
    client.batch_execute(temporary).await.expect("it is made");
    refuses(&client, "BEGIN; DISCARD ALL", "25001").await;
    client.batch_execute("ROLLBACK; SELECT * FROM v").await.expect("it is there");
    client.batch_execute("DISCARD ALL").await.expect("it is dropped");
    client.batch_execute(temporary).await.expect("it is made anew");
    for beyond in ["0", "'11min'"] {
        refuses(&client, &format!("SET statement_timeout = {beyond}"), "22023").await;
    }
    config.options("-c statement_timeout=0");
    let error = connect(&config).await.expect_err("beyond the limit");
    assert_eq!(code(&error), "22023");
    for part in ["PLANS", "TEMP", "SEQUENCES"] {
        refuses(&client, &format!("DISCARD {part}"), "0A000").await;
    }
}

#[tokio::test]
async fn what_a_pool_of_connections_resets_is_a_statement() {
    let bench = Bench::new();
    let client = bench.client().await;
    let reset = "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;";
    client.batch_execute(reset).await.expect("there is nothing to release");
    for call in ["pg_try_advisory_lock(1)", "pg_advisory_lock(1, 2)", "pg_advisory_unlock(1)"] {
        refuses(&client, &format!("SELECT {call}"), "0A000").await;
    }
    for not_there in [
        "LISTEN a",
        "SET LOCAL statement_timeout = 1",
        "DECLARE c CURSOR FOR SELECT 1",
        "FETCH 1 FROM c",
        "LOCK TABLE t",
        "TRUNCATE t",
        "SELECT 1 FOR UPDATE",
        "SELECT 1 FOR NO KEY UPDATE",
        "SELECT 1 = ANY('{1}') FOR SHARE",
    ] {
        refuses(&client, not_there, "0A000").await;
    }
}

#[tokio::test]
async fn a_simple_query_has_no_parameters() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    for (statement, name) in [
        ("SELECT $1", "$1"),
        ("SELECT $3::int8", "$3"),
        ("DELETE FROM t WHERE id <> ?", "$1"),
        ("SELECT :a", "$1"),
        ("SELECT @a", "$1"),
    ] {
        let error = client.batch_execute(statement).await.expect_err(statement);
        assert_eq!(code(&error), "42P02", "{statement}");
        let said = error.as_db_error().expect("an answer").message();
        assert_eq!(said, format!("there is no parameter {name}"), "{statement}");
    }
}

#[tokio::test]
async fn expressions_ignore_case_where_they_should() {
    let bench = Bench::new();
    let client = bench.client().await;
    for (expression, expected) in [
        ("'Ada' ~ 'a.A'", false),
        ("'Ada' ~* 'a.A'", true),
        ("'Ada' !~* 'a.A'", false),
        ("'Ada' ~* 'x' OR 'Ada' ~* ('^' || 'aD')", true),
        ("'Ada' OPERATOR(pg_catalog.~*) 'ADA'", true),
        ("coalesce('Ada' ~* NULL, true)", true),
    ] {
        let query = format!("SELECT ({expression})::bool");
        let row = client.query_one(&query, &[]).await.expect(expression);
        assert_eq!(row.get::<_, bool>(0), expected, "{expression}");
    }
    let row = client.query_one("SELECT ('Ada' ~* $1)::bool", &[&"A$"]).await.expect("a row");
    assert!(row.get::<_, bool>(0));
    for beyond in ["printf('%.*c', 1100000, 'a') ~ 'a'", "'a' ~ '((a{99}){99}){99}'"] {
        let error = client.query(&format!("SELECT {beyond}"), &[]).await.expect_err(beyond);
        let said = error.as_db_error().expect("an answer").message();
        assert!(said.contains("at most") || said.contains("size limit"), "{said}");
    }
    let each = "SELECT count(*) FROM (SELECT 'a' AS x UNION ALL SELECT 'B') WHERE 'ab' ~ x";
    let row = client.query_one(each, &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 1, "each row has its own pattern");
}

//! Ends of statements and servers before they are done.

use std::time::Duration;

use futures_util::StreamExt;
use lode::ReadTable;
use lode_server::Limits;
use tokio_postgres::NoTls;

use crate::support::{Bench, code, connect, within};

/// A query that runs for longer than any test.
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[tokio::test]
async fn a_statement_can_be_canceled_and_the_session_continues() {
    within(async {
        let bench = Bench::new();
        let client = bench.client().await;
        let token = client.cancel_token();
        let canceling = tokio::spawn(async move {
            // The statement may not have started yet.
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                token.cancel_query(NoTls).await.expect("it is asked");
            }
        });
        let error = client.query(ENDLESS, &[]).await.expect_err("it is canceled");
        canceling.abort();
        assert_eq!(code(&error), "57014");
        // A request that came late is for the next statement, as in PostgreSQL.
        let again = async || client.query_one("SELECT 1", &[]).await;
        let row = match again().await {
            Ok(row) => row,
            Err(_) => again().await.expect("a row"),
        };
        assert_eq!(row.get::<_, i64>(0), 1);
    })
    .await;
}

#[tokio::test]
async fn a_statement_ends_when_its_time_is_over() {
    within(async {
        let statement_timeout = Some(Duration::from_millis(50));
        let bench = Bench::with(Limits { statement_timeout, ..Limits::default() });
        let client = bench.client().await;
        let error = client.batch_execute(ENDLESS).await.expect_err("its time is over");
        assert_eq!(code(&error), "57014");
        client.batch_execute("SELECT 1").await.expect("the session continues");
    })
    .await;
}

#[tokio::test]
async fn preparing_takes_a_part_of_the_time() {
    within(async {
        let bench = Bench::new();
        let client = bench.client().await;
        client.batch_execute("SET statement_timeout = 1").await.expect("a limit");
        let text = format!("SELECT 1 IN ({}2)", "1, ".repeat(1_000_000));
        let error = client.prepare(&text).await.expect_err("its time is over");
        assert_eq!(code(&error), "57014", "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ends_interrupts_statements() {
    within(async {
        let mut bench = Bench::new();
        let (one, other) = (bench.client().await, bench.client().await);
        // The first rows say that the statement is running.
        let numbers = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n),
                   m(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM m)";
        let rows = "SELECT i, hex(zeroblob(100)) FROM n";
        let computing = format!(
            "{numbers} SELECT * FROM ({rows} LIMIT 1000) UNION ALL SELECT count(*), '' FROM m"
        );
        other.batch_execute("BEGIN").await.expect("a transaction");
        let none = std::iter::empty::<i64>;
        let computing = one.query_raw(&computing, none()).await.expect("it starts");
        let sending =
            other.query_raw(&format!("{numbers} {rows}"), none()).await.expect("it starts");
        let mut streams = [Box::pin(computing), Box::pin(sending)];
        for stream in &mut streams {
            stream.next().await.expect("a row").expect("a row");
        }
        bench.stopper().stop();
        for mut stream in streams {
            let error = loop {
                if let Err(error) = stream.next().await.expect("it has no end") {
                    break error;
                }
            };
            assert_eq!(code(&error), "57P01", "{error:?}");
        }
        bench.end();
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ends_undoes_what_was_not_committed() {
    within(async {
        let mut bench = Bench::new();
        let (idle, open) = (bench.client().await, bench.client().await);
        open.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
        open.batch_execute("INSERT INTO t VALUES (1)").await.expect("a row");
        open.batch_execute("BEGIN; INSERT INTO t VALUES (2)").await.expect("open");
        bench.stopper().stop();
        bench.end();
        assert!(!bench.socket().exists(), "the socket is gone");
        for client in [idle, open] {
            client.batch_execute("SELECT 1").await.expect_err("the server has ended");
        }
        connect(&bench.config()).await.expect_err("nobody listens");
        let table = bench.db().table("t").expect("the table");
        assert_eq!(table.len(), Ok(1));
    })
    .await;
}

#[tokio::test]
async fn beyond_the_limit_clients_are_told_so() {
    within(async {
        let bench = Bench::with(Limits { connections: 2, ..Limits::default() });
        let (one, _other) = (bench.client().await, bench.client().await);
        let error = connect(&bench.config()).await.expect_err("too many");
        assert_eq!(code(&error), "53300");
        drop(one);
        // Its place is free once its thread has seen the end.
        while connect(&bench.config()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_statement_whose_rows_cannot_be_sent_changes_nothing() {
    within(async {
        let bench = Bench::new();
        let client = bench.client().await;
        client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
        let insert = "INSERT INTO t VALUES (1), (2) RETURNING CASE WHEN id = 1 THEN 1 ELSE 'a' END";
        let error = client.query(insert, &[]).await.expect_err("a row has no such type");
        assert_eq!(code(&error), "42804", "{error:?}");
        let table = bench.db().table("t").expect("the table");
        assert_eq!(table.len(), Ok(0));
        client.query("INSERT INTO t VALUES (3) RETURNING id", &[]).await.expect("a row");
        assert_eq!(table.len(), Ok(1));
    })
    .await;
}

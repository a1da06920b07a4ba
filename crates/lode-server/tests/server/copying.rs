//! `COPY` in both directions.

use std::pin::pin;

use futures_util::{SinkExt, TryStreamExt};
use tokio_postgres::Client;

use crate::support::{Bench, code};

const TABLE: &str =
    "CREATE TABLE t (id I64 PRIMARY KEY, name VARTEXT(40), raw VARBYTES(9), at TIMESTAMP)";

async fn send(client: &Client, copy: &str, pieces: &[&str]) -> Result<u64, tokio_postgres::Error> {
    let sink = client.copy_in::<_, bytes::Bytes>(copy).await?;
    let mut sink = pin!(sink);
    for piece in pieces {
        sink.send(bytes::Bytes::copy_from_slice(piece.as_bytes())).await?;
    }
    sink.finish().await
}

async fn receive(client: &Client, copy: &str) -> String {
    let stream = client.copy_out(copy).await.expect("a stream");
    let pieces: Vec<bytes::Bytes> = stream.try_collect().await.expect("lines");
    String::from_utf8(pieces.concat()).expect("UTF-8")
}

#[tokio::test]
async fn what_is_copied_out_can_be_copied_in() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    let lines = [
        "1\ta\\tb\\\\\t\\\\x00ff\t2026-01-01 00:",
        "00:00+00\n2\t\\N\t\\N\t\\N\n3\t\t\\\\x\t\\N\n",
    ];
    assert_eq!(send(&client, "COPY t FROM STDIN", &lines).await.expect("rows"), 3);
    assert_eq!(receive(&client, "COPY t TO STDOUT").await, lines.concat());
    let csv = receive(&client, "COPY (SELECT * FROM t) TO STDOUT (FORMAT csv, HEADER)").await;
    let expected = "id,name,raw,at\n1,a\tb\\,\\x00ff,2026-01-01 00:00:00+00\n2,,,\n3,\"\",\\x,\n";
    assert_eq!(csv, expected);
    client.batch_execute("DELETE FROM t").await.expect("empty");
    let sent = send(&client, "COPY t FROM STDIN (FORMAT csv, HEADER)", &[&csv]).await;
    assert_eq!(sent.expect("rows"), 3);
    assert_eq!(receive(&client, "COPY t TO STDOUT").await, lines.concat());
    let named = send(&client, "COPY t (name, id) FROM STDIN CSV", &["\"x,\"\"y\",4\n"]).await;
    assert_eq!(named.expect("a row"), 1);
    let row = client.query_one("SELECT name FROM t WHERE id = 4", &[]).await.expect("a row");
    assert_eq!(row.get::<_, &str>(0), "x,\"y");
}

#[tokio::test]
async fn a_copy_that_fails_leaves_nothing_and_the_session_continues() {
    let bench = Bench::new();
    let mut client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    for (copy, lines, state) in [
        ("COPY t FROM STDIN", "1\ta\t\\N\t\\N\n2\n", "22P04"),
        ("COPY t FROM STDIN", "1\ta\t\\N\t\\N\n1\tb\t\\N\t\\N\n", "23505"),
        ("COPY t (id) FROM STDIN CSV", "1\nx\n", "22P02"),
        ("COPY t (id, at) FROM STDIN CSV", "1,2026-01-01\n2,soon\n", "22007"),
        ("COPY t (id) FROM STDIN CSV", "1\n\"2\n", "22P04"),
        ("COPY t (nonsense) FROM STDIN CSV", "", "42703"),
        ("COPY nowhere FROM STDIN CSV", "", "42P01"),
    ] {
        let error = send(&client, copy, &[lines]).await.expect_err(copy);
        assert_eq!(code(&error), state, "{copy}: {error:?}");
        let row = client.query_one("SELECT count(*) FROM t", &[]).await.expect("a row");
        assert_eq!(row.get::<_, i64>(0), 0, "{copy}");
    }
    let transaction = client.transaction().await.expect("open");
    transaction.execute("INSERT INTO t (id) VALUES (7)", &[]).await.expect("a row");
    {
        let sink = transaction.copy_in::<_, bytes::Bytes>("COPY t (id) FROM STDIN").await;
        let mut sink = pin!(sink.expect("it starts"));
        sink.send(bytes::Bytes::from_static(b"8\n9\n")).await.expect("it is sent");
        assert_eq!(sink.finish().await.expect("rows"), 2);
    }
    transaction.rollback().await.expect("undone");
    let row = client.query_one("SELECT count(*) FROM t", &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 0);
    // One that the client gives up.
    {
        let sink = client.copy_in::<_, bytes::Bytes>("COPY t (id) FROM STDIN").await;
        let mut sink = pin!(sink.expect("it starts"));
        sink.send(bytes::Bytes::from_static(b"8\n")).await.expect("it is sent");
    }
    let row = client.query_one("SELECT count(*) FROM t", &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 0);
}

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
async fn rows_are_copied_in_binary() {
    use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
    use tokio_postgres::types::Type;
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute(TABLE).await.expect("a table");
    let types = [Type::INT8, Type::TEXT, Type::BYTEA, Type::TIMESTAMPTZ];
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_micros(1_767_225_600_500_000);
    let sink = client.copy_in("COPY t FROM STDIN BINARY").await.expect("it starts");
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    for id in 0..1_000_i64 {
        let name = (id % 2 == 0).then_some("é");
        writer.as_mut().write(&[&id, &name, &vec![0_u8, 255], &at]).await.expect("a row");
    }
    assert_eq!(writer.finish().await.expect("all rows"), 1_000);
    let query = "COPY (SELECT * FROM t ORDER BY id) TO STDOUT (FORMAT binary)";
    let stream = client.copy_out(query).await.expect("it starts");
    let rows: Vec<_> =
        BinaryCopyOutStream::new(stream, &types).try_collect().await.expect("all rows");
    assert_eq!(rows.len(), 1_000);
    let row = &rows[7];
    assert_eq!((row.get::<i64>(0), row.get::<Option<&str>>(1)), (7, None));
    assert_eq!((row.get::<&[u8]>(2), row.get::<std::time::SystemTime>(3)), (&[0, 255][..], at));
    let header = "PGCOPY\n\u{fffd}";
    for (copy, pieces, state) in [
        ("COPY t FROM STDIN BINARY", &["1\ta\n"][..], "22P04"),
        ("COPY t FROM STDIN BINARY", &[header], "22P04"),
        ("COPY t FROM STDIN BINARY", &[], "22P04"),
        ("COPY t TO STDOUT (FORMAT binary, HEADER)", &[], "42601"),
    ] {
        let error = send(&client, copy, pieces).await.expect_err(copy);
        assert_eq!(code(&error), state, "{copy}: {error:?}");
    }
    let mut short = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x04\0\0\x07\xd0".to_vec();
    for (bytes, state) in [(short.clone(), "22P03"), (short.split_off(21), "22P04")] {
        let sink = client.copy_in("COPY t (id) FROM STDIN BINARY").await.expect("it starts");
        let mut sink = pin!(sink);
        sink.send(bytes::Bytes::from(bytes)).await.expect("it is sent");
        assert_eq!(code(&sink.finish().await.expect_err("no row")), state);
    }
    assert_eq!(receive(&client, "COPY (SELECT count(*) FROM t) TO STDOUT").await, "1000\n");
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

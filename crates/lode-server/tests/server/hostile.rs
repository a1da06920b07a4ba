//! Clients that do not keep to the protocol: the server stays, and answers others.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use lode_server::Limits;

use crate::support::{Bench, code, connect, within};

/// The first message of a client.
const STARTUP: &[u8] = b"\0\0\0\x12\0\x03\0\0user\0ada\0\0";

/// A generator of numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.next() as u8).collect()
    }
}

/// A connection whose reading ends after a while.
fn raw(bench: &Bench) -> UnixStream {
    let stream = UnixStream::connect(bench.socket()).expect("it connects");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    stream
}

/// Reads up to a message of a type.
fn read_until(stream: &mut UnixStream, kind: u8) -> Option<Vec<u8>> {
    loop {
        let mut front = [0; 5];
        stream.read_exact(&mut front).ok()?;
        let length = u32::from_be_bytes([front[1], front[2], front[3], front[4]]);
        let mut body = vec![0; length as usize - 4];
        stream.read_exact(&mut body).ok()?;
        if front[0] == kind {
            return Some(body);
        }
    }
}

/// A connection that has said who it is.
fn known(bench: &Bench) -> UnixStream {
    let mut stream = raw(bench);
    stream.write_all(STARTUP).expect("it is sent");
    read_until(&mut stream, b'Z').expect("it is let in");
    stream
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 4) as u32;
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

async fn answers(bench: &Bench) {
    let client = bench.client().await;
    let row = client.query_one("SELECT 7", &[]).await.expect("a row");
    assert_eq!(row.get::<_, i64>(0), 7);
}

#[tokio::test]
async fn bytes_at_random_end_only_their_own_connection() {
    let bench = Bench::new();
    let mut random = Random(7);
    for _ in 0..300 {
        let mut stream = raw(&bench);
        // The server may close it while it is written to.
        let _ = stream.write_all(&random.bytes(200));
        let mut stream = known(&bench);
        for _ in 0..random.below(6) {
            let kind = b"QPBDECHSdcfpX!\0"[random.below(15)];
            let body = match random.below(3) {
                0 => random.bytes(60),
                1 => b"s\0SELECT $1\0\0\x01\0\0\0\x14".to_vec(),
                _ => [b"\0s\0\0\0".to_vec(), random.bytes(20)].concat(),
            };
            let mut bytes = message(kind, &body);
            if random.below(4) == 0 {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }
            let _ = stream.write_all(&bytes);
        }
    }
    answers(&bench).await;
}

#[tokio::test]
async fn statements_at_random_have_answers() {
    let bench = Bench::new();
    let mut stream = known(&bench);
    let mut random = Random(11);
    let words = [
        "SELECT",
        "$1",
        "::",
        "int",
        "(",
        ")",
        ",",
        "FROM",
        "t",
        "'a'",
        "COLLATE",
        "pg_catalog",
        ".",
        "OPERATOR",
        "BEGIN",
        "COMMIT",
        "SET",
        "=",
        "INSERT",
        "INTO",
        "VALUES",
        "WITH",
        "AS",
        "CASE",
        "\"",
        "'",
        "--",
        "/*",
        "é",
        ";",
        "CAST",
        "IN",
        "BETWEEN",
        "AND",
        "RETURNING",
        "*",
        "COPY",
        "STDIN",
        "TO",
        "-",
        "1.5",
        "$",
        "CREATE",
        "TABLE",
        "timestamp",
        "[",
    ];
    for _ in 0..3_000 {
        let text: Vec<_> = (0..random.below(9)).map(|_| words[random.below(words.len())]).collect();
        let text = text.join(" ");
        stream.write_all(&message(b'Q', format!("{text}\0").as_bytes())).expect("it is sent");
        read_until(&mut stream, b'Z').unwrap_or_else(|| panic!("no answer to {text}"));
    }
}

#[tokio::test]
async fn deep_and_long_statements_are_refused_or_answered() {
    let bench = Bench::new();
    let mut stream = known(&bench);
    let deep = |open: &str, count: usize, close: &str| {
        format!("SELECT {}1{}", open.repeat(count), close.repeat(count))
    };
    for text in [
        deep("(", 100_000, ")"),
        deep("(SELECT ", 20_000, ")"),
        deep("1 + ", 100_000, ""),
        deep("-", 100_000, ""),
        deep("f(", 50_000, ")"),
        deep("CASE WHEN 1 THEN ", 50_000, " END"),
        deep("", 6_000, "::int"),
        deep("(", 1_000_000, ""),
        format!("{}1{}", "COPY (".repeat(20_000), ") TO STDOUT".repeat(20_000)),
        deep("1, ", 2_000_000, ""),
    ] {
        stream.write_all(&message(b'Q', format!("{text}\0").as_bytes())).expect("it is sent");
        let start = text.get(..30).unwrap_or(&text);
        read_until(&mut stream, b'Z').unwrap_or_else(|| panic!("no answer to {start}"));
    }
    answers(&bench).await;
}

#[tokio::test]
async fn a_length_beyond_the_limit_is_refused_before_memory_is_taken() {
    let bench = Bench::with(Limits { message_bytes: 1_000, ..Limits::default() });
    for length in [1_001_u32, 0x7fff_ffff, 0xffff_ffff, 3, 0] {
        let mut stream = known(&bench);
        let _ = stream.write_all(&[&b"Q"[..], &length.to_be_bytes()].concat());
        let body = read_until(&mut stream, b'E').expect("an error");
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(text.contains("08P01"), "{length}: {text}");
        assert!(read_until(&mut stream, b'Z').is_none(), "it is closed");
    }
    let mut stream = raw(&bench);
    let _ = stream.write_all(&[0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0]);
    assert!(read_until(&mut stream, b'E').is_some(), "an error");
    answers(&bench).await;
}

#[tokio::test]
async fn ten_thousand_connections_without_a_word_stop_nobody() {
    let bench = Bench::with(Limits { connections: 4, ..Limits::default() });
    let mut open = Vec::new();
    for _ in 0..10_000 {
        // Of those that are open, the server keeps the youngest.
        if open.len() == 400 {
            open.remove(0);
        }
        match UnixStream::connect(bench.socket()) {
            Ok(stream) => open.push(stream),
            Err(error) => panic!("{error}"),
        }
    }
    within(async {
        // Until the system's queue of connections has room.
        while connect(&bench.config()).await.is_err_and(|error| code(&error) == "none") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        answers(&bench).await;
    })
    .await;
    let threads = std::fs::read_dir("/proc/self/task").expect("threads").count();
    assert!(threads < 600, "{threads} threads");
}

#[tokio::test]
async fn a_client_that_reads_nothing_stops_nobody() {
    let mut bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    let endless = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n)
                   SELECT i, 'some text' FROM n\0";
    let mut deaf = known(&bench);
    deaf.write_all(&message(b'Q', endless.as_bytes())).expect("it is sent");
    let mut half = known(&bench);
    half.write_all(&[b'Q', 0, 0, 1]).expect("half a message");
    for id in 0..100_i64 {
        client.execute("INSERT INTO t VALUES ($1)", &[&id]).await.expect("a row");
    }
    // Neither does it keep the server from ending.
    bench.stopper().stop();
    bench.end();
}

#[tokio::test]
async fn a_copy_without_rows_ends_when_its_time_is_over() {
    let bench = Bench::new();
    let mut stream = known(&bench);
    let mut ask = |text: &str, answer: u8| {
        stream.write_all(&message(b'Q', format!("{text}\0").as_bytes())).expect("it is sent");
        read_until(&mut stream, answer).unwrap_or_else(|| panic!("no answer to {text}"))
    };
    ask("CREATE TABLE t (id I64 PRIMARY KEY)", b'Z');
    ask("SET statement_timeout = 50", b'Z');
    let error = ask("COPY t FROM STDIN", b'E');
    assert!(String::from_utf8_lossy(&error).contains("57014"));
    ask("SELECT 1", b'Z');
}

#[tokio::test]
async fn answers_are_sent_before_there_are_many() {
    let bench = Bench::new();
    let mut stream = known(&bench);
    stream.write_all(&message(b'P', b"s\0SELECT 1\0\0\0")).expect("it is sent");
    // No message asks for the answers.
    stream.write_all(&message(b'D', b"Ss\0").repeat(2_000)).expect("they are sent");
    assert!(read_until(&mut stream, b'T').is_some(), "an answer");
}

#[tokio::test]
async fn a_session_keeps_statements_and_portals_up_to_a_bound() {
    let bench = Bench::with(Limits { message_bytes: 1 << 20, ..Limits::default() });
    let mut client = bench.client().await;
    let text = "x".repeat(1_000_000);
    let mut kept = Vec::new();
    let error = loop {
        match client.prepare(&format!("SELECT '{text}'")).await {
            Ok(statement) => kept.push(statement),
            Err(error) => break error,
        }
        assert!(kept.len() < 30, "16 MiB are the bound");
    };
    assert_eq!(code(&error), "53400", "{error:?}");
    drop(kept);
    client.batch_execute("DEALLOCATE ALL").await.expect("they are closed");
    let transaction = client.transaction().await.expect("a transaction");
    let mut kept = Vec::new();
    let error = loop {
        match transaction.bind("SELECT $1", &[&text]).await {
            Ok(portal) => kept.push(portal),
            Err(error) => break error,
        }
        assert!(kept.len() < 30, "16 MiB are the bound");
    };
    assert_eq!(code(&error), "53400", "{error:?}");
    transaction.rollback().await.expect("its end");
    client.query("SELECT $1", &[&text]).await.expect("there is room");
}

#[tokio::test]
async fn names_of_statements_count_as_what_is_kept() {
    let bench = Bench::with(Limits { message_bytes: 1 << 20, ..Limits::default() });
    let mut stream = known(&bench);
    for number in 0..30 {
        let parse = format!("{}{number}\0SELECT 1\0\0\0", "x".repeat(1_000_000));
        stream.write_all(&message(b'P', parse.as_bytes())).expect("it is sent");
    }
    stream.write_all(&message(b'S', b"")).expect("it is sent");
    let error = read_until(&mut stream, b'E').expect("an error");
    assert!(String::from_utf8_lossy(&error).contains("53400"));
}

#[tokio::test]
async fn values_are_no_longer_than_messages_can_be() {
    let bench = Bench::new();
    let client = bench.client().await;
    for query in ["SELECT zeroblob(70000000)", "SELECT length(printf('%70000000s', ''))"] {
        let error = client.query(query, &[]).await.expect_err(query);
        assert_eq!(code(&error), "54000", "{query}: {error:?}");
    }
    client.query("SELECT length(zeroblob(60000000))", &[]).await.expect("a length");
}

#[tokio::test]
async fn an_error_is_sent_before_the_client_ends_its_messages() {
    let bench = Bench::new();
    let mut stream = known(&bench);
    // As asyncpg does, which waits for the answer before it sends Sync.
    stream.write_all(&message(b'P', b"\0SELECT * FROM nowhere\0\0\0")).expect("it is sent");
    let error = read_until(&mut stream, b'E').expect("an error");
    let is_said = error.windows(5).any(|code| code == b"42P01");
    assert!(is_said, "{}", String::from_utf8_lossy(&error));
    stream.write_all(&message(b'S', b"")).expect("it is sent");
    read_until(&mut stream, b'Z').expect("the next query can come");
}

#[tokio::test]
async fn a_query_that_is_not_utf8_has_an_answer_after_a_failed_message() {
    let bench = Bench::new();
    let mut stream = known(&bench);
    stream.write_all(&message(b'P', b"\0no statement\0\0\0")).expect("it is sent");
    stream.write_all(&message(b'Q', b"\xff\0")).expect("it is sent");
    read_until(&mut stream, b'Z').expect("the next query can come");
    stream.write_all(&message(b'P', b"\0SELECT 1\0\0\0")).expect("it is sent");
    stream.write_all(&message(b'H', b"")).expect("it is sent");
    read_until(&mut stream, b'1').expect("it is not skipped");
}

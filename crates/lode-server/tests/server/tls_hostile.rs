//! Clients that ask for TLS, and do not keep to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use lode_server::Limits;
use rustls::{ClientConfig, ClientConnection};

use crate::certificates::{Authority, HOST};
use crate::support::within;
use crate::tls::{STARTUP, WISH, asked, bench, client, encrypt, raw};

/// Returns the first message of a handshake.
fn hello(config: ClientConfig) -> Vec<u8> {
    let name = HOST.try_into().expect("a name");
    let mut connection = ClientConnection::new(config.into(), name).expect("a client");
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).expect("memory");
    bytes
}

/// Waits until the server has closed a connection.
fn is_closed(stream: &mut TcpStream) {
    let mut bytes = [0; 1_000];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => {
                let waits = matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                );
                assert!(!waits, "it stays open");
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_handshake_that_is_not_finished_is_closed_when_its_time_is_over() {
    let authority = Authority::new();
    let startup = Duration::from_millis(500);
    let bench = bench(&authority, Limits { startup, ..Limits::default() });
    let hello = hello(authority.client());
    for sent in [0, 1, 5, hello.len() / 2, hello.len()] {
        let mut stream = asked(&bench);
        stream.write_all(&hello[..sent]).expect("it is sent");
        is_closed(&mut stream);
    }
    // Nor does it help to send a byte now and then.
    let mut stream = asked(&bench);
    let mut slow = stream.try_clone().expect("a second handle");
    std::thread::spawn(move || {
        for byte in hello {
            std::thread::sleep(Duration::from_millis(100));
            if slow.write_all(&[byte]).is_err() {
                break;
            }
        }
    });
    is_closed(&mut stream);
    // The time limit still runs after the handshake.
    let mut stream = encrypt(asked(&bench), authority.client());
    stream.conn.complete_io(&mut stream.sock).expect("a handshake");
    is_closed(&mut stream.sock);
    client(&bench, &authority).await;
}

#[tokio::test]
async fn bytes_that_are_no_tls_end_only_their_own_connection() {
    let authority = Authority::new();
    let bench = bench(&authority, Limits::default());
    let hello = hello(authority.client());
    let mut wrong = vec![
        b"\x16\x03\x03\xff\xff".to_vec(),
        b"\x17\x03\x03\x40\x00".to_vec(),
        b"\x16\x03\x01\x00\x04\xff\xff\xff\xff".to_vec(),
        STARTUP.to_vec(),
        vec![0; 100_000],
        hello.repeat(2),
    ];
    for at in (0..hello.len()).step_by(7) {
        let mut bytes = hello.clone();
        bytes[at] ^= 0x55;
        wrong.push(bytes);
    }
    for bytes in wrong {
        let mut stream = asked(&bench);
        // The server may close it while it is written to.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        is_closed(&mut stream);
        let mut direct = raw(&bench);
        let _ = direct.write_all(&bytes);
        let _ = direct.shutdown(std::net::Shutdown::Write);
        is_closed(&mut direct);
    }
    client(&bench, &authority).await;
}

#[test]
fn what_comes_before_the_handshake_is_not_taken_for_encrypted() {
    let authority = Authority::new();
    let bench = bench(&authority, Limits::default());
    // Both in one piece, as somebody between client and server would send them.
    let mut stream = raw(&bench);
    stream.write_all(&[WISH, STARTUP].concat()).expect("it is sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
    // Nor is TLS put on TLS.
    let mut stream = encrypt(asked(&bench), authority.client());
    stream.write_all(WISH).expect("it is sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
}

#[tokio::test]
async fn thousands_of_half_handshakes_stop_nobody() {
    within(async {
        let authority = Authority::new();
        let bench = bench(&authority, Limits { connections: 4, ..Limits::default() });
        let hello = hello(authority.client());
        let half = [WISH, &hello[..hello.len() / 2]].map(<[u8]>::to_vec);
        let mut open: Vec<TcpStream> = Vec::new();
        for _ in 0..2_000 {
            // Of those that are open, the server keeps the youngest.
            if open.len() == 400 {
                open.remove(0);
            }
            let mut stream = raw(&bench);
            let _ = stream.write_all(&half[0]);
            let mut answer = [0];
            let _ = stream.read(&mut answer);
            let _ = stream.write_all(&half[1]);
            open.push(stream);
        }
        let client = client(&bench, &authority).await;
        client.batch_execute("SELECT 1").await.expect("it is let in");
        let threads = std::fs::read_dir("/proc/self/task").expect("threads").count();
        assert!(threads < 600, "{threads} threads");
    })
    .await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_through_tls_stops_nobody() {
    let authority = Authority::new();
    let mut bench = bench(&authority, Limits::default());
    let client = client(&bench, &authority).await;
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    let endless = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n)
                   SELECT i, 'some text' FROM n";
    let deaf = self::client(&bench, &authority).await;
    let rows = deaf.query_raw(endless, std::iter::empty::<i64>()).await.expect("it is sent");
    let mut half = encrypt(asked(&bench), authority.client());
    half.write_all(&STARTUP[..9]).expect("half a message");
    for id in 0..100_i64 {
        client.execute("INSERT INTO t VALUES ($1)", &[&id]).await.expect("a row");
    }
    // Neither does it keep the server from ending.
    bench.stopper().stop();
    bench.end();
    drop(rows);
}

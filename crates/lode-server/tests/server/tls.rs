//! Clients over TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, TryStreamExt};
use lode_server::Limits;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use tokio_postgres::config::{ChannelBinding, SslMode, SslNegotiation};
use tokio_postgres::{Client, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::certificates::{Authority, HOST};
use crate::support::{Bench, PATIENCE, code, within};

/// Starts a server with a certificate.
pub fn bench(authority: &Authority, limits: Limits) -> Bench {
    Bench::over_tcp("ada:secret\n", Some(authority.certificate()), limits)
}

/// Returns the settings of a client that encrypts, and knows its password.
fn config(bench: &Bench) -> Config {
    let mut config = Config::new();
    config.host(HOST).hostaddr(bench.tcp().ip()).port(bench.tcp().port());
    config.user("ada").password("secret").ssl_mode(SslMode::Require);
    config
}

async fn connect(config: &Config, tls: ClientConfig) -> Result<Client, Error> {
    let (client, connection) = config.connect(MakeRustlsConnect::new(tls)).await?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

pub async fn client(bench: &Bench, authority: &Authority) -> Client {
    connect(&config(bench), authority.client()).await.expect("it connects")
}

/// Returns a connection that has asked for TLS, and may.
pub fn asked(bench: &Bench) -> TcpStream {
    let mut stream = raw(bench);
    stream.write_all(WISH).expect("it is sent");
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"S");
    stream
}

/// Returns a connection whose reading ends after a while.
pub fn raw(bench: &Bench) -> TcpStream {
    let stream = TcpStream::connect(bench.tcp()).expect("it connects");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream
}

/// The wish for TLS, and the first message of a client.
pub const WISH: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
pub const STARTUP: &[u8] = b"\0\0\0\x12\0\x03\0\0user\0ada\0\0";

/// Puts TLS on a connection.
pub fn encrypt(
    stream: TcpStream,
    config: ClientConfig,
) -> StreamOwned<ClientConnection, TcpStream> {
    let name = HOST.try_into().expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    StreamOwned::new(connection, stream)
}

/// Reads all that the server says up to the end of the connection.
fn rest(mut stream: impl Read) -> String {
    let mut answer = Vec::new();
    // A connection that is cut off has an end as well.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn long_values_and_many_rows_pass_through_tls() {
    within(async {
        let authority = Authority::new();
        let bench = bench(&authority, Limits::default());
        let client = client(&bench, &authority).await;
        client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
        let copying = client.copy_in("COPY t FROM STDIN").await.expect("it starts");
        let mut copying = Box::pin(copying);
        let lines: String = (0..50_000).map(|id| format!("{id}\n")).collect();
        copying.send(bytes::Bytes::from(lines)).await.expect("they are sent");
        assert_eq!(copying.as_mut().finish().await.expect("its end"), 50_000);
        let rows = client.query("SELECT id FROM t ORDER BY id", &[]).await.expect("rows");
        let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        assert!(ids.iter().copied().eq(0..50_000));
        let text: String = (0..300_000).map(|at| char::from(b'a' + (at % 26) as u8)).collect();
        let row = client.query_one("SELECT $1", &[&text]).await.expect("a row");
        assert!(row.get::<_, &str>(0) == text, "it comes back");
    })
    .await;
}

#[tokio::test]
async fn who_trusts_another_authority_does_not_connect() {
    let authority = Authority::new();
    let bench = bench(&authority, Limits::default());
    let stranger = Authority::new().client();
    let error = connect(&config(&bench), stranger).await.expect_err("it is not trusted");
    assert_eq!(code(&error), "none", "{error:?}");
    client(&bench, &authority).await;
}

#[tokio::test]
async fn over_tls_only_who_knows_the_password_gets_in() {
    let authority = Authority::new();
    let bench = bench(&authority, Limits::default());
    let mut config = config(&bench);
    for binding in [ChannelBinding::Disable, ChannelBinding::Require] {
        config.channel_binding(binding).password("secret");
        connect(&config, authority.client()).await.expect("the right password");
        config.password("other");
        let error = connect(&config, authority.client()).await.expect_err("another password");
        assert_eq!(code(&error), "28P01", "{binding:?}");
    }
}

#[test]
fn a_proof_for_another_certificate_is_refused() {
    let authority = Authority::new();
    let bench = bench(&authority, Limits::default());
    // Its method promises to bind the proof, and the proof is not bound; and the other way round.
    for (method, data) in [
        ("SCRAM-SHA-256-PLUS", "n,,n=,r=abc"),
        ("SCRAM-SHA-256", "p=tls-server-end-point,,n=,r=abc"),
        ("SCRAM-SHA-256", "y,,n=,r=abc"),
    ] {
        let mut stream = encrypt(asked(&bench), authority.client());
        stream.write_all(STARTUP).expect("it is sent");
        let length = data.len() as u32;
        let body = [method.as_bytes(), b"\0", &length.to_be_bytes(), data.as_bytes()].concat();
        let front = [&b"p"[..], &(body.len() as u32 + 4).to_be_bytes()].concat();
        stream.write_all(&[front, body].concat()).expect("it is sent");
        let answer = rest(stream);
        assert!(answer.contains("SCRAM-SHA-256-PLUS"), "{answer}");
        assert!(answer.contains("28P01"), "{method} {data}: {answer}");
    }
}

#[test]
fn a_client_without_tls_is_refused_before_its_password() {
    let authority = Authority::new();
    let bench = bench(&authority, Limits::default());
    let mut stream = raw(&bench);
    stream.write_all(STARTUP).expect("it is sent");
    let answer = rest(stream);
    assert!(answer.starts_with('E'), "{answer}");
    assert!(answer.contains("FATAL") && answer.contains("28000"), "{answer}");
}

#[tokio::test]
async fn without_a_certificate_there_is_no_tls() {
    let bench = Bench::with_passwords("ada:secret\n");
    let authority = Authority::new();
    let mut config = config(&bench);
    let error = connect(&config, authority.client()).await.expect_err("it is required");
    assert_eq!(code(&error), "none", "{error:?}");
    config.ssl_mode(SslMode::Prefer);
    connect(&config, authority.client()).await.expect("it is not encrypted");
    let mut stream = raw(&bench);
    stream.write_all(b"\x16\x03\x01\0\x05hello").expect("it is sent");
    assert!(rest(stream).contains("no certificate"));
}

#[tokio::test]
async fn a_client_may_start_with_tls_if_it_names_the_protocol() {
    let authority = Authority::new();
    let bench = bench(&authority, Limits::default());
    let mut config = config(&bench);
    config.ssl_negotiation(SslNegotiation::Direct);
    let naming = |protocol: &[u8]| {
        let mut tls = authority.client();
        tls.alpn_protocols = vec![protocol.into()];
        tls
    };
    let client = connect(&config, naming(b"postgresql")).await.expect("it connects");
    client.batch_execute("SELECT 1").await.expect("it is let in");
    let error = connect(&config, naming(b"http/1.1")).await.expect_err("another protocol");
    assert_eq!(code(&error), "none", "{error:?}");
    let error = connect(&config, authority.client()).await.expect_err("no protocol");
    assert_eq!(code(&error), "08P01", "{error:?}");
}

#[tokio::test]
async fn a_statement_is_canceled_with_tls_and_without() {
    within(async {
        let authority = Authority::new();
        let bench = bench(&authority, Limits::default());
        let mut config = config(&bench);
        config.ssl_mode(SslMode::Prefer);
        let client = connect(&config, authority.client()).await.expect("it connects");
        let endless = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n)
                       SELECT count(*) FROM n";
        for is_encrypted in [true, false] {
            // libpq asks without TLS until PostgreSQL 16.
            let token = client.cancel_token();
            let tls = MakeRustlsConnect::new(authority.client());
            let canceling = tokio::spawn(async move {
                // The statement may not have started yet.
                loop {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    let asked = if is_encrypted {
                        token.cancel_query(tls.clone()).await
                    } else {
                        token.cancel_query(NoTls).await
                    };
                    asked.expect("it is asked");
                }
            });
            let error = client.query(endless, &[]).await.expect_err("it is canceled");
            canceling.abort();
            assert_eq!(code(&error), "57014", "{error:?}");
            // A request that came late is for the next statement.
            let _ = client.batch_execute("SELECT 1").await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ends_says_so_through_tls() {
    within(async {
        let authority = Authority::new();
        let mut bench = bench(&authority, Limits::default());
        let client = client(&bench, &authority).await;
        let numbers = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n)
                       SELECT i FROM n";
        let rows = client.query_raw(numbers, std::iter::empty::<i64>()).await.expect("rows");
        let mut rows = Box::pin(rows);
        rows.try_next().await.expect("a row").expect("a row");
        bench.stopper().stop();
        let error = loop {
            if let Err(error) = rows.try_next().await {
                break error;
            }
        };
        assert_eq!(code(&error), "57P01", "{error:?}");
        bench.end();
    })
    .await;
}

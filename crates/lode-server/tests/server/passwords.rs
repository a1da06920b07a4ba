//! Who gets in over TCP.

use std::io::{Read, Write};
use std::net::TcpStream;

use lode_server::{Access, Address, Limits, ServeError, Server};

use crate::support::{Bench, PATIENCE, code, connect};

#[tokio::test]
async fn over_tcp_only_who_knows_the_password_gets_in() {
    let bench = Bench::with_passwords("ada:s3cret pass\nbo:other\n");
    let mut config = bench.config();
    config.password("s3cret pass");
    let client = connect(&config).await.expect("the right password");
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    config.password("other");
    let error = connect(&config).await.expect_err("the password of another user");
    assert_eq!(code(&error), "28P01");
    config.user("nobody");
    let error = connect(&config).await.expect_err("no such user");
    assert_eq!(code(&error), "28P01");
}

/// The verifier that PostgreSQL keeps of the password `s3cret pass`.
const KEPT: &str = "SCRAM-SHA-256$5000:AQIDBAUGBwgJCgsMDQ4PEA==$\
                    KhGPikO3KEPlYIRIMZwgBUALPiFsU1H84sDgP/FNIlU=:\
                    zteSXlMvaCniE64Ys6pdJu388wK0Ys8K1DXtOXkTDmU=";

#[tokio::test]
async fn a_stored_verifier_is_as_good_as_the_password() {
    let bench = Bench::with_passwords(&format!("ada:{KEPT}\n"));
    let mut config = bench.config();
    config.password("s3cret pass");
    let client = connect(&config).await.expect("the right password");
    client.batch_execute("SELECT 1").await.expect("it is let in");
    config.password("s3cret");
    let error = connect(&config).await.expect_err("another password");
    assert_eq!(code(&error), "28P01");
}

#[test]
fn a_query_in_place_of_the_password_is_not_carried_out() {
    let bench = Bench::with_passwords("ada:secret\n");
    let mut stream = TcpStream::connect(bench.tcp()).expect("it connects");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream.write_all(b"\0\0\0\x12\0\x03\0\0user\0ada\0\0").expect("it is sent");
    let query = b"Q\0\0\0\x2dCREATE TABLE t (id I64 PRIMARY KEY)     \0";
    stream.write_all(query).expect("it is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer, and the end");
    assert_eq!(answer[0], b'R', "a password is asked for");
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("08P01") && text.contains("FATAL"), "{text}");
    assert!(bench.db().table_names().is_empty());
}

#[test]
fn without_passwords_there_is_no_tcp() {
    let db = lode::Database::in_memory().expect("a database");
    let address = Address::Tcp(([127, 0, 0, 1], 0).into());
    let refused = Server::listen(&db, &address, Access::default(), Limits::default());
    assert!(matches!(refused, Err(ServeError::NoPassword { .. })));
}

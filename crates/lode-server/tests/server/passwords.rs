//! Who gets in over TCP.

use lode_server::{Address, Limits, ServeError, Server};

use crate::support::{Bench, code, connect};

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

#[test]
fn without_passwords_there_is_no_tcp() {
    let db = lode::Database::in_memory().expect("a database");
    let address = Address::Tcp(([127, 0, 0, 1], 0).into());
    let refused = Server::listen(&db, &address, None, Limits::default());
    assert!(matches!(refused, Err(ServeError::NoPassword { .. })));
}

//! A server that is killed: what it has acknowledged is there.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lode::{Database, ReadTable, Value};
use lode_server::{Access, Address, Limits, Server};
use tokio_postgres::{Client, Config};

use crate::support::{SOCKET, connect, within};

/// The variable that makes the test below a server.
const DIRECTORY: &str = "LODE_SERVER_TEST_DIRECTORY";
const ROUNDS: u64 = 6;
const CLIENTS: u64 = 4;
const ACCOUNTS: i64 = 10;

/// A process that is killed when this is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_serves_if_it_is_told_so() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let directory = Path::new(&directory);
    let db = Database::open(directory.join("db")).expect("a database");
    let address = Address::Unix(directory.join(SOCKET));
    let server =
        Server::listen(&db, &address, Access::default(), Limits::default()).expect("it listens");
    server.run().expect("it serves");
}

fn start(directory: &Path) -> Process {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "kills::a_process_serves_if_it_is_told_so"]);
    command.env(DIRECTORY, directory).stdout(Stdio::null()).stderr(Stdio::null());
    Process(command.spawn().expect("it starts"))
}

async fn client(directory: &Path) -> Client {
    let mut config = Config::new();
    config.host_path(directory).user("ada");
    loop {
        if let Ok(client) = connect(&config).await {
            return client;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Inserts numbers and moves money until the server is gone. Returns the last number that was
/// acknowledged.
async fn write(client: Client, first: i64, acknowledged: Arc<AtomicU64>) -> i64 {
    let mut last = first;
    loop {
        let number = last + 1;
        if client.execute("INSERT INTO number VALUES ($1)", &[&number]).await.is_err() {
            return last;
        }
        last = number;
        acknowledged.fetch_add(1, Ordering::SeqCst);
        let (from, to) = (number % ACCOUNTS, (number * 7 + 1) % ACCOUNTS);
        // A conflict or the end of the server leaves all of it undone.
        let _ = client
            .batch_execute(&format!(
                "BEGIN; UPDATE account SET money = money - 1 WHERE id = {from};
                 UPDATE account SET money = money + 1 WHERE id = {to}; COMMIT"
            ))
            .await;
        let _ = client.batch_execute("ROLLBACK").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_kill_all_that_was_acknowledged_is_there() {
    within(async {
        let folder = tempfile::tempdir().expect("a directory");
        let directory = folder.path();
        let mut lasts: Vec<i64> = (0..CLIENTS as i64).map(|client| client * 1_000_000).collect();
        for round in 0..ROUNDS {
            let mut process = start(directory);
            let first = client(directory).await;
            if round == 0 {
                for statement in [
                    "CREATE TABLE number (id I64 PRIMARY KEY)",
                    "CREATE TABLE account (id I64 PRIMARY KEY, money I64 NOT NULL)",
                    "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 9)
                 INSERT INTO account SELECT i, 0 FROM n",
                ] {
                    first.batch_execute(statement).await.expect(statement);
                }
            }
            let acknowledged = Arc::new(AtomicU64::new(0));
            let mut tasks = Vec::new();
            for last in &lasts {
                let client = client(directory).await;
                tasks.push(tokio::spawn(write(client, *last, Arc::clone(&acknowledged))));
            }
            while acknowledged.load(Ordering::SeqCst) < 20 + 17 * round {
                tokio::task::yield_now().await;
            }
            process.0.kill().expect("it is killed");
            process.0.wait().expect("it ends");
            for (last, task) in lasts.iter_mut().zip(tasks) {
                *last = task.await.expect("no panic");
            }
            check(directory, &mut lasts);
        }
    })
    .await;
}

/// Opens the database, and checks what clients were told. What was done and not acknowledged may
/// be there, too.
fn check(directory: &Path, lasts: &mut [i64]) {
    let db = Database::open(directory.join("db")).expect("it opens");
    let numbers = db.table("number").expect("a table");
    for (client, last) in lasts.iter_mut().enumerate() {
        for number in client as i64 * 1_000_000 + 1..=*last {
            let found = numbers.get(number).expect("it is read");
            assert!(found.is_some(), "{number} was acknowledged");
        }
        if numbers.get(*last + 1).expect("it is read").is_some() {
            *last += 1;
        }
    }
    let mut sum = 0;
    let accounts = db.table("account").expect("a table");
    for id in 0..ACCOUNTS {
        let row = accounts.get(id).expect("it is read").expect("an account");
        match row.get("money") {
            Some(Value::Signed(money)) => sum += money,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(sum, 0, "a transaction is there whole or not at all");
    db.close().expect("it closes");
}

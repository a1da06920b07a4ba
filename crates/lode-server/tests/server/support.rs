//! A server in this process, and clients of it.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lode::{Database, Durability, Options};
use lode_server::{Access, Address, Certificate, Limits, Passwords, ServeError, Server, Stopper};
use tokio_postgres::{Client, Config, NoTls};

/// The time after which a test that waits has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Does the work of a test, which must end.
pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it ends")
}

/// A database in a directory of its own, with a server. Dropped, the server ends.
pub struct Bench {
    folder: tempfile::TempDir,
    db: Option<Database>,
    address: Option<Address>,
    stopper: Stopper,
    running: Option<JoinHandle<Result<(), ServeError>>>,
}

/// The name that clients of PostgreSQL look for.
pub const SOCKET: &str = ".s.PGSQL.5432";

impl Bench {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let options = Options::new().durability(Durability::Process).memory_bytes(64 << 20);
        let db = options.open(folder.path().join("db")).expect("a database");
        let address = Address::Unix(folder.path().join(SOCKET));
        Self::on(folder, db, &address, Access::default(), limits)
    }

    /// Starts one at TCP, for users with passwords.
    pub fn with_passwords(text: &str) -> Self {
        Self::over_tcp(text, None, Limits::default())
    }

    /// Starts one at TCP, with passwords and perhaps a certificate.
    pub fn over_tcp(text: &str, certificate: Option<Certificate>, limits: Limits) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("passwords");
        std::fs::write(&path, text).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, mode).expect("a mode");
        let passwords = Some(Passwords::read(&path).expect("passwords"));
        let db = Options::new().memory_bytes(64 << 20).in_memory().expect("a database");
        let address = Address::Tcp(([127, 0, 0, 1], 0).into());
        Self::on(folder, db, &address, Access { passwords, certificate }, limits)
    }

    fn on(
        folder: tempfile::TempDir,
        db: Database,
        address: &Address,
        access: Access,
        limits: Limits,
    ) -> Self {
        let server = Server::listen(&db, address, access, limits).expect("it listens");
        let address = Some(server.address().expect("an address"));
        let stopper = server.stopper();
        let running = Some(std::thread::spawn(|| server.run()));
        Self { folder, db: Some(db), address, stopper, running }
    }

    pub fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    /// The address of one that listens at TCP.
    pub fn tcp(&self) -> SocketAddr {
        match self.address.as_ref().expect("an address") {
            Address::Tcp(address) => *address,
            Address::Unix(path) => panic!("it listens at {}", path.display()),
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    /// The settings of a client.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        match self.address.as_ref().expect("an address") {
            Address::Unix(_) => config.host_path(self.folder.path()),
            Address::Tcp(address) => config.host(address.ip().to_string()).port(address.port()),
        };
        config.user("ada");
        config
    }

    pub async fn client(&self) -> Client {
        connect(&self.config()).await.expect("it connects")
    }

    pub fn stopper(&self) -> &Stopper {
        &self.stopper
    }

    /// Waits until the server has ended, which is asked to.
    pub fn end(&mut self) {
        if let Some(ended) = self.wait() {
            ended.expect("no panic").expect("it ends well");
        }
    }

    /// Waits for the end of the server; for a server that does not end, `PATIENCE`.
    fn wait(&mut self) -> Option<std::thread::Result<Result<(), ServeError>>> {
        let running = self.running.take()?;
        let start = Instant::now();
        while !running.is_finished() {
            assert!(start.elapsed() < PATIENCE || std::thread::panicking(), "the server ends");
            if start.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Some(running.join())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stopper.stop();
        let _ = self.wait();
    }
}

pub async fn connect(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// The SQLSTATE of an error.
pub fn code(error: &tokio_postgres::Error) -> &str {
    error.code().map_or("none", |code| code.code())
}

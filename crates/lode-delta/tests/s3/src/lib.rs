//! A server of the S3 protocol over a directory, on the loopback interface, that knows one pair of
//! credentials and fails on demand.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use s3s::Body;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;

/// The credentials that the server knows.
pub const KEY: &str = "AKIALODE";
pub const SECRET: &str = "lode-secret";

/// An action before an object is written.
type Hook = Box<dyn FnOnce() + Send>;

/// The faults of the server.
#[derive(Default)]
pub struct Faults {
    /// After this many objects were written, writing fails.
    healthy_puts: AtomicU64,
    /// The hook, and how many objects are written before it is called.
    before_put: Mutex<Option<(u64, Hook)>>,
}

impl Faults {
    /// From now on, `count` objects can be written; then each request to write one returns 500.
    pub fn fail_after(&self, count: u64) {
        self.healthy_puts.store(count, Ordering::SeqCst);
    }

    /// Calls `hook` once, before the object after the next `count` ones is written.
    pub fn before_put(&self, count: u64, hook: impl FnOnce() + Send + 'static) {
        *self.hook() = Some((count, Box::new(hook)));
    }

    fn hook(&self) -> MutexGuard<'_, Option<(u64, Hook)>> {
        self.before_put.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hook, if its turn has come.
    fn due(&self) -> Option<Hook> {
        let mut hook = self.hook();
        if let Some((left @ 1.., _)) = &mut *hook {
            *left -= 1;
            return None;
        }
        hook.take().map(|(_, hook)| hook)
    }

    fn is_put_healthy(&self) -> bool {
        if let Some(hook) = self.due() {
            hook();
        }
        let one_less = |left: u64| left.checked_sub(1);
        self.healthy_puts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
    }
}

/// A server, which ends with its process.
pub struct Server {
    pub port: u16,
    pub faults: Arc<Faults>,
}

/// Starts a server over the directories in `root`, which are its buckets.
pub fn start(root: &Path) -> io::Result<Server> {
    let files = FileSystem::new(root).map_err(|error| io::Error::other(format!("{error:?}")))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
    let service = builder.build();
    let faults = Arc::new(Faults::default());
    faults.fail_after(u64::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let port = listener.local_addr()?.port();
    let store = Store { service, faults: Arc::clone(&faults), root: root.to_path_buf() };
    thread::spawn(move || runtime.block_on(serve(&listener, &store)));
    Ok(Server { port, faults })
}

/// The service that answers requests.
#[derive(Clone)]
struct Store {
    service: S3Service,
    faults: Arc<Faults>,
    root: PathBuf,
}

async fn serve(listener: &TcpListener, store: &Store) {
    loop {
        let Ok((socket, _)) = listener.accept().await else { return };
        let store = store.clone();
        let answer = service_fn(move |request| store.clone().answer(request));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
        tokio::spawn(async move {
            // A client that goes away is no concern of the server.
            let _ = connection.await;
        });
    }
}

impl Store {
    async fn answer(self, request: Request<Incoming>) -> Result<s3s::HttpResponse, s3s::HttpError> {
        if request.method() == Method::PUT && !self.faults.is_put_healthy() {
            return Ok(status(StatusCode::INTERNAL_SERVER_ERROR));
        }
        if request.method() == Method::HEAD && self.is_folder(request.uri().path()) {
            return Ok(status(StatusCode::NOT_FOUND));
        }
        self.service.call(request.map(Body::from)).await
    }

    /// Returns true if a name is that of a folder below a bucket: no such object exists, which
    /// s3s-fs takes for a fault of its own.
    fn is_folder(&self, path: &str) -> bool {
        let name = path.trim_matches('/');
        name.contains('/') && !name.contains("..") && self.root.join(name).is_dir()
    }
}

fn status(status: StatusCode) -> s3s::HttpResponse {
    let mut response = s3s::HttpResponse::new(Body::empty());
    *response.status_mut() = status;
    response
}

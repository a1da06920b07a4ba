//! A server of the S3 protocol over a directory, on the loopback interface, that knows one pair of
//! credentials and fails on demand.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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

/// What is done before an object is written.
type Hook = Box<dyn FnMut() + Send>;

/// How the server fails.
#[derive(Default)]
pub struct Faults {
    /// After this many objects were written, writing fails.
    healthy_puts: AtomicU64,
    before_put: Mutex<Option<Hook>>,
}

impl Faults {
    /// From now on, `count` objects can be written; then each request to write one returns 500.
    pub fn fail_after(&self, count: u64) {
        self.healthy_puts.store(count, Ordering::SeqCst);
    }

    /// Calls `hook` once, before the next object is written.
    pub fn before_next_put(&self, hook: impl FnMut() + Send + 'static) {
        *self.before_put.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }

    fn is_put_healthy(&self) -> bool {
        let hook = self.before_put.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut hook) = hook {
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
    let known = Arc::clone(&faults);
    thread::spawn(move || runtime.block_on(serve(&listener, &service, &known)));
    Ok(Server { port, faults })
}

async fn serve(listener: &TcpListener, service: &S3Service, faults: &Arc<Faults>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else { return };
        let (service, faults) = (service.clone(), Arc::clone(faults));
        let answer = service_fn(move |request| answer(service.clone(), faults.clone(), request));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
        tokio::spawn(async move {
            // A client that goes away is no concern of the server.
            let _ = connection.await;
        });
    }
}

async fn answer(
    service: S3Service,
    faults: Arc<Faults>,
    request: Request<Incoming>,
) -> Result<s3s::HttpResponse, s3s::HttpError> {
    if request.method() == Method::PUT && !faults.is_put_healthy() {
        let mut failed = s3s::HttpResponse::new(Body::empty());
        *failed.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        return Ok(failed);
    }
    service.call(request.map(Body::from)).await
}

//! A server of the S3 protocol over a directory, on the loopback interface, in a separate process:
//! the object store of `tonbo-s3` if no other is named. Requests take the way that they take to any
//! S3 store, except for the distance.

use std::io::{self, BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use assay_driver::error::{Error, Result};
use hyper::body::Incoming;
use hyper::http::uri::{InvalidUriParts, PathAndQuery};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use s3s::Body;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;

/// The hidden subcommand of `assay` that is the server's process.
const SUBCOMMAND: &str = "s3-server";

/// A running server.
pub(super) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts a server over `root`, with one bucket.
    pub(super) fn start(root: &Path, bucket: &str) -> Result<Self> {
        let said = |e: io::Error| Error::engine("start the S3 server", e);
        std::fs::create_dir_all(root.join(bucket)).map_err(said)?;
        let mut child = Command::new("/proc/self/exe")
            .arg(SUBCOMMAND)
            .arg(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(said)?;
        let mut line = String::new();
        let heard = match child.stdout.take() {
            Some(stdout) => BufReader::new(stdout).read_line(&mut line),
            None => Ok(0),
        };
        let mut server = Self { child, port: 0 };
        heard.map_err(said)?;
        server.port = line.trim().parse().map_err(|_| {
            Error::engine("start the S3 server", "it ended before it named its port")
        })?;
        Ok(server)
    }

    /// Returns the address on which the server listens.
    pub(super) fn endpoint(&self) -> String {
        format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Returns the id of the server's process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server.
    pub(super) fn stop(mut self) -> Result<()> {
        self.end().map_err(|e| Error::engine("end the S3 server", e))
    }

    fn end(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been ended already.
        let _ = self.end();
    }
}

/// Runs as the server's process: prints the port that it was given and serves until it is killed,
/// at the latest with its parent.
pub fn serve(root: &Path) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    let files = FileSystem::new(root).map_err(|e| io::Error::other(format!("{e:?}")))?;
    let service = S3ServiceBuilder::new(files).build();
    // One thread: its work is small next to the cost of waking another.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut stdout = io::stdout();
        writeln!(stdout, "{}", listener.local_addr()?.port())?;
        stdout.flush()?;
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let service = service.clone();
            let answer = service_fn(move |request| answer(service.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
            tokio::spawn(async move {
                // A client that goes away is no concern of the server.
                let _ = connection.await;
            });
        }
    })
}

async fn answer(
    service: S3Service,
    mut request: Request<Incoming>,
) -> std::result::Result<s3s::HttpResponse, s3s::HttpError> {
    if let Ok(uri) = with_single_slashes(request.uri()) {
        *request.uri_mut() = uri;
    }
    service.call(request.map(Body::from)).await
}

/// Removes a slash: Tonbo 0.3 puts two between the bucket and the name of an object if an endpoint
/// is given, except when it deletes one. To us they are the same object.
fn with_single_slashes(uri: &Uri) -> std::result::Result<Uri, InvalidUriParts> {
    let mut path = uri.path().to_string();
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    if let Some(query) = uri.query() {
        path = format!("{path}?{query}");
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = path.parse::<PathAndQuery>().ok().or(parts.path_and_query);
    Uri::from_parts(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_one_name() {
        let uri: Uri = "/assay//l0/a.parquet?partNumber=1".parse().expect("a URI");
        let single = with_single_slashes(&uri).expect("a URI");
        assert_eq!(single.to_string(), "/assay/l0/a.parquet?partNumber=1");
    }
}

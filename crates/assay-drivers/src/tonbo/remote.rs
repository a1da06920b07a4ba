//! The S3 store that holds the tables of `tonbo-s3`.

use std::fmt::Display;
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::{Endpoint, OpenSpec};
use futures_util::StreamExt;
use tonbo::DbOption;
use tonbo::option::{AwsCredential, ExceedsMaxLevel, FsOptions, Path};

use super::background::one_line;
use super::s3_server::Server;

/// The longest that the store may take to answer when it is opened.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);

/// The longest that one operation may take. Tonbo's HTTP client waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tonbo's levels.
const LEVELS: usize = 7;

/// The bucket if none is named.
const BUCKET: &str = "assay";

/// An S3 store and its connection settings.
pub(super) struct Remote {
    endpoint: String,
    bucket: String,
    files: FsOptions,
    /// The server that was started because no endpoint was named.
    server: Option<Server>,
}

impl Remote {
    /// Opens the store on the server that the endpoint names, or starts one over its directory.
    pub(super) fn new(spec: &OpenSpec) -> Result<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (endpoint, bucket, server) = match &spec.endpoint {
            Endpoint::Server { url, part, .. } => (url.clone(), part.clone(), None),
            Endpoint::Directory(dir) => {
                let server = Server::start(&dir.join("s3"), BUCKET)?;
                (server.endpoint(), BUCKET.into(), Some(server))
            }
            Endpoint::Memory => return Err(Error::unsupported("an S3 store in memory")),
        };
        // Our own server asks for no credentials, so requests to it are not signed.
        let key = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"));
        let credential = key.filter(|_| server.is_none()).map(|(key_id, secret_key)| {
            AwsCredential { key_id, secret_key, token: variable("AWS_SESSION_TOKEN") }
        });
        let files = FsOptions::S3 {
            bucket: bucket.clone(),
            credential,
            endpoint: Some(endpoint.clone()),
            region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")),
            sign_payload: None,
            checksum: None,
        };
        Ok(Self { endpoint, bucket, files, server })
    }

    /// Asks the store for a listing, so that an unusable store is known before any work.
    pub(super) async fn check(&self) -> Result<()> {
        let said =
            |e: &dyn Display| Error::engine("open", format!("{}: {}", self.endpoint, one_line(e)));
        let files = self.files.clone().parse().map_err(|e| said(&e))?;
        let path = level_path(0);
        let listing = async {
            let mut objects = files.list(&path).await?;
            objects.next().await.transpose()
        };
        match tokio::time::timeout(OPEN_PATIENCE, listing).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(said(&causes(&error))),
            Err(_) => Err(said(&format!("no answer within {} s", OPEN_PATIENCE.as_secs()))),
        }
    }

    /// Puts the tables of every level into the store.
    pub(super) fn place_tables(
        &self,
        options: DbOption,
    ) -> std::result::Result<DbOption, ExceedsMaxLevel> {
        (0..LEVELS).try_fold(options, |options, level| {
            options.level_path(level, level_path(level), self.files.clone())
        })
    }

    /// Waits for work that may wait for the server.
    pub(super) async fn patiently<T>(
        &self,
        doing: &str,
        work: impl Future<Output = T>,
    ) -> Result<T> {
        tokio::time::timeout(PATIENCE, work).await.map_err(|_| {
            let waited = PATIENCE.as_secs();
            Error::engine(doing, format!("{}: no answer within {waited} s", self.endpoint))
        })
    }

    /// Returns the words of the settings about the store.
    pub(super) fn setting(&self) -> String {
        match &self.server {
            Some(_) => format!("tables of all levels in bucket {}, own server", self.bucket),
            None => format!("tables of all levels in {}/{}", self.endpoint, self.bucket),
        }
    }

    /// Returns the process of the server, if it is ours.
    pub(super) fn server(&self) -> Option<u32> {
        self.server.as_ref().map(Server::process)
    }

    /// Ends the server, if it is ours.
    pub(super) fn close(self) -> Result<()> {
        self.server.map_or(Ok(()), Server::stop)
    }
}

/// Returns the path of a level's tables in the bucket.
fn level_path(level: usize) -> Path {
    Path::from(format!("l{level}"))
}

/// Returns an error with all its causes: the outermost often names only the attempt.
fn causes(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !said.contains(&next) {
            said = format!("{said}: {next}");
        }
        cause = error.source();
    }
    said
}

//! The location of a Delta table: a folder, or a prefix in a bucket.

use std::fs;
use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;

use crate::error::{Error, Result};

/// The location of a Delta table.
///
/// A folder, by its path; or `s3://BUCKET/PREFIX`, whose endpoint and credentials come from the
/// environment, as other clients of S3 have them: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
/// `AWS_REGION` (us-east-1 if it is not there), and `AWS_ENDPOINT_URL` for stores that are not
/// Amazon's.
#[derive(Clone, Debug)]
pub struct Location {
    place: Place,
    shown: Box<str>,
}

#[derive(Clone, Debug)]
enum Place {
    Folder(PathBuf),
    #[cfg(feature = "s3")]
    Bucket {
        bucket: String,
        prefix: Path,
    },
}

impl Location {
    /// Reads what a user writes.
    ///
    /// # Errors
    /// `Place`.
    pub fn parse(text: &str) -> Result<Self> {
        let place = match text.split_once("://") {
            None => Place::Folder(text.into()),
            Some(("file", path)) => Place::Folder(path.into()),
            #[cfg(feature = "s3")]
            Some(("s3" | "s3a", rest)) => bucket(text, rest)?,
            #[cfg(not(feature = "s3"))]
            Some(("s3" | "s3a", _)) => {
                let why = "this program was built without S3; build it with the feature s3";
                return Err(wrong(text, why));
            }
            Some((scheme, _)) => {
                let why = format!("there are no tables at {scheme}://; name a folder, or s3://…");
                return Err(wrong(text, &why));
            }
        };
        Ok(Self { place, shown: text.into() })
    }

    /// Returns the folder, if the location is one.
    pub fn folder(&self) -> Option<&FilePath> {
        match &self.place {
            Place::Folder(folder) => Some(folder),
            #[cfg(feature = "s3")]
            Place::Bucket { .. } => None,
        }
    }

    /// Returns the location as it was written.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Opens the store to read from; returns `None` if the folder is missing.
    pub(crate) fn store(&self) -> Result<Option<Store>> {
        match &self.place {
            Place::Folder(folder) if !folder.exists() => Ok(None),
            Place::Folder(folder) => self.folder_store(folder).map(Some),
            #[cfg(feature = "s3")]
            Place::Bucket { bucket, prefix } => self.bucket_store(bucket, prefix).map(Some),
        }
    }

    /// Opens the store to write to; returns the first folder that was made for it, too.
    pub(crate) fn store_to_write(&self) -> Result<(Store, Option<PathBuf>)> {
        match &self.place {
            Place::Folder(folder) => {
                self.expect_folder(folder)?;
                let missing = folder.ancestors().take_while(|part| !part.exists()).last();
                let missing = missing.map(FilePath::to_path_buf);
                fs::create_dir_all(folder).map_err(|error| self.refused(&error))?;
                let store = self.folder_store(folder)?;
                Ok((store, missing.filter(|part| !part.as_os_str().is_empty())))
            }
            #[cfg(feature = "s3")]
            Place::Bucket { bucket, prefix } => Ok((self.bucket_store(bucket, prefix)?, None)),
        }
    }

    fn folder_store(&self, folder: &FilePath) -> Result<Store> {
        self.expect_folder(folder)?;
        let inner = LocalFileSystem::new_with_prefix(folder);
        let inner = inner.map_err(|error| self.refused_by_store(&error))?;
        let whole = Arc::new(LocalFileSystem::new());
        let location = self.clone();
        Ok(Store { inner: Arc::new(inner), whole, prefix: Path::default(), location })
    }

    /// Returns the path of an object, which a table names by its absolute path; `None` if the
    /// table's store does not have it.
    pub(crate) fn within(&self, absolute: &str) -> Option<Path> {
        match &self.place {
            Place::Folder(_) => {
                let path = match absolute.strip_prefix("file:") {
                    // An authority, which is empty, may come first.
                    Some(path) => path.strip_prefix("//").unwrap_or(path),
                    None => absolute,
                };
                path.starts_with('/').then(|| Path::from_absolute_path(path).ok())?
            }
            #[cfg(feature = "s3")]
            Place::Bucket { bucket, .. } => {
                let (scheme, rest) = absolute.split_once("://")?;
                let path = rest.strip_prefix(bucket.as_str())?.strip_prefix('/')?;
                matches!(scheme, "s3" | "s3a" | "s3n").then(|| Path::parse(path).ok())?
            }
        }
    }

    /// Refuses what is there and is no folder.
    fn expect_folder(&self, folder: &FilePath) -> Result<()> {
        if folder.exists() && !folder.is_dir() {
            Err(wrong(&self.shown, "this is a file; name the folder of a table"))
        } else {
            Ok(())
        }
    }

    fn refused(&self, error: &io::Error) -> Error {
        Error::Store { place: self.shown.clone(), why: error.to_string().into() }
    }

    /// Turns an error of a store into one line.
    pub(crate) fn refused_by_store(&self, error: &object_store::Error) -> Error {
        Error::Store { place: self.shown.clone(), why: in_a_line(error).into() }
    }
}

fn wrong(place: &str, why: &str) -> Error {
    Error::Place { place: place.into(), why: why.into() }
}

/// A store, and where in it the table is.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) inner: Arc<dyn ObjectStore>,
    /// The store by absolute paths: the disk, or the bucket.
    pub(crate) whole: Arc<dyn ObjectStore>,
    pub(crate) prefix: Path,
    pub(crate) location: Location,
}

/// The text before the status in an error's text: the store has no other way to it.
const BEFORE_STATUS: &str = "status code: ";

/// Returns what a user needs of an error: the status that a store returned, or the innermost cause.
fn in_a_line(error: &object_store::Error) -> String {
    use object_store::Error as E;
    const REFUSED: &str = "the store does not allow it with these credentials";
    const NOT_FOUND: &str = "there is no such bucket or object";
    match error {
        E::NotFound { .. } => return NOT_FOUND.into(),
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => return REFUSED.into(),
        _ => {}
    }
    let text = error.to_string();
    if let Some((_, rest)) = text.split_once(BEFORE_STATUS) {
        let status = rest.split([':', ',', '\n']).next().unwrap_or(rest).trim();
        return match status.split(' ').next() {
            Some("401" | "403") => REFUSED.into(),
            Some("404") => NOT_FOUND.into(),
            _ => format!("the store returned {status}"),
        };
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string().lines().next().unwrap_or_default().trim().to_string()
}

#[cfg(feature = "s3")]
mod s3 {
    use std::env;
    use std::time::Duration;

    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
    use object_store::{BackoffConfig, ClientOptions, RetryConfig};

    use super::{Arc, Error, Location, Path, Place, Result, Store, wrong};

    /// The most tries of a request: a store that is down is reported within seconds.
    const MOST_RETRIES: usize = 4;
    const RETRY_TIMEOUT: Duration = Duration::from_secs(20);
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
    /// The time for a request, which sends up to a file of the table.
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(180);

    /// The variables of the environment without which there are no credentials.
    const CREDENTIALS: [&str; 2] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

    pub(super) fn bucket(text: &str, rest: &str) -> Result<Place> {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() || prefix.trim_matches('/').is_empty() {
            return Err(wrong(text, "write s3://BUCKET/PREFIX, with the place of the table"));
        }
        let prefix = Path::parse(prefix.trim_matches('/'));
        let prefix = prefix.map_err(|error| wrong(text, &error.to_string()))?;
        Ok(Place::Bucket { bucket: bucket.into(), prefix })
    }

    impl Location {
        pub(super) fn bucket_store(&self, bucket: &str, prefix: &Path) -> Result<Store> {
            // Without them the client would ask the network for others.
            if let Some(missing) = CREDENTIALS.iter().find(|name| env::var_os(name).is_none()) {
                let why = format!("{missing} is not set; the environment has the credentials");
                return Err(Error::Place { place: self.shown.clone(), why: why.into() });
            }
            let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
            let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
            // An http written out is meant.
            let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
            let client = ClientOptions::new()
                .with_allow_http(is_plain)
                .with_connect_timeout(CONNECT_TIMEOUT)
                .with_timeout(REQUEST_TIMEOUT);
            let backoff = BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(2),
                ..BackoffConfig::default()
            };
            let retry =
                RetryConfig { backoff, max_retries: MOST_RETRIES, retry_timeout: RETRY_TIMEOUT };
            let inner = builder.with_client_options(client).with_retry(retry).build();
            let inner = inner.map_err(|error| self.refused_by_store(&error))?;
            let inner = Arc::new(inner);
            let location = self.clone();
            Ok(Store { whole: inner.clone(), inner, prefix: prefix.clone(), location })
        }
    }
}
#[cfg(feature = "s3")]
use s3::bucket;

//! Objects of a store: reading, writing and removing them, one at a time.
//!
//! The rest of this crate is not asynchronous: one thread waits for one request.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use percent_encoding::percent_decode_str;
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};
use crate::location::Store;

/// The place of an object that the log of a table names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Below the table.
    Below(String),
    /// Anywhere on the disk, or in the bucket.
    Anywhere(Path),
}

/// The objects of a table, by their places below it.
pub(crate) struct Files {
    store: Store,
    runtime: Runtime,
}

impl Files {
    pub(crate) fn new(store: Store) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Store {
            place: store.location.shown().into(),
            why: error.to_string().into(),
        })?;
        Ok(Self { store, runtime })
    }

    /// Returns the table's place, for errors.
    pub(crate) fn place(&self) -> Box<str> {
        self.store.location.shown().into()
    }

    pub(crate) fn damaged(&self, why: impl Into<Box<str>>) -> Error {
        Error::Damaged { place: self.place(), why: why.into() }
    }

    fn refused(&self, error: &object_store::Error) -> Error {
        self.store.location.refused_by_store(error)
    }

    fn path(&self, name: &str) -> Result<Path> {
        let whole = match self.store.prefix.as_ref() {
            "" => name.to_string(),
            prefix => format!("{prefix}/{name}"),
        };
        Path::parse(whole).map_err(|error| self.damaged(error.to_string()))
    }

    /// Returns where an object is whose path the log has: percent-encoded, and below the table if
    /// it is not absolute.
    pub(crate) fn spot(&self, uri: &str) -> Result<Spot> {
        let path = percent_decode_str(uri).decode_utf8();
        let path = path.map_err(|_| self.damaged(format!("file {uri}: its name is no UTF-8")))?;
        let is_whole = path.starts_with('/') || path.starts_with("file:/") || path.contains("://");
        if !is_whole {
            return Ok(Spot::Below(path.into_owned()));
        }
        let spot = self.store.location.within(&path).map(Spot::Anywhere);
        spot.ok_or_else(|| Error::Unsupported {
            place: self.place(),
            what: format!("the file {path} outside of it").into(),
            verb: "read",
        })
    }

    /// Returns the store that has an object, and its path there.
    fn locate(&self, spot: &Spot) -> Result<(&dyn ObjectStore, Path)> {
        Ok(match spot {
            Spot::Below(name) => (&*self.store.inner, self.path(name)?),
            Spot::Anywhere(path) => (&*self.store.whole, path.clone()),
        })
    }

    /// Returns the names of what is directly in a folder of the table.
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<String>> {
        let path = self.path(folder)?;
        let listed = self.runtime.block_on(self.store.inner.list_with_delimiter(Some(&path)));
        let objects = match listed {
            Ok(listed) => listed.objects,
            Err(object_store::Error::NotFound { .. }) if self.store.location.folder().is_some() => {
                Vec::new()
            }
            Err(error) => return Err(self.refused(&error)),
        };
        let names = objects.iter().filter_map(|object| object.location.filename());
        Ok(names.map(String::from).collect())
    }

    /// Returns the bytes of an object; `None` if it is not there.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path(name)?;
        let read =
            self.runtime.block_on(async { self.store.inner.get(&path).await?.bytes().await });
        match read {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Returns some bytes of an object; `None` if it is not there or too short.
    pub(crate) fn read_range(&self, spot: &Spot, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let (store, path) = self.locate(spot)?;
        let read = self.runtime.block_on(async {
            match store.head(&path).await? {
                found if found.size < range.end => Ok(None),
                _ => store.get_range(&path, range.clone()).await.map(Some),
            }
        });
        match read {
            Ok(bytes) => Ok(bytes.map(Vec::from)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Returns an object as a file at its start, which has no name; `None` if it is not there.
    pub(crate) fn fetch(&self, spot: &Spot) -> Result<Option<File>> {
        let (store, path) = self.locate(spot)?;
        let refused = |error: std::io::Error| Error::Store {
            place: self.place(),
            why: error.to_string().into(),
        };
        let mut file = tempfile::tempfile().map_err(refused)?;
        let fetched = self.runtime.block_on(async {
            let mut stream = store.get(&path).await?.into_stream();
            while let Some(bytes) = stream.try_next().await? {
                if let Err(error) = file.write_all(&bytes) {
                    return Ok(Err(error));
                }
            }
            Ok(file.seek(SeekFrom::Start(0)).map(drop))
        });
        match fetched {
            Ok(written) => written.map(|()| Some(file)).map_err(refused),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Writes an object.
    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        let path = self.path(name)?;
        let written = self.runtime.block_on(self.store.inner.put(&path, bytes.into()));
        written.map(drop).map_err(|error| self.refused(&error))
    }

    /// Writes an object if no object has its name.
    pub(crate) fn create(&self, name: &str, bytes: &[u8]) -> Result<Created> {
        let path = self.path(name)?;
        let payload = PutPayload::from(bytes.to_vec());
        let put = self.store.inner.put_opts(&path, payload, PutMode::Create.into());
        Ok(match self.runtime.block_on(put) {
            Ok(_) => Created::Now,
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Created::WasThere,
            Err(error) => Created::Failed(self.refused(&error)),
        })
    }

    /// Removes objects as far as that is possible: those that are left mean nothing to readers.
    pub(crate) fn remove(&self, names: &[String]) {
        for path in names.iter().filter_map(|name| self.path(name).ok()) {
            let _ = self.runtime.block_on(self.store.inner.delete(&path));
        }
    }
}

/// The outcome of writing an object that should not be there.
pub(crate) enum Created {
    /// The object was written now.
    Now,
    /// The object was there before.
    WasThere,
    /// An error, after which it is not known.
    Failed(Error),
}

//! The record level: the operations that a suite asks of an engine.
//!
//! A [`Driver`] opens a [`Store`]; each thread works on it through a separate [`Connection`]. Keys,
//! payloads and records are packed as [`crate::schema`] says. A driver allocates nothing and
//! formats nothing on the path of a single operation. It never stands in for an operation that its
//! engine does not have: it returns [`Error::unsupported`].

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::parameter::CACHE_BYTES;
use crate::profile::{Change, Durability, KeyKind, Profile, Reach, Storage};
use crate::schema::Schema;
use crate::volume::Volume;

/// The place of an engine's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The memory of this process.
    Memory,
    /// An existing directory for files.
    Directory(PathBuf),
    /// A server that runs already, and an existing directory for the files that stay here.
    Server {
        /// The server's address.
        url: String,
        /// The part of the server that is the store's, such as a bucket.
        part: String,
        /// The directory.
        dir: PathBuf,
    },
}

impl Endpoint {
    /// Returns the endpoint of a store with files in a directory; none: it has none.
    pub fn of(dir: Option<PathBuf>) -> Self {
        dir.map_or(Self::Memory, Self::Directory)
    }

    /// Returns the endpoint with its files in a folder of its directory.
    #[must_use]
    pub fn within(&self, folder: &str) -> Self {
        let mut within = self.clone();
        match &mut within {
            Self::Memory => {}
            Self::Directory(dir) | Self::Server { dir, .. } => dir.push(folder),
        }
        within
    }

    /// Returns the directory of the store's files on this machine; in memory an empty path.
    pub fn dir(&self) -> &Path {
        match self {
            Self::Memory => Path::new(""),
            Self::Directory(dir) | Self::Server { dir, .. } => dir,
        }
    }
}

/// The parameters that name a server, for engines whose data may be on one.
pub const SERVER: [&str; 2] = ["s3-endpoint", "s3-bucket"];

/// The description of a store to open.
#[derive(Clone, Debug)]
pub struct OpenSpec {
    /// The place of the engine's data.
    pub endpoint: Endpoint,
    /// True to create a store in the empty directory; false to open the existing one.
    pub create: bool,
    /// The storage mode.
    pub storage: Storage,
    /// A level that the profile lists for this storage mode.
    pub durability: Durability,
    /// A key kind of the profile.
    pub key_kind: KeyKind,
    /// The shape of the records.
    pub schema: Schema,
    /// The expected number of records, for engines that want their size in advance.
    pub expected_rows: u64,
    /// The number of connections that will work at once.
    pub threads: u32,
    /// The most bytes of the engine's own cache; none: the size that the engine takes, or its
    /// authors recommend.
    pub cache_bytes: Option<u64>,
    /// Volumes to mount at one point, if the suite works on volumes; 1 unless the driver mounts
    /// them. Otherwise it works on records.
    pub volumes: Option<u32>,
    /// The parameters that were set, as their checks return them. [`Self::with`] sets them.
    pub parameters: BTreeMap<String, String>,
}

impl OpenSpec {
    /// Returns the description with parameters set. That of the cache becomes
    /// [`Self::cache_bytes`], those of a server become [`Self::endpoint`].
    #[must_use]
    pub fn with(mut self, mut parameters: BTreeMap<String, String>) -> Self {
        let [url, part] = SERVER.map(|name| parameters.remove(name));
        if let (Some(url), Some(part)) = (url, part) {
            self.endpoint = Endpoint::Server { url, part, dir: self.dir().into() };
        }
        let cache_bytes = parameters.remove(CACHE_BYTES).and_then(|bytes| bytes.parse().ok());
        self.cache_bytes = cache_bytes.or(self.cache_bytes);
        self.parameters = parameters;
        self
    }

    /// Returns the directory of the store's files, as [`Endpoint::dir`] does.
    pub fn dir(&self) -> &Path {
        self.endpoint.dir()
    }

    /// Returns the value of a parameter, if it was set.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Returns true if a parameter was set to this value.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.parameter(name) == Some(value)
    }

    /// Returns the bytes of a parameter, if it was set.
    ///
    /// # Errors
    /// If they are no number, which the parameter's check refuses.
    pub fn bytes(&self, name: &str) -> Result<Option<u64>> {
        let parsed = self.parameter(name).map(|text| {
            text.parse()
                .map_err(|_| Error::engine("open", format!("{name}: {text} is no number of bytes")))
        });
        parsed.transpose()
    }
}

/// An engine that Assay can drive.
pub trait Driver: Sync {
    /// Returns the engine's declaration about itself.
    fn profile(&self) -> &Profile;

    /// Returns the engine's version, or why it is not available here.
    fn version(&self) -> std::result::Result<String, String>;

    /// Returns in words what an engine does at a level beyond its promise, so that it costs more
    /// there than others. None if it does nothing more.
    fn stronger(&self, _: Durability) -> Option<&'static str> {
        None
    }

    /// Returns the interval between syncs at level `periodic`, if the engine or driver states one.
    fn periodic_interval(&self) -> Option<Duration> {
        None
    }

    /// Returns what the engine's authors say against copying the files of an open store, with the
    /// place; none if no word against it is known.
    fn copy_rule(&self) -> Option<&'static str> {
        None
    }

    /// Returns the machines on which the files of the engine's stores are.
    fn reach(&self) -> Reach {
        Reach::Machine
    }

    /// Returns why the engine cannot keep records of a schema, such as the length of their keys;
    /// none if it can.
    fn refusal(&self, _: &Schema) -> Option<String> {
        None
    }

    /// Returns the record changes that the engine lacks. Suites leave out what needs them.
    fn lacks(&self) -> &[Change] {
        &[]
    }

    /// Returns true if its stores keep the secondary indexes that the schema asks for, and
    /// [`Connection::find_by`] looks records up by them.
    fn has_indexes(&self) -> bool {
        false
    }

    /// Returns the kind of the volumes' keys, if one store mounts several volumes at one point by
    /// itself, as [`OpenSpec::volumes`] says. Its [`Connection::volume`] is all of them then.
    fn volume_keys(&self) -> Option<KeyKind> {
        None
    }

    /// Creates or opens a store.
    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>>;
}

/// An open store with one table.
pub trait Store: Sync {
    /// Returns the settings that were applied, as the engine's users would write them.
    fn settings(&self) -> Vec<String>;

    /// Returns the size of the store's cache.
    fn cache(&self) -> Cache;

    /// Returns the ids of other processes that do the store's work. The driver started them, and
    /// waits for them when it closes the store. Their memory, time and writes are the engine's.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Runs `work` with a connection of the calling thread. (The connection lives inside this
    /// call, so it may borrow from what lives on its stack: statements, transactions.)
    fn connect(&self, work: &mut Work<'_>) -> Result<()>;

    /// Closes the store. Data that the engine holds back until then reaches the files.
    fn close(self: Box<Self>) -> Result<()>;
}

/// The work of a thread on its connection.
pub type Work<'w> = dyn FnMut(&mut dyn Connection) -> Result<()> + 'w;

/// One thread's handle. Outside [`Self::begin`] … [`Self::commit`] every write is a separate
/// transaction, durable as the store's level says when the call returns.
pub trait Connection {
    /// Starts a transaction.
    fn begin(&mut self) -> Result<()> {
        Err(Error::unsupported("transactions"))
    }

    /// Commits the transaction.
    fn commit(&mut self) -> Result<()> {
        Err(Error::unsupported("transactions"))
    }

    /// Rolls the transaction back.
    fn rollback(&mut self) -> Result<()> {
        Err(Error::unsupported("transactions"))
    }

    /// Inserts a packed record.
    fn insert(&mut self, record: &[u8]) -> Result<Outcome>;

    /// Stores a packed record, in place of an existing one with its key.
    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        let _ = record;
        Err(Error::unsupported("writing a record whether or not it is there"))
    }

    /// Looks a key area up and copies the record's payload area.
    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome>;

    /// Looks up several keys, packed one after another, in one call; `payloads` and `outcomes`
    /// have room for the result of each.
    fn get_many(
        &mut self,
        keys: &[u8],
        payloads: &mut [u8],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        _ = (keys, payloads, outcomes);
        Err(Error::unsupported("lookups of several keys at once"))
    }

    /// Sets one column (by its position in the schema) to a packed value, which has the length of
    /// its type; one of variable length has its number of bytes at the front.
    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome>;

    /// Deletes a record.
    fn delete(&mut self, key: &[u8]) -> Result<Outcome>;

    /// Replays inserts of packed records one after another; returns the number that were
    /// [`Outcome::Done`].
    ///
    /// The timed loops call the `replay` functions: one virtual call for a batch of single
    /// operations instead of one for each. A call that cannot be inlined, and a result that travels
    /// through it, keep the cache misses of successive operations from overlapping. They are
    /// instantiated for each driver, so [`Self::insert`] and the others are inlined into them. A
    /// driver in another language may have the loop there; it does each operation by itself and in
    /// order, and neither groups, sorts nor prefetches.
    fn replay_inserts(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        let mut done = 0;
        for record in records.chunks_exact(record_size) {
            done += u64::from(self.insert(record)? == Outcome::Done);
        }
        Ok(done)
    }

    /// Inserts packed records in one transaction; returns the number that were [`Outcome::Done`].
    fn batch(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        self.begin()?;
        let done = self.replay_inserts(records, record_size)?;
        self.commit()?;
        Ok(done)
    }

    /// Replays lookups one after another, each into a separate payload area.
    fn replay_gets(
        &mut self,
        keys: &[u8],
        key_size: usize,
        payloads: &mut [u8],
        payload_size: usize,
    ) -> Result<u64> {
        let mut done = 0;
        let payloads = payloads.chunks_exact_mut(payload_size);
        for (key, payload) in keys.chunks_exact(key_size).zip(payloads) {
            done += u64::from(self.get(key, payload)? == Outcome::Done);
        }
        Ok(done)
    }

    /// Replays updates of one column one after another.
    fn replay_updates(
        &mut self,
        keys: &[u8],
        key_size: usize,
        column: usize,
        values: &[u8],
        value_size: usize,
    ) -> Result<u64> {
        let mut done = 0;
        let values = values.chunks_exact(value_size);
        for (key, value) in keys.chunks_exact(key_size).zip(values) {
            done += u64::from(self.update(key, column, value)? == Outcome::Done);
        }
        Ok(done)
    }

    /// Replays deletes one after another.
    fn replay_deletes(&mut self, keys: &[u8], key_size: usize) -> Result<u64> {
        let mut done = 0;
        for key in keys.chunks_exact(key_size) {
            done += u64::from(self.delete(key)? == Outcome::Done);
        }
        Ok(done)
    }

    /// Returns the engine's own volumes and properties, if it has them.
    fn volume(&mut self) -> Option<&mut dyn Volume> {
        None
    }

    /// Calls `row` for each record whose column, one with an index, has a packed value, in any
    /// order, and returns their number. A row is a packed record.
    fn find_by(&mut self, column: usize, value: &[u8], row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        _ = (column, value, row);
        Err(Error::unsupported("secondary indexes"))
    }

    /// Calls `row` for each record of a range in ascending order of keys and returns their number.
    /// A row is a packed record in which only the requested columns are meaningful.
    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        _ = (scan, row);
        Err(Error::unsupported("ordered scans"))
    }
}

/// A range of records in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'s> {
    /// The bound of the range's lowest key area.
    pub lower: Bound<&'s [u8]>,
    /// The bound of the range's highest key area.
    pub upper: Bound<&'s [u8]>,
    /// Positions of the requested columns, ascending.
    pub columns: &'s [usize],
    /// The largest number of records to return.
    pub limit: u64,
}

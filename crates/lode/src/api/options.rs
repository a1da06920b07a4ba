//! Options for opening a database.

use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use super::Database;
use crate::engine::{Engine, Handle, available_memory_bytes, most_address_bytes};
use crate::error::{Error, Result};
use crate::io::os::Directory;
use crate::io::{Access, Disk};
use crate::observability::Observer;
use crate::store::{Clock, DEFAULT_READER_BYTES, Durability, Expected, Settings};
use crate::wal::{FrameWriting, LEAST_SEGMENT_BYTES, LogSettings, MOST_KEPT_MIB, MOST_LANES};

/// Options for opening a database.
///
/// ```
/// use lode::{Durability, Options};
///
/// let directory = std::env::temp_dir().join(format!("lode-options-{}", std::process::id()));
/// let db = Options::new()
///     .memory_bytes(64 << 20)
///     .durability(Durability::Process)
///     .create_new(&directory)?;
/// db.close()?;
/// # std::fs::remove_dir_all(&directory).expect("it is there");
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) memory_bytes: u64,
    durability: Durability,
    sync_interval: Duration,
    log_bytes: u64,
    segment_bytes: u64,
    maps_log: bool,
    reader_bytes: u64,
    compacts_when_idle: bool,
    pub(super) kept_changes_bytes: Option<u64>,
    pub(super) clock: Clock,
}

/// The time between syncs of the log at [`Durability::Periodic`], unless [`Options`] say otherwise.
pub const DEFAULT_SYNC_INTERVAL: Duration = Duration::from_millis(100);

/// The least that the most bytes of a log can be set to.
const LEAST_LOG_BYTES: u64 = 64 << 10;

/// The first segment of a log.
const FIRST_SEGMENT_BYTES: u64 = 64 << 10;

impl Options {
    /// Returns the default options.
    pub fn new() -> Self {
        Self {
            memory_bytes: available_memory_bytes() / 2,
            durability: Durability::Commit,
            sync_interval: DEFAULT_SYNC_INTERVAL,
            log_bytes: 1 << 30,
            segment_bytes: 16 << 20,
            maps_log: true,
            reader_bytes: DEFAULT_READER_BYTES,
            compacts_when_idle: true,
            kept_changes_bytes: None,
            clock: Clock::default(),
        }
    }

    /// Sets the memory budget: the most that pages, transactions and snapshots may take up
    /// together. It is taken as it is used, and is 1 MiB at least and 256 GiB at most. The default
    /// is half of what the process may take up: of the machine's memory, or of the least limit of
    /// its control groups, or of a part of the limit of its addresses or data. A database in memory
    /// must fit into it; of one in a directory the pages that were used last are kept.
    ///
    /// Old images of pages for [snapshots](Database::snapshot) take at most a quarter of it. If it
    /// is less than 64 MiB, they take half, and at most 16 MiB. They may always be 1 MiB.
    /// Transactions hold at most a third. A statement that has no room is refused with
    /// `TxnTooLarge`, and nothing of it happens.
    ///
    /// In a directory, all pages that one transaction changes must fit into seven eighths of the
    /// room left for pages. Each record far from the others changes a page of 16 KiB. As far as
    /// these pages are known, the statement is refused that changes too many; otherwise the commit
    /// returns `Full` and changes nothing.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets which crashes operations survive, in a directory; [`Durability::Commit`] by default.
    pub fn durability(mut self, level: Durability) -> Self {
        self.durability = level;
        self
    }

    /// Sets the time between syncs of the log at [`Durability::Periodic`], from the start of one
    /// sync to the start of the next; 100 ms by default, and 1 ms at least.
    pub fn sync_interval(mut self, interval: Duration) -> Self {
        self.sync_interval = interval;
        self
    }

    /// Sets how long the log may become before writers wait for a checkpoint; 1 GiB by default, and
    /// 64 KiB at least. If there is less data, it is twice as much as that (and at least 32 MiB, if
    /// `bytes` allow it). Half-way, a checkpoint is made in the background. The log has to be
    /// replayed after a crash.
    ///
    /// While all records change all the time, the files take up twice the bytes of all pages, as
    /// long a log, and some MiB. Less here has a shorter log, and more checkpoints.
    ///
    /// Writers look at it when a segment is full. So it can become longer by one
    /// [segment](Self::segment_bytes), and by one commit.
    pub fn log_bytes(mut self, bytes: u64) -> Self {
        self.log_bytes = bytes.max(LEAST_LOG_BYTES);
        self
    }

    /// Sets the most bytes of a segment of the log, if no single transaction needs more; 16 MiB by
    /// default, and at least 16 KiB. The first has 64 KiB. Each after that has a quarter of the
    /// log's bytes, but 128 KiB at least and `bytes` at most.
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// Sets whether the log may be written through a mapping of its file; it may by default. That
    /// is done at levels [`Durability::Process`] and [`Durability::Periodic`], on ext2 to ext4 and
    /// on XFS without shared blocks.
    ///
    /// A write through a mapping needs no call of the system, and has no error to return. If the
    /// disk fails and the file system shuts down, or another program cuts the file off, the next
    /// write ends the process (`SIGBUS`). The promise of the level is kept when the database is
    /// opened again. With `false`, the log on a disk is written by calls, which takes longer, and
    /// such an error is [`Error::Poisoned`] or [`Error::Io`].
    pub fn map_log(mut self, maps: bool) -> Self {
        self.maps_log = maps;
        self
    }

    /// Sets the most bytes of the data file that are kept only for [readers](Self::open_read_only)
    /// in other processes; 1 GiB by default. A reader shows one moment. Pages of its checkpoint are
    /// kept until it has refreshed or closed its database, or its process has ended, which the next
    /// checkpoint notices. Beyond this, the moments of the oldest readers expire
    /// ([`MomentExpired`](Error::MomentExpired)), and so they do if the disk is full.
    pub fn reader_bytes(mut self, bytes: u64) -> Self {
        self.reader_bytes = bytes;
        self
    }

    /// Sets whether a database in a directory gives space back in the background; it does by
    /// default. It starts if little has been written for ten seconds, and more than a fifth of the
    /// files and 4 MiB are spare. Spare space is not in use, or needed only until the next
    /// checkpoint. Each time, the next one needs twice as long a pause, up to a minute. Little is
    /// what makes a checkpoint necessary only after a minute: 256 KiB a second at least, unless
    /// [`log_bytes`](Self::log_bytes) is less than 32 MiB. It stops when more is written.
    ///
    /// If nothing was written, the database [is compacted](Database::compact). Next to writers, a
    /// [checkpoint](Database::checkpoint) is written and free space goes back to the file system;
    /// pages move only where that cannot have holes in files. Sparse pages are filled if much has
    /// changed, but not those of a database of more than half of the memory budget. At level
    /// [`Durability::None`] none of this happens.
    ///
    /// Whatever is set here, each checkpoint that the database makes by itself gives back space. It
    /// is half of what neither it nor the writers since the one before have needed.
    pub fn compact_when_idle(mut self, compacts: bool) -> Self {
        self.compacts_when_idle = compacts;
        self
    }

    /// Sets the clock that says which records [have expired](crate::Builder::expires): that of the
    /// system by default. It is asked while pages are latched, so it must be quick, must not panic
    /// and must not use the database.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::time::{Duration, UNIX_EPOCH};
    ///
    /// use lode::{KeyKind, Options, ReadTable, Schema, Type, Value};
    ///
    /// let seconds = Arc::new(AtomicU64::new(0));
    /// let now = Arc::clone(&seconds);
    /// let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
    /// let db = Options::new().clock(clock).in_memory()?;
    /// let schema = Schema::build("session").key("id", Type::U64).column("until", Type::Timestamp);
    /// let schema = schema.expires("until").finish()?;
    /// let sessions = db.create_table(&schema, KeyKind::Hash)?;
    /// sessions.insert(&schema.pack(&[Value::Unsigned(7), Value::Timestamp(60_000_000)])?)?;
    ///
    /// assert!(sessions.contains(7)?);
    /// seconds.store(60, Ordering::Relaxed);
    /// assert!(!sessions.contains(7)?);
    /// seconds.store(0, Ordering::Relaxed);
    /// assert!(!sessions.contains(7)?, "what has expired stays so");
    /// # Ok::<(), lode::Error>(())
    /// ```
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Clock::new(now);
        self
    }

    /// Creates a database that lives as long as its handles.
    ///
    /// A forked process must not use it: every call there returns `Forked`.
    ///
    /// # Errors
    /// `Io` when the operating system does not have room for that many addresses.
    pub fn in_memory(&self) -> Result<Database> {
        Ok(Database::new(Handle::new(Engine::in_memory(
            self.settings(random(), Observer::in_memory()),
        )?)))
    }

    /// Opens the database in a directory; creates one if the directory does not exist or is empty.
    ///
    /// After a crash the database is brought back to its promised state. That takes the time to
    /// replay the log. After [`Database::close`] nothing is left to replay.
    ///
    /// The directory is found by its path only here: it may be renamed later. No other program may
    /// change its files while the database is open. If one is removed, renamed or replaced, that is
    /// noticed by the next commit at level [`Durability::Commit`], flush, checkpoint or closing,
    /// which returns `Poisoned`; if the log is cut short, writing to it may end the process
    /// (`SIGBUS`), as [`map_log`](Self::map_log) says.
    ///
    /// A forked process must not use the database: every call there returns `Forked`, and dropping
    /// handles does nothing.
    ///
    /// # Errors
    /// `Locked` when it is open already, here or in another process; `ForeignFile` when files of
    /// several databases are in the directory; `Corrupt`; `Version`; `Full` when the memory is too
    /// little for one record that has to be replayed; `DiskFull`; `Io`. After `ForeignFile` and
    /// `Version` no file of the database has changed.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        create_directory(path)?;
        self.open_directory(path, Expected::Any { directory: path })
    }

    /// Opens the database in a directory, which has to exist.
    ///
    /// ```
    /// use lode::{Database, Error, Options};
    ///
    /// let directory = std::env::temp_dir().join(format!("lode-example-{}", std::process::id()));
    /// let refused = Options::new().open_existing(&directory);
    /// assert!(matches!(refused, Err(Error::NoDatabase { .. })));
    /// assert!(!directory.exists());
    ///
    /// Options::new().create_new(&directory)?.close()?;
    /// Options::new().open_existing(&directory)?.close()?;
    /// let refused = Options::new().create_new(&directory);
    /// assert!(matches!(refused, Err(Error::DatabaseExists { .. })));
    /// # std::fs::remove_dir_all(&directory).expect("it is there");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `NoDatabase` when the directory has none, or does not exist; nothing is created then. And as
    /// [`open`](Self::open).
    pub fn open_existing(&self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        self.open_directory(path, Expected::Database { directory: path })
    }

    /// Creates a database in a directory, which is created if it does not exist, and else has to be
    /// empty.
    ///
    /// # Errors
    /// `DatabaseExists` when there is one already, which stays as it is. And as
    /// [`open`](Self::open).
    pub fn create_new(&self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        create_directory(path)?;
        self.open_directory(path, Expected::Nothing { directory: path })
    }

    fn open_directory(&self, path: &Path, expected: Expected<'_>) -> Result<Database> {
        let disk = directory(path, Access::Write)?;
        self.open_on(Arc::new(disk), random(), expected)
    }

    /// Opens the database in a directory to read it only: writing returns `ReadOnly`. Any number of
    /// processes may have it open in this way at the same time, and one that writes.
    ///
    /// It shows one moment: all that was done before the call, as far as the log has it, which may
    /// not be synced yet. [`Database::refresh`] shows a later one. It may show the last checkpoint
    /// alone in two cases: the log has several lanes and many writers, or each of four attempts to
    /// read the log took longer than the next checkpoint. At level [`Durability::None`] it always
    /// does.
    ///
    /// Nothing is written, so the directory may be on a medium or belong to another user that does
    /// not allow it. The log is replayed in memory. The writer keeps the pages of the moment, up to
    /// [`reader_bytes`](Self::reader_bytes). Beyond that, or when the database is opened anew for
    /// writing, a read of a page that is gone returns `MomentExpired`.
    ///
    /// Where the system has no locks of parts of a file (`F_OFD_SETLK`, Linux), readers and a
    /// writer keep each other out.
    ///
    /// # Errors
    /// `NoDatabase` when it is missing; `Locked` when it is being created, or is open for writing
    /// where the system has no such locks; `Full` when the memory is too little for the replay of
    /// the log: open it with more, or once for writing; `ForeignFile`; `Corrupt`; `Version`; `Io`.
    pub fn open_read_only(&self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        let disk = directory(path, Access::Read)?;
        self.open_to_read_on(Arc::new(disk), random(), path)
    }

    /// Opens the database on a disk of any kind to read it only.
    pub(crate) fn open_to_read_on(
        &self,
        disk: Arc<dyn Disk>,
        random: u64,
        path: &Path,
    ) -> Result<Database> {
        let settings = self.settings(random, Observer::of_reader(&path.display()));
        let engine = Engine::open_to_read(disk, settings, path)?;
        Ok(Database::new(Handle::new(engine)))
    }

    /// Opens the database on a disk of any kind.
    pub(crate) fn open_on(
        &self,
        disk: Arc<dyn Disk>,
        random: u64,
        expected: Expected<'_>,
    ) -> Result<Database> {
        let engine = self.open_unattended(disk, random, expected)?;
        let periodic = self.durability == Durability::Periodic;
        Engine::attend(engine.shared(), periodic.then_some(self.sync_interval))?;
        Ok(Database::new(engine))
    }

    /// Opens its engine without the threads that sync the log and make checkpoints.
    pub(crate) fn open_unattended(
        &self,
        disk: Arc<dyn Disk>,
        random: u64,
        expected: Expected<'_>,
    ) -> Result<Handle> {
        let observer = Observer::new(&expected.directory().display());
        Ok(Handle::new(Engine::open(disk, self.settings(random, observer), expected)?))
    }

    /// Returns the MiB of changes to keep, as files have it.
    fn kept_mib(&self) -> Option<u32> {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20).min(MOST_KEPT_MIB.into()) as u32;
        match self.durability {
            // Nothing is logged.
            Durability::None => Some(0),
            _ => self.kept_changes_bytes.map(mib),
        }
    }

    pub(super) fn settings(&self, random: u64, observer: Observer) -> Settings {
        let most_bytes = self.segment_bytes.max(LEAST_SEGMENT_BYTES);
        Settings {
            memory_bytes: self.memory_bytes,
            address_bytes: most_address_bytes(),
            durability: self.durability,
            log: LogSettings {
                first_bytes: most_bytes.min(FIRST_SEGMENT_BYTES),
                most_bytes,
                // Where a crash of the machine leaves a moment of the past, and threads wait for
                // syncs, there is one.
                most_lanes: if self.durability == Durability::Process { MOST_LANES } else { 1 },
                writing: match self.durability {
                    Durability::Commit => FrameWriting::Called,
                    _ if !self.maps_log => FrameWriting::Called,
                    _ => FrameWriting::Mapped,
                },
                kept_mib: self.kept_mib(),
            },
            most_log_bytes: self.log_bytes,
            reader_bytes: self.reader_bytes,
            compacts_when_idle: self.compacts_when_idle,
            clock: self.clock.clone(),
            random: AtomicU64::new(random),
            observer,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens a directory to write to it; creates it if it does not exist.
pub(super) fn directory_to_write(path: &Path) -> Result<Arc<dyn Disk>> {
    create_directory(path)?;
    Ok(Arc::new(directory(path, Access::Write)?))
}

fn create_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| not_opened(path, &error))
}

pub(super) fn directory(path: &Path, access: Access) -> Result<Directory> {
    Directory::new(path, access).map_err(|error| not_opened(path, &error))
}

fn not_opened(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::NoDatabase { directory: path.into() },
        _ => Error::io(format!("open directory {}", path.display()), error),
    }
}

/// Returns a number that cannot be guessed outside this process.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

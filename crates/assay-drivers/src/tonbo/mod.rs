//! `tonbo` and `tonbo-s3`: a log-structured merge tree in Rust whose tables are Parquet files,
//! with all files in a directory, or with the tables in an S3 store.
//!
//! - Version: that of the crate, 0.3.2. The newer 0.4.0-a2 is an alpha that cannot do the suites:
//!   its lookup by key (`Transaction::get`) reads the memory and never a table on disk. A
//!   scan misses the rows that a background flush is moving, since it reads the list of tables
//!   before the memtables (`db/scan.rs`). And it cannot run without its log on disk.
//! - Storage: ramdisk and disk. Keys: tree. Transactions, scans with projection, concurrent
//!   writers. Tonbo is asynchronous: the store owns a tokio runtime with a thread a processor,
//!   as `#[tokio::main]` in its guide has it, and each connection blocks on it.
//! - Levels: `none` is `disable_wal()`, as Tonbo's own benchmarks have it, and everything reaches
//!   the files with a `flush` when the store is closed. `process` is `flush_wal()` after every
//!   write and commit, which hands the buffer of the log to the operating system (guide:
//!   Configuration, "WAL Configuration"), with a buffer of 1 MiB. (With `wal_buffer_size(0)` every
//!   field is a system call. A process killed between two of them leaves a log on which Tonbo
//!   panics at the next open. So does one killed in a commit larger than the buffer.) Nothing syncs
//!   the log, so there is nothing stronger. The default, a buffer of 4 KiB that is flushed when it
//!   is full, loses its content: `none` too (`--set tonbo.wal=buffered`).
//! - Settings: `version_log_snapshot_threshold(1)` and `immutable_chunk_num(1)` (guide:
//!   Configuration), because otherwise 0.3.2 loses or disorders records. It overwrites its manifest
//!   with the newest edit until the threshold is reached. And it writes the memtables of one
//!   compaction one after another into one table without merging them (its issue 456). A flush
//!   still does the latter: a store that was closed at level `none` with more than one memtable
//!   refuses to be opened. All else is the default: memtables of 64 MiB, tables in LZ4.
//! - Records are declared as Tonbo's guide has it: with the derive macro for the customers of
//!   its own benchmarks, with its dynamic schema for all others; a column of Assay is a column
//!   of Tonbo, so a projection reaches the tables. A composite key is one column of bytes.
//! - Inserts replace and deletes write tombstones without looking, as its own calls do. An update
//!   is a transaction that reads and inserts, repeated when it met another. With several threads
//!   the driver locks the key for that and for every write to it: a run of YCSB's workload A found
//!   an update lost that Tonbo had committed next to another. A transaction has all those locks
//!   before it starts: it holds a lock of Tonbo's own that the commit of another thread may wait
//!   for. The limit of a scan is counted here: Tonbo's own also counts tombstones and old versions.
//! - `tonbo-s3`: `level_path` for every level (guide: "Using S3 backends"), as in Tonbo's
//!   benchmark; log and manifest stay in the directory, as there. Parameters: `s3-endpoint` and
//!   `s3-bucket`; region and credentials come from `AWS_REGION`, `AWS_ACCESS_KEY_ID`,
//!   `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`. Without an endpoint a server process
//!   serves the store's directory over HTTP on the loopback interface.

mod background;
mod connection;
mod customer;
mod layout;
mod remote;
mod rows;
pub(crate) mod s3_server;
mod store;

use assay_driver::error::Result;
use assay_driver::{
    Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Parameter, Profile,
    Reach, Storage, Store, Transactions,
};
use tonbo::record::DynRecord;

use customer::Customer;
use remote::Remote;

/// The driver of either engine.
pub(crate) struct Tonbo {
    profile: &'static Profile,
    /// The machines on which the tables are.
    reach: Reach,
}

impl Tonbo {
    /// Makes the driver with all files in a directory.
    pub(crate) fn local() -> Self {
        Self { profile: &LOCAL, reach: Reach::Machine }
    }

    /// Makes the driver with the tables in an S3 store.
    pub(crate) fn s3() -> Self {
        Self { profile: &S3, reach: Reach::Server }
    }
}

const LEVELS: &[Durability] = &[Durability::None, Durability::Process];

const WAL: Parameter = Parameter::words(
    "wal",
    &["off", "buffered"],
    "the log at level none: off, or with its default buffer, which a kill loses",
);

static LOCAL: Profile = Profile {
    id: "tonbo",
    name: "Tonbo",
    about: "log-structured merge tree of Parquet files",
    key_kinds: &[KeyKind::Tree],
    levels: &[(Storage::Ramdisk, LEVELS), (Storage::Disk, LEVELS)],
    periodic_survives_kill: false,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Replaces,
    delete_rule: DeleteRule::Silent,
    concurrency: Concurrency::Concurrent,
    parameters: &[WAL],
    keeps_data: true,
};

static S3: Profile = Profile {
    id: "tonbo-s3",
    name: "Tonbo S3",
    about: "log-structured merge tree of Parquet files in an S3 store",
    parameters: &[
        WAL,
        Parameter::text("s3-endpoint", "as --s3-endpoint, for this engine alone"),
        Parameter::text("s3-bucket", "as --s3-bucket, for this engine alone"),
    ],
    ..LOCAL
};

impl Driver for Tonbo {
    fn profile(&self) -> &Profile {
        self.profile
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(env!("ASSAY_VERSION_TONBO").into())
    }

    fn reach(&self) -> Reach {
        self.reach
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let remote = match self.reach {
            Reach::Machine => None,
            Reach::Server => Some(Remote::new(spec)?),
        };
        if customer::is_customer(&spec.schema) {
            store::open::<Customer>(spec, remote)
        } else {
            store::open::<DynRecord>(spec, remote)
        }
    }
}

//! The options of the suites.

use std::path::PathBuf;

use assay_suites::ycsb::workload::{Distribution, Workload};
use clap::{Args, ValueEnum};

use program_support::exit::{Failure, Outcome};

use super::Memory;
use super::VerifyArgs;
use super::count;
use super::help::{ENGINES, MEASURING, OUTPUT};
use super::look::Look;
use super::trust::{BaselineArg, Continuous, Repeats};
use super::values::{DurabilityArg, Format, KeyArg, KeysArg, LevelsArg, PageCacheArg, StorageArg};

/// What all measuring commands share.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// Engines to measure, separated by commas; all, or '!NAME' for all but that one [default: all
    /// that can]
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',', help_heading = ENGINES)]
    pub engine: Vec<String>,
    /// Bind the work to these processors, such as 0-1,3; threads share them in turn
    #[arg(short, long, value_name = "CPU", value_delimiter = ',', value_parser = count::parse_cpus,
          help_heading = MEASURING)]
    pub cpu: Vec<count::Cpus>,
    /// What writes must survive; an engine without this level runs at its weakest stronger one
    /// [default: memory none, ramdisk process, disk periodic]
    #[arg(long, value_name = "LEVEL", help_heading = ENGINES)]
    pub durability: Option<DurabilityArg>,
    /// Page cache at the start of each round after filling: warm, or cold: the store is closed, its
    /// files are dropped from the cache, and it is opened again (disk only)
    #[arg(long, value_name = "STATE", default_value = "warm", help_heading = ENGINES)]
    pub page_cache: PageCacheArg,
    #[command(flatten)]
    pub memory: Memory,
    /// Choose a setting of an engine; `assay list` shows them
    #[arg(long = "set", value_name = "ENGINE.NAME=VALUE", help_heading = ENGINES)]
    pub set: Vec<String>,
    /// Address of an S3 store, for engines that use one, such as http://127.0.0.1:9000; keys come
    /// from the usual AWS_… variables [default: a temporary store on this machine]
    #[arg(long, value_name = "URL", requires = "s3_bucket", help_heading = ENGINES)]
    pub s3_endpoint: Option<String>,
    /// Bucket in that store
    #[arg(long, value_name = "NAME", requires = "s3_endpoint", help_heading = ENGINES)]
    pub s3_bucket: Option<String>,
    /// Configure engines as the published drivers do
    #[arg(long, help_heading = ENGINES)]
    pub as_published: bool,
    /// Directory for stores on disk and RAM disk [default: _benchmarkdb here for disk, on
    /// /dev/shm for ramdisk]
    #[arg(long, alias = "db_dir", value_name = "DIR", help_heading = MEASURING)]
    pub dir: Option<PathBuf>,
    /// Seed of keys, records and order
    #[arg(long, default_value = "1", value_parser = count::parse_seed, help_heading = MEASURING)]
    pub seed: u64,
    /// Abandon a cell after this many seconds [default: after 600 without progress]
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_seconds,
          help_heading = MEASURING)]
    pub timeout: Option<u64>,
    /// Do not ask before a run of more than an hour
    #[arg(short, long, help_heading = MEASURING)]
    pub yes: bool,
    /// Run file to write [default: assay-runs/SUITE-TIME.json; a ladder has a fixed name]
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Output format: a table, or the text that the suite's own program prints
    #[arg(long, default_value = "table", help_heading = OUTPUT)]
    pub format: Format,
    #[command(flatten)]
    pub look: Look,
}

/// How often everything is repeated.
#[derive(Args, Clone)]
pub(crate) struct Trials {
    /// Number of times to repeat everything; engines take turns
    #[arg(long, value_name = "COUNT", value_parser = count::parse_trials, default_value = "1",
          help_heading = MEASURING)]
    pub trials: u32,
    /// Repeat an engine until the 95 % interval of every phase is within this much of its figure on
    /// its wider side, such as 2%, after two trials in a row; at least 6 trials
    #[arg(long, value_name = "PERCENT", value_parser = count::parse_percent,
          help_heading = MEASURING)]
    pub until_ci: Option<f64>,
    /// Most trials [default: 30]
    #[arg(long, value_name = "COUNT", requires = "until_ci", value_parser = count::parse_trials,
          help_heading = MEASURING)]
    pub max_trials: Option<u32>,
}

/// What the suites share that measure on disk unless told otherwise.
#[derive(Args, Clone)]
pub(crate) struct Measure {
    /// Storage modes: ramdisk | inmem | ondisk, or r | m | d, separated by commas, or all
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "ondisk")]
    pub storage: Vec<StorageArg>,
    #[command(flatten)]
    pub trials: Trials,
    #[command(flatten)]
    pub baseline: BaselineArg,
    /// Print only the table: no progress, no file names
    #[arg(short = 'Q', long, help_heading = OUTPUT)]
    pub quiet: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
#[command(
    override_usage = "assay run crossbench [OPTIONS]",
    after_help = "\
Counts take k or K (thousand) and m or M (million).

Examples:
  assay run crossbench -i 100k -q 100k -u 100k   a quick look at every engine, on a RAM disk
  assay run crossbench -s m,r,d -e sqlite,lmdb    two engines in all storage modes
  assay run crossbench -i 10k -q 0 -u 0 -d 0      leave a store with 10k rows
  assay run crossbench -r 10k -q 100k -u 0 -d 0   query the store that is there"
)]
pub(crate) struct CrossbenchArgs {
    /// Storage modes: ramdisk | inmem | ondisk, or r | m | d, separated by commas, or all
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "ramdisk")]
    pub storage: Vec<StorageArg>,
    /// Rows to insert, one transaction each [default: 1m]
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse_positive,
          conflicts_with_all = ["load", "rows"])]
    pub insert: Option<u64>,
    /// Open the store with this number of rows that an earlier run left; 0 with -H prints only the
    /// header
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse)]
    pub rows: Option<u64>,
    /// Rows to look up in each of ten rounds
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub query: u64,
    /// Rows to update in each of ten rounds
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub update: u64,
    /// Rows to delete, at most all; rows that are left stay for -r
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub delete: u64,
    /// Rows to load in one transaction, instead of inserting them
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse_positive,
          conflicts_with = "rows")]
    pub load: Option<u64>,
    /// Key type: default | hash | tree, or d | h | t
    #[arg(short, long, value_name = "KEY", default_value = "default")]
    pub key: KeyArg,
    /// Numbers of threads that divide the rows of each phase, separated by commas; -l loads with
    /// one
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "1",
          value_parser = count::parse_threads)]
    pub threads: Vec<count::Threads>,
    /// Visit rows in order [default: at random]
    #[arg(short = 'S', long)]
    pub sequential: bool,
    /// Keys: dense are the published consecutive prefixes, which flatter identity hashes; sparse
    /// are spread over the whole 32-bit range
    #[arg(long, default_value = "dense")]
    pub keys: KeysArg,
    #[command(flatten)]
    pub continuous: Continuous,
    #[command(flatten)]
    pub repeats: Repeats,
    /// Measure latencies too, in a further round of query and update that times each operation;
    /// for insert and delete, the deleted rows are inserted and deleted again
    #[arg(long)]
    pub latency: bool,
    /// Measure latencies in an open loop: COUNT operations a second arrive at random, and latency
    /// counts from the intended start of each; for about a minute at most
    #[arg(long, value_name = "COUNT", requires = "latency", value_parser = count::parse_rate)]
    pub rate: Option<u64>,
    /// Check that the drivers do basic operations right, and measure nothing
    #[arg(short = 'V', long)]
    pub verify: bool,
    /// Print only the last result: no progress, no banner, no rounds, no file names
    #[arg(short = 'Q', long, help_heading = OUTPUT)]
    pub quiet: bool,
    /// Print CrossBench's own text; with -r 0 only the header of its table, with -Q without that
    /// header
    #[arg(short = 'H', long, help_heading = OUTPUT)]
    pub header: bool,
    #[command(flatten)]
    pub trials: Trials,
    #[command(flatten)]
    pub baseline: BaselineArg,
    #[command(flatten)]
    pub common: Common,
}

impl CrossbenchArgs {
    /// Returns what `-V` verifies.
    pub(crate) fn as_verify(&self) -> Outcome<VerifyArgs> {
        if self.baseline.against.is_some() {
            return Err(Failure::Usage(
                "--against is for what is measured, and -V measures nothing; leave one out".into(),
            ));
        }
        Ok(VerifyArgs {
            engine: self.common.engine.clone(),
            storage: self.storage.clone(),
            durability: self.common.durability.map(LevelsArg::from),
            dir: self.common.dir.clone(),
            seed: self.common.seed,
            timeout: self.common.timeout,
            long: false,
        })
    }
}

#[derive(Args)]
#[command(after_help = "\
The counts are those of the published scripts: CrossDB's for crossdb and for engines that live \
in memory only, SQLite's for all others. The command of an interrupted ladder resumes it.")]
pub(crate) struct LadderArgs {
    /// Leave out sizes above this
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "100m")]
    pub max_rows: u64,
    /// Measure these storage modes only
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "all")]
    pub storage: Vec<StorageArg>,
    /// Keys: the published dense ones, or sparse ones
    #[arg(long, default_value = "dense")]
    pub keys: KeysArg,
    /// Measure everything again instead of resuming
    #[arg(long)]
    pub restart: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
#[command(
    override_usage = "assay run nudb [OPTIONS]",
    after_help = "\
Examples:
  assay run nudb --inserts 100k 1m --fetches 100k --dbs lmdb redb
  assay run nudb --num_batches 10 --raw_out curve.csv   ten batches of 20000 items"
)]
pub(crate) struct NudbArgs {
    /// Numbers of items to insert, each in a store of its own [default: 100000 1000000]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, num_args = 1..,
          value_delimiter = ',', conflicts_with_all = ["batch_size", "num_batches"])]
    pub inserts: Vec<u64>,
    /// Existing items to fetch in each store [default: 1000000; in batches, as many as a batch has]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive)]
    pub fetches: Option<u64>,
    /// Engines to measure, as --engine
    #[arg(long, value_name = "ENGINE", num_args = 1.., value_delimiter = ',',
          conflicts_with = "engine")]
    pub dbs: Vec<String>,
    /// Bytes of a key
    #[arg(long = "key_size", visible_alias = "key-size", value_name = "BYTES", default_value = "64",
          value_parser = count::parse_key_size)]
    pub key_size: u32,
    /// Bytes of a block, for engines that have such a setting (4096 in NuDB's bench)
    #[arg(long = "block_size", visible_alias = "block-size", value_name = "BYTES",
          value_parser = count::parse_positive)]
    pub block_size: Option<u64>,
    /// Load factor of the hash table, for engines that have such a setting (0.5 in NuDB's bench)
    #[arg(long = "load_factor", visible_alias = "load-factor", value_name = "SHARE",
          value_parser = count::parse_share)]
    pub load_factor: Option<f64>,
    /// Items in a batch: insert and fetch in batches, as the newer version of the bench does
    /// [default with --num_batches: 20000]
    #[arg(long = "batch_size", visible_alias = "batch-size", value_name = "COUNT",
          value_parser = count::parse_positive)]
    pub batch_size: Option<u64>,
    /// Number of batches [default with --batch_size: 500]
    #[arg(long = "num_batches", visible_alias = "num-batches", value_name = "COUNT",
          value_parser = count::parse_positive)]
    pub num_batches: Option<u64>,
    /// CSV file for the batches: num_db_items,db,op,ops/sec
    #[arg(long = "raw_out", visible_alias = "raw-out", value_name = "FILE")]
    pub raw_out: Option<PathBuf>,
    #[command(flatten)]
    pub continuous: Continuous,
    #[command(flatten)]
    pub repeats: Repeats,
    #[command(flatten)]
    pub measure: Measure,
}

#[derive(Args)]
pub(crate) struct SkvdbArgs {
    /// Numbers of threads, separated by commas; 2-16 means all from 2 to 16
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "2-16",
          value_parser = count::parse_threads)]
    pub threads: Vec<count::Threads>,
    /// Numbers of volumes mounted at one point, separated by commas
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "3,2,1",
          value_parser = count::between::<u32>(1, 16))]
    pub entries: Vec<u32>,
    /// Operations of each thread in each phase on properties
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "20k")]
    pub operations: u64,
    /// Child records that each thread links and unlinks; none for 0
    #[arg(long, value_name = "COUNT", value_parser = count::parse, default_value = "1k")]
    pub children: u64,
    #[command(flatten)]
    pub repeats: Repeats,
    #[command(flatten)]
    pub measure: Measure,
}

#[derive(Args)]
pub(crate) struct TonboWriteArgs {
    /// Multiply the published counts (500,000 loaded, 500,000 written one by one and 5,000 batches
    /// of 100 for each number of threads, 250,000 removed) by this
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = count::parse_scale)]
    pub scale: f64,
    /// Numbers of threads, separated by commas
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "1,4,8",
          value_parser = count::parse_threads)]
    pub threads: Vec<count::Threads>,
    #[command(flatten)]
    pub continuous: Continuous,
    #[command(flatten)]
    pub measure: Measure,
}

#[derive(Args)]
#[command(after_help = "\
With --dir, a loaded store stays there, and the next run with the same records opens it.")]
pub(crate) struct TonboReadArgs {
    /// Records to load [default: 400k; the published bench has 40m]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, conflicts_with = "tbl")]
    pub records: Option<u64>,
    /// Load the customers in this file, a TPC-H customer.tbl, instead of random ones
    #[arg(long, value_name = "FILE")]
    pub tbl: Option<PathBuf>,
    /// Random ranges in each phase
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "200")]
    pub ranges: u64,
    /// Records in a range; the published bench scans 200k
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "2k")]
    pub range_size: u64,
    /// Numbers of threads of the last phases, separated by commas
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "4,8,16,32",
          value_parser = count::parse_threads)]
    pub threads: Vec<count::Threads>,
    #[command(flatten)]
    pub repeats: Repeats,
    #[command(flatten)]
    pub measure: Measure,
}

#[derive(Args)]
pub(crate) struct TonboMicroArgs {
    /// Writes in a transaction, separated by commas
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1,16,128",
          value_parser = count::parse_positive)]
    pub batches: Vec<u64>,
    /// Seconds of writing before anything is sampled
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = count::parse_scale)]
    pub warm_up: f64,
    /// Seconds of all samples together, about
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = count::parse_scale)]
    pub measurement: f64,
    /// Number of samples
    #[arg(long, value_name = "COUNT", default_value = "100",
          value_parser = count::between::<u64>(10, 10_000))]
    pub samples: u64,
    #[command(flatten)]
    pub repeats: Repeats,
    #[command(flatten)]
    pub measure: Measure,
}

#[derive(Args)]
pub(crate) struct YcsbArgs {
    /// Workloads, separated by commas
    #[arg(short, long, value_name = "A-F", value_delimiter = ',', default_value = "a,b,c,d,e,f")]
    pub workload: Vec<WorkloadArg>,
    /// Records to load
    #[arg(long, value_name = "COUNT", value_parser = count::parse_records, default_value = "100k")]
    pub records: u64,
    /// Operations of all threads together
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "100k")]
    pub operations: u64,
    /// Numbers of threads, separated by commas
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "1",
          value_parser = count::parse_threads)]
    pub threads: Vec<count::Threads>,
    /// Distribution of keys [default: latest in workload d, zipfian in the others]
    #[arg(long, value_name = "DISTRIBUTION")]
    pub distribution: Option<DistributionArg>,
    /// Measure latencies in an open loop: COUNT operations a second arrive at random, and latency
    /// counts from the intended start of each; for about a minute at most [default: a closed loop]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_rate)]
    pub rate: Option<u64>,
    /// Fields of a record
    #[arg(long, value_name = "COUNT", default_value = "10",
          value_parser = count::between::<u32>(1, 32))]
    pub field_count: u32,
    /// Bytes of a field
    #[arg(long, value_name = "BYTES", default_value = "100",
          value_parser = count::between::<u32>(
              u64::from(assay_suites::ycsb::LEAST_FIELD_BYTES), 1 << 20))]
    pub field_length: u32,
    #[command(flatten)]
    pub repeats: Repeats,
    #[command(flatten)]
    pub measure: Measure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkloadArg {
    A,
    B,
    C,
    D,
    E,
    F,
}

impl WorkloadArg {
    pub(crate) fn workload(self) -> Workload {
        Workload::ALL[self as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DistributionArg {
    Zipfian,
    Uniform,
    Latest,
}

impl DistributionArg {
    pub(crate) fn distribution(self) -> Distribution {
        match self {
            Self::Zipfian => Distribution::Zipfian,
            Self::Uniform => Distribution::Uniform,
            Self::Latest => Distribution::Latest,
        }
    }
}

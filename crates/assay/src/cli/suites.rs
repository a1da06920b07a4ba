//! The options that the commands of suites have around the suites' own.

use std::path::PathBuf;

use assay_core::ageing::STEADY_WINDOWS;
use assay_driver::Storage;
use assay_suites::options::count as records;
use assay_suites::{crossbench, nudb, workload};
use clap::Args;

use program_support::exit::{Failure, Outcome};

use super::count;
use super::help::{ENGINES, MEASURING, OUTPUT};
use super::look::Look;
use super::trust::BaselineArg;
use super::values::{DurabilityArg, Format, KeyArg, LevelsArg, PageCacheArg, StorageArg};
use super::{Fill, Memory, RunSuite, VerifyArgs};

/// What all measuring commands share.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// Engines to measure, separated by commas; all, or '!NAME' for all but that one [default: all
    /// that can]
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',', help_heading = ENGINES)]
    pub engine: Vec<String>,
    /// Bind the work to these processors, such as 0-1,3, and each thread to the next of them
    #[arg(short, long, value_name = "CPU", value_delimiter = ',', value_parser = count::parse_cpus,
          help_heading = MEASURING)]
    pub cpu: Vec<count::Cpus>,
    /// What writes must survive; an engine without this level runs at its weakest stronger one
    /// [default: what the file of a workload says; memory none, ramdisk process, disk periodic]
    #[arg(long, value_name = "LEVEL", help_heading = ENGINES)]
    pub durability: Option<DurabilityArg>,
    /// Page cache at the start of each round after filling: warm, or cold: the store is closed, its
    /// files are dropped from the cache, and it is opened again (disk only)
    #[arg(long, value_name = "STATE", default_value = "warm", help_heading = ENGINES)]
    pub page_cache: PageCacheArg,
    #[command(flatten)]
    pub memory: Memory,
    /// Set a parameter of an engine; `assay list` shows them
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
    /// Run file to write [default: assay-runs/SUITE-TIME.json]
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
    /// Repeat an engine until, after two trials in a row, the wider side of each phase's 95 %
    /// interval is at most this share of the figure, such as 2%; at least 6 trials
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

/// The command of a suite without options of its own besides those of its cells.
#[derive(Args)]
pub(crate) struct SuiteArgs<O: Args> {
    #[command(flatten)]
    pub options: O,
    #[command(flatten)]
    pub measure: Measure,
}

/// The seconds of a window of `assay age`, and those after which it ends, by default.
const WINDOW_S: u64 = 10;
const LIMIT_S: u64 = 600;

/// The most records of a store that ages.
pub(crate) const MOST_AGEING: u64 = 1_000_000_000;

/// Reads a multiple of a size.
fn fill(text: &str) -> Result<Fill, String> {
    text.parse()
}

#[derive(Args)]
pub(crate) struct AgeArgs {
    /// Records to load [default: 100k]
    #[arg(long, value_name = "COUNT", value_parser = records::between::<u64>(1, MOST_AGEING))]
    pub records: Option<u64>,
    /// Load as many records as take this multiple of --cgroup, or of the machine's memory
    #[arg(long, value_name = "FACTOR", conflicts_with = "records", value_parser = fill)]
    pub fill: Option<Fill>,
    /// Seconds of a window; the last five are compared [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = records::between::<u64>(1, 17_280))]
    pub window: Option<u64>,
    /// Seconds after which "not steady" is the result, five windows at least [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = records::between::<u64>(5, 86_400))]
    pub limit: Option<u64>,
    #[command(flatten)]
    pub measure: Measure,
}

impl AgeArgs {
    /// Returns the workload that these options mean, with this number of records.
    pub(crate) fn workload(&self, records: Option<u64>) -> Outcome<workload::Options> {
        let window = self.window.unwrap_or(WINDOW_S);
        let least = window * STEADY_WINDOWS as u64;
        let limit = self.limit.unwrap_or(LIMIT_S.max(least));
        if limit < least {
            let why = format!("--limit {limit} is less than five windows of {window} s; raise it");
            return Err(Failure::Usage(why));
        }
        workload::Options::ageing(records, window, limit)
    }

    /// Returns the suite that these options mean, with this number of records.
    pub(crate) fn as_workload(&self, records: Option<u64>) -> Outcome<RunSuite> {
        let options = self.workload(records)?;
        let mut measure = self.measure.clone();
        // In memory nothing survives a killed process.
        if StorageArg::modes(&measure.storage) == [Storage::Memory] {
            measure.common.durability.get_or_insert(DurabilityArg::None);
        }
        Ok(RunSuite::Workload(Box::new(SuiteArgs { options, measure })))
    }
}

#[derive(Args)]
pub(crate) struct CrossbenchArgs {
    /// Storage modes: ramdisk | inmem | ondisk, or r | m | d, separated by commas, or all
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "ramdisk")]
    pub storage: Vec<StorageArg>,
    #[command(flatten)]
    pub options: crossbench::Options,
    /// Key type: default | hash | tree, or d | h | t
    #[arg(short, long, value_name = "KEY", default_value = "default")]
    pub key: KeyArg,
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
pub(crate) struct NudbArgs {
    #[command(flatten)]
    pub options: nudb::Options,
    /// Engines to measure, as --engine
    #[arg(long, value_name = "ENGINE", num_args = 1.., value_delimiter = ',',
          conflicts_with = "engine")]
    pub dbs: Vec<String>,
    /// CSV file for the batches: num_db_items,db,op,ops/sec
    #[arg(long, visible_alias = "raw_out", value_name = "FILE")]
    pub raw_out: Option<PathBuf>,
    #[command(flatten)]
    pub measure: Measure,
}

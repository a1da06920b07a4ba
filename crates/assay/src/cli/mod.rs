//! The command line. Everything a user can say is defined here, and its help is made from it: the
//! commands in this file, the options of the suites in `suites`, the words that options take in
//! `values`. `reading` reads a line of it.

mod advise;
mod compare;
pub(crate) mod count;
mod crash;
mod endings;
pub(crate) mod gate;
mod help;
mod internal;
pub(crate) mod isolate;
mod look;
mod memory;
mod reading;
pub(crate) mod size;
mod suites;
mod torture;
mod traces;
mod trust;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use assay_suites::tonbo::{micro, read, write};
use assay_suites::{skvdb, trace, workload, ycsb};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use help::{OUTPUT, PLUGINS};

pub(crate) use advise::{AdviseArgs, RankArg, SurvivesArg};
pub(crate) use compare::CompareArgs;
pub(crate) use crash::CrashArgs;
pub(crate) use endings::EndingArgs;
pub(crate) use gate::{GateArgs, GateFormat};
pub(crate) use internal::Internal;
pub(crate) use isolate::{IsolateArgs, IsolateFormat};
pub(crate) use look::{Look, width};
pub(crate) use memory::{CacheArg, Fill, Memory};
pub(crate) use reading::{Asked, parse, parse_crash, parse_suite};
pub(crate) use suites::*;
pub(crate) use torture::{PromiseArg, TortureArgs};
pub(crate) use traces::GenerateTraceArgs;
pub(crate) use values::*;

/// Measures embedded databases on the workloads that the field publishes.
#[derive(Parser)]
#[command(name = "assay", version, max_term_width = 100)]
#[command(after_help = "\
Exit status: 0 all measured and right; 1 a cell failed or an answer was wrong; 2 the command \
line is wrong; 3 a file, a directory or the machine does not allow it; 4 a comparison found a \
regression or could not judge all, or advise found no engine; 128 and its number a signal ended \
it: 130 SIGINT, 143 SIGTERM, 129 SIGHUP.")]
struct Cli {
    #[command(flatten)]
    plugins: Plugins,
    #[command(subcommand)]
    command: Command,
}

/// Engines in shared libraries.
#[derive(Args)]
pub(crate) struct Plugins {
    /// Load an engine from a shared library that implements assay_driver.h. A libNAME.so in a
    /// folder of ASSAY_PLUGINS, or else in ~/.local/share/assay/plugins, is found by its NAME
    #[arg(long = "plugin", global = true, value_name = "FILE", help_heading = PLUGINS)]
    pub paths: Vec<PathBuf>,
    /// Seconds to wait for a plugin, or the other build of --against, to describe its engine
    #[arg(long, global = true, value_name = "SECONDS", value_parser = count::parse_seconds,
          default_value = "60", help_heading = PLUGINS)]
    pub plugin_timeout: u64,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a suite and print its table; without one, a tour of a minute
    Run(Box<RunArgs>),
    /// Overwrite stores until they are steady; kill and halve them
    #[command(
        override_usage = "assay age [OPTIONS]",
        after_help = "\
`assay workload new age` writes the workload as a file, to be changed.

Examples:
  assay age -e fjall,redb,sqlite --records 1m --limit 1800
  assay age -e lmdb --fill 4x --cgroup 256m"
    )]
    Age(Box<AgeArgs>),
    /// Run a plan of suites; resumes if it was interrupted
    Plan(PlanArgs),
    /// Find the engine for a workload: measure until trials can tell
    Advise(Box<AdviseArgs>),
    /// Check that drivers do every operation right
    Verify(VerifyArgs),
    /// Run transactions at once, and name the anomalies that they show
    Isolate(IsolateArgs),
    /// Kill engines and cut the power, and check what survived
    Crash(Box<CrashArgs>),
    /// Crash any program while it writes, and check what survived
    Torture(Box<TortureArgs>),
    /// Diagnose machine settings that slow or destabilise measurements
    Doctor(DoctorArgs),
    /// List engines, what they can do, and why one is not available
    List(ListArgs),
    /// Generate an input file of a suite
    #[command(subcommand)]
    Generate(Generate),
    /// Write a workload's file, fit one to a trace, say what one means
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// Create or build a plugin: an engine in a shared library
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Print the tables of a run file
    Show(ShowArgs),
    /// Write run files as one HTML page
    Report(ReportArgs),
    /// Write run files and verdicts of tests as a static site
    Site(SiteArgs),
    /// Count instructions and system calls, to compare builds exactly
    Gate(GateArgs),
    /// Compare two run files, or two engines or two builds of one
    Compare(CompareArgs),
    /// Draw the published pictures of a run file
    Plot(PlotArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands
    Man {
        /// Directory for the pages [default: print the main page]
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    override_usage = "assay run [OPTIONS]\n       assay run SUITE [OPTIONS]",
    after_help = "\
Without a suite, all engines run CrossBench's operations on 100k rows in memory and on a RAM disk. \
Engines that synchronise each commit do fewer updates and deletes, and their figures are marked. \
The tables are printed, and a page is written next to the run file."
)]
pub(crate) struct RunArgs {
    #[command(subcommand)]
    pub suite: Option<RunSuite>,
    #[command(flatten)]
    pub tour: TourArgs,
}

#[derive(Args)]
pub(crate) struct TourArgs {
    /// Print only the tables: no progress, no file names
    #[arg(short = 'Q', long, help_heading = OUTPUT)]
    pub quiet: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Subcommand)]
pub(crate) enum RunSuite {
    /// CrossBench: insert or load, query, update and delete routes
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
    Crossbench(Box<CrossbenchArgs>),
    /// NuDB's bench: insert random items, fetch them; or both in batches, as the store grows
    #[command(
        override_usage = "assay run nudb [OPTIONS]",
        after_help = "\
Examples:
  assay run nudb --inserts 100k 1m --fetches 100k --dbs lmdb redb
  assay run nudb --num-batches 10 --raw-out curve.csv   ten batches of 20000 items"
    )]
    Nudb(Box<NudbArgs>),
    /// SKVDB's tables: threads write and read properties of records on mounted volumes
    Skvdb(Box<SuiteArgs<skvdb::Options>>),
    /// Tonbo's write bench: bulk load, individual and batch writes, removals
    TonboWrite(Box<SuiteArgs<write::Options>>),
    /// Tonbo's read bench: random ranges, whole and with one column
    TonboRead(Box<SuiteArgs<read::Options>>),
    /// Tonbo's criterion bench: writes of 256 bytes, 1, 16 and 128 in a transaction
    TonboMicro(Box<SuiteArgs<micro::Options>>),
    /// YCSB's core workloads A to F, or a property file of YCSB
    #[command(
        override_usage = "assay run ycsb [OPTIONS]",
        after_help = "\
Properties are those of YCSB's CoreWorkload; one that cannot be honoured is refused.

Examples:
  assay run ycsb -w a,e -t 1,4 -e lmdb,sqlite
  assay run ycsb -P workloada -p recordcount=1000000"
    )]
    Ycsb(Box<SuiteArgs<ycsb::Options>>),
    /// A workload of your own, as its file describes it
    #[command(
        override_usage = "assay run workload FILE [OPTIONS]",
        after_help = "\
Examples:
  assay workload new documents -o documents.toml      a commented file, to be changed
  assay workload check documents.toml                 what it means
  assay run workload documents.toml -e sqlite,lmdb
  assay run workload twitter:12                       a cache, from published figures"
    )]
    Workload(Box<SuiteArgs<workload::Options>>),
    /// A trace of what a program did, replayed
    #[command(
        override_usage = "assay run trace FILE [OPTIONS]",
        after_help = "\
Formats: twitter (github.com/twitter/cache-trace), metakv (CacheLib's key-value caches), rocksdb \
(the text that trace_analyzer makes of a query trace), csv (time, operation, key, bytes of the \
value, records of a scan).

Examples:
  assay run trace cluster012.zst -e lode,lmdb --first 10m
  assay run trace requests.csv --pace recorded --threads 4 --prefill"
    )]
    Trace(Box<SuiteArgs<trace::Options>>),
}

#[derive(Subcommand)]
pub(crate) enum Generate {
    /// Customers as TPC-H has them, for `assay run tonbo-read --tbl`
    Customer(GenerateCustomerArgs),
    /// A trace of a workload's operations, for `assay run trace`
    Trace(GenerateTraceArgs),
}

#[derive(Args)]
pub(crate) struct GenerateCustomerArgs {
    /// Number of customers; TPC-H has 150k for each unit of its scale factor
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse_positive,
          default_value = "150k")]
    pub rows: u64,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Seed of the contents
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
}

#[derive(Args)]
#[command(after_help = "\
crossbench-ladder is CrossBench's published scripts: 1k to 100m rows, on disk, on a RAM disk and \
in memory, three times each; assay show RUN --format published prints its tables.

A plan file is TOML: each [[run]] names a suite and its options as in `assay run SUITE --help`, \
without the dashes; options of all runs come first.

  engine = [\"sqlite\", \"lmdb\"]
  trials = 3
  [[run]]
  suite = \"crossbench\"
  insert = \"100k\"
  [[run]]
  suite = \"ycsb\"
  workload = [\"a\", \"c\"]
  threads = [1, 4]

With runs = \"FOLDER\" before the runs, each run has a file there, NAME.json.gz after the run's \
name = \"…\"; a complete file is not measured again. [[crash]] then has the options of `assay \
crash`; its verdicts are in durability.json there.

The command of an interrupted plan resumes it; cells that are measured are not repeated.

Examples:
  assay plan crossbench-ladder -e sqlite --max-rows 1m --dry-run
  assay plan -c plan.toml --with cpu=1 --for 30m")]
pub(crate) struct PlanArgs {
    /// Plan that comes with assay
    #[arg(value_name = "PLAN", conflicts_with = "config")]
    pub plan: Option<ShippedPlan>,
    /// Plan file
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Measure these engines, in place of the plan's
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Measure in these storage modes, in place of the plan's
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',')]
    pub storage: Vec<String>,
    /// Set an option in place of the plan's, for all runs, such as durability=commit
    #[arg(long, value_name = "OPTION=VALUE", value_parser = option_and_value)]
    pub with: Vec<(String, String)>,
    /// Leave out stores of more rows
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive)]
    pub max_rows: Option<u64>,
    /// Directory for stores on disk and RAM disk [default: the plan's]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// Print the plan and its estimated time, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Time budget, such as 30m or 2h: start no cell that would end later; run the command again
    /// to resume
    #[arg(long = "for", value_name = "TIME", value_parser = count::parse_time)]
    pub limit: Option<Duration>,
    /// Measure everything again instead of resuming
    #[arg(long)]
    pub restart: bool,
    /// Print only the tables: no progress, no file names
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// Run file to write [default: the plan's, or assay-runs/NAME.json after the plan's name]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// Engines to verify, separated by commas; all, or '!NAME' for all but that one [default: all]
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Storage modes to verify
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "all")]
    pub storage: Vec<StorageArg>,
    /// Durability level, or all [default: memory none, ramdisk process, disk periodic]
    #[arg(long, value_name = "LEVEL")]
    pub durability: Option<LevelsArg>,
    /// Directory for stores on disk and RAM disk
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Seed of the random operations
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
    /// Abandon the checks of an engine after this many seconds [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_seconds)]
    pub timeout: Option<u64>,
    /// Print the name of every check
    #[arg(short, long)]
    pub long: bool,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Storage modes: ramdisk | inmem | ondisk, or r | m | d, separated by commas, or all
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "all")]
    pub storage: Vec<StorageArg>,
    /// Directory for stores on disk and RAM disk
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum WorkloadCommand {
    /// Write a commented file of a common kind, to be changed
    New {
        /// Kind of workload: documents, indexed, cache, queue, timeseries, blobs, sessions,
        /// counters, bulk or age; ycsb-a to ycsb-f; or twitter:1 to twitter:54, caches at Twitter
        /// in 2020
        kind: workload::Ready,
        /// File to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Say what a file means: operations, bytes, skew, and which engines can do it on disk
    Check {
        /// Workload file, or twitter:1 to twitter:54
        file: PathBuf,
    },
    /// Write the workload that is like a trace, and say how far it is from it
    #[command(after_help = "\
Fitted are the mix, the bytes of values, the records of scans, the exponent of Zipf's law, growth \
and rate. A distance is 0 if a property is equal, 1 at most: half the sum of the differences of \
shares, or the greatest difference of two distributions.

Example:
  assay workload fit requests.csv.zst -o requests.toml")]
    Fit {
        #[command(flatten)]
        options: trace::FitOptions,
        /// File to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Subcommand)]
pub(crate) enum PluginCommand {
    /// Write the source of a plugin that builds, with every operation to fill in
    New {
        /// Name of the plugin and id of the engine: lower-case letters, digits and hyphens
        name: String,
        /// Directory to create [default: NAME here]
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
    /// Build a plugin that comes with assay, with your copy of its engine
    Build(PluginBuildArgs),
}

#[derive(Args)]
#[command(after_help = "\
The library is written to the first folder of ASSAY_PLUGINS (separated by colons), or else to \
$XDG_DATA_HOME/assay/plugins, by default ~/.local/share/assay/plugins. Building needs make, a C++ \
compiler (CXX, or c++) and Boost (libboost-dev on Debian; skvdb also libboost-filesystem-dev).

Examples:
  assay plugin build nudb --with NuDB/include
  assay run nudb --dbs nudb,lmdb                 measure it like other engines")]
pub(crate) struct PluginBuildArgs {
    /// The engine: nudb or skvdb
    pub name: String,
    /// The folder of NuDB's headers, or of SKVDB's sources
    #[arg(long, value_name = "DIR")]
    pub with: PathBuf,
    /// The folder of Boost's headers [default: where the compiler looks]
    #[arg(long, value_name = "DIR")]
    pub boost: Option<PathBuf>,
    /// The folder for the library [default: the folder of plugins]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ListArgs {
    /// List these engines only; all, or '!NAME' for all but that one
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Print JSON, for other programs
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// Run file
    pub run: PathBuf,
    /// Output format: a table, the text that the suite's own program prints, or a format for
    /// documents and other programs
    #[arg(long, default_value = "table")]
    pub format: ShowFormat,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Run files; their results are combined
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// Page to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
The site has an index, a page for each suite, a page of what survives a crash, and copies of the \
run files. It needs no network and no server. The folder must be empty or have an earlier site; \
only files of that site are replaced.

Examples:
  assay site docs/results/runs                   the pages of a plan's results
  assay site a.json b.json.gz durability.json -o results")]
pub(crate) struct SiteArgs {
    /// Run files, files of verdicts (`assay crash`, `assay isolate`), or folders of these
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// Folder of the site
    #[arg(short, long, value_name = "DIR", default_value = "assay-site")]
    pub output: PathBuf,
}

#[derive(Args)]
pub(crate) struct PlotArgs {
    /// Run files; their results are combined
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// Directory for the pictures [default: that of the first run file]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Use logarithmic axes everywhere [default: where figures differ by more than 30 times]
    #[arg(long)]
    pub log: bool,
}

/// The definition of the command line, from which completions and manual pages are made.
pub(crate) fn definition() -> clap::Command {
    help::grouped(Cli::command())
}

/// Reads an option of a run and its value.
fn option_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((option, value)) if !option.is_empty() => Ok((option.into(), value.into())),
        _ => Err("write an option and its value, such as durability=commit".into()),
    }
}

//! The command line. Everything a user can say is defined here, and its help is made from it: the
//! commands in this file, the options of the suites in `suites`, the words that options take in
//! `values`. `reading` reads a line of it.

pub(crate) mod count;
mod help;
mod internal;
mod look;
mod memory;
mod reading;
pub(crate) mod size;
mod suites;
mod trust;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use help::{OUTPUT, PLUGINS};

pub(crate) use internal::Internal;
pub(crate) use look::{Look, width};
pub(crate) use memory::{CacheArg, Memory};
pub(crate) use reading::{Asked, parse, parse_crash, parse_suite};
pub(crate) use suites::*;
pub(crate) use values::*;

/// The default folder of what crash tests found broken.
const IMAGES_FOLDER: &str = "assay-runs/broken-stores";

/// Measures embedded databases on the workloads that the field publishes.
#[derive(Parser)]
#[command(name = "assay", version, max_term_width = 100)]
#[command(after_help = "\
Exit status: 0 all measured and right; 1 a cell failed or an answer was wrong; 2 the command \
line is wrong; 3 a file, a directory or the machine does not allow it; 4 a comparison found a \
regression, or could not judge all; 128 and its number a signal ended it: 130 SIGINT, \
143 SIGTERM, 129 SIGHUP.")]
struct Cli {
    #[command(flatten)]
    plugins: Plugins,
    #[command(subcommand)]
    command: Command,
}

/// Engines in shared libraries.
#[derive(Args)]
pub(crate) struct Plugins {
    /// Load an engine from a shared library that follows assay_driver.h; libNAME.so in a folder of
    /// ASSAY_PLUGINS, or else in ~/.local/share/assay/plugins, is found by its NAME
    #[arg(long = "plugin", global = true, value_name = "FILE", help_heading = PLUGINS)]
    pub paths: Vec<PathBuf>,
    /// Give a plugin, or the other build of --against, up that has not described its engine after
    /// this many seconds
    #[arg(long, global = true, value_name = "SECONDS", value_parser = count::parse_seconds,
          default_value = "60", help_heading = PLUGINS)]
    pub plugin_timeout: u64,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a suite and show its table; without one, a tour of a minute
    Run(Box<RunArgs>),
    /// Run the published sizes of a suite; resumes where it stopped
    #[command(subcommand)]
    Ladder(LadderSuite),
    /// Run a whole plan that stands in a file; resumes where it stopped
    Plan(PlanArgs),
    /// Check that drivers do what they should
    Verify(VerifyArgs),
    /// Kill engines, cut the power, and see whether promises were kept
    Crash(Box<CrashArgs>),
    /// Find what of this machine makes figures worse or less steady
    Doctor(DoctorArgs),
    /// Show engines, what they can do, and why one is not available
    List(ListArgs),
    /// Write a file that a suite can read
    #[command(subcommand)]
    Generate(Generate),
    /// Begin or build a plugin: an engine in a shared library of its own
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Show a run file again
    Show(ShowArgs),
    /// Make one page of run files
    Report(ReportArgs),
    /// Make a static site of run files and of what crash tests found
    Site(SiteArgs),
    /// Compare two run files, or two engines or two builds of one
    Compare(CompareArgs),
    /// Draw the published pictures from a run file
    Plot(PlotArgs),
    /// Print the completions for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands
    Man {
        /// Directory for the pages [default: print the main one]
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    override_usage = "assay run [OPTIONS]\n       assay run SUITE [OPTIONS]",
    after_help = "\
Without a suite, all engines do CrossBench's operations on 100k rows in memory and on a RAM disk. \
Engines that synchronise each commit do fewer updates and deletes, and their figures are marked. \
The table is printed, and a page is written beside the run file."
)]
pub(crate) struct RunArgs {
    #[command(subcommand)]
    pub suite: Option<RunSuite>,
    #[command(flatten)]
    pub tour: TourArgs,
}

#[derive(Args)]
pub(crate) struct TourArgs {
    /// Only the table: no progress, and not where the files are
    #[arg(short = 'Q', long, help_heading = OUTPUT)]
    pub quiet: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Subcommand)]
pub(crate) enum RunSuite {
    /// CrossBench: insert or load, query, update and delete routes
    Crossbench(Box<CrossbenchArgs>),
    /// NuDB's bench: insert random items, fetch them; or both in batches, as the store grows
    Nudb(Box<NudbArgs>),
    /// SKVDB's tables: threads write and read properties of records on mounted volumes
    Skvdb(Box<SkvdbArgs>),
    /// Tonbo's write bench: bulk load, individual and batch writes, removals
    TonboWrite(Box<TonboWriteArgs>),
    /// Tonbo's read bench: random ranges, whole and with one column
    TonboRead(Box<TonboReadArgs>),
    /// Tonbo's criterion bench: writes of 256 bytes, 1, 16 and 128 in a transaction
    TonboMicro(Box<TonboMicroArgs>),
    /// YCSB's core workloads A to F
    Ycsb(Box<YcsbArgs>),
}

#[derive(Subcommand)]
pub(crate) enum LadderSuite {
    /// CrossBench: 1k to 100m rows, on disk, on a RAM disk and in memory, three times each
    Crossbench(Box<LadderArgs>),
}

#[derive(Subcommand)]
pub(crate) enum Generate {
    /// Customers as TPC-H has them, for `assay run tonbo-read --tbl`
    Customer(GenerateCustomerArgs),
}

#[derive(Args)]
pub(crate) struct GenerateCustomerArgs {
    /// How many customers; TPC-H has 150k for each unit of its scale factor
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse_positive,
          default_value = "150k")]
    pub rows: u64,
    /// Where they go [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Seed of their contents
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
}

#[derive(Args)]
#[command(after_help = "\
The plan is TOML: each [[run]] names a suite and its options as `assay run SUITE --help` has them, \
without the dashes; options of all runs stand above.

  engine = [\"sqlite\", \"lmdb\"]
  trials = 3
  [[run]]
  suite = \"crossbench\"
  insert = \"100k\"
  [[run]]
  suite = \"ycsb\"
  workload = [\"a\", \"c\"]
  threads = [1, 4]

With runs = \"FOLDER\" above the runs, each goes into a run file of its own there, NAME.json.gz \
after the run's name = \"…\"; what is whole is not measured again. [[crash]] then has the options \
of `assay crash`; its verdicts are in durability.json there.

An interrupted plan goes on with the same command; cells that are done are not repeated.")]
pub(crate) struct PlanArgs {
    /// The plan
    #[arg(short, long, value_name = "FILE")]
    pub config: PathBuf,
    /// Only print the plan and about how long it takes
    #[arg(long)]
    pub dry_run: bool,
    /// Begin no cell that would end later than this long from now, such as 30m or 2h; the same
    /// command goes on another time
    #[arg(long = "for", value_name = "TIME", value_parser = count::parse_time)]
    pub limit: Option<Duration>,
    /// Measure everything anew instead of resuming
    #[arg(long)]
    pub restart: bool,
    /// Only the table: no progress, and not where the run file is
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// Where the run file goes [default: what the plan says, or assay-runs/NAME.json after the
    /// plan's name]
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
    /// At which level, or all [default: memory none, ramdisk process, disk periodic]
    #[arg(long, value_name = "LEVEL")]
    pub durability: Option<LevelsArg>,
    /// Directory for stores on disk and RAM disk
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Seed of the random operations
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
    /// Give the checks of an engine up after this many seconds [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_seconds)]
    pub timeout: Option<u64>,
    /// Name every check
    #[arg(short, long)]
    pub long: bool,
}

#[derive(Args)]
#[command(after_help = "\
A writer commits a seeded history and acknowledges each commit; at a moment that the seed draws \
it is killed, or the power of the filesystem below it goes. Then another process opens the store: \
all that was acknowledged has to be there, of the commit in flight all or nothing, nothing else, \
and the store has to go on. Power cuts need root and /dev/fuse.

Examples:
  assay crash -e sqlite,lmdb                     every level, both kinds of crash
  assay crash -e redb --durability commit --crash power --rounds 200
  assay crash --open assay-runs/broken-stores/sled-commit-power-1-0")]
pub(crate) struct CrashArgs {
    /// Engines to test, separated by commas; all, or '!NAME' for all but that one [default: all
    /// that keep something on disk]
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// At which level, or all
    #[arg(long, value_name = "LEVEL", default_value = "all")]
    pub durability: Option<LevelsArg>,
    /// How to end it: process kills it, power cuts the power of its filesystem
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "process,power")]
    pub crash: Vec<CrashArg>,
    /// Crashes for each engine, level and kind
    #[arg(long, value_name = "COUNT", default_value = "24",
          value_parser = count::between::<u32>(1, 1_000_000))]
    pub rounds: u32,
    /// Further crashes for a level that broke its promise, so that it is known how often it does
    /// [default: four times as many]
    #[arg(long, value_name = "COUNT", value_parser = count::between::<u32>(0, 1_000_000))]
    pub further: Option<u32>,
    /// Test only what the file of verdicts has not yet, with as many crashes and commits
    #[arg(long, conflicts_with_all = ["round", "loss"])]
    pub missing: bool,
    /// Commits in the history of a round
    #[arg(long, value_name = "COUNT", default_value = "300",
          value_parser = count::between::<u32>(1, 1_000_000))]
    pub commits: u32,
    /// Run this round only, and leave the verdicts as they are
    #[arg(long, value_name = "NUMBER", conflicts_with = "rounds",
          value_parser = count::between::<u32>(0, 999_999))]
    pub round: Option<u32>,
    /// The moment of the crash, instead of one that is drawn: the commit whose acknowledgement is
    /// waited for, or the file operation that the power cut comes before
    #[arg(long, value_name = "NUMBER", requires = "round",
          value_parser = count::parse_positive)]
    pub at: Option<u64>,
    /// What a power cut takes of what was not synchronised: everything, nothing, prefix, files,
    /// sectors-512 or sectors-4096; verdicts are left as they are [default: rounds take turns]
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<assay_powercut::Loss>,
    /// When a power cut spares names of files: journal, if anything was synchronised after them,
    /// as on ext4; strict, if their directory was
    #[arg(long, value_name = "RULE", default_value = "journal")]
    pub directories: DirectoriesArg,
    /// The folder for images of stores: the files as a crash left them, of each round that broke
    /// its promise
    #[arg(long, value_name = "DIR", default_value = IMAGES_FOLDER)]
    pub images: PathBuf,
    /// Test no engine: look at a copy of such an image again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["engine", "round", "loss", "missing"])]
    pub open: Option<PathBuf>,
    /// Choose a setting of an engine; `assay list` shows them
    #[arg(long = "set", value_name = "ENGINE.NAME=VALUE")]
    pub set: Vec<String>,
    /// Directory for the stores [default: _benchmarkdb here]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Seed of the histories and of the moments of the crashes
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
    /// How many seconds a writer or a checker may take
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_seconds, default_value = "60")]
    pub timeout: u64,
    /// The file of verdicts, in which later runs look engines up that they mark [default:
    /// assay-runs/durability.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Where the data would live: ramdisk | inmem | ondisk, or r | m | d; several with commas, or
    /// all
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "all")]
    pub storage: Vec<StorageArg>,
    /// Directory for stores on disk and RAM disk
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum PluginCommand {
    /// Write a plugin that builds, with everything still to be filled in
    New {
        /// Its name, which is the engine's id: lower-case letters, digits and hyphens
        name: String,
        /// The directory to make [default: NAME here]
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
    /// Build a plugin whose source is in this program, against your copy of its engine
    Build(PluginBuildArgs),
}

#[derive(Args)]
#[command(after_help = "\
The library goes where plugins are looked for: into the first folder of ASSAY_PLUGINS (folders \
with colons between them), or else into $XDG_DATA_HOME/assay/plugins, which is \
~/.local/share/assay/plugins unless you say otherwise. It takes make, a C++ compiler (CXX, or c++) \
and Boost (libboost-dev on Debian; skvdb also libboost-filesystem-dev).

Examples:
  assay plugin build nudb --with NuDB/include
  assay run nudb --dbs nudb,lmdb                 the engine is there as others are")]
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
    /// Show these engines only; all, or '!NAME' for all but that one
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Print JSON, for other programs
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// A run file
    pub run: PathBuf,
    /// How to show it: as our table, as the text that the suite's project publishes, or for
    /// documents and other programs
    #[arg(long, default_value = "table")]
    pub format: ShowFormat,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Run files; what they measured is put together
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// The page to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
The site is an index, a page a suite, what survives a crash, and copies of the run files. It needs \
no network and no server. The folder has to be empty or that of an earlier site; only files of \
that are replaced.

Examples:
  assay site docs/results/runs                   the pages of a plan's results
  assay site a.json b.json.gz durability.json -o results")]
pub(crate) struct SiteArgs {
    /// Run files, files of verdicts that `assay crash` wrote, or folders of such files
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// The folder of the site
    #[arg(short, long, value_name = "DIR", default_value = "assay-site")]
    pub output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  assay run crossbench -e lmdb --trials 5 -o before.json     and after the change -o after.json
  assay compare before.json after.json --fail-on-regression 5%
  assay compare run.json --engines sqlite,lmdb                an engine against another
  assay compare run.json                                      two builds: assay run … --against")]
pub(crate) struct CompareArgs {
    /// The run file to compare with
    pub base: PathBuf,
    /// The run file that is compared [default: the two builds in the first, if `assay run
    /// --against` wrote it]
    #[arg(conflicts_with = "engines")]
    pub new: Option<PathBuf>,
    /// Compare the second of these two engines with the first, in one run file
    #[arg(long, value_name = "BASE,NEW", value_parser = two_engines)]
    pub engines: Option<(String, String)>,
    /// End with status 4 if something is found to be worse, and surely by this much: its whole
    /// interval is beyond; also if something of the base was not judged: the other side lacks it,
    /// has it wrong, or there are too few trials
    #[arg(long, value_name = "PERCENT", value_parser = count::parse_percent)]
    pub fail_on_regression: Option<f64>,
    /// With --fail-on-regression, judge what can be judged and let the rest pass
    #[arg(long, requires = "fail_on_regression")]
    pub allow_missing: bool,
    /// How to show it: as a table, or for documents and other programs
    #[arg(long, default_value = "text")]
    pub format: CompareFormat,
    /// Compare other machines, levels, settings or operations too; the differences are named
    #[arg(long)]
    pub allow_differences: bool,
}

#[derive(Args)]
pub(crate) struct PlotArgs {
    /// Run files; what they measured is drawn together
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// Directory for the pictures [default: beside the first run file]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Axes by factors everywhere; without it, where figures are more than 30 times apart
    #[arg(long)]
    pub log: bool,
}

/// The definition of the command line, from which completions and manual pages are made.
pub(crate) fn definition() -> clap::Command {
    help::grouped(Cli::command())
}

/// Reads two engines.
fn two_engines(text: &str) -> Result<(String, String), String> {
    match text.split_once(',') {
        Some((base, new)) if base == new => Err("these are the same engine".into()),
        Some((base, new)) if !base.is_empty() && !new.is_empty() && !new.contains(',') => {
            Ok((base.into(), new.into()))
        }
        _ => Err("write two engines with a comma between them".into()),
    }
}

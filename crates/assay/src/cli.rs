//! The command line. Everything a user can say is defined here, and its help is made from it.

use std::path::PathBuf;

use assay_core::driver::{Durability, KeyKind, Storage};
use assay_core::plan::PageCache;
use assay_suites::crossbench::Keys;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::count;
use crate::exit::Failure;

/// Measures embedded databases on the workloads that the field publishes.
#[derive(Parser)]
#[command(name = "assay", version, max_term_width = 100)]
#[command(after_help = "\
Exit status: 0 all measured and right; 1 a cell failed or an answer was wrong; 2 the command \
line is wrong; 3 a file, a directory or the machine does not allow it; 130 interrupted.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run a suite and show its table
    #[command(subcommand)]
    Run(RunSuite),
    /// Run the published sizes and counts of a suite, one after another; resumes where it stopped
    #[command(subcommand)]
    Ladder(LadderSuite),
    /// Check that drivers do what they should
    Verify(VerifyArgs),
    /// Show engines, what they can do, and why one is not available
    List(ListArgs),
    /// Show a run file again
    Show(ShowArgs),
    /// Draw the published pictures from a run file
    Plot(PlotArgs),
    /// Measure one cell, for the parent process
    #[command(hide = true)]
    Worker,
}

#[derive(Subcommand)]
pub enum RunSuite {
    /// CrossBench: insert or load, query, update and delete routes
    Crossbench(Box<CrossbenchArgs>),
}

#[derive(Subcommand)]
pub enum LadderSuite {
    /// CrossBench: 1k to 100m rows, on disk, on a RAM disk and in memory, three times each
    Crossbench(Box<LadderArgs>),
}

/// What all measuring commands share.
#[derive(Args, Clone)]
pub struct Common {
    /// Engines to measure, separated by commas [default: all that can]
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Bind the work to these processors; several threads take turns on them
    #[arg(short, long, value_name = "CPU", value_delimiter = ',')]
    pub cpu: Vec<usize>,
    /// Which keys: dense are the published consecutive prefixes, which flatter identity hashes;
    /// sparse spreads as many over the whole 32-bit range
    #[arg(long, default_value = "dense")]
    pub keys: KeysArg,
    /// What writes must survive [default: memory none, ramdisk process, disk periodic]; an
    /// engine without the level runs at the weakest one that promises as much
    #[arg(long, value_name = "LEVEL")]
    pub durability: Option<DurabilityArg>,
    /// Page cache when a phase after the filling begins: warm as it is, or cold, for which the
    /// store is closed, its files dropped from the cache, and opened again (disk only)
    #[arg(long, value_name = "STATE", default_value = "warm")]
    pub page_cache: PageCacheArg,
    /// Choose a setting of an engine; `assay list` shows them
    #[arg(long = "set", value_name = "ENGINE.NAME=VALUE")]
    pub set: Vec<String>,
    /// Set engines up as the published drivers do, where that is not the default
    #[arg(long)]
    pub as_published: bool,
    /// Directory for stores on disk and RAM disk [default: _benchmarkdb here for disk, on
    /// /dev/shm for ramdisk]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Seed of keys, records and order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Give a cell up after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_positive)]
    pub timeout: Option<u64>,
    /// Where the run file goes [default: assay-runs/SUITE-TIME.json; a ladder has a fixed name]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How to show the result: as our table, or as the text that CrossBench prints
    #[arg(long, default_value = "table")]
    pub format: Format,
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
pub struct CrossbenchArgs {
    /// Where the data lives: ramdisk | inmem | ondisk, or r | m | d; several with commas, or all
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "ramdisk")]
    pub storage: Vec<StorageArg>,
    /// Insert so many rows, one transaction each [default: 1m]
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse_positive,
          conflicts_with_all = ["load", "rows"])]
    pub insert: Option<u64>,
    /// Open the store that an earlier run left, with so many rows; 0 with -H only prints the header
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse)]
    pub rows: Option<u64>,
    /// Look up so many rows in each of ten rounds
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub query: u64,
    /// Update so many rows in each of ten rounds
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub update: u64,
    /// Delete so many rows, at most all; what is left stays for -r
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub delete: u64,
    /// Load so many rows in one transaction instead of inserting them
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse_positive,
          conflicts_with = "rows")]
    pub load: Option<u64>,
    /// Key type: default | hash | tree, or d | h | t
    #[arg(short, long, value_name = "KEY", default_value = "default")]
    pub key: KeyArg,
    /// Visit rows in order [default: at random]
    #[arg(short = 'S', long)]
    pub sequential: bool,
    /// Verify that the drivers do basic operations right, and measure nothing
    #[arg(short = 'V', long)]
    pub verify: bool,
    /// Only the last result: no progress, no banner and rounds, the table without explanations
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// Print the header of the result table; with -Q, leave it out
    #[arg(short = 'H', long)]
    pub header: bool,
    /// Repetitions of the whole; engines take turns
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "1")]
    pub trials: u64,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
#[command(after_help = "\
The counts are those of the published scripts: CrossDB's for crossdb and for engines that live \
in memory only, SQLite's for all others. An interrupted ladder goes on with the same command.")]
pub struct LadderArgs {
    /// Leave out sizes above this
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "100m")]
    pub max_rows: u64,
    /// Measure these storage modes only
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "all")]
    pub storage: Vec<StorageArg>,
    /// Measure everything anew instead of resuming
    #[arg(long)]
    pub restart: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct VerifyArgs {
    /// Engines to verify, separated by commas [default: all]
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
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Give an engine up after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_positive)]
    pub timeout: Option<u64>,
    /// Name every check
    #[arg(short, long)]
    pub long: bool,
}

#[derive(Args)]
pub struct ListArgs {
    /// Show these engines only
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
}

#[derive(Args)]
pub struct ShowArgs {
    /// A run file
    pub run: PathBuf,
    /// How to show it
    #[arg(long, default_value = "table")]
    pub format: Format,
}

#[derive(Args)]
pub struct PlotArgs {
    /// Run files; what they measured is drawn together
    #[arg(required = true)]
    pub run: Vec<PathBuf>,
    /// Directory for the pictures [default: beside the first run file]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Logarithmic axes, for engines that are orders of magnitude apart
    #[arg(long)]
    pub log: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StorageArg {
    #[value(alias = "r")]
    Ramdisk,
    #[value(aliases = ["m", "memory"])]
    Inmem,
    #[value(aliases = ["d", "disk"])]
    Ondisk,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyArg {
    #[value(alias = "d")]
    Default,
    #[value(alias = "h")]
    Hash,
    #[value(alias = "t")]
    Tree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeysArg {
    Dense,
    Sparse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageCacheArg {
    Warm,
    Cold,
}

impl PageCacheArg {
    pub fn state(self) -> PageCache {
        match self {
            Self::Warm => PageCache::Warm,
            Self::Cold => PageCache::Cold,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurabilityArg {
    None,
    Process,
    Periodic,
    Commit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LevelsArg {
    None,
    Process,
    Periodic,
    Commit,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Crossbench,
}

impl StorageArg {
    /// The chosen storage modes, each once, in the order memory, ramdisk, disk.
    pub fn modes(chosen: &[Self]) -> Vec<Storage> {
        let has = |storage| {
            chosen.iter().any(|arg| match arg {
                Self::Ramdisk => storage == Storage::Ramdisk,
                Self::Inmem => storage == Storage::Memory,
                Self::Ondisk => storage == Storage::Disk,
                Self::All => true,
            })
        };
        Storage::ALL.iter().copied().filter(|&storage| has(storage)).collect()
    }
}

impl KeyArg {
    /// The kind, or none for the engine's own default.
    pub fn kind(self) -> Option<KeyKind> {
        match self {
            Self::Default => None,
            Self::Hash => Some(KeyKind::Hash),
            Self::Tree => Some(KeyKind::Tree),
        }
    }
}

impl KeysArg {
    pub fn keys(self) -> Keys {
        match self {
            Self::Dense => Keys::Dense,
            Self::Sparse => Keys::Sparse,
        }
    }
}

impl LevelsArg {
    /// The level; none for all of them.
    pub fn level(self) -> Option<Durability> {
        match self {
            Self::None => Some(Durability::None),
            Self::Process => Some(Durability::Process),
            Self::Periodic => Some(Durability::Periodic),
            Self::Commit => Some(Durability::Commit),
            Self::All => None,
        }
    }
}

impl From<DurabilityArg> for LevelsArg {
    fn from(level: DurabilityArg) -> Self {
        match level {
            DurabilityArg::None => Self::None,
            DurabilityArg::Process => Self::Process,
            DurabilityArg::Periodic => Self::Periodic,
            DurabilityArg::Commit => Self::Commit,
        }
    }
}

impl DurabilityArg {
    pub fn level(self) -> Durability {
        match self {
            Self::None => Durability::None,
            Self::Process => Durability::Process,
            Self::Periodic => Durability::Periodic,
            Self::Commit => Durability::Commit,
        }
    }
}

/// Reads the command line; what is wrong with it becomes one line.
pub fn parse() -> Result<Command, Failure> {
    Cli::try_parse().map(|cli| cli.command).map_err(|error| {
        if !error.use_stderr() {
            // Help or version; a reader that went away is no error.
            let _ = error.print();
            return Failure::Quiet(0);
        }
        Failure::Usage(one_line(&error))
    })
}

/// clap says what is wrong in a first paragraph, then hints, then usage.
fn one_line(error: &clap::Error) -> String {
    use clap::error::ErrorKind;
    if let ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =
        error.kind()
    {
        return "no command given; see assay --help".into();
    }
    let text = error.render().to_string();
    let said: Vec<_> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(|line| line.trim().trim_start_matches("error: ").trim_start_matches("tip: "))
        .filter(|line| !line.is_empty())
        .collect();
    format!("{}; see --help", said.join("; ").replace(":; ", ": "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_published_option_has_its_letter() {
        let cli = Cli::command();
        let run = cli.find_subcommand("run").expect("run");
        let crossbench = run.find_subcommand("crossbench").expect("crossbench");
        for letter in "sirludqckSVQHe".chars() {
            let option = crossbench
                .get_arguments()
                .find(|arg| arg.get_short() == Some(letter))
                .unwrap_or_else(|| panic!("-{letter}"));
            assert!(option.get_long().is_some(), "-{letter} has a long name");
        }
    }
}

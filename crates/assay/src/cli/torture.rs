//! The options of `assay torture`.

use std::path::PathBuf;

use assay_core::durability::Lasts;
use clap::{Args, ValueEnum};

use super::{CrashArg, DirectoriesArg, FaultArg, count};

/// The default folder of the directories that broke a promise.
const IMAGES_FOLDER: &str = "assay-runs/tortured";

#[derive(Args)]
#[command(after_help = "\
The writer is a shell command. It works in a directory, which ASSAY_DIR names too, and prints \
lines: `try ITEM` before it writes an item, `ack ITEM` as soon as that item has to survive. An \
item is any text. At a moment that the seed draws, the writer is killed with all of its processes, \
or the filesystem of its directory loses power. Then the checker, another command, works in the \
directory and prints the items that are there, a line each. Every acknowledged item must be there, \
and none that was never tried. First both commands run once without a crash. Power cuts need root \
and /dev/fuse.

Exit status: 0 nothing was lost; 1 something was; 2 the command line is wrong; 3 the commands or \
the machine do not allow a test.

Example:
  assay torture --writer 'python3 writer.py' --checker 'sqlite3 db \"select id from t\"'")]
pub(crate) struct TortureArgs {
    /// Shell command that writes, and prints `try ITEM` and `ack ITEM`
    #[arg(long, value_name = "COMMAND")]
    pub writer: String,
    /// Shell command that prints the items that are there after the crash
    #[arg(long, value_name = "COMMAND")]
    pub checker: String,
    /// Kinds of crash: process kills the writer, power cuts the power of its filesystem
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "process,power")]
    pub crash: Vec<CrashArg>,
    /// Faults of the disk before the crash, separated by commas: eio-read, eio-write, eio-sync,
    /// full, short-write, slow, or all. The writer may continue or end
    #[arg(long, value_name = "FAULT", value_delimiter = ',')]
    pub fault: Vec<FaultArg>,
    /// Time that a fault lasts: once, for one operation; healed, for some; always, as long as the
    /// writer lives [default: rounds take turns]
    #[arg(long, value_name = "TIME", requires = "fault")]
    pub fault_lasts: Option<Lasts>,
    /// Promise to check: all, each acknowledged item is there; prefix, an item that is there was
    /// tried before all that are not
    #[arg(long, value_name = "PROMISE", default_value = "all")]
    pub promise: PromiseArg,
    /// Crashes of each kind
    #[arg(long, value_name = "COUNT", default_value = "24",
          value_parser = count::between::<u32>(1, 1_000_000))]
    pub rounds: u32,
    /// Acknowledgements after which a writer is ended, if it has not ended before
    #[arg(long, value_name = "COUNT", default_value = "300",
          value_parser = count::between::<u32>(1, 1_000_000))]
    pub acks: u32,
    /// Run this round only
    #[arg(long, value_name = "NUMBER", conflicts_with = "rounds",
          value_parser = count::between::<u32>(0, 999_999))]
    pub round: Option<u32>,
    /// Moment of the crash, instead of a random one: the number of the acknowledgement to wait
    /// for, of the file operation to cut the power before, or of the first to meet the fault, among
    /// those that it concerns
    #[arg(long, value_name = "NUMBER", requires = "round", value_parser = count::parse_positive)]
    pub at: Option<u64>,
    /// Unsynchronised data that a power cut takes: everything, nothing, prefix, files, sectors-512
    /// or sectors-4096 [default: rounds take turns]
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<assay_powercut::Loss>,
    /// File names that survive a power cut: journal, those before any later sync, as on ext4;
    /// strict, those whose directory was synchronised
    #[arg(long, value_name = "RULE", default_value = "journal")]
    pub directories: DirectoriesArg,
    /// Folder for directories that broke the promise, as the crash left them
    #[arg(long, value_name = "DIR", default_value = IMAGES_FOLDER)]
    pub images: PathBuf,
    /// Directory for the writer's directory [default: _benchmarkdb here]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Seed of the moments of the crashes
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
    /// Seconds that a writer or a checker may take
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_seconds, default_value = "60")]
    pub timeout: u64,
}

/// A promise of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromiseArg {
    All,
    Prefix,
}

impl PromiseArg {
    /// Returns the word that names the promise.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Prefix => "prefix",
        }
    }
}

//! The options of `assay torture`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{EndingArgs, count};

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
    #[command(flatten)]
    pub ending: EndingArgs,
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
    /// Folder for directories that broke the promise, as the crash left them
    #[arg(long, value_name = "DIR", default_value = IMAGES_FOLDER)]
    pub images: PathBuf,
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

//! The options of `assay crash`.

use std::path::PathBuf;

use clap::Args;

use super::{EndingArgs, LevelsArg, count};

/// The default folder of what crash tests found broken.
const IMAGES_FOLDER: &str = "assay-runs/broken-stores";

#[derive(Args)]
#[command(after_help = "\
A writer commits a seeded history and acknowledges each commit. At a moment that the seed draws, \
the writer is killed, or the filesystem below it loses power. Then another process opens the \
store. It must find every acknowledged commit, all or nothing of the commit in flight, and nothing \
else; and the store must take further writes. Of several threads, it must find a prefix of one \
order of all commits, which agrees with each thread's order and with time. Power cuts need root \
and /dev/fuse.

Examples:
  assay crash -e sqlite,lmdb                     every level, both kinds of crash
  assay crash -e redb --durability commit --crash power --rounds 200
  assay crash -e lode,fjall --threads 4 --crashes 3
  assay crash -e sqlite --copy --durability commit
  assay crash -e lode --fault eio-sync,full      the disk fails before each crash
  assay crash -e lode,sqlite --enumerate         every state, of a short history
  assay crash --open assay-runs/broken-stores/sled-commit-power-1-0")]
pub(crate) struct CrashArgs {
    /// Engines to test, separated by commas; all, or '!NAME' for all but that one [default: all
    /// that write to disk]
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Durability level, or all
    #[arg(long, value_name = "LEVEL", default_value = "all")]
    pub durability: Option<LevelsArg>,
    #[command(flatten)]
    pub ending: EndingArgs,
    /// Copy the files of the store while it is written, as cp -r does, and check the copy, in place
    /// of a crash; every other copy goes over an older store. A copy that went wrong is shown, and
    /// is no fault of an engine
    #[arg(long, conflicts_with_all = ["crash", "fault", "loss", "directories", "crashes",
          "further"])]
    pub copy: bool,
    /// Cut the power before each operation of one short history, from the first acknowledged commit
    /// on, and try each state in which that may leave the disk: of the journal a prefix is there,
    /// of the writes to each page a prefix. --round chooses the history
    #[arg(long, conflicts_with_all = ["copy", "fault", "fault_lasts", "loss", "threads", "crashes",
          "rounds", "further", "missing"])]
    pub enumerate: bool,
    /// Most states of a cut that --enumerate tries. Of more, some of each kind: of a device that
    /// writes in order, of a page that is there, missing or torn unlike all others, and by chance
    #[arg(long, value_name = "COUNT", default_value = "64", requires = "enumerate",
          value_parser = count::between::<u32>(1, 1_000))]
    pub states: u32,
    /// Crashes for each engine, level and kind
    #[arg(long, value_name = "COUNT", default_value = "24",
          value_parser = count::between::<u32>(1, 1_000_000))]
    pub rounds: u32,
    /// Further crashes for a level that broke its promise, to estimate how often it does [default:
    /// four times as many]
    #[arg(long, value_name = "COUNT", value_parser = count::between::<u32>(0, 1_000_000))]
    pub further: Option<u32>,
    /// Test only what the file of verdicts lacks with this number of crashes and commits
    #[arg(long, conflicts_with_all = ["round", "loss"])]
    pub missing: bool,
    /// Commits in the history of a round, of all threads together; 8 with --enumerate
    #[arg(long, value_name = "COUNT", default_value = "300",
          default_value_if("enumerate", "true", "8"),
          value_parser = count::between::<u32>(1, 1_000_000))]
    pub commits: u32,
    /// Threads that write, each to rows of its own and all to some that they share
    #[arg(short, long, default_value = "1", conflicts_with = "fault",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// Run this round only. With this option, and with --loss, the verdicts stay as they are
    #[arg(long, value_name = "NUMBER", conflicts_with = "rounds",
          value_parser = count::between::<u32>(0, 999_999))]
    pub round: Option<u32>,
    /// Crashes of a round: of the writer, then of each process but the last that opens the store,
    /// while it does so
    #[arg(long, value_name = "COUNT", default_value = "1", conflicts_with = "fault",
          value_parser = count::between::<u32>(1, 16))]
    pub crashes: u32,
    /// Moments of the crashes, instead of random ones, separated by commas: the number of the
    /// commit to wait for, then microseconds of each opening; or numbers of the file operations to
    /// cut the power before; or, with --enumerate, such a number and that of a state; or that of
    /// the first operation to meet the fault, among those that it concerns
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', requires = "round",
          value_parser = count::parse_positive)]
    pub at: Vec<u64>,
    /// Folder for images of stores: the files of each round that broke a promise, as the crash
    /// left them
    #[arg(long, value_name = "DIR", default_value = IMAGES_FOLDER)]
    pub images: PathBuf,
    /// Check a copy of such an image again, and test no engine
    #[arg(long, value_name = "DIR", conflicts_with_all = ["engine", "round", "loss", "missing",
          "copy", "fault", "threads", "crashes", "at", "enumerate"])]
    pub open: Option<PathBuf>,
    /// Set a parameter of an engine; `assay list` shows them
    #[arg(long = "set", value_name = "ENGINE.NAME=VALUE")]
    pub set: Vec<String>,
    /// File of verdicts, by which later runs mark engines [default: assay-runs/durability.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

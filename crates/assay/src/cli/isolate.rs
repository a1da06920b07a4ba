//! `assay isolate`: whose transactions, and how many.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::count;
use super::values::{DurabilityArg, IsolationArg, StorageArg};

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolateFormat {
    Text,
    Json,
    Markdown,
}

#[derive(Args)]
#[command(after_help = "\
Threads run drawn transactions of two to eight operations: reads, appends to lists, writes, \
deletions and ranges. Then sessions run known cases, step by step in a fixed order. From what \
reads have seen follows which transaction came before which; a cycle is an anomaly, by the names \
of Adya and Elle. What is not seen may still happen; what is seen has happened.

An anomaly that the engine's documentation excludes, or that --expect does, ends the command with \
status 1.

Examples:
  assay isolate -e sqlite,redb,surrealkv
  assay isolate -e lode --transactions 1m --seed 7 --long
  assay isolate -e mine --plugin ./libmine.so --expect serializable")]
pub(crate) struct IsolateArgs {
    /// Engines to look at, separated by commas; all, or '!NAME' for all but that one [default: all]
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Storage modes
    #[arg(short, long, value_name = "STORAGE", value_delimiter = ',', default_value = "ramdisk")]
    pub storage: Vec<StorageArg>,
    /// Durability level [default: memory none, ramdisk process, disk periodic]
    #[arg(long, value_name = "LEVEL")]
    pub durability: Option<DurabilityArg>,
    /// Threads that run transactions at once
    #[arg(short, long, default_value = "8", value_parser = clap::value_parser!(u32).range(2..=64))]
    pub threads: u32,
    /// Drawn transactions
    #[arg(long, value_name = "COUNT", default_value = "4k", value_parser = count::parse_positive)]
    pub transactions: u64,
    /// Seed of the drawn transactions
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
    /// Directory for stores on disk and RAM disk
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Give up an engine after this many seconds [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_seconds)]
    pub timeout: Option<u64>,
    /// Print an example of each anomaly, not only of those against the documentation
    #[arg(short, long)]
    pub long: bool,
    /// Level that engines have to keep, in place of what their documentation promises
    #[arg(long, value_name = "LEVEL")]
    pub expect: Option<IsolationArg>,
    /// Set a parameter of an engine; `assay list` shows them
    #[arg(long = "set", value_name = "ENGINE.NAME=VALUE", conflicts_with = "output")]
    pub set: Vec<String>,
    /// File of verdicts, none of which is of --set or --expect; `assay advise` reads the default
    /// one [default: assay-runs/isolation.json]
    #[arg(short, long, value_name = "FILE", conflicts_with = "expect")]
    pub output: Option<PathBuf>,
    /// Output format
    #[arg(long, default_value = "text")]
    pub format: IsolateFormat,
}

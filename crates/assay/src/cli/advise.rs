//! `assay advise`: the question.

use std::path::PathBuf;
use std::time::Duration;

use assay_core::advice::Rank;
use assay_driver::Durability;
use assay_drivers::facts;
use assay_suites::options::Threads;
use clap::{Args, ValueEnum};

use super::count;
use super::help::{MEASURING, OUTPUT};
use super::size;
use super::suites::Common;
use super::values::{IsolationArg, StorageArg};

#[derive(Args)]
#[command(after_help = "\
Every engine does the workload as fast as it can, and again at the rate that is asked for. Engines \
take turns, and those that trials cannot tell apart yet get more of them. An engine does not \
qualify if an answer was wrong, crash tests refuted its level, it does not isolate as asked, it \
cannot do a phase, or it exceeds a limit. The others are ranked; neighbours that trials cannot \
tell apart share a place.

Examples:
  assay advise documents.toml --survives \"power cut\" --memory 2g --rate 5k --p99.9 5ms
  assay advise cache.toml -s m --rank throughput --without lode")]
pub(crate) struct AdviseArgs {
    /// Workload file; `assay workload new` writes one
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What acknowledged writes must survive [default: what the file says]
    #[arg(long, value_name = "EVENT", conflicts_with = "durability")]
    pub survives: Option<SurvivesArg>,
    /// Memory that an engine may take; enforced by a control group where one can be made
    #[arg(long, value_name = "SIZE", value_parser = size::parse_limit, conflicts_with = "cgroup")]
    pub memory: Option<u64>,
    /// Space that a store's files may take on disk
    #[arg(long, value_name = "SIZE", value_parser = assay_driver::parse_size)]
    pub disk: Option<u64>,
    /// Operations a second that arrive in each phase [default: what the file says]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive)]
    pub rate: Option<u64>,
    /// Longest 99.9th percentile of latencies, such as 5ms, of each kind of operation in each phase
    #[arg(long = "p99.9", value_name = "TIME", value_parser = count::parse_latency)]
    pub p999: Option<Duration>,
    /// Language of the program that would use the engine
    #[arg(long, value_name = "LANGUAGE", value_parser = parse_language)]
    pub language: Option<String>,
    /// Isolation of transactions that the engine's documentation promises, and that no verdict of
    /// `assay isolate` refutes
    #[arg(long, value_name = "LEVEL")]
    pub isolation: Option<IsolationArg>,
    /// Leave these engines out, separated by commas
    #[arg(long, value_name = "ENGINE", value_delimiter = ',')]
    pub without: Vec<String>,
    /// Quantity to rank by [default: cost with a rate, throughput without]
    #[arg(long, value_name = "QUANTITY")]
    pub rank: Option<RankArg>,
    /// Processors that a GiB of memory counts as in the cost [default: 0.125]
    #[arg(long, value_name = "PROCESSORS", value_parser = parse_weight)]
    pub memory_weight: Option<f64>,
    /// Processors that a GiB on disk counts as in the cost [default: 0.004]
    #[arg(long, value_name = "PROCESSORS", value_parser = parse_weight)]
    pub disk_weight: Option<f64>,
    /// Storage mode: ramdisk | inmem | ondisk, or r | m | d
    #[arg(short, long, value_name = "STORAGE", default_value = "ondisk")]
    pub storage: StorageArg,
    /// Number of threads of the phases that have a list of them [default: the most of the list]
    #[arg(short, long, value_name = "THREADS", value_parser = count::between::<u32>(1, 256))]
    pub threads: Option<u32>,
    /// Time budget, such as 10m or 1h: start no cell that would end later
    #[arg(long = "for", value_name = "TIME", value_parser = count::parse_time,
          default_value = "10m", help_heading = MEASURING)]
    pub limit: Duration,
    /// Print only the advice: no progress, no file names
    #[arg(short = 'Q', long, help_heading = OUTPUT)]
    pub quiet: bool,
    #[command(flatten)]
    pub common: Common,
}

impl AdviseArgs {
    /// Returns the number of threads, for the file's lists.
    pub(crate) fn threads(&self) -> Vec<Threads> {
        self.threads.map(Threads::one).into_iter().collect()
    }
}

/// The events that a workload's file names too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurvivesArg {
    #[value(name = "nothing")]
    Nothing,
    #[value(name = "killed process", alias = "killed-process")]
    KilledProcess,
    #[value(
        name = "power cut but for the last moment",
        alias = "power-cut-but-for-the-last-moment"
    )]
    PowerCutButForTheLastMoment,
    #[value(name = "power cut", alias = "power-cut")]
    PowerCut,
}

impl SurvivesArg {
    /// Returns the level whose writes survive it.
    pub(crate) fn level(self) -> Durability {
        match self {
            Self::Nothing => Durability::None,
            Self::KilledProcess => Durability::Process,
            Self::PowerCutButForTheLastMoment => Durability::Periodic,
            Self::PowerCut => Durability::Commit,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankArg {
    Cost,
    Throughput,
    #[value(name = "p99.9")]
    Latency,
    Memory,
    Disk,
}

impl RankArg {
    /// Returns the quantity.
    pub(crate) fn rank(self) -> Rank {
        match self {
            Self::Cost => Rank::Cost,
            Self::Throughput => Rank::Throughput,
            Self::Latency => Rank::Latency,
            Self::Memory => Rank::Memory,
            Self::Disk => Rank::Disk,
        }
    }
}

/// Reads a language.
fn parse_language(text: &str) -> Result<String, String> {
    let language = text.to_lowercase();
    let known = facts::languages();
    if known.contains(&language.as_str()) {
        Ok(language)
    } else {
        Err(format!("no engine is known for it; known are {}", known.join(", ")))
    }
}

/// Reads a number of processors.
fn parse_weight(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(weight) if (0.0..=1e6).contains(&weight) => Ok(weight),
        _ => Err("must be a number of processors, such as 0.125".into()),
    }
}

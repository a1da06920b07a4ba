//! `assay gate`: what is counted, and against what.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use program_support::exit::{Failure, Outcome};

use super::RunSuite;
use super::help::{ENGINES, OUTPUT};
use super::reading::parse_suite;
use super::suites::{Common, Trials};
use super::values::Format;

/// The engines that are counted if none is named.
pub(crate) const ENGINES_COUNTED: [&str; 6] = ["fjall", "lmdb", "lode", "redb", "sled", "sqlite"];

/// The suite that is counted if none is named.
const DEFAULT: &str = "crossbench -s ramdisk --durability commit";
/// The sizes of a suite that is named without any option of its own.
const SMALL: [(&str, &str); 3] = [
    ("crossbench", "-i 300 -q 30 -u 20 -d 100"),
    ("nudb", "--inserts 500 --fetches 500"),
    ("ycsb", "--records 500 --operations 500"),
];

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateFormat {
    Text,
    Json,
    Markdown,
    /// Annotations for GitHub's logs, and Markdown into the file that GITHUB_STEP_SUMMARY names
    Github,
}

/// The counter of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CounterArg {
    /// Valgrind's callgrind, on any machine; memory accesses, allocations and modelled misses too
    Callgrind,
    /// The processor's own counter (perf_event_open), fifty times faster; instructions only
    Hardware,
}

#[derive(Args)]
#[command(
    override_usage = "assay gate [OPTIONS] [SUITE [SUITE OPTIONS]]",
    after_help = "\
Counts do not drift, so a change of 0.1 % shows on a busy machine. Each cell is counted three \
times, within the timed spans: instructions, memory accesses, allocations and modelled misses by \
valgrind's callgrind, system calls by a tracer. The calling thread is judged, the engine's own \
threads are reported.

SUITE and its options are those of `assay run`; without a suite, crossbench at 300 rows on a RAM \
disk with every commit synchronised. Worse are more instructions, bytes or system calls than \
before by more than the repetitions differ (at least 0.1 % of the instructions), and any other \
number of syncs: these end with status 4.

Examples:
  assay gate --save counts.json                       what six engines do
  assay gate --against counts.json --format github    what changed since
  assay gate --against ../before/assay -e lode ycsb -w a --records 500 --operations 500
  assay gate -e lmdb workload documents.toml"
)]
pub(crate) struct GateArgs {
    /// Engines to count, separated by commas [default: those of --against; else fjall, lmdb, lode,
    /// redb, sled and sqlite]
    #[arg(short, long, value_name = "ENGINE", value_delimiter = ',', help_heading = ENGINES)]
    pub engine: Vec<String>,
    /// Compare with these counts: a file of --save; or with another build, which is counted too:
    /// another assay, or a plugin (lib….so) with another build of its engine
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Counter of instructions, of both sides of a comparison
    #[arg(long, value_name = "COUNTER", default_value = "callgrind")]
    pub counter: CounterArg,
    /// File to keep the counts in, for --against
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub save: Option<PathBuf>,
    /// Output format
    #[arg(long, default_value = "text", help_heading = OUTPUT)]
    pub format: GateFormat,
    /// Print no progress
    #[arg(short = 'Q', long, help_heading = OUTPUT)]
    pub quiet: bool,
    /// Suite and its options, as in `assay run`
    #[arg(value_name = "SUITE", trailing_var_arg = true, allow_hyphen_values = true)]
    pub suite: Vec<String>,
}

impl GateArgs {
    /// Returns the suite that these words mean, with sizes that can be counted in seconds.
    pub(crate) fn suite(&self) -> Outcome<RunSuite> {
        let mut words: Vec<String> = match self.suite.as_slice() {
            [] => DEFAULT.split(' ').map(String::from).collect(),
            words => words.to_vec(),
        };
        if let Some(word) = words.iter().find(|word| word.starts_with("--plugin")) {
            let why = format!("{word} stands before the suite: assay gate {word} … {}", words[0]);
            return Err(Failure::Usage(why));
        }
        let small = SMALL.iter().find(|(suite, _)| *suite == words[0]);
        if let (Some((_, sizes)), true) = (small, self.suite.len() <= 1) {
            words.extend(sizes.split(' ').map(String::from));
        }
        parse_suite(&words).map_err(|why| Failure::Usage(format!("{}: {why}", words[0])))
    }
}

/// Refuses options of a suite that a gate has no use for.
pub(crate) fn check(common: &Common, trials: &Trials) -> Outcome {
    let refused = |option: &str, why: &str| {
        Err(Failure::Usage(format!("{option} has no meaning for assay gate: {why}; leave it out")))
    };
    if trials.trials > 1 || trials.until_ci.is_some() {
        return refused("--trials", "it counts three times");
    }
    if common.output.is_some() {
        return refused("--output", "--save FILE before the suite's name keeps counts");
    }
    if common.format != Format::Table {
        return refused("--format", "its own stands before the suite's name");
    }
    if common.memory.cgroup.is_some() {
        return refused("--cgroup", "the memory of its counters would be limited too");
    }
    Ok(())
}

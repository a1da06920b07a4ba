//! The arguments of the command that writes traces.

use std::path::PathBuf;

use assay_suites::trace;
use clap::Args;

use super::count;

#[derive(Args)]
#[command(after_help = "\
Records that the workload loads are not in the trace: replay it with --prefill.

Examples:
  assay generate trace cache.toml -o cache.csv.zst
  assay generate trace cache.toml --trace-format twitter --operations 100m -o large.zst")]
pub(crate) struct GenerateTraceArgs {
    /// Workload file, or twitter:1 to twitter:54
    #[arg(value_name = "WORKLOAD")]
    pub workload: PathBuf,
    /// Format of the trace
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub trace_format: trace::Format,
    /// Number of operations; the last phase is continued, or ended, after that many [default:
    /// those of all phases]
    #[arg(long, value_name = "COUNT", value_parser = count::between::<u64>(1, 1_000_000_000))]
    pub operations: Option<u64>,
    /// File to write, compressed if its name ends in .zst or .gz [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Seed of keys and order
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
}

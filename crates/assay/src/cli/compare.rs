//! `assay compare`.

use std::path::PathBuf;

use clap::Args;

use super::{CompareFormat, count};

#[derive(Args)]
#[command(after_help = "\
Examples:
  assay run crossbench -e lmdb --trials 5 -o before.json     and after the change -o after.json
  assay compare before.json after.json --fail-on-regression 5%
  assay compare run.json --engines sqlite,lmdb                an engine against another
  assay compare run.json                                      two builds: assay run … --against
  assay compare trace.json fitted.json --ranks                do both rank engines alike")]
pub(crate) struct CompareArgs {
    /// Run file of the baseline
    pub base: PathBuf,
    /// Run file to compare with the baseline [default: the two builds in the first file, if `assay
    /// run --against` wrote it]
    #[arg(conflicts_with = "engines")]
    pub new: Option<PathBuf>,
    /// Compare the second of these two engines with the first, in one run file
    #[arg(long, value_name = "BASE,NEW", value_parser = two_engines)]
    pub engines: Option<(String, String)>,
    /// Compare only how two runs rank engines, by operations a second; they may be of different
    /// work, such as a trace and the workload fitted to it
    #[arg(long, requires = "new", conflicts_with_all = ["fail_on_regression", "allow_differences"])]
    pub ranks: bool,
    /// Exit with status 4 if a phase is worse by more than this with its whole interval; also if a
    /// phase of the baseline cannot be judged: the other side lacks it, failed it, or has too few
    /// trials
    #[arg(long, value_name = "PERCENT", value_parser = count::parse_percent)]
    pub fail_on_regression: Option<f64>,
    /// With --fail-on-regression, let phases pass that cannot be judged
    #[arg(long, requires = "fail_on_regression")]
    pub allow_missing: bool,
    /// Output format: a table, or a format for documents and other programs
    #[arg(long, default_value = "text")]
    pub format: CompareFormat,
    /// Compare runs of different machines, levels, settings or operations; prints the differences
    #[arg(long)]
    pub allow_differences: bool,
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

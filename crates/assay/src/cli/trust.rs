//! Another build that figures are compared with.

use std::path::PathBuf;

use clap::Args;

use super::help::MEASURING;

/// A second build.
#[derive(Args, Clone)]
pub(crate) struct BaselineArg {
    /// Measure every engine also with another build: another assay, or a plugin (lib….so) with
    /// another build of its engine. The builds take turns, trial by trial; the other build's lines
    /// are ENGINE@other, and a comparison is printed at the end
    #[arg(long, value_name = "FILE", help_heading = MEASURING)]
    pub against: Option<PathBuf>,
}

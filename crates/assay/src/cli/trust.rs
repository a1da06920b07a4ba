//! Options that say how far figures can be trusted.

use std::path::PathBuf;

use assay_core::timing::Clock;
use clap::Args;

use super::count;
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

/// For suites whose operations can be prepared before a round.
#[derive(Args, Clone)]
pub(crate) struct Continuous {
    /// Prepare the operations of a round before it and check their results after it, so that the
    /// clock never stops in a round; needs memory for both
    #[arg(long, help_heading = MEASURING)]
    pub continuous: bool,
}

impl Continuous {
    pub(crate) fn clock(&self) -> Clock {
        if self.continuous { Clock::Continuous } else { Clock::Stops }
    }
}

/// For suites with rounds that can be done again.
#[derive(Args, Clone)]
pub(crate) struct Repeats {
    /// Most rounds of a phase to repeat because other processes took the worker's processor; rounds
    /// that fill or empty a store, or have a cold page cache, are never repeated
    #[arg(long, value_name = "COUNT", value_parser = count::parse_repeats,
          default_value_t = assay_suites::REPEATS, help_heading = MEASURING)]
    pub repeats: u32,
}

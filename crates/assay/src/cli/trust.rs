//! Options that say how far figures can be trusted.

use std::path::PathBuf;

use assay_core::timing::Clock;
use clap::Args;

use super::count;
use super::help::MEASURING;

/// A second build.
#[derive(Args, Clone)]
pub(crate) struct BaselineArg {
    /// Measure every engine with another build too: another assay, or a plugin (lib….so) with
    /// another build of its engine. Both take turns, trial by trial; the other one's figures
    /// are those of ENGINE@other, and a comparison of both is printed at the end
    #[arg(long, value_name = "FILE", help_heading = MEASURING)]
    pub against: Option<PathBuf>,
}

/// For suites whose operations can be prepared before a round.
#[derive(Args, Clone)]
pub(crate) struct Continuous {
    /// Prepare all operations of a round before it, and compare all results after it, so that the
    /// clock never stops within a round; takes memory for both
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
    /// How many rounds of a phase are done again at most because the worker was kept from its
    /// processor; rounds that fill or empty a store are never done again, nor are those of a cold
    /// page cache
    #[arg(long, value_name = "COUNT", value_parser = count::parse_repeats,
          default_value_t = assay_suites::REPEATS, help_heading = MEASURING)]
    pub repeats: u32,
}

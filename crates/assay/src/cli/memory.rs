//! The options of the memory that engines may have.

use std::fmt;
use std::str::FromStr;

use clap::Args;

use super::help::ENGINES;
use super::size;

/// What all commands share that measure.
#[derive(Args, Clone)]
pub(crate) struct Memory {
    /// Size of each engine's cache, by the engine's own setting, such as 256m or 1g; own leaves it
    /// to the engine, or to what its authors recommend [default: an eighth of the memory for all;
    /// own with --as-published]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_cache, help_heading = ENGINES)]
    pub cache: Option<CacheArg>,
    /// Limit the memory of each worker, with its share of the page cache, by a control group (needs
    /// root, or a delegated group); an engine that needs more is killed
    #[arg(long, value_name = "SIZE", value_parser = size::parse_limit, help_heading = ENGINES)]
    pub cgroup: Option<u64>,
}

/// The size of an engine's own cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheArg {
    /// The size that the engine takes, or its authors recommend.
    Own,
    /// A number of bytes.
    Bytes(u64),
}

/// A multiple of a size, such as `4x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fill(f64);

impl Fill {
    /// Returns the multiple of a size, as whole bytes.
    pub(crate) fn of(self, bytes: u64) -> u64 {
        (bytes as f64 * self.0) as u64
    }
}

impl FromStr for Fill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factor = text.strip_suffix('x').and_then(|factor| factor.parse().ok());
        let factor = factor.filter(|factor| (0.1..=100.0).contains(factor));
        factor.map(Self).ok_or_else(|| "must be a factor from 0.1x to 100x".into())
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.0)
    }
}

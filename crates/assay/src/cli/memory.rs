//! What engines may have of memory.

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

/// What an engine's own cache may take up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheArg {
    /// What the engine takes, or its authors recommend.
    Own,
    /// This many bytes.
    Bytes(u64),
}

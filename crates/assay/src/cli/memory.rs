//! What engines may have of memory.

use clap::Args;

use super::help::ENGINES;
use super::size;

/// What all commands share that measure.
#[derive(Args, Clone)]
pub(crate) struct Memory {
    /// What an engine's own cache may take up, by the engine's own setting, such as 256m or 1g; own
    /// is what each engine takes, or its authors recommend [default: an eighth of the memory, the
    /// same for all; own with --as-published]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_cache, help_heading = ENGINES)]
    pub cache: Option<CacheArg>,
    /// Hold each worker to this much memory, its part of the page cache included, by a control
    /// group of its own (root, or a group that is delegated); an engine that needs more is killed
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

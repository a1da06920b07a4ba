//! How much memory the engines of a run may have.

use assay_driver::{binary_size, machine};
use program_support::exit::{Failure, Outcome};

use crate::cli::{CacheArg, Memory};

/// The part of the memory that an engine's cache has unless the user names another size.
const PART: u64 = 8;

/// What the engines of a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// For an engine's own cache; none: what the engine takes, or its authors recommend.
    pub cache_bytes: Option<u64>,
    /// Whether the user named that.
    pub cache_named: bool,
}

impl MemoryPlan {
    /// What the user asks for, on this machine.
    pub(crate) fn of(memory: &Memory, as_published: bool) -> Outcome<Self> {
        Self::within(memory, as_published, machine::usable_memory_bytes())
    }

    /// The same with this much memory; 0: nothing is known of it.
    fn within(memory: &Memory, as_published: bool, usable_bytes: u64) -> Outcome<Self> {
        let default_bytes = (usable_bytes > 0 && !as_published).then_some(usable_bytes / PART);
        let cache_bytes = match memory.cache {
            None => default_bytes,
            Some(CacheArg::Own) => None,
            Some(CacheArg::Bytes(bytes)) if usable_bytes > 0 && bytes > usable_bytes => {
                return Err(Failure::Usage(format!(
                    "--cache {}: more than the {} of memory here; take at most that",
                    binary_size(bytes),
                    binary_size(usable_bytes)
                )));
            }
            Some(CacheArg::Bytes(bytes)) => Some(bytes),
        };
        Ok(Self { cache_bytes, cache_named: memory.cache.is_some() })
    }

    /// For the engine that has nothing to keep.
    pub(crate) fn none() -> Self {
        Self { cache_bytes: None, cache_named: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn plan(cache: Option<CacheArg>, as_published: bool, usable: u64) -> Outcome<MemoryPlan> {
        MemoryPlan::within(&Memory { cache }, as_published, usable)
    }

    #[test]
    fn all_engines_have_an_eighth_of_the_memory_unless_told_otherwise() {
        let default = plan(None, false, 16 * GIB).expect("a plan");
        assert_eq!(default, MemoryPlan { cache_bytes: Some(2 * GIB), cache_named: false });
        let named = plan(Some(CacheArg::Bytes(GIB)), true, 16 * GIB).expect("a plan");
        assert_eq!(named, MemoryPlan { cache_bytes: Some(GIB), cache_named: true });
        let own = plan(Some(CacheArg::Own), false, 16 * GIB).expect("a plan");
        assert_eq!(own, MemoryPlan { cache_bytes: None, cache_named: true });
        let published = plan(None, true, 16 * GIB).expect("a plan");
        assert_eq!(published, MemoryPlan::none());
        assert_eq!(plan(None, false, 0).expect("a plan"), MemoryPlan::none());
    }

    #[test]
    fn a_cache_beyond_the_memory_is_refused() {
        let refused = plan(Some(CacheArg::Bytes(17 * GIB)), false, 16 * GIB);
        let Err(Failure::Usage(why)) = refused else { panic!("{refused:?}") };
        assert_eq!(why, "--cache 17 GiB: more than the 16 GiB of memory here; take at most that");
    }
}

//! The memory that the engines of a run may take.

use assay_core::plan::MemoryGrant;
use assay_driver::{binary_size, machine};
use program_support::exit::{Failure, Outcome};

use crate::cli::{CacheArg, Memory};
use crate::worker::memory_group::MemoryGroup;

/// The divisor of the memory that gives the default size of an engine's cache.
const PART: u64 = 8;

/// Returns the memory that the user grants to each engine, on this machine.
///
/// # Errors
/// If it is more than the machine has, or no control group can be made.
pub(crate) fn granted(memory: &Memory, as_published: bool) -> Outcome<MemoryGrant> {
    let grant = within(memory, as_published, machine::usable_memory_bytes())?;
    grant.limit_bytes.map_or(Ok(()), MemoryGroup::check)?;
    Ok(grant)
}

/// Returns the limits for a machine with `usable_bytes` of memory; 0 if that is not known.
fn within(memory: &Memory, as_published: bool, usable_bytes: u64) -> Outcome<MemoryGrant> {
    let most = Room { bytes: usable_bytes, what: "of memory here" };
    let limit_bytes = memory.cgroup;
    limit_bytes.map_or(Ok(()), |bytes| most.check("--cgroup", bytes))?;
    let most = match limit_bytes {
        Some(bytes) => Room { bytes, what: "of --cgroup" },
        None => most,
    };
    let default_bytes = (most.bytes > 0 && !as_published).then_some(most.bytes / PART);
    let cache_bytes = match memory.cache {
        None => default_bytes,
        Some(CacheArg::Own) => None,
        Some(CacheArg::Bytes(bytes)) => {
            most.check("--cache", bytes)?;
            Some(bytes)
        }
    };
    Ok(MemoryGrant { cache_bytes, cache_named: memory.cache.is_some(), limit_bytes })
}

/// An amount of memory, and its name.
#[derive(Clone, Copy)]
struct Room {
    /// Bytes; 0 if that is not known.
    bytes: u64,
    what: &'static str,
}

impl Room {
    fn check(self, option: &str, bytes: u64) -> Outcome {
        if self.bytes > 0 && bytes > self.bytes {
            Err(Failure::Usage(format!(
                "{option} {}: more than the {} {}; take at most that",
                binary_size(bytes),
                binary_size(self.bytes),
                self.what
            )))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn plan(cache: Option<CacheArg>, as_published: bool) -> MemoryGrant {
        let memory = Memory { cache, cgroup: None };
        within(&memory, as_published, 16 * GIB).expect("a plan")
    }

    #[test]
    fn all_engines_have_an_eighth_of_the_memory_unless_told_otherwise() {
        let of =
            |cache_bytes, cache_named| MemoryGrant { cache_bytes, cache_named, limit_bytes: None };
        assert_eq!(plan(None, false), of(Some(2 * GIB), false));
        assert_eq!(plan(Some(CacheArg::Bytes(GIB)), true), of(Some(GIB), true));
        assert_eq!(plan(Some(CacheArg::Own), false), of(None, true));
        assert_eq!(plan(None, true), MemoryGrant::default());
        let unknown = within(&Memory { cache: None, cgroup: None }, false, 0);
        assert_eq!(unknown.expect("a plan"), MemoryGrant::default());
    }

    #[test]
    fn of_a_limited_worker_it_is_an_eighth_of_the_limit() {
        let memory = Memory { cache: None, cgroup: Some(GIB) };
        let plan = within(&memory, false, 16 * GIB).expect("a plan");
        assert_eq!((plan.cache_bytes, plan.limit_bytes), (Some(GIB / 8), Some(GIB)));
    }

    #[test]
    fn more_than_there_is_is_refused_in_one_line() {
        let why = |cache: Option<u64>, cgroup| {
            let memory = Memory { cache: cache.map(CacheArg::Bytes), cgroup };
            match within(&memory, false, 16 * GIB) {
                Err(Failure::Usage(why)) => why,
                other => panic!("{other:?}"),
            }
        };
        let here = "more than the 16 GiB of memory here; take at most that";
        assert_eq!(why(Some(17 * GIB), None), format!("--cache 17 GiB: {here}"));
        assert_eq!(why(None, Some(17 * GIB)), format!("--cgroup 17 GiB: {here}"));
        let limit = "more than the 1 GiB of --cgroup; take at most that";
        assert_eq!(why(Some(2 * GIB), Some(GIB)), format!("--cache 2 GiB: {limit}"));
    }
}

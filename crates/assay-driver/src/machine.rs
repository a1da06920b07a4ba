//! The machine's memory and processors, by which engines are sized.

use procfs::Current;

use crate::control_group::ControlGroup;

/// Returns the bytes of the machine's memory; 0 if the system does not say.
pub fn memory_bytes() -> u64 {
    procfs::Meminfo::current().map_or(0, |memory| memory.mem_total)
}

/// Returns the bytes of memory that this process can have: the machine's, or the least limit of its
/// control groups; 0 if the system does not say.
pub fn usable_memory_bytes() -> u64 {
    let limit = ControlGroup::own().and_then(|group| group.memory_limit_bytes());
    limit.map_or_else(memory_bytes, |limit| limit.min(memory_bytes()))
}

/// Returns the processors that this process may use, by number.
pub fn usable_cpus() -> Vec<usize> {
    let Ok(set) = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)) else {
        return Vec::new();
    };
    (0..nix::sched::CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}

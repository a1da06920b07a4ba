//! What engines are sized by: the machine's memory and processors.

use procfs::Current;

/// Bytes of the machine's memory; 0 if the system does not say.
pub fn memory_bytes() -> u64 {
    procfs::Meminfo::current().map_or(0, |memory| memory.mem_total)
}

/// The processors that this process may use, by number.
pub fn usable_cpus() -> Vec<usize> {
    let Ok(set) = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)) else {
        return Vec::new();
    };
    (0..nix::sched::CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}

//! Resources of a worker process, as the operating system counts them.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

/// The resources that one cell used: the whole process, instrument included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Largest resident set of the worker.
    pub peak_rss_bytes: u64,
    /// Largest resident set before the store was opened: the instrument's own part.
    pub rss_before_open_bytes: u64,
    /// Processor time in user mode, all threads.
    pub cpu_user_ns: u64,
    /// Processor time in the kernel, all threads.
    pub cpu_system_ns: u64,
    /// Bytes that this process caused to be written to a device (`write_bytes` of
    /// `/proc/self/io`, which counts pages when they are dirtied); absent where the
    /// kernel does not count them.
    pub written_bytes: Option<u64>,
    /// Time that opening or creating the store took.
    pub open_ns: u64,
    /// Time that closing the store took.
    pub close_ns: u64,
    /// The most disk space that was seen of the store's files: at the end of each phase, now and
    /// then between batches of operations, and after closing; absent in memory.
    pub store_peak_bytes: Option<u64>,
    /// Disk space of the store's files after it was closed; absent in memory.
    pub store_closed_bytes: Option<u64>,
}

/// Returns the largest resident set of this process so far.
pub fn peak_rss_bytes() -> u64 {
    procfs::process::Process::myself()
        .and_then(|me| me.status())
        .ok()
        .and_then(|status| status.vmhwm)
        .map_or(0, |kib| kib * 1024)
}

/// Returns the bytes that this process has sent to the storage layer.
pub fn written_bytes() -> Option<u64> {
    let io = procfs::process::Process::myself().and_then(|me| me.io()).ok()?;
    Some(io.write_bytes)
}

/// Returns the user and system time of this process so far, all threads.
pub fn cpu_time() -> (Duration, Duration) {
    let as_duration = |time: TimeVal| {
        Duration::from_secs(time.tv_sec().max(0) as u64)
            + Duration::from_micros(time.tv_usec().max(0) as u64)
    };
    getrusage(UsageWho::RUSAGE_SELF)
        .map(|usage| (as_duration(usage.user_time()), as_duration(usage.system_time())))
        .unwrap_or_default()
}

//! Resources of a worker process, as the operating system counts them, and of the other processes
//! that do an engine's work.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use procfs::process::{Process, Stat};
use serde::{Deserialize, Serialize};

/// The resources that one cell used: the whole process, instrument included, and the engine's other
/// processes.
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
    /// Bytes that these processes caused to be written to a device (`write_bytes` of
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

impl Resources {
    /// Returns the resources of two processes that measured a cell one after the other.
    pub fn then(self, next: Self) -> Self {
        Self {
            peak_rss_bytes: self.peak_rss_bytes.max(next.peak_rss_bytes),
            rss_before_open_bytes: self.rss_before_open_bytes.max(next.rss_before_open_bytes),
            cpu_user_ns: self.cpu_user_ns + next.cpu_user_ns,
            cpu_system_ns: self.cpu_system_ns + next.cpu_system_ns,
            written_bytes: self.written_bytes.zip(next.written_bytes).map(|(a, b)| a + b),
            open_ns: self.open_ns,
            close_ns: next.close_ns,
            store_peak_bytes: self.store_peak_bytes.max(next.store_peak_bytes),
            store_closed_bytes: next.store_closed_bytes,
        }
    }
}

/// The other processes that do the work of the engine's open stores.
static OTHERS: RwLock<Vec<Process>> = RwLock::new(Vec::new());

/// Counts these processes in from now on, and no others. They are children of this process, which
/// waits for them when they end, so that their time and bytes stay counted.
pub fn count_in(processes: impl IntoIterator<Item = u32>) {
    let open = |id| i32::try_from(id).ok().and_then(|id| Process::new(id).ok());
    let processes = processes.into_iter().filter_map(open).collect();
    *OTHERS.write().unwrap_or_else(PoisonError::into_inner) = processes;
}

/// Returns the sum of a count over the other processes.
fn of_others(count: impl Fn(&Process) -> Option<u64>) -> u64 {
    OTHERS.read().unwrap_or_else(PoisonError::into_inner).iter().filter_map(count).sum()
}

/// Returns the largest resident sets of this process and of the engine's others so far, added up.
/// Of those that have ended, the largest counts.
pub fn peak_rss_bytes() -> u64 {
    let peak = |process: &Process| Some(process.status().ok()?.vmhwm? * 1024);
    let ended = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    let ended = u64::try_from(ended).unwrap_or(0) * 1024;
    let own = Process::myself().ok().and_then(|me| peak(&me)).unwrap_or(0);
    own + of_others(peak).max(ended)
}

/// Returns the resident sets of this process and of the engine's others now, added up.
pub fn memory_bytes() -> u64 {
    let now = |process: &Process| Some(process.status().ok()?.vmrss? * 1024);
    Process::myself().ok().and_then(|me| now(&me)).unwrap_or(0) + of_others(now)
}

/// Returns the bytes that this process and the engine's others have sent to the storage layer. The
/// kernel adds those of a child to its parent's when it has ended.
pub fn written_bytes() -> Option<u64> {
    let written = |process: &Process| Some(process.io().ok()?.write_bytes);
    Some(written(&Process::myself().ok()?)? + of_others(written))
}

/// Returns the user and system time of this process and of the engine's others so far, all threads.
pub fn cpu_time() -> (Duration, Duration) {
    let as_duration = |time: TimeVal| {
        Duration::from_secs(time.tv_sec().max(0) as u64)
            + Duration::from_micros(time.tv_usec().max(0) as u64)
    };
    let [own, ended] = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].map(|who| {
        getrusage(who)
            .map(|usage| (as_duration(usage.user_time()), as_duration(usage.system_time())))
            .unwrap_or_default()
    });
    let ticks = |of: fn(Stat) -> u64| {
        let ticks = of_others(|process| process.stat().ok().map(of));
        Duration::from_secs_f64(ticks as f64 / procfs::ticks_per_second() as f64)
    };
    let user = ticks(|stat| stat.utime);
    let system = ticks(|stat| stat.stime);
    (own.0 + ended.0 + user, own.1 + ended.1 + system)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A child that is busy is counted in while it lives, and stays counted when it has ended.
    #[test]
    fn the_work_of_another_process_is_counted_in() {
        let mut busy = Command::new("sh");
        busy.args(["-c", "while :; do :; done"]).stdout(Stdio::null());
        let mut child = busy.spawn().expect("a shell");
        let stat = || Process::new(child.id() as i32).and_then(|it| it.stat()).expect("it lives");
        while stat().utime < 5 {
            std::thread::yield_now();
        }
        let own_rss = peak_rss_bytes();
        let before = cpu_time().0;
        count_in([child.id()]);
        let rss = peak_rss_bytes();
        let during = cpu_time().0;
        assert!(during >= before + Duration::from_millis(40), "{before:?} and {during:?}");
        assert!(rss > own_rss && written_bytes().is_some(), "{own_rss} and {rss}");
        child.kill().and_then(|()| child.wait()).expect("it ends");
        count_in([]);
        assert!(cpu_time().0 >= during && peak_rss_bytes() > own_rss);
    }
}

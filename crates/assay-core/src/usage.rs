//! A round's use of the machine: processor time, and the disturbances that took some of it.
//!
//! A thread that is ready waits for a processor that another thread has, or that the hypervisor
//! gave to another machine. The kernel counts both (`run_delay` of `/proc/thread-self/schedstat`,
//! the steal time of `/proc/stat`), so waiting for a device or for a lock does not count. A round
//! may wait for the engine's own threads: that is no disturbance. So the count is limited to the
//! time that this process left of its processors.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage as Counters, UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use crate::resources::cpu_time;

/// A round that lacked more than this share of its wall time is disturbed.
pub const LACK_MOST: f64 = 0.05;

/// A round's use of the machine, from its start to its end, including the work of preparing and
/// checking between the spans on the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// From the first thread's start to the last one's end.
    pub wall_ns: u64,
    /// Processor time of the whole process, the engine's own threads and other processes included.
    pub cpu_ns: u64,
    /// Time in which a thread of the round was ready and had no processor: the mean over them.
    pub waited_ns: u64,
    /// Time that the hypervisor took from a processor: the mean over all.
    pub stolen_ns: u64,
    /// The number of processors that the process may use.
    pub processors: u32,
    /// The number of times that the round's threads lost their processor to others.
    pub involuntary_switches: u64,
    /// Pages for which the threads of the round had to wait for a device.
    pub major_faults: u64,
    /// The number of times that the process was stopped (SIGSTOP) and resumed during the round.
    pub stops: u64,
}

/// The number of times that this process was stopped and resumed.
static STOPS: AtomicU64 = AtomicU64::new(0);

/// Records that this process was stopped and has resumed: the current rounds are disturbed.
pub fn note_stop() {
    STOPS.fetch_add(1, Ordering::SeqCst);
}

impl Usage {
    /// Returns the time that the round lacked a processor for reasons outside this process.
    pub fn lacked_ns(&self) -> u64 {
        let whole = self.wall_ns.saturating_mul(self.processors.into());
        let left = whole.saturating_sub(self.cpu_ns);
        self.waited_ns.min(left).max(self.stolen_ns)
    }

    /// Returns true if the round had less than 95 % of a processor while it was ready to work, or
    /// was stopped.
    pub fn is_disturbed(&self) -> bool {
        self.stops > 0 || self.lacked_ns() as f64 > LACK_MOST * self.wall_ns as f64
    }
}

/// The usage of one thread of a round.
#[derive(Clone, Copy, Debug)]
pub struct ThreadUsage {
    start: Instant,
    end: Instant,
    process_cpu: Duration,
    waited_ns: u64,
    stolen_ns: u64,
    involuntary_switches: u64,
    major_faults: u64,
    stops: u64,
}

impl ThreadUsage {
    /// Returns the usage of a crew's threads together; none for no threads.
    pub fn together(crew: &[Self]) -> Option<Usage> {
        let start = crew.iter().map(|thread| thread.start).min()?;
        let end = crew.iter().map(|thread| thread.end).max()?;
        let most = |of: fn(&Self) -> u64| crew.iter().map(of).max().unwrap_or(0);
        let sum = |of: fn(&Self) -> u64| crew.iter().map(of).sum::<u64>();
        Some(Usage {
            wall_ns: as_ns(end.duration_since(start)),
            cpu_ns: most(|thread| as_ns(thread.process_cpu)),
            waited_ns: sum(|thread| thread.waited_ns) / crew.len() as u64,
            stolen_ns: most(|thread| thread.stolen_ns),
            processors: assay_driver::machine::usable_cpus().len() as u32,
            involuntary_switches: sum(|thread| thread.involuntary_switches),
            major_faults: sum(|thread| thread.major_faults),
            stops: most(|thread| thread.stops),
        })
    }
}

/// The counters of the calling thread at the start of a round.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    start: Instant,
    process_cpu: Duration,
    waited_ns: u64,
    stolen_ns: u64,
    involuntary_switches: u64,
    major_faults: u64,
    stops: u64,
}

impl Meter {
    /// Starts a meter for the calling thread.
    pub fn start() -> Self {
        let thread = getrusage(UsageWho::RUSAGE_THREAD).ok();
        let count = |of: fn(&Counters) -> i64| thread.as_ref().map_or(0, of).max(0) as u64;
        Self {
            process_cpu: process_cpu(),
            waited_ns: waited_ns().unwrap_or(0),
            stolen_ns: stolen_ns().unwrap_or(0),
            involuntary_switches: count(Counters::involuntary_context_switches),
            major_faults: count(Counters::major_page_faults),
            stops: STOPS.load(Ordering::SeqCst),
            start: Instant::now(),
        }
    }

    /// Returns the usage since the start, for the thread that started the meter.
    pub fn stop(&self) -> ThreadUsage {
        let end = Instant::now();
        let now = Self::start();
        ThreadUsage {
            start: self.start,
            end,
            process_cpu: now.process_cpu.saturating_sub(self.process_cpu),
            waited_ns: now.waited_ns.saturating_sub(self.waited_ns),
            stolen_ns: now.stolen_ns.saturating_sub(self.stolen_ns),
            involuntary_switches: now.involuntary_switches - self.involuntary_switches,
            major_faults: now.major_faults - self.major_faults,
            stops: now.stops - self.stops,
        }
    }
}

fn as_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the processor time of this process, and of the engine's others, so far.
fn process_cpu() -> Duration {
    let (user, system) = cpu_time();
    user + system
}

/// Returns the time that the calling thread was ready without a processor, since its start; none if
/// the kernel does not count that.
fn waited_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the time stolen from a processor since the machine started, the mean over all.
fn stolen_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    stolen_of(&text, procfs::ticks_per_second())
}

/// Reads the stolen time from `/proc/stat`: the eighth number of its first line, in ticks, is the
/// sum over the processors with lines of their own.
fn stolen_of(text: &str, ticks_per_second: u64) -> Option<u64> {
    let ticks: u64 = text.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    let is_processor = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let processors = text.lines().filter(is_processor).count() as u64;
    ticks.saturating_mul(1_000_000_000).checked_div(ticks_per_second)?.checked_div(processors)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL_NS: u64 = 1_000_000;

    fn usage(cpu_ns: u64, waited_ns: u64, stolen_ns: u64) -> Usage {
        let wall_ns = WALL_NS;
        Usage { wall_ns, cpu_ns, waited_ns, stolen_ns, processors: 2, ..Usage::default() }
    }

    #[test]
    fn a_round_that_waited_for_others_is_disturbed() {
        assert!(!usage(1_000_000, 0, 0).is_disturbed());
        assert!(!usage(960_000, 40_000, 0).is_disturbed());
        assert!(usage(900_000, 100_000, 0).is_disturbed());
        assert!(usage(900_000, 0, 100_000).is_disturbed());
        // Nothing else shows that a process was stopped.
        assert!(Usage { stops: 1, ..usage(1_000_000, 0, 0) }.is_disturbed());
    }

    #[test]
    fn a_meter_counts_stops() {
        let meter = Meter::start();
        assert_eq!(meter.stop().stops, 0);
        note_stop();
        assert_eq!(meter.stop().stops, 1);
        assert_eq!(Meter::start().stop().stops, 0, "the next round goes on undisturbed");
    }

    /// The process had both processors, or waited for a device all the time.
    #[test]
    fn a_round_that_waited_for_its_own_threads_or_a_device_is_not() {
        assert!(!usage(2_000_000, 500_000, 0).is_disturbed());
        assert!(!usage(10_000, 10_000, 0).is_disturbed());
        assert_eq!(usage(1_900_000, 500_000, 0).lacked_ns(), 100_000);
    }

    #[test]
    fn a_crew_is_taken_together() {
        let start = Instant::now();
        let thread = |from_ms: u64, to_ms: u64, waited_ns| ThreadUsage {
            start: start + Duration::from_millis(from_ms),
            end: start + Duration::from_millis(to_ms),
            process_cpu: Duration::from_millis(to_ms),
            waited_ns,
            stolen_ns: to_ms,
            involuntary_switches: 3,
            major_faults: 1,
            stops: 0,
        };
        let crew = [thread(1, 5, 100), thread(0, 4, 300)];
        let usage = ThreadUsage::together(&crew).expect("two threads");
        assert_eq!((usage.wall_ns, usage.cpu_ns, usage.waited_ns), (5_000_000, 5_000_000, 200));
        assert_eq!((usage.stolen_ns, usage.involuntary_switches, usage.major_faults), (5, 6, 2));
        assert_eq!(ThreadUsage::together(&[]), None);
    }

    #[test]
    fn what_was_stolen_is_the_mean_over_the_processors() {
        let text = "cpu  1 2 3 4 5 6 7 30 9 10\ncpu0 1 2 3 4 5 6 7 10 9 10\n\
                    cpu1 1 2 3 4 5 6 7 20 9 10\nintr 1\n";
        assert_eq!(stolen_of(text, 100), Some(150_000_000));
        assert_eq!(stolen_of("cpu 1 2", 100), None);
    }

    #[test]
    fn a_meter_counts_the_time_of_this_process() {
        let meter = Meter::start();
        let mut value = 1_u64;
        while meter.stop().process_cpu < Duration::from_millis(20) {
            value = std::hint::black_box(value.wrapping_mul(3));
        }
        let usage = ThreadUsage::together(&[meter.stop()]).expect("a thread");
        assert!(usage.cpu_ns >= 20_000_000 && usage.wall_ns > 0, "{usage:?}");
        assert!(usage.processors > 0, "{usage:?}");
    }
}

//! Latencies of single operations, and their course over time.
//!
//! In a closed loop an operation starts when the one before it has ended, so a stall delays the
//! operations after it and counts once. In an open loop operations arrive at a given rate. Each
//! latency counts from the moment at which its operation was *meant* to start: an operation that
//! waited behind a stall is as late as its users would find it (Schroeder, Wierman, Harchol-Balter:
//! Open Versus Closed: A Cautionary Tale, NSDI 2006; Tene calls the mistake of the closed loop
//! coordinated omission).
//!
//! Arrivals are a Poisson process, as those of many independent users are. Were they evenly spaced,
//! a timer of the system could be in step with them, and fall on operations always or never.
//!
//! Between two operations the instrument prepares one and checks the other. If an operation is
//! already due then, the clock is stopped, so that no engine waits for the instrument.

use std::time::{Duration, Instant};

use assay_driver::error::Result;
use hdrhistogram::Histogram;

use crate::histogram::encode;
use crate::random::mix;
use crate::run_file::{Interval, Latency, Timeline};

/// The longest time of an open-loop round, about, if the engine keeps up.
const OPEN_LOOP_MOST_S: u64 = 60;

/// The longest latency that is recorded: an hour, with three significant digits.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The first width of the intervals of a timeline, and how many there may be before neighbours
/// are put together.
const FIRST_WIDTH_NS: u64 = 10_000_000;
const MOST_INTERVALS: usize = 128;

/// Time before the intended start of an operation that is not slept through: a sleep can last a
/// quarter of a millisecond longer than it was meant to.
const SPIN: Duration = Duration::from_millis(1);

/// Returns the number of `count` operations that a round has if they arrive at `rate` a second; all
/// of them in a closed loop.
pub fn operations_at(rate: Option<u64>, count: u64) -> u64 {
    rate.map_or(count, |rate| count.min(rate.saturating_mul(OPEN_LOOP_MOST_S)))
}

/// The source of a stopwatch's time.
pub trait Clock {
    /// Returns the time since the clock was made or last restarted.
    fn elapsed(&self) -> Duration;

    /// Restarts the clock from zero.
    fn restart(&mut self);

    /// Waits for `left` at most.
    fn wait(&self, left: Duration);
}

/// The clock of the system.
pub struct SystemClock(Instant);

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn restart(&mut self) {
        self.0 = Instant::now();
    }

    fn wait(&self, left: Duration) {
        match left.checked_sub(SPIN) {
            Some(long) if !long.is_zero() => std::thread::sleep(long),
            _ => std::thread::yield_now(),
        }
    }
}

/// Times the operations of one thread.
pub struct Stopwatch<C = SystemClock> {
    clock: C,
    /// Time for which the clock has stood still.
    stood: Duration,
    /// The end of the last operation, by this clock.
    ended: Duration,
    arrivals: Option<Arrivals>,
    kinds: Vec<Histogram<u64>>,
    course: Course,
}

/// The intended starts of one thread's operations in an open loop. All threads together have one
/// sequence, in which gaps are exponentially distributed. Of *t* threads, the first one has the
/// first operation of it and each *t*-th after that, the second one the second, and so on.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Operations a second of all threads together.
    rates: Rates,
    threads: u32,
    seed: u64,
    /// Operations of the sequence that have been counted: up to the thread's last one.
    counted: u64,
    /// The sum of the gaps before the last operation, in mean gaps.
    gaps: f64,
    /// Operations of the sequence up to the thread's next one.
    next: u64,
}

impl Arrivals {
    /// Returns the arrivals of thread `thread` (from 0) of `threads`, which share `rate` operations
    /// a second.
    pub fn new(rate: u64, thread: usize, threads: u32, seed: u64) -> Self {
        Self::along(Rates::constant(rate), thread, threads, seed)
    }

    /// Returns the arrivals of a thread at rates that change over time.
    pub fn along(rates: Rates, thread: usize, threads: u32, seed: u64) -> Self {
        Self { rates, threads, seed, counted: 0, gaps: 0.0, next: thread as u64 + 1 }
    }

    /// Returns the intended start of the thread's next operation, after the start of the round.
    fn next(&mut self) -> Duration {
        // Inversion: Devroye, Non-Uniform Random Variate Generation, Springer 1986, page 29.
        let gaps: f64 = (self.counted..self.next).map(|at| -self.uniform(at).ln()).sum();
        self.gaps += gaps;
        self.counted = self.next;
        self.next += u64::from(self.threads);
        self.due()
    }

    /// Returns the intended start of the thread's last operation.
    fn due(&self) -> Duration {
        Duration::from_nanos((self.rates.seconds_of(self.gaps) * 1e9) as u64)
    }

    /// Returns a uniform number in (0, 1] with 53 bits.
    fn uniform(&self, at: u64) -> f64 {
        ((mix(self.seed, at) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

/// Operations a second over time, of all threads together.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Seconds, and the rate during them. The last rate stays.
    steps: Vec<(f64, u64)>,
}

impl Rates {
    /// Returns one rate.
    pub fn constant(rate: u64) -> Self {
        Self::along([(1, rate)])
    }

    /// Returns rates that follow each other, each for a number of seconds; the last one stays.
    pub fn along(steps: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let steps = steps.into_iter().map(|(seconds, rate)| (seconds as f64, rate.max(1)));
        Self { steps: steps.collect() }
    }

    /// Returns the steps: seconds, and the rate during them.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.steps.iter().map(|(seconds, rate)| (*seconds as u64, *rate))
    }

    /// Returns the time after which this many operations have arrived on average, in seconds.
    pub fn seconds_of(&self, operations: f64) -> f64 {
        let mut left = operations;
        let mut passed = 0.0;
        let all_but_last = self.steps.len().saturating_sub(1);
        for (seconds, rate) in &self.steps[..all_but_last] {
            let arrive = seconds * *rate as f64;
            if left <= arrive {
                return passed + left / *rate as f64;
            }
            (left, passed) = (left - arrive, passed + seconds);
        }
        passed + left / self.last() as f64
    }

    /// Returns the number of operations that arrive in this many seconds on average.
    pub fn operations_in(&self, seconds: u64) -> f64 {
        let mut left = seconds as f64;
        let mut operations = 0.0;
        for (during, rate) in &self.steps {
            operations += during.min(left) * *rate as f64;
            left -= during.min(left);
        }
        operations + left * self.last() as f64
    }

    /// Returns the mean rate of the steps.
    pub fn mean(&self) -> u64 {
        let seconds: f64 = self.steps.iter().map(|(seconds, _)| seconds).sum();
        (self.operations_in(seconds as u64) / seconds.max(1.0)) as u64
    }

    fn last(&self) -> u64 {
        self.steps.last().map_or(1, |(_, rate)| *rate)
    }
}

impl Stopwatch {
    /// Times `kinds` kinds of operations of one thread by the system's clock; in a closed loop
    /// without arrivals.
    pub fn new(kinds: usize, arrivals: Option<Arrivals>) -> Self {
        Self::with_clock(SystemClock(Instant::now()), kinds, arrivals)
    }
}

impl<C: Clock> Stopwatch<C> {
    /// Makes a stopwatch with the given clock.
    fn with_clock(clock: C, kinds: usize, arrivals: Option<Arrivals>) -> Self {
        Self {
            clock,
            stood: Duration::ZERO,
            ended: Duration::ZERO,
            arrivals,
            kinds: (0..kinds).map(|_| histogram()).collect(),
            course: Course::default(),
        }
    }

    /// Starts the round.
    pub fn start(&mut self) {
        self.clock.restart();
    }

    /// Does an operation of a kind; in an open loop, waits for its time first.
    pub fn time<T>(&mut self, kind: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let due = self.arrivals.as_mut().map_or(self.ended, Arrivals::next);
        let now = self.now();
        self.stood += now.saturating_sub(due.max(self.ended));
        self.wait_until(due);
        let answer = work()?;
        self.ended = self.now();
        self.note(kind, self.ended, self.ended.saturating_sub(due));
        Ok(answer)
    }

    /// Returns the moment at which the next operation is due, after the start of the round; none in
    /// a closed loop.
    pub fn next_due(&mut self) -> Option<Duration> {
        self.arrivals.as_mut().map(Arrivals::next)
    }

    /// Notes an operation of a kind that another clock timed: its end, after the start of the
    /// round, and its latency.
    pub fn note(&mut self, kind: usize, ended: Duration, latency: Duration) {
        let latency_ns = as_ns(latency).clamp(1, LONGEST_NS);
        self.kinds[kind].saturating_record(latency_ns);
        self.course.add(as_ns(ended), latency_ns);
    }

    fn now(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.stood)
    }

    fn wait_until(&self, due: Duration) {
        loop {
            let left = due.saturating_sub(self.now());
            if left.is_zero() {
                return;
            }
            self.clock.wait(left);
        }
    }
}

fn as_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("bounds that HDR histograms take")
}

/// Latencies by the interval in which operations ended.
struct Course {
    width_ns: u64,
    intervals: Vec<Histogram<u32>>,
    end_ns: u64,
}

impl Default for Course {
    fn default() -> Self {
        Self { width_ns: FIRST_WIDTH_NS, intervals: Vec::new(), end_ns: 0 }
    }
}

impl Course {
    fn add(&mut self, end_ns: u64, latency_ns: u64) {
        while (end_ns / self.width_ns) as usize >= MOST_INTERVALS {
            self.widen();
        }
        let at = (end_ns / self.width_ns) as usize;
        while self.intervals.len() <= at {
            // Two digits, and no larger than what is in it.
            self.intervals.push(Histogram::new(2).expect("a precision that HDR histograms take"));
        }
        self.intervals[at].record(latency_ns).expect("a histogram that grows takes any latency");
        self.end_ns = self.end_ns.max(end_ns);
    }

    /// Merges each two intervals into one.
    fn widen(&mut self) {
        self.width_ns *= 2;
        let mut pairs = std::mem::take(&mut self.intervals).into_iter();
        while let Some(mut first) = pairs.next() {
            if let Some(second) = pairs.next() {
                first.add(&second).expect("histograms that grow take each other");
            }
            self.intervals.push(first);
        }
    }

    /// Adds the course of another thread.
    fn join(&mut self, mut other: Self) {
        while self.width_ns < other.width_ns {
            self.widen();
        }
        while other.width_ns < self.width_ns {
            other.widen();
        }
        for (at, histogram) in other.intervals.into_iter().enumerate() {
            match self.intervals.get_mut(at) {
                Some(own) => own.add(&histogram).expect("histograms that grow take each other"),
                None => self.intervals.push(histogram),
            }
        }
        self.end_ns = self.end_ns.max(other.end_ns);
    }
}

/// Returns the latencies of each kind of operation that was timed, by its name, and the timeline of
/// all operations, from a crew's stopwatches.
///
/// `None` if nothing was timed.
pub fn summary<C>(crew: Vec<Stopwatch<C>>, names: &[&str]) -> Option<(Vec<Latency>, Timeline)> {
    let rate = crew.first()?.arrivals.as_ref().map(|arrivals| arrivals.rates.mean());
    let mut kinds: Vec<_> = names.iter().map(|_| histogram()).collect();
    let mut course = Course::default();
    let stood = crew.iter().map(|stopwatch| stopwatch.stood).max().unwrap_or_default();
    let dues = crew.iter().filter_map(|stopwatch| stopwatch.arrivals.as_ref()).map(Arrivals::due);
    let last_due = dues.max();
    for stopwatch in crew {
        for (all, own) in kinds.iter_mut().zip(&stopwatch.kinds) {
            all.add(own).expect("they have the same bounds");
        }
        course.join(stopwatch.course);
    }
    let some = names.iter().zip(&kinds).filter(|(_, histogram)| !histogram.is_empty());
    let latencies: Vec<_> = some.map(|(name, histogram)| latency(name, histogram)).collect();
    if latencies.is_empty() {
        return None;
    }
    let interval = |histogram: &Histogram<u32>| Interval {
        operations: histogram.len(),
        p99_ns: (!histogram.is_empty()).then(|| histogram.value_at_quantile(0.99)),
        max_ns: (!histogram.is_empty()).then(|| histogram.max()),
    };
    let timeline = Timeline {
        offered_per_second: rate,
        offered_ns: last_due.map(as_ns),
        time_ns: course.end_ns,
        instrument_ns: as_ns(stood),
        interval_ns: course.width_ns,
        intervals: course.intervals.iter().map(interval).collect(),
    };
    Some((latencies, timeline))
}

fn latency(name: &str, histogram: &Histogram<u64>) -> Latency {
    Latency {
        operation: name.into(),
        count: histogram.len(),
        mean_ns: histogram.mean(),
        min_ns: histogram.min(),
        p50_ns: histogram.value_at_quantile(0.5),
        p90_ns: histogram.value_at_quantile(0.9),
        p95_ns: histogram.value_at_quantile(0.95),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        p9999_ns: Some(histogram.value_at_quantile(0.9999)),
        max_ns: histogram.max(),
        histogram: Some(encode(histogram)),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    /// A clock that stands still unless it is moved on; each reading takes a microsecond.
    #[derive(Clone, Default)]
    struct ManualClock(Rc<Cell<Duration>>);

    impl ManualClock {
        fn pass(&self, time: Duration) {
            self.0.set(self.0.get() + time);
        }

        fn pass_ms(&self, ms: u64) {
            self.pass(Duration::from_millis(ms));
        }
    }

    impl Clock for ManualClock {
        fn elapsed(&self) -> Duration {
            self.pass(Duration::from_micros(1));
            self.0.get()
        }

        fn restart(&mut self) {
            self.0.set(Duration::ZERO);
        }

        fn wait(&self, left: Duration) {
            self.pass(left);
        }
    }

    /// Returns a stopwatch for one kind of operation in one thread, and its clock.
    fn manual(rate: Option<u64>) -> (Stopwatch<ManualClock>, ManualClock) {
        let clock = ManualClock::default();
        let arrivals = rate.map(|rate| Arrivals::new(rate, 0, 1, 1));
        (Stopwatch::with_clock(clock.clone(), 1, arrivals), clock)
    }

    #[test]
    fn what_waits_behind_a_stall_is_late_in_an_open_loop_only() {
        let stalled = |rate| {
            let (mut watch, clock) = manual(rate);
            watch.start();
            for at in 0..100 {
                let stall_ms = if at == 10 { 200 } else { 0 };
                let work = || {
                    clock.pass_ms(stall_ms);
                    Ok(())
                };
                watch.time(0, work).expect("no fault");
            }
            summary(vec![watch], &["get"]).expect("timed").0.remove(0)
        };
        let closed = stalled(None);
        let open = stalled(Some(1_000));
        assert!(closed.max_ns >= 200_000_000 && open.max_ns >= 200_000_000);
        // 89 operations came after it and within 89 ms of its start, so waited 111 ms or more.
        assert!(open.p50_ns > 100_000_000, "{open:?}");
        assert!(closed.p95_ns < 100_000, "{closed:?}");
    }

    #[test]
    fn arrivals_of_all_threads_are_one_process_with_the_rate_and_no_step() {
        const COUNT: usize = 60_000;
        let of_threads = |threads: u32, seed| {
            let of_thread = |thread| {
                let mut arrivals = Arrivals::new(5_000, thread, threads, seed);
                let dues = std::iter::repeat_with(move || as_ns(arrivals.next()));
                dues.take(COUNT / threads as usize)
            };
            let mut all: Vec<u64> = (0..threads as usize).flat_map(of_thread).collect();
            all.sort_unstable();
            all
        };
        let dues = of_threads(1, 1);
        for threads in [2, 3, 64] {
            let dues = dues[..COUNT / threads as usize * threads as usize].iter();
            // Sums of gaps that were added in another order differ by less than a nanosecond.
            let same = dues.zip(of_threads(threads, 1)).all(|(one, many)| one.abs_diff(many) <= 1);
            assert!(same, "{threads} threads");
        }
        assert_ne!(dues, of_threads(1, 2));
        // A gap has 200 µs on average, which is also its standard deviation.
        let mean_ns = dues[COUNT - 1] as f64 / COUNT as f64;
        assert!((mean_ns - 200_000.0).abs() < 5.0 * 200_000.0 / (COUNT as f64).sqrt(), "{mean_ns}");
        let long = dues.windows(2).filter(|pair| pair[1] - pair[0] > 200_000).count();
        let expected = COUNT as f64 * (-1.0_f64).exp();
        assert!((long as f64 - expected).abs() < 5.0 * expected.sqrt(), "{long}");
        // Every tenth of the time between two ticks of the system has a tenth of them.
        for tenth in 0..10 {
            let met = dues.iter().filter(|due| *due % 4_000_000 / 400_000 == tenth).count();
            assert!(
                (met as f64 - 6_000.0).abs() < 5.0 * 6_000_f64.sqrt(),
                "{met} in tenth {tenth}"
            );
        }
    }

    #[test]
    fn rates_change_over_time_and_the_last_one_stays() {
        let rates = Rates::along([(2, 100), (1, 1_000), (5, 10)]);
        let at = [(0.0, 0.0), (100.0, 1.0), (200.0, 2.0), (700.0, 2.5), (1_200.0, 3.0)];
        for (operations, seconds) in at.into_iter().chain([(1_250.0, 8.0), (1_300.0, 13.0)]) {
            assert_eq!(rates.seconds_of(operations), seconds);
        }
        let in_time = [0, 1, 2, 3, 8, 13].map(|seconds| rates.operations_in(seconds));
        assert_eq!(in_time, [0.0, 100.0, 200.0, 1_200.0, 1_250.0, 1_300.0]);
        assert_eq!(rates.mean(), 1_250 / 8);
        let mut arrivals = Arrivals::along(Rates::along([(10, 1_000), (10, 100)]), 0, 1, 3);
        let dues: Vec<_> = (0..11_000).map(|_| arrivals.next().as_secs_f64()).collect();
        let before = dues.iter().filter(|due| **due < 10.0).count();
        let after = dues.iter().filter(|due| (10.0..20.0).contains(*due)).count();
        assert!((before as f64 - 10_000.0).abs() < 500.0, "{before}");
        assert!((after as f64 - 1_000.0).abs() < 160.0, "{after}");
    }

    #[test]
    fn no_operation_waits_for_the_instrument() {
        for rate in [None, Some(1_000_000)] {
            let (mut watch, clock) = manual(rate);
            watch.start();
            for _ in 0..3 {
                clock.pass_ms(100);
                let work = || {
                    clock.pass_ms(1);
                    Ok(())
                };
                watch.time(0, work).expect("no fault");
            }
            let (latencies, timeline) = summary(vec![watch], &["get"]).expect("timed");
            // Three operations of a millisecond each, the last one behind the others at most.
            assert!(latencies[0].max_ns < 4_000_000, "{latencies:?}");
            assert!(timeline.time_ns < 4_000_000, "{timeline:?}");
            assert!(timeline.instrument_ns >= 299_000_000, "{timeline:?}");
        }
    }

    #[test]
    fn intervals_are_put_together_and_none_is_lost() {
        let mut long = Course::default();
        (0..10_000).for_each(|at| long.add(at * FIRST_WIDTH_NS, 100 + at));
        assert!(long.intervals.len() <= MOST_INTERVALS && long.width_ns > FIRST_WIDTH_NS);
        let mut short = Course::default();
        (0..100).for_each(|at| short.add(at * FIRST_WIDTH_NS, 5_000));
        short.join(long);
        let count: u64 = short.intervals.iter().map(Histogram::len).sum();
        assert_eq!(count, 10_100);
        assert_eq!(short.end_ns, 9_999 * FIRST_WIDTH_NS);
        assert!(short.intervals[0].max() >= 4_900, "the other's are in the first ones");
    }

    #[test]
    fn the_histogram_of_all_threads_is_kept() {
        let mut first = manual(None).0;
        let mut second = manual(None).0;
        for watch in [&mut first, &mut second] {
            (0..500).for_each(|_| watch.time(0, || Ok(())).expect("no fault"));
        }
        let (latencies, _) = summary(vec![first, second], &["get"]).expect("timed");
        let quantiles = latencies[0].quantiles_ns(&[0.5, 0.999, 0.9995]).expect("a histogram");
        assert_eq!(quantiles[0], Some(latencies[0].p50_ns));
        assert_eq!(quantiles[1], Some(latencies[0].p999_ns), "one of a thousand is beyond it");
        assert_eq!(quantiles[2], None, "half an operation is none");
    }

    #[test]
    fn kinds_that_did_not_occur_have_no_latency() {
        let mut watch = Stopwatch::new(2, None);
        watch.time(1, || Ok(())).expect("no fault");
        let (latencies, timeline) = summary(vec![watch], &["get", "put"]).expect("timed");
        assert_eq!(latencies.len(), 1);
        assert_eq!((latencies[0].operation.as_str(), latencies[0].count), ("put", 1));
        assert_eq!(timeline.intervals.iter().map(|i| i.operations).sum::<u64>(), 1);
        assert!(summary(vec![Stopwatch::new(2, None)], &["get", "put"]).is_none());
    }

    #[test]
    fn an_open_loop_ends_after_a_minute() {
        assert_eq!(operations_at(None, 1_000_000), 1_000_000);
        assert_eq!(operations_at(Some(1_000), 1_000_000), 60_000);
        assert_eq!(operations_at(Some(u64::MAX), 10), 10);
    }
}

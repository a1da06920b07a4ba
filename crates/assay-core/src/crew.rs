//! Threads that work at once, each on separate connections.
//!
//! Each thread prepares a batch of operations, meets the others at a gate, replays its batch, and
//! meets them again: so none prepares while others are on the clock. The time of a batch
//! is from the first thread's start to the last one's end; the time of a round is the sum over
//! its batches. A single thread passes no gate.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Store};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::counting;
use crate::usage::{Meter, ThreadUsage, Usage};

/// Binds the calling thread (and threads that it starts later) to processors.
pub fn bind(cpus: &[usize]) -> std::result::Result<(), String> {
    let mut set = CpuSet::new();
    cpus.iter()
        .try_for_each(|&cpu| set.set(cpu))
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|error| format!("cannot bind to processors {cpus:?}: {error}"))
}

/// Returns a thread's part of `count` operations: parts differ by one at most.
pub fn share(count: u64, threads: u32, thread: usize) -> Range<u64> {
    let threads = u128::from(threads);
    let thread = thread as u128;
    let from = |thread: u128| (u128::from(count) * thread / threads) as u64;
    from(thread)..from(thread + 1)
}

/// The gate at which the threads of a crew wait for each other.
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Threads that still have work.
    working: usize,
    waiting: usize,
    /// The number of times that the gate has opened.
    opened: u64,
    /// True if a thread has failed, so that none may wait for it.
    given_up: bool,
}

impl Gate {
    fn new(threads: usize) -> Self {
        let state = State { working: threads, waiting: 0, opened: 0, given_up: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all threads that still have work. Returns false if one of them has failed.
    fn pass(&self) -> bool {
        let mut state = self.lock();
        state.waiting += 1;
        if state.waiting == state.working {
            state.open(&self.changed);
            return !state.given_up;
        }
        let opened = state.opened;
        let held = self.changed.wait_while(state, |s| s.opened == opened && !s.given_up);
        !held.unwrap_or_else(PoisonError::into_inner).given_up
    }

    /// Notes that this thread has no work left.
    fn leave(&self, failed: bool) {
        let mut state = self.lock();
        state.working -= 1;
        state.given_up |= failed;
        if state.waiting == state.working || failed {
            state.open(&self.changed);
        }
    }

    /// Waits until no thread has work left. Returns false if one of them has failed.
    fn wait_for_all(&self) -> bool {
        let held = self.changed.wait_while(self.lock(), |s| s.working > 0 && !s.given_up);
        !held.unwrap_or_else(PoisonError::into_inner).given_up
    }
}

impl State {
    fn open(&mut self, changed: &Condvar) {
        self.waiting = 0;
        self.opened += 1;
        changed.notify_all();
    }
}

/// A thread's clock: it times spans, together with the others of its crew.
pub struct Pace<'g> {
    gate: Option<&'g Gate>,
    working: bool,
    spans: Spans,
    meter: Meter,
}

/// The spans that a thread timed.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// True if other threads worked at the same time.
    is_shared: bool,
    alone: Duration,
    together: Vec<(Instant, Instant)>,
    usage: Option<ThreadUsage>,
}

/// The time and the usage of a round.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The time on the clock.
    pub time: Duration,
    /// The round's use of the machine; none if its threads did not finish.
    pub usage: Option<Usage>,
}

impl Spans {
    fn push(&mut self, start: Instant, end: Instant) {
        if self.is_shared {
            self.together.push((start, end))
        } else {
            self.alone += end.duration_since(start)
        }
    }

    /// Returns the time that a crew's round took, and its use of the machine.
    pub fn taken(crew: &[Self]) -> Taken {
        let threads: Vec<_> = crew.iter().filter_map(|spans| spans.usage).collect();
        Taken { time: Self::total(crew), usage: ThreadUsage::together(&threads) }
    }

    /// Returns the time that a crew's spans took: by batch from the first start to the last end.
    pub fn total(crew: &[Self]) -> Duration {
        let alone: Duration = crew.iter().map(|spans| spans.alone).sum();
        let batches = crew.iter().map(|spans| spans.together.len()).max().unwrap_or(0);
        let together = (0..batches).map(|at| {
            let of_batch = || crew.iter().filter_map(|spans| spans.together.get(at));
            let start = of_batch().map(|(start, _)| *start).min();
            let end = of_batch().map(|(_, end)| *end).max();
            start.zip(end).map_or(Duration::ZERO, |(start, end)| end.duration_since(start))
        });
        alone + together.sum::<Duration>()
    }
}

fn given_up() -> Error {
    Error::new(ErrorKind::GivenUp, "another thread failed")
}

impl Pace<'_> {
    /// Returns the clock of a thread that works alone.
    pub fn alone() -> Self {
        Self { gate: None, working: true, spans: Spans::default(), meter: Meter::start() }
    }

    /// Returns true if other threads work at the same time.
    pub fn is_shared(&self) -> bool {
        self.gate.is_some()
    }

    /// Does work on the clock, at the same time as the others of the crew.
    pub fn span<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.together(|spans| {
            let start = Instant::now();
            let result = counting::span(work);
            spans.push(start, Instant::now());
            result
        })
    }

    /// Meets the others of the crew off the clock.
    pub fn meet(&mut self) -> Result<()> {
        if self.gate.is_none_or(Gate::pass) { Ok(()) } else { Err(given_up()) }
    }

    /// Does all the work of a round on the clock, in one span. Only that span counts in the round's
    /// usage, not what is prepared before it and checked after it.
    pub fn whole<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.together(|spans| {
            let meter = Meter::start();
            let start = Instant::now();
            let result = counting::span(work);
            spans.push(start, Instant::now());
            spans.usage = Some(meter.stop());
            result
        })
    }

    /// Does something at the same time as the others of the crew.
    fn together<T>(&mut self, work: impl FnOnce(&mut Spans) -> Result<T>) -> Result<T> {
        self.spans.is_shared = self.gate.is_some();
        let Some(gate) = self.gate else {
            return work(&mut self.spans);
        };
        if !gate.pass() {
            return Err(given_up());
        }
        let result = work(&mut self.spans)?;
        if gate.pass() { Ok(result) } else { Err(given_up()) }
    }

    /// Waits for the other threads, so that this thread's next work disturbs none of them. Returns
    /// the spans of this thread, which has timed all its work.
    pub fn finish(&mut self) -> Result<Spans> {
        let usage = self.spans.usage.take().unwrap_or_else(|| self.meter.stop());
        if let (Some(gate), true) = (self.gate, std::mem::take(&mut self.working)) {
            gate.leave(false);
            if !gate.wait_for_all() {
                return Err(given_up());
            }
        }
        self.spans.usage = Some(usage);
        Ok(std::mem::take(&mut self.spans))
    }
}

impl Drop for Pace<'_> {
    fn drop(&mut self) {
        if let (Some(gate), true) = (self.gate, self.working) {
            gate.leave(true);
        }
    }
}

/// The work of each thread of a crew. The thread gets its number, its clock, its connections (one
/// to each store), and a function that reports the number of operations done.
pub type Duty<'d, T> =
    dyn Fn(usize, &mut Pace<'_>, Connections<'_, '_>, &mut dyn FnMut(u64)) -> Result<T> + Sync + 'd;

/// The connections of a thread, one to each store.
pub type Connections<'c, 's> = &'c mut [&'s mut dyn Connection];

/// Runs `duty` on `threads` threads at once, and returns what each of them returned. The first one
/// is the calling thread, and the only one that reports progress. With `cpus`, thread *n* is bound
/// to the processor at index *n* modulo their number.
pub fn run<T: Send>(
    stores: &[Box<dyn Store>],
    threads: u32,
    cpus: &[usize],
    progress: &mut dyn FnMut(u64),
    duty: &Duty<'_, T>,
) -> Result<Vec<T>> {
    if threads == 1 {
        let mut pace = Pace::alone();
        return member(stores, &mut |connections| duty(0, &mut pace, connections, progress))
            .map(|answer| vec![answer]);
    }
    let gate = Gate::new(threads as usize);
    let work = |number: usize, progress: &mut dyn FnMut(u64)| {
        let mut pace = Pace {
            gate: Some(&gate),
            working: true,
            spans: Spans::default(),
            meter: Meter::start(),
        };
        if !cpus.is_empty() {
            bind(&cpus[number % cpus.len()..][..1]).map_err(|e| Error::engine("start", e))?;
        }
        member(stores, &mut |connections| duty(number, &mut pace, connections, progress))
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = (1..threads as usize)
            .map(|number| scope.spawn(move || work(number, &mut |_| ())))
            .collect();
        let first = work(0, progress);
        let others = others.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Error::engine("thread", "it panicked")))
        });
        std::iter::once(first).chain(others).collect()
    });
    if !cpus.is_empty() {
        bind(cpus).map_err(|e| Error::engine("start", e))?;
    }
    let is_reason = |error: &Error| error.kind() != ErrorKind::GivenUp;
    match results.iter().position(|result| result.as_ref().is_err_and(is_reason)) {
        Some(at) => results.into_iter().nth(at).into_iter().collect(),
        None => results.into_iter().collect(),
    }
}

/// Opens a connection to every store and runs `work` with them.
fn member<T>(
    stores: &[Box<dyn Store>],
    work: &mut dyn FnMut(&mut [&mut dyn Connection]) -> Result<T>,
) -> Result<T> {
    let mut answer = None;
    connect(stores, Vec::new(), &mut |connections| {
        answer = Some(work(connections)?);
        Ok(())
    })?;
    answer.ok_or_else(|| Error::engine("connect", "the store did not run its work"))
}

fn connect(
    stores: &[Box<dyn Store>],
    mut connected: Vec<&mut dyn Connection>,
    work: &mut dyn FnMut(&mut [&mut dyn Connection]) -> Result<()>,
) -> Result<()> {
    match stores {
        [] => work(&mut connected),
        [store, others @ ..] => store.connect(&mut |connection| {
            let mut all: Vec<&mut dyn Connection> = Vec::with_capacity(connected.len() + 1);
            for earlier in &mut connected {
                all.push(&mut **earlier);
            }
            all.push(connection);
            connect(others, all, work)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_driver::{Cache, Outcome, Work};
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Nothing;

    impl Store for Nothing {
        fn settings(&self) -> Vec<String> {
            Vec::new()
        }

        fn cache(&self) -> Cache {
            Cache::NoSetting
        }

        fn connect(&self, work: &mut Work<'_>) -> Result<()> {
            work(&mut Self)
        }

        fn close(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    impl Connection for Nothing {
        fn insert(&mut self, _: &[u8]) -> Result<Outcome> {
            Ok(Outcome::Done)
        }

        fn get(&mut self, _: &[u8], _: &mut [u8]) -> Result<Outcome> {
            Ok(Outcome::Missing)
        }

        fn update(&mut self, _: &[u8], _: usize, _: &[u8]) -> Result<Outcome> {
            Ok(Outcome::Missing)
        }

        fn delete(&mut self, _: &[u8]) -> Result<Outcome> {
            Ok(Outcome::Missing)
        }
    }

    fn stores(count: usize) -> Vec<Box<dyn Store>> {
        (0..count).map(|_| Box::new(Nothing) as Box<dyn Store>).collect()
    }

    #[test]
    fn shares_cover_everything_once() {
        for (count, threads) in [(10, 3), (2, 4), (0, 2), (u64::MAX, 16)] {
            let mut next = 0;
            for thread in 0..threads as usize {
                let share = share(count, threads, thread);
                assert_eq!(share.start, next);
                assert!(share.end - share.start <= count / u64::from(threads) + 1);
                next = share.end;
            }
            assert_eq!(next, count);
        }
    }

    #[test]
    fn none_prepares_while_others_are_on_the_clock() {
        let busy = AtomicUsize::new(0);
        // Thread 2 has fewer batches than the others.
        let answers = run(&stores(2), 3, &[], &mut |_| (), &|number, pace, connections, _| {
            assert_eq!(connections.len(), 2);
            for _ in 0..if number == 2 { 20 } else { 50 } {
                assert_eq!(busy.load(Ordering::SeqCst), 0, "a thread is on the clock");
                pace.span(|| {
                    busy.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    busy.fetch_sub(1, Ordering::SeqCst);
                    Ok(())
                })?;
            }
            let spans = pace.finish()?;
            Ok((number, spans))
        })
        .expect("all succeed");
        let (numbers, spans): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
        assert_eq!(numbers, [0, 1, 2]);
        assert_eq!(spans.iter().map(|s| s.together.len()).collect::<Vec<_>>(), [50, 50, 20]);
    }

    #[test]
    fn a_batch_takes_from_the_first_start_to_the_last_end() {
        let now = Instant::now();
        let at = |ms: u64| now + Duration::from_millis(ms);
        let thread = |together: &[(u64, u64)]| Spans {
            usage: None,
            is_shared: true,
            alone: Duration::ZERO,
            together: together.iter().map(|&(start, end)| (at(start), at(end))).collect(),
        };
        let crew = [thread(&[(2, 5), (20, 21)]), thread(&[(1, 4), (22, 30)]), thread(&[(3, 7)])];
        assert_eq!(Spans::total(&crew), Duration::from_millis(6 + 10));
    }

    #[test]
    fn the_usage_of_a_whole_round_is_that_of_its_span_and_not_on_its_clock() {
        for threads in [1, 3] {
            let spans = run(&stores(1), threads, &[], &mut |_| (), &|_, pace, _, _| {
                let before = Instant::now();
                pace.whole(|| Ok(()))?;
                let whole = before.elapsed();
                // What follows counts no more.
                while before.elapsed() < 2 * whole {
                    std::thread::yield_now();
                }
                Ok((pace.finish()?, whole))
            })
            .expect("all succeed");
            let (spans, wholes): (Vec<_>, Vec<_>) = spans.into_iter().unzip();
            let taken = Spans::taken(&spans);
            let wall = Duration::from_nanos(taken.usage.expect("a usage").wall_ns);
            let longest = wholes.into_iter().max().expect("a thread");
            assert!(taken.time <= wall && wall <= longest, "{taken:?}, {longest:?}");
        }
    }

    #[test]
    fn one_failure_ends_the_crew_and_is_the_one_that_is_told() {
        let error = run(&stores(1), 4, &[], &mut |_| (), &|number, pace, _, _| {
            for batch in 0..10 {
                pace.span(|| match (number, batch) {
                    (3, 5) => Err(Error::engine("insert", "out of cheese")),
                    _ => Ok(()),
                })?;
            }
            pace.finish()
        })
        .expect_err("thread 3 failed");
        assert_eq!(error.to_string(), "insert: out of cheese");
    }
}

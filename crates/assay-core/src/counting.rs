//! Marks for counters: the spans on the clock, and the ends of phases.
//!
//! A counter outside this process sees the marks in one of two ways. Callgrind knows
//! functions by their names: it counts within `on_mark`, not within `off_mark`, and writes its
//! counts when `phase_mark` is entered. A tracer of system calls sees signals to processes that
//! cannot exist. The processor's own counter is switched on and off by this process. Without a
//! counter a span costs one look at a flag.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use perf_event::events::{Event, Hardware};
use serde::{Deserialize, Serialize};

/// The counter that looks at this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counter {
    /// Valgrind's callgrind, which counts instructions.
    Callgrind,
    /// The processor's own counter, which counts instructions.
    Hardware,
    /// The tracer of system calls.
    Calls,
}

/// The marks for the tracer: numbers of processes above the most that Linux allows (4,194,304).
pub const SPAN_STARTS: i32 = 2_000_000_001;
/// The mark for the end of a span.
pub const SPAN_ENDS: i32 = 2_000_000_002;
/// The mark for the end of a phase.
pub const PHASE_ENDS: i32 = 2_000_000_003;

/// The functions that callgrind knows, by patterns of its own.
pub const ON_MARK: &str = "assay_core::counting::on_mark*";
/// The function in which the main thread is not counted.
pub const OFF_MARK: &str = "assay_core::counting::off_mark*";
/// The function before which callgrind writes its counts.
pub const PHASE_MARK: &str = "assay_core::counting::phase_mark*";

const NONE: u8 = 0;
const CALLGRIND: u8 = 1;
const CALLS: u8 = 2;
const HARDWARE: u8 = 3;

static COUNTER: AtomicU8 = AtomicU8::new(NONE);
static ENDED: Mutex<Vec<Ended>> = Mutex::new(Vec::new());
static FAULTS: Mutex<u64> = Mutex::new(0);
static EVENTS: Mutex<Option<Events>> = Mutex::new(None);

/// A mark between two phases: the counts since the mark before it belong to what it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The phase; none for what belongs to no phase.
    pub phase: Option<String>,
    /// Page faults of the thread within spans; zero unless system calls are counted.
    pub page_faults: u64,
    /// Instructions of the thread within spans; zero unless the processor counts them.
    pub instructions: u64,
}

/// The marks of a counted process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// The ends of phases, in order.
    pub ended: Vec<Ended>,
    /// Instructions of threads that started during the work; zero unless the processor counts them.
    pub background_instructions: u64,
}

/// Does work with a counter looking at this process; returns the marks too. Other threads are
/// counted all along, the calling one within spans only.
///
/// # Errors
/// `NotFound` and others of `perf_event_open` if the processor's counter cannot be had.
pub fn counted<T>(counter: Counter, work: impl FnOnce() -> T) -> io::Result<(T, Marks)> {
    let number = match counter {
        Counter::Callgrind => CALLGRIND,
        Counter::Hardware => {
            *locked(&EVENTS) = Some(Events::open(Hardware::INSTRUCTIONS)?);
            HARDWARE
        }
        Counter::Calls => CALLS,
    };
    COUNTER.store(number, Ordering::SeqCst);
    // What came before belongs to no phase.
    end(None);
    let result = through(work, off_mark);
    COUNTER.store(NONE, Ordering::SeqCst);
    let events = locked(&EVENTS).take();
    let background_instructions = events.map_or(Ok(0), Events::of_other_threads)?;
    let ended = std::mem::take(&mut *locked(&ENDED));
    Ok((result, Marks { ended, background_instructions }))
}

/// Fails if the processor's counter of instructions cannot be had.
///
/// # Errors
/// Those of `perf_event_open`.
pub fn expect_hardware() -> io::Result<()> {
    Events::open(Hardware::INSTRUCTIONS).map(drop)
}

/// Returns true if a counter looks at this process.
pub fn is_on() -> bool {
    COUNTER.load(Ordering::Relaxed) != NONE
}

/// Does the work of a span.
#[inline]
pub(crate) fn span<T>(work: impl FnOnce() -> T) -> T {
    match COUNTER.load(Ordering::Relaxed) {
        CALLGRIND => through(work, on_mark),
        HARDWARE => {
            let mut events = locked(&EVENTS);
            let Some(events) = &mut *events else { return work() };
            events.count(work)
        }
        CALLS => {
            let before = page_faults();
            mark(SPAN_STARTS);
            let result = work();
            mark(SPAN_ENDS);
            *locked(&FAULTS) += page_faults().saturating_sub(before);
            result
        }
        _ => work(),
    }
}

/// Notes the end of a phase, or of something that belongs to none.
pub fn end(phase: Option<&str>) {
    match COUNTER.load(Ordering::Relaxed) {
        CALLGRIND => phase_mark(),
        CALLS => mark(PHASE_ENDS),
        HARDWARE => {}
        _ => return,
    }
    let page_faults = std::mem::take(&mut *locked(&FAULTS));
    let events = &mut *locked(&EVENTS);
    let instructions = events.as_mut().map_or(0, |events| std::mem::take(&mut events.in_spans));
    locked(&ENDED).push(Ended { phase: phase.map(String::from), page_faults, instructions });
}

/// An event that the kernel or the processor counts, in programs and not in the kernel.
struct Events {
    /// Counts the calling thread within a span.
    span: perf_event::Counter,
    /// Counts the calling thread all along.
    thread: perf_event::Counter,
    /// Counts the calling thread and all threads that start later.
    process: perf_event::Counter,
    /// The count of all spans since the last phase ended.
    in_spans: u64,
}

impl Events {
    /// Opens counters of an event: of the calling thread, and of it and the threads that it starts.
    fn open(event: impl Event + Clone) -> io::Result<Self> {
        let build = |inherit: bool| {
            let mut builder = perf_event::Builder::new(event.clone());
            builder.exclude_kernel(true).exclude_hv(true).inherit(inherit).build()
        };
        let span = build(false)?;
        let mut thread = build(false)?;
        let mut process = build(true)?;
        thread.enable()?;
        process.enable()?;
        Ok(Self { span, thread, process, in_spans: 0 })
    }

    /// Does the work of a span.
    fn count<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let counted = "a counter that was opened can be switched and read";
        self.span.reset().expect(counted);
        self.span.enable().expect(counted);
        let result = work();
        self.span.disable().expect(counted);
        self.in_spans += self.span.read().expect(counted);
        result
    }

    /// Returns the count of the threads that the calling one started.
    ///
    /// # Errors
    /// `Other` if the processor had too few counters at a time, so that some missed events.
    fn of_other_threads(mut self) -> io::Result<u64> {
        for counter in [&mut self.thread, &mut self.process] {
            counter.disable()?;
        }
        let full = self.thread.read_full()?;
        if full.time_running() != full.time_enabled() {
            let why = "other programs use the processor's counters too; count with callgrind";
            return Err(io::Error::other(why));
        }
        Ok(self.process.read()?.saturating_sub(self.thread.read()?))
    }
}

/// Does work within a function that callgrind knows.
fn through<T>(work: impl FnOnce() -> T, mark: fn(&mut dyn FnMut())) -> T {
    let mut result = None;
    let mut work = Some(work);
    mark(&mut || result = work.take().map(|work| work()));
    result.expect("a mark does its work once")
}

/// Does work that callgrind counts. A call at the end would be a jump, which leaves the function.
/// Each mark ends in another value: functions of one body become one function.
#[inline(never)]
fn on_mark(work: &mut dyn FnMut()) {
    work();
    black_box(1_u8);
}

/// Does work that callgrind does not count.
#[inline(never)]
fn off_mark(work: &mut dyn FnMut()) {
    work();
    black_box(2_u8);
}

/// Has callgrind write its counts.
#[inline(never)]
fn phase_mark() {
    black_box(3_u8);
}

/// Sends nothing to a process that cannot exist, which a tracer sees.
fn mark(number: i32) {
    let _ = kill(Pid::from_raw(number), None);
}

fn page_faults() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    usage.map_or(0, |it| (it.minor_page_faults() + it.major_page_faults()).max(0) as u64)
}

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use perf_event::events::Software;

    use super::*;

    #[test]
    fn events_are_counted_in_spans_and_those_of_other_threads_apart() {
        // The kernel counts this one, on machines without a counter of instructions too.
        let mut events = match Events::open(Software::PAGE_FAULTS) {
            Ok(events) => events,
            Err(error) => {
                eprintln!("skipped: the kernel counts no events for programs: {error}");
                return;
            }
        };
        // So much memory is never a part of what was given back before.
        let touch = || drop(black_box(vec![1_u8; 64 << 20]));
        touch();
        events.count(touch);
        events.count(touch);
        let in_spans = std::mem::take(&mut events.in_spans);
        // Huge pages are faults of 512 pages.
        assert!((64..1 << 16).contains(&in_spans), "{in_spans}");
        // On a machine without free memory even an empty span may have a fault.
        let is_without = (0..100).any(|_| {
            touch();
            events.count(|| ());
            std::mem::take(&mut events.in_spans) == 0
        });
        assert!(is_without, "what is outside of spans is not counted");
        std::thread::spawn(touch).join().expect("a thread");
        let of_others = events.of_other_threads().expect("it can be read");
        assert!((32..1 << 16).contains(&of_others), "{of_others}");
    }

    #[test]
    fn marks_are_functions_of_their_own() {
        let marks = [on_mark as *const (), off_mark as *const (), phase_mark as *const ()];
        assert!(marks[0] != marks[1] && marks[1] != marks[2] && marks[0] != marks[2], "{marks:?}");
    }

    /// One test, because the counter is that of the whole process.
    #[test]
    fn a_counted_process_notes_the_ends_of_its_phases() {
        assert!(!is_on());
        assert_eq!(span(|| 7), 7);
        end(Some("before"));
        for counter in [Counter::Callgrind, Counter::Calls] {
            let (result, marks) = counted(counter, || {
                assert!(is_on());
                let pages = span(|| vec![1_u8; 1 << 22]);
                end(Some("insert"));
                end(None);
                pages.len()
            })
            .expect("these need nothing of the processor");
            assert_eq!(result, 1 << 22);
            let ended = &marks.ended;
            let phases: Vec<_> = ended.iter().map(|mark| mark.phase.as_deref()).collect();
            assert_eq!(phases, [None, Some("insert"), None], "{counter:?}");
            // Other tests may add to it.
            assert!(ended[1].page_faults > 0 || counter == Counter::Callgrind, "{marks:?}");
        }
        assert!(!is_on());
    }
}

//! Marks for counters: the spans on the clock, and the ends of phases.
//!
//! A counter outside this process sees the marks in one of two ways. Callgrind knows
//! functions by their names: it counts within `on_mark`, not within `off_mark`, and writes its
//! counts when `phase_mark` is entered. A tracer of system calls sees signals to processes that
//! cannot exist. Without a counter a span costs one look at a flag.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The counter that looks at this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counter {
    /// Valgrind's callgrind, which counts instructions.
    Callgrind,
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

static COUNTER: AtomicU8 = AtomicU8::new(NONE);
static ENDED: Mutex<Vec<Ended>> = Mutex::new(Vec::new());
static FAULTS: Mutex<u64> = Mutex::new(0);

/// A mark between two phases: the counts since the mark before it belong to what it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The phase; none for what belongs to no phase.
    pub phase: Option<String>,
    /// Page faults of the thread within spans; zero unless system calls are counted.
    pub page_faults: u64,
}

/// Does work with a counter looking at this process; returns the marks too. Other threads are
/// counted all along, the calling one within spans only.
pub fn counted<T>(counter: Counter, work: impl FnOnce() -> T) -> (T, Vec<Ended>) {
    COUNTER.store(
        match counter {
            Counter::Callgrind => CALLGRIND,
            Counter::Calls => CALLS,
        },
        Ordering::SeqCst,
    );
    // What came before belongs to no phase.
    end(None);
    let result = through(work, off_mark);
    COUNTER.store(NONE, Ordering::SeqCst);
    (result, std::mem::take(&mut *locked(&ENDED)))
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
        _ => return,
    }
    let page_faults = std::mem::take(&mut *locked(&FAULTS));
    locked(&ENDED).push(Ended { phase: phase.map(String::from), page_faults });
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
    use super::*;

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
            });
            assert_eq!(result, 1 << 22);
            let phases: Vec<_> = marks.iter().map(|mark| mark.phase.as_deref()).collect();
            assert_eq!(phases, [None, Some("insert"), None], "{counter:?}");
            // Other tests may add to it.
            assert!(marks[1].page_faults > 0 || counter == Counter::Callgrind, "{marks:?}");
        }
        assert!(!is_on());
    }
}

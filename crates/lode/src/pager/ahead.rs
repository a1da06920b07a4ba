//! A thread that asks the operating system for the memory of frames before they need it. To give a
//! huge page, the system fills it with zeros, and a virtual machine may have to get it from its
//! host first. A writer that touched the page first would wait for that: for half of the time in
//! which a table grows.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::memory::Memory;
use super::{FrameNumber, lock};
use crate::io::Home;

/// The frame with which the thread starts; a small database needs no thread.
const FIRST: u32 = 256;

/// Frames that are asked for together: two mebibytes, about as much as a huge page.
const STEP: u32 = 128;

/// The most frames that have memory and hold no page yet: 64 MiB.
const MOST: u32 = 4096;

/// A number that no frame has.
const NEVER: u32 = u32::MAX;

/// The frames ahead of those that are in use.
pub(super) struct Ahead {
    shared: Arc<Shared>,
    memory: Memory,
    /// The number of frames.
    count: u32,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The process that has the thread.
    home: Home,
}

struct Shared {
    /// A thread that takes this frame or a later one asks for memory.
    alarm: AtomicU32,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The first frame without memory: all lower ones have some.
    populated: u32,
    /// The first frame that need not have memory: all lower ones should.
    wanted: u32,
    stopped: bool,
}

/// Returns the number of frames that should have memory, given the number in use: a quarter more.
fn share_of(frames: u32) -> u32 {
    (frames / 4).clamp(STEP, MOST)
}

impl Ahead {
    pub(super) fn new(memory: Memory, count: u32) -> Self {
        let state = Mutex::default();
        let changed = Condvar::new();
        let shared = Arc::new(Shared { alarm: AtomicU32::new(FIRST), state, changed });
        Self { shared, memory, count, thread: Mutex::default(), home: Home::here() }
    }

    /// Notes that a frame is in use now.
    #[inline(always)]
    pub(super) fn taken(&self, frame: FrameNumber) {
        let frame = frame.get();
        let alarm = self.shared.alarm.load(Ordering::Relaxed);
        if frame >= alarm {
            self.ask(frame, alarm);
        }
    }

    #[cold]
    fn ask(&self, frame: u32, alarm: u32) {
        // Only one of the threads that have seen this alarm continues: one that comes late must not
        // take a later alarm.
        let taken =
            self.shared.alarm.compare_exchange(alarm, NEVER, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_err() || !self.home.is_here() || !self.is_attended() {
            return;
        }
        let mut state = lock(&self.shared.state);
        state.populated = state.populated.max(frame);
        let wanted = frame.saturating_add(share_of(frame)).min(self.count);
        state.wanted = state.wanted.max(wanted);
        debug_assert!(state.wanted <= self.count, "there are {} frames", self.count);
        self.shared.changed.notify_one();
    }

    /// Returns true if the thread runs; it is started the first time. With one processor it never
    /// is: it would take its time from the writers.
    fn is_attended(&self) -> bool {
        let mut thread = lock(&self.thread);
        if thread.is_none() && std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
            let shared = Arc::clone(&self.shared);
            let memory = self.memory.clone();
            let named = std::thread::Builder::new().name("lode memory".into());
            *thread = named.spawn(move || shared.attend(&memory)).ok();
        }
        thread.is_some()
    }
}

impl Shared {
    /// Asks for memory as long as it is wanted and available.
    fn attend(&self, memory: &Memory) {
        let mut state = lock(&self.state);
        loop {
            let idle = |state: &mut State| !state.stopped && state.populated >= state.wanted;
            state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
            if state.stopped {
                return;
            }
            let from = state.populated;
            let to = state.wanted.min(state.populated + STEP);
            drop(state);
            if !memory.populate(from..to) {
                return;
            }
            state = lock(&self.state);
            debug_assert!(to <= state.wanted, "no more memory is asked for than is wanted");
            state.populated = state.populated.max(to);
            if state.populated >= state.wanted {
                // The next alarm comes once half of it is in use.
                let alarm = state.wanted - share_of(state.wanted) / 2;
                self.alarm.store(alarm, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if !self.home.is_here() {
            // A fork copies no thread: the child has none to wait for, nor one that unlocks.
            std::mem::forget(self.thread.get_mut().map(Option::take));
            return;
        }
        lock(&self.shared.state).stopped = true;
        self.shared.changed.notify_one();
        if let Some(thread) = lock(&self.thread).take() {
            // The thread returns nothing.
            let _ = thread.join();
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::super::memory::Frames;
    use super::super::page::PageMut;
    use super::*;

    #[test]
    fn frames_get_memory_ahead_and_keep_what_is_in_them() {
        let frames = Frames::new(3 * FIRST).expect("addresses");
        (1..=frames.count()).for_each(|frame| {
            PageMut::new(frames.words(FrameNumber::new(frame))).set(0, frame.into())
        });
        let ahead = Ahead::new(frames.memory(), frames.count());
        if !ahead.memory.populate(0..1) {
            // An old kernel.
            return;
        }
        (1..FIRST).for_each(|frame| ahead.taken(FrameNumber::new(frame)));
        assert_eq!(lock(&ahead.shared.state).wanted, 0);
        // The alarm is set again each time, until all frames have memory.
        let is_all = || lock(&ahead.shared.state).populated == frames.count();
        for frame in FIRST..=frames.count() {
            ahead.taken(FrameNumber::new(frame));
            // A thread that saw the alarm and comes late changes nothing.
            ahead.ask(frame, NEVER - 1);
            let is_answered = || ahead.shared.alarm.load(Ordering::Relaxed) != NEVER || is_all();
            while lock(&ahead.thread).is_some() && !is_answered() {
                std::thread::yield_now();
            }
        }
        assert!(is_all() || lock(&ahead.thread).is_none());
        assert!(
            (1..=frames.count())
                .all(|frame| frames.words(FrameNumber::new(frame)).get(0) == frame.into())
        );
    }
}

//! Group commit: all threads that wait for the log at the same time share a sync. (DeWitt et al.,
//! Implementation Techniques for Main Memory Database Systems, SIGMOD 1984, section 5.2.)
//!
//! One of them leads: it syncs for all. Then each is woken by itself, so that none has to queue for
//! a lock first and none wakes up too early. One of those that came too late is woken to lead the
//! next sync. (Until it does, no other overtakes it.)

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{LogPosition, lock};
use crate::error::{Error, Result};

/// The part of a sync's time that the next one is put off so that more can share it: the threads
/// that have just been woken are about to come back.
const PATIENCE: u32 = 4;

/// The longest that it is put off, however long the last one took.
const MOST_PATIENCE: Duration = Duration::from_millis(10);

/// The threads that wait until the log is synced.
pub(super) struct Group {
    state: Mutex<State>,
    /// Told when as many are here as at the end of the last sync.
    complete: Condvar,
}

struct State {
    synced: LogPosition,
    /// Why a sync failed. There are none after it.
    failed: Option<String>,
    is_led: bool,
    /// The threads that wait for another one: up to where, and how each is woken.
    waiting: Vec<(LogPosition, Arc<Call>)>,
    /// How many were here when the last sync ended, and how long it took.
    size: usize,
    took: Duration,
}

/// What a thread that waits hears, once.
#[derive(Clone, Copy)]
enum News {
    Synced,
    Failed,
    /// To lead the next sync.
    Lead,
}

/// How a thread is woken.
#[derive(Default)]
struct Call {
    news: Mutex<Option<News>>,
    told: Condvar,
}

impl Call {
    fn tell(&self, news: News) {
        *lock(&self.news) = Some(news);
        self.told.notify_one();
    }

    fn wait(&self) -> News {
        let mut news = lock(&self.news);
        loop {
            if let Some(news) = *news {
                return news;
            }
            news = self.told.wait(news).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// How many are here: those that wait and the one that leads.
    fn count(&self) -> usize {
        self.waiting.len() + usize::from(self.is_led)
    }

    fn expect_no_failure(&self) -> Result<()> {
        match &self.failed {
            None => Ok(()),
            Some(why) => Err(Error::Poisoned { why: why.clone() }),
        }
    }
}

impl Group {
    pub(super) fn new(synced: LogPosition) -> Self {
        let state = State {
            synced,
            failed: None,
            is_led: false,
            waiting: Vec::new(),
            size: 0,
            took: Duration::ZERO,
        };
        Self { state: Mutex::new(state), complete: Condvar::new() }
    }

    /// Returns when the log is synced up to a position. `work` syncs all of it, and returns how far
    /// that is; what ends at `to` was appended before the call.
    ///
    /// # Errors
    /// `Poisoned` when a sync fails, then and ever after.
    pub(super) fn sync(
        &self,
        to: LogPosition,
        work: impl FnOnce() -> Result<LogPosition>,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        state.expect_no_failure()?;
        if state.synced >= to {
            return Ok(());
        }
        if !state.is_led {
            state.is_led = true;
            drop(state);
            return self.lead(to, work);
        }
        let call = Arc::new(Call::default());
        state.waiting.push((to, Arc::clone(&call)));
        if state.count() == state.size {
            self.complete.notify_one();
        }
        drop(state);
        match call.wait() {
            News::Synced => Ok(()),
            News::Failed => lock(&self.state).expect_no_failure(),
            News::Lead => self.lead(to, work),
        }
    }

    /// Syncs for all threads that are here, and for those that come in the next moment.
    fn lead(&self, to: LogPosition, work: impl FnOnce() -> Result<LogPosition>) -> Result<()> {
        let state = lock(&self.state);
        let patience = (state.took / PATIENCE).min(MOST_PATIENCE);
        let some_are_missing = |state: &mut State| state.count() < state.size;
        drop(self.complete.wait_timeout_while(state, patience, some_are_missing));
        let start = Instant::now();
        let synced = catch_unwind(AssertUnwindSafe(|| {
            let end = work()?;
            assert!(end >= to, "a sync that led to {end:?} was to lead to {to:?}");
            Ok::<_, Error>(end)
        }));
        let took = start.elapsed();
        match synced {
            Ok(Ok(end)) => {
                self.end(end, took);
                Ok(())
            }
            Ok(Err(error)) => self.fail(error.to_string()),
            Err(panic) => {
                let _ = self.fail("a sync of the log ended in a panic".into());
                resume_unwind(panic)
            }
        }
    }

    /// A sync has ended well: wakes those that it was for, and the one that leads the next sync.
    fn end(&self, synced: LogPosition, took: Duration) {
        let mut state = lock(&self.state);
        (state.synced, state.took, state.size) = (synced, took, state.count());
        let waiting = std::mem::take(&mut state.waiting);
        let (done, mut later): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(to, _)| *to <= synced);
        let next = (!later.is_empty()).then(|| later.remove(0).1);
        state.is_led = next.is_some();
        state.waiting = later;
        drop(state);
        next.iter().for_each(|call| call.tell(News::Lead));
        done.iter().for_each(|(_, call)| call.tell(News::Synced));
    }

    /// A sync has failed, for all and for ever.
    fn fail(&self, why: String) -> Result<()> {
        let mut state = lock(&self.state);
        state.failed = Some(why);
        state.is_led = false;
        let waiting = std::mem::take(&mut state.waiting);
        let failed = state.expect_no_failure();
        drop(state);
        waiting.iter().for_each(|(_, call)| call.tell(News::Failed));
        failed
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;

    use super::super::SegmentNumber;
    use super::*;

    fn position(at: u64) -> LogPosition {
        LogPosition { segment: SegmentNumber::FIRST, at }
    }

    /// Waits until `count` threads are here, the one that leads among them.
    fn wait_for(group: &Group, count: usize) {
        while lock(&group.state).count() < count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn all_who_come_too_late_for_a_sync_share_the_next_one() {
        let group = Group::new(position(0));
        let (begin, may_begin) = mpsc::channel();
        let syncs = AtomicU64::new(0);
        let sync_to = |end: u64| {
            syncs.fetch_add(1, Ordering::Relaxed);
            Ok(position(end))
        };
        std::thread::scope(|scope| {
            let (group, sync_to) = (&group, &sync_to);
            let first = scope.spawn(move || {
                group.sync(position(1), || {
                    may_begin.recv().unwrap();
                    sync_to(4)
                })
            });
            wait_for(group, 1);
            let others: Vec<_> = (2..=8)
                .map(|at| scope.spawn(move || group.sync(position(at), || sync_to(8))))
                .collect();
            wait_for(group, 8);
            begin.send(()).unwrap();
            first.join().unwrap().unwrap();
            others.into_iter().for_each(|other| other.join().unwrap().unwrap());
        });
        assert_eq!(syncs.load(Ordering::Relaxed), 2);
        group.sync(position(8), || panic!("it is synced already")).unwrap();
    }

    /// The first sync ends in this way, while another one waits. Returns what its leader returns,
    /// unless it panics, what the one that waits returns, and one that comes later.
    fn all_say(end: impl FnOnce() -> Result<LogPosition> + Send) -> [Option<Result<()>>; 3] {
        let group = &Group::new(position(0));
        let (begin, may_begin) = mpsc::channel();
        let nothing_more = || panic!("nothing is synced any more");
        std::thread::scope(|scope| {
            let first = scope.spawn(move || {
                group.sync(position(1), || {
                    may_begin.recv().unwrap();
                    end()
                })
            });
            wait_for(group, 1);
            let second = scope.spawn(move || group.sync(position(2), nothing_more));
            wait_for(group, 2);
            begin.send(()).unwrap();
            let (first, second) = (first.join().ok(), second.join().ok());
            [first, second, Some(group.sync(position(0), nothing_more))]
        })
    }

    fn says(said: &Option<Result<()>>, what: &str) -> bool {
        matches!(said, Some(Err(Error::Poisoned { why })) if why.contains(what))
    }

    #[test]
    fn a_sync_that_fails_fails_for_all_and_for_ever() {
        let burns = Error::Poisoned { why: "the disk burns".into() };
        assert!(all_say(|| Err(burns)).iter().all(|said| says(said, "the disk burns")));
    }

    #[test]
    fn a_sync_that_panics_or_does_not_go_far_enough_leaves_none_waiting() {
        for end in [|| panic!("on purpose"), || Ok(position(0))] {
            let [first, others @ ..] = all_say(end);
            assert!(first.is_none());
            assert!(others.iter().all(|said| says(said, "panic")));
        }
    }
}

//! Group commit: all threads that wait for the log at the same time share a sync. (DeWitt et al.,
//! Implementation Techniques for Main Memory Database Systems, SIGMOD 1984, section 5.2.)
//!
//! One of them leads: it syncs for all that are here, its *round*. As a rule that is the last one
//! of those that the last sync woke: it leads when it comes. The first of them leads if some have
//! not come after [a while](patience). A thread that comes during a sync is of the next round.

mod patience;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{LogPosition, lock};
use crate::error::{Error, Result};
use patience::Patience;

/// The threads that wait until the log is synced.
pub(super) struct Group {
    state: Mutex<State>,
}

struct State {
    synced: LogPosition,
    /// Why a sync failed. There are none after it.
    failed: Option<String>,
    phase: Phase,
    /// The round of the next sync, how many threads wait in it, and for what.
    round: Arc<Round>,
    waiting: usize,
    wanted: LogPosition,
    patience: Patience,
}

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing, and no thread waits.
    Idle,
    /// One of the threads that wait leads the next sync after a while, unless all come before.
    Gathering,
    /// A sync for as many threads, that which leads among them.
    Syncing(usize),
}

/// What the threads of a round hear.
#[derive(Clone, Copy)]
enum News {
    Synced,
    Failed,
    /// One of them is to gather others for the sync. Told once at most.
    Gather,
}

/// Threads that wait for the same sync.
#[derive(Default)]
struct Round {
    news: Mutex<Option<News>>,
    told: Condvar,
}

impl Round {
    fn tell(&self, news: News) {
        *lock(&self.news) = Some(news);
        match news {
            News::Gather => self.told.notify_one(),
            // One call of the system for all.
            News::Synced | News::Failed => self.told.notify_all(),
        }
    }

    fn wait(&self) -> News {
        let mut news = lock(&self.news);
        loop {
            match *news {
                None => news = self.told.wait(news).unwrap_or_else(PoisonError::into_inner),
                Some(News::Gather) => {
                    *news = None;
                    return News::Gather;
                }
                Some(ended) => return ended,
            }
        }
    }

    /// Waits for news, but not for longer than `patience`. Returns whether there are some.
    fn has_news_within(&self, patience: Duration) -> bool {
        let news = lock(&self.news);
        let waited = self.told.wait_timeout_while(news, patience, |news| news.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }
}

impl State {
    /// How many are here: those that wait and the one that leads.
    fn count(&self) -> usize {
        match self.phase {
            Phase::Idle | Phase::Gathering => self.waiting,
            Phase::Syncing(count) => self.waiting + count,
        }
    }

    /// Begins a sync for all that wait and the thread that calls this. Returns their round.
    fn begin(&mut self) -> Arc<Round> {
        self.phase = Phase::Syncing(self.waiting + 1);
        self.take_round()
    }

    /// Takes the round of all that wait; a thread that comes now is of another one.
    fn take_round(&mut self) -> Arc<Round> {
        (self.waiting, self.wanted) = (0, LogPosition::default());
        std::mem::take(&mut self.round)
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
            phase: Phase::Idle,
            round: Arc::default(),
            waiting: 0,
            wanted: LogPosition::default(),
            patience: Patience::new(),
        };
        Self { state: Mutex::new(state) }
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
        state.patience.note_arrival(Instant::now());
        let is_syncing = matches!(state.phase, Phase::Syncing(_));
        if !is_syncing && state.patience.is_enough(state.waiting + 1) {
            let round = state.begin();
            drop(state);
            return self.lead(&round, to, work);
        }
        let round = Arc::clone(&state.round);
        state.waiting += 1;
        state.wanted = state.wanted.max(to);
        let is_first = state.phase == Phase::Idle;
        if is_first {
            state.phase = Phase::Gathering;
        }
        drop(state);
        let mut news = if is_first { News::Gather } else { round.wait() };
        loop {
            match news {
                News::Synced => return Ok(()),
                News::Failed => return lock(&self.state).expect_no_failure(),
                News::Gather if self.gather(&round) => return self.lead(&round, to, work),
                News::Gather => news = round.wait(),
            }
        }
    }

    /// Waits a while for those that are missing. Returns true if this thread is to lead after that;
    /// false if another one leads its round.
    fn gather(&self, round: &Arc<Round>) -> bool {
        let wait = lock(&self.state).patience.wait();
        if round.has_news_within(wait) {
            return false;
        }
        let mut state = lock(&self.state);
        let is_next = Arc::ptr_eq(&state.round, round);
        if is_next {
            state.waiting -= 1;
            state.begin();
        }
        is_next
    }

    /// Syncs for all threads of a round.
    fn lead(
        &self,
        round: &Round,
        to: LogPosition,
        work: impl FnOnce() -> Result<LogPosition>,
    ) -> Result<()> {
        let start = Instant::now();
        let synced = catch_unwind(AssertUnwindSafe(|| {
            let end = work()?;
            assert!(end >= to, "a sync that led to {end:?} was to lead to {to:?}");
            Ok::<_, Error>(end)
        }));
        match synced {
            Ok(Ok(end)) => {
                self.end(round, end, start);
                Ok(())
            }
            Ok(Err(error)) => self.fail(round, error.to_string()),
            Err(panic) => {
                let _ = self.fail(round, "a sync of the log ended in a panic".into());
                resume_unwind(panic)
            }
        }
    }

    /// A sync has ended well: wakes those that it was for, and one of those that came meanwhile.
    fn end(&self, round: &Round, synced: LogPosition, start: Instant) {
        let ended = Instant::now();
        let mut state = lock(&self.state);
        state.synced = synced;
        let (here, later) = (state.count(), state.waiting);
        state.patience.note_sync((ended, ended - start), here, later);
        let next = match state.waiting {
            0 => None,
            // They appended before this sync, and came after it had begun.
            _ if state.wanted <= synced => Some((state.take_round(), News::Synced)),
            _ => Some((Arc::clone(&state.round), News::Gather)),
        };
        state.phase = if state.waiting > 0 { Phase::Gathering } else { Phase::Idle };
        drop(state);
        next.iter().for_each(|(next, news)| next.tell(*news));
        round.tell(News::Synced);
    }

    /// A sync has failed, for all and for ever.
    fn fail(&self, round: &Round, why: String) -> Result<()> {
        let mut state = lock(&self.state);
        state.failed = Some(why);
        let next = state.take_round();
        state.phase = Phase::Idle;
        let failed = state.expect_no_failure();
        drop(state);
        [round, &*next].into_iter().for_each(|round| round.tell(News::Failed));
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

    /// How many syncs there are if seven threads come during the first one, which leads to `end`.
    fn syncs_if_the_first_leads_to(end: u64) -> u64 {
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
                    sync_to(end)
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
        group.sync(position(8), || panic!("it is synced already")).unwrap();
        syncs.into_inner()
    }

    #[test]
    fn all_who_come_too_late_for_a_sync_share_the_next_one() {
        assert_eq!(syncs_if_the_first_leads_to(4), 2);
    }

    #[test]
    fn a_thread_that_comes_during_a_sync_that_leads_far_enough_needs_no_other() {
        assert_eq!(syncs_if_the_first_leads_to(8), 1);
    }

    #[test]
    fn what_is_acknowledged_is_synced() {
        const THREADS: u64 = 6;
        const RECORDS: u64 = 300;
        let group = Group::new(position(0));
        // What was appended, and what was synced. No two syncs are under way at a time.
        let (appended, synced, syncing) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(()));
        let work = || {
            let _alone = syncing.try_lock().unwrap();
            let end = appended.load(Ordering::SeqCst);
            std::thread::sleep(Duration::from_micros(50));
            synced.store(end, Ordering::SeqCst);
            Ok(position(end))
        };
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (group, appended, synced, work) = (&group, &appended, &synced, &work);
                scope.spawn(move || {
                    for record in 0..RECORDS {
                        let own = appended.fetch_add(1, Ordering::SeqCst) + 1;
                        if record % (thread + 2) == 0 {
                            std::thread::yield_now();
                        }
                        group.sync(position(own), work).unwrap();
                        assert!(synced.load(Ordering::SeqCst) >= own);
                        // Some come back at once, others after more or less than a sync.
                        std::thread::sleep(Duration::from_micros(thread * 20));
                    }
                });
            }
        });
        assert_eq!(lock(&group.state).count(), 0);
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

//! Group commit: all threads that wait for the log at the same time share a sync. (DeWitt et al.,
//! Implementation Techniques for Main Memory Database Systems, SIGMOD 1984, section 5.2.)
//!
//! One of them leads: it syncs for all that wait here, its *round*. After a sync, as many are
//! expected again as waited at its end. As a rule the last of them leads, when it comes. The first
//! one leads if some have not come after [a while](patience). A thread that comes during a sync is
//! of the next round.

mod patience;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{LogPosition, lock};
use crate::error::{Effect, Error, Result};
use patience::Patience;

/// The threads that wait until the log is synced.
pub(super) struct Group {
    state: Mutex<State>,
}

struct State {
    synced: LogPosition,
    /// The reason why a sync failed. No sync follows it.
    failed: Option<String>,
    phase: Phase,
    /// The round of the next sync, the threads that wait in it, and the position they wait for.
    round: Arc<Round>,
    waiting: usize,
    wanted: LogPosition,
    patience: Patience,
}

/// The phase of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No sync is in progress, and no thread waits.
    Idle,
    /// A thread that waits leads the next sync after a while, unless all come before.
    Gathering,
    /// A sync is in progress, for this number of threads, with the one that leads.
    Syncing(usize),
}

/// The news for the threads of a round.
#[derive(Clone, Copy)]
enum News {
    Synced,
    Failed,
    /// A thread is to gather others for the sync. Published once at most, before the sync starts.
    Gather,
}

/// Threads that wait for the same sync.
#[derive(Default)]
struct Round {
    news: Mutex<Option<News>>,
    told: Condvar,
}

impl Round {
    /// Publishes news to the round. This may be a call of the system, even if no thread waits.
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

    /// Waits for news, but not for longer than `patience`. Returns true if news came.
    fn has_news_within(&self, patience: Duration) -> bool {
        let news = lock(&self.news);
        let waited = self.told.wait_timeout_while(news, patience, |news| news.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }
}

impl State {
    /// Returns the number of threads here: those that wait and the one that leads.
    fn count(&self) -> usize {
        match self.phase {
            Phase::Idle | Phase::Gathering => self.waiting,
            Phase::Syncing(count) => self.waiting + count,
        }
    }

    /// Starts a sync for all that wait and the thread that calls this. Returns their round.
    fn begin(&mut self) -> Arc<Round> {
        debug_assert!(!matches!(self.phase, Phase::Syncing(_)), "one sync follows another");
        debug_assert!(self.failed.is_none(), "no sync follows one that failed");
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
            Some(why) => Err(Error::Poisoned { why: why.clone(), effect: Effect::None }),
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

    /// Returns once the log is synced up to a position. `work` syncs all of it, and returns the end
    /// of that; all that ends at `to` was appended before the call.
    ///
    /// # Errors
    /// `Poisoned` if a sync fails, then and ever after.
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
        debug_assert!(!is_first || state.waiting == 1, "a thread that waits gathers others");
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

    /// Waits a while for the missing threads. Returns true if this thread is to lead after that;
    /// false if another one leads its round.
    fn gather(&self, round: &Arc<Round>) -> bool {
        let wait = lock(&self.state).patience.wait();
        if round.has_news_within(wait) {
            return false;
        }
        let mut state = lock(&self.state);
        let is_next = Arc::ptr_eq(&state.round, round);
        if is_next {
            state.patience.note_wait_in_vain();
            debug_assert!(state.waiting > 0, "the thread that leads has waited");
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

    /// Ends a successful sync: wakes those that it was for. Of those that came during it, wakes
    /// one; or all, if the sync led far enough for them.
    fn end(&self, round: &Round, synced: LogPosition, start: Instant) {
        let ended = Instant::now();
        let mut state = lock(&self.state);
        assert!(synced >= state.synced, "the synced log only grows");
        debug_assert!(matches!(state.phase, Phase::Syncing(_)), "a sync ends that was started");
        state.synced = synced;
        let here = state.count();
        let later = state.waiting;
        let is_alone = state.phase == Phase::Syncing(1);
        state.patience.note_sync(ended, ended - start, here, later);
        let next = match state.waiting {
            0 => None,
            // These threads appended before this sync, and came after it had started.
            _ if state.wanted <= synced => Some((state.take_round(), News::Synced)),
            _ => Some((Arc::clone(&state.round), News::Gather)),
        };
        state.phase = if state.waiting > 0 { Phase::Gathering } else { Phase::Idle };
        // Before another thread can lead the next round: no news may replace those of its sync.
        next.iter().for_each(|(next, news)| next.tell(*news));
        drop(state);
        if !is_alone {
            round.tell(News::Synced);
        }
    }

    /// Fails a sync, for all and for ever.
    fn fail(&self, round: &Round, why: String) -> Result<()> {
        let mut state = lock(&self.state);
        debug_assert!(matches!(state.phase, Phase::Syncing(_)), "a sync fails that was started");
        state.failed = Some(why);
        let next = state.take_round();
        state.phase = Phase::Idle;
        let failed = state.expect_no_failure();
        drop(state);
        [round, &*next].into_iter().for_each(|round| round.tell(News::Failed));
        failed
    }
}

//! The time that a sync is put off for threads that are about to come.
//!
//! Threads that a sync has woken come back, as a rule, and share the next one. If they were back in
//! time after the last syncs, the next one waits for as long as a sync takes: so if they do not
//! come, no more is lost than they would have gained. (Ski rental: Karlin, Manasse, Rudolph,
//! Sleator: Competitive Snoopy Caching, Algorithmica 3, 1988.) Otherwise it waits for a quarter of
//! that.

use std::time::{Duration, Instant};

/// The longest wait, however long a sync takes.
const MOST_WAIT: Duration = Duration::from_millis(10);

/// The doubt after a sync to which not all have come back in time. Each further one reduces it.
const MOST_DOUBT: u32 = 16;

/// The history of the threads that sync.
pub(super) struct Patience {
    /// The number of threads that were here when the last sync ended.
    expected: usize,
    took: Duration,
    ended: Instant,
    /// The number of threads that have come since it ended.
    came: usize,
    /// True if some had come during it. Then it is not known how soon all would come back.
    some_wait: bool,
    /// The doubt that the threads come back in time; 0 for no doubt.
    doubt: u32,
}

impl Patience {
    pub(super) fn new() -> Self {
        let took = Duration::ZERO;
        let ended = Instant::now();
        Self { expected: 0, took, ended, came: 0, some_wait: false, doubt: 0 }
    }

    /// Returns true if `here` threads need not wait for more.
    pub(super) fn is_enough(&self, here: usize) -> bool {
        here >= self.expected
    }

    /// Returns how long the next sync waits for the missing threads.
    pub(super) fn wait(&self) -> Duration {
        let wait = if self.doubt == 0 { self.took } else { self.took / 4 };
        wait.min(MOST_WAIT)
    }

    /// Notes that a thread has come.
    pub(super) fn note_arrival(&mut self, now: Instant) {
        self.came += 1;
        // A single thread says nothing about others.
        if self.came == self.expected && self.expected > 1 && !self.some_wait {
            let gap = now.saturating_duration_since(self.ended);
            let in_time = gap <= self.took * 3 / 4;
            self.doubt = if in_time { self.doubt / 2 } else { MOST_DOUBT };
        }
    }

    /// Notes that the next sync was put off, and not all have come.
    pub(super) fn note_wait_in_vain(&mut self) {
        if self.doubt == 0 {
            self.doubt = MOST_DOUBT;
        }
    }

    /// Notes that a sync has ended with `here` threads, of which `later` had come during it.
    pub(super) fn note_sync(&mut self, ended: Instant, took: Duration, here: usize, later: usize) {
        let doubt = if self.some_wait {
            self.doubt.saturating_sub(1)
        } else if self.came < self.expected {
            MOST_DOUBT
        } else {
            self.doubt
        };
        debug_assert!(later < here, "one of the threads has led the sync");
        *self = Self { expected: here, took, ended, came: 0, some_wait: later > 0, doubt };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_micros(100);

    /// A run of threads that each come back at a time after the sync that they were part of, in
    /// microseconds. Those that are not here when the wait is over come during the next sync.
    struct Run {
        patience: Patience,
        now: Instant,
    }

    impl Run {
        fn new() -> Self {
            let patience = Patience::new();
            Self { now: patience.ended, patience }
        }

        /// Runs a sync of `here` threads, during which `later` come.
        fn sync(&mut self, here: usize, later: usize) -> Duration {
            (0..later).for_each(|_| self.come(0));
            self.now += TOOK;
            self.patience.note_sync(self.now, TOOK, here + later, later);
            self.patience.wait()
        }

        fn come(&mut self, after_us: u64) {
            self.now += Duration::from_micros(after_us);
            self.patience.note_arrival(self.now);
        }
    }

    #[test]
    fn threads_that_come_back_in_time_are_waited_for() {
        let mut run = Run::new();
        for _ in 0..100 {
            assert_eq!(run.sync(4, 0), TOOK);
            for here in 1..=4 {
                run.come(10);
                assert_eq!(run.patience.is_enough(here), here == 4);
            }
        }
    }

    #[test]
    fn threads_that_come_late_or_not_at_all_are_waited_for_a_quarter_of_the_time() {
        for late in [true, false] {
            let mut run = Run::new();
            assert_eq!(run.sync(2, 0), TOOK);
            for _ in 0..10 {
                run.come(10);
                if late {
                    run.come(90);
                }
                assert_eq!(run.sync(2, 0), TOOK / 4, "{late}");
            }
            // The doubt is forgotten when they come in time again.
            for rest in (0..5).rev() {
                (0..2).for_each(|_| run.come(10));
                assert_eq!(run.sync(2, 0), if rest > 0 { TOOK / 4 } else { TOOK }, "{rest}");
            }
        }
    }

    /// While some come during each sync, it is not known if all would come in time: waiting is
    /// tried now and then.
    #[test]
    fn threads_that_come_in_turns_are_waited_for_once_in_a_while() {
        let mut run = Run::new();
        run.sync(2, 0);
        run.come(10);
        assert_eq!(run.sync(1, 0), TOOK / 4);
        run.come(10);
        assert_eq!(run.sync(1, 1), TOOK / 4);
        for rest in (0..MOST_DOUBT).rev() {
            run.come(5);
            assert_eq!(run.sync(1, 1), if rest > 0 { TOOK / 4 } else { TOOK }, "{rest}");
            if rest > 0 {
                // A short wait says nothing.
                run.patience.note_wait_in_vain();
            }
        }
        run.patience.note_wait_in_vain();
        for _ in 1..MOST_DOUBT {
            assert_eq!(run.patience.wait(), TOOK / 4);
            run.come(5);
            run.sync(1, 1);
        }
        assert_eq!(run.patience.wait(), TOOK / 4);
        run.come(5);
        assert_eq!(run.sync(1, 1), TOOK);
    }

    #[test]
    fn one_thread_waits_for_none() {
        let mut run = Run::new();
        for _ in 0..10 {
            run.sync(1, 0);
            run.come(1_000);
            assert!(run.patience.is_enough(1));
        }
        // A second thread that came once is not expected for ever.
        run.sync(1, 1);
        run.come(10);
        assert!(run.patience.is_enough(2));
        run.sync(2, 0);
        run.come(10);
        assert!(!run.patience.is_enough(1));
        run.sync(1, 0);
        assert!(run.patience.is_enough(1));
    }

    #[test]
    fn no_wait_is_longer_than_the_longest() {
        let mut patience = Patience::new();
        patience.note_sync(Instant::now(), Duration::from_secs(60), 2, 0);
        assert_eq!(patience.wait(), MOST_WAIT);
    }
}

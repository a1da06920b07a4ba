//! The time limits for a worker.

use std::time::{Duration, Instant};

use super::groups;

/// The time without progress after which a cell is given up, unless `--timeout` limits the whole.
pub(crate) const STALL: Duration = Duration::from_secs(600);
/// The time limit of a verification, or of a look at isolation, unless `--timeout` says otherwise.
pub(crate) const VERIFY: Duration = Duration::from_secs(600);

/// A worker's time limit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// A limit of the whole time, and the option that allows more.
    Whole(Duration, &'static str),
    /// A limit of the time without progress.
    Progress(Duration),
}

impl Patience {
    /// Returns the limit for the cells of a command.
    pub(crate) fn with_cells(timeout: Option<Duration>) -> Self {
        timeout.map_or(Self::Progress(STALL), |timeout| Self::Whole(timeout, "--timeout"))
    }

    fn limit(self) -> Duration {
        match self {
            Self::Whole(limit, _) | Self::Progress(limit) => limit,
        }
    }
}

/// A worker's remaining time.
#[derive(Debug)]
pub(crate) struct Clock {
    patience: Patience,
    since: Instant,
    /// The total time of this process's stops at the start; no worker runs during a stop.
    stopped: Duration,
}

impl Clock {
    /// Starts the clock.
    pub(crate) fn start(patience: Patience) -> Self {
        Self { patience, since: Instant::now(), stopped: groups::stopped() }
    }

    /// Notes that the worker has made progress.
    pub(crate) fn progress(&mut self) {
        if let Patience::Progress(_) = self.patience {
            (self.since, self.stopped) = (Instant::now(), groups::stopped());
        }
    }

    fn elapsed(&self) -> Duration {
        let stopped = groups::stopped().saturating_sub(self.stopped);
        self.since.elapsed().saturating_sub(stopped)
    }

    /// Returns the time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.patience.limit().saturating_sub(self.elapsed())
    }

    /// Returns why the worker is given up, if it is.
    pub(crate) fn ran_out(&self) -> Option<String> {
        let limit = self.patience.limit();
        (self.elapsed() >= limit).then(|| {
            let seconds = limit.as_secs();
            match self.patience {
                Patience::Whole(_, option) => {
                    format!("it was not done after {seconds} s; allow more with {option}")
                }
                Patience::Progress(_) => format!(
                    "it made no progress for {seconds} s; allow it a time with --timeout, or take \
                     fewer rows"
                ),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_extends_only_a_time_that_counts_progress() {
        let since = Instant::now() - Duration::from_secs(700);
        let past = |patience| Clock { patience, since, stopped: Duration::ZERO };
        let mut stalled = past(Patience::Progress(STALL));
        assert!(stalled.ran_out().is_some_and(|why| why.contains("no progress for 600 s")));
        stalled.progress();
        assert_eq!(stalled.ran_out(), None);
        let mut whole = past(Patience::Whole(Duration::from_secs(7), "--timeout"));
        whole.progress();
        assert!(whole.ran_out().is_some_and(|why| why.contains("after 7 s")));
    }
}

//! A sitting: the time in which work of a plan is begun. What is begun is brought to its end.

use std::cell::Cell;
use std::time::{Duration, Instant};

use assay_core::plan;

use crate::estimate::Estimate;

/// How long work is begun.
pub(crate) struct Sitting {
    ends: Option<Instant>,
    estimate: Estimate,
    has_begun: Cell<bool>,
    is_over: Cell<bool>,
}

impl Sitting {
    /// A sitting in which all work is begun.
    pub(crate) fn without_end() -> Self {
        Self::lasting(None, Estimate::default())
    }

    /// A sitting of `limit` from now on; what cells take is estimated.
    pub(crate) fn lasting(limit: Option<Duration>, estimate: Estimate) -> Self {
        Self {
            ends: limit.and_then(|limit| Instant::now().checked_add(limit)),
            estimate,
            has_begun: Cell::new(false),
            is_over: Cell::new(false),
        }
    }

    /// Whether a cell is to begin.
    pub(crate) fn begins(&self, cell: &plan::Cell) -> bool {
        self.begins_work_of(self.estimate.forecast([cell], None).time)
    }

    /// Whether work that is expected to take this long is to begin. The first work always is, so
    /// that each sitting gets on. Once work does not fit, the sitting is over.
    pub(crate) fn begins_work_of(&self, expected: Duration) -> bool {
        let left = self.ends.map(|ends| ends.saturating_duration_since(Instant::now()));
        let fits = left.is_none_or(|left| !left.is_zero() && expected <= left);
        let begins = !self.is_over.get() && (fits || !self.has_begun.get());
        self.has_begun.set(true);
        self.is_over.set(!begins);
        begins
    }

    /// Whether work was left for another sitting.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_first_work_begins_and_later_work_if_it_fits() {
        let sitting = Sitting::lasting(Some(HOUR), Estimate::default());
        assert!(sitting.begins_work_of(2 * HOUR), "else no sitting would get on");
        assert!(sitting.begins_work_of(HOUR / 2));
        assert!(!sitting.is_over());
        assert!(!sitting.begins_work_of(2 * HOUR));
        assert!(sitting.is_over());
        assert!(!sitting.begins_work_of(Duration::ZERO), "what is over stays so");
    }

    #[test]
    fn a_sitting_that_has_ended_begins_one_piece_of_work() {
        let sitting = Sitting::lasting(Some(Duration::ZERO), Estimate::default());
        assert!(sitting.begins_work_of(Duration::ZERO));
        assert!(!sitting.begins_work_of(Duration::ZERO));
        let endless = Sitting::without_end();
        assert!((0..3).all(|_| endless.begins_work_of(1000 * HOUR)));
    }
}

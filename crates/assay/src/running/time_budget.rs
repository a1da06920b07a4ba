//! The time in which a command starts work of a plan. Work that has started is finished.

use std::cell::Cell;
use std::time::{Duration, Instant};

use assay_core::plan;

use crate::planning::estimate::Estimate;

/// The time in which work is started.
pub(crate) struct TimeBudget {
    ends: Option<Instant>,
    estimate: Estimate,
    has_begun: Cell<bool>,
    is_spent: Cell<bool>,
}

impl TimeBudget {
    /// Returns a budget without a limit.
    pub(crate) fn without_end() -> Self {
        Self::lasting(None, Estimate::default())
    }

    /// Returns a budget of `limit` from now on; the time of cells is estimated.
    pub(crate) fn lasting(limit: Option<Duration>, estimate: Estimate) -> Self {
        Self {
            ends: limit.and_then(|limit| Instant::now().checked_add(limit)),
            estimate,
            has_begun: Cell::new(false),
            is_spent: Cell::new(false),
        }
    }

    /// Returns true if a cell is to start.
    pub(crate) fn begins(&self, cell: &plan::Cell) -> bool {
        self.begins_work_of(self.estimate.forecast([cell], None).time)
    }

    /// Returns true if work with this expected time is to start. The first work always is, so that
    /// each command makes progress. Once work does not fit, the budget is spent.
    pub(crate) fn begins_work_of(&self, expected: Duration) -> bool {
        let left = self.ends.map(|ends| ends.saturating_duration_since(Instant::now()));
        let fits = left.is_none_or(|left| !left.is_zero() && expected <= left);
        let begins = !self.is_spent.get() && (fits || !self.has_begun.get());
        self.has_begun.set(true);
        self.is_spent.set(!begins);
        begins
    }

    /// Returns true if work was left for another command.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_first_work_begins_and_later_work_if_it_fits() {
        let budget = TimeBudget::lasting(Some(HOUR), Estimate::default());
        assert!(budget.begins_work_of(2 * HOUR), "else no command would get on");
        assert!(budget.begins_work_of(HOUR / 2));
        assert!(!budget.is_spent());
        assert!(!budget.begins_work_of(2 * HOUR));
        assert!(budget.is_spent());
        assert!(!budget.begins_work_of(Duration::ZERO), "what is over stays so");
    }

    #[test]
    fn a_budget_that_is_spent_begins_one_piece_of_work() {
        let budget = TimeBudget::lasting(Some(Duration::ZERO), Estimate::default());
        assert!(budget.begins_work_of(Duration::ZERO));
        assert!(!budget.begins_work_of(Duration::ZERO));
        let endless = TimeBudget::without_end();
        assert!((0..3).all(|_| endless.begins_work_of(1000 * HOUR)));
    }
}

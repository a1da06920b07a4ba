//! Carries plans out: the checks before a run, which cells start, and where their results go.

pub(crate) mod executor;
pub(crate) mod resume;
pub(crate) mod run_place;
pub(crate) mod start;
pub(crate) mod stopping_rule;
pub(crate) mod time_budget;

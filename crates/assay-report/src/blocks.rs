//! Cells grouped as tables show them: a block for each kind of work, in it a line for each engine,
//! with the rounds of all its trials.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use assay_core::estimate::Estimate;
use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, Phase, RunFile, Status};
use assay_core::stats::{mean_of_top, median};

/// Cells that did the same work on different engines.
pub struct Block<'r> {
    /// A cell of the block, for the properties that all of them share.
    pub cell: &'r Cell,
    /// The lines, in the order of the run.
    pub lines: Vec<Line<'r>>,
}

/// The distinct values, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Distinct<T> {
    pub(crate) in_order: Vec<T>,
    known: HashSet<T>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { in_order: Vec::new(), known: HashSet::new() }
    }
}

impl<T: Clone + Eq + Hash> Distinct<T> {
    /// Adds a value that is new.
    pub(crate) fn add(&mut self, value: T) {
        if self.known.insert(value.clone()) {
            self.in_order.push(value);
        }
    }
}

/// The trials of one engine.
pub struct Line<'r> {
    /// The trials, in order; at least one.
    pub trials: Vec<&'r CellResult>,
}

/// A line's figures for a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Operations per second.
    pub estimate: Estimate,
    /// The suite's own statistic: the mean of the fastest rounds of a trial, median over trials.
    pub published: f64,
    /// The number of rounds in that mean.
    pub published_top: usize,
    /// The number of rounds.
    pub rounds: usize,
    /// The number of disturbed rounds, which had less than 95 % of a processor.
    pub disturbed: usize,
    /// The share of the wall time on the clock, median over trials; `None` of published figures.
    pub timed_share: Option<f64>,
    /// Operations for a second of processor time of the whole process, median over trials; `None`
    /// of published figures.
    pub operations_per_cpu_second: Option<f64>,
}

/// The width of a phase's interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Wide {
    /// The phase.
    pub phase: String,
    /// The distance from the figure to the interval's farther end, as a share of the figure.
    pub side: f64,
}

/// The share of the wall time on the clock below which views mark a rate.
pub const LITTLE_TIMED: f64 = 0.8;

/// The phase that fills a store for the other phases.
pub(crate) const FILLING: &str = "load";

/// Returns names of phases with that of the filling last, since few readers look for it first.
pub(crate) fn filling_last(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_by_key(|name| *name == FILLING);
    names
}

/// Groups the results of a run.
pub fn blocks(run: &RunFile) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    // Positions are in maps, because a run may have very many cells.
    let mut positions = HashMap::new();
    let mut lines = HashMap::new();
    for result in run.results() {
        let at = *positions.entry(result.cell.workload()).or_insert(blocks.len());
        if at == blocks.len() {
            blocks.push(Block { cell: &result.cell, lines: Vec::new() });
        }
        let of_block = &mut blocks[at].lines;
        let line = *lines.entry(result.cell.line()).or_insert(of_block.len());
        match of_block.get_mut(line) {
            Some(line) => line.trials.push(result),
            None => of_block.push(Line { trials: vec![result] }),
        }
    }
    blocks
}

impl Block<'_> {
    /// Returns the names of all phases that occur, in the order of the cell that has most of them;
    /// the filling of a store is last.
    pub fn phases(&self) -> Vec<&str> {
        let mut names = Distinct::default();
        let mut trials: Vec<_> = self.lines.iter().flat_map(|line| &line.trials).collect();
        trials.sort_by_key(|trial| std::cmp::Reverse(trial.measurement.phases.len()));
        for phase in trials.into_iter().flat_map(|trial| &trial.measurement.phases) {
            // A phase whose operations were only timed one by one has no rate.
            if !phase.rounds.is_empty() {
                names.add(phase.name.as_str());
            }
        }
        let measurements = self.lines.iter().flat_map(|line| &line.trials).map(|t| &t.measurement);
        for left_out in measurements.flat_map(|measurement| &measurement.not_offered) {
            names.add(left_out.phase.as_str());
        }
        filling_last(names.in_order)
    }
}

impl Line<'_> {
    /// Returns the cell of the first trial, for the properties that the trials share.
    pub fn cell(&self) -> &Cell {
        &self.trials[0].cell
    }

    /// Returns the status of the first trial that did not end well, if there is one.
    pub fn trouble(&self) -> Option<&Status> {
        self.trials.iter().map(|trial| &trial.status).find(|status| **status != Status::Measured)
    }

    /// Returns the rate of a phase; none if no trial measured it or an answer was wrong.
    pub fn rate(&self, phase: &str) -> Option<Rate> {
        if matches!(self.trouble(), Some(Status::Wrong(_))) {
            return None;
        }
        if self.is_without_time(phase) {
            return None;
        }
        let phases: Vec<_> = self.phase(phase).collect();
        let rates: Vec<_> = phases.iter().map(|phase| phase.rates()).collect();
        let published: Vec<_> = phases
            .iter()
            .filter_map(|phase| mean_of_top(&phase.rates(), phase.published_top))
            .collect();
        let of_trials = |figure: fn(&Phase) -> Option<f64>| {
            median(&phases.iter().filter_map(|phase| figure(phase)).collect::<Vec<_>>())
        };
        Some(Rate {
            estimate: Estimate::of_trials(&rates)?,
            published: median(&published)?,
            published_top: phases.first()?.published_top,
            rounds: rates.iter().map(Vec::len).sum(),
            disturbed: phases.iter().map(|phase| phase.disturbed()).sum(),
            timed_share: of_trials(Phase::timed_share),
            operations_per_cpu_second: of_trials(Phase::operations_per_cpu_second),
        })
    }

    /// Returns true if a phase was measured and has no rate, because the clock saw no time pass.
    pub fn is_without_time(&self, phase: &str) -> bool {
        self.phase(phase).any(Phase::is_without_time)
    }

    /// Returns why a phase was left out, if it was.
    pub fn not_offered(&self, phase: &str) -> Option<&str> {
        self.trials.iter().find_map(|trial| trial.measurement.not_offered(phase))
    }

    /// Returns a phase in all trials that have it.
    pub(crate) fn phase<'l>(&'l self, name: &'l str) -> impl Iterator<Item = &'l Phase> {
        self.trials.iter().filter_map(move |trial| trial.measurement.phase(name))
    }

    /// Returns the phase with the widest interval; none if no phase has one.
    pub fn widest(&self) -> Option<Wide> {
        let mut names = Distinct::default();
        let phases = self.trials.iter().flat_map(|trial| &trial.measurement.phases);
        phases.for_each(|phase| names.add(phase.name.as_str()));
        let of_phase = |name: &str| {
            let rates: Vec<_> = self.phase(name).map(Phase::rates).collect();
            let side = Estimate::of_trials(&rates)?.wider_side()?;
            Some(Wide { phase: name.into(), side })
        };
        let all = names.in_order.into_iter().filter_map(of_phase);
        all.max_by(|a, b| a.side.total_cmp(&b.side))
    }

    /// Returns the median of a figure over the trials; none if no trial has it.
    pub fn figure(&self, of: impl Fn(&CellResult) -> Option<u64>) -> Option<u64> {
        let values: Vec<_> =
            self.trials.iter().filter_map(|trial| of(trial)).map(|v| v as f64).collect();
        median(&values).map(|median| median as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    /// A value that counts how often it is compared.
    #[derive(Clone, Debug)]
    struct Counted<'c>(usize, &'c Cell<usize>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted<'_> {}

    impl Hash for Counted<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn twice_as_many_values_take_about_twice_the_comparisons() {
        let comparisons = |count: usize| {
            let compared = Cell::new(0);
            let mut distinct = Distinct::default();
            (0..2 * count).for_each(|value| distinct.add(Counted(value % count, &compared)));
            assert_eq!(distinct.in_order.len(), count);
            assert!(distinct.in_order.iter().zip(0..).all(|(value, at)| value.0 == at));
            compared.get()
        };
        // Each value is found once; other comparisons are due to the rare equal hashes.
        assert!((10_000..15_000).contains(&comparisons(10_000)));
        assert!((20_000..30_000).contains(&comparisons(20_000)));
    }
}

//! Speed-up by threads: an engine's rate, divided by its rate with the fewest threads.

use std::collections::HashMap;

use assay_core::estimate::Bounds;
use assay_core::plan::LineKey;
use assay_core::ratio::Ratio;

use crate::blocks::{Block, Line};

/// The speed-up of a line in a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedUp {
    /// The fewest threads with which the engine did the phase.
    pub fewest: u32,
    /// The threads of the line.
    pub threads: u32,
    /// The line's rate ÷ the rate of the fewest threads.
    pub times: f64,
    /// The 95 % interval of that; none with too few trials.
    pub interval: Option<Bounds>,
}

impl SpeedUp {
    /// Returns the efficiency: the speed-up ÷ the ratio of threads.
    pub fn efficiency(&self) -> f64 {
        self.times * f64::from(self.fewest) / f64::from(self.threads)
    }
}

/// The lines of a block by what they are besides their threads, from few threads to many.
pub struct SpeedUps<'b>(HashMap<LineKey, Vec<&'b Line<'b>>>);

impl<'b> SpeedUps<'b> {
    /// Finds the lines of a block that differ in their threads only.
    pub fn of(block: &'b Block<'b>) -> Self {
        let mut lines: HashMap<_, Vec<_>> = HashMap::new();
        for line in &block.lines {
            lines.entry(line.cell().line_of_any_threads()).or_default().push(line);
        }
        lines.retain(|_, of| of.len() > 1);
        lines.values_mut().for_each(|of| of.sort_by_key(|line| line.cell().threads));
        Self(lines)
    }

    /// Returns the speed-ups of a line.
    pub fn of_line<'s>(&'s self, line: &'s Line<'s>) -> OfLine<'s> {
        let lines = match self.0.is_empty() {
            true => None,
            false => self.0.get(&line.cell().line_of_any_threads()),
        };
        OfLine { line, lines: lines.map_or(&[], Vec::as_slice) }
    }
}

/// The speed-ups of a line.
pub struct OfLine<'s> {
    line: &'s Line<'s>,
    /// The lines of the same engine, from few threads to many.
    lines: &'s [&'s Line<'s>],
}

impl OfLine<'_> {
    /// Returns the speed-up in a phase; none for the fewest threads, and if a figure is missing.
    pub fn of_phase(&self, phase: &str) -> Option<SpeedUp> {
        let mut with_figures =
            self.lines.iter().filter_map(|line| Some((line, of_all_threads(line, phase)?)));
        let (base, of_base) = with_figures.next()?;
        let (fewest, threads) = (base.cell().threads, self.line.cell().threads);
        if threads <= fewest {
            return None;
        }
        let ratio = Ratio::welch(&of_base, &of_all_threads(self.line, phase)?)?;
        let interval = ratio.test.map(|test| test.interval);
        Some(SpeedUp { fewest, threads, times: ratio.value, interval })
    }
}

/// Returns a phase's figures by trial; none if the line has no rate there, or not all of the cell's
/// threads took part, such as in a load by one thread.
fn of_all_threads(line: &Line<'_>, phase: &str) -> Option<Vec<f64>> {
    if line.trouble().is_some() || line.is_without_time(phase) {
        return None;
    }
    let phases: Vec<_> = line.phase(phase).collect();
    let is_whole = phases.iter().all(|phase| phase.threads == line.cell().threads);
    let figures: Vec<_> = phases.iter().filter_map(|phase| phase.trial_rate()).collect();
    (is_whole && !figures.is_empty()).then_some(figures)
}

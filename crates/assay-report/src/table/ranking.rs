//! Engines in the order of their figures. Each figure is compared with the best one of its column,
//! and an engine ranks by the geometric mean of these ratios.

use std::collections::BTreeMap;

use assay_core::run_file::Status;

use crate::blocks::{Block, Line, Rate};

/// A line with its figures, one a phase.
pub(super) struct Ranked<'b> {
    pub(super) line: &'b Line<'b>,
    pub(super) figures: Vec<Option<Figure>>,
}

/// A figure of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) rate: Rate,
    /// The best figure of the column divided by this one; none for an engine that failed.
    pub(super) ratio: Option<f64>,
}

impl Ranked<'_> {
    /// Returns the geometric mean of the ratios that there are; infinite without any.
    fn mean_ratio(&self) -> f64 {
        let ratios: Vec<_> = self.ratios().map(f64::ln).collect();
        match ratios.len() {
            0 => f64::INFINITY,
            count => (ratios.iter().sum::<f64>() / count as f64).exp(),
        }
    }

    /// Returns true if one of its figures is compared with the best of a column.
    pub(super) fn is_compared(&self) -> bool {
        self.ratios().next().is_some()
    }

    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.figures.iter().flatten().filter_map(|figure| figure.ratio)
    }

    /// Returns the number of figures in the rank, if others in the group have more.
    pub(super) fn ranked_by(&self, most: usize) -> Option<usize> {
        Some(self.ratios().count()).filter(|&count| count > 0 && count < most)
    }
}

/// The lines of one number of threads, which are compared with each other, best first.
pub(super) struct Group<'b> {
    pub(super) lines: Vec<Ranked<'b>>,
}

impl Group<'_> {
    /// Returns the most figures by which a line is ranked.
    pub(super) fn most_ratios(&self) -> usize {
        self.lines.iter().map(|ranked| ranked.ratios().count()).max().unwrap_or(0)
    }
}

/// Returns the lines of a block that were measured or failed, by number of threads. Lines of
/// engines that could not do the work are left out.
pub(super) fn groups<'b>(block: &'b Block<'b>, phases: &[&str]) -> Vec<Group<'b>> {
    let mut by_threads: BTreeMap<u32, Vec<&Line<'_>>> = BTreeMap::new();
    for line in block.lines.iter().filter(|line| !is_absent(line)) {
        by_threads.entry(line.cell().threads).or_default().push(line);
    }
    by_threads.into_values().map(|lines| group(lines, phases)).collect()
}

/// Returns true if nothing was measured because the engine cannot do the work, or is not available.
pub(super) fn is_absent(line: &Line<'_>) -> bool {
    matches!(line.trouble(), Some(Status::Unsupported(_) | Status::Unavailable(_)))
}

fn group<'b>(lines: Vec<&'b Line<'b>>, phases: &[&str]) -> Group<'b> {
    let figure = |rate| Figure { rate, ratio: None };
    let mut lines: Vec<_> = lines
        .into_iter()
        .map(|line| Ranked {
            line,
            figures: phases.iter().map(|phase| line.rate(phase).map(figure)).collect(),
        })
        .collect();
    for at in 0..phases.len() {
        let compared = |ranked: &&mut Ranked<'_>| ranked.line.trouble().is_none();
        let column = lines.iter_mut().filter(compared);
        let mut column: Vec<_> = column.filter_map(|ranked| ranked.figures[at].as_mut()).collect();
        let best = column.iter().map(|figure| value(figure)).fold(0.0, f64::max);
        for figure in column.iter_mut().filter(|figure| value(figure) > 0.0) {
            figure.ratio = Some(best / value(figure));
        }
    }
    lines.sort_by(|a, b| a.mean_ratio().total_cmp(&b.mean_ratio()));
    Group { lines }
}

fn value(figure: &Figure) -> f64 {
    figure.rate.estimate.value
}

//! Speed-up by threads: an engine's rate, divided by its rate with the fewest threads. The numbers
//! of threads are those of cells, or of phases in one cell.

use std::collections::{BTreeMap, HashMap};

use assay_core::estimate::Bounds;
use assay_core::plan::LineKey;
use assay_core::ratio::Ratio;
use assay_core::run_file::Phase;

use crate::blocks::{Block, Distinct, Line};

/// The speed-up of a line in a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedUp {
    /// The fewest threads with which the engine did the phase's work.
    pub fewest: u32,
    /// The threads of the phase.
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
        lines.values_mut().for_each(|of| of.sort_by_key(|line| line.cell().threads));
        Self(lines)
    }

    /// Returns the speed-ups of a line.
    pub fn of_line<'s>(&'s self, line: &'s Line<'s>) -> OfLine<'s> {
        let lines = self.0.get(&line.cell().line_of_any_threads());
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
        let own = Figures::of(self.line, phase)?;
        let all = self.lines.iter().flat_map(|line| of_work(line, own.work));
        let base = all.min_by_key(|figures| figures.threads)?;
        if own.threads <= base.threads {
            return None;
        }
        let ratio = Ratio::welch(&base.trials, &own.trials)?;
        let interval = ratio.test.map(|test| test.interval);
        let fewest = base.threads;
        let threads = own.threads;
        Some(SpeedUp { fewest, threads, times: ratio.value, interval })
    }
}

/// The figures of a line's phase.
struct Figures<'l> {
    /// The phase's name without its number of threads.
    work: &'l str,
    /// The threads that worked at once.
    threads: u32,
    /// The figure of each trial.
    trials: Vec<f64>,
}

impl<'l> Figures<'l> {
    /// Returns the figures of a phase; none if the line has no rate there.
    fn of(line: &'l Line<'_>, phase: &'l str) -> Option<Self> {
        if line.trouble().is_some() || line.is_without_time(phase) {
            return None;
        }
        let first = line.phase(phase).next()?;
        let trials: Vec<_> = line.phase(phase).filter_map(Phase::trial_rate).collect();
        let Phase { threads, .. } = *first;
        (!trials.is_empty()).then_some(Self { work: first.work(), threads, trials })
    }
}

/// Returns the figures of all phases of a line that do some work.
fn of_work<'l>(line: &'l Line<'_>, work: &'l str) -> Vec<Figures<'l>> {
    let mut names = Distinct::default();
    let phases = line.trials.iter().flat_map(|trial| &trial.measurement.phases);
    phases.filter(|phase| phase.work() == work).for_each(|phase| names.add(phase.name.as_str()));
    names.in_order.into_iter().filter_map(|name| Figures::of(line, name)).collect()
}

/// A table of the speed-ups of a block.
pub(crate) struct Table<'b> {
    /// The works, without their numbers of threads: a column each.
    pub(crate) works: Vec<&'b str>,
    /// The rows, those of an engine together.
    pub(crate) rows: Vec<Row<'b>>,
}

/// The speed-ups of a line with one number of threads.
pub(crate) struct Row<'b> {
    pub(crate) line: &'b Line<'b>,
    pub(crate) fewest: u32,
    pub(crate) threads: u32,
    of_works: Vec<(&'b str, SpeedUp)>,
}

impl Row<'_> {
    /// Returns the speed-up in a work.
    pub(crate) fn of_work(&self, work: &str) -> Option<&SpeedUp> {
        self.of_works.iter().find(|(of, _)| *of == work).map(|(_, speed_up)| speed_up)
    }
}

impl<'b> Table<'b> {
    /// Returns the table of some lines of a block; none without speed-ups.
    pub(crate) fn of(
        block: &Block<'_>,
        lines: &[&'b Line<'b>],
        phases: &[&'b str],
    ) -> Option<Self> {
        let all = SpeedUps::of(block);
        let mut places = HashMap::new();
        let mut works = Distinct::default();
        let mut rows: Vec<Row<'b>> = Vec::new();
        for line in lines {
            let next = places.len();
            places.entry(&line.cell().engine).or_insert(next);
            let of_line = all.of_line(line);
            let mut of_threads = BTreeMap::new();
            for phase in phases {
                let Some(speed_up) = of_line.of_phase(phase) else { continue };
                let work = line.phase(phase).next().map_or(*phase, Phase::work);
                works.add(work);
                let SpeedUp { fewest, threads, .. } = speed_up;
                let row = of_threads.entry((threads, fewest));
                row.or_insert_with(Vec::new).push((work, speed_up));
            }
            let row = |((threads, fewest), of_works)| Row { line, fewest, threads, of_works };
            rows.extend(of_threads.into_iter().map(row));
        }
        rows.sort_by_key(|row| places[&row.line.cell().engine]);
        (!rows.is_empty()).then_some(Self { works: works.in_order, rows })
    }
}

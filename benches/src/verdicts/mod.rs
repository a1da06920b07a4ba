//! Counts how often `assay compare` is right: its verdicts on runs of one program, and on runs of
//! programs that are slower by a known share.
//!
//! A run has four engines that take turns: the example plugin twice as it is ([`BASE`], [`SAME`]),
//! and slowed ([`SLOWED`]). From many such runs follow comparisons of both designs, with the first
//! trials of each run: of runs one after the other, and of engines in turns.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use assay_core::random::Bijection;
use assay_core::run_file::{CellResult, RunFile};
use assay_core::stats::median;
use assay_report::blocks::blocks;
use assay_report::compare::{self, Comparison, Design, LEVEL, Line, Quantity, Statistic, Verdict};

/// The engine as it is.
pub const BASE: Engine = Engine { id: "slowed-a", percent: 0 };
/// The second copy of the plugin.
pub const SAME: Engine = Engine { id: "slowed-b", percent: 0 };
/// Copies of the plugin whose operations take more time.
pub const SLOWED: [Engine; 2] =
    [Engine { id: "slowed-c", percent: 5 }, Engine { id: "slowed-d", percent: 8 }];

/// The numbers of trials of each run that are looked at.
pub const TRIALS: [u32; 3] = [3, 5, 10];

/// A slowed engine.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Its name.
    pub id: &'static str,
    /// The additional time of its operations, in percent.
    pub percent: u32,
}

/// A number of hits among a number of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of cases that are hits.
    pub hits: usize,
    /// All of them.
    pub of: usize,
}

impl Count {
    fn add(&mut self, is_hit: bool) {
        self.hits += usize::from(is_hit);
        self.of += 1;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            0 => f.write_str("–"),
            of => {
                write!(f, "{:.1} % ({} of {of})", self.hits as f64 * 100.0 / of as f64, self.hits)
            }
        }
    }
}

/// The share of slowdowns found, of rates with several rounds a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By the median of rounds.
    pub by_median: Count,
    /// By the fastest tenth of them.
    pub by_fastest: Count,
    /// By one or the other.
    pub by_either: Count,
}

/// The verdicts of a design's comparisons, with a number of trials.
#[derive(Clone, Debug)]
pub struct Row {
    /// The design of the comparisons.
    pub design: Design,
    /// Trials of each side.
    pub trials: u32,
    /// Comparisons of one program with itself that found a difference.
    pub alarms: Count,
    /// Single tests of those, without the adjustment for their number.
    pub alarms_alone: Count,
    /// For each of [`SLOWED`].
    pub found: [Found; 2],
}

/// The share of intervals of a rate that held the median of all trials of all runs.
#[derive(Clone, Copy, Debug)]
pub struct Coverage {
    /// Trials of a run.
    pub trials: u32,
    /// Intervals that did.
    pub held: Count,
}

/// The results of some runs.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// By design and trials.
    pub rows: Vec<Row>,
    /// By trials.
    pub coverage: Vec<Coverage>,
    /// For each of [`SLOWED`], the ratio of its rates to those of the base in all trials.
    pub long_run: [f64; 2],
}

/// Evaluates runs of all engines.
pub fn evaluate(runs: &[RunFile]) -> Verdicts {
    let designs = [Design::Apart, Design::InTurns];
    let rows = designs.iter().flat_map(|design| TRIALS.map(|trials| row(*design, trials, runs)));
    Verdicts {
        rows: rows.collect(),
        coverage: TRIALS.map(|trials| coverage(trials, runs)).into(),
        long_run: SLOWED.map(|slowed| long_run(slowed.id, runs)),
    }
}

fn row(design: Design, trials: u32, runs: &[RunFile]) -> Row {
    let of = |engine: Engine| -> Vec<Comparison> {
        match design {
            Design::InTurns => {
                let of_run = |run| {
                    compare::engines(&first_trials(run, trials), &BASE.id.into(), &engine.id.into())
                };
                runs.iter().map(of_run).collect()
            }
            // One program is compared with itself by what is the same engine, later.
            Design::Apart => {
                let new = if engine.percent == 0 { BASE } else { engine };
                let sides = |run: &RunFile, engine| only(first_trials(run, trials), engine);
                let pair =
                    |pair: &[RunFile]| compare::runs(&sides(&pair[0], BASE), &sides(&pair[1], new));
                runs.windows(2).map(pair).collect()
            }
        }
    };
    let (mut alarms, mut alarms_alone) = (Count::default(), Count::default());
    for comparison in of(SAME).iter().filter(|comparison| comparison.tests > 0) {
        let is_found = |line: &Line| matches!(line.verdict(), Verdict::Better | Verdict::Worse);
        alarms.add(comparison.lines.iter().any(is_found));
        for test in comparison.lines.iter().filter_map(|line| line.ratio.test) {
            alarms_alone.add(test.probability < LEVEL);
        }
    }
    Row { design, trials, alarms, alarms_alone, found: SLOWED.map(|slowed| found(&of(slowed))) }
}

fn found(comparisons: &[Comparison]) -> Found {
    let mut found = Found::default();
    for comparison in comparisons.iter().filter(|comparison| comparison.tests > 0) {
        let lines = &comparison.lines;
        let is_rate = |line: &&Line| matches!(line.quantity, Quantity::Rate { .. });
        for fastest in lines.iter().filter(|l| l.statistic == Statistic::FastestTenth) {
            let of_rate =
                || lines.iter().filter(is_rate).filter(|l| l.quantity == fastest.quantity);
            let is_worse = |statistic| {
                let mut of_statistic = of_rate().filter(|line| line.statistic == statistic);
                of_statistic.any(|line| line.verdict() == Verdict::Worse)
            };
            let (median, fastest) =
                (is_worse(Statistic::Median), is_worse(Statistic::FastestTenth));
            found.by_median.add(median);
            found.by_fastest.add(fastest);
            found.by_either.add(median || fastest);
        }
    }
    found
}

fn coverage(trials: u32, runs: &[RunFile]) -> Coverage {
    let mut held = Count::default();
    for engine in [BASE, SAME] {
        for phase in phases(runs) {
            let all: Vec<_> =
                runs.iter().flat_map(|run| trial_rates(run, engine.id, &phase)).collect();
            let Some(truth) = median(&all) else { continue };
            for run in runs {
                let run = only(first_trials(run, trials), engine);
                let lines = blocks(&run);
                let rate = lines.iter().flat_map(|block| &block.lines).find_map(|l| l.rate(&phase));
                if let Some(bounds) = rate.and_then(|rate| rate.estimate.interval()) {
                    held.add(bounds.low <= truth && truth <= bounds.high);
                }
            }
        }
    }
    Coverage { trials, held }
}

/// The ratio of an engine's rates to those of the base: the median over phases of the median over
/// all trials, in which both took turns.
fn long_run(engine: &str, runs: &[RunFile]) -> f64 {
    let of_phase = |phase: &String| {
        let of_run = |run| {
            let (base, other) = (trial_rates(run, BASE.id, phase), trial_rates(run, engine, phase));
            base.into_iter().zip(other).map(|(base, other)| other / base).collect::<Vec<_>>()
        };
        median(&runs.iter().flat_map(of_run).collect::<Vec<_>>())
    };
    let ratios: Vec<_> = phases(runs).iter().filter_map(of_phase).collect();
    median(&ratios).unwrap_or(f64::NAN)
}

/// Puts trials into other runs, by chance: what drifted from run to run is then in all of them.
/// Engines that took turns in a trial stay together.
pub fn shuffled(runs: &[RunFile], seed: u64) -> Vec<RunFile> {
    let numbers: BTreeSet<_> =
        runs.iter().flat_map(RunFile::results).map(|result| result.cell.trial).collect();
    let of_trial = |run: &RunFile, number: u32| -> Vec<CellResult> {
        run.results().filter(|result| result.cell.trial == number).cloned().collect()
    };
    let trials: Vec<_> =
        runs.iter().flat_map(|run| numbers.iter().map(|number| of_trial(run, *number))).collect();
    let order = Bijection::new(seed, trials.len() as u64);
    let mut at = 0;
    let mut next = |number: u32| {
        let mut trial = trials[order.at(at) as usize].clone();
        at += 1;
        trial.iter_mut().for_each(|result| result.cell.trial = number);
        trial
    };
    let mut shuffled = runs.to_vec();
    for run in &mut shuffled {
        run.cells = numbers.iter().flat_map(|number| next(*number)).collect();
    }
    shuffled
}

fn phases(runs: &[RunFile]) -> Vec<String> {
    let first = runs.iter().flat_map(RunFile::results).next();
    first.map_or_else(Vec::new, |result| {
        result.measurement.phases.iter().map(|phase| phase.name.clone()).collect()
    })
}

fn trial_rates(run: &RunFile, engine: &str, phase: &str) -> Vec<f64> {
    let of_engine = run.results().filter(|result| result.cell.engine == engine.into());
    of_engine.filter_map(|result| result.measurement.phase(phase)?.trial_rate()).collect()
}

/// The run with its first trials alone.
fn first_trials(run: &RunFile, trials: u32) -> RunFile {
    let mut first = run.clone();
    first.cells.retain(|result| result.cell.trial <= trials);
    first
}

/// The run with one of its engines alone, under the name of the base.
fn only(mut run: RunFile, engine: Engine) -> RunFile {
    run.cells.retain(|result| result.cell.engine == engine.id.into());
    for result in &mut run.cells {
        result.cell.engine = BASE.id.into();
    }
    run
}

/// The tables, as Markdown.
///
/// # Errors
/// Never but for want of memory.
pub fn markdown(verdicts: &Verdicts) -> Result<String, fmt::Error> {
    let mut out =
        String::from("| design | trials | one program \"differs\" | a single test of it |");
    for slowed in SLOWED {
        write!(
            out,
            " {} % more time: found by the median | by the fastest tenth | by either |",
            slowed.percent
        )?;
    }
    writeln!(out, "\n|---|---:|{}", "---:|".repeat(2 + 3 * SLOWED.len()))?;
    for row in &verdicts.rows {
        let design = match row.design {
            Design::Apart => "two runs",
            Design::InTurns => "in turns",
        };
        write!(out, "| {design} | {} | {} | {} |", row.trials, row.alarms, row.alarms_alone)?;
        for found in row.found {
            write!(out, " {} | {} | {} |", found.by_median, found.by_fastest, found.by_either)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "\n| trials | intervals that hold the long-run median |\n|---:|---:|")?;
    for Coverage { trials, held } in &verdicts.coverage {
        writeln!(out, "| {trials} | {held} |")?;
    }
    for (slowed, ratio) in SLOWED.iter().zip(verdicts.long_run) {
        let time = (1.0 / ratio - 1.0) * 100.0;
        writeln!(out, "\nOver all trials, {} % more time was {time:.1} %.", slowed.percent)?;
    }
    Ok(out)
}

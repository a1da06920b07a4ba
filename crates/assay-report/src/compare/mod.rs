//! The comparison of two runs, or of two engines of one run, quantity by quantity.
//!
//! Each line has its own test. Its verdict is adjusted for the number of tests, so that a
//! comparison without any difference finds one in at most 5 of 100 cases.

mod json;
mod line;
mod markdown;
mod ranks;
mod text;

use std::collections::HashMap;
use std::fmt::Write;
use std::hash::Hash;

use assay_core::engine::EngineRef;
use assay_core::holm;
use assay_core::plan::{Cell, WorkloadKey};
use assay_core::ratio::{Pair, Ratio};
use assay_core::run_file::{CellResult, NO_TIME, Phase, RunFile, Status};
use assay_core::stats::median;

use crate::blocks::Distinct;
use crate::format::{memory, row_count};
pub use json::json;
pub use line::{LEVEL, Line, Percentile, Quantity, Statistic, Verdict};
pub use markdown::markdown;
pub use ranks::{Ranked, Ranks, ranks};
pub use text::render;

use line::quantities;

/// A comparison: its lines, and what could not be compared.
#[derive(Debug)]
pub struct Comparison {
    /// The pairing of its trials.
    pub design: Design,
    /// A line for each quantity that both sides measured, by each statistic.
    pub lines: Vec<Line>,
    /// The number of lines with a test; the verdicts are adjusted for it.
    pub tests: usize,
    /// The differences between the two experiments: each a sentence.
    pub differences: Vec<String>,
    /// Quantities of the base that the other side lacks or has wrong: each a sentence.
    pub not_compared: Vec<String>,
    /// Notes for the reader, each a sentence.
    pub notes: Vec<String>,
}

/// The pairing of the trials of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Two runs, one after the other.
    Apart,
    /// Both sides took turns in one run, so their trials are pairs.
    InTurns,
}

impl Comparison {
    /// Returns the hardest test's level, at which a difference is found whatever the others say.
    pub fn level(&self) -> f64 {
        LEVEL / self.tests.max(1) as f64
    }

    /// Returns what keeps the comparison from being a verdict on all of the base: quantities that
    /// were not compared, and lines with too few trials for a test.
    pub fn not_judged(&self) -> Vec<String> {
        let mut all = self.not_compared.clone();
        let lines = self.lines.len();
        match lines - self.tests {
            0 => {}
            untested => all.push(format!("{untested} of {lines} lines have too few trials")),
        }
        all
    }

    /// Returns the number of trials that would find a change of this share in every rate, by either
    /// statistic; `None` without a test, or if there are too many.
    pub fn trials_to_find(&self, share: f64) -> Option<u32> {
        let mut of_rate: HashMap<_, Option<u32>> = HashMap::new();
        for line in &self.lines {
            let (Quantity::Rate { phase }, Some(test)) = (&line.quantity, line.ratio.test) else {
                continue;
            };
            let trials = test.trials_to_find(share, self.level());
            let least = of_rate.entry((&line.work, &line.engine, phase)).or_insert(trials);
            *least = [*least, trials].into_iter().flatten().min();
        }
        of_rate.into_values().collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

/// Compares a run with a later one.
pub fn runs(base: &RunFile, new: &RunFile) -> Comparison {
    let mut comparison = Comparing::new(Design::Apart);
    machines(base, new).into_iter().for_each(|difference| comparison.differences.add(difference));
    if base.build != new.build {
        let words = |run: &RunFile| format!("assay {} by {}", run.build.version, run.build.rustc);
        if words(base) != words(new) {
            comparison.notes.add(format!("built as {} and as {}", words(base), words(new)));
        }
    }
    let of_base = trials(base);
    let of_new = trials(new);
    let found = first_of_each(&of_new, same_cell);
    for group in &of_base {
        match found.get(&same_cell(&group[0].cell)) {
            Some(other) => comparison.add(group, other),
            None => {
                comparison.lacks(group, format!("only in the first: {}", named(&group[0].cell)))
            }
        }
    }
    let known = first_of_each(&of_base, same_cell);
    for group in &of_new {
        if !known.contains_key(&same_cell(&group[0].cell)) {
            comparison.notes.add(format!("only in the second: {}", named(&group[0].cell)));
        }
    }
    comparison.finish()
}

/// Returns the first group of trials with each key.
fn first_of_each<'g, 'r, K: Eq + Hash>(
    groups: &'g [Vec<&'r CellResult>],
    key: impl Fn(&'r Cell) -> K,
) -> HashMap<K, &'g [&'r CellResult]> {
    let mut first = HashMap::new();
    for group in groups {
        first.entry(key(&group[0].cell)).or_insert(group.as_slice());
    }
    first
}

/// Compares an engine with another one in the same run.
pub fn engines(run: &RunFile, base: &EngineRef, new: &EngineRef) -> Comparison {
    let mut comparison = Comparing::new(Design::InTurns);
    let groups = trials(run);
    let others: Vec<_> = groups.iter().filter(|g| g[0].cell.engine == *new).cloned().collect();
    let others = first_of_each(&others, same_workload);
    for group in groups.iter().filter(|group| group[0].cell.engine == *base) {
        let cell = &group[0].cell;
        match others.get(&same_workload(cell)) {
            Some(other) => comparison.add(group, other),
            None => comparison.lacks(group, format!("{new} has no {}", named(cell))),
        }
    }
    comparison.finish()
}

/// Compares the two builds of a run, engine by engine; the other build is the base. Returns none if
/// the run has one build.
pub fn builds(run: &RunFile) -> Option<Comparison> {
    let baseline = run.baseline.as_ref()?;
    let mut comparison = Comparing::new(Design::InTurns);
    comparison.notes.add(format!("base: the other build, {}", baseline.words()));
    let (of_other, ours): (Vec<_>, Vec<_>) =
        trials(run).into_iter().partition(|group| group[0].cell.engine.is_of_other_build());
    let ours = first_of_each(&ours, same_of_builds);
    for group in &of_other {
        let cell = &group[0].cell;
        let Some(other) = ours.get(&same_of_builds(cell)) else {
            comparison.lacks(group, format!("this build has no {}", named(cell)));
            continue;
        };
        let version = |side: &[&CellResult]| whole(side).measurement.engine_version.clone();
        let before = version(group);
        let after = version(other);
        if before != after && !before.is_empty() && !after.is_empty() {
            let id = &cell.engine.id;
            comparison.notes.add(format!("{id} {after} here, {before} in the other build"));
        }
        comparison.add(group, other);
    }
    Some(comparison.finish())
}

/// Returns the part of a cell that two builds of an engine have in common.
fn same_of_builds(cell: &Cell) -> impl Eq + Hash + use<'_> {
    (&cell.engine.id, cell.workload(), cell.threads, cell.key_kind)
}

/// Returns the part of a cell that two compared engines have in common.
fn same_workload(cell: &Cell) -> (WorkloadKey<'_>, u32) {
    (cell.workload(), cell.threads)
}

/// A comparison that is being made.
struct Comparing {
    design: Design,
    lines: Vec<Line>,
    differences: Distinct<String>,
    not_compared: Distinct<String>,
    notes: Distinct<String>,
}

impl Comparing {
    fn new(design: Design) -> Self {
        Self {
            design,
            lines: Vec::new(),
            differences: Distinct::default(),
            not_compared: Distinct::default(),
            notes: Distinct::default(),
        }
    }

    fn finish(mut self) -> Comparison {
        let tests = || self.lines.iter().map(|line| line.ratio.test);
        let mut adjusted: Vec<_> = tests().flatten().map(|test| test.probability).collect();
        holm::adjust(&mut adjusted);
        let tests = adjusted.len();
        let mut adjusted = adjusted.into_iter();
        for line in &mut self.lines {
            line.adjusted = line.ratio.test.and_then(|_| adjusted.next());
        }
        Comparison {
            design: self.design,
            lines: self.lines,
            tests,
            differences: self.differences.in_order,
            not_compared: self.not_compared.in_order,
            notes: self.notes.in_order,
        }
    }

    /// Notes that the other side lacks a cell of the base. If the base did not measure it either,
    /// nothing is missing.
    fn lacks(&mut self, base: &[&CellResult], sentence: String) {
        if base.iter().any(|trial| trial.status == Status::Measured) {
            self.not_compared.add(sentence)
        } else {
            self.notes.add(sentence)
        }
    }

    /// Adds the measurements of two cells.
    fn add(&mut self, base: &[&CellResult], new: &[&CellResult]) {
        let first = &base[0].cell;
        let second = &new[0].cell;
        if let Some(trial) = base.iter().find(|trial| trial.status != Status::Measured) {
            self.notes.add(not_measured(trial));
        }
        if let Some(trial) = new.iter().find(|trial| trial.status != Status::Measured) {
            self.lacks(base, not_measured(trial));
        }
        if first.revision != second.revision {
            self.differences.add(format!(
                "the revisions of the suite {}: {} and {}, which do other operations; measure the \
                 older run anew",
                first.suite, first.revision, second.revision
            ));
        }
        if first.durability != second.durability {
            let words = |cell: &Cell| format!("{} at {}", cell.engine, cell.durability);
            self.differences.add(format!("{} and {}", words(first), words(second)));
        }
        if self.design == Design::Apart {
            let settings = |side: &[&CellResult]| side[0].measurement.settings.clone();
            if settings(base) != settings(new) {
                self.differences.add(format!(
                    "the settings of {}: {} and {}",
                    first.engine,
                    settings(base).join(" · "),
                    settings(new).join(" · ")
                ));
            }
            let version = |side: &[&CellResult]| whole(side).measurement.engine_version.clone();
            let before = version(base);
            let after = version(new);
            if before != after && !before.is_empty() && !after.is_empty() {
                self.notes.add(format!("{} {before} and {after}", first.engine));
            }
        }
        let whole_base = whole(base);
        let whole_new = whole(new);
        for phase in &whole_base.measurement.phases {
            let Some(other) = whole_new.measurement.phase(&phase.name) else {
                self.lacks(base, format!("{} is missing from {}", phase.name, named(second)));
                continue;
            };
            if phase.tape_hash != other.tape_hash {
                self.differences.add(format!(
                    "the operations of {} in {}: their tapes have other hashes",
                    phase.name,
                    named(first)
                ));
            }
            self.note_times(&phase.name, [base, new]);
        }
        for (quantity, statistic) in quantities(whole_base) {
            self.add_line(quantity, statistic, [base, new]);
        }
    }

    /// Notes if a round was too short for the clock.
    fn note_times(&mut self, phase: &str, sides: [&[&CellResult]; 2]) {
        for side in sides {
            let phases = side.iter().filter_map(|trial| trial.measurement.phase(phase));
            if phases.into_iter().any(Phase::is_without_time) {
                let cell = named(&side[0].cell);
                self.notes.add(format!("{phase} – in {cell}: {NO_TIME}"));
            }
        }
    }

    /// Adds a quantity, if both sides measured it.
    fn add_line(
        &mut self,
        quantity: Quantity,
        statistic: Statistic,
        [base, new]: [&[&CellResult]; 2],
    ) {
        let figures = |side: &[&CellResult]| -> Vec<Figure> {
            let good = side.iter().filter(|trial| trial.status == Status::Measured);
            let figure = |trial: &CellResult| {
                let value = quantity.of_trial(trial, statistic)?;
                Some(Figure { trial: trial.cell.trial, value })
            };
            good.filter_map(|trial| figure(trial)).collect()
        };
        let of_base = figures(base);
        let of_new = figures(new);
        let mut trials = new.iter().filter(|trial| trial.status == Status::Measured);
        if !of_base.is_empty() && !trials.any(|trial| quantity.was_taken(trial)) {
            self.lacks(base, format!("{} has no {quantity}", named(&new[0].cell)));
        }
        let [base_values, new_values] =
            [&of_base, &of_new].map(|side| side.iter().map(|f| f.value).collect::<Vec<_>>());
        let ratio = match self.design {
            Design::InTurns => Ratio::paired(&pairs(&of_base, &of_new)),
            Design::Apart => Ratio::welch(&base_values, &new_values),
        };
        let figures = (ratio, median(&base_values), median(&new_values));
        let (Some(ratio), Some(base_value), Some(new_value)) = figures else {
            return;
        };
        let first = &base[0].cell;
        let second = &new[0].cell;
        self.lines.push(Line {
            work: work(first),
            engine: if first.engine == second.engine {
                first.engine.to_string()
            } else {
                format!("{} : {}", second.engine, first.engine)
            },
            quantity,
            statistic,
            base: base_value,
            new: new_value,
            ratio,
            adjusted: None,
        });
    }
}

/// The figure of a trial, with the trial's number.
struct Figure {
    trial: u32,
    value: f64,
}

/// Returns the figures of the trials that both sides have.
fn pairs(base: &[Figure], new: &[Figure]) -> Vec<Pair> {
    let mut of_trial = HashMap::new();
    for figure in new {
        of_trial.entry(figure.trial).or_insert(figure.value);
    }
    let pair = |base: &Figure| Some(Pair { base: base.value, new: *of_trial.get(&base.trial)? });
    base.iter().filter_map(pair).collect()
}

/// Returns the results of a run by cell, each with all its trials.
fn trials(run: &RunFile) -> Vec<Vec<&CellResult>> {
    let mut groups: Vec<Vec<&CellResult>> = Vec::new();
    let mut places = HashMap::new();
    for result in run.results() {
        let at = *places.entry(result.cell.line()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(result),
            None => groups.push(vec![result]),
        }
    }
    groups
}

/// Returns the part of a cell that two runs of the same measurement have in common: the work and
/// the engine. The place of the stores does not count. Level and revision do not count either: they
/// are reported as differences.
fn same_cell(cell: &Cell) -> impl Eq + Hash + use<'_> {
    let engine = (&cell.engine, &cell.engine_options, &cell.engine_parameters);
    (cell.workload_but_revision(), engine, cell.threads, cell.key_kind)
}

fn machines(base: &RunFile, new: &RunFile) -> Vec<String> {
    let words = |run: &RunFile| {
        let machine = &run.environment;
        [
            ("processor", machine.cpu_model.clone()),
            ("number of processors", machine.cpus.to_string()),
            ("memory", machine.memory_bytes.to_string()),
            ("kernel", machine.kernel.clone()),
        ]
    };
    let pairs = words(base).into_iter().zip(words(new));
    pairs
        .filter(|(base, new)| base != new)
        .map(|((what, base), (_, new))| format!("the {what} of the machines: {base} and {new}"))
        .collect()
}

fn work(cell: &Cell) -> String {
    let mut text = format!("{} · {}", cell.suite, cell.storage);
    if cell.rows > 0 {
        let _ = write!(text, " · {}", row_count(cell.rows));
    }
    if cell.threads > 1 {
        let _ = write!(text, " · {} threads", cell.threads);
    }
    let _ = write!(text, " · {}", cell.variant);
    for part in memory(cell) {
        let _ = write!(text, " · {part}");
    }
    text
}

/// Returns the first trial that was measured whole; without one, the first.
fn whole<'r>(side: &[&'r CellResult]) -> &'r CellResult {
    side.iter().find(|trial| trial.status == Status::Measured).unwrap_or(&side[0])
}

/// Returns which trial was not measured, and why.
fn not_measured(trial: &CellResult) -> String {
    let cell = named(&trial.cell);
    let number = trial.cell.trial;
    match trial.status.reason() {
        Some(why) => format!("trial {number} of {cell} was not measured: {why}"),
        None => format!("trial {number} of {cell} was not measured"),
    }
}

fn named(cell: &Cell) -> String {
    format!("{} in {}", cell.engine, work(cell))
}

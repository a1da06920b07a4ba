//! Two runs, or two engines of one run, phase by phase.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::hash::Hash;

use assay_core::estimate::{Bounds, TRIALS_LEAST};
use assay_core::plan::{Cell, WorkloadKey};
use assay_core::ratio::{Pair, Ratio};
use assay_core::run_file::{CellResult, NO_TIME, Phase, RunFile, Status};
use assay_core::stats::median;
use comfy_table::{CellAlignment, Table, presets};

use crate::blocks::Distinct;
use crate::format::{quantity, rows};

/// A comparison: what was compared, and what could not be.
#[derive(Debug, Default)]
pub struct Comparison {
    /// One for each phase that both sides measured.
    pub lines: Vec<Line>,
    /// Why the two sides are not the same experiment: each a sentence.
    pub differences: Vec<String>,
    /// What a reader has to know, each a sentence.
    pub notes: Vec<String>,
}

/// A phase of two sides.
#[derive(Debug)]
pub struct Line {
    /// How its cell differs from others, in words.
    pub work: String,
    /// The engine, or both.
    pub engine: String,
    /// The phase.
    pub phase: String,
    /// Operations a second of the base, median over trials.
    pub base: f64,
    /// The same of the other.
    pub new: f64,
    /// How many times as fast the other is.
    pub ratio: Ratio,
}

/// What a line comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The interval is above 1.
    Faster,
    /// It is below 1.
    Slower,
    /// It holds 1.
    NoDifference,
    /// There is none.
    TooFewTrials,
}

impl Line {
    /// What it comes to.
    pub fn verdict(&self) -> Verdict {
        match self.ratio.interval {
            None => Verdict::TooFewTrials,
            Some(Bounds { low, .. }) if low > 1.0 => Verdict::Faster,
            Some(Bounds { high, .. }) if high < 1.0 => Verdict::Slower,
            Some(_) => Verdict::NoDifference,
        }
    }

    /// Whether it is slower, and by this share or more.
    pub fn is_regression(&self, share: f64) -> bool {
        self.verdict() == Verdict::Slower && self.ratio.value <= 1.0 - share
    }
}

/// Compares a run with a later one.
pub fn runs(base: &RunFile, new: &RunFile) -> Comparison {
    let mut comparison = Comparing::default();
    machines(base, new).into_iter().for_each(|difference| comparison.differences.add(difference));
    if base.build != new.build {
        let words = |run: &RunFile| format!("assay {} by {}", run.build.version, run.build.rustc);
        if words(base) != words(new) {
            comparison.notes.add(format!("built as {} and as {}", words(base), words(new)));
        }
    }
    let (of_base, of_new) = (trials(base), trials(new));
    let found = first_of_each(&of_new, same_cell);
    for group in &of_base {
        match found.get(&same_cell(&group[0].cell)) {
            Some(other) => comparison.add(group, other, false),
            None => comparison.notes.add(format!("only in the first: {}", named(&group[0].cell))),
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

/// The first group of trials with each key.
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
pub fn engines(run: &RunFile, base: &str, new: &str) -> Comparison {
    let mut comparison = Comparing::default();
    let groups = trials(run);
    let others: Vec<_> = groups.iter().filter(|g| g[0].cell.engine == new).cloned().collect();
    let others = first_of_each(&others, same_workload);
    for group in groups.iter().filter(|group| group[0].cell.engine == base) {
        let cell = &group[0].cell;
        match others.get(&same_workload(cell)) {
            Some(other) => comparison.add(group, other, true),
            None => comparison.notes.add(format!("{new} has no {}", named(cell))),
        }
    }
    comparison.finish()
}

/// What is the same of two engines that are compared.
fn same_workload(cell: &Cell) -> (WorkloadKey<'_>, u32) {
    (cell.workload(), cell.threads)
}

/// A comparison that is being made.
#[derive(Default)]
struct Comparing {
    lines: Vec<Line>,
    differences: Distinct<String>,
    notes: Distinct<String>,
}

impl Comparing {
    fn finish(self) -> Comparison {
        Comparison {
            lines: self.lines,
            differences: self.differences.in_order,
            notes: self.notes.in_order,
        }
    }

    /// Adds the phases of two cells; those of two engines were measured in turns.
    fn add(&mut self, base: &[&CellResult], new: &[&CellResult], in_turns: bool) {
        let (first, second) = (&base[0].cell, &new[0].cell);
        for side in [base, new] {
            if let Some(trial) = side.iter().find(|trial| trial.status != Status::Measured) {
                self.notes.add(format!("not all of {} was measured", named(&trial.cell)));
            }
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
        if !in_turns {
            let settings = |side: &[&CellResult]| side[0].measurement.settings.clone();
            if settings(base) != settings(new) {
                self.differences.add(format!(
                    "the settings of {}: {} and {}",
                    first.engine,
                    settings(base).join(" · "),
                    settings(new).join(" · ")
                ));
            }
            let version = |side: &[&CellResult]| side[0].measurement.engine_version.clone();
            if version(base) != version(new) {
                let (before, after) = (version(base), version(new));
                self.notes.add(format!("{} {before} and {after}", first.engine));
            }
        }
        for phase in &base[0].measurement.phases {
            let Some(other) = new[0].measurement.phase(&phase.name) else {
                self.notes.add(format!("{} is missing from {}", phase.name, named(second)));
                continue;
            };
            if phase.tape_hash != other.tape_hash {
                self.differences.add(format!(
                    "the operations of {} in {}: their tapes have other hashes",
                    phase.name,
                    named(first)
                ));
            }
            self.add_phase(&phase.name, base, new, in_turns);
        }
    }

    fn add_phase(
        &mut self,
        phase: &str,
        base: &[&CellResult],
        new: &[&CellResult],
        in_turns: bool,
    ) {
        let rates = |side: &[&CellResult]| -> Vec<(u32, f64)> {
            let good = side.iter().filter(|trial| trial.status == Status::Measured);
            let rate = |trial: &&&CellResult| {
                let rate = trial.measurement.phase(phase).and_then(Phase::trial_rate)?;
                Some((trial.cell.trial, rate))
            };
            good.filter_map(|trial| rate(&trial)).collect()
        };
        let (base_rates, new_rates) = (rates(base), rates(new));
        let values = |rates: &[(u32, f64)]| rates.iter().map(|(_, rate)| *rate).collect::<Vec<_>>();
        let mut of_trial = HashMap::new();
        for (trial, rate) in &new_rates {
            of_trial.entry(*trial).or_insert(*rate);
        }
        let ratio = match in_turns {
            true => {
                let pairs: Vec<_> = base_rates
                    .iter()
                    .filter_map(|(trial, rate)| {
                        Some(Pair { base: *rate, new: *of_trial.get(trial)? })
                    })
                    .collect();
                Ratio::paired(&pairs)
            }
            false => Ratio::welch(&values(&base_rates), &values(&new_rates)),
        };
        let middle = |rates: &[(u32, f64)]| median(&values(rates));
        for side in [base, new] {
            let phases = side.iter().filter_map(|trial| trial.measurement.phase(phase));
            if phases.into_iter().any(Phase::is_without_time) {
                let cell = named(&side[0].cell);
                self.notes.add(format!("{phase} – in {cell}: {NO_TIME}"));
            }
        }
        let (Some(ratio), Some(base_rate), Some(new_rate)) =
            (ratio, middle(&base_rates), middle(&new_rates))
        else {
            return;
        };
        let (first, second) = (&base[0].cell, &new[0].cell);
        self.lines.push(Line {
            work: work(first),
            engine: match first.engine == second.engine {
                true => first.engine.clone(),
                false => format!("{} : {}", second.engine, first.engine),
            },
            phase: phase.into(),
            base: base_rate,
            new: new_rate,
            ratio,
        });
    }
}

/// The results of a run by cell, each with all its trials.
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

/// What is the same of two cells if two runs measured the same: the work and the engine. Where the
/// stores were is not looked at, nor the level and the revision, which are differences that are
/// named.
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
        let _ = write!(text, " · {} rows", rows(cell.rows));
    }
    if cell.threads > 1 {
        let _ = write!(text, " · {} threads", cell.threads);
    }
    let _ = write!(text, " · {}", cell.variant);
    text
}

fn named(cell: &Cell) -> String {
    format!("{} in {}", cell.engine, work(cell))
}

/// The comparison as a table.
pub fn render(comparison: &Comparison) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let mut workloads = Distinct::default();
    let mut lines: HashMap<&str, Vec<&Line>> = HashMap::new();
    for line in &comparison.lines {
        workloads.add(line.work.as_str());
        lines.entry(line.work.as_str()).or_default().push(line);
    }
    for work in workloads.in_order {
        writeln!(out, "\n{work}\n")?;
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["engine", "phase", "base/s", "new/s", "ratio", "95 % interval", ""]);
        for line in &lines[work] {
            let interval = line.ratio.interval;
            let interval = interval.map(|Bounds { low, high }| format!("{low:.3} – {high:.3}"));
            table.add_row([
                line.engine.clone(),
                line.phase.clone(),
                quantity(line.base),
                quantity(line.new),
                format!("{:.3}", line.ratio.value),
                interval.unwrap_or_else(|| "–".into()),
                words(line),
            ]);
        }
        for column in table.column_iter_mut().skip(2).take(4) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in table.to_string().lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    writeln!(
        out,
        "\n ratio: of the medians over trials, of operations a second; above 1 the second is \
         faster. The interval is\n of a t test on the logarithms of the trials' figures, and \
         needs {TRIALS_LEAST} trials (assay run … --trials {TRIALS_LEAST})."
    )?;
    for difference in &comparison.differences {
        writeln!(out, " not the same: {difference}")?;
    }
    for note in &comparison.notes {
        writeln!(out, " note: {note}")?;
    }
    Ok(out)
}

fn words(line: &Line) -> String {
    let percent = (line.ratio.value - 1.0).abs() * 100.0;
    match line.verdict() {
        Verdict::Faster => format!("faster by {percent:.1} %"),
        Verdict::Slower => format!("slower by {percent:.1} %"),
        Verdict::NoDifference => "no difference".into(),
        Verdict::TooFewTrials => "too few trials".into(),
    }
}

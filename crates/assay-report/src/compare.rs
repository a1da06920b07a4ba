//! Two runs, or two engines of one run, phase by phase.

use std::fmt::{self, Write};

use assay_core::bootstrap::{self, Estimate, TRIALS_LEAST};
use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, NO_TIME, Phase, RunFile, Status};
use assay_core::stats::median;
use comfy_table::{CellAlignment, Table, presets};

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
    /// What tells its cell from others.
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
    pub ratio: Estimate,
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
        match self.ratio.interval_95 {
            None => Verdict::TooFewTrials,
            Some((low, _)) if low > 1.0 => Verdict::Faster,
            Some((_, high)) if high < 1.0 => Verdict::Slower,
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
    let mut comparison = Comparison { differences: machines(base, new), ..Comparison::default() };
    if base.build != new.build {
        let words = |run: &RunFile| format!("assay {} by {}", run.build.version, run.build.rustc);
        if words(base) != words(new) {
            comparison.note(format!("built as {} and as {}", words(base), words(new)));
        }
    }
    let (of_base, of_new) = (trials(base), trials(new));
    for group in &of_base {
        match of_new.iter().find(|other| same_cell(group[0], other[0])) {
            Some(other) => comparison.add(group, other, false),
            None => comparison.note(format!("only in the first: {}", named(&group[0].cell))),
        }
    }
    for group in &of_new {
        if !of_base.iter().any(|other| same_cell(other[0], group[0])) {
            comparison.note(format!("only in the second: {}", named(&group[0].cell)));
        }
    }
    comparison
}

/// Compares an engine with another one in the same run.
pub fn engines(run: &RunFile, base: &str, new: &str) -> Comparison {
    let mut comparison = Comparison::default();
    let groups = trials(run);
    for group in groups.iter().filter(|group| group[0].cell.engine == base) {
        let cell = &group[0].cell;
        let other = groups.iter().find(|other| {
            let of = &other[0].cell;
            of.engine == new && of.same_work(cell) && of.threads == cell.threads
        });
        match other {
            Some(other) => comparison.add(group, other, true),
            None => comparison.note(format!("{new} has no {}", named(cell))),
        }
    }
    comparison
}

impl Comparison {
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn differ(&mut self, difference: String) {
        if !self.differences.contains(&difference) {
            self.differences.push(difference);
        }
    }

    /// Adds the phases of two cells; those of two engines were measured in turns.
    fn add(&mut self, base: &[&CellResult], new: &[&CellResult], in_turns: bool) {
        let (first, second) = (&base[0].cell, &new[0].cell);
        for side in [base, new] {
            if let Some(trial) = side.iter().find(|trial| trial.status != Status::Measured) {
                self.note(format!("not all of {} was measured", named(&trial.cell)));
            }
        }
        if first.revision != second.revision {
            self.differ(format!(
                "the revisions of the suite {}: {} and {}, which do other operations; measure the \
                 older run anew",
                first.suite, first.revision, second.revision
            ));
        }
        if first.durability != second.durability {
            let words = |cell: &Cell| format!("{} at {}", cell.engine, cell.durability);
            self.differ(format!("{} and {}", words(first), words(second)));
        }
        if !in_turns {
            let settings = |side: &[&CellResult]| side[0].measurement.settings.clone();
            if settings(base) != settings(new) {
                self.differ(format!(
                    "the settings of {}: {} and {}",
                    first.engine,
                    settings(base).join(" · "),
                    settings(new).join(" · ")
                ));
            }
            let version = |side: &[&CellResult]| side[0].measurement.engine_version.clone();
            if version(base) != version(new) {
                let (before, after) = (version(base), version(new));
                self.note(format!("{} {before} and {after}", first.engine));
            }
        }
        for phase in &base[0].measurement.phases {
            let Some(other) = new[0].measurement.phase(&phase.name) else {
                self.note(format!("{} is missing from {}", phase.name, named(second)));
                continue;
            };
            if phase.tape_hash != other.tape_hash {
                self.differ(format!(
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
                let rate = trial.measurement.phase(phase).and_then(trial_rate)?;
                Some((trial.cell.trial, rate))
            };
            good.filter_map(|trial| rate(&trial)).collect()
        };
        let (base_rates, new_rates) = (rates(base), rates(new));
        let values = |rates: &[(u32, f64)]| rates.iter().map(|(_, rate)| *rate).collect::<Vec<_>>();
        let of_trial = |trial: u32| new_rates.iter().find(|(other, _)| *other == trial);
        let ratio = match in_turns {
            true => {
                let pairs: Vec<_> = base_rates
                    .iter()
                    .filter_map(|(trial, rate)| Some((*rate, of_trial(*trial)?.1)))
                    .collect();
                bootstrap::paired_ratio(&pairs)
            }
            false => bootstrap::ratio(&values(&base_rates), &values(&new_rates)),
        };
        let middle = |rates: &[(u32, f64)]| median(&values(rates)).map(|median| median.value);
        for side in [base, new] {
            let phases = side.iter().filter_map(|trial| trial.measurement.phase(phase));
            if phases.into_iter().any(Phase::is_without_time) {
                let cell = named(&side[0].cell);
                self.note(format!("{phase} – in {cell}: {NO_TIME}"));
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

/// The figure of a trial: the median rate of its rounds.
fn trial_rate(phase: &Phase) -> Option<f64> {
    median(&phase.rates()).map(|median| median.value)
}

/// The results of a run by cell, each with all its trials.
fn trials(run: &RunFile) -> Vec<Vec<&CellResult>> {
    let mut groups: Vec<Vec<&CellResult>> = Vec::new();
    for result in run.results() {
        match groups.iter_mut().find(|group| group[0].cell.same_but_trial(&result.cell)) {
            Some(group) => group.push(result),
            None => groups.push(vec![result]),
        }
    }
    groups
}

/// Whether two runs measured the same: the same work of the same engine. Where the stores were is
/// not looked at, nor the level, which is a difference that is named.
fn same_cell(base: &CellResult, new: &CellResult) -> bool {
    let (base, new) = (&base.cell, &new.cell);
    base.same_work_but_revision(new)
        && base.engine == new.engine
        && base.threads == new.threads
        && base.key_kind == new.key_kind
        && base.engine_options == new.engine_options
        && base.engine_parameters == new.engine_parameters
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
    let mut works: Vec<&str> = Vec::new();
    for line in &comparison.lines {
        if !works.contains(&line.work.as_str()) {
            works.push(&line.work);
        }
    }
    for work in works {
        writeln!(out, "\n{work}\n")?;
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["engine", "phase", "base/s", "new/s", "ratio", "95 % interval", ""]);
        for line in comparison.lines.iter().filter(|line| line.work == work) {
            let interval = line.ratio.interval_95;
            let interval = interval.map(|(low, high)| format!("{low:.3} – {high:.3}"));
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
         faster. The interval is\n a bootstrap over trials, and needs {TRIALS_LEAST} of them \
         (assay run … --trials 5)."
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

//! The output of a gate: text, JSON, Markdown, GitHub's annotations.

mod github;
mod json;
mod markdown;
mod text;

use assay_core::plan::Cell;
use program_support::exit::Outcome;
use program_support::output::print;

use super::counts::{
    ALLOCATIONS, BRANCHES, CALL, Counted, Counts, FIRST_LEVEL, INSTRUCTIONS, LAST_LEVEL,
    PAGE_FAULTS, READ_BYTES, READS, SYNCS, WRITES, WRITTEN_BYTES, median, of,
};
use super::judge::{Comparison, Line, Verdict};
use crate::cli::GateFormat;

/// Prints counts, or what changed since the other side.
pub(crate) fn show(
    format: GateFormat,
    counts: &Counts,
    comparisons: Option<&Vec<Comparison>>,
) -> Outcome {
    match format {
        GateFormat::Text => print(&text::text(counts, comparisons)),
        GateFormat::Json => print(&json::json(counts, comparisons)),
        GateFormat::Markdown => print(&markdown::markdown(counts, comparisons)),
        GateFormat::Github => github::show(counts, comparisons),
    }
}

/// Returns a cell's engine and work.
pub(crate) fn title(cell: &Cell) -> String {
    let engine = &cell.engine.id;
    let storage = cell.storage;
    format!("{engine} on {storage}, {}, {} {}", cell.durability, cell.suite, cell.variant)
        .trim_end()
        .into()
}

/// Returns a sentence for each reason that ends the command with status 4.
pub(crate) fn failures(comparison: &Comparison) -> Vec<String> {
    let engine = comparison.title.split(' ').next().unwrap_or_default();
    let worse = comparison.lines.iter().filter(|line| line.verdict.is_failure());
    let worse = worse.map(|line| format!("{engine}, {}: {}", line.phase, change(line)));
    let not_judged = comparison.not_judged.iter();
    worse.chain(not_judged.map(|why| format!("{engine}: not judged: {why}"))).collect()
}

/// Returns a change in words.
pub(super) fn change(line: &Line) -> String {
    let word = if line.new > line.base { "more" } else { "fewer" };
    let per = |count: u64| an_operation(count, line.operations);
    let base = per(line.base);
    let new = per(line.new);
    let Some(name) = line.quantity.strip_prefix(CALL) else {
        let name = quantity_name(&line.quantity);
        return match line.base {
            0 => format!("{new} {name} an operation, none before"),
            _ => format!("{} % {word} {name}: {base} → {new} an operation", share(line)),
        };
    };
    let difference = line.new.abs_diff(line.base);
    let in_hundred = short(difference as f64 * 100.0 / line.operations as f64);
    format!("{in_hundred} {word} {name} in 100 operations: {base} → {new} an operation")
}

/// Returns the percentage by which a quantity changed.
fn share(line: &Line) -> String {
    short(line.new.abs_diff(line.base) as f64 * 100.0 / line.base as f64)
}

/// Returns the name of a quantity for a reader.
fn quantity_name(quantity: &str) -> &str {
    match quantity {
        INSTRUCTIONS => "instructions",
        READS => "memory reads",
        WRITES => "memory writes",
        FIRST_LEVEL => "first-level misses",
        LAST_LEVEL => "last-level misses",
        BRANCHES => "mispredicted branches",
        PAGE_FAULTS => "page faults",
        READ_BYTES => "bytes read",
        WRITTEN_BYTES => "bytes written",
        other => other,
    }
}

/// Returns a count for each operation.
fn an_operation(count: u64, operations: u64) -> String {
    short(count as f64 / operations.max(1) as f64)
}

/// Returns a number with three digits or more.
fn short(number: f64) -> String {
    let digits = match number {
        0.0 => 0,
        _ if number >= 99.95 => 0,
        _ if number >= 9.995 => 1,
        _ if number >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{number:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').into() }
}

/// The columns of a table of counts, with what each adds up.
const COLUMNS: [(&str, &[&str]); 9] = [
    ("instructions", &[INSTRUCTIONS]),
    ("accesses", &[READS, WRITES]),
    ("L1 misses", &[FIRST_LEVEL]),
    ("mispredicted", &[BRANCHES]),
    ("allocs", &[ALLOCATIONS]),
    ("calls", &[]),
    ("syncs", &[SYNCS]),
    ("written", &[WRITTEN_BYTES]),
    ("faults", &[PAGE_FAULTS]),
];

/// Returns the rows of a cell's table: phases with the figures of the columns.
fn rows(counted: &Counted) -> Vec<(String, Vec<String>)> {
    let row = |phase: &super::counts::Phase| {
        let operations = median(&phase.operations);
        let sum = |quantities: &[&str]| match quantities {
            [] => {
                let calls = phase.counts.iter().filter(|(name, _)| name.starts_with(CALL));
                calls.map(|(_, values)| median(values)).sum()
            }
            names => names.iter().map(|name| median(of(&phase.counts, name))).sum::<u64>(),
        };
        let figures = COLUMNS.iter().map(|(_, of)| an_operation(sum(of), operations));
        (phase.name.clone(), figures.collect())
    };
    counted.phases.iter().map(row).collect()
}

/// The percentages of an engine's instructions from which its own threads are worth a line: of a
/// table, and of a comparison, of which they take most away.
const WORTH_A_LINE: u64 = 1;
const MOST: u64 = 50;

/// Returns what a comparison cannot judge, if it is most of the work.
fn mostly_background(counts: &Counts, comparison: &Comparison) -> Option<String> {
    let counted = counts.cells.iter().find(|counted| title(&counted.cell) == comparison.title)?;
    background(counted, MOST)
}

/// Returns what the engine's own threads did, if that is at least this percentage of the
/// instructions.
fn background(counted: &Counted, least_percent: u64) -> Option<String> {
    let instructions = median(of(&counted.background, INSTRUCTIONS));
    let own = counted.phases.iter().map(|phase| median(of(&phase.counts, INSTRUCTIONS)));
    let own: u64 = own.sum();
    let calls = counted.background.iter().filter(|(name, _)| name.starts_with(CALL));
    let calls: u64 = calls.map(|(_, values)| median(values)).sum();
    let whole = own.saturating_add(instructions).max(1);
    let percent = instructions.saturating_mul(100) / whole;
    let words = format!(
        "its own threads, which are not judged: {percent} % of the instructions ({instructions}), \
         {calls} system calls"
    );
    (percent >= least_percent).then_some(words)
}

/// Returns the changes of a comparison that a reader is shown: those that were judged, and what
/// explains them.
fn changes(comparison: &Comparison) -> Vec<&Line> {
    let judged = |line: &&Line| !matches!(line.verdict, Verdict::Same | Verdict::Reported);
    let phases: Vec<_> =
        comparison.lines.iter().filter(judged).map(|line| line.phase.as_str()).collect();
    let explains = |line: &Line| {
        let is_much = line.new.abs_diff(line.base) * 100 > line.base;
        line.verdict == Verdict::Reported
            && is_much
            && line.base.max(line.new) > line.operations / 100
            && phases.contains(&line.phase.as_str())
    };
    let mut changes: Vec<_> =
        comparison.lines.iter().filter(|line| judged(line) || explains(line)).collect();
    changes.sort_by_key(|line| !line.verdict.is_failure());
    changes
}

/// Returns the sentence at the end of a comparison.
fn conclusion(comparisons: &[Comparison]) -> String {
    let count = |is: fn(Verdict) -> bool| {
        comparisons.iter().flat_map(|it| &it.lines).filter(|line| is(line.verdict)).count()
    };
    format!(
        "{} worse, {} with another number of syncs, {} better, {} the same; a change is beyond \
         twice the spread of the repetitions, and for instructions and bytes at least 0.1 %",
        count(|it| it == Verdict::More),
        count(|it| it == Verdict::OtherSyncs),
        count(|it| it == Verdict::Less),
        count(|it| it == Verdict::Same),
    )
}

//! A comparison as a table for the terminal.

use std::collections::HashMap;
use std::fmt::{self, Write};

use assay_core::estimate::TRIALS_LEAST;
use assay_core::ratio::POWER;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use super::{Comparison, Design, LEVEL, Line, Statistic};
use crate::blocks::Distinct;
use crate::table::grid::paragraph;

/// The share of change for which every view gives the number of trials that would find it.
pub(super) const SMALL: f64 = 0.05;

/// Draws the comparison as a table of at most `width` columns.
///
/// # Errors
/// Only if memory runs out.
pub fn render(comparison: &Comparison, width: usize) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let mut works = Distinct::default();
    let mut sections: HashMap<&str, Vec<&Line>> = HashMap::new();
    for line in &comparison.lines {
        works.add(line.work.as_str());
        sections.entry(line.work.as_str()).or_default().push(line);
    }
    for work in works.in_order {
        writeln!(out, "\n{work}\n")?;
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        table.set_header(HEADS);
        for line in &sections[work] {
            table.add_row(cells(comparison, line));
        }
        for column in table.column_iter_mut().skip(1).take(6) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 1));
        }
        if let Some(names) = table.column_mut(0) {
            names.set_constraint(ColumnConstraint::ContentWidth);
        }
        let drawn = table.to_string();
        let (head, rows) = drawn.split_once('\n').unwrap_or((&drawn, ""));
        writeln!(out, "{}", head.trim_end())?;
        let mut engine = "";
        // Only the first line of a folded row starts with a name.
        let mut lines = sections[work].iter();
        for row in rows.lines() {
            if !row.starts_with(FOLDED)
                && let Some(line) = lines.next()
                && line.engine != engine
            {
                engine = &line.engine;
                writeln!(out, "{engine}")?;
            }
            writeln!(out, "{}", row.trim_end())?;
        }
    }
    out.push('\n');
    let said = |what: &str, all: &[String]| {
        all.iter().map(|sentence| format!("{what}: {sentence}")).collect::<Vec<_>>()
    };
    let parts = [
        sentences(comparison),
        said("not the same", &comparison.differences),
        said("not compared", &comparison.not_compared),
        said("note", &comparison.notes),
    ];
    for sentence in parts.into_iter().flatten() {
        paragraph(&mut out, &[sentence], "", width);
    }
    Ok(out)
}

/// The names of the columns.
pub(super) const HEADS: [&str; 8] =
    ["", "base", "new", "ratio", "95 %", "finds", "for 5 %", "difference"];

/// The start of a row's further lines: its name has fewer spaces before it.
const FOLDED: &str = "   ";

/// Returns a line's cells, without its engine.
pub(super) fn cells(comparison: &Comparison, line: &Line) -> [String; 8] {
    let dash = || "–".to_string();
    let test = line.ratio.test;
    let level = comparison.level();
    [
        match line.statistic {
            Statistic::Median => format!(" {}", line.quantity),
            Statistic::FastestTenth => "  fastest tenth".into(),
        },
        line.quantity.words(line.base),
        line.quantity.words(line.new),
        format!("{:.3}", line.ratio.value),
        test.map_or_else(dash, |test| {
            format!("{:.3}–{:.3}", test.interval.low, test.interval.high)
        }),
        test.map_or_else(dash, |test| format!("{:.1} %", test.smallest_found(level) * 100.0)),
        test.and_then(|test| test.trials_to_find(SMALL, level))
            .map_or_else(dash, |trials| trials.to_string()),
        line.words().into(),
    ]
}

/// Returns the meaning of the figures, a sentence a line.
pub(super) fn sentences(comparison: &Comparison) -> Vec<String> {
    let design = match comparison.design {
        Design::Apart => "Welch's t for two runs",
        Design::InTurns => "the paired t for sides that took turns",
    };
    let Comparison { tests, lines, .. } = comparison;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let level = percent(LEVEL);
    let small = percent(SMALL);
    let power = percent(POWER);
    let ratio = match comparison.design {
        Design::Apart => "ratio: new to base, each the median over trials",
        Design::InTurns => {
            "ratio: the median of the trials' ratios of new to base, which need not be that of the \
             medians beside it"
        }
    };
    let mut all = vec![
        ratio.into(),
        format!("95 %: the interval of the ratio, by {design}, on logarithms"),
        format!("finds: the smallest change that these trials find in {power} of cases"),
        format!("for {small}: the trials of each side that find a change of {small} so often"),
        format!("difference: found at {level} for all {tests} tests together, after Holm"),
    ];
    if *tests < lines.len() {
        let least = TRIALS_LEAST;
        all.push(format!(
            "too few trials: a test needs {least} of each side (assay run … --trials {least})"
        ));
    }
    if comparison.design == Design::Apart {
        all.push(
            "measured apart, not in turns: drift of the machine is confounded with change".into(),
        );
    }
    all.extend(match (tests, comparison.trials_to_find(SMALL)) {
        (0, _) => None,
        (_, Some(trials)) => Some(format!("{trials} trials find {small} in every rate")),
        (_, None) => Some(format!("too many trials to name find {small} in every rate")),
    });
    all
}

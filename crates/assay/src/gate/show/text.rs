//! The gate's text.

use super::{
    COLUMNS, WORTH_A_LINE, background, change, changes, conclusion, mostly_background, rows, title,
};
use crate::gate::counts::{Counted, Counts};
use crate::gate::judge::{Comparison, Verdict};

/// Returns a table of counts, or the changes.
pub(super) fn text(counts: &Counts, comparisons: Option<&Vec<Comparison>>) -> String {
    let mut out = String::new();
    match comparisons {
        None => {
            for counted in &counts.cells {
                out += &table(counted);
            }
            out += &format!(
                "counts an operation, on the clock; instructions by {}, calls by a tracer\n",
                counts.made_with.instructions_by
            );
        }
        Some(comparisons) => {
            for comparison in comparisons {
                out += &compared(comparison);
                if let Some(words) = mostly_background(counts, comparison) {
                    out += &format!("  {words}\n");
                }
            }
            out += &format!("{}\n", conclusion(comparisons));
        }
    }
    out
}

fn table(counted: &Counted) -> String {
    let mut out = format!("{} ({})\n", title(&counted.cell), counted.engine_version);
    if let Some(why) = &counted.failed {
        return out + &format!("  failed: {why}\n\n");
    }
    let rows = rows(counted);
    let first = rows.iter().map(|(phase, _)| phase.chars().count()).max().unwrap_or(0);
    out += &format!("  {:first$}", "");
    for (head, _) in COLUMNS {
        out += &format!(" {:>width$}", head, width = width(head));
    }
    for (phase, figures) in rows {
        out += &format!("\n  {phase:first$}");
        for (figure, (head, _)) in figures.iter().zip(COLUMNS) {
            out += &format!(" {figure:>width$}", width = width(head));
        }
    }
    out.push('\n');
    if let Some(words) = background(counted, WORTH_A_LINE) {
        out += &format!("  {words}\n");
    }
    out + "\n"
}

fn width(head: &str) -> usize {
    head.len().max(7)
}

fn compared(comparison: &Comparison) -> String {
    let mut out = format!("{}\n", comparison.title);
    for why in &comparison.not_judged {
        out += &format!("  not judged: {why}\n");
    }
    let changes = changes(comparison);
    for line in &changes {
        let sign = match line.verdict {
            Verdict::More | Verdict::OtherSyncs => "!",
            Verdict::Less => "+",
            Verdict::Same | Verdict::Reported => " ",
        };
        out += &format!("{sign} {}: {}\n", line.phase, change(line));
    }
    if changes.is_empty() && comparison.not_judged.is_empty() {
        out += "  as before\n";
    }
    out
}

//! The gate's Markdown.

use program_support::printable;

use super::{
    COLUMNS, WORTH_A_LINE, background, change, changes, conclusion, mostly_background, rows, title,
};
use crate::gate::counts::Counts;
use crate::gate::judge::{Comparison, Verdict};

/// Returns tables of counts, or of changes.
pub(super) fn markdown(counts: &Counts, comparisons: Option<&Vec<Comparison>>) -> String {
    match comparisons {
        None => tables(counts),
        Some(comparisons) => compared(counts, comparisons),
    }
}

fn tables(counts: &Counts) -> String {
    let mut out = String::new();
    for counted in &counts.cells {
        out += &format!("### {}\n\n", plain(&title(&counted.cell)));
        if let Some(why) = &counted.failed {
            out += &format!("failed: {}\n\n", plain(why));
            continue;
        }
        let heads: Vec<_> = COLUMNS.iter().map(|(head, _)| *head).collect();
        out += &format!("| an operation of | {} |\n", heads.join(" | "));
        out += &format!("|---|{}\n", "---:|".repeat(heads.len()));
        for (phase, figures) in rows(counted) {
            out += &format!("| {} | {} |\n", plain(&phase), figures.join(" | "));
        }
        if let Some(words) = background(counted, WORTH_A_LINE) {
            out += &format!("\n{words}\n");
        }
        out.push('\n');
    }
    out
}

fn compared(counts: &Counts, comparisons: &[Comparison]) -> String {
    let mut out = String::from("### assay gate\n\n");
    for comparison in comparisons {
        let changes = changes(comparison);
        let background = mostly_background(counts, comparison);
        if changes.is_empty() && comparison.not_judged.is_empty() && background.is_none() {
            continue;
        }
        out += &format!("{}\n\n", plain(&comparison.title));
        for why in &comparison.not_judged {
            out += &format!("- **not judged**: {}\n", plain(why));
        }
        for line in changes {
            let verdict = match line.verdict {
                Verdict::More | Verdict::OtherSyncs => "**worse**: ",
                Verdict::Less => "better: ",
                Verdict::Same | Verdict::Reported => "",
            };
            out += &format!("- {verdict}{}: {}\n", plain(&line.phase), plain(&change(line)));
        }
        if let Some(words) = background {
            out += &format!("- {words}\n");
        }
        out.push('\n');
    }
    out + &conclusion(comparisons) + "\n"
}

/// Returns a text in which no character is markup.
fn plain(text: &str) -> String {
    let mut safe = String::new();
    for character in printable::line(text).chars() {
        if "\\`*_[]<>|#&!".contains(character) {
            safe.push('\\');
        }
        safe.push(character);
    }
    safe
}

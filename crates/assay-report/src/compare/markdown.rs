//! A comparison as Markdown: a table for each kind of work.

use super::text::{HEADS, cells, sentences};
use super::{Comparison, Statistic};
use crate::rows::plain_markdown;

/// Returns the comparison as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    let mut work = "";
    for line in &comparison.lines {
        if line.work != work || out.is_empty() {
            work = &line.work;
            out += &format!("\n### {}\n\n", plain_markdown(work));
            out += &format!("| engine | what | {} |\n", HEADS[1..].join(" | "));
            out += "|---|---|---:|---:|---:|---:|---:|---:|---|\n";
        }
        let [_, figures @ ..] = cells(comparison, line);
        let what = match line.statistic {
            Statistic::Median => line.quantity.to_string(),
            Statistic::FastestTenth => format!("{}, {}", line.quantity, line.statistic),
        };
        let engine = plain_markdown(&line.engine);
        let what = plain_markdown(&what);
        out += &format!("| {engine} | {what} | {} |\n", figures.join(" | "));
    }
    out += "\n";
    for sentence in sentences(comparison) {
        out += &format!("- {sentence}\n");
    }
    for difference in &comparison.differences {
        out += &format!("- not the same: {}\n", plain_markdown(difference));
    }
    for sentence in &comparison.not_compared {
        out += &format!("- not compared: {}\n", plain_markdown(sentence));
    }
    for note in &comparison.notes {
        out += &format!("- note: {}\n", plain_markdown(note));
    }
    out
}

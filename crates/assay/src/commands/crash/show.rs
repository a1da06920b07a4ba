//! The table of verdicts.

use assay_core::durability::Verdict;
use comfy_table::{CellAlignment, Table};
use program_support::exit::Outcome;
use program_support::output::print;

use crate::folded::folded;

/// Broken rounds that are listed for each engine and level; the file has all.
const LISTED: usize = 3;

pub(super) fn table(verdicts: &[Verdict]) -> Outcome {
    if verdicts.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.set_header([
        "engine",
        "version",
        "durability",
        "crash",
        "rounds",
        "commits",
        "lost",
        "torn",
        "refused",
        "unusable",
        "promise",
    ]);
    for verdict in verdicts {
        let lost = match verdict.lost_rounds {
            0 => "0".into(),
            rounds => {
                let age = verdict.lost_age_most_ms.map(|age| format!(", {age} ms"));
                let (most, age) = (verdict.lost_commits_most, age.unwrap_or_default());
                format!("{rounds} (at most {most}{age})")
            }
        };
        let options: Vec<_> = verdict
            .engine_options
            .iter()
            .map(|(name, value)| format!("\n{name}={value}"))
            .collect();
        table.add_row([
            verdict.engine.clone() + &options.concat(),
            verdict.engine_version.clone(),
            verdict.durability.to_string(),
            verdict.crash.to_string(),
            verdict.rounds.to_string(),
            verdict.acknowledged.to_string(),
            lost,
            verdict.torn_rounds.to_string(),
            verdict.refused_rounds.to_string(),
            verdict.unusable_rounds.to_string(),
            verdict.summary(),
        ]);
    }
    for column in table.column_iter_mut().skip(4).take(6) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = folded(table);
    text += "\n rounds that lost acknowledged commits (at most how many, and how long after the\n \
             oldest of them the crash came), that left no moment of the history, after\n which the \
             store could not be opened, or could not go on\n";
    for verdict in verdicts.iter().filter(|verdict| verdict.is_refuted()) {
        let Verdict { engine, durability, crash, failures, .. } = verdict;
        text += &format!("\n {engine} at {durability}, {crash}:\n");
        for failure in failures.iter().take(LISTED) {
            text += &format!("  {failure}\n    {}\n", failure.command);
        }
        if failures.len() > LISTED {
            text += &format!("  and {} more\n", failures.len() - LISTED);
        }
    }
    print(&text)
}

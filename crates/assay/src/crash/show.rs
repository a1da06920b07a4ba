//! The table of verdicts.

use assay_core::durability::Verdict;
use comfy_table::{CellAlignment, Table};
use program_support::exit::Outcome;
use program_support::output::print;

use crate::output::folded::folded;

/// Broken rounds that are listed for each engine and level; the file has all.
const LISTED: usize = 3;

pub(super) fn table(verdicts: &[Verdict]) -> Outcome {
    if verdicts.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.set_header([
        "engine",
        "durability",
        "crash",
        "rounds",
        "commits",
        "lost",
        "torn",
        "refused",
        "unusable",
    ]);
    for verdict in verdicts {
        let options: Vec<_> = verdict
            .engine_options
            .iter()
            .map(|(name, value)| format!("\n{name}={value}"))
            .collect();
        table.add_row([
            verdict.engine.clone() + &options.concat(),
            verdict.durability.to_string(),
            format!(
                "{}{}",
                verdict.crash,
                verdict.beyond().replace(" with ", "\n").replace(" and ", "\n")
            ),
            verdict.rounds.to_string(),
            verdict.acknowledged.to_string(),
            verdict.lost_rounds.to_string(),
            verdict.torn_rounds.to_string(),
            verdict.refused_rounds.to_string(),
            verdict.unusable_rounds.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = folded(table);
    text += "\n rounds that lost acknowledged commits, that left no moment of the history,\n \
             after which the store could not be opened, or could not go on\n\n";
    for verdict in verdicts {
        let Verdict { engine, engine_version, durability, crash, failures, .. } = verdict;
        let promise = format!("{}{}", verdict.summary(), lost(verdict));
        let beyond = verdict.beyond();
        let promise = match verdict.crashes {
            1 => promise,
            _ => format!("{promise}; {} openings were cut off", verdict.cut_openings),
        };
        text +=
            &format!(" {engine} {engine_version} at {durability}, {crash}{beyond}: {promise}\n");
        for failure in failures.iter().take(LISTED) {
            text += &format!("  {failure}\n    {}\n", failure.command);
        }
        if failures.len() > LISTED {
            text += &format!("  and {} more\n", failures.len() - LISTED);
        }
    }
    print(&text)
}

/// Returns how many commits a round lost at most, and how long after the oldest of them it ended.
fn lost(verdict: &Verdict) -> String {
    if verdict.lost_rounds == 0 {
        return String::new();
    }
    let most = verdict.lost_commits_most;
    match verdict.lost_age_most_ms {
        Some(age_ms) => format!(" (at most {most} commits lost, the oldest {age_ms} ms old)"),
        None => format!(" (at most {most} commits lost)"),
    }
}

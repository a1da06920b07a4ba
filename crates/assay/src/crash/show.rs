//! The table of verdicts.

use std::collections::BTreeMap;

use assay_core::durability::{Found, Verdict};
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
    let mut text = if verdicts.iter().all(|verdict| verdict.faults.is_some()) {
        of_faults(verdicts)
    } else {
        of_crashes(verdicts)
    };
    for verdict in verdicts {
        let Verdict { engine, engine_version, durability, crash, failures, .. } = verdict;
        let promise = verdict.summary() + &lost(verdict) + met(verdict) + &broken_by(verdict);
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

/// Returns an engine with its settings that differ from their defaults.
fn named(verdict: &Verdict) -> String {
    let options = verdict.engine_options.iter();
    let options = options.map(|(name, value)| format!("\n{name}={value}"));
    verdict.engine.clone() + &options.collect::<String>()
}

fn folded_from(mut table: Table, first_number: usize) -> String {
    for column in table.column_iter_mut().skip(first_number) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    folded(table)
}

/// Returns the table of tests whose disks failed.
fn of_faults(verdicts: &[Verdict]) -> String {
    let mut table = Table::new();
    table.set_header([
        "engine",
        "level",
        "fault",
        "then",
        "rounds",
        "met",
        "refused\ncommits",
        "ended",
        "broken",
    ]);
    for verdict in verdicts {
        let Some(tally) = verdict.faults else { continue };
        let lasts = tally.lasts.map(|lasts| format!("\n{lasts}")).unwrap_or_default();
        table.add_row([
            named(verdict),
            verdict.durability.to_string(),
            format!("{}{lasts}", tally.fault),
            verdict.crash.to_string(),
            verdict.rounds.to_string(),
            tally.met_rounds.to_string(),
            tally.refused_commits.to_string(),
            tally.ended_rounds.to_string(),
            verdict.failures.len().to_string(),
        ]);
    }
    let mut text = folded_from(table, 4);
    text += "\n met: rounds in which an operation met the fault; ended: rounds in which the \
             writer's\n process ended itself, which breaks no promise\n\n";
    text
}

/// Returns the table of tests whose disks did not fail.
fn of_crashes(verdicts: &[Verdict]) -> String {
    let mut table = Table::new();
    table.set_header([
        "engine", "level", "crash", "rounds", "commits", "lost", "torn", "refused", "unusable",
    ]);
    for verdict in verdicts {
        table.add_row([
            named(verdict),
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
    let mut text = folded_from(table, 3);
    text += "\n rounds that lost acknowledged commits, that left no moment of the history,\n \
             after which the store could not be opened, or could not go on\n\n";
    text
}

/// Returns that no operation met the fault, if none did.
fn met(verdict: &Verdict) -> &'static str {
    match verdict.faults {
        Some(tally) if tally.met_rounds == 0 => "; no operation met the fault",
        _ => "",
    }
}

/// Returns how many rounds on a disk that failed broke the promise by what.
fn broken_by(verdict: &Verdict) -> String {
    let word = |found: &Found| match found {
        Found::Everything | Found::Lost { .. } => "lost",
        Found::Torn(_) => "torn",
        Found::Refused(_) | Found::Died(_) => "refused",
        Found::Unusable(_) => "unusable",
        Found::Returned(_) => "refused but there",
        Found::Wrong(_) => "wrong",
        Found::Hung(_) => "hung",
    };
    let mut counts = BTreeMap::new();
    for failure in verdict.failures.iter().filter(|_| verdict.faults.is_some()) {
        *counts.entry(word(&failure.found)).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
    if counts.is_empty() { String::new() } else { format!("; broken by: {}", counts.join(", ")) }
}

/// Returns how many commits a round lost at most, and how long after the oldest of them it ended.
fn lost(verdict: &Verdict) -> String {
    if verdict.lost_rounds == 0 {
        return String::new();
    }
    let most = match verdict.lost_commits_most {
        1 => "1 commit".to_string(),
        most => format!("{most} commits"),
    };
    match verdict.lost_age_most_ms {
        Some(age_ms) => format!(" (at most {most} lost, the oldest {age_ms} ms old)"),
        None => format!(" (at most {most} lost)"),
    }
}

//! The page of isolation: the anomalies that engines' transactions showed, with an example of each,
//! next to what the engines' documentation promises.

use std::collections::BTreeSet;

use assay_core::isolation::{Seen, Shown, Verdict, Verdicts, short_names};

use super::frame::{self, Cell, table};
use super::{ISOLATION, SitePage};
use crate::format::rows;
use crate::html::Link;
use crate::markup::{self, name, text};

/// The title of the page.
pub(super) const TITLE: &str = "Which isolation engines keep";

/// Returns the page of some verdicts, which are in `file`.
pub(super) fn page(verdicts: &Verdicts, file: &str, links: &[Link]) -> SitePage {
    let all = sorted(verdicts);
    let body = format!(
        "<header><h1>{TITLE}</h1>{}</header>\n<main>\n\
         <section><h2>Engine by anomaly</h2>\n{}{NOTE}</section>\n\
         <section><h2>What was seen</h2>\n{}</section>\n\
         <section><h2>All transactions</h2>\n{}</section>\n</main>\n",
        facts(&all, file),
        matrix(&all),
        examples(&all),
        figures(&all)
    );
    SitePage { file: ISOLATION.into(), text: frame::page(TITLE, links, &body) }
}

fn sorted(verdicts: &Verdicts) -> Vec<&Verdict> {
    let mut all: Vec<_> = verdicts.verdicts.iter().collect();
    all.sort_by_key(|verdict| (title(verdict), verdict.storage, verdict.durability));
    all
}

fn facts(all: &[&Verdict], file: &str) -> String {
    let drawn = all.iter().fold(0_u64, |sum, verdict| sum.saturating_add(verdict.transactions));
    let days: BTreeSet<_> =
        all.iter().map(|verdict| verdict.tested.strftime("%Y-%m-%d").to_string()).collect();
    format!(
        "<p class=\"facts\">{} transactions · {} · <a href=\"{}\">the verdicts as JSON</a></p>",
        rows(drawn),
        Vec::from_iter(days).join(", "),
        text(file)
    )
}

const NOTE: &str = "\
<p class=\"note\">No: not seen, which is no proof. Seen: it has happened, and the engine's \
documentation allows it. AGAINST: its documentation, or every level, excludes it. –: the engine \
has no ranges that could show it. Promised is the level that the documentation names for \
transactions as the driver uses them; with one writer at a time, these are often stronger than \
others that the engine offers. The names are those of Adya and Elle.</p>\n";

/// Returns an engine's name with its version.
fn title(verdict: &Verdict) -> String {
    format!("{} {}", verdict.engine, verdict.isolation.engine_version)
}

/// Returns the heading of a row.
fn heading(verdict: &Verdict) -> Cell {
    let Verdict { engine, storage, durability, isolation, .. } = verdict;
    let version = text(&isolation.engine_version);
    let small = format!("{version} · {storage} at {durability}");
    Cell::plain(format!("{}<small>{small}</small>", name(engine)))
}

/// Returns a table with a row for each engine, and a column for each anomaly.
fn matrix(all: &[&Verdict]) -> String {
    let words = ["engine", "promised", "kept"].map(Cell::words);
    let anomalies = short_names().map(Cell::plain);
    let heads: Vec<_> = words.into_iter().chain(anomalies).collect();
    let row = |(at, verdict): (usize, &&Verdict)| {
        let promised = match (&verdict.promised, &verdict.source) {
            (Some(level), Some(source)) => {
                format!("{}<small>{}</small>", text(level), text(source))
            }
            (Some(level), None) => text(level),
            (None, _) => "nothing".into(),
        };
        let mut row = vec![
            heading(verdict),
            Cell::words(promised),
            Cell::words(text(&verdict.isolation.kept)),
        ];
        row.extend(short_names().map(|anomaly| cell(at, verdict, anomaly)));
        row
    };
    let rows: Vec<_> = all.iter().enumerate().map(row).collect();
    table("Engine by anomaly", &heads, &rows)
}

fn cell(at: usize, verdict: &Verdict, anomaly: &str) -> Cell {
    let shown = verdict.isolation.outcome(anomaly);
    let mark = shown.mark();
    let link = |seen: &Seen| format!("<a href=\"#{}\">{mark}</a>", anchor(at, verdict, seen));
    match shown {
        Shown::No => Cell { class: "held", html: mark.into() },
        Shown::Seen(seen) => Cell { class: "open", html: link(seen) },
        Shown::Against(seen) => Cell { class: "broken", html: link(seen) },
        Shown::NotLookedFor => Cell { class: "none", html: mark.into() },
    }
}

/// Returns the anchor of an example of the engine in row `at`.
fn anchor(at: usize, verdict: &Verdict, seen: &Seen) -> String {
    let number = verdict.isolation.seen.iter().position(|other| std::ptr::eq(other, seen));
    format!("seen-{at}-{}", number.unwrap_or_default())
}

fn examples(all: &[&Verdict]) -> String {
    let mut out = String::new();
    for (at, verdict) in all.iter().enumerate() {
        for seen in &verdict.isolation.seen {
            out += &example(at, verdict, seen);
        }
    }
    if out.is_empty() { "<p>No anomaly.</p>\n".into() } else { out }
}

fn example(at: usize, verdict: &Verdict, seen: &Seen) -> String {
    let Verdict { engine, storage, durability, threads, transactions, seed, .. } = verdict;
    let against = seen.is_against_promise.then(|| format!(", {}", verdict.excluded_by()));
    let against = against.unwrap_or_default();
    let by = match &seen.case {
        Some(case) => format!("The case: {}.", text(case)),
        None => "Drawn transactions.".into(),
    };
    let command = format!(
        "assay isolate -e {engine} -s {storage} --durability {durability} --threads {threads} \
         --transactions {transactions} --seed {seed} --long"
    );
    format!(
        "<h3 id=\"{}\">{} on {storage}: {}{against}</h3>\n<p>{by}</p>\n\
         <pre tabindex=\"0\">{}</pre>\n{}\n",
        anchor(at, verdict, seen),
        name(&title(verdict)),
        text(&seen.anomaly),
        seen.example.iter().map(|line| text(line)).collect::<Vec<_>>().join("\n"),
        markup::command(&command)
    )
}

fn figures(all: &[&Verdict]) -> String {
    let numbers = ["threads", "drawn", "committed", "rolled back", "seed", "cases", "refused"];
    let heads: Vec<_> =
        std::iter::once(Cell::words("engine")).chain(numbers.map(Cell::plain)).collect();
    let row = |verdict: &&Verdict| {
        let Verdict { threads, transactions, seed, isolation, .. } = verdict;
        let numbers = [
            u64::from(*threads),
            *transactions,
            isolation.committed,
            isolation.aborted,
            *seed,
            isolation.cases,
            isolation.cases_refused,
        ];
        let numbers = numbers.map(|number| Cell::plain(number.to_string()));
        std::iter::once(heading(verdict)).chain(numbers).collect::<Vec<_>>()
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    table("All transactions", &heads, &rows)
        + "<p class=\"note\">Rolled back: by the plan, or refused by the engine. Cases run in a \
           fixed order; of those refused, the engine refused a transaction.</p>\n"
}

//! The output of `assay isolate`: a matrix of engines and anomalies, with examples.

use std::fmt::Write;

use assay_core::isolation::{Seen, Verdict, Verdicts, short_names};
use assay_driver::Storage;
use assay_suites::isolate::promise;
use comfy_table::Table;
use serde_json::{Value, json};

use super::folded::folded;
use crate::cli::IsolateFormat;

/// The finding for an engine in a storage mode.
pub(crate) enum Looked {
    /// The isolation that was seen.
    At(Verdict),
    /// Nothing, with the reason.
    Not { engine: String, storage: Storage, why: String },
}

impl Looked {
    /// Returns the verdict, if there is one.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::At(verdict) => Some(verdict),
            Self::Not { .. } => None,
        }
    }

    fn engine(&self) -> (&str, Storage) {
        match self {
            Self::At(Verdict { engine, storage, .. }) | Self::Not { engine, storage, .. } => {
                (engine, *storage)
            }
        }
    }

    fn promised(&self) -> String {
        let promised = match self {
            Self::At(verdict) => verdict.promised.clone(),
            Self::Not { engine, .. } => promise(engine).map(|promise| promise.level.to_string()),
        };
        promised.unwrap_or_else(|| "nothing".into())
    }

    fn kept(&self) -> String {
        match self {
            Self::At(verdict) => verdict.isolation.kept.clone(),
            Self::Not { why, .. } => format!("not looked at: {why}"),
        }
    }
}

/// The drawn transactions of all engines.
#[derive(Clone, Copy)]
pub(crate) struct Transactions {
    pub threads: u32,
    pub drawn: u64,
    pub seed: u64,
}

/// Returns all that was seen in a format; with `long`, an example of each anomaly.
pub(crate) fn shown(
    looked: &[Looked],
    transactions: Transactions,
    format: IsolateFormat,
    long: bool,
) -> String {
    match format {
        IsolateFormat::Text => text(looked, transactions, long),
        IsolateFormat::Json => format!("{:#}\n", value(looked)),
        IsolateFormat::Markdown => markdown(looked, transactions, long),
    }
}

/// The most engines that a matrix of text shows side by side.
const BESIDE_MOST: usize = 7;

fn text(looked: &[Looked], transactions: Transactions, long: bool) -> String {
    let mut table = Table::new();
    table.set_header(["engine", "storage", "promised", "kept"]);
    for looked in looked {
        let (engine, storage) = looked.engine();
        table.add_row([engine.into(), storage.to_string(), looked.promised(), looked.kept()]);
    }
    let mut out = folded(table);
    let seen: Vec<_> = looked.iter().filter_map(Looked::verdict).collect();
    for beside in seen.chunks(BESIDE_MOST) {
        out += &format!("\n{}", matrix(beside));
    }
    for (title, lines) in examples(looked, long) {
        let _ = write!(out, "\n{title}\n");
        lines.iter().for_each(|line| {
            let _ = writeln!(out, "  {line}");
        });
    }
    out + "\n" + &legend(transactions)
}

/// Returns a table with a row for each anomaly and a column for each engine.
fn matrix(engines: &[&Verdict]) -> String {
    let mut table = Table::new();
    let heads = engines.iter().map(|verdict| verdict.engine.clone());
    table.set_header(std::iter::once(String::new()).chain(heads));
    for name in short_names() {
        let marks = engines.iter().map(|verdict| verdict.isolation.outcome(name).mark());
        table.add_row(std::iter::once(name).chain(marks));
    }
    folded(table)
}

fn markdown(looked: &[Looked], transactions: Transactions, long: bool) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heads = ["engine", "storage", "promised", "kept"].into_iter();
    let head: Vec<_> = heads.chain(short_names()).map(String::from).collect();
    let mut out = line(&head) + &line(&vec!["---".into(); head.len()]);
    for looked in looked {
        let (engine, storage) = looked.engine();
        let mut row =
            vec![engine.to_string(), storage.to_string(), looked.promised(), looked.kept()];
        if let Some(Verdict { isolation, .. }) = looked.verdict() {
            row.extend(short_names().map(|name| isolation.outcome(name).mark().to_string()));
        }
        row.resize(head.len(), String::new());
        out += &line(&row);
    }
    for (title, lines) in examples(looked, long) {
        let _ = write!(out, "\n{title}\n\n```\n{}\n```\n", lines.join("\n"));
    }
    out + "\n" + &legend(transactions)
}

/// Returns a title and the lines of each anomaly that a reader is shown.
fn examples(looked: &[Looked], long: bool) -> Vec<(String, &[String])> {
    let mut all = Vec::new();
    for verdict in looked.iter().filter_map(Looked::verdict) {
        let Verdict { engine, storage, promised, source, isolation, .. } = verdict;
        let is_shown = |seen: &&Seen| long || seen.is_against_promise;
        for seen in isolation.seen.iter().filter(is_shown) {
            let by = match &seen.case {
                Some(case) => format!("case: {case}"),
                None => "drawn transactions".into(),
            };
            let against = match (seen.is_against_promise, promised, source) {
                (true, Some(level), Some(source)) => {
                    format!(", AGAINST its documentation: {level} ({source})")
                }
                (true, ..) => ", which no level allows".into(),
                (false, ..) => String::new(),
            };
            let version = &isolation.engine_version;
            all.push((
                format!("{engine} {version} on {storage}: {by}{against}"),
                seen.example.as_slice(),
            ));
        }
    }
    all
}

fn legend(transactions: Transactions) -> String {
    let Transactions { threads, drawn, seed } = transactions;
    format!(
        "{drawn} drawn transactions by {threads} threads (seed {seed}), and cases in a fixed \
         order.\nno: not seen, which is no proof. seen: has happened, and the documentation allows \
         it. AGAINST: its documentation, or every level, excludes it. –: not looked for.\n"
    )
}

/// Returns the file of these verdicts alone, with the engines that were not looked at.
fn value(looked: &[Looked]) -> Value {
    let mut verdicts = Verdicts::default();
    looked.iter().filter_map(Looked::verdict).for_each(|verdict| {
        verdicts.add(verdict.clone());
    });
    let mut value = json!(verdicts);
    let not = looked.iter().filter_map(|looked| match looked {
        Looked::At(_) => None,
        Looked::Not { engine, storage, why } => {
            Some(json!({ "engine": engine, "storage": storage, "why": why }))
        }
    });
    value["not_looked_at"] = not.collect();
    value
}

#[cfg(test)]
mod tests {
    use assay_core::isolation::Isolated;
    use assay_driver::Durability;
    use jiff::Timestamp;

    use super::*;

    fn looked(engine: &str, seen: &[(&str, bool)]) -> Looked {
        let seen = seen.iter().map(|(anomaly, is_against_promise)| Seen {
            anomaly: (*anomaly).into(),
            case: Some("a case".into()),
            example: vec![format!("{anomaly} in few operations"), "T0: read 1".into()],
            is_against_promise: *is_against_promise,
        });
        let isolation = Isolated {
            engine_version: "1".into(),
            has_ranges: engine != "persy",
            committed: 3,
            aborted: 1,
            cases: 12,
            cases_waited: 2,
            cases_refused: 0,
            kept: "read committed".into(),
            seen: seen.collect(),
        };
        let promise = promise(engine);
        Looked::At(Verdict {
            engine: engine.into(),
            storage: Storage::Ramdisk,
            durability: Durability::Process,
            promised: promise.map(|promise| promise.level.to_string()),
            source: promise.map(|promise| promise.source.into()),
            threads: 8,
            transactions: 4,
            seed: 1,
            isolation,
            tested: Timestamp::UNIX_EPOCH,
        })
    }

    fn shown_as(format: IsolateFormat, long: bool) -> String {
        let all = [
            looked("sqlite", &[("G2-item", true)]),
            looked("persy", &[("lost update", false)]),
            Looked::Not {
                engine: "crossdb".into(),
                storage: Storage::Memory,
                why: "it has one connection".into(),
            },
        ];
        shown(&all, Transactions { threads: 8, drawn: 4, seed: 1 }, format, long)
    }

    #[test]
    fn the_matrix_tells_allowed_anomalies_from_those_against_the_documentation() {
        let text = shown_as(IsolateFormat::Text, false);
        let words = |start: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(start));
            let line = line.unwrap_or_else(|| panic!("{start}: {text}"));
            line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(words("G2-item"), ["G2-item", "AGAINST", "no"]);
        assert_eq!(words("lost update"), ["lost update", "no", "seen"]);
        assert_eq!(words("G2 "), ["G2", "no", "–"], "an engine without ranges shows no phantom");
        assert!(text.contains("not looked at: it has one connection"), "{text}");
        assert!(text.contains("G2-item in few operations"), "{text}");
        assert!(text.contains("AGAINST its documentation: serializable (sqlite.org"), "{text}");
        assert!(!text.contains("lost update in few operations"), "{text}");
        assert!(shown_as(IsolateFormat::Text, true).contains("lost update in few operations"));
    }

    #[test]
    fn json_and_markdown_say_what_the_text_says() {
        let json: Value =
            serde_json::from_str(&shown_as(IsolateFormat::Json, false)).expect("JSON");
        let seen = &json["verdicts"][0]["isolation"]["seen"][0];
        assert_eq!(
            (&seen["anomaly"], &seen["is_against_promise"]),
            (&"G2-item".into(), &true.into())
        );
        assert_eq!(json["not_looked_at"][0]["why"], "it has one connection");
        let markdown = shown_as(IsolateFormat::Markdown, false);
        let columns: Vec<_> =
            markdown.lines().take(5).map(|line| line.matches('|').count()).collect();
        assert_eq!(columns, [16; 5], "{markdown}");
        assert!(markdown.contains("| AGAINST |") && markdown.contains("| seen |"), "{markdown}");
    }
}

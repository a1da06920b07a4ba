//! What `assay isolate` prints: a matrix of engines and anomalies, with examples.

use std::fmt::Write;

use assay_driver::Storage;
use assay_suites::isolate::{ANOMALIES, BROKEN, Isolated, Seen, promise};
use comfy_table::Table;
use serde_json::{Value, json};

use super::folded::folded;
use crate::cli::IsolateFormat;

/// An engine that was looked at.
pub(crate) struct Looked {
    pub engine: String,
    pub storage: Storage,
    /// The isolation that was seen, or why none was.
    pub result: Result<Isolated, String>,
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
        IsolateFormat::Json => format!("{:#}\n", value(looked, transactions)),
        IsolateFormat::Markdown => markdown(looked, transactions, long),
    }
}

/// The mark of an anomaly in a matrix.
fn mark(isolated: &Isolated, anomaly: &str) -> &'static str {
    let seen = isolated.seen.iter().find(|seen| seen.anomaly == anomaly);
    match seen {
        Some(seen) if seen.is_against_promise => "AGAINST",
        Some(_) => "seen",
        // Without ranges there is no phantom to be seen.
        None if anomaly == "G2" && !isolated.has_ranges => "–",
        None => "no",
    }
}

fn promised(engine: &str) -> String {
    promise(engine).map_or_else(|| "nothing".into(), |promise| promise.level.to_string())
}

/// The engines beside each other in a matrix of text.
const BESIDE_MOST: usize = 7;

fn text(looked: &[Looked], transactions: Transactions, long: bool) -> String {
    let mut table = Table::new();
    table.set_header(["engine", "storage", "promised", "kept"]);
    for looked in looked {
        let kept = match &looked.result {
            Ok(isolated) => isolated.kept.clone(),
            Err(why) => format!("not looked at: {why}"),
        };
        let storage = looked.storage.to_string();
        table.add_row([looked.engine.clone(), storage, promised(&looked.engine), kept]);
    }
    let mut out = folded(table);
    let seen: Vec<_> =
        looked.iter().filter_map(|looked| Some((looked, looked.result.as_ref().ok()?))).collect();
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
fn matrix(engines: &[(&Looked, &Isolated)]) -> String {
    let mut table = Table::new();
    let heads = engines.iter().map(|(looked, _)| looked.engine.clone());
    table.set_header(std::iter::once(String::new()).chain(heads));
    for (_, name) in ANOMALIES {
        let marks = engines.iter().map(|(_, isolated)| mark(isolated, name));
        table.add_row(std::iter::once(name).chain(marks));
    }
    folded(table)
}

fn markdown(looked: &[Looked], transactions: Transactions, long: bool) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let anomalies = ANOMALIES.map(|(_, name)| name.to_string());
    let heads = ["engine", "storage", "promised", "kept"].map(String::from);
    let head = [heads.as_slice(), &anomalies].concat();
    let mut out = line(&head) + &line(&vec!["---".into(); head.len()]);
    for looked in looked {
        let mut row =
            vec![looked.engine.clone(), looked.storage.to_string(), promised(&looked.engine)];
        match &looked.result {
            Ok(isolated) => {
                row.push(isolated.kept.clone());
                row.extend(anomalies.iter().map(|name| mark(isolated, name).to_string()));
            }
            Err(why) => row.push(format!("not looked at: {why}")),
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
    for looked in looked {
        let Ok(isolated) = &looked.result else { continue };
        let is_shown = |seen: &&Seen| long || seen.is_against_promise;
        for seen in isolated.seen.iter().filter(is_shown) {
            let by = match &seen.case {
                Some(case) => format!("case: {case}"),
                None => "drawn transactions".into(),
            };
            let against = match (seen.is_against_promise, promise(&looked.engine)) {
                (true, Some(promise)) => {
                    format!(", AGAINST its documentation: {} ({})", promise.level, promise.source)
                }
                (true, None) => ", which no level allows".into(),
                (false, _) => String::new(),
            };
            let Looked { engine, storage, .. } = looked;
            all.push((
                format!("{engine} {} on {storage}: {by}{against}", isolated.engine_version),
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
         it. AGAINST: its documentation excludes it. –: not looked for.\n"
    )
}

fn value(looked: &[Looked], transactions: Transactions) -> Value {
    let engine = |looked: &Looked| {
        let promise = promise(&looked.engine);
        json!({
            "engine": looked.engine,
            "storage": looked.storage,
            "promised": promise.map(|promise| promise.level.to_string()),
            "source": promise.map(|promise| promise.source),
            "isolation": looked.result.as_ref().ok(),
            "not_looked_at": looked.result.as_ref().err(),
        })
    };
    let anomalies = ANOMALIES.into_iter().map(|(_, name)| name).chain([BROKEN]);
    json!({
        "format": "assay-isolation",
        "schema_version": 1,
        "threads": transactions.threads,
        "transactions": transactions.drawn,
        "seed": transactions.seed,
        "anomalies": anomalies.collect::<Vec<_>>(),
        "engines": looked.iter().map(engine).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use assay_suites::isolate::Seen;

    use super::*;

    fn looked(engine: &str, seen: &[(&str, bool)]) -> Looked {
        let seen = seen.iter().map(|(anomaly, is_against_promise)| Seen {
            anomaly: (*anomaly).into(),
            case: Some("a case".into()),
            example: vec![format!("{anomaly} in few operations"), "T0: read 1".into()],
            is_against_promise: *is_against_promise,
        });
        let isolated = Isolated {
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
        Looked { engine: engine.into(), storage: Storage::Ramdisk, result: Ok(isolated) }
    }

    fn shown_as(format: IsolateFormat, long: bool) -> String {
        let why = || Err("it has one connection".to_string());
        let all = [
            looked("sqlite", &[("G2-item", true)]),
            looked("persy", &[("lost update", false)]),
            Looked { engine: "crossdb".into(), storage: Storage::Memory, result: why() },
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
        let seen = &json["engines"][0]["isolation"]["seen"][0];
        assert_eq!(
            (&seen["anomaly"], &seen["is_against_promise"]),
            (&"G2-item".into(), &true.into())
        );
        assert_eq!(json["engines"][2]["not_looked_at"], "it has one connection");
        let markdown = shown_as(IsolateFormat::Markdown, false);
        let columns: Vec<_> =
            markdown.lines().take(5).map(|line| line.matches('|').count()).collect();
        assert_eq!(columns, [15; 5], "{markdown}");
        assert!(markdown.contains("| AGAINST |") && markdown.contains("| seen |"), "{markdown}");
    }
}

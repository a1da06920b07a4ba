//! The page of isolation.

use assay_core::run_file::{RunFile, Status};
use assay_core::{durability, isolation};
use assay_report::site::{self, SitePage, SiteRun, Tests};
use serde_json::{Value, json};

use super::{cell, phase, result, run};

fn seen(anomaly: &str, is_against_promise: bool) -> Value {
    json!({ "anomaly": anomaly, "case": "a case", "example": ["T0: read <b>", "T1: write 2"],
        "is_against_promise": is_against_promise })
}

fn verdict(engine: &str, promised: Option<&str>, seen: &[Value]) -> isolation::Verdict {
    let verdict = json!({
        "engine": engine, "storage": "ramdisk", "durability": "process", "promised": promised,
        "source": "a page", "threads": 8, "transactions": 4_000, "seed": 7,
        "isolation": { "engine_version": "1", "has_ranges": false, "committed": 3_900,
            "aborted": 100, "cases": 12, "cases_waited": 3, "cases_refused": 2,
            "kept": "read committed", "seen": seen },
        "tested": "2026-11-29T00:00:00Z",
    });
    serde_json::from_value(verdict).expect("a verdict")
}

/// Returns the index and the page of isolation, if there is one.
fn pages(verdicts: &[isolation::Verdict]) -> (String, Option<String>) {
    let mut all = isolation::Verdicts::default();
    verdicts.iter().for_each(|verdict| {
        all.add(verdict.clone());
    });
    let cells = vec![result(cell("lmdb", 1), Status::Measured, vec![phase("insert", 1, &[1_000])])];
    let run = RunFile { cells, planned_cells: 1, ..run() };
    let runs = [SiteRun { run, charts: Vec::new(), file: "runs/a.json".into() }];
    let tests = Tests {
        crashes: &durability::Verdicts::default(),
        crashes_file: "runs/durability.json",
        isolation: &all,
        isolation_file: "runs/isolation.json",
    };
    let pages = site::pages(&runs, tests, &|_| None).expect("pages");
    let text = |file: &str| {
        pages.iter().find(|page: &&SitePage| page.file == file).map(|page| page.text.clone())
    };
    (text("index.html").expect("an index"), text("isolation.html"))
}

#[test]
fn each_anomaly_links_to_its_example_and_the_command() {
    let refuted = [seen("G2-item", true), seen("real time", false)];
    let verdicts = [
        verdict("redb", Some("serializable"), &refuted),
        verdict("persy", None, &[seen("lost update", false)]),
    ];
    let (index, page) = pages(&verdicts);
    let page = page.expect("a page");
    for words in [
        "<td class=\"broken\"><a href=\"#seen-1-0\">AGAINST</a></td>",
        "<td class=\"open\"><a href=\"#seen-1-1\">seen</a></td>",
        "<td class=\"open\"><a href=\"#seen-0-0\">seen</a></td>",
        "<td class=\"held\">no</td>",
        "<td class=\"none\">–</td>",
        "<h3 id=\"seen-1-0\">",
        ": G2-item, against its documentation</h3>",
        "T0: read &lt;b&gt;\nT1: write 2",
        "assay isolate -e redb -s ramdisk --durability process --threads 8 --transactions 4000 \
         --seed 7 --long",
        "serializable<small>a page</small>",
        "href=\"runs/isolation.json\"",
        "8k transactions · 2026-11-29",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(
        index.contains(
            "every level, excludes were seen of <bdi>redb</bdi>. <a href=\"isolation.html\">"
        ),
        "{index}"
    );
}

#[test]
fn what_no_level_allows_is_shown_where_nothing_is_promised() {
    let (index, page) = pages(&[verdict("odd; rm", None, &[seen("broken", true)])]);
    let page = page.expect("a page");
    assert!(page.contains("<td class=\"broken\"><a href=\"#seen-0-0\">AGAINST</a></td>"), "{page}");
    assert!(page.contains(": broken, which no level allows</h3>"), "{page}");
    assert!(page.contains("Its command is left out") && !page.contains("isolate -e odd; rm"));
    assert!(index.contains("every level, excludes were seen of <bdi>odd; rm</bdi>"), "{index}");
}

#[test]
fn a_site_without_verdicts_has_no_such_page() {
    let (index, page) = pages(&[]);
    assert!(page.is_none() && !index.contains("isolation.html"), "{index}");
    let (index, page) = pages(&[verdict("lmdb", Some("serializable"), &[])]);
    assert!(page.expect("a page").contains("<p>No anomaly.</p>"));
    assert!(index.contains("none showed an anomaly that its documentation excludes"), "{index}");
}

//! The page of crash tests.

use assay_core::durability::Verdicts;
use assay_core::isolation;
use assay_core::run_file::{RunFile, Status};
use assay_report::site::{self, SiteRun, Tests};

use super::{cell, phase, result, run};

/// Returns the page of a test at a level that promises nothing, whose disk had faults. The writer
/// hung in `hung` of 24 rounds; a fault was met in 2.
fn page(hung: u32) -> String {
    let failure = serde_json::json!({ "found": { "hung": "for 60 s" }, "age": null,
        "command": "assay crash" });
    let verdict = serde_json::json!({
        "engine": "lmdb", "engine_version": "1", "engine_options": {}, "settings": [],
        "durability": "none", "crash": "power", "strict_directories": false,
        "promise": "nothing", "threads": 1, "crashes": 1, "cut_openings": 0, "commits": 10,
        "rounds": 24, "acknowledged": 100, "lost_rounds": 1, "lost_commits_most": 1,
        "interval_ms": null, "lost_age_most_ms": null, "torn_rounds": 0, "refused_rounds": 0,
        "unusable_rounds": 0,
        "faults": { "fault": "eio-sync", "lasts": null, "met_rounds": 2, "refused_commits": 3,
            "ended_rounds": 0, "returned_rounds": 1, "wrong_rounds": 0, "hung_rounds": hung },
        "failures": vec![failure; hung as usize], "tested": "1970-01-01T00:00:00Z",
    });
    let mut verdicts = Verdicts::default();
    verdicts.add(serde_json::from_value(verdict).expect("a verdict"));
    let cells = vec![result(cell("lmdb", 1), Status::Measured, vec![phase("insert", 1, &[1_000])])];
    let run = RunFile { cells, planned_cells: 1, ..run() };
    let runs = [SiteRun { run, charts: Vec::new(), file: "runs/a.json".into() }];
    let tests = Tests {
        crashes: &verdicts,
        crashes_file: "durability.json",
        isolation: &isolation::Verdicts::default(),
        isolation_file: "isolation.json",
    };
    let pages = site::pages(&runs, tests, &|_| None).expect("pages");
    let page = pages.into_iter().find(|page| page.file == "durability.html");
    page.expect("a page of crash tests").text
}

#[test]
fn a_writer_that_hung_broke_even_a_level_without_a_promise() {
    let page = page(1);
    let cell = ">1 of 2</a><small>";
    assert!(page.contains(cell), "only rounds that met a fault count: {page}");
    assert!(page.contains("Broken in 1 of 2 rounds"), "{page}");
    assert!(page.contains("hung: for 60 s"), "{page}");
    assert!(page.contains("<h3>At none</h3>"), "each level has a table of its own: {page}");
    assert!(page.contains("eio-sync<small>power cut</small>"), "{page}");
}

#[test]
fn a_level_without_a_promise_says_what_was_damaged() {
    assert!(page(0).contains("no promise<small>2 of 2</small>"), "{}", page(0));
}

//! The order of engines in two runs, in every view.

use assay_core::plan::Cell;
use assay_core::run_file::{RunFile, Status};
use assay_report::compare::{Ranks, ranks};
use serde_json::Value;

use super::{cell, phase, result, run};

/// Returns a run of two trials in which operations take the nanoseconds given for each engine.
fn times(of: &[(&str, u64)]) -> RunFile {
    let trial = |(engine, time_ns): &(&str, u64), trial| {
        // The load says nothing of the engine, and has the opposite order.
        let phases = vec![
            phase("load", 1, &[10_000_000 / time_ns]),
            phase("read", 100, &[100 * time_ns]),
            phase("write", 300, &[300 * time_ns]),
        ];
        result(cell(engine, trial), Status::Measured, phases)
    };
    let cells: Vec<_> = (1..=2).flat_map(|nth| of.iter().map(move |it| trial(it, nth))).collect();
    RunFile { planned_cells: cells.len(), cells, ..run() }
}

fn ranked(base: &[(&str, u64)], new: &[(&str, u64)]) -> Ranks {
    ranks(&times(base), &times(new)).expect("ranks")
}

#[test]
fn kendalls_tau_counts_pairs_in_one_order_and_in_the_other() {
    let base = [("a", 10_000), ("b", 20_000), ("c", 30_000), ("d", 40_000)];
    let slower = base.map(|(engine, ns)| (engine, 3 * ns));
    let opposite = base.map(|(engine, ns)| (engine, 90_000 - ns));
    assert_eq!(ranked(&base, &slower).tau(), 1.0);
    assert_eq!(ranked(&base, &opposite).tau(), -1.0);
    // Of six pairs, only that of the first two is the other way round.
    let swapped = [("b", 10_000), ("a", 20_000), ("c", 30_000), ("d", 40_000)];
    let found = ranked(&base, &swapped);
    assert_eq!(found.pairs(), (6, 5));
    assert!((found.tau() - 4.0 / 6.0).abs() < 1e-9, "{}", found.tau());
    // A pair that one run cannot tell apart has neither order.
    let equal = [("a", 10_000), ("b", 10_000), ("c", 30_000), ("d", 40_000)];
    let found = ranked(&base, &equal);
    assert_eq!(found.pairs(), (6, 5));
    assert!((found.tau() - 5.0 / 6.0).abs() < 1e-9, "{}", found.tau());
    assert_eq!(found.engines.iter().map(|it| it.new_rank).collect::<Vec<_>>(), [1, 1, 3, 4]);
    let turned = ranked(&equal, &base);
    assert_eq!(turned.engines.iter().map(|it| it.base_rank).collect::<Vec<_>>(), [1, 1, 3, 4]);
}

#[test]
fn every_view_has_ranks_and_names_the_engines_that_have_none() {
    let wrong = |of: &[(&str, u64)]| {
        let mut run = times(of);
        let cells = run.cells.iter_mut();
        cells.filter(|it| it.cell.engine.to_string() == "wrong").for_each(|it| {
            it.status = Status::Wrong("an answer".into());
        });
        run
    };
    let base = wrong(&[("a", 20_000), ("b", 10_000), ("lone", 5_000), ("wrong", 5_000)]);
    let new = wrong(&[("a", 40_000), ("b", 80_000), ("other", 1_000), ("wrong", 5_000)]);
    let found = ranks(&base, &new).expect("ranks");
    let text = found.text(100);
    let rows: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["engine", "base/s", "rank", "new/s", "rank"]), "{text}");
    assert!(rows.contains(&vec!["b", "tree", "500", "1", "62.5", "2"]), "{text}");
    assert!(rows.contains(&vec!["a", "tree", "250", "2", "125", "1"]), "{text}");
    let markdown = found.markdown();
    assert!(markdown.contains("| b tree | 500 | 1 | 62.5 | 2 |"), "{markdown}");
    for view in [&text, &markdown] {
        for words in [
            "Kendall's τ -1.00: both runs have 0 of 1 pairs in one order",
            "not ranked: lone tree is in the first run only",
            "not ranked: other tree is in the second run only",
            "not ranked: wrong tree: in the first run an answer",
        ] {
            assert!(view.contains(words), "{words}: {view}");
        }
    }
    let json: Value = serde_json::from_str(&found.json()).expect("JSON");
    assert_eq!((&json["tau"], &json["pairs"]), (&Value::from(-1.0), &Value::from(1)));
    assert_eq!(json["engines"][0]["engine"], "b tree");
    assert_eq!(json["engines"][0]["new"]["rank"], 2);
    assert_eq!(json["not_ranked"].as_array().map(Vec::len), Some(3));
}

#[test]
fn ranks_are_of_one_kind_of_work_and_of_two_engines_at_least() {
    let two = times(&[("a", 10_000), ("b", 20_000)]);
    let mut mixed = times(&[("a", 10_000), ("b", 20_000)]);
    mixed.cells[0].cell = Cell { rows: 7, ..mixed.cells[0].cell.clone() };
    let why = ranks(&two, &mixed).expect_err("two kinds");
    assert!(why.starts_with("the second run has 2 kinds of work"), "{why}");
    let mut twice = times(&[("a", 10_000), ("b", 20_000)]);
    twice.cells[0].cell = Cell { threads: 4, ..twice.cells[0].cell.clone() };
    let why = ranks(&two, &twice).expect_err("two numbers of threads");
    assert!(why.contains("has a tree more than once, by other threads"), "{why}");
    let mut failed = times(&[("a", 10_000), ("b", 20_000)]);
    for it in failed.cells.iter_mut().filter(|it| it.cell.engine.to_string() == "b") {
        it.status = Status::Wrong("an answer".into());
    }
    let why = ranks(&two, &failed).expect_err("one engine");
    let words =
        "fewer than two engines have a throughput in both runs; b tree: in the second run an";
    assert!(why.starts_with(words), "{why}");
}

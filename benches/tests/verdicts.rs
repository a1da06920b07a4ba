//! The evaluation of the verdicts, on runs whose rates are made up.

use assay_benches::verdicts::{BASE, Engine, SAME, SLOWED, evaluate, markdown, shuffled};
use assay_core::environment::{Build, Environment};
use assay_core::random::draw;
use assay_core::run_file::{CellResult, RunFile};
use assay_report::compare::Design;
use serde_json::json;

/// A trial of ten rounds; without noise they differ a little, so that tests have an error.
fn trial(engine: Engine, run: u64, trial: u64, noise_ns: u64) -> CellResult {
    let seed = run * 100 + trial;
    let time_ns = |round: u64| {
        let own_ns = 1_000_000 + u64::from(engine.percent) * 10_000;
        let common_ns = draw(7, seed * 50 + u64::from(engine.id.as_bytes()[7]), 1 + noise_ns);
        own_ns + common_ns + draw(seed, round, 500)
    };
    let rounds: Vec<_> =
        (0..10).map(|round| json!({ "operations": 1000, "time_ns": time_ns(round) })).collect();
    let phase = json!({
        "name": "query", "rounds": rounds, "published_top": 3, "tape_hash": "", "checked": 0,
        "threads": 1,
    });
    let result = json!({
        "cell": {
            "suite": "somesuite", "engine": engine.id, "storage": "memory", "durability": "none",
            "durability_wanted": "none", "key_kind": "hash", "rows": 1000, "threads": 1,
            "trial": trial, "seed": 1, "variant": "random access", "options": null,
            "engine_options": {}, "engine_parameters": {}, "cpus": [], "page_cache": "warm",
            "revision": 1, "key_kind_named": false, "cache_named": false, "calibration": false,
            "dir": null,
        },
        "started": "2026-01-01T00:00:00Z",
        "status": { "outcome": "measured" },
        "measurement": {
            "engine_version": "1", "engine_name": "e", "settings": [], "notes": [],
            "filesystem": null, "phases": [phase], "reopened": 0,
            "resources": {
                "peak_rss_bytes": 0, "rss_before_open_bytes": 0, "cpu_user_ns": 0,
                "cpu_system_ns": 0, "written_bytes": null, "open_ns": 0, "close_ns": 0,
                "store_peak_bytes": null, "store_closed_bytes": null,
            },
        },
    });
    serde_json::from_value(result).expect("a result")
}

fn runs(noise_ns: u64) -> Vec<RunFile> {
    let build = Build {
        version: "0".into(),
        rustc: "rustc".into(),
        target: "target".into(),
        opt_level: "3".into(),
        engines: Vec::new(),
    };
    let environment = Environment::capture();
    let run = |number| {
        let mut run = RunFile::new(Vec::new(), build.clone(), environment.clone(), 40);
        let engines = [BASE, SAME].into_iter().chain(SLOWED);
        let trials = |engine| (1..=10).map(move |at| trial(engine, number, at, noise_ns));
        run.cells = engines.flat_map(trials).collect();
        run
    };
    (1..=40).map(run).collect()
}

#[test]
fn without_noise_every_slowdown_is_found() {
    let verdicts = evaluate(&runs(0));
    assert_eq!(verdicts.rows.len(), 6);
    for row in &verdicts.rows {
        let comparisons = match (row.trials, row.design) {
            (3, _) => 0,
            (_, Design::Apart) => 39,
            (_, Design::InTurns) => 40,
        };
        assert_eq!(row.alarms.of, comparisons, "too few trials say nothing: {row:?}");
        for found in row.found {
            let counts = [found.by_median, found.by_fastest, found.by_either];
            assert_eq!(counts.map(|count| count.hits), [comparisons; 3], "{row:?}");
        }
        assert!(row.alarms.hits * 10 <= comparisons, "{row:?}");
    }
    let [five, eight] = verdicts.long_run;
    assert!((five - 1.0 / 1.05).abs() < 1e-3 && (eight - 1.0 / 1.08).abs() < 1e-3, "{verdicts:?}");
    let text = markdown(&verdicts).expect("text");
    assert!(text.contains("| two runs | 3 | – | – |") && text.contains("was 5.0 %"), "{text}");
}

#[test]
fn in_noise_slowdowns_are_missed_and_intervals_hold_the_truth() {
    let verdicts = evaluate(&runs(200_000));
    for row in verdicts.rows.iter().filter(|row| row.trials > 3) {
        let five = row.found[0].by_either;
        assert!(five.hits < five.of / 2, "a tenth of the noise is not found: {row:?}");
        assert!(row.alarms.hits * 5 <= row.alarms.of, "{row:?}");
    }
    for coverage in verdicts.coverage.iter().filter(|coverage| coverage.trials > 3) {
        // Two engines of 40 runs.
        assert_eq!(coverage.held.of, 80);
        assert!(coverage.held.hits >= 68, "{coverage:?}");
    }
}

/// In each run all is faster or slower than in others, as if the machine drifted.
#[test]
fn what_drifts_is_in_runs_and_not_in_turns_or_in_shuffled_trials() {
    let mut drifting = runs(2_000);
    for (run, at) in drifting.iter_mut().zip(0_u64..) {
        for result in &mut run.cells {
            let rounds = &mut result.measurement.phases[0].rounds;
            rounds.iter_mut().for_each(|round| round.time_ns += at * 37 % 11 * 20_000);
        }
    }
    let share = |runs: &[RunFile], design| {
        let rows = evaluate(runs).rows;
        let row = rows.iter().find(|row| row.design == design && row.trials == 10);
        let alarms = row.expect("a row").alarms;
        alarms.hits * 100 / alarms.of
    };
    assert!(share(&drifting, Design::Apart) > 90);
    assert!(share(&drifting, Design::InTurns) < 15);
    let shuffled = shuffled(&drifting, 1);
    assert!(share(&shuffled, Design::Apart) < 15);
    let cells = |runs: &[RunFile]| {
        let cells = runs
            .iter()
            .flat_map(|run| &run.cells)
            .map(|result| format!("{} {:?}", result.cell.engine, result.measurement.phases));
        let mut cells: Vec<_> = cells.collect();
        cells.sort_unstable();
        cells
    };
    assert_eq!(cells(&shuffled), cells(&drifting), "each trial once");
}

//! The views over a run file made by hand, with one of everything that can happen to a cell.

mod advice;
mod ageing;
mod crashes;
mod isolation;
mod latencies;
mod marks;
mod ranks;
mod speed_up;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_core::environment::{Build, Environment};
use assay_core::estimate::{Bounds, Spread};
use assay_core::plan::{Cell, MemoryGrant, PageCache};
use assay_core::resources::Resources;
use assay_core::run_file::{CellResult, Latency, Measurement, Phase, Round, RunFile, Status};
use assay_driver::{Durability, KeyKind, Storage};
use assay_report::compare::{Statistic, Verdict};
use assay_report::table::{View, render};
use assay_report::{blocks, compare, format, markdown, plot, rows};

fn cell(engine: &str, trial: u32) -> Cell {
    Cell {
        suite: "somesuite".into(),
        revision: 1,
        engine: engine.into(),
        storage: Storage::Disk,
        durability: Durability::Periodic,
        durability_wanted: Durability::Periodic,
        key_kind: KeyKind::Tree,
        key_kind_named: false,
        rows: 1_000,
        threads: 1,
        trial,
        seed: 1,
        variant: "random access".into(),
        options: serde_json::Value::Null,
        engine_options: BTreeMap::new(),
        engine_parameters: BTreeMap::new(),
        cpus: Vec::new(),
        page_cache: PageCache::Warm,
        memory: MemoryGrant::default(),
        dir: None,
        calibration: false,
    }
}

/// A phase whose rounds took these nanoseconds for each of a thousand operations.
fn phase(name: &str, published_top: usize, times_ns: &[u64]) -> Phase {
    let round = |ns: &u64| Round { operations: 1_000, time_ns: ns * 1_000, usage: None };
    Phase {
        name: name.into(),
        rounds: times_ns.iter().map(round).collect(),
        published_top,
        tape_hash: String::new(),
        checked: 1_000,
        ..Phase::default()
    }
}

fn result(cell: Cell, status: Status, phases: Vec<Phase>) -> CellResult {
    let measurement = Measurement {
        engine_version: "1.2.3".into(),
        settings: vec!["PRAGMA fast".into()],
        phases,
        ..Measurement::default()
    };
    let started = jiff::Timestamp::UNIX_EPOCH;
    CellResult { cell, started, whole_ns: None, status, refuted: None, held: None, measurement }
}

fn run() -> RunFile {
    let build = Build {
        version: "0.0.0".into(),
        rustc: "rustc".into(),
        target: "target".into(),
        opt_level: "3".into(),
        engines: Vec::new(),
    };
    let ten: Vec<u64> = (91..=100).collect();
    let two_phases = |ns| vec![phase("insert", 1, &[ns]), phase("query", 3, &ten)];
    let stronger = Cell { durability: Durability::Commit, ..cell("careful", 1) };
    let null = Cell { calibration: true, ..cell("null", 1) };
    let mut run = RunFile::new(Vec::new(), build, Environment::capture(), 7);
    run.cells = vec![
        result(null, Status::Measured, vec![phase("query", 3, &[2, 2, 2])]),
        result(cell("quick", 1), Status::Measured, two_phases(1_000)),
        result(stronger, Status::Measured, two_phases(2_000)),
        result(cell("lost", 1), Status::Failed("it crashed".into()), two_phases(10)),
        result(cell("liar", 1), Status::Wrong("row 7 is wrong".into()), two_phases(10)),
        result(cell("absent", 1), Status::Unavailable("no library".into()), Vec::new()),
        result(cell("quick", 2), Status::Measured, two_phases(3_000)),
    ];
    run
}

#[test]
fn trials_of_an_engine_are_one_line() {
    let run = run();
    let blocks = blocks::blocks(&run);
    assert_eq!(blocks.len(), 1);
    let engines: Vec<_> =
        blocks[0].lines.iter().map(|line| line.cell().engine.id.as_str()).collect();
    assert_eq!(engines, ["quick", "careful", "lost", "liar", "absent"]);
    let insert = blocks[0].lines[0].rate("insert").expect("it was measured");
    // The two trials' rates are 1,000,000 and 333,333 a second.
    assert!((insert.estimate.value - 666_666.0).abs() < 1.0, "{insert:?}");
    assert_eq!((insert.estimate.interval(), insert.rounds), (None, 2));
    let query = blocks[0].lines[0].rate("query").expect("it was measured");
    let range = Spread::Range(Bounds { low: 1e9 / 100.0, high: 1e9 / 91.0 });
    assert_eq!((query.estimate.spread, query.rounds), (range, 20), "two trials");
    let fastest = (1e9 / 91.0 + 1e9 / 92.0 + 1e9 / 93.0) / 3.0;
    assert!((query.published - fastest).abs() < 1.0, "{query:?}");
}

/// Every view has the same figure and the same interval, and calls a range one.
#[test]
fn every_view_has_the_same_estimate() {
    // The figures of trials are 1,000,000 a second and what is near, but one round is slow.
    let mut run = trials_of("quick", &STEADY);
    run.cells[0].measurement.phases[0].rounds[0].time_ns *= 10;
    let line = blocks::blocks(&run).remove(0).lines.remove(0);
    let estimate = line.rate("insert").expect("a rate").estimate;
    let Bounds { low, high } = estimate.interval().expect("five trials");
    assert!(low > 980_000.0 && high < 1_020_000.0, "the slow round does not matter: {estimate:?}");
    let csv = rows::csv(&run).expect("text");
    assert!(
        csv.contains(&format!(",{:.1},{low:.1},{high:.1},interval_95,15,0,,,5,", estimate.value))
    );
    let (low, high) = (format::quantity(low), format::quantity(high));
    assert!(render(&run, table::DETAILED).contains(&format!(" {low} – {high}\n")));
    assert!(markdown::markdown(&run).contains(&format!("1.00 M (95 %: {low} – {high})")));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let paths = draw(std::slice::from_ref(&run), folder.path(), BARS);
    let picture = std::fs::read_to_string(&paths.expect("pictures")[0]).expect("the SVG");
    assert!(picture.contains("whiskers: 95 % intervals"), "{picture}");
    run.cells.truncate(4);
    let csv = rows::csv(&run).expect("text");
    assert!(csv.contains(",100000.0,1010101.0,range,12,0,,,4,"), "{csv}");
    let text = render(&run, table::DETAILED);
    assert!(text.contains("of rounds\n quick   100 k – 1.01 M\n"), "{text}");
    assert!(markdown::markdown(&run).contains("(range: 100 k – 1.01 M)"));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let paths = draw(std::slice::from_ref(&run), folder.path(), BARS);
    let picture = std::fs::read_to_string(&paths.expect("pictures")[0]).expect("the SVG");
    assert!(picture.contains("whiskers: range of rounds"), "{picture}");
}

/// A rate that could not be measured is a dash with its reason, in every view.
#[test]
fn a_round_without_time_has_no_rate_anywhere() {
    let mut run = run();
    let quick = |times_ns: &[u64]| {
        let phases = vec![phase("insert", 1, times_ns), phase("query", 3, &[91, 92, 93])];
        result(cell("quick", 1), Status::Measured, phases)
    };
    run.cells = vec![quick(&[0])];
    let line = blocks::blocks(&run).remove(0).lines.remove(0);
    assert_eq!(line.rate("insert"), None);
    assert!(line.rate("query").is_some());
    let why = "a round took less than a microsecond, too little for the clock";
    let table = render(&run, View::PLAIN);
    assert!(table.contains("– [1]") && table.contains(&format!("[1] {why}")), "{table}");
    assert!(!table.contains(" T/s") && !table.contains("1.00 T"), "{table}");
    let csv = rows::csv(&run).expect("text");
    let insert = csv.lines().find(|line| line.contains(",insert,")).expect("a line");
    assert!(insert.contains(why) && insert.contains("\",,,,,,,,,1,"), "{insert}");
    assert!(markdown::markdown(&run).contains(why), "{}", markdown::markdown(&run));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let paths = draw(std::slice::from_ref(&run), folder.path(), BARS);
    let picture = std::fs::read_to_string(&paths.expect("pictures")[0]).expect("the SVG");
    assert!(picture.contains("– too short to time"), "{picture}");
    let mut other = run.clone();
    other.cells = vec![quick(&[5])];
    for (base, new) in [(&run, &other), (&other, &run)] {
        let comparison = compare::runs(base, new);
        let phases: Vec<_> =
            comparison.lines.iter().map(|line| line.quantity.to_string()).collect();
        assert_eq!(phases, ["query/s", "query/s"], "by two statistics");
        assert!(comparison.notes.iter().any(|note| note.contains(why)), "{comparison:?}");
    }
    // Figures of another revision of a suite have a block of their own.
    let revised = CellResult { cell: Cell { revision: 2, ..cell("quick", 1) }, ..quick(&[5]) };
    other.cells = vec![quick(&[5]), revised];
    assert_eq!(blocks::blocks(&other).len(), 2);
    let lines = rows::csv(&other).expect("text");
    assert_eq!(lines.matches("random access · revision 2 of the suite").count(), 2, "{lines}");
    // One round without time leaves no rate, since the slower ones would be what is left.
    run.cells = vec![quick(&[0, 5, 5, 5])];
    assert_eq!(blocks::blocks(&run)[0].lines[0].rate("insert"), None);
}

#[test]
fn a_wrong_answer_has_no_figure_anywhere() {
    let run = run();
    let blocks = blocks::blocks(&run);
    let liar = blocks[0].lines.iter().find(|l| l.cell().engine.id == "liar").expect("a line");
    assert_eq!(liar.rate("query"), None);
    let text = render(&run, table::DETAILED);
    let line = text.lines().find(|line| line.contains("liar")).expect("its line");
    assert!(line.contains("wrong [") && line.contains('–') && !line.contains("10.0 M"), "{line}");
}

const BARS: &dyn Fn(&str) -> bool = &|_| true;
const NO_BARS: &dyn Fn(&str) -> bool = &|_| false;

fn draw(
    runs: &[RunFile],
    folder: &Path,
    publishes_bars: &dyn Fn(&str) -> bool,
) -> Result<Vec<PathBuf>, plot::PlotError> {
    let place = plot::Place { folder, name: "run", is_logarithmic: false };
    plot::draw(runs, &place, publishes_bars)
}

/// Bars in proportion show nothing of an engine that is a hundred times slower.
#[test]
fn engines_that_are_far_apart_are_dots_beside_published_bars() {
    let two = |factor: u64| {
        let slow = phase("query", 3, &[100 * factor, 101 * factor, 99 * factor]);
        let mut run = run();
        run.cells = vec![
            result(cell("quick", 1), Status::Measured, vec![phase("query", 3, &[99, 100, 101])]),
            result(cell("slow", 1), Status::Measured, vec![slow]),
        ];
        run
    };
    let names = |factor, publishes_bars| {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let paths = draw(&[two(factor)], folder.path(), publishes_bars).expect("pictures");
        let svg = std::fs::read_to_string(&paths[0]).expect("the SVG");
        let names: Vec<_> =
            paths.iter().filter_map(|p| Some(p.file_stem()?.to_str()?.to_string())).collect();
        (names[0].clone(), names.len(), svg.matches("<circle").count())
    };
    assert_eq!(names(29, NO_BARS), ("run-ondisk-small".into(), 2, 0));
    // A dot for each engine, and one in the legend.
    assert_eq!(names(31, NO_BARS), ("run-ondisk-small".into(), 2, 3));
    assert_eq!(names(31, BARS), ("run-ondisk-small".into(), 4, 0));
}

#[test]
fn pictures_show_what_was_measured_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let paths = draw(&[run()], folder.path(), BARS).expect("pictures");
    let names: Vec<_> = paths.iter().filter_map(|p| p.file_name()?.to_str()).collect();
    assert_eq!(names, ["run-ondisk-small.svg", "run-ondisk-small.png"]);
    let svg = std::fs::read_to_string(&paths[0]).expect("the SVG");
    assert!(svg.contains("quick") && svg.contains("careful (at commit)"), "{svg}");
    assert!(!svg.contains("liar") && !svg.contains("absent") && !svg.contains("lost"), "{svg}");
}

#[test]
fn a_picture_of_nothing_is_an_error_and_no_file() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut empty = run();
    empty.cells.retain(|result| result.cell.engine.id == "liar" || result.cell.calibration);
    let error = draw(&[empty], folder.path(), BARS).expect_err("nothing to draw");
    assert!(error.to_string().contains("nothing to draw"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0);
}

/// A run of one engine: a phase whose trials took these nanoseconds an operation.
fn trials_of(engine: &str, times_ns: &[u64]) -> RunFile {
    let mut run = run();
    run.cells = (1..)
        .zip(times_ns)
        .map(|(trial, ns)| {
            let mut measured = phase("insert", 1, &[*ns; 3]);
            measured.tape_hash = "tape".into();
            result(cell(engine, trial), Status::Measured, vec![measured])
        })
        .collect();
    run
}

fn latency(operation: &str) -> Latency {
    let json = serde_json::json!({
        "operation": operation, "count": 1, "mean_ns": 1.0, "min_ns": 1, "p50_ns": 1, "p90_ns": 1,
        "p95_ns": 1, "p99_ns": 1, "p999_ns": 1, "max_ns": 1,
    });
    serde_json::from_value(json).expect("a latency")
}

const STEADY: [u64; 5] = [1000, 1010, 990, 1005, 995];

fn slower_by(percent: u64) -> RunFile {
    trials_of("quick", &STEADY.map(|ns| ns + ns * percent / 100))
}

#[test]
fn the_same_again_is_no_difference() {
    let again = trials_of("quick", &[995, 1000, 1012, 991, 1003]);
    let comparison = compare::runs(&trials_of("quick", &STEADY), &again);
    assert!(comparison.differences.is_empty(), "{comparison:?}");
    assert_eq!((comparison.lines.len(), comparison.tests), (2, 2), "by two statistics");
    for line in &comparison.lines {
        assert_eq!(line.verdict(), Verdict::NotFound, "{line:?}");
    }
    let text = compare::render(&comparison, 80).expect("text");
    assert_eq!(text.matches("none found").count(), 2, "{text}");
}

#[test]
fn a_slower_run_is_a_regression_if_it_is_slow_enough() {
    let comparison = compare::runs(&trials_of("quick", &STEADY), &slower_by(11));
    let line = &comparison.lines[0];
    assert_eq!(line.verdict(), Verdict::Worse);
    assert!((line.ratio.value - 1.0 / 1.11).abs() < 0.001, "{line:?}");
    assert!(line.is_regression(0.05) && !line.is_regression(0.20));
    // It is slower by 9.9 %, but that it is by 9.8 % is not sure.
    assert!(line.loss() > 0.098 && !line.is_regression(0.098), "{line:?}");
    let back = compare::runs(&slower_by(11), &trials_of("quick", &STEADY));
    assert_eq!(back.lines[0].verdict(), Verdict::Better);
    assert!(!back.lines[0].is_regression(0.01));
}

/// Memory, space, what is written, the time to close and latencies are compared as rates are; of
/// them, more is worse.
#[test]
fn costs_are_compared() {
    let with_costs = |times: u64| {
        let mut run = trials_of("quick", &STEADY);
        for (result, ns) in run.cells.iter_mut().zip(STEADY) {
            result.measurement.resources = Resources {
                peak_rss_bytes: ns * times,
                store_peak_bytes: Some(ns * 7),
                written_bytes: Some(0),
                close_ns: ns / times,
                ..Resources::default()
            };
            let latency = Latency {
                p50_ns: ns,
                p90_ns: 2 * ns,
                p99_ns: 10 * ns * times,
                p999_ns: 20 * ns,
                ..latency("GET")
            };
            result.measurement.phases[0].latencies = vec![latency];
        }
        run
    };
    let comparison = compare::runs(&with_costs(1), &with_costs(2));
    let found: Vec<_> = comparison
        .lines
        .iter()
        .map(|line| (line.quantity.to_string(), line.words(), line.is_regression(0.9)))
        .collect();
    let expected = [
        ("insert/s", "none found", false),
        ("insert/s", "none found", false),
        ("insert get p50", "none found", false),
        ("insert get p90", "none found", false),
        ("insert get p99", "longer", true),
        ("insert get p99.9", "none found", false),
        ("memory", "more", true),
        ("on disk", "none found", false),
        ("close", "shorter", false),
    ];
    let found: Vec<_> =
        found.iter().map(|(what, words, is)| (what.as_str(), *words, *is)).collect();
    assert_eq!(found, expected, "nothing was written, which has no ratio");
    assert!(!comparison.lines[6].is_regression(1.1), "memory is twice as much, not more");
    let json: serde_json::Value = serde_json::from_str(&compare::json(&comparison)).expect("JSON");
    let memory = &json["lines"][6];
    assert_eq!((&memory["verdict"], &memory["base"]), (&"worse".into(), &1000.0.into()));
    let quantity = &memory["quantity"];
    assert_eq!((&quantity["better"], &quantity["unit"]), (&"lower".into(), &"bytes".into()));
    let percentile = &json["lines"][4]["quantity"];
    assert_eq!(
        (&percentile["operation"], &percentile["percentile"]),
        (&"GET".into(), &99.0.into())
    );
}

/// A difference that one test finds alone is not found among many tests that find nothing.
#[test]
fn the_more_is_compared_the_more_a_difference_has_to_prove() {
    let with_phases = |times_ns: [u64; 5], others: usize| {
        let mut run = trials_of("quick", &times_ns);
        for (result, ns) in run.cells.iter_mut().zip(STEADY) {
            let others = (0..others).map(|at| phase(&format!("other {at}"), 1, &[ns]));
            result.measurement.phases[0].rounds.truncate(1);
            result.measurement.phases.extend(others);
        }
        run
    };
    let verdict = |others| {
        let slower = STEADY.map(|ns| ns + 15);
        let comparison = compare::runs(&with_phases(STEADY, others), &with_phases(slower, others));
        assert_eq!(comparison.tests, 1 + others);
        comparison.lines[0].verdict()
    };
    assert_eq!(verdict(0), Verdict::Worse);
    assert_eq!(verdict(9), Verdict::NotFound);
}

/// Most rounds of a trial are disturbed, but not the fastest.
#[test]
fn the_fastest_rounds_find_what_the_medians_hide() {
    let noisy = |fastest_ns: u64| {
        let mut run = trials_of("quick", &STEADY);
        for (result, at) in run.cells.iter_mut().zip(0_u64..) {
            let disturbed = (1..10).map(|round| fastest_ns + 100 + round + at * 150);
            let times: Vec<_> = [fastest_ns + at % 3].into_iter().chain(disturbed).collect();
            result.measurement.phases = vec![phase("insert", 1, &times)];
        }
        run
    };
    let comparison = compare::runs(&noisy(1000), &noisy(1050));
    let [median, fastest] = &comparison.lines[..] else { panic!("two lines: {comparison:?}") };
    assert_eq!((median.statistic, median.verdict()), (Statistic::Median, Verdict::NotFound));
    assert_eq!((fastest.statistic, fastest.verdict()), (Statistic::FastestTenth, Verdict::Worse));
    let finds = |line: &compare::Line| line.ratio.test.expect("a test").smallest_found(0.05);
    assert!(finds(fastest) < finds(median), "{comparison:?}");
    let takes = |line: &compare::Line| {
        line.ratio.test.expect("a test").trials_to_find(0.05, comparison.level())
    };
    assert_eq!(comparison.trials_to_find(0.05), takes(fastest), "the better of the two");
    assert_ne!(takes(fastest), takes(median));
    let text = compare::render(&comparison, 80).expect("text");
    assert!(text.lines().any(|line| line.contains("fastest tenth") && line.ends_with("slower")));
}

#[test]
fn four_trials_are_no_proof() {
    let four = |ns| trials_of("quick", &[ns; 4]);
    let line = &compare::runs(&four(1000), &four(5000)).lines[0];
    assert_eq!(line.verdict(), Verdict::TooFewTrials);
    assert!(!line.is_regression(0.05), "it is not known");
}

#[test]
fn what_is_not_the_same_experiment_is_named() {
    let base = trials_of("quick", &STEADY);
    let mut other = slower_by(0);
    other.environment.cpu_model = "another".into();
    for result in &mut other.cells {
        result.cell.durability = Durability::Commit;
        result.measurement.settings = vec!["PRAGMA slow".into()];
        result.measurement.phases[0].tape_hash = "other".into();
    }
    let differences = compare::runs(&base, &other).differences.join("\n");
    for words in ["processor", "quick at periodic and quick at commit", "PRAGMA slow", "tapes"] {
        assert!(differences.contains(words), "{words}: {differences}");
    }
    let elsewhere = compare::runs(&base, &trials_of("else", &STEADY));
    assert!(elsewhere.lines.is_empty());
    let lacking = &elsewhere.not_compared[0];
    assert!(lacking.contains("only in the first: quick"), "{elsewhere:?}");
}

#[test]
fn engines_of_one_run_are_compared_trial_by_trial() {
    // Both are slowed by what happens to the machine, the second is always a tenth slower.
    let mut run = trials_of("quick", &[1000, 2000, 4000, 8000, 16000]);
    run.cells.extend(trials_of("careful", &[1100, 2200, 4400, 8800, 17600]).cells);
    let comparison = compare::engines(&run, &"quick".into(), &"careful".into());
    let Bounds { low, high } = comparison.lines[0].ratio.test.expect("five trials").interval;
    assert!(low > 0.90 && high < 0.92, "{comparison:?}");
    assert_eq!(comparison.lines[0].engine, "careful : quick");
}

/// Runs as large as years of nights make them: many works, engines or trials. No view may take
/// steps for each pair of cells, or this test takes hours with all 60,000.
#[test]
fn large_runs_are_shown() {
    let long = std::env::var_os("ASSAY_LONG_TESTS").is_some();
    let count = if long { 60_000 } else { 6_000 };
    let shapes: [fn(u32, &mut Cell); 4] = [
        |number, cell| cell.rows = u64::from(number),
        |number, cell| cell.engine = format!("engine-{number}").into(),
        |number, cell| cell.trial = number,
        |number, cell| {
            cell.engine = format!("engine-{}", number % 20).into();
            cell.variant = format!("variant {}", number / 20 % 30);
            cell.trial = 1 + number / 600;
        },
    ];
    for shape in shapes {
        let mut large = run();
        large.cells = (0..count)
            .map(|number| {
                let mut cell = cell("engine", 1);
                shape(number, &mut cell);
                result(cell, Status::Measured, vec![phase("insert", 1, &[1_000])])
            })
            .collect();
        assert_eq!(
            rows::of_run(&large).iter().map(|row| row.trials).sum::<usize>(),
            count as usize
        );
        assert!(!render(&large, table::DETAILED).is_empty());
        assert!(!markdown::markdown(&large).is_empty() && rows::csv(&large).is_ok());
        let comparison = compare::runs(&large, &large.clone());
        assert!(!comparison.lines.is_empty() && comparison.notes.is_empty());
        let folder = tempfile::tempdir().expect("a temporary directory");
        let paths = draw(std::slice::from_ref(&large), folder.path(), BARS).expect("pictures");
        assert!(!paths.is_empty());
        let own = compare::engines(&large, &"engine-1".into(), &"engine-2".into());
        assert!(compare::render(&own, 80).is_ok());
    }
}

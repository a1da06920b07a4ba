//! Latencies over trials.

use assay_core::run_file::{Latency, Phase, RunFile, Status};
use assay_report::table::{View, render};
use assay_report::{compare, latencies, markdown, rows};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use super::{STEADY, cell, latency, phase, result, run, trials_of};

/// Five trials with these medians; the 99th percentile is ten times as long, the longest a hundred
/// times.
fn taken(medians_ns: [u64; 5]) -> RunFile {
    let mut run = trials_of("quick", &STEADY);
    for (result, ns) in run.cells.iter_mut().zip(medians_ns) {
        let taken = Latency { p50_ns: ns, p99_ns: ns * 10, max_ns: ns * 100, ..latency("GET") };
        result.measurement.phases[0].latencies = vec![taken];
    }
    run
}

/// Latencies in the table are medians over trials, as its rates are; but the longest is the longest
/// of all.
#[test]
fn the_table_has_the_median_over_trials() {
    let text = render(&taken([9_000, 1_000, 2_000, 4_000, 3_000]), View::PLAIN);
    let line = text.lines().find(|line| line.starts_with(" get ")).expect("a line");
    let figures: Vec<_> = line.split("  ").filter(|word| !word.trim().is_empty()).collect();
    let figures: Vec<_> = figures.iter().map(|figure| figure.trim()).collect();
    assert!(figures.contains(&"3.00 µs") && figures.contains(&"30.0 µs"), "{text}");
    assert_eq!(figures.last(), Some(&"900 µs"), "{text}");
}

/// Drawn latencies are medians over trials, as all other figures are.
#[test]
fn latencies_are_of_all_trials() {
    let mut run = taken([9_000, 1_000, 2_000, 4_000, 3_000]);
    let taken = latencies::over_trials(&run);
    assert_eq!(taken.len(), 1, "{taken:?}");
    let percentiles_ns = &taken[0].percentiles_ns;
    assert!(percentiles_ns.contains(&(0.5, 3_000.0)), "{taken:?}");
    assert!(percentiles_ns.contains(&(0.99, 30_000.0)), "{taken:?}");
    let charts = latencies::charts([&run]);
    let curve = charts.iter().find(|chart| chart.title.starts_with("latency of get"));
    let curve = curve.expect("a curve");
    assert_eq!(curve.lines[0].points[0].1, 3.0, "microseconds");
    // Its file's name says what it shows.
    assert_eq!(curve.name, "latency-get-somesuite-disk-1k-random-access-1");
    // A trial that went wrong says nothing.
    run.cells[3].status = Status::Failed("it crashed".into());
    let taken = latencies::over_trials(&run);
    assert!(taken[0].percentiles_ns.contains(&(0.5, 2_500.0)), "{taken:?}");
}

/// Five trials of `operations` each, of which one in a thousand takes `rare_ns`, and the others a
/// tenth of a microsecond. The percentiles next to the histograms say nothing.
fn with_histograms(operations: u64, rare_ns: u64) -> RunFile {
    let mut run = trials_of("quick", &STEADY);
    for (result, at) in run.cells.iter_mut().zip(0..) {
        let mut all = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds");
        all.record_n(100 + at % 2, operations - operations / 1000).expect("in bounds");
        all.record_n(rare_ns + at % 2 * 1000, operations / 1000).expect("in bounds");
        let mut packed = Vec::new();
        V2DeflateSerializer::new().serialize(&all, &mut packed).expect("memory");
        let histogram = Some(STANDARD.encode(packed));
        let taken = Latency { count: operations, p9999_ns: Some(1), histogram, ..latency("GET") };
        result.measurement.phases[0].latencies = vec![taken];
    }
    run
}

/// The lines of latencies of a comparison, each with its verdict.
fn compared(base: &RunFile, new: &RunFile) -> Vec<(String, &'static str)> {
    let comparison = compare::runs(base, new);
    let lines = comparison.lines.iter().map(|line| (line.quantity.to_string(), line.words()));
    lines.filter(|(what, _)| what.contains(" p")).collect()
}

#[test]
fn rare_latencies_are_compared_from_whole_histograms() {
    let (few, twice) = (with_histograms(20_000, 50_000), with_histograms(20_000, 100_000));
    let expected = [
        ("insert get p50", "none found"),
        ("insert get p90", "none found"),
        ("insert get p99", "none found"),
        ("insert get p99.9", "none found"),
        ("insert get p99.99", "longer"),
    ];
    assert_eq!(compared(&few, &twice), expected.map(|(what, words)| (what.to_string(), words)));
    // Of 2,000 operations, 99.99 % leave less than one.
    let (few, twice) = (with_histograms(2_000, 50_000), with_histograms(2_000, 100_000));
    let expected = &expected[..4];
    let found = compared(&few, &twice);
    assert!(found.iter().map(|(what, words)| (what.as_str(), *words)).eq(expected.iter().copied()));
}

#[test]
fn curves_are_drawn_of_whole_histograms() {
    let mut run = with_histograms(20_000, 50_000);
    let taken = latencies::over_trials(&run);
    let shares: Vec<_> = taken[0].percentiles_ns.iter().map(|(share, _)| *share).collect();
    assert!(shares.is_sorted() && shares.len() > 30, "{shares:?}");
    assert_eq!((shares[0], shares[shares.len() - 1]), (0.5, 0.99995), "one operation is left");
    let at = |wanted: f64| {
        let found = taken[0].percentiles_ns.iter().find(|(share, _)| *share == wanted);
        found.expect("a point").1
    };
    assert!(at(0.998) < 200.0 && at(0.9993) > 49_000.0, "{taken:?}");
    // Files of before have the percentiles only.
    for result in &mut run.cells {
        result.measurement.phases[0].latencies[0].histogram = None;
    }
    let shares = latencies::over_trials(&run)[0].percentiles_ns.len();
    assert_eq!(shares, 6);
}

/// CSV has a row for each kind of operation, Markdown a table: no view leaves latencies out.
#[test]
fn rows_and_markdown_have_latencies() {
    let mut run = run();
    let trial = |trial: u32, p99_ns: u64| {
        let timed = Latency { p99_ns, count: 50, max_ns: 9_000, ..latency("READ") };
        // What was only timed operation by operation has no rate.
        let only_timed = Phase { latencies: vec![timed], ..phase("run", 1, &[]) };
        let phases = vec![phase("load", 1, &[100]), only_timed];
        result(cell("quick", trial), Status::Measured, phases)
    };
    run.cells = vec![trial(1, 3_000), trial(2, 5_000)];
    let text = rows::csv(&run).expect("text");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().expect("heads").clone();
    let at = |name| heads.iter().position(|head| head == name).expect("a column");
    let lines: Vec<_> = reader.records().map(|line| line.expect("a line")).collect();
    let phases: Vec<_> =
        lines.iter().map(|line| (&line[at("phase")], &line[at("operation")])).collect();
    assert_eq!(phases, [("load", ""), ("run", "read")], "{text}");
    let values = ["ops_per_s", "latency_count", "p50_ns", "p99_ns", "max_ns"].map(at);
    assert_eq!(values.map(|at| &lines[1][at]), ["", "100", "1", "4000", "9000"], "{text}");
    assert_eq!(values[1..].iter().map(|at| &lines[0][*at]).collect::<String>(), "", "{text}");
    let markdown = markdown::markdown(&run);
    assert!(
        markdown.contains("| read | quick | 1 | 100 | 1 ns | 1 ns | 4.00 µs | 1 ns | 9.00 µs |")
    );
}

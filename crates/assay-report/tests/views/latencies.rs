//! Latencies over trials.

use assay_core::run_file::{Latency, RunFile, Status};
use assay_report::latencies;
use assay_report::table::{View, render};

use super::{STEADY, latency, trials_of};

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

/// What the table says of latencies is the median over trials, as its rates are; but the longest of
/// all is the longest.
#[test]
fn the_table_has_the_median_over_trials() {
    let text = render(&taken([9_000, 1_000, 2_000, 4_000, 3_000]), View::PLAIN);
    let line = text.lines().find(|line| line.starts_with(" get ")).expect("a line");
    let figures: Vec<_> = line.split("  ").filter(|word| !word.trim().is_empty()).collect();
    let figures: Vec<_> = figures.iter().map(|figure| figure.trim()).collect();
    assert!(figures.contains(&"3.00 µs") && figures.contains(&"30.0 µs"), "{text}");
    assert_eq!(figures.last(), Some(&"900 µs"), "{text}");
}

/// What is drawn of latencies is the median over trials, as all other figures are.
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
    assert_eq!(curve.expect("a curve").lines[0].points[0].1, 3.0, "microseconds");
    // A trial that went wrong says nothing.
    run.cells[3].status = Status::Failed("it crashed".into());
    let taken = latencies::over_trials(&run);
    assert!(taken[0].percentiles_ns.contains(&(0.5, 2_500.0)), "{taken:?}");
}

//! Speed-up by threads, for suites whose cells have a number of them.

use std::collections::{BTreeMap, HashMap};

use assay_core::chart::{Axes, Line, LineChart};
use assay_core::run_file::{CellResult, RunFile, Status};
use assay_core::stats::median;

use crate::Labels;

/// Returns a chart for each workload and phase that was measured with several numbers of threads:
/// the rate of each number, divided by the rate of the fewest threads.
pub(crate) fn charts(run: &RunFile) -> Vec<LineChart> {
    let mut workloads = Vec::<Vec<&CellResult>>::new();
    let mut positions = HashMap::new();
    for result in run.results().filter(|result| result.status == Status::Measured) {
        let at = *positions.entry(result.cell.workload()).or_insert(workloads.len());
        match workloads.get_mut(at) {
            Some(workload) => workload.push(result),
            None => workloads.push(vec![result]),
        }
    }
    let labelled = Labels::of(run);
    let mut charts = Vec::new();
    for workload in &workloads {
        let mut phases: Vec<&str> = Vec::new();
        for phase in workload.iter().flat_map(|result| &result.measurement.phases) {
            if !phases.contains(&phase.name.as_str()) {
                phases.push(&phase.name);
            }
        }
        for phase in phases {
            let lines: Vec<_> = lines(&labelled, workload, phase);
            if lines.is_empty() {
                continue;
            }
            let cell = &workload[0].cell;
            charts.push(LineChart {
                name: format!("speedup-{}", charts.len() + 1),
                title: format!("{} · {} · {}: {phase}", cell.suite, cell.storage, cell.variant),
                x_label: "threads".into(),
                y_label: "times the rate of the fewest threads".into(),
                axes: Axes::Linear,
                lines,
            });
        }
    }
    charts
}

/// Returns a line for each engine that did the phase with at least two numbers of threads.
fn lines(labelled: &Labels, workload: &[&CellResult], phase: &str) -> Vec<Line> {
    // For each engine, the rates of its trials by the number of threads. There may be very many.
    let mut lines: Vec<(Line, BTreeMap<u32, Vec<f64>>)> = Vec::new();
    let mut places = HashMap::new();
    for result in workload {
        let Some(found) = result.measurement.phase(phase) else {
            continue;
        };
        // A phase that has one thread in every cell says nothing about threads.
        if found.threads != result.cell.threads {
            continue;
        }
        let label = labelled.label(&result.cell);
        let at = *places.entry(label.clone()).or_insert(lines.len());
        if at == lines.len() {
            let engine = Some(result.cell.engine.clone());
            lines.push((Line { label, engine, points: Vec::new() }, BTreeMap::new()));
        }
        lines[at].1.entry(result.cell.threads).or_default().extend(found.trial_rate());
    }
    let with_points = |(line, rates): (Line, BTreeMap<u32, Vec<f64>>)| {
        let middle =
            |(threads, rates): (&u32, &Vec<f64>)| Some((f64::from(*threads), median(rates)?));
        let middles: Vec<_> = rates.iter().filter_map(middle).collect();
        let least = middles.first()?.1;
        let points: Vec<_> = middles.iter().map(|(x, rate)| (*x, rate / least)).collect();
        (points.len() > 1).then_some(Line { points, ..line })
    };
    lines.into_iter().filter_map(with_points).collect()
}

//! Speed-up by threads, for suites whose cells have a number of them.

use std::collections::HashMap;

use assay_core::chart::{Axes, Line, LineChart};
use assay_core::run_file::{CellResult, RunFile, Status};
use assay_core::stats::median;

use crate::Labels;

/// A chart for each workload and phase that was measured with several numbers of threads: how many
/// times the rate of the fewest threads each number has.
pub(crate) fn charts(run: &RunFile) -> Vec<LineChart> {
    let (mut workloads, mut positions) = (Vec::<Vec<&CellResult>>::new(), HashMap::new());
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

/// A line for each engine that did the phase with at least two numbers of threads.
fn lines(labelled: &Labels, workload: &[&CellResult], phase: &str) -> Vec<Line> {
    let mut labels: Vec<String> = Vec::new();
    for result in workload {
        let label = labelled.label(&result.cell);
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let of_label = |wanted: &String| {
        let mut rates: Vec<(u32, Vec<f64>)> = Vec::new();
        for result in workload.iter().filter(|result| labelled.label(&result.cell) == *wanted) {
            let Some(found) = result.measurement.phase(phase) else {
                continue;
            };
            // A phase that is of one thread in every cell says nothing about threads.
            if found.threads != result.cell.threads {
                continue;
            }
            match rates.iter_mut().find(|(threads, _)| *threads == result.cell.threads) {
                Some((_, all)) => all.extend(found.trial_rate()),
                None => rates.push((result.cell.threads, found.trial_rate().into_iter().collect())),
            }
        }
        rates.sort_by_key(|(threads, _)| *threads);
        let middles: Vec<_> = rates
            .iter()
            .filter_map(|(threads, rates)| Some((f64::from(*threads), median(rates)?)))
            .collect();
        let least = middles.first()?.1;
        let points: Vec<_> = middles.iter().map(|(x, rate)| (*x, rate / least)).collect();
        (points.len() > 1).then_some(Line { label: wanted.clone(), points })
    };
    labels.iter().filter_map(of_label).collect()
}

//! The page's facts about a run apart from figures: machine, state, build, command, warnings.

use assay_core::doctor::{Finding, Gravity};
use assay_core::run_file::{OtherBuild, Phase, RunFile};
use assay_core::stats::median;
use serde::Serialize;

use super::Part;
use crate::blocks::Distinct;

/// A run without its cells.
#[derive(Serialize)]
pub(super) struct RunFacts {
    created: String,
    /// The run file, from the page's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    cpu: String,
    cpus: usize,
    memory_bytes: u64,
    kernel: String,
    distribution: String,
    governor: Option<String>,
    clock: String,
    huge_pages: String,
    load_1min: f32,
    version: String,
    rustc: String,
    opt_level: String,
    target: String,
    /// The build that took turns with this one, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<String>,
    command: String,
    planned: usize,
    cells: usize,
    warnings: Vec<Warning>,
    /// The cost of the null engine: the instrument's own part of each operation.
    instrument: Vec<Cost>,
}

#[derive(Serialize)]
struct Warning {
    subject: String,
    found: String,
    advice: String,
    /// The storage mode of the warning; none: all.
    storage: Option<String>,
}

#[derive(Serialize)]
struct Cost {
    phase: String,
    ns: f64,
}

impl RunFacts {
    pub(super) fn of(part: &Part) -> Self {
        let run = &part.run;
        let machine = &run.environment;
        let build = &run.build;
        Self {
            file: part.file.clone(),
            created: run.created.strftime("%Y-%m-%d %H:%M UTC").to_string(),
            cpu: machine.cpu_model.clone(),
            cpus: machine.cpus,
            memory_bytes: machine.memory_bytes,
            kernel: machine.kernel.clone(),
            distribution: machine.distribution.clone(),
            governor: machine.governor.clone(),
            clock: machine.clock_source.clone(),
            huge_pages: machine.transparent_huge_pages.clone(),
            load_1min: machine.load_1min,
            version: build.version.clone(),
            rustc: build.rustc.clone(),
            opt_level: build.opt_level.clone(),
            target: build.target.clone(),
            baseline: run.baseline.as_ref().map(OtherBuild::words),
            command: run.command.join(" "),
            planned: run.planned_cells,
            cells: run.cells.len(),
            warnings: warnings(run),
            instrument: instrument(run),
        }
    }
}

/// Returns the warnings about the storage modes of the run.
fn warnings(run: &RunFile) -> Vec<Warning> {
    let concerns = |finding: &&Finding| {
        finding.gravity == Gravity::Warning
            && finding
                .storage
                .is_none_or(|mode| run.results().any(|result| result.cell.storage == mode))
    };
    let warning = |finding: &Finding| Warning {
        subject: finding.subject.clone(),
        found: finding.found.clone(),
        advice: finding.advice.clone(),
        storage: finding.storage.map(|mode| mode.to_string()),
    };
    run.findings.iter().filter(concerns).map(warning).collect()
}

/// Returns the cost of an operation of each phase in the null engine: of a thread's operations, the
/// median over the rounds of all its cells.
fn instrument(run: &RunFile) -> Vec<Cost> {
    let cells = run.cells.iter().filter(|result| result.cell.calibration);
    let phases: Vec<&Phase> = cells.flat_map(|result| &result.measurement.phases).collect();
    let mut names = Distinct::default();
    phases.iter().for_each(|phase| names.add(phase.name.as_str()));
    let cost = |name: &str| {
        let of_name = phases.iter().filter(|phase| phase.name == name);
        let ns = of_name.flat_map(|phase| {
            let threads = f64::from(phase.threads.max(1));
            phase.rates().into_iter().map(move |rate| threads * 1e9 / rate)
        });
        Some(Cost { phase: name.into(), ns: median(&ns.collect::<Vec<_>>())? })
    };
    names.in_order.into_iter().filter_map(cost).collect()
}

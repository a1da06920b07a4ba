//! The overview of a plan: its runs, the cells that are done, and about how long the rest takes.

use std::collections::HashSet;
use std::path::Path;

use assay_core::run_file::RunFile;
use comfy_table::{CellAlignment, Table, presets};

use crate::planning::Planned;
use crate::planning::estimate::{Estimate, Forecast, operations, rough};
use crate::planning::plan_file::PlannedRun;

/// A run of a plan.
pub(super) struct Section<'s> {
    pub run: &'s PlannedRun,
    pub plan: &'s [Planned],
    /// For each cell of the plan, true if it is done; none if that is not known here.
    pub done: Option<&'s [bool]>,
}

/// Returns a table of the runs with their cells, and the time that is left.
pub(super) fn text(sections: &[Section<'_>], estimate: &Estimate) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let is_done_known = sections.iter().any(|section| section.done.is_some());
    let mut heads = vec!["run", "suite", "engines", "trials", "cells"];
    heads.extend(is_done_known.then_some("done"));
    heads.extend(["operations", "about"]);
    table.set_header(heads);
    let mut whole = Forecast::default();
    for Section { run: PlannedRun { title, request, .. }, plan, done } in sections {
        let measured = || plan.iter().map(|p| &p.cell).filter(|cell| !cell.calibration);
        let is_left = |at: usize| done.is_none_or(|done| !done[at]);
        let left = plan.iter().enumerate().filter(|(at, planned)| {
            is_left(*at) && planned.refusal.is_none() && !planned.cell.calibration
        });
        let engines: HashSet<_> = measured().map(|cell| &cell.engine).collect();
        let forecast = estimate.forecast(left.map(|(_, planned)| &planned.cell), None);
        whole.time += forecast.time;
        whole.guessed += forecast.guessed;
        let operations: u64 = measured().filter_map(operations).sum();
        let count = |done: &[bool]| done.iter().filter(|done| **done).count().to_string();
        let mut row = vec![
            title.clone(),
            request.workloads[0].suite.to_string(),
            engines.len().to_string(),
            request.trials.trials.to_string(),
            plan.len().to_string(),
        ];
        row.extend(done.map(count));
        row.extend([assay_report::format::quantity(operations as f64), rough(forecast.time)]);
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<_> = table.to_string().lines().map(|l| l.trim_end().to_string()).collect();
    format!("{}\n\n in all {}\n", lines.join("\n"), whole.text())
}

/// Returns the message for a time budget that is spent while work is left.
pub(super) fn goes_on(run: &RunFile, path: &Path) -> String {
    format!(
        "\n the time budget is spent: {} of {} cells are in {}; the same command continues\n",
        run.cells.len(),
        run.planned_cells,
        path.display()
    )
}

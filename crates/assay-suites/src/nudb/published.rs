//! What NuDB's bench prints, from a run file: two tables in seconds, or the raw batches.

use std::fmt::{self, Write};

use assay_core::chart::{Axes, Line, LineChart};
use assay_core::run_file::{CellResult, Phase, RunFile, Status};
use assay_core::stats::median;

use super::{ID, Options};

/// The suite's results, without those of engines that cannot do it.
fn of_suite(run: &RunFile) -> impl Iterator<Item = &CellResult> {
    let cannot =
        |status: &Status| matches!(status, Status::Unsupported(_) | Status::Unavailable(_));
    run.results().filter(move |r| r.cell.suite == ID && !cannot(&r.status))
}

fn engines(run: &RunFile) -> Vec<String> {
    let mut engines = Vec::new();
    for result in of_suite(run) {
        let label = crate::label(&result.cell, run);
        if !engines.contains(&label) {
            engines.push(label);
        }
    }
    engines
}

/// The published text: seconds by number of items and engine. A run in batches has no such
/// tables; its raw lines are shown.
pub fn text(run: &RunFile) -> Result<String, fmt::Error> {
    let options = of_suite(run).find_map(|result| crate::options::<Options>(&result.cell));
    let Some(options) = options else {
        return Ok(String::new());
    };
    if options.batch_size.is_some() {
        return raw(run);
    }
    let mut out = String::new();
    writeln!(out, "insert")?;
    table(&mut out, run, "insert", "inserts")?;
    writeln!(out, "\nfetch\n{}\nitems", options.fetches)?;
    table(&mut out, run, "fetch", "# db keys")?;
    Ok(out)
}

fn table(out: &mut String, run: &RunFile, phase: &str, title: &str) -> fmt::Result {
    let engines = engines(run);
    write!(out, "{title:>15}")?;
    let width = |engine: &str| (engine.len() + 2).max(14);
    engines.iter().try_for_each(|engine| write!(out, "{engine:>0$}", width(engine)))?;
    writeln!(out)?;
    let mut sizes: Vec<u64> = of_suite(run).map(|result| result.cell.rows).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for rows in sizes {
        write!(out, "{rows:>15}")?;
        for engine in &engines {
            let seconds: Vec<_> = of_suite(run)
                .filter(|r| r.cell.rows == rows && crate::label(&r.cell, run) == *engine)
                .filter(|r| !matches!(r.status, Status::Wrong(_)))
                .filter_map(|r| r.measurement.phase(phase)?.rounds.first())
                .map(|round| round.time_ns as f64 / 1e9)
                .collect();
            match median(&seconds) {
                Some(seconds) => write!(out, "{:>1$.2}", seconds.value, width(engine))?,
                None => write!(out, "{:>1$}", "–", width(engine))?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The batches as CSV: items in the store, engine, operation, operations per second.
pub fn raw(run: &RunFile) -> Result<String, fmt::Error> {
    let mut out = String::from("num_db_items,db,op,ops/sec\n");
    for result in of_suite(run) {
        let Some(size) = crate::options::<Options>(&result.cell).and_then(|o| o.batch_size) else {
            continue;
        };
        for phase in &result.measurement.phases {
            for (items, rate) in curve(phase, size) {
                let engine = crate::label(&result.cell, run);
                writeln!(out, "{items},{engine},{},{rate:.0}", phase.name)?;
            }
        }
    }
    Ok(out)
}

fn curve(phase: &Phase, batch_size: u64) -> impl Iterator<Item = (u64, f64)> {
    phase.rounds.iter().zip(1..).map(move |(round, batch)| (batch * batch_size, round.rate()))
}

/// Cost against size: a picture for each operation, from the batches or from the sizes.
pub fn charts(run: &RunFile) -> Vec<LineChart> {
    let chart = |phase: &str, title: &str| {
        let lines = engines(run).into_iter().filter_map(|engine| {
            let mut points: Vec<(f64, f64)> = Vec::new();
            let is_first =
                |r: &&CellResult| crate::label(&r.cell, run) == engine && r.cell.trial == 1;
            for result in of_suite(run).filter(is_first) {
                let Some(measured) = result.measurement.phase(phase) else { continue };
                match crate::options::<Options>(&result.cell).and_then(|o| o.batch_size) {
                    Some(size) => points.extend(curve(measured, size).map(|(x, y)| (x as f64, y))),
                    None => points.push((result.cell.rows as f64, *measured.rates().first()?)),
                }
            }
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            (points.len() > 1).then_some(Line { label: engine, points })
        });
        LineChart {
            name: format!("nudb-{phase}"),
            title: format!("nudb: {title}"),
            x_label: "items in the store".into(),
            y_label: format!("{phase} operations per second"),
            axes: Axes::Linear,
            lines: lines.collect(),
        }
    };
    [chart("insert", "inserts as the store grows"), chart("fetch", "fetches as the store grows")]
        .into_iter()
        .filter(|chart| !chart.lines.is_empty())
        .collect()
}

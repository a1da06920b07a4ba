//! The output of NuDB's bench, from a run file: two tables in seconds, or the raw batches.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use assay_core::chart::{Axes, Line, LineChart};
use assay_core::run_file::{CellResult, NO_TIME, Phase, RunFile, Status};
use assay_core::stats::median;

use super::{FETCH, INSERT, Nudb, Options};
use crate::suite::results;

/// A result of the suite, with its options where they can be read.
type Found<'r> = (&'r CellResult, Option<Options>);

fn engines(run: &RunFile, found: &[Found<'_>]) -> Vec<String> {
    crate::Labels::of(run).of_all(found.iter().map(|(result, _)| *result))
}

/// Returns the published text: seconds by number of items and engine; for a run in batches,
/// operations per second by the items in the store.
pub(super) fn text(run: &RunFile) -> Result<String, fmt::Error> {
    let found = results::<Nudb>(run);
    let Some(options) = found.iter().find_map(|(_, options)| options.clone()) else {
        return Ok(String::new());
    };
    let mut out = String::new();
    if let Some(size) = options.batch_size {
        for operation in [INSERT, FETCH] {
            summary(&mut out, run, &found, operation, size)?;
        }
        return Ok(out);
    }
    writeln!(out, "{INSERT}")?;
    table(&mut out, run, &found, INSERT, "inserts")?;
    writeln!(out, "\n{FETCH}\n{}\nitems", options.fetches())?;
    table(&mut out, run, &found, FETCH, "# db keys")?;
    Ok(out)
}

/// Returns the characters of a column, which are more for a long name.
fn width(engine: &str) -> usize {
    (engine.len() + 2).max(14)
}

/// Adds the heads of a table: the title of its lines, and the engines.
fn heads(out: &mut String, title: &str, engines: &[String]) -> fmt::Result {
    write!(out, "{title:>15}")?;
    engines.iter().try_for_each(|engine| write!(out, "{engine:>0$}", width(engine)))?;
    writeln!(out)
}

/// Adds operations per second at powers of ten, from 100 items on and from the first batch on; `NA`
/// if no batch has that number.
fn summary(
    out: &mut String,
    run: &RunFile,
    found: &[Found<'_>],
    operation: &str,
    batch_size: u64,
) -> fmt::Result {
    let engines = engines(run, found);
    let labels = crate::Labels::of(run);
    let results = || found.iter().map(|(result, _)| *result);
    writeln!(out, "\n{operation} (per second)")?;
    heads(out, "num_db_keys", &engines)?;
    let most = results().map(|result| result.cell.rows).max().unwrap_or(0);
    let powers = (2..).map_while(|power| 10u64.checked_pow(power));
    let sizes = powers.take_while(|&items| items <= most).filter(|&items| items >= batch_size);
    let mut too_short = false;
    for items in sizes {
        write!(out, "{items:>15}")?;
        for engine in &engines {
            let rates: Option<Vec<_>> = results()
                .filter(|r| labels.label(&r.cell) == *engine)
                .filter(|r| !matches!(r.status, Status::Wrong(_)))
                .filter_map(|r| r.measurement.phase(operation))
                .flat_map(|phase| curve(phase, batch_size))
                .filter_map(|(at, rate)| (at == items).then_some(rate))
                .collect();
            too_short |= rates.is_none();
            match rates.map(|rates| median(&rates)) {
                // The original prints whole numbers.
                Some(Some(rate)) => write!(out, "{:>1$}", rate as u64, width(engine))?,
                Some(None) => write!(out, "{:>1$}", "NA", width(engine))?,
                None => write!(out, "{:>1$}", "–", width(engine))?,
            }
        }
        writeln!(out)?;
    }
    if too_short { writeln!(out, "– {NO_TIME}") } else { Ok(()) }
}

fn table(
    out: &mut String,
    run: &RunFile,
    found: &[Found<'_>],
    phase: &str,
    title: &str,
) -> fmt::Result {
    let engines = engines(run, found);
    let labels = crate::Labels::of(run);
    heads(out, title, &engines)?;
    let mut sizes: BTreeMap<u64, Vec<&CellResult>> = BTreeMap::new();
    for (result, _) in found {
        sizes.entry(result.cell.rows).or_default().push(result);
    }
    for (rows, results) in sizes {
        write!(out, "{rows:>15}")?;
        for engine in &engines {
            let seconds: Vec<_> = results
                .iter()
                .filter(|r| labels.label(&r.cell) == *engine)
                .filter(|r| !matches!(r.status, Status::Wrong(_)))
                .filter_map(|r| r.measurement.phase(phase)?.rounds.first())
                .map(|round| round.time_ns as f64 / 1e9)
                .collect();
            match median(&seconds) {
                Some(seconds) => write!(out, "{:>1$.2}", seconds, width(engine))?,
                None => write!(out, "{:>1$}", "–", width(engine))?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Returns the batches as CSV: items in the store at a batch's start, engine, operation, operations
/// per second. A batch of inserts comes before the fetches from its store.
pub fn raw(run: &RunFile) -> Result<String, fmt::Error> {
    let mut out = String::from("num_db_items,db,op,ops/sec\n");
    let labels = crate::Labels::of(run);
    for (result, options) in results::<Nudb>(run) {
        let Some(size) = options.and_then(|options| options.batch_size) else {
            continue;
        };
        let engine = labels.label(&result.cell);
        let mut lines: Vec<_> = result
            .measurement
            .phases
            .iter()
            .flat_map(|phase| curve(phase, size).enumerate().map(move |batch| (phase, batch)))
            .collect();
        lines.sort_by_key(|(_, (batch, _))| *batch);
        for (phase, (_, (items, rate))) in lines {
            let rate = rate.map_or_else(|| "–".into(), |rate| format!("{rate:.6}"));
            writeln!(out, "{items},{engine},{},{rate}", phase.name)?;
        }
    }
    Ok(out)
}

/// Returns for each batch the items in the store at its start, and its rate.
fn curve(phase: &Phase, batch_size: u64) -> impl Iterator<Item = (u64, Option<f64>)> {
    let before = u64::from(phase.name == FETCH);
    let batches = phase.rounds.iter().zip(before..);
    batches.map(move |(round, batch)| (batch.saturating_mul(batch_size), round.rate()))
}

/// Returns charts of cost against size: one for each operation, from batches or from sizes.
pub(super) fn charts(run: &RunFile) -> Vec<LineChart> {
    let found = results::<Nudb>(run);
    let labels = crate::Labels::of(run);
    let chart = |phase: &str, title: &str| {
        let lines = engines(run, &found).into_iter().filter_map(|engine| {
            let mut points: Vec<(f64, f64)> = Vec::new();
            let mut id = None;
            for (result, options) in &found {
                if labels.label(&result.cell) != engine || result.cell.trial != 1 {
                    continue;
                }
                let Some(measured) = result.measurement.phase(phase) else { continue };
                id = Some(result.cell.engine.clone());
                match options.as_ref().and_then(|options| options.batch_size) {
                    Some(size) => points
                        .extend(curve(measured, size).filter_map(|(x, y)| Some((x as f64, y?)))),
                    None => points.push((result.cell.rows as f64, *measured.rates().first()?)),
                }
            }
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            (points.len() > 1).then_some(Line { label: engine, engine: id, points })
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
    [chart(INSERT, "inserts as the store grows"), chart(FETCH, "fetches as the store grows")]
        .into_iter()
        .filter(|chart| !chart.lines.is_empty())
        .collect()
}

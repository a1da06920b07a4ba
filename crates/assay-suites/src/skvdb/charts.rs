//! The published pictures: rate against threads, a line for each number of entries. Another
//! picture, over all engines, is ours.

use std::collections::BTreeSet;

use assay_core::chart::{Axes, Line, LineChart, Sheet};
use assay_core::run_file::{CellResult, RunFile};

use super::published::{Rates, TABLES, engines, found, picture_name, table};
use crate::Labels;

pub(super) fn charts(run: &RunFile) -> Vec<LineChart> {
    let mut charts = Vec::new();
    let found = found(run);
    for engine in engines(run, &found) {
        for published in &TABLES {
            let table = table(run, &found, &engine, published.phase);
            let line = |at: usize, entries: u32| Line {
                label: super::entries_in_words(entries),
                engine: None,
                points: table
                    .rows
                    .iter()
                    .filter_map(|(threads, rates)| Some((f64::from(*threads), rates[at]?)))
                    .collect(),
            };
            charts.push(LineChart {
                name: picture_name(&engine, published),
                title: format!("{engine}: {}", published.title),
                x_label: "threads".into(),
                y_label: "properties per second and thread".into(),
                axes: Axes::Linear,
                lines: table.entries.iter().enumerate().map(|(at, &e)| line(at, e)).collect(),
            });
        }
    }
    charts
}

/// Returns all engines in one picture: a chart for each published table and number of entries.
pub(super) fn over_engines(run: &RunFile) -> Option<Sheet> {
    let found = found(run);
    let engines = engines(run, &found);
    let labels = Labels::of(run);
    let mut charts = Vec::new();
    for (published, number) in TABLES.iter().zip(1..) {
        let tables: Vec<_> =
            engines.iter().map(|engine| table(run, &found, engine, published.phase)).collect();
        let entries: BTreeSet<u32> =
            tables.iter().flat_map(|table| &table.entries).copied().collect();
        for entries in entries.into_iter().rev() {
            let line = |(engine, table): (&String, &Rates)| {
                let at = table.entries.iter().position(|&of| of == entries)?;
                let points = table
                    .rows
                    .iter()
                    .filter_map(|(threads, rates)| Some((f64::from(*threads), rates[at]?)));
                let of_label = |result: &&CellResult| labels.label(&result.cell) == *engine;
                let result = found.iter().map(|(result, _)| *result).find(of_label);
                let label = engine.clone();
                let engine = result.map(|r| r.cell.engine.clone());
                Some(Line { label, engine, points: points.collect() })
            };
            let lines: Vec<_> = engines.iter().zip(&tables).filter_map(line).collect();
            charts.push(LineChart {
                name: format!("{}-{entries}", published.file),
                title: format!(
                    "{number}. {}, {}",
                    published.picture,
                    super::entries_in_words(entries)
                ),
                x_label: "threads".into(),
                y_label: "properties per second and thread".into(),
                axes: Axes::LogarithmicUpward,
                lines,
            });
        }
    }
    let is_of_several = engines.len() > 1 && !charts.is_empty();
    is_of_several.then(|| Sheet {
        name: "skvdb-engines".into(),
        title: "skvdb: all engines".into(),
        charts,
    })
}

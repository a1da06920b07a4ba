//! The published pictures: rate against threads, a line for each number of entries. Another
//! picture, over all engines, is ours.

use std::collections::BTreeSet;

use assay_core::chart::{Axes, Line, LineChart, Sheet};
use assay_core::plan::Cell;
use assay_core::run_file::RunFile;

use super::published::{Found, Rates, TABLES, engines, found, picture_name, table};

pub(super) fn charts(run: &RunFile) -> Vec<LineChart> {
    let (mut charts, found) = (Vec::new(), found(run));
    for engine in engines(run, &found) {
        for published in &TABLES {
            let table = table(run, &found, &engine, published.phase);
            let line = |at: usize, entries: u32| Line {
                label: super::entries_in_words(entries),
                engine: String::new(),
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
                let (label, engine) = (engine.clone(), id(&found, engine));
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

/// Returns the id of the engine that has this label.
fn id(found: &[Found<'_>], label: &str) -> String {
    let mut cells = found.iter().map(|(result, _)| &result.cell);
    let is_of = |cell: &&Cell| {
        label.strip_prefix(cell.engine.as_str()).is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('-') == Some(cell.storage.to_string().as_str())
        })
    };
    cells.find(is_of).map_or_else(String::new, |cell| cell.engine.clone())
}

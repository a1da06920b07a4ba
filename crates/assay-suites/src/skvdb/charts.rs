//! The published pictures: rate against threads, a line for each number of entries.

use assay_core::chart::{Axes, Line, LineChart};
use assay_core::run_file::RunFile;

use super::published::{TABLES, engines, found, picture_name, table};

pub(super) fn charts(run: &RunFile) -> Vec<LineChart> {
    let (mut charts, found) = (Vec::new(), found(run));
    for engine in engines(run, &found) {
        for published in &TABLES {
            let table = table(run, &found, &engine, published.phase);
            let line = |at: usize, entries: u32| Line {
                label: super::entries_in_words(entries),
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

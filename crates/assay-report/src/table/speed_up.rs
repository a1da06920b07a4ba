//! Speed-up and efficiency of engines that were measured with several numbers of threads, in the
//! order of the table above.

use assay_core::estimate::Bounds;

use super::grid::{Cell, Column, Grid, paragraph, shown};
use super::ranking::Group;
use super::{NAME_WIDTH, View};
use crate::blocks::Block;
use crate::format::{percent, times};
use crate::speed_up::{Row, SpeedUp, Table};

/// Adds the table of speed-ups, if there are any.
pub(super) fn draw(
    out: &mut String,
    block: &Block<'_>,
    groups: &[Group<'_>],
    phases: &[&str],
    view: View,
) {
    let lines = groups.iter().flat_map(|group| &group.lines).map(|ranked| ranked.line);
    let Some(table) = Table::of(block, &lines.collect::<Vec<_>>(), phases) else { return };
    out.push('\n');
    let figures = figures(&table, view.details);
    Grid { titles: titles(&table.rows), figures, groups: Vec::new() }.draw(out, view.width);
    let text =
        "speed-up: the rate ÷ that of the engine's fewest threads; %: speed-up ÷ ratio of threads";
    paragraph(out, &[text.into()], "", view.width);
}

fn titles(rows: &[Row<'_>]) -> Vec<Column> {
    let cells = |of: &dyn Fn(&Row<'_>) -> String| {
        rows.iter().map(|row| Cell::plain(of(row))).collect::<Vec<_>>()
    };
    let engine = cells(&|row| shown(&row.line.cell().engine, NAME_WIDTH));
    let threads = cells(&|Row { threads, fewest, .. }| format!("{threads} : {fewest}"));
    vec![Column::of_words("engine", engine), Column::of_figures("threads", threads)]
}

/// Returns a column for each work, and with details one for its intervals.
fn figures(Table { works, rows }: &Table<'_>, details: bool) -> Vec<Column> {
    let column = |work: &str, head: &str, text: fn(&SpeedUp) -> Option<String>| {
        let texts = rows.iter().map(|row| row.of_work(work).and_then(text));
        let texts: Vec<_> = texts.collect();
        let cells = texts.iter().map(|text| Cell::plain(text.as_deref().unwrap_or("–"))).collect();
        let has_any = texts.iter().any(Option::is_some);
        has_any.then(|| Column::of_figures(&format!("{work} {head}"), cells))
    };
    let both = |of: &SpeedUp| Some(format!("{} {:>5}", times(of.times), percent(of.efficiency())));
    let interval = |of: &SpeedUp| {
        of.interval.map(|Bounds { low, high }| format!("{} – {}", times(low), times(high)))
    };
    let mut columns: Vec<_> =
        works.iter().filter_map(|work| column(work, "speed-up", both)).collect();
    if details {
        let head = "speed-up 95 % interval";
        columns.extend(works.iter().filter_map(|work| column(work, head, interval)));
    }
    columns
}

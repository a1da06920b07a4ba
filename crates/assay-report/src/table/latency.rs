//! Latencies by kind of operation and engine, in the order of the table above.

use assay_core::engine::EngineRef;
use assay_core::run_file::{Latency, Status};

use super::NAME_WIDTH;
use super::View;
use super::grid::{Cell, Column, Grid, shown};
use super::ranking::Group;
use crate::format::duration_ns;
use crate::latencies::{of_trials, percentiles};

/// A latency of an engine, over its trials.
struct Taken<'r> {
    operation: String,
    engine: &'r EngineRef,
    threads: u32,
    latency: Latency,
}

/// Adds the table of latencies, if there are any.
pub(super) fn draw(out: &mut String, groups: &[Group<'_>], view: View) {
    let mut all: Vec<Taken<'_>> = Vec::new();
    for ranked in groups.iter().flat_map(|group| &group.lines) {
        if matches!(ranked.line.trouble(), Some(Status::Wrong(_))) {
            continue;
        }
        let cell = ranked.line.cell();
        all.extend(of_trials(&ranked.line.trials).into_iter().map(|(_, latency)| Taken {
            operation: latency.operation.to_lowercase(),
            engine: &cell.engine,
            threads: cell.threads,
            latency,
        }));
    }
    if all.is_empty() {
        return;
    }
    all.sort_by(|a, b| a.operation.cmp(&b.operation));
    let new_operation = |at: &usize| all[*at - 1].operation != all[*at].operation;
    let groups = (1..all.len()).filter(new_operation).collect();
    out.push('\n');
    Grid { titles: titles(&all), figures: figures(&all, view.details), groups }
        .draw(out, view.width);
}

fn titles(all: &[Taken<'_>]) -> Vec<Column> {
    let cells = |of: &dyn Fn(&Taken<'_>) -> String| {
        all.iter().map(|taken| Cell::plain(of(taken))).collect::<Vec<_>>()
    };
    let mut titles = vec![
        Column::of_words("latency of", cells(&|taken| shown(&taken.operation, NAME_WIDTH))),
        Column::of_words("engine", cells(&|taken| shown(taken.engine, NAME_WIDTH))),
    ];
    if all.iter().any(|taken| taken.threads != 1) {
        titles.push(Column::of_figures("threads", cells(&|taken| taken.threads.to_string())));
    }
    titles
}

/// Returns the percentiles that most readers want, or all that are known.
fn figures(all: &[Taken<'_>], details: bool) -> Vec<Column> {
    type Of = fn(&Latency) -> Option<u64>;
    let columns: [(&str, bool, Of); 8] = [
        ("mean", false, |latency| Some(latency.mean_ns as u64)),
        ("p50", true, |latency| percentiles(latency)[0].1),
        ("p90", false, |latency| percentiles(latency)[1].1),
        ("p95", false, |latency| percentiles(latency)[2].1),
        ("p99", true, |latency| percentiles(latency)[3].1),
        ("p99.9", true, |latency| percentiles(latency)[4].1),
        ("p99.99", false, |latency| percentiles(latency)[5].1),
        ("max", true, |latency| Some(latency.max_ns)),
    ];
    let wanted = columns.into_iter().filter(|(_, always, _)| *always || details);
    wanted
        .map(|(head, _, of)| {
            let text = |taken: &Taken<'_>| of(&taken.latency).map_or("–".into(), duration_ns);
            Column::of_figures(head, all.iter().map(|taken| Cell::plain(text(taken))).collect())
        })
        .collect()
}

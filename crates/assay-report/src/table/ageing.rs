//! The space and the costs of stores, by phase and engine, in the order of the table above.

use assay_core::engine::EngineRef;

use super::NAME_WIDTH;
use super::grid::{Cell, Column, Grid, shown};
use super::ranking::Group;
use crate::ageing::{Aged, aged, by_phase};
use crate::format::{bytes, duration_ns, times};

/// Adds the table of what stores take, if any cell says it.
pub(super) fn draw(out: &mut String, groups: &[Group<'_>], width: usize) {
    let mut all: Vec<(&EngineRef, u32, Aged)> = Vec::new();
    for ranked in groups.iter().flat_map(|group| &group.lines) {
        let cell = ranked.line.cell();
        all.extend(aged(ranked.line).into_iter().map(|of| (&cell.engine, cell.threads, of)));
    }
    if all.is_empty() {
        return;
    }
    by_phase(&mut all, |(_, _, of)| of);
    let is_new = |at: &usize| all[*at - 1].2.phase != all[*at].2.phase;
    let groups = (1..all.len()).filter(is_new).collect();
    let cells = |of: &dyn Fn(&(&EngineRef, u32, Aged)) -> String| {
        all.iter().map(|line| Cell::plain(of(line))).collect::<Vec<_>>()
    };
    let mut titles = vec![
        Column::of_words("store after", cells(&|(_, _, of)| shown(&of.phase, NAME_WIDTH))),
        Column::of_words("engine", cells(&|(engine, ..)| shown(engine, NAME_WIDTH))),
    ];
    if all.iter().any(|(_, threads, _)| *threads != 1) {
        titles.push(Column::of_figures("threads", cells(&|(_, threads, _)| threads.to_string())));
    }
    let dash = || "–".to_string();
    // Whether a phase was steady is a note of its engine.
    let figures = vec![
        Column::of_figures("on disk", cells(&|(_, _, of)| bytes(of.store_bytes))),
        Column::of_figures("÷ live", cells(&|(_, _, of)| of.space.map_or_else(dash, times))),
        Column::of_figures(
            "written ÷ changed",
            cells(&|(_, _, of)| of.written.map_or_else(dash, times)),
        ),
        Column::of_figures(
            "longest stall",
            cells(&|(_, _, of)| of.stall_ns.map_or_else(dash, duration_ns)),
        ),
    ];
    out.push('\n');
    Grid { titles, figures, groups }.draw(out, width);
}

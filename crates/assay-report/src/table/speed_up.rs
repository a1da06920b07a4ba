//! Speed-up and efficiency of engines that were measured with several numbers of threads, in the
//! order of the table above.

use assay_core::estimate::Bounds;

use super::grid::{Cell, Column, Grid, paragraph, shown};
use super::ranking::{Group, Ranked};
use super::{NAME_WIDTH, View};
use crate::blocks::{Block, Distinct};
use crate::format::{percent, times};
use crate::speed_up::{SpeedUp, SpeedUps};

/// A line with its speed-ups, one a phase.
type Scaled<'g> = (&'g Ranked<'g>, Vec<Option<SpeedUp>>);

/// Adds the table of speed-ups, if there are any.
pub(super) fn draw(
    out: &mut String,
    block: &Block<'_>,
    groups: &[Group<'_>],
    phases: &[&str],
    view: View,
) {
    let scaled = scaled(block, groups, phases);
    if scaled.is_empty() {
        return;
    }
    out.push('\n');
    let figures = figures(&scaled, phases, view.details);
    Grid { titles: titles(&scaled), figures, groups: Vec::new() }.draw(out, view.width);
    let text =
        "speed-up: the rate ÷ that of the engine's fewest threads; %: speed-up ÷ ratio of threads";
    paragraph(out, &[text.into()], "", view.width);
}

/// Returns the lines that have a speed-up, those of an engine together.
fn scaled<'g>(block: &Block<'_>, groups: &'g [Group<'g>], phases: &[&str]) -> Vec<Scaled<'g>> {
    let speed_ups = SpeedUps::of(block);
    let lines = || groups.iter().flat_map(|group| &group.lines);
    let mut engines = Distinct::default();
    lines().for_each(|ranked| engines.add(&ranked.line.cell().engine));
    let of_line = |ranked: &'g Ranked<'g>| {
        let of_line = speed_ups.of_line(ranked.line);
        let found = phases.iter().map(|phase| of_line.of_phase(phase));
        let found: Vec<_> = found.collect();
        found.iter().any(Option::is_some).then_some((ranked, found))
    };
    let mut scaled: Vec<_> = lines().filter_map(of_line).collect();
    let place = |(ranked, _): &Scaled<'_>| {
        engines.in_order.iter().position(|engine| **engine == ranked.line.cell().engine)
    };
    scaled.sort_by_key(place);
    scaled
}

fn titles(scaled: &[Scaled<'_>]) -> Vec<Column> {
    let cells = |of: &dyn Fn(&Scaled<'_>) -> String| {
        scaled.iter().map(|line| Cell::plain(of(line))).collect::<Vec<_>>()
    };
    let engine = cells(&|(ranked, _)| shown(&ranked.line.cell().engine, NAME_WIDTH));
    let threads = cells(&|(_, found)| {
        let any = found.iter().flatten().next();
        any.map_or_else(String::new, |of| format!("{} : {}", of.threads, of.fewest))
    });
    vec![Column::of_words("engine", engine), Column::of_figures("threads", threads)]
}

/// Returns a column for each phase, and with details one for its intervals.
fn figures(scaled: &[Scaled<'_>], phases: &[&str], details: bool) -> Vec<Column> {
    let column = |at: usize, head: String, text: &dyn Fn(&SpeedUp) -> Option<String>| {
        let texts = scaled.iter().map(|(_, found)| found[at].as_ref().and_then(text));
        let texts: Vec<_> = texts.collect();
        let cells = texts.iter().map(|text| Cell::plain(text.as_deref().unwrap_or("–"))).collect();
        texts.iter().any(Option::is_some).then(|| Column::of_figures(&head, cells))
    };
    let both = |of: &SpeedUp| Some(format!("{} {:>5}", times(of.times), percent(of.efficiency())));
    let interval = |of: &SpeedUp| {
        of.interval.map(|Bounds { low, high }| format!("{} – {}", times(low), times(high)))
    };
    let named = || phases.iter().enumerate();
    let mut columns: Vec<_> =
        named().filter_map(|(at, phase)| column(at, format!("{phase} speed-up"), &both)).collect();
    if details {
        let head = |phase: &str| format!("{phase} speed-up 95 % interval");
        columns.extend(named().filter_map(|(at, phase)| column(at, head(phase), &interval)));
    }
    columns
}

//! Draws one picture as dots on logarithmic axes, for engines that are far apart: a line for each
//! engine, the best first, and on it a mark for each size.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::frame::Frame;
use super::legend::{Head, Key, Sign};
use super::style::{Drawn, FAINT, INK, colour, mark, style, width};
use super::{Figure, Panel, Picture};
use crate::format::quantity;

/// The factor between figures beyond which proportional bars show nothing of the smaller ones.
pub(super) const MOST_FACTOR: f64 = 30.0;

const PANEL_WIDTH: u32 = 760;
const CAPTION: u32 = 40;
const AXIS: u32 = 34;
const LINE: u32 = 26;
/// Pixels between the marks of sizes on a line.
const APART: i32 = 5;
const LETTERS: u32 = 15;

/// Returns true if a panel's figures are too far apart for bars.
pub(super) fn are_far_apart(panel: &Panel) -> bool {
    let Some((least, most)) = bounds(panel) else { return false };
    most / least > MOST_FACTOR
}

/// Returns the least and the greatest of a panel's figures.
fn bounds(panel: &Panel) -> Option<(f64, f64)> {
    let values = panel.rates().map(|rate| rate.estimate.value).filter(|value| *value > 0.0);
    let bounds = |found: Option<(f64, f64)>, value: f64| {
        let (least, most) = found.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    };
    values.fold(None, bounds)
}

/// Returns the title, and the mark of each size.
fn head(picture: &Picture) -> Head {
    let groups = picture.panels.first().map_or(&[][..], |panel| &panel.groups);
    let key = |(at, group): (usize, &super::Group)| Key {
        sign: Sign::Mark(at),
        label: group.label.clone(),
    };
    let keys = groups.iter().enumerate().map(key).collect();
    Head::new(&picture.title, keys, frame(picture).width())
}

fn frame(picture: &Picture) -> Frame {
    let height = CAPTION + AXIS + LINE * picture.bars.len() as u32;
    Frame { panel: (PANEL_WIDTH, height), panels: picture.panels.len() }
}

/// Returns the picture's width and height in pixels.
pub(super) fn size(picture: &Picture) -> (u32, u32) {
    frame(picture).size(&head(picture))
}

/// Draws the picture on an area of that size.
pub(super) fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: &Picture,
) -> Drawn<DB> {
    let order = best_first(picture);
    frame(picture).draw(area, &head(picture), &mut |at, place| {
        draw_panel(place, picture, &picture.panels[at], &order)
    })
}

/// Returns the places of the bars: first those nearest to the best of each group.
fn best_first(picture: &Picture) -> Vec<usize> {
    let groups = || picture.panels.iter().flat_map(|panel| &panel.groups);
    let behind = |at: usize| {
        let of = |figure: &Figure| figure.rate().map(|rate| rate.estimate.value.max(1e-9).ln());
        let logarithms = groups().filter_map(|group| {
            let best = group.figures.iter().filter_map(of).max_by(f64::total_cmp)?;
            Some(best - of(&group.figures[at])?)
        });
        let all: Vec<f64> = logarithms.collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let mut order: Vec<(usize, f64)> = (0..picture.bars.len()).map(|at| (at, behind(at))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    order.into_iter().map(|(at, _)| at).collect()
}

fn draw_panel<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: &Picture,
    panel: &Panel,
    order: &[usize],
) -> Drawn<DB> {
    area.draw(&Text::new(panel.caption(), (20, 10), style(18, INK)))?;
    let Some((least, most)) = bounds(panel) else { return Ok(()) };
    let labels = picture.bars.iter().map(|bar| width(&bar.label, LETTERS)).max().unwrap_or(0);
    let left = labels.min(PANEL_WIDTH / 2) as i32 + 36;
    let right = PANEL_WIDTH as i32 - 34;
    let from = least.log10().floor();
    let to = most.log10().ceil().max(least.log10().floor() + 1.0);
    let across = |value: f64| {
        let share = (value.max(1e-9).log10() - from) / (to - from);
        left + (share.clamp(0.0, 1.0) * f64::from(right - left)) as i32
    };
    let top = CAPTION as i32;
    let bottom = (CAPTION + LINE * order.len() as u32) as i32;
    let centred = style(14, INK).pos(Pos::new(HPos::Center, VPos::Top));
    for power in from as i32..=to as i32 {
        let x = across(10f64.powi(power));
        area.draw(&PathElement::new([(x, top), (x, bottom)], FAINT))?;
        area.draw(&Text::new(quantity(10f64.powi(power)), (x, bottom + 6), centred.clone()))?;
    }
    for (at, line) in order.iter().zip(0..) {
        let bar = &picture.bars[*at];
        let y = top + LINE as i32 * line + LINE as i32 / 2;
        let named = style(LETTERS, INK).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(bar.label.clone(), (left - 12, y), named))?;
        area.draw(&PathElement::new([(left, y), (right, y)], FAINT))?;
        let middle = (panel.groups.len() as i32 - 1) * APART / 2;
        for (group, number) in panel.groups.iter().zip(0..) {
            let y = y - middle + APART * number;
            let Some(rate) = group.figures[*at].rate() else { continue };
            if let Some(bounds) = rate.estimate.spread.bounds() {
                let ends = [(across(bounds.low), y), (across(bounds.high), y)];
                area.draw(&PathElement::new(ends, colour(bar.look).mix(0.5).stroke_width(1)))?;
            }
            let place = (across(rate.estimate.value), y);
            mark(area, place, number as usize, colour(bar.look))?;
        }
    }
    Ok(())
}

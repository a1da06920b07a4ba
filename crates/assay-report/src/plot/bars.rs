//! Draws one picture as bars: panels of grouped bars with whiskers, the legend above.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::frame::Frame;
use super::legend::{Head, Key, Sign};
use super::style::{Drawn, FAINT, INK, bar_inks, style};
use super::{Bar, Figure, Panel, Picture};
use crate::format::quantity;

const PANEL: (u32, u32) = (760, 430);
/// The share of a group's width that its bars take.
const FILLED: f64 = 0.86;
/// The share of a panel's height that stays free above the highest whisker, for figures.
const HEADROOM: f64 = 0.24;

/// Returns the title and the legend.
pub(super) fn head(picture: &Picture) -> Head {
    let key = |bar: &Bar| Key { sign: Sign::Bar(bar.look), label: bar.label.clone() };
    Head::new(&picture.title, picture.bars.iter().map(key).collect(), frame(picture).width())
}

fn frame(picture: &Picture) -> Frame {
    Frame { panel: PANEL, panels: picture.panels.len() }
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
    frame(picture).draw(area, &head(picture), &mut |at, place| {
        draw_panel(place, &picture.panels[at], &picture.bars)
    })
}

fn draw_panel<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    panel: &Panel,
    bars: &[Bar],
) -> Drawn<DB> {
    let area = area.margin(6, 10, 10, 16);
    let tops = panel.rates().map(|rate| match rate.estimate.spread.bounds() {
        Some(bounds) => bounds.high.max(rate.estimate.value),
        None => rate.estimate.value,
    });
    let most = tops.fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption(panel.caption(), style(19, INK))
        .x_label_area_size(30)
        .y_label_area_size(74)
        .build_cartesian_2d(0.0..panel.groups.len() as f64, 0.0..most / (1.0 - HEADROOM))?;
    let label = |y: &f64| quantity(*y);
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .disable_x_axis()
        .y_labels(6)
        .y_label_formatter(&label)
        .y_label_style(style(14, INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(INK);
    mesh.draw()?;
    let width = FILLED / bars.len() as f64;
    let font = if panel.groups.len() * bars.len() > 24 { 11 } else { 13 };
    let upright = style(font, INK)
        .transform(FontTransform::Rotate270)
        .pos(Pos::new(HPos::Left, VPos::Center));
    for (group, left) in panel.groups.iter().zip(0..) {
        let left = f64::from(left) + (1.0 - FILLED) / 2.0;
        for ((figure, bar), at) in group.figures.iter().zip(bars).zip(0..) {
            let from = left + width * f64::from(at);
            let middle = from + width / 2.0;
            let rate = match figure {
                Figure::Rate(rate) => rate,
                Figure::Absent => continue,
                Figure::NoTime => {
                    let place = place(&area, &chart, (middle, 0.0));
                    let why = "– too short to time";
                    area.draw(&Text::new(why, (place.0, place.1 - 4), upright.clone()))?;
                    continue;
                }
            };
            let value = rate.estimate.value;
            let corners = [(from + width * 0.06, 0.0), (from + width * 0.94, value)];
            let (inside, edge) = bar_inks(bar.look);
            chart.draw_series([Rectangle::new(corners, inside.filled())])?;
            chart.draw_series([Rectangle::new(corners, edge)])?;
            let mut above = value;
            if let Some(bounds) = rate.estimate.spread.bounds() {
                above = above.max(bounds.high);
                let ends = [(middle, bounds.low), (middle, bounds.high)];
                chart.draw_series([PathElement::new(ends, INK.stroke_width(1))])?;
            }
            let place = place(&area, &chart, (middle, above));
            let shown = quantity(value);
            area.draw(&Text::new(shown, (place.0, place.1 - 4), upright.clone()))?;
        }
        let place = place(&area, &chart, (left + FILLED / 2.0, 0.0));
        let below = style(16, INK).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(group.label.clone(), (place.0, place.1 + 8), below))?;
    }
    Ok(())
}

/// Returns the position of a point of the chart, in pixels of the panel.
fn place<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    chart: &ChartContext<'_, DB, Cartesian2d<RangedF64, RangedF64>>,
    point: (f64, f64),
) -> (i32, i32) {
    let (x, y) = chart.backend_coord(&point);
    let (left, top) = area.get_base_pixel();
    (x - left, y - top)
}

type RangedF64 = plotters::coord::types::RangedCoordf64;

//! Draws one picture: panels of grouped bars with whiskers, a legend above.

use assay_core::estimate::{Bounds, Spread};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{COLOURS, Drawn, FAINT, INK, style};
use super::{Bar, Figure, Panel, Picture, text};
use crate::format::quantity;

const PANEL: (u32, u32) = (760, 430);
const HEAD: u32 = 96;
/// The share of a group's width that its bars take.
const FILLED: f64 = 0.86;

/// Pixels that a picture takes: two panels side by side.
pub(super) fn size(picture: &Picture) -> (u32, u32) {
    let rows = picture.panels.len().div_ceil(2) as u32;
    let columns = picture.panels.len().min(2) as u32;
    (PANEL.0 * columns, HEAD + PANEL.1 * rows)
}

/// Draws the picture on an area of that size.
pub(super) fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    picture: &Picture,
    logarithmic: bool,
) -> Drawn<DB> {
    area.fill(&WHITE)?;
    let (head, body) = area.split_vertically(HEAD);
    legend(&head, picture)?;
    let rows = picture.panels.len().div_ceil(2);
    let columns = picture.panels.len().min(2);
    for (panel, place) in picture.panels.iter().zip(body.split_evenly((rows, columns))) {
        draw_panel(&place, panel, &picture.bars, logarithmic)?;
    }
    area.present()
}

fn colour(bar: &Bar) -> RGBColor {
    COLOURS[bar.colour % COLOURS.len()]
}

fn legend<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, picture: &Picture) -> Drawn<DB> {
    area.draw(&Text::new(text::title(&picture.title), (20, 14), style(24, INK)))?;
    let letters = style(17, INK);
    let (mut x, mut y) = (20, 50);
    let width = area.dim_in_pixel().0 as i32;
    for bar in &picture.bars {
        let (text_width, _) = area.estimate_text_size(&bar.label, &letters)?;
        if x + text_width as i32 + 40 > width {
            (x, y) = (20, y + 22);
        }
        area.draw(&Rectangle::new([(x, y), (x + 14, y + 14)], colour(bar).filled()))?;
        area.draw(&Text::new(bar.label.clone(), (x + 20, y - 1), letters.clone()))?;
        x += text_width as i32 + 44;
    }
    Ok(())
}

fn draw_panel<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    panel: &Panel,
    bars: &[Bar],
    logarithmic: bool,
) -> Drawn<DB> {
    let area = area.margin(6, 10, 10, 16);
    let figures = panel.groups.iter().flat_map(|group| &group.figures);
    let rates = figures.filter_map(Figure::rate);
    let values: Vec<f64> = rates.map(|rate| rate.estimate.value.max(1.0)).collect();
    let most = values.iter().copied().fold(1.0, f64::max);
    let least = values.iter().copied().fold(most, f64::min);
    // A value's height: itself, or its decimal logarithm.
    let height = |value: f64| if logarithmic { value.max(1.0).log10() } else { value };
    let floor = if logarithmic { least.log10().floor().min(most.log10() - 1.0) } else { 0.0 };
    let ceiling = floor + (height(most) - floor) * 1.22;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{}, operations a second{}", panel.phase, whiskers(panel)), style(19, INK))
        .x_label_area_size(30)
        .y_label_area_size(74)
        .build_cartesian_2d(0.0..panel.groups.len() as f64, floor..ceiling)?;
    let label = |y: &f64| quantity(if logarithmic { 10f64.powf(*y) } else { *y });
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
            let rate = match figure {
                Figure::Rate(rate) => rate,
                Figure::Absent => continue,
                Figure::NoTime => {
                    let place = place(&area, &chart, (from + width / 2.0, floor));
                    let why = "– too short to time";
                    area.draw(&Text::new(why, (place.0, place.1 - 4), upright.clone()))?;
                    continue;
                }
            };
            let (middle, top) = (from + width / 2.0, height(rate.estimate.value));
            chart.draw_series([Rectangle::new(
                [(from + width * 0.06, floor), (from + width * 0.94, top)],
                colour(bar).filled(),
            )])?;
            let mut above = top;
            if let Some(Bounds { low, high }) = rate.estimate.spread.bounds() {
                above = above.max(height(high));
                let ends = [(middle, height(low).max(floor)), (middle, height(high))];
                chart.draw_series([PathElement::new(ends, INK.stroke_width(1))])?;
            }
            let place = place(&area, &chart, (middle, above));
            let value = quantity(rate.estimate.value);
            area.draw(&Text::new(value, (place.0, place.1 - 4), upright.clone()))?;
        }
        let place = place(&area, &chart, (left + FILLED / 2.0, floor));
        let below = style(16, INK).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(group.label.clone(), (place.0, place.1 + 8), below))?;
    }
    Ok(())
}

/// What the whiskers of a panel are.
fn whiskers(panel: &Panel) -> &'static str {
    let rates = panel.groups.iter().flat_map(|group| &group.figures).filter_map(Figure::rate);
    let has = |kind: fn(&Spread) -> bool| rates.clone().any(|rate| kind(&rate.estimate.spread));
    let has_intervals = has(|spread| matches!(spread, Spread::Interval(_)));
    let has_ranges = has(|spread| matches!(spread, Spread::Range(_)));
    match (has_intervals, has_ranges) {
        (true, false) => " · whiskers: 95 % intervals",
        (false, true) => " · whiskers: range of rounds",
        (true, true) => " · whiskers: 95 % intervals or ranges of rounds",
        (false, false) => "",
    }
}

/// Where a point of the chart lies in pixels of the panel.
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

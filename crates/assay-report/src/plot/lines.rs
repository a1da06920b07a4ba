//! Draws one line chart: a legend above, lines with a mark at each point.

use assay_core::chart::{Axes, Line, LineChart};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::style::{COLOURS, Drawn, FAINT, INK, style};
use super::text;
use crate::format::quantity;

/// Pixels that a picture takes.
pub(super) const SIZE: (u32, u32) = (900, 560);
const HEAD: u32 = 96;

/// Draws the chart on an area of that size; both axes are logarithmic if asked.
pub(super) fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    chart: &LineChart,
    logarithmic: bool,
) -> Drawn<DB> {
    area.fill(&WHITE)?;
    let (head, body) = area.split_vertically(HEAD);
    legend(&head, chart)?;
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(1.0, f64::max);
    let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::MAX, f64::min).max(1e-3);
    let (x_most, y_most) = (most(|p| p.0), most(|p| p.1) * 1.05);
    let logarithmic_y = (least(|p| p.1) / 1.2..y_most * 1.2).log_scale();
    match if logarithmic { Axes::Logarithmic } else { chart.axes } {
        Axes::Linear => axes(&body, chart, 0.0..x_most, 0.0..y_most)?,
        Axes::LogarithmicUpward => axes(&body, chart, 0.0..x_most, logarithmic_y)?,
        Axes::Logarithmic => {
            let x = least(|p| p.0)..x_most.max(least(|p| p.0) * 1.001);
            axes(&body, chart, x.log_scale(), logarithmic_y)?;
        }
    }
    area.present()
}

fn legend<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, chart: &LineChart) -> Drawn<DB> {
    let letters = style(16, INK);
    let (mut x, mut y) = (20, 50);
    let width = area.dim_in_pixel().0 as i32;
    // A long title is smaller.
    let (title, mut title_size) = (text::title(&chart.title), 22);
    while title_size > 12
        && area.estimate_text_size(&title, &style(title_size, INK))?.0 as i32 + 40 > width
    {
        title_size -= 1;
    }
    area.draw(&Text::new(title, (20, 14), style(title_size, INK)))?;
    for (line, at) in chart.lines.iter().zip(0..) {
        let label = text::short(&line.label);
        let (text_width, _) = area.estimate_text_size(&label, &letters)?;
        if x + text_width as i32 + 44 > width {
            (x, y) = (20, y + 22);
        }
        area.draw(&Rectangle::new([(x, y + 5), (x + 18, y + 8)], colour(at).filled()))?;
        area.draw(&Text::new(label, (x + 24, y - 1), letters.clone()))?;
        x += text_width as i32 + 48;
    }
    Ok(())
}

fn colour(at: usize) -> RGBColor {
    COLOURS[at % COLOURS.len()]
}

fn axes<DB, X, Y>(area: &DrawingArea<DB, Shift>, chart: &LineChart, x: X, y: Y) -> Drawn<DB>
where
    DB: DrawingBackend,
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut context = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d(x, y)?;
    let label = |value: &f64| quantity(*value);
    context
        .configure_mesh()
        .x_desc(chart.x_label.as_str())
        .y_desc(chart.y_label.as_str())
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .label_style(style(14, INK))
        .axis_desc_style(style(15, INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .draw()?;
    for (Line { points, .. }, at) in chart.lines.iter().zip(0..) {
        context.draw_series([PathElement::new(points.clone(), colour(at).stroke_width(2))])?;
        if points.len() <= 40 {
            let marks = points.iter().map(|point| Circle::new(*point, 3, colour(at).filled()));
            context.draw_series(marks)?;
        }
    }
    Ok(())
}

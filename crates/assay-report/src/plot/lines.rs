//! Draws line charts: one, or several side by side with one legend above.

use std::collections::HashMap;

use assay_core::chart::{Axes, Line, LineChart};
use assay_core::engine::EngineRef;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use super::axes::{Factors, Nines};
use super::legend::{Head, Key, Sign};
use super::style::{Drawn, FAINT, INK, colour, mark, style};
use super::{MOST_SHOWN, text};
use crate::format::quantity;
use crate::palette::Look;

/// The size in pixels of a single chart, and of one of several.
const ALONE: (u32, u32) = (900, 480);
const ONE_OF_MANY: (u32, u32) = (560, 340);
const MOST_BESIDE: usize = 3;

/// A title above charts that share their lines.
pub(super) struct Charts<'c> {
    pub(super) title: &'c str,
    pub(super) charts: &'c [LineChart],
    /// The looks of engines.
    pub(super) looks: &'c HashMap<&'c EngineRef, Look>,
    /// The texts of engines' marks, by their ids.
    pub(super) says: &'c HashMap<&'c EngineRef, String>,
    /// True if both axes are logarithmic, whatever the charts say.
    pub(super) are_logarithmic: bool,
}

impl Charts<'_> {
    fn columns(&self) -> usize {
        self.charts.len().clamp(1, MOST_BESIDE)
    }

    fn one(&self) -> (u32, u32) {
        if self.charts.len() > 1 { ONE_OF_MANY } else { ALONE }
    }

    /// Returns each line's look: its engine's. Lines of one engine differ in their marks.
    fn looks_of<'l>(&self, chart: &'l LineChart) -> Vec<(&'l Line, Look)> {
        let mut seen: HashMap<&EngineRef, usize> = HashMap::new();
        let look = |(at, line): (usize, &'l Line)| {
            let known = line.engine.as_ref().and_then(|engine| {
                let (engine, look) = self.looks.get_key_value(engine)?;
                Some((*engine, look))
            });
            let Some((engine, look)) = known else { return (line, Look::of(at)) };
            let before = seen.entry(engine).or_default();
            *before += 1;
            (line, Look { mark: look.mark + *before - 1, ..*look })
        };
        chart.lines.iter().take(MOST_SHOWN).enumerate().map(look).collect()
    }

    fn head(&self) -> Head {
        let mut keys: Vec<Key> = Vec::new();
        for (line, look) in self.charts.iter().flat_map(|chart| self.looks_of(chart)) {
            let says = line.engine.as_ref().and_then(|engine| self.says.get(engine));
            let says = says.map_or("", String::as_str);
            let key = Key { sign: Sign::Line(look), label: line.label.clone() + says };
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let most = self.charts.iter().map(|chart| chart.lines.len()).max().unwrap_or(0);
        let title = if most > MOST_SHOWN {
            format!("{} · {MOST_SHOWN} of {most} lines", self.title)
        } else {
            self.title.to_string()
        };
        keys.truncate(MOST_SHOWN);
        Head::new(&title, keys, self.one().0 * self.columns() as u32)
    }

    /// Returns the picture's width and height in pixels.
    pub(super) fn size(&self) -> (u32, u32) {
        let rows = self.charts.len().div_ceil(self.columns()) as u32;
        let (width, height) = self.one();
        (width * self.columns() as u32, self.head().height + height * rows)
    }

    /// Draws the charts on an area of that size.
    pub(super) fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        area.fill(&WHITE)?;
        let head = self.head();
        let (above, body) = area.split_vertically(head.height);
        head.draw(&above)?;
        let rows = self.charts.len().div_ceil(self.columns());
        let places = body.split_evenly((rows, self.columns()));
        for (chart, place) in self.charts.iter().zip(places) {
            self.draw_one(&place, chart)?;
        }
        area.present()
    }

    fn draw_one<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        chart: &LineChart,
    ) -> Drawn<DB> {
        let points = || chart.lines.iter().flat_map(|line| &line.points);
        if points().next().is_none() {
            return Ok(());
        }
        let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(1.0, f64::max);
        let least =
            |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::MAX, f64::min).max(1e-3);
        let x_most = most(|p| p.0);
        let y_most = most(|p| p.1) * 1.05;
        let logarithmic_y = Factors::new(least(|p| p.1) / 1.2, y_most * 1.2);
        let chosen = match (self.are_logarithmic, chart.axes) {
            (true, Axes::Linear | Axes::LogarithmicUpward) => Axes::Logarithmic,
            (_, axes) => axes,
        };
        match chosen {
            Axes::Linear => self.axes(area, chart, 0.0..x_most, 0.0..y_most),
            Axes::LogarithmicUpward => self.axes(area, chart, 0.0..x_most, logarithmic_y),
            Axes::Logarithmic => {
                self.axes(area, chart, Factors::new(least(|p| p.0), x_most), logarithmic_y)
            }
            Axes::Nines => self.axes(area, chart, Nines::until(x_most * 1.03), logarithmic_y),
        }
    }

    fn axes<DB, X, Y>(
        &self,
        area: &DrawingArea<DB, Shift>,
        chart: &LineChart,
        x: X,
        y: Y,
    ) -> Drawn<DB>
    where
        DB: DrawingBackend,
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut builder = ChartBuilder::on(area);
        builder.margin(16).x_label_area_size(44).y_label_area_size(76);
        if self.charts.len() > 1 {
            builder.caption(text::short(&chart.title), style(15, INK));
        }
        let mut context = builder.build_cartesian_2d(x, y)?;
        let across = |value: &f64| match chart.axes {
            Axes::Nines => Nines::label(*value),
            Axes::Linear | Axes::Logarithmic | Axes::LogarithmicUpward => quantity(*value),
        };
        let upward = |value: &f64| quantity(*value);
        context
            .configure_mesh()
            .x_desc(chart.x_label.as_str())
            .y_desc(chart.y_label.as_str())
            .x_label_formatter(&across)
            .y_label_formatter(&upward)
            .label_style(style(14, INK))
            .axis_desc_style(style(15, INK))
            .light_line_style(TRANSPARENT)
            .bold_line_style(FAINT)
            .axis_style(INK)
            .draw()?;
        let (left, top) = area.get_base_pixel();
        for (Line { points, .. }, look) in self.looks_of(chart) {
            let ink = colour(look).stroke_width(2);
            match look.mark % 4 {
                0 => context.draw_series([PathElement::new(points.clone(), ink)])?,
                dashed => {
                    let (dash, gap) = [(8, 4), (2, 4), (10, 3)][dashed - 1];
                    let line = points.iter().copied();
                    context.draw_series([DashedPathElement::new(line, dash, gap, ink)])?
                }
            };
            if points.len() <= 40 {
                for point in points {
                    let (x, y) = context.backend_coord(point);
                    mark(area, (x - left, y - top), look.mark, colour(look))?;
                }
            }
        }
        Ok(())
    }
}

//! Pictures as data: a suite's charts of a run, for views that know no suite.

use crate::engine::EngineRef;

/// Lines over a common axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// A name for the file, without its ending: letters, digits, hyphens and
    /// underscores.
    pub name: String,
    /// The chart's title.
    pub title: String,
    /// The label of the horizontal axis, with its unit.
    pub x_label: String,
    /// The label of the vertical axis, with its unit.
    pub y_label: String,
    /// The scales of the axes.
    pub axes: Axes,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// The scales of a chart's axes, unless an option says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Both axes are linear, from zero.
    Linear,
    /// Both axes are logarithmic.
    Logarithmic,
    /// The horizontal axis is linear, the vertical one logarithmic.
    LogarithmicUpward,
    /// Horizontal: nines of a share (90 % is one, 99 % are two); vertical: logarithmic.
    Nines,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The line's name in the legend.
    pub label: String,
    /// The line's engine, which decides its colour, if it has one.
    pub engine: Option<EngineRef>,
    /// The line's points, ascending.
    pub points: Vec<(f64, f64)>,
}

/// Line charts next to each other in one picture, whose lines have one legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// A name for the file, as that of a chart.
    pub name: String,
    /// The sheet's title.
    pub title: String,
    /// The charts; each title says what differs.
    pub charts: Vec<LineChart>,
}

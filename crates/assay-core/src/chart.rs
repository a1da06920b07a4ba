//! Pictures as data: what a suite wants drawn of a run, for views that know no suite.

/// Lines over a common axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// A name for the file, without its ending: letters, digits, hyphens and
    /// underscores.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What is across, with its unit.
    pub x_label: String,
    /// What is upward, with its unit.
    pub y_label: String,
    /// How it is scaled.
    pub axes: Axes,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// How axes are scaled, unless an option says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Both in proportion, from zero.
    Linear,
    /// Both by factors.
    Logarithmic,
    /// Across in proportion, upward by factors.
    LogarithmicUpward,
    /// Across the nines of a share (90 % is one, 99 % are two), upward by factors.
    Nines,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub label: String,
    /// The engine that it is of, which decides its colour; empty if it is of none.
    pub engine: String,
    /// Its points, ascending.
    pub points: Vec<(f64, f64)>,
}

/// Line charts beside each other in one picture, whose lines have one legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// A name for the file, as that of a chart.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The charts; each title says what differs.
    pub charts: Vec<LineChart>,
}

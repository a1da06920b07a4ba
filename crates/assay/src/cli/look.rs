//! The options of drawing results.

use assay_report::table::View;
use clap::{Args, ValueEnum};
use console::Term;

use super::help::OUTPUT;

/// What all commands share that draw the table of results.
#[derive(Args, Clone)]
pub(crate) struct Look {
    /// Print also intervals, the suite's own statistic, memory, space, bytes written, time to
    /// close, settings, the machine and its warnings
    #[arg(long, help_heading = OUTPUT)]
    pub details: bool,
    /// Use colours and bold figures: auto does on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = OUTPUT)]
    pub color: ColorArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    Auto,
    Always,
    Never,
}

impl Look {
    /// The view for standard output as it is now: a terminal's width, or 80 columns.
    pub(crate) fn view(&self) -> View {
        let color = match self.color {
            ColorArg::Auto => console::colors_enabled(),
            ColorArg::Always => true,
            ColorArg::Never => false,
        };
        View { details: self.details, color, width: width() }
    }
}

/// Returns the columns of standard output as it is now: those of a terminal, or 80.
pub(crate) fn width() -> usize {
    let out = Term::stdout();
    let width = if out.is_term() {
        out.size_checked().map_or(LEAST_WIDTH, |(_, columns)| usize::from(columns))
    } else {
        LEAST_WIDTH
    };
    width.max(LEAST_WIDTH)
}

/// No view is narrower.
const LEAST_WIDTH: usize = 80;

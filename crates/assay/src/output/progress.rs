//! The progress that the user sees while cells are measured: on a terminal a bar, elsewhere a line
//! a cell; always on standard error, so that results can be piped.

use std::io::IsTerminal;
use std::time::Instant;

use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, Status};
use assay_report::format::{quantity, row_count};
use assay_suites::AnySuite;
use assay_suites::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use program_support::output::say;
use program_support::printable;

use crate::planning::estimate::{Estimate, rough};

/// The display of a plan's progress.
pub(crate) struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    cells: usize,
    done: usize,
    estimate: Estimate,
    cell_started: Instant,
}

impl Display {
    pub(crate) fn new(cells: usize, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let style = ProgressStyle::with_template("{wide_msg}\n{bar:50} {prefix}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(1000).with_style(style)
        });
        Self {
            bar,
            quiet,
            cells,
            done: 0,
            estimate: Estimate::default(),
            cell_started: Instant::now(),
        }
    }

    /// Shows that a cell starts; `left` are the cells after it.
    pub(crate) fn begin(&mut self, cell: &Cell, left: &[&Cell]) {
        self.cell_started = Instant::now();
        if let Some(bar) = &self.bar {
            bar.set_position(0);
            let message = format!("[{}/{}] {}", self.done + 1, self.cells, title(cell));
            bar.set_message(printable::line(&message).into_owned());
            bar.set_prefix(self.left(cell, left));
        }
    }

    /// Shows the progress of a cell.
    pub(crate) fn advance(&mut self, cell: &Cell, left: &[&Cell], at: &Progress) {
        let Some(bar) = &self.bar else { return };
        let rounds = match at.rounds {
            1 => String::new(),
            rounds => format!(" round {}/{rounds}", at.round),
        };
        let message =
            format!("[{}/{}] {} · {}{rounds}", self.done + 1, self.cells, title(cell), at.phase);
        bar.set_message(printable::line(&message).into_owned());
        bar.set_position(thousandths(at));
        bar.set_prefix(self.left(cell, left));
    }

    /// Shows that a cell has ended; `left` are the cells to come.
    pub(crate) fn end(&mut self, result: &CellResult, left: &[&Cell]) {
        self.done += 1;
        if result.status == Status::Measured {
            self.estimate.learn(&result.cell, self.cell_started.elapsed());
        }
        if self.quiet {
            return;
        }
        let line = format!(
            "[{}/{}] {} · {} · {:.1} s",
            self.done,
            self.cells,
            title(&result.cell),
            summary(result),
            self.cell_started.elapsed().as_secs_f64()
        );
        match &self.bar {
            Some(bar) => bar.println(printable::line(&line)),
            None => match self.estimate.of_all(left) {
                Some(time) if !left.is_empty() => {
                    say(&format!("{line} · about {} left", rough(time)))
                }
                _ => say(&line),
            },
        }
    }

    /// Prints a line without disturbing the bar.
    pub(crate) fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(printable::line(line)),
            None => say(line),
        }
    }

    /// Shows that all cells have ended.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn left(&self, cell: &Cell, left: &[&Cell]) -> String {
        let own = self
            .estimate
            .of_at_most(cell)
            .map(|own| own.saturating_sub(self.cell_started.elapsed()));
        match (own, self.estimate.of_all(left)) {
            (Some(own), Some(others)) => format!("about {} left", rough(own + others)),
            _ => String::new(),
        }
    }
}

/// Returns how far a phase is, in thousandths.
fn thousandths(at: &Progress) -> u64 {
    let before = u128::from(at.total) * (at.round.saturating_sub(1)) as u128;
    let whole = u128::from(at.total) * at.rounds as u128;
    let done = (before + u128::from(at.done)) * 1000 / whole.max(1);
    u64::try_from(done).unwrap_or(1000).min(1000)
}

pub(crate) fn title(cell: &Cell) -> String {
    let trial = match cell.trial {
        1 => String::new(),
        trial => format!(" · trial {trial}"),
    };
    let engine =
        if cell.calibration { "instrument (null engine)" } else { &cell.engine.to_string() };
    let rows = match cell.rows {
        0 => String::new(),
        count => format!(" · {}", row_count(count)),
    };
    let threads = match cell.threads {
        1 => String::new(),
        threads => format!(" · {threads} threads"),
    };
    let shows_variant = assay_suites::find(&cell.suite).is_none_or(AnySuite::shows_variant);
    let variant = if shows_variant { format!(" · {}", cell.variant) } else { String::new() };
    format!("{engine} · {}{rows}{threads}{variant}{trial}", cell.storage)
}

fn summary(result: &CellResult) -> String {
    match &result.status {
        Status::Measured => result
            .measurement
            .phases
            .iter()
            .filter_map(|phase| match phase.trial_rate() {
                Some(rate) => Some(format!("{} {}/s", phase.name, quantity(rate))),
                None if phase.is_without_time() => Some(format!("{} –", phase.name)),
                None => None,
            })
            .collect::<Vec<_>>()
            .join(", "),
        Status::Unsupported(why) | Status::Unavailable(why) => format!("– ({why})"),
        Status::Wrong(why) => format!("WRONG ANSWER: {why}"),
        Status::Failed(why) => format!("FAILED: {why}"),
        Status::Killed(why) => why.clone(),
    }
}

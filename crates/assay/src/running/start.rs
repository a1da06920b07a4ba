//! The question before a run: about how long it takes, and if it is to start.

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use assay_core::run_file::RunFile;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::say;

use crate::files;
use crate::planning::Planned;
use crate::planning::estimate::{Estimate, rough};

/// The time beyond which the user is asked about a run.
const LONG: Duration = Duration::from_secs(3600);

/// The settings of a run's start.
#[derive(Clone, Copy)]
pub(crate) struct Start<'s> {
    /// True if nothing is printed.
    pub quiet: bool,
    /// True if nothing is asked.
    pub yes: bool,
    /// Options with which the run takes less time.
    pub shorter: &'s str,
    pub interrupt: &'s Interrupt,
}

impl Start<'_> {
    /// Prints the expected time of the plan's cells that are not in `run` yet. On a terminal the
    /// user decides about a long run; elsewhere it starts.
    pub(crate) fn announce(
        &self,
        plan: &[Planned],
        run: &RunFile,
        sync: Option<Duration>,
    ) -> Outcome {
        let done: HashSet<_> = run.cells.iter().map(|done| done.cell.identity()).collect();
        let todo = plan
            .iter()
            .filter(|planned| planned.refusal.is_none())
            .map(|planned| &planned.cell)
            .filter(|cell| !cell.calibration && !done.contains(&cell.identity()));
        let todo: Vec<_> = todo.collect();
        let estimate = Estimate::of_earlier_runs(Path::new(files::RUNS_FOLDER), run);
        let forecast = estimate.forecast(todo.iter().copied(), sync);
        if !self.quiet && !todo.is_empty() {
            let cells = if todo.len() == 1 { "cell" } else { "cells" };
            say(&format!("{} {cells}: {}", todo.len(), forecast.text()));
        }
        if forecast.time <= LONG || self.yes {
            return Ok(());
        }
        let shorter = format!("it takes less time with {}", self.shorter);
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            self.ask(&format!("begin ({shorter})? [y/N]"))
        } else {
            say(&format!("note: {} is long; {shorter}", rough(forecast.time)));
            Ok(())
        }
    }

    fn ask(&self, question: &str) -> Outcome {
        say(question);
        let (answers, answered) = mpsc::channel();
        // Nothing else ends the wait for a line when a signal comes.
        thread::spawn(move || {
            let mut line = String::new();
            let _ = io::stdin().read_line(&mut line);
            let _ = answers.send(line);
        });
        loop {
            match answered.recv_timeout(Duration::from_millis(50)) {
                Ok(line) if is_yes(&line) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if self.interrupt.came() => {
                    let why = "interrupted before anything was measured";
                    return Err(Failure::Interrupted(why.into()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Usage("not begun; --yes begins without asking".into()));
                }
            }
        }
    }
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_begins() {
        assert!(["y\n", " Yes \n", "YES"].iter().all(|line| is_yes(line)));
        assert!(["", "\n", "n\n", "yesterday\n", "j\n"].iter().all(|line| !is_yes(line)));
    }
}

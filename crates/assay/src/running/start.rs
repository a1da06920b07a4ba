//! What stands before a run: about how long it takes, and whether it is to begin.

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

/// A run that takes longer is asked about.
const LONG: Duration = Duration::from_secs(3600);

/// How a run begins.
#[derive(Clone, Copy)]
pub(crate) struct Start<'s> {
    /// Nothing is said.
    pub quiet: bool,
    /// Nothing is asked.
    pub yes: bool,
    /// Options with which it takes less time.
    pub shorter: &'s str,
    pub interrupt: &'s Interrupt,
}

impl Start<'_> {
    /// Says how long the cells of a plan take that are not in `run` yet. On a terminal the user
    /// decides about a long run; elsewhere it begins.
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
        match io::stdin().is_terminal() && io::stderr().is_terminal() {
            true => self.ask(&format!("begin ({shorter})? [y/N]")),
            false => {
                say(&format!("note: {} is long; {shorter}", rough(forecast.time)));
                Ok(())
            }
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

//! Levels that no crash test has tested: only the engines themselves promise them.

use assay_core::run_file::{CellResult, Status};
use assay_driver::{Durability, Storage};

use crate::blocks::{Block, Distinct, Line};
use crate::format::engine;

/// The engines at levels that promise something, and those of them that no crash test has tested.
#[derive(Default)]
pub(crate) struct Untested {
    all: Distinct<String>,
    without: Distinct<String>,
}

impl Untested {
    /// Adds an engine with figures; it counts as untested if any of its calls says so.
    pub(crate) fn add(&mut self, engine: String, is_tested: bool) {
        if !is_tested {
            self.without.add(engine.clone());
        }
        self.all.add(engine);
    }

    /// Returns which engines no crash test has tested; none if there are no such engines.
    pub(crate) fn says(&self) -> Option<String> {
        let engines = match self.without.in_order.len() {
            0 => return None,
            count if count == self.all.in_order.len() => "any engine here".to_string(),
            _ => self.without.in_order.join(", "),
        };
        Some(format!("no crash test has looked at the level of {engines} (assay crash does)"))
    }
}

/// Returns which engines of a block run at a level that promises something and that no crash test
/// has tested; none if there are no such engines.
pub(crate) fn of_block(block: &Block<'_>) -> Option<String> {
    let promises = |line: &&Line<'_>| {
        let cell = line.cell();
        cell.storage != Storage::Memory && cell.durability != Durability::None
    };
    let was_looked_at = |trial: &CellResult| trial.held.is_some() || trial.refuted.is_some();
    let mut untested = Untested::default();
    for line in block.lines.iter().filter(promises) {
        let mut measured =
            line.trials.iter().filter(|trial| trial.status == Status::Measured).peekable();
        if measured.peek().is_some() {
            untested.add(engine(line.cell()), measured.any(|trial| was_looked_at(trial)));
        }
    }
    untested.says()
}

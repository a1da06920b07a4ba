//! Levels that no crash test has looked at: what they promise is the engines' own word.

use assay_core::run_file::{CellResult, Status};
use assay_driver::{Durability, Storage};

use crate::blocks::{Block, Distinct, Line};

/// Says which engines of a block run at a level that promises something and that no crash test has
/// looked at; none if there are no such engines.
pub fn untested(block: &Block<'_>) -> Option<String> {
    let promises = |line: &&Line<'_>| {
        let cell = line.cell();
        cell.storage != Storage::Memory && cell.durability != Durability::None
    };
    let was_looked_at = |trial: &CellResult| trial.held.is_some() || trial.refuted.is_some();
    let (mut all, mut without) = (Distinct::default(), Distinct::default());
    for line in block.lines.iter().filter(promises) {
        let mut measured = line.trials.iter().filter(|trial| trial.status == Status::Measured);
        if measured.clone().next().is_none() {
            continue;
        }
        all.add(line.cell().engine.as_str());
        if !measured.any(|trial| was_looked_at(trial)) {
            without.add(line.cell().engine.as_str());
        }
    }
    let engines = match without.in_order.len() {
        0 => return None,
        count if count == all.in_order.len() => "any engine here".to_string(),
        _ => without.in_order.join(", "),
    };
    Some(format!("no crash test has looked at the level of {engines} (assay crash does)"))
}

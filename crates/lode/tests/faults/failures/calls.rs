//! Each call of the disk during one operation, failing once in each way.

use lode::simulation::FaultKind;
use lode::{Durability, KeyKind};

/// The levels at which definitions are changed, each with a kind of table.
pub const LEVELS: [(Durability, KeyKind); 3] = [
    (Durability::Process, KeyKind::Hash),
    (Durability::Commit, KeyKind::Tree),
    (Durability::None, KeyKind::Tree),
];

/// Runs `fails` with each number of a call and each fault of it, `None` for a crash, until it
/// returns false: there was no such call. Returns how often that call came.
pub fn each(fails: &mut dyn FnMut((u64, Option<FaultKind>)) -> bool) -> u64 {
    let faults =
        [None, Some(FaultKind::WriteFails), Some(FaultKind::SyncFails), Some(FaultKind::NoSpace)];
    let came = faults.map(|fault| (0..).take_while(|number| fails((*number, fault))).count());
    came.iter().sum::<usize>() as u64
}

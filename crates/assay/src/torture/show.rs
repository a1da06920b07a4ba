//! What `assay torture` prints: a table of the kinds of crash, and the rounds that broke the
//! promise.

use std::path::PathBuf;

use assay_core::durability::Crash;
use assay_core::share::ShareBounds;
use comfy_table::{CellAlignment, Table};

use super::Found;
use crate::output::folded::folded;

/// Broken rounds that are listed for each kind of crash; the folder of images has all.
const LISTED: usize = 3;

/// The rounds of one kind of crash.
pub(crate) struct Tortured {
    pub crash: Crash,
    pub rounds: u32,
    /// The acknowledgements of all rounds.
    pub acknowledged: u64,
    pub broken: Vec<Broken>,
}

/// A round that broke the promise.
pub(crate) struct Broken {
    pub number: u32,
    pub found: Found,
    /// The command line that repeats it.
    pub command: String,
    /// The folder with what the crash left.
    pub image: PathBuf,
}

/// Returns the table, and then the first broken rounds of each kind.
pub(crate) fn shown(all: &[Tortured]) -> String {
    let mut table = Table::new();
    table.set_header(["crash", "rounds", "acknowledged", "broken", "share (95 %)"]);
    for Tortured { crash, rounds, acknowledged, broken } in all {
        table.add_row([
            crash.to_string(),
            rounds.to_string(),
            acknowledged.to_string(),
            broken.len().to_string(),
            ShareBounds::of(broken.len() as u64, u64::from(*rounds)).to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = folded(table);
    for Tortured { crash, broken, .. } in all {
        for Broken { number, found, command, image } in broken.iter().take(LISTED) {
            let image = image.display();
            text += &format!("\n {crash}, round {number}: {found}\n  {command}\n  {image}\n");
        }
        if broken.len() > LISTED {
            text += &format!("\n and {} more\n", broken.len() - LISTED);
        }
    }
    text
}

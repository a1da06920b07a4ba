//! The output of `assay torture`: a table of the kinds of crash, and the rounds that broke the
//! promise.

use std::path::PathBuf;

use assay_core::share::ShareBounds;
use comfy_table::{CellAlignment, Table};

use super::{Found, Kind};
use crate::output::folded::folded;

/// Broken rounds that are listed for each kind of crash; the folder of images has all.
const LISTED: usize = 3;

/// The rounds of one kind of crash.
pub(crate) struct Tortured {
    pub kind: Kind,
    pub rounds: u32,
    /// Rounds in which an operation met the fault.
    pub met: u32,
    /// Rounds in which the writer ended with an error, having met the fault.
    pub ended: u32,
    /// Rounds in which the writer ended well before it was killed.
    pub uncrashed: u32,
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
    let has_faults = all.iter().any(|tortured| tortured.kind.fault.is_some());
    let of_faults = |words: [String; 3]| words.into_iter().filter(|_| has_faults);
    let mut table = Table::new();
    let mut head = vec!["crash".to_string()];
    head.extend(of_faults(["fault", "met", "ended"].map(str::to_string)));
    head.extend(["rounds", "acknowledged", "broken", "share (95 %)"].map(str::to_string));
    table.set_header(head);
    for Tortured { kind, rounds, met, ended, acknowledged, broken, .. } in all {
        // A round without a fault only counts if it broke the promise all the same.
        let judged =
            kind.fault.map_or(u64::from(*rounds), |_| u64::from(*met).max(broken.len() as u64));
        let share = ShareBounds::of(broken.len() as u64, judged);
        let fault = kind.fault.map(|fault| fault.to_string()).unwrap_or_default();
        let mut row = vec![kind.crash.to_string()];
        row.extend(of_faults([fault, met.to_string(), ended.to_string()]));
        row.extend([
            rounds.to_string(),
            acknowledged.to_string(),
            broken.len().to_string(),
            share.to_string(),
        ]);
        table.add_row(row);
    }
    let words = if has_faults { 2 } else { 1 };
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = folded(table);
    if has_faults {
        text += "\n met: rounds in which an operation met the fault; ended: in which the writer \
                 ended\n with an error, which breaks no promise\n";
    }
    for Tortured { kind, rounds, uncrashed, .. } in all.iter().filter(|kind| kind.uncrashed > 0) {
        text += &format!(
            "\n {kind}: in {uncrashed} of {rounds} rounds the writer ended before it was killed\n"
        );
    }
    for Tortured { kind, broken, .. } in all {
        for Broken { number, found, command, image } in broken.iter().take(LISTED) {
            let image = image.display();
            text += &format!("\n {kind}, round {number}: {found}\n  {command}\n  {image}\n");
        }
        if broken.len() > LISTED {
            text += &format!("\n and {} more\n", broken.len() - LISTED);
        }
    }
    text
}

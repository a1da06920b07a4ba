//! `lode compact`

use lode::Options;
use program_support::exit::Outcome;
use program_support::output::print;

use crate::cli::CompactArgs;
use crate::database::Opened;
use crate::progress;

/// Gives space of the data file back that no record needs.
pub(crate) fn compact(args: &CompactArgs, options: &Options) -> Outcome {
    let opened = Opened::existing(&args.dir, options)?;
    let compacted = progress::during("compacting", || opened.db.compact());
    let compacted = compacted.map_err(|error| opened.failure(&error));
    let said = compacted.and_then(|compacted| {
        let before = compacted.before.data_bytes;
        let after = compacted.after.data_bytes;
        print(&format!("data: {before} bytes before, {after} after\n"))
    });
    opened.close_after(said)
}

//! `lode drop`

use lode::{Options, ReadTable};
use program_support::exit::Outcome;
use program_support::output::print;

use super::records;
use crate::cli::DropArgs;
use crate::database::Opened;
use crate::progress;
use crate::schema_text;

/// Drops a table with all its records, and says what that was.
pub(crate) fn drop_table(args: &DropArgs, options: &Options) -> Outcome {
    let opened = Opened::existing(&args.dir, options)?;
    let dropped = dropped(&opened, &args.table);
    opened.close_after(dropped)
}

fn dropped(opened: &Opened, name: &str) -> Outcome {
    // A damaged table cannot be counted, but can be dropped.
    let count = if opened.db.table_names().iter().any(|other| other == name) {
        opened.db.table(name).and_then(|table| table.len()).ok()
    } else {
        return opened.table(name).map(drop);
    };
    let done = progress::during("dropping", || opened.db.drop_table(name));
    done.map_err(|error| opened.failure(&error))?;
    let count = count.map_or_else(|| "it was damaged".into(), records);
    print(&format!("table {} dropped: {count}\n", schema_text::name(name)))
}

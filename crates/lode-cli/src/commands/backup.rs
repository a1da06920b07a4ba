//! `lode backup`

use std::path::Path;

use lode::{BackupProgress, Error, Options};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use super::expect_outside;
use crate::cli::BackupArgs;
use crate::database::{Opened, failure};
use crate::progress::Progress;

/// Copies a database to another directory, as of one moment.
pub(crate) fn back_up(args: &BackupArgs, options: &Options) -> Outcome {
    expect_outside(&args.dir, &args.to, args.to.display())?;
    let opened = Opened::existing(&args.dir, options)?;
    let mut bar = None;
    let backed_up = opened.db.backup(&args.to, |at| {
        let show = || Progress::of_bytes("backing up", at.total_bytes);
        bar.get_or_insert_with(show).at(at.compared_bytes);
    });
    drop(bar);
    let backed_up = backed_up.map_err(|error| match error {
        Error::NoBackup { .. } => Failure::Usage(format!("{}: {error}", args.to.display())),
        error => failure(Path::new(&format!("to {}", args.to.display())), &error),
    });
    let said = backed_up.and_then(|done| print(&copied(&done)));
    opened.close_after(said)
}

/// Returns the line that says what a backup has copied.
pub(super) fn copied(done: &BackupProgress) -> String {
    format!("pages: {} bytes, {} copied\n", done.total_bytes, done.copied_bytes)
}

//! `lode repair`

use std::fmt::Write;

use lode::{Error, Options};
use program_support::exit::{Failure, Outcome};
use program_support::output::{print, say};

use super::{expect_outside, records};
use crate::cli::RepairArgs;
use crate::database::{DirContent, failure, look, no_database};
use crate::progress;
use crate::schema_text;

/// Copies what is left of a damaged database to a new one, and names what is lost.
pub(crate) fn repair(args: &RepairArgs, options: &Options) -> Outcome {
    expect_outside(&args.dir, &args.to, args.to.display())?;
    if look(&args.dir)? != DirContent::Database {
        return Err(no_database(&args.dir));
    }
    let repaired = progress::during("repairing", || {
        options.repair(&args.dir, &args.to, |loss| {
            say(&format!("lode: {}: {loss}", args.dir.display()));
        })
    });
    let repaired = repaired.map_err(|error| match error {
        Error::DatabaseExists { .. } => Failure::Usage(error.to_string()),
        error => failure(&args.dir, &error),
    })?;
    let mut lines = String::new();
    for table in &repaired.tables {
        let name = schema_text::name(&table.name);
        writeln!(lines, "{name}: {}", records(table.records)).expect("a text takes all");
    }
    print(&lines)?;
    let losses = match repaired.losses {
        0 => return print("nothing is lost\n"),
        1 => "1 loss".into(),
        count => format!("{count} losses"),
    };
    let dir = args.dir.display();
    let to = args.to.display();
    Err(Failure::Wrong(format!("{dir}: {losses}; what is left is in {to}")))
}

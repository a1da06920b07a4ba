//! `lode check`

use std::fmt::Write;

use lode::Options;

use super::{count, records};
use crate::Outcome;
use crate::cli::CheckArgs;
use crate::database::{Opened, kind_word};
use crate::exit::Failure;
use crate::output::{print, say};
use crate::progress::{self, Progress};
use crate::schema_text;

/// Looks at everything in a database, and names all faults that it finds.
pub fn check(args: &CheckArgs, options: &Options) -> Outcome {
    let opened = Opened::to_read(&args.dir, options)?;
    let (lines, faults) = look_at(&opened);
    let faults: Vec<_> = faults.iter().map(|fault| opened.fault(fault)).collect();
    let outcome = match &faults[..] {
        [] => print(&format!("{lines}no faults found\n")),
        [others @ .., last] => {
            others.iter().for_each(|fault| say(&format!("lode: {fault}")));
            print(&lines).and(Err(Failure::Wrong(last.clone())))
        }
    };
    opened.close_after(outcome)
}

/// A line for each table that can be read whole, and what is wrong.
fn look_at(opened: &Opened) -> (String, Vec<String>) {
    let (mut lines, mut faults) = (String::new(), Vec::new());
    let snapshot = opened.db.snapshot();
    let mut damaged = Vec::new();
    for name in opened.db.table_names() {
        let mut progress = Progress::of_records(format!("reading {name}"));
        let counted = opened.db.table(&name).and_then(|table| {
            let count = count(&snapshot, &table, &mut progress)?;
            Ok((kind_word(table.key_kind()), count))
        });
        match counted {
            Ok((kind, count)) => {
                let name = schema_text::name(&name);
                writeln!(lines, "{name}: {kind}, {}", records(count)).expect("a text takes all");
            }
            Err(error) => {
                faults.push(format!("table {name}: {error}"));
                damaged.push(name);
            }
        }
    }
    // The engine stops at the first fault, which may be one that was found above.
    if let Err(fault) = progress::during("checking", || opened.db.check())
        && !damaged.iter().any(|name| fault.starts_with(&format!("table {name}: ")))
    {
        faults.push(fault);
    }
    (lines, faults)
}

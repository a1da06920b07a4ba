//! `lode check`

use std::fmt::Write;

use lode::{Fault, Options, ReadTable};
use program_support::exit::{Failure, Outcome};
use program_support::output::{print, say};

use super::records;
use crate::cli::CheckArgs;
use crate::database::{Opened, kind_word};
use crate::progress;
use crate::schema_text;

/// Looks at everything in a database, and names all faults that it finds.
pub(crate) fn check(args: &CheckArgs, options: &Options) -> Outcome {
    let opened = Opened::to_read(&args.dir, options)?;
    let report = progress::during("checking", || opened.db.check());
    let report = report.map_err(|error| opened.failure(&error))?;
    let (lines, unread) = whole_tables(&opened, &report.faults);
    let mut said: Vec<_> = report.faults.iter().map(ToString::to_string).chain(unread).collect();
    said.extend((report.more > 0).then(|| format!("and {} more", report.more)));
    let said: Vec<_> = said.iter().map(|fault| opened.fault(fault)).collect();
    let outcome = match &said[..] {
        [] => print(&format!("{lines}no faults found\n")),
        [others @ .., last] => {
            others.iter().for_each(|fault| say(&format!("lode: {fault}")));
            print(&lines).and(Err(Failure::Wrong(last.clone())))
        }
    };
    opened.close_after(outcome)
}

/// Returns a line for each table without faults, and what keeps a table from being counted.
fn whole_tables(opened: &Opened, faults: &[Fault]) -> (String, Vec<String>) {
    let mut lines = String::new();
    let mut unread = Vec::new();
    let snapshot = opened.db.snapshot();
    for name in opened.db.table_names() {
        if faults.iter().any(|fault| fault.table.as_ref() == Some(&name)) {
            continue;
        }
        let counted = opened
            .db
            .table(&name)
            .and_then(|table| Ok((kind_word(table.key_kind()), table.at(&snapshot).len()?)));
        match counted {
            Ok((kind, count)) => {
                let name = schema_text::name(&name);
                writeln!(lines, "{name}: {kind}, {}", records(count)).expect("a text takes all");
            }
            Err(error) => unread.push(format!("table {name}: {error}")),
        }
    }
    (lines, unread)
}

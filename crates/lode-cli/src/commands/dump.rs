//! `lode dump`

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};

use lode::{Error, Options, ReadTable, Table};
use program_support::destination::Destination;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt;
use program_support::output;

use super::{noted_for, outside_of};
use crate::cli::DumpArgs;
use crate::database::Opened;
use crate::progress::Progress;
use crate::record::Writer;

/// Writes all records of a table as lines of JSON.
pub(crate) fn dump(args: &DumpArgs, options: &Options) -> Outcome {
    let target = args.output.as_deref().map(|path| outside_of(&args.dir, path)).transpose()?;
    let opened = Opened::to_read(&args.dir, options)?;
    let dumped = opened.whole_table(&args.table).and_then(|table| match &target {
        None => to_standard_output(&opened, &table),
        Some(target) => to_file(&opened, &table, target),
    });
    opened.close_after(dumped)
}

fn to_standard_output(opened: &Opened, table: &Table) -> Outcome {
    let mut progress = progress(table).only_if(!io::stdout().is_terminal());
    let mut read = Ok(Dumped::default());
    let written = output::to_standard_output(&mut |out| {
        read = write_all(table, &mut progress, &|| false, out)?;
        Ok(())
    });
    written?;
    whole(opened, table, read)
}

/// Says which pages could not be read, if there are some.
fn whole(opened: &Opened, table: &Table, read: Result<Dumped, Error>) -> Outcome {
    let Dumped { records: count, faults } = read.map_err(|error| opened.failure(&error))?;
    if faults.is_empty() {
        return Ok(());
    }
    let name = table.schema().name();
    for fault in faults.iter().take(MOST_FAULTS) {
        output::say(&format!("lode: {}", opened.fault(&format!("table {name}: {fault}"))));
    }
    let parts = match faults.len() {
        1 => "1 part".into(),
        count => format!("{count} parts"),
    };
    Err(Failure::Wrong(opened.fault(&format!(
        "table {name}: {parts} could not be read; the {} that could are written",
        super::records(count)
    ))))
}

fn to_file(opened: &Opened, table: &Table, target: &Destination) -> Outcome {
    let noted = noted_for(target);
    interrupt::watch("lode", || ())?;
    let mut progress = progress(table);
    let mut read = Ok(Dumped::default());
    let written = target.write_with(&mut |out| {
        read = write_all(table, &mut progress, &|| noted.came(), out)?;
        if read.is_ok() && !noted.came() {
            Ok(())
        } else {
            // The output so far is not the wanted one.
            Err(io::Error::other("it is not whole"))
        }
    });
    let read = Ok(read.map_err(|error| opened.failure(&error))?);
    written.map_err(|error| {
        if noted.came() {
            Failure::Interrupted("interrupted; the file was not written".into())
        } else {
            Failure::Refused(format!("{}: {error}", target.name()))
        }
    })?;
    whole(opened, table, read)
}

fn progress(table: &Table) -> Progress {
    Progress::of_records(format!("dumping {}", table.schema().name()))
}

/// The most faults that are named one by one.
const MOST_FAULTS: usize = 100;

/// The outcome of a dump.
#[derive(Default)]
struct Dumped {
    /// Records that were written.
    records: u64,
    /// The reasons why other records could not be read: each page once.
    faults: Vec<String>,
}

/// Writes the records as they are now, as far as they can be read, until `stop` says so. What
/// writing says comes first, and then what reading says.
fn write_all(
    table: &Table,
    progress: &mut Progress,
    stop: &dyn Fn() -> bool,
    out: &mut dyn Write,
) -> io::Result<Result<Dumped, Error>> {
    let writer = Writer::new(table.schema());
    let mut line = Vec::new();
    let mut records = 0;
    let mut faults = Vec::new();
    let mut known = HashSet::new();
    let mut cursor = table.iter().skip_damaged();
    let read = loop {
        match cursor.next() {
            None => break Ok(()),
            Some(Ok(row)) => {
                line.clear();
                if let Err(error) = writer.append(row.bytes(), &mut line) {
                    break Err(error);
                }
            }
            Some(Err(error)) if !cursor.has_ended() => {
                let why = error.to_string();
                if known.insert(why.clone()) {
                    faults.push(why);
                }
                continue;
            }
            Some(Err(error)) => break Err(error),
        }
        out.write_all(&line)?;
        records += 1;
        progress.at(records);
        if stop() {
            break Ok(());
        }
    };
    Ok(read.map(|()| Dumped { records, faults }))
}

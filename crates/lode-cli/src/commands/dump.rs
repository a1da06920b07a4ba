//! `lode dump`

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use lode::{Error, Options, Table};

use crate::Outcome;
use crate::cli::DumpArgs;
use crate::database::Opened;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use crate::record::Writer;
use crate::whole_file;

/// Writes all records of a table as lines of JSON.
pub fn dump(args: &DumpArgs, options: &Options) -> Outcome {
    let target = args.output.as_deref().map(|path| target(&args.dir, path)).transpose()?;
    let opened = Opened::to_read(&args.dir, options)?;
    let dumped = opened.table(&args.table).and_then(|table| match &target {
        None => to_standard_output(&opened, &table),
        Some(target) => to_file(&opened, &table, target),
    });
    opened.close_after(dumped)
}

/// Where the file goes; not among those of the database.
fn target(dir: &Path, path: &Path) -> Outcome<PathBuf> {
    let refused = |error: io::Error| Failure::Refused(format!("{}: {error}", path.display()));
    let target = whole_file::target(path).map_err(refused)?;
    let folder = whole_file::folder_of(&target).canonicalize().map_err(refused)?;
    match dir.canonicalize() {
        Ok(dir) if dir == folder => Err(Failure::Usage(format!(
            "{}: this is inside the database; choose another directory",
            path.display()
        ))),
        _ => Ok(target),
    }
}

fn to_standard_output(opened: &Opened, table: &Table) -> Outcome {
    let mut progress = progress(table).only_if(!io::stdout().is_terminal());
    let mut read = Ok(());
    let written = output::to_standard_output(&mut |out| {
        read = write_all(opened, table, &mut progress, &|| false, out)?;
        Ok(())
    });
    written.and(read.map_err(|error| opened.failure(&error)))
}

fn to_file(opened: &Opened, table: &Table, target: &Path) -> Outcome {
    let interrupt = Interrupt::watch()?;
    let mut progress = progress(table);
    let mut read = Ok(());
    let written = whole_file::write(target, &mut |out| {
        read = write_all(opened, table, &mut progress, &|| interrupt.came(), out)?;
        match read.is_ok() && !interrupt.came() {
            true => Ok(()),
            // What is there so far is not what was wanted.
            false => Err(io::Error::other("it is not whole")),
        }
    });
    read.map_err(|error| opened.failure(&error))?;
    written.map_err(|error| match interrupt.came() {
        true => interrupt.failure("interrupted; the file was not written"),
        false => Failure::Refused(format!("{}: {error}", target.display())),
    })
}

fn progress(table: &Table) -> Progress {
    Progress::of_records(format!("dumping {}", table.schema().name()))
}

/// Writes the records as they are now, until `stop` says so. What writing says comes first, and
/// then what reading says.
fn write_all(
    opened: &Opened,
    table: &Table,
    progress: &mut Progress,
    stop: &dyn Fn() -> bool,
    out: &mut dyn Write,
) -> io::Result<Result<(), Error>> {
    let writer = Writer::new(table.schema());
    let (mut line, mut done, mut written) = (Vec::new(), 0, Ok(()));
    let read = opened.db.snapshot().each(table, &mut |record| {
        line.clear();
        writer.append(record, &mut line)?;
        written = out.write_all(&line);
        done += 1;
        progress.at(done);
        Ok(written.is_ok() && !stop())
    });
    written.map(|()| read)
}

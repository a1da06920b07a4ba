//! `lode follow`

mod apply;
mod replica;

use std::path::Path;
use std::time::Duration;

use lode::{Changes, Error, Options, ReadTable, Table};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use super::expect_outside;
use crate::cli::follow::FollowArgs;
use crate::database::{DirContent, Opened, failure, look};
use crate::progress::Progress;
use apply::{Batch, Next};
use replica::{NOTE, Replica};

/// The time between two looks for more changes.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps a copy of a database that has all of its changes.
pub(crate) fn follow(args: &FollowArgs, options: &Options) -> Outcome {
    expect_outside(&args.dir, &args.to, args.to.display())?;
    let source = Source { dir: &args.dir, options };
    // Whatever is wrong with the database, no copy is started.
    drop(source.open()?);
    let replica = open(&args.to, options)?;
    let followed = Follower { source, to: &args.to, replica: &replica }.run(args);
    let closed = replica.close().map_err(|error| failure(&args.to, &error));
    followed.and(closed)
}

/// Opens the copy, or makes a new one.
fn open(to: &Path, options: &Options) -> Outcome<Replica> {
    if look(to)? == DirContent::Taken {
        return Err(Failure::Usage(format!(
            "{}: there are other files in this directory; choose an empty or a new one",
            to.display()
        )));
    }
    let other = || {
        Failure::Usage(format!(
            "{}: this database is no copy that lode follow has made; choose an empty directory",
            to.display()
        ))
    };
    // Opening for writing changes a database: a backup is none any more. What cannot be read may be
    // a copy that was begun.
    if look(to)? == DirContent::Database
        && let Ok(found) = Opened::to_read(to, options)
        && !Replica::is_in(&found.db).map_err(|error| failure(to, &error))?
    {
        return Err(other());
    }
    let opened = options.open(to).and_then(Replica::of);
    opened.map_err(|error| failure(to, &error))?.ok_or_else(other)
}

/// The database that is followed.
#[derive(Clone, Copy)]
struct Source<'f> {
    dir: &'f Path,
    options: &'f Options,
}

impl Source<'_> {
    /// Opens it as of now, with the changes since then.
    fn open(&self) -> Outcome<(Opened, Changes)> {
        let opened = Opened::to_read(self.dir, self.options)?;
        let changes = opened.db.position().and_then(|now| opened.db.changes(now));
        let changes = changes.map_err(|error| opened.failure(&error))?;
        Ok((opened, changes))
    }

    fn failure(&self, error: &Error) -> Failure {
        failure(self.dir, error)
    }
}

/// A database and its copy.
struct Follower<'f> {
    source: Source<'f>,
    to: &'f Path,
    replica: &'f Replica,
}

impl Follower<'_> {
    fn run(&self, args: &FollowArgs) -> Outcome {
        let of_source = |error| self.source.failure(&error);
        let anew = args.anew;
        let mut changes = self.start(anew)?;
        let mut noted = changes.reached();
        loop {
            let mut batch = Batch::default();
            let next = match batch.fill(&mut changes) {
                Ok(next) => next,
                Err(error) => {
                    changes = self.without(&error, anew)?;
                    noted = changes.reached();
                    continue;
                }
            };
            if let Some(position) = batch.position() {
                // No crash can take back from the database what the copy has.
                changes.sync().map_err(of_source)?;
                match self.replica.apply(batch) {
                    // A commit has more than one of the copy can have.
                    Err(Error::TxnTooLarge { .. }) => {
                        changes = self.copy()?;
                        noted = changes.reached();
                        continue;
                    }
                    applied => applied.map_err(|error| self.refused(&error))?,
                }
                noted = position;
            }
            match next {
                Next::More => {}
                Next::Alteration => {
                    changes = self.copy()?;
                    noted = changes.reached();
                }
                Next::Nothing => {
                    // What changes nothing is passed, too, since it may be removed.
                    if noted != changes.reached() {
                        noted = changes.reached();
                        changes.sync().map_err(of_source)?;
                        self.replica.note(noted).map_err(|error| self.refused(&error))?;
                    }
                    if args.once {
                        return print(&format!("{noted}\n"));
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn refused(&self, error: &Error) -> Failure {
        failure(self.to, error)
    }

    /// Returns the changes that the copy has not; makes the copy first, if it has no position.
    fn start(&self, anew: bool) -> Outcome<Changes> {
        let position = self.replica.position().map_err(|error| self.refused(&error))?;
        let Some(position) = position else { return self.copy() };
        let opened = Opened::to_read(self.source.dir, self.source.options)?;
        opened.db.changes(position).or_else(|error| self.without(&error, anew))
    }

    /// Returns the changes since a new copy, if changes could not be read because of this error and
    /// a new copy was asked for.
    fn without(&self, error: &Error, anew: bool) -> Outcome<Changes> {
        let failure = self.source.failure(error);
        match error {
            Error::ChangesGone { .. } | Error::OtherPosition { .. } | Error::Corrupt { .. } => {
                if anew {
                    self.copy()
                } else {
                    Err(failure.and("--anew makes a new copy"))
                }
            }
            _ => Err(failure),
        }
    }

    /// Copies all tables as of one moment. Returns the changes since then.
    fn copy(&self) -> Outcome<Changes> {
        let (opened, mut changes) = self.source.open()?;
        changes.sync().map_err(|error| self.source.failure(&error))?;
        self.replica.clear().map_err(|error| self.refused(&error))?;
        let names = opened.db.table_names();
        for name in names.iter().filter(|name| *name != NOTE) {
            let table = opened.table(name)?;
            self.copy_table(&opened, &table)?;
        }
        let start = changes.reached();
        self.replica.note(start).map_err(|error| self.refused(&error))?;
        Ok(changes)
    }

    fn copy_table(&self, opened: &Opened, table: &Table) -> Outcome {
        /// Bytes of records that are written together.
        const AT_ONCE_BYTES: usize = 1 << 20;
        let indexes = table.indexes().map_err(|error| opened.failure(&error))?;
        let copy =
            self.replica.db().create_indexed_table(table.schema(), table.key_kind(), &indexes);
        let copy = copy.map_err(|error| self.refused(&error))?;
        let mut progress = Progress::of_records(format!("copying {}", table.schema().name()));
        let mut records = Vec::new();
        let mut bytes = 0;
        let mut count = 0;
        let mut rows = table.iter();
        loop {
            let row = rows.next().transpose().map_err(|error| opened.failure(&error))?;
            let is_last = row.is_none();
            if let Some(row) = row {
                bytes += row.bytes().len();
                records.push(row.into_bytes());
            }
            if is_last || bytes >= AT_ONCE_BYTES {
                count += records.len() as u64;
                copy.insert_all(&records).map_err(|error| self.refused(&error))?;
                progress.at(count);
                (records, bytes) = (Vec::new(), 0);
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

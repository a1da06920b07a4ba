//! The database in a directory: whether there is one, opening it without creating one by mistake,
//! and what the engine's errors mean for a command.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use lode::{Database, Error, KeyKind, Options, Table};
use program_support::exit::{Failure, Outcome};
use program_support::output::say;

use crate::progress;
use crate::unfinished::Unfinished;

/// The content of a directory for a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirContent {
    /// A database, or what is left of one: the engine knows which.
    Database,
    /// Nothing: no directory, or an empty one.
    Free,
    /// A directory with files that are not a database's.
    Taken,
}

/// Looks at a directory without changing anything.
pub(crate) fn look(dir: &Path) -> Outcome<DirContent> {
    let refused = |error| Failure::Refused(format!("{}: {error}", dir.display()));
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(DirContent::Free),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(Failure::Usage(format!(
                "{}: this is a file; name the directory of a database",
                dir.display()
            )));
        }
        Err(error) => return Err(refused(error)),
    };
    let mut content = DirContent::Free;
    for entry in entries {
        let entry = entry.map_err(refused)?;
        if !entry.file_type().map_err(refused)?.is_file() {
            continue;
        }
        match entry.file_name().to_str() {
            Some("lock") => {}
            Some("data" | "creating") => return Ok(DirContent::Database),
            Some(name) if name.starts_with("log-") => return Ok(DirContent::Database),
            _ => content = DirContent::Taken,
        }
    }
    Ok(content)
}

/// An open database.
pub(crate) struct Opened {
    /// The engine's handle.
    pub db: Database,
    dir: PathBuf,
    /// The rest of an import that was killed, where that can only be read.
    unfinished: Option<Unfinished>,
}

impl Opened {
    /// Opens a database that is there, to write to it.
    pub(crate) fn existing(dir: &Path, options: &Options) -> Outcome<Self> {
        expect_database(dir)?;
        Self::opened_by(dir, || options.open_existing(dir))?.cleared()
    }

    /// Opens a database that is there, to read it. Its files stay as they are.
    pub(crate) fn to_read(dir: &Path, options: &Options) -> Outcome<Self> {
        expect_database(dir)?;
        let mut opened = Self::opened_by(dir, || options.open_read_only(dir))?;
        match Unfinished::of(&opened.db) {
            Ok(unfinished) => opened.unfinished = unfinished,
            // The readable part of a damaged database is shown all the same.
            Err(error) => say(&format!("lode: {}", opened.fault(&error.to_string()))),
        }
        opened.unfinished.iter().for_each(Unfinished::say);
        Ok(opened)
    }

    /// Opens a database, or makes a new one.
    pub(crate) fn or_new(dir: &Path, options: &Options) -> Outcome<Self> {
        Self::opened_by(dir, || options.open(dir))?.cleared()
    }

    /// Clears away what an import has left that was killed.
    fn cleared(self) -> Outcome<Self> {
        let unfinished = Unfinished::of(&self.db);
        let cleared = unfinished.and_then(|left| left.map_or(Ok(()), |left| left.clear(&self.db)));
        let cleared = cleared.map_err(|error| self.failure(&error));
        match cleared {
            Ok(()) => Ok(self),
            Err(failure) => self.close_after(Err(failure)),
        }
    }

    fn opened_by(dir: &Path, open: impl FnOnce() -> lode::Result<Database>) -> Outcome<Self> {
        match progress::during("opening", open) {
            Ok(db) => Ok(Self { db, dir: dir.into(), unfinished: None }),
            Err(error) => Err(failure(dir, &error)),
        }
    }

    /// Returns a table; if it is not there, the failure names those that are.
    pub(crate) fn table(&self, name: &str) -> Outcome<Table> {
        self.db.table(name).map_err(|error| match error {
            Error::NoTable { .. } => Failure::Usage(format!(
                "{}: there is no table {name}; {}",
                self.dir.display(),
                tables(&self.db.table_names())
            )),
            other => self.failure(&other),
        })
    }

    /// Returns a table whose records are to be read; fails if it is not whole.
    pub(crate) fn whole_table(&self, name: &str) -> Outcome<Table> {
        let mut left = self.unfinished.iter().filter(|left| left.is_new);
        if left.any(|left| left.table == name) {
            Err(Failure::Wrong(format!("table {name} cannot be read; import it again")))
        } else {
            self.table(name)
        }
    }

    /// Turns an error of the engine into the failure of the command.
    pub(crate) fn failure(&self, error: &Error) -> Failure {
        failure(&self.dir, error)
    }

    /// Returns the line for a fault of the database.
    pub(crate) fn fault(&self, what: &str) -> String {
        format!("{}: {what}", self.dir.display())
    }

    /// Closes it. What comes before counts more than what the closing says.
    pub(crate) fn close_after<T>(self, outcome: Outcome<T>) -> Outcome<T> {
        let closed = self.db.close().map_err(|error| failure(&self.dir, &error));
        outcome.and_then(|answer| closed.map(|()| answer))
    }
}

fn expect_database(dir: &Path) -> Outcome {
    match look(dir)? {
        DirContent::Database => Ok(()),
        DirContent::Free | DirContent::Taken => Err(no_database(dir)),
    }
}

pub(crate) fn no_database(dir: &Path) -> Failure {
    Failure::Usage(format!(
        "{}: there is no database; name the directory of one, or make one with \
         lode load --schema or lode sql --create",
        dir.display()
    ))
}

/// Turns an error of the engine into the failure of a command on a directory.
pub(crate) fn failure(dir: &Path, error: &Error) -> Failure {
    let line = format!("{}: {error}", dir.display());
    match error {
        Error::Corrupt { .. } => Failure::Wrong(line),
        Error::NoDatabase { .. } => no_database(dir),
        Error::NoTable { .. }
        | Error::TableExists { .. }
        | Error::NoIndex { .. }
        | Error::IndexExists { .. } => Failure::Usage(line),
        error if error.is_bad_input() => Failure::Usage(line),
        _ => Failure::Refused(line),
    }
}

fn tables(names: &[String]) -> String {
    match names {
        [] => "the database has none yet".into(),
        [only] => format!("the only one is {only}"),
        [others @ .., last] => format!("there are {} and {last}", others.join(", ")),
    }
}

/// Returns the word for a kind of keys, as `--kind` takes it.
pub(crate) fn kind_word(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Hash => "hash",
        KeyKind::Tree => "tree",
    }
}

//! `lode volume`: trees of entries with typed properties.

mod change;
mod export;
mod import;
mod show;
mod watch;

use std::path::{Path, PathBuf};

use lode_volumes::{Entry, EntryAt, Error, Options, Volume};
use program_support::exit::{Failure, Outcome};

use crate::cli::volume::{VolumeArgs, VolumeCommand};
use crate::database::{self, DirContent, look};
use crate::progress;

/// Runs a command of `lode volume`.
pub(crate) fn volume(args: &VolumeArgs, options: &lode::Options) -> Outcome {
    let options = Options::new().database(options.clone());
    match &args.command {
        VolumeCommand::Ls(args) => show::ls(args, &options),
        VolumeCommand::Get(args) => show::get(args, &options),
        VolumeCommand::Tree(args) => show::tree(args, &options),
        VolumeCommand::Set(args) => change::set(args, &options),
        VolumeCommand::Rm(args) => change::rm(args, &options),
        VolumeCommand::Link(args) => change::link(args, &options),
        VolumeCommand::Expire(args) => change::expire(args, &options),
        VolumeCommand::Watch(args) => watch::watch(args, &options),
        VolumeCommand::Export(args) => export::export(args, &options),
        VolumeCommand::Import(args) => import::import(args, &options),
    }
}

/// An open volume.
struct Opened {
    volume: Volume,
    dir: PathBuf,
}

impl Opened {
    /// Opens a volume that is there, to read it. Its files stay as they are.
    fn to_read(dir: &Path, options: &Options) -> Outcome<Self> {
        expect_volume(dir)?;
        Self::opened_by(dir, || options.open_read_only(dir))
    }

    /// Opens a volume that is there, to write to it.
    fn to_write(dir: &Path, options: &Options) -> Outcome<Self> {
        // Opening it for writing makes a volume of an empty database.
        Self::to_read(dir, options)?.close_after(Ok(()))?;
        Self::opened_by(dir, || options.open_existing(dir))
    }

    /// Opens a volume, or makes a new one.
    fn or_new(dir: &Path, options: &Options) -> Outcome<Self> {
        match look(dir)? {
            DirContent::Free => Self::opened_by(dir, || options.open(dir)),
            DirContent::Database => Self::to_write(dir, options),
            DirContent::Taken => Err(Failure::Usage(format!(
                "{}: there are other files in this directory; choose an empty or a new one",
                dir.display()
            ))),
        }
    }

    fn opened_by(dir: &Path, open: impl FnOnce() -> lode_volumes::Result<Volume>) -> Outcome<Self> {
        let volume = progress::during("opening", open).map_err(|error| failure(dir, &error))?;
        Ok(Self { volume, dir: dir.into() })
    }

    /// Turns an error into the failure of the command.
    fn failure(&self, error: &Error) -> Failure {
        failure(&self.dir, error)
    }

    fn usage(&self, what: &str) -> Failure {
        Failure::Usage(format!("{}: {what}", self.dir.display()))
    }

    fn no_entry(&self, path: &str) -> Failure {
        let path = if path.is_empty() { "/" } else { path };
        self.usage(&format!("there is no entry {path}; link it, or see lode volume tree"))
    }

    fn no_property(&self, path: &str, name: &str) -> Failure {
        self.usage(&format!("entry {path} has no property {name}; see lode volume get"))
    }

    /// Returns an entry as it is.
    fn entry(&self, path: &str) -> Outcome<Entry> {
        let found = self.volume.entry(path).map_err(|error| self.failure(&error))?;
        found.ok_or_else(|| self.no_entry(path))
    }

    /// Returns an entry at one moment with all below it.
    fn entry_at(&self, path: &str) -> Outcome<EntryAt> {
        let found = self.volume.snapshot().and_then(|snapshot| snapshot.entry(path));
        found.map_err(|error| self.failure(&error))?.ok_or_else(|| self.no_entry(path))
    }

    /// Closes it. What comes before counts more than what the closing says.
    fn close_after<T>(self, outcome: Outcome<T>) -> Outcome<T> {
        let closed = self.volume.close().map_err(|error| failure(&self.dir, &error));
        outcome.and_then(|answer| closed.map(|()| answer))
    }
}

fn expect_volume(dir: &Path) -> Outcome {
    match look(dir)? {
        DirContent::Database => Ok(()),
        DirContent::Free | DirContent::Taken => Err(no_volume(dir)),
    }
}

fn no_volume(dir: &Path) -> Failure {
    Failure::Usage(format!(
        "{}: there is no volume; name the directory of one, or make one with lode volume link",
        dir.display()
    ))
}

fn failure(dir: &Path, error: &Error) -> Failure {
    let line = |what: &dyn std::fmt::Display| format!("{}: {what}", dir.display());
    match error {
        Error::Database(lode::Error::NoDatabase { .. }) | Error::NoVolume { .. } => no_volume(dir),
        Error::Database(error) => database::failure(dir, error),
        Error::NotAVolume { table, .. } => Failure::Usage(line(&format!(
            "this is a database with table {table}, and no volume; see lode stat"
        ))),
        Error::Corrupt { .. } => Failure::Wrong(error.to_string()),
        Error::Layout { .. } => Failure::Refused(error.to_string()),
        error if error.is_bad_input() => Failure::Usage(line(error)),
        _ => Failure::Refused(line(error)),
    }
}

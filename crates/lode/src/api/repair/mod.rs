//! Repair: copies what is left of a damaged database to a new one.

mod loss;
mod rescue;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use loss::Loss;
use rescue::Rescue;

use super::options::{directory, random};
use super::{Database, Options};
use crate::error::{Error, Result};
use crate::io::{Access, Disk, os};
use crate::observability::Observer;
use crate::store::{Durability, Remnant};

/// The result of a [repair](Options::repair).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// The tables of the new database, in the order of their names.
    pub tables: Vec<RepairedTable>,
    /// The number of losses that were reported; 0 if nothing is lost.
    pub losses: u64,
}

/// A table that a [repair](Options::repair) has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedTable {
    /// Its name.
    pub name: String,
    /// The records that it has.
    pub records: u64,
}

impl Options {
    /// Copies all that can be read of a damaged database to a new one, and calls `report` with each
    /// part that cannot. Nothing is written to the damaged one, which may be on a medium that does
    /// not allow it.
    ///
    /// Every page is read, whether the way to it is whole or not: a leaf whose parents are lost is
    /// found by its keys. All checksums are verified, so what is copied is what was written.
    /// Then the changes of the log are repeated, up to the first part of it that is damaged.
    /// Indexes are created again. Lost bytes of a blob are zeros, or it ends before them; one whose
    /// key is lost gets a key that starts with `lost+found/`. Half of the memory budget is for
    /// reading, and half for writing.
    ///
    /// `target` is created at the end, when the new database is whole and closed. It must not
    /// exist, or be an empty directory. Until then the new database is next to it, with
    /// `.unfinished` after its name; if the process is killed, that stays, to be removed by hand.
    ///
    /// ```
    /// use lode::{Database, KeyKind, Options, ReadTable, Schema, Type};
    /// use std::os::unix::fs::FileExt;
    ///
    /// # let place = std::env::temp_dir().join(format!("lode-repair-{}", std::process::id()));
    /// # let (damaged, target) = (place.join("damaged"), place.join("repaired"));
    /// let db = Database::open(&damaged)?;
    /// let schema = Schema::build("number").key("id", Type::U64).finish()?;
    /// let numbers = db.create_table(&schema, KeyKind::Tree)?;
    /// numbers.insert_all((0..20_000_u64).map(u64::to_le_bytes))?;
    /// drop(numbers);
    /// db.close()?;
    ///
    /// // The disk loses 4 KiB of it.
    /// let file = std::fs::File::options().write(true).open(damaged.join("data"))?;
    /// file.write_all_at(&[0; 4096], 20 * 16_384)?;
    ///
    /// let mut losses = Vec::new();
    /// let repaired = Options::new().repair(&damaged, &target, |loss| losses.push(loss.clone()))?;
    /// let left = repaired.tables[0].records;
    /// assert_eq!(Database::open(&target)?.table("number")?.len()?, left);
    /// assert_eq!(repaired.losses, losses.len() as u64);
    /// # std::fs::remove_dir_all(&place)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `NoDatabase` when `source` has none; `Corrupt` when its data file is missing, or no list of
    /// tables in it can be read; `Version`, `TableVersion`; `Locked` when it is open.
    /// `DatabaseExists` when `target` has a database; `Io` when it has other files or is inside
    /// `source`, or when an unfinished repair is next to it. `Full` when the memory is too little;
    /// `DiskFull`, `Io` of writing. Then neither `target` nor an unfinished repair is left.
    pub fn repair(
        &self,
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        mut report: impl FnMut(&Loss),
    ) -> Result<Repaired> {
        let source = source.as_ref();
        let target = target.as_ref();
        let unfinished = unfinished(target)?;
        let disk = directory(source, Access::Read)?;
        let failed = |error| Error::io(format!("look at {}", target.display()), &error);
        if disk.holds(target).map_err(failed)? {
            return Err(taken(target, "it is inside the damaged database; name another directory"));
        }
        let mut is_created = false;
        let create_new = |options: &Self| {
            create(&unfinished)?;
            is_created = true;
            options.create_new(&unfinished)
        };
        match self.repair_on(&disk, source, create_new, &mut report) {
            Ok(repaired) => finish(&unfinished, target).map(|()| repaired),
            Err(error) => {
                if is_created {
                    // It is of no use, and this call has made it.
                    let _ = fs::remove_dir_all(&unfinished);
                }
                Err(error)
            }
        }
    }

    /// Copies what is left on a disk of any kind to the database that `create_new` creates.
    pub(crate) fn repair_on(
        &self,
        disk: &dyn Disk,
        directory: &Path,
        create_new: impl FnOnce(&Self) -> Result<Database>,
        report: &mut dyn FnMut(&Loss),
    ) -> Result<Repaired> {
        let half = self.clone().memory_bytes(self.memory_bytes / 2);
        let mut checkpoint_losses = Vec::new();
        let settings = half.settings(random(), Observer::of_reader(&directory.display()));
        let remnant = Remnant::open(disk, &settings, directory, &mut |why| {
            checkpoint_losses.push(Loss::Checkpoint { why });
        })?;
        // Nothing expires before the changes of the log are there, which may be of its time.
        let is_whole = Arc::new(AtomicBool::new(false));
        let mut options = half.durability(Durability::None);
        options.clock = options.clock.stopped_until(Arc::clone(&is_whole));
        let db = create_new(&options)?;
        let mut rescue = Rescue::new(&db, &is_whole, report);
        checkpoint_losses.into_iter().for_each(|loss| rescue.lose(loss));
        let repaired = rescue.take_all(&remnant, disk);
        let closed = db.close();
        repaired.and_then(|repaired| closed.map(|()| repaired))
    }
}

fn taken(path: &Path, why: &str) -> Error {
    let error = std::io::Error::new(ErrorKind::AlreadyExists, why);
    Error::io(format!("create {}", path.display()), &error)
}

/// Returns the place of a database that is to become `target`.
fn unfinished(target: &Path) -> Result<PathBuf> {
    let failed = |error: std::io::Error| Error::io(format!("read {}", target.display()), &error);
    match fs::read_dir(target) {
        Ok(entries) => {
            let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
            let names = names.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
            if names.iter().any(|name| name == "data") {
                return Err(Error::DatabaseExists { directory: target.into() });
            }
            if !names.is_empty() {
                return Err(taken(target, "the directory has files; choose another one"));
            }
            if target.is_symlink() || os::is_root(target).map_err(failed)? {
                let why = "it is a link or the root of a file system; name a new directory in it";
                return Err(taken(target, why));
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let Some(name) = target.file_name() else {
        return Err(taken(target, "it has no name of its own; name a new directory"));
    };
    let mut name = name.to_os_string();
    name.push(".unfinished");
    let unfinished = target.with_file_name(name);
    match unfinished.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(unfinished),
        Err(error) => Err(failed(error)),
        Ok(_) => Err(taken(&unfinished, "it is left of a repair that was killed; remove it")),
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Creates the directory of the new database, which no other process may have made.
fn create(unfinished: &Path) -> Result<()> {
    let created = fs::create_dir_all(parent(unfinished)).and_then(|()| fs::create_dir(unfinished));
    created.map_err(|error| Error::io(format!("create {}", unfinished.display()), &error))
}

/// Gives the new database its name.
fn finish(unfinished: &Path, target: &Path) -> Result<()> {
    let what =
        || format!("rename {}, which is whole, to {}", unfinished.display(), target.display());
    let failed = |error: std::io::Error| Error::io(what(), &error);
    fs::rename(unfinished, target).map_err(failed)?;
    os::sync_directory(parent(target)).map_err(failed)
}

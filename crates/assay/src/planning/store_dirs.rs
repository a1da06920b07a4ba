//! The directories of stores: one base directory for disk and one for the RAM disk, locked by one
//! Assay at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use assay_core::environment::{Filesystem, filesystem_of};
use assay_core::random::derive;
use assay_driver::Storage;
use nix::unistd::geteuid;
use program_support::exit::{Failure, Outcome};
use program_support::whole_file;

use crate::files;

const NAME: &str = "_benchmarkdb";
const TMPFS: &str = "/dev/shm";

/// The base directories of a run. They are locked until this is dropped, and then removed if they
/// are empty.
pub(crate) struct StoreDirs {
    bases: Vec<Base>,
    /// Warnings for the user, each one line.
    pub warnings: Vec<String>,
}

struct Base {
    storage: Storage,
    path: PathBuf,
    /// The part of `path` that exists: itself, or the directory in which it would be made.
    found: PathBuf,
    /// The lock; none if the directory is only looked at.
    lock: Option<File>,
    /// True if the directory is removed when it is empty.
    is_ours: bool,
}

impl StoreDirs {
    /// Makes and locks the directories for these storage modes.
    pub(crate) fn prepare(modes: &[Storage], dir: Option<&Path>) -> Outcome<Self> {
        let mut store_dirs = Self { bases: Vec::new(), warnings: Vec::new() };
        for (storage, path) in bases(modes, dir)? {
            store_dirs.add(storage, path)?;
        }
        Ok(store_dirs)
    }

    /// Finds the directories without making or locking them. Their paths are those that they would
    /// have if they were made.
    pub(crate) fn look(modes: &[Storage], dir: Option<&Path>) -> Outcome<Self> {
        let mut store_dirs = Self { bases: Vec::new(), warnings: Vec::new() };
        for (storage, path) in bases(modes, dir)? {
            let found = if path.exists() { path.as_path() } else { whole_file::folder_of(&path) };
            let refused = |what: &str| {
                let shown = found.display();
                Failure::Refused(format!("{shown}: {what}; choose another one with --dir"))
            };
            if !found.is_dir() {
                return Err(refused(if found.exists() {
                    "is not a directory"
                } else {
                    "there is no such directory"
                }));
            }
            let whole = found.canonicalize().map_err(|e| refused(&e.to_string()))?;
            let path = match (path.exists(), path.file_name()) {
                (false, Some(name)) => whole.join(name),
                _ => whole.clone(),
            };
            store_dirs.bases.push(Base { storage, path, found: whole, lock: None, is_ours: false });
        }
        Ok(store_dirs)
    }

    fn add(&mut self, storage: Storage, path: PathBuf) -> Outcome {
        let refused = |e: io::Error| {
            Failure::Refused(format!(
                "{}: {e}; choose a directory that can be written with --dir",
                path.display()
            ))
        };
        let created = files::make_directory(&path, "--dir")?;
        let is_ours = created || is_named_by_us(&path);
        let path = path.canonicalize().map_err(refused)?;
        files::can_make_files(&path).map_err(refused)?;
        let lock = match self.bases.iter().find(|base| base.path == path) {
            Some(same) => same.lock.as_ref().map(File::try_clone).transpose().map_err(refused)?,
            None => Some(lock(&path).map_err(|error| match error {
                TryLockError::WouldBlock => Failure::Refused(format!(
                    "{}: another assay is at work there; wait for it or choose another directory \
                     with --dir",
                    path.display()
                )),
                TryLockError::Error(error) => refused(error),
            })?),
        };
        let filesystem = filesystem_of(&path);
        let is_in_memory = filesystem.as_ref().is_some_and(Filesystem::is_in_memory);
        match (storage, is_in_memory) {
            (Storage::Ramdisk, true) | (Storage::Memory, _) | (Storage::Disk, false) => {}
            (Storage::Ramdisk, false) => self.warnings.push(format!(
                "{} is on {} and not on a RAM disk: its figures are those of a disk",
                path.display(),
                filesystem.map(|found| found.kind).unwrap_or_default()
            )),
            (Storage::Disk, true) => self.warnings.push(format!(
                "{} is on a RAM disk: its figures are not those of a disk",
                path.display()
            )),
        }
        self.bases.push(Base { storage, found: path.clone(), path, lock, is_ours });
        Ok(())
    }

    /// Returns the existing parts of the base directories, each with its mode.
    pub(crate) fn bases(&self) -> Vec<(Storage, &Path)> {
        self.bases.iter().map(|base| (base.storage, base.found.as_path())).collect()
    }

    /// Returns true if the directory for disk is on a RAM disk.
    pub(crate) fn disk_is_in_memory(&self) -> bool {
        let disk = self.bases.iter().find(|base| base.storage == Storage::Disk);
        disk.and_then(|base| filesystem_of(&base.found)).is_some_and(|found| found.is_in_memory())
    }

    /// Returns the directory of an engine's store; none in memory.
    pub(crate) fn store(&self, engine: &str, storage: Storage) -> Option<PathBuf> {
        let base = self.bases.iter().find(|base| base.storage == storage)?;
        Some(base.path.join(format!("{engine}-{storage}")))
    }
}

impl Drop for StoreDirs {
    fn drop(&mut self) {
        for base in self.bases.iter().filter(|base| base.is_ours) {
            // A directory that still holds stores is not empty, and stays.
            let _ = fs::remove_dir(&base.path);
        }
    }
}

/// Returns the directory for each storage mode that has one, by the name that a run file can have.
fn bases(modes: &[Storage], dir: Option<&Path>) -> Outcome<Vec<(Storage, PathBuf)>> {
    let on_files = modes.iter().filter(|&&storage| storage != Storage::Memory);
    let base = |storage: &Storage| {
        let path = match (dir, storage) {
            (Some(dir), _) => dir.to_path_buf(),
            (None, Storage::Ramdisk) => ramdisk_base(),
            (None, _) => PathBuf::from(NAME),
        };
        let whole = std::path::absolute(&path);
        let whole = whole.map_err(|e| Failure::Refused(format!("{}: {e}", path.display())))?;
        match whole.to_str() {
            Some(_) => Ok((*storage, path)),
            None => Err(Failure::Usage(format!(
                "{}: not UTF-8, so a run file could not name it; choose another directory with \
                 --dir",
                whole.display()
            ))),
        }
    };
    on_files.map(base).collect()
}

/// Returns true if a directory's name is one of Assay's own.
fn is_named_by_us(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == NAME || name.starts_with(&format!("{NAME}-"))
}

fn lock(path: &Path) -> Result<File, TryLockError> {
    let directory = File::open(path).map_err(TryLockError::Error)?;
    directory.try_lock()?;
    Ok(directory)
}

/// Returns a directory on `/dev/shm` if that is a tmpfs; else in the directory for temporary files,
/// with a warning from the check of its file system. It belongs to the current directory and the
/// user. So runs in other directories can work at the same time, and `-r` finds it again.
fn ramdisk_base() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let here = derive(u64::from(geteuid().as_raw()), &here.to_string_lossy());
    let name = format!("{NAME}-{here:016x}");
    let shm = Path::new(TMPFS);
    let is_tmpfs = filesystem_of(shm).is_some_and(|fs| fs.kind == "tmpfs");
    if is_tmpfs { shm.join(name) } else { std::env::temp_dir().join(name) }
}

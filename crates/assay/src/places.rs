//! Where stores live: one base directory for disk and one for the RAM disk, held by one Assay
//! at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use assay_core::driver::Storage;
use assay_core::environment::filesystem_of;

use crate::Outcome;
use crate::exit::Failure;

const NAME: &str = "_benchmarkdb";
const TMPFS: &str = "/dev/shm";

/// The base directories of a run. They are locked until this is dropped, and then removed if
/// nothing was left in them.
pub struct Places {
    bases: Vec<Base>,
    /// What the user has to know, each one line.
    pub warnings: Vec<String>,
}

struct Base {
    storage: Storage,
    path: PathBuf,
    _lock: File,
    created: bool,
}

impl Places {
    /// Makes and locks the directories for these storage modes.
    pub fn prepare(modes: &[Storage], dir: Option<&Path>) -> Outcome<Self> {
        let mut places = Self { bases: Vec::new(), warnings: Vec::new() };
        for &storage in modes.iter().filter(|&&storage| storage != Storage::Memory) {
            let path = match (dir, storage) {
                (Some(dir), _) => dir.to_path_buf(),
                (None, Storage::Ramdisk) => ramdisk_base(),
                (None, _) => PathBuf::from(NAME),
            };
            places.add(storage, path)?;
        }
        Ok(places)
    }

    fn add(&mut self, storage: Storage, path: PathBuf) -> Outcome {
        let refused = |e: io::Error| {
            Failure::Refused(format!(
                "{}: {e}; choose a directory that can be written with --dir",
                path.display()
            ))
        };
        let created = !path.exists();
        fs::create_dir_all(&path).map_err(refused)?;
        let path = path.canonicalize().map_err(refused)?;
        tempfile_probe(&path).map_err(refused)?;
        if let Some(same) = self.bases.iter().find(|base| base.path == path) {
            let lock = same._lock.try_clone().map_err(refused)?;
            self.bases.push(Base { storage, path: path.clone(), _lock: lock, created });
        } else {
            let lock = File::open(&path).map_err(refused)?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Failure::Refused(format!(
                        "{}: another assay is at work there; wait for it or choose another \
                         directory with --dir",
                        path.display()
                    )));
                }
                Err(TryLockError::Error(e)) => return Err(refused(e)),
            }
            self.bases.push(Base { storage, path: path.clone(), _lock: lock, created });
        }
        let kind = filesystem_of(&path).map(|fs| fs.kind).unwrap_or_default();
        match (storage, kind.as_str()) {
            (Storage::Ramdisk, "tmpfs" | "ramfs") | (Storage::Memory, _) => {}
            (Storage::Ramdisk, other) => self.warnings.push(format!(
                "{} is on {other} and not on a RAM disk: its figures are those of a disk",
                path.display()
            )),
            (Storage::Disk, "tmpfs" | "ramfs") => self.warnings.push(format!(
                "{} is on a RAM disk: its figures are not those of a disk",
                path.display()
            )),
            (Storage::Disk, _) => {}
        }
        Ok(())
    }

    /// The base directories, each with its mode.
    pub fn bases(&self) -> Vec<(Storage, &Path)> {
        self.bases.iter().map(|base| (base.storage, base.path.as_path())).collect()
    }

    /// Whether what is called a disk is a RAM disk.
    pub fn disk_is_in_memory(&self) -> bool {
        let disk = self.bases.iter().find(|base| base.storage == Storage::Disk);
        let kind = disk.and_then(|base| filesystem_of(&base.path)).map(|fs| fs.kind);
        kind.is_some_and(|kind| matches!(kind.as_str(), "tmpfs" | "ramfs"))
    }

    /// The directory of an engine's store; none in memory.
    pub fn store(&self, engine: &str, storage: Storage) -> Option<PathBuf> {
        let base = self.bases.iter().find(|base| base.storage == storage)?;
        Some(base.path.join(format!("{engine}-{storage}")))
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        for base in self.bases.iter().filter(|base| base.created || base.path.ends_with(NAME)) {
            // A directory that still holds stores is not empty, and stays.
            let _ = fs::remove_dir(&base.path);
        }
    }
}

/// `/dev/shm` where that is a tmpfs; else the directory for temporary files, with a warning
/// from the check of its file system.
fn ramdisk_base() -> PathBuf {
    let shm = Path::new(TMPFS);
    let is_tmpfs = filesystem_of(shm).is_some_and(|fs| fs.kind == "tmpfs");
    match is_tmpfs {
        true => shm.join(NAME),
        false => std::env::temp_dir().join(NAME),
    }
}

/// Can a file be made here?
fn tempfile_probe(dir: &Path) -> io::Result<()> {
    let probe = dir.join(format!(".assay-probe-{}", std::process::id()));
    File::create(&probe).and_then(|_| fs::remove_file(&probe))
}

//! Checks files and directories that options name, before any work is done for them.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_core::run_file::{RunFile, RunFileError};
use assay_core::verdict_file::{Kept, VerdictFile};
use assay_core::{durability, isolation};
use program_support::exit::{Failure, Outcome};
pub(crate) use program_support::given_file::check_readable;
use program_support::output::say;
use program_support::whole_file;

/// The folder of run files, unless an option names another one.
pub(crate) const RUNS_FOLDER: &str = "assay-runs";

/// The name of a file of verdicts about isolation in a folder of results.
pub(crate) const ISOLATION_NAME: &str = "isolation.json";

/// The file of verdicts about isolation, unless an option names another one.
pub(crate) const ISOLATION_FILE: &str = "assay-runs/isolation.json";

/// Checks that a file can be written at `path`, which `option` chose. Its directory must exist.
pub(crate) fn check_writable(path: &Path, option: &str) -> Outcome {
    can_write(path, Missing::IsRefused)
        .map_err(|why| Failure::Refused(format!("{}: {why}; {}", path.display(), another(option))))
}

/// Checks that the default run file can be written. Its directory is made when it is written.
pub(crate) fn check_default(path: &Path) -> Outcome {
    can_write(path, Missing::IsMadeLater).map_err(|why| {
        Failure::Refused(format!("{}: {why}; {}", path.display(), another("--output")))
    })
}

/// Checks that a file other than a run file can be written, and that it replaces no measurements.
pub(crate) fn check_other(path: &Path, option: &str) -> Outcome {
    check_writable(path, option)?;
    let is_run = matches!(RunFile::load(path), Ok(_) | Err(RunFileError::Version { .. }));
    let what = if is_run {
        "a run file"
    } else if is_file_of_verdicts(path) {
        "a file of verdicts"
    } else {
        return Ok(());
    };
    Err(Failure::Refused(format!(
        "{}: is {what}, which would be lost; {}",
        path.display(),
        another(option)
    )))
}

/// Returns true if a file has verdicts of any kind, of any schema version.
fn is_file_of_verdicts(path: &Path) -> bool {
    durability::Verdicts::is_at(path) || isolation::Verdicts::is_at(path)
}

/// Returns true if there is a file that is not empty.
pub(crate) fn is_written(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
}

/// The meaning of a missing directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    IsRefused,
    IsMadeLater,
}

fn another(option: &str) -> String {
    format!("choose another file with {option}")
}

fn can_write(path: &Path, missing: Missing) -> Result<(), String> {
    if path.file_name().is_none() {
        return Err("this is not the name of a file".into());
    }
    let target = whole_file::target(path).map_err(|e| e.to_string())?;
    let mut folder = whole_file::folder_of(&target);
    if missing == Missing::IsMadeLater && !folder.exists() && !folder.is_symlink() {
        folder = whole_file::folder_of(folder);
    }
    match fs::metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(format!("the directory {} is not there; make it first", folder.display()));
        }
        Err(error) => return Err(error.to_string()),
        Ok(found) if !found.is_dir() => {
            return Err(format!("{} is a file, not a directory", folder.display()));
        }
        Ok(_) => {}
    }
    can_make_files(folder).map_err(|e| e.to_string())
}

/// Reads run files. Files of verdicts are left out, with a note: they are in the same folder, and
/// no view of runs shows them.
pub(crate) fn load_runs(paths: &[PathBuf]) -> Outcome<Vec<(&Path, RunFile)>> {
    let mut runs = Vec::new();
    for path in paths {
        match RunFile::load(path) {
            Ok(run) => runs.push((path.as_path(), run)),
            Err(RunFileError::Foreign { .. }) if is_file_of_verdicts(path) => say(&format!(
                "note: {} has verdicts, which assay site shows; left out",
                path.display()
            )),
            Err(error) => return Err(Failure::Refused(error.to_string())),
        }
    }
    if runs.is_empty() {
        Err(Failure::Refused("there is no run file in what was named".into()))
    } else {
        Ok(runs)
    }
}

/// Checks that files can be made in a directory, with a file that has no name.
pub(crate) fn can_make_files(folder: &Path) -> io::Result<()> {
    tempfile::tempfile_in(folder).map(drop).map_err(|error| match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error,
    })
}

/// Makes a directory whose parent exists, if it is missing. Returns true if it made it.
pub(crate) fn make_directory(path: &Path, option: &str) -> Outcome<bool> {
    let refused = |why: String| {
        let shown = path.display();
        Failure::Refused(format!("{shown}: {why}; choose another directory with {option}"))
    };
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if path.is_dir() {
                Ok(false)
            } else {
                Err(refused("is not a directory".into()))
            }
        }
        Err(error)
            if error.kind() == ErrorKind::NotFound && !whole_file::folder_of(path).exists() =>
        {
            let parent = whole_file::folder_of(path).display();
            Err(refused(format!("the directory {parent} is not there; make it first")))
        }
        Err(error) => Err(refused(error.to_string())),
    }
}

/// Makes the directory of a file that is at its default path.
pub(crate) fn make_default_folder(path: &Path) -> Outcome {
    let folder = whole_file::folder_of(path);
    if folder == Path::new(RUNS_FOLDER) {
        make_directory(folder, "--output").map(drop)
    } else {
        Ok(())
    }
}

/// Locks a file until the returned value is dropped: other commands that lock it wait. The file has
/// to be replaced as a whole. If it is missing, it is made with the content `new`.
pub(crate) fn lock(path: &Path, new: &[u8]) -> io::Result<File> {
    loop {
        match whole_file::write_new(path, new) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let file = File::open(path)?;
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // The file system has no such locks.
            Err(_) => return Ok(file),
            Ok(()) => {}
        }
        // The previous holder of the lock may have replaced the file.
        let identity = |found: fs::Metadata| (found.dev(), found.ino());
        if identity(file.metadata()?) == identity(fs::metadata(path)?) {
            return Ok(file);
        }
    }
}

/// Changes a file of verdicts, and returns what `change` returns. Verdicts that other commands
/// write concurrently stay.
pub(crate) fn change_verdicts<V: Kept, R>(
    path: &Path,
    change: impl FnOnce(&mut VerdictFile<V>) -> R,
) -> Outcome<R> {
    let refused = |e: &dyn Display| {
        Failure::Refused(format!("{}: {e}; {}", path.display(), another("--output")))
    };
    let text = |verdicts: &VerdictFile<V>| {
        let text = serde_json::to_string_pretty(verdicts).map_err(|e| refused(&e))?;
        Ok::<_, Failure>(text + "\n")
    };
    make_default_folder(path)?;
    let none = text(&VerdictFile::default())?;
    let _alone = lock(path, none.as_bytes()).map_err(|e| refused(&e))?;
    let mut verdicts = VerdictFile::<V>::load(path).map_err(Failure::Refused)?;
    let changed = change(&mut verdicts);
    whole_file::write(path, text(&verdicts)?.as_bytes()).map_err(|e| refused(&e))?;
    Ok(changed)
}

/// Returns true if two paths name one file, which need not exist yet.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> {
        let target = whole_file::target(path).ok()?;
        let folder = whole_file::folder_of(&target).canonicalize().ok()?;
        Some(folder.join(target.file_name()?))
    };
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}

/// Removes a directory of stores that a command has signed with a file of this name.
///
/// # Errors
/// `Refused` if there is a directory without that file.
pub(crate) fn remove_signed(dir: &Path, signature: &str) -> Outcome {
    if dir.as_os_str().is_empty() || !dir.exists() {
        return Ok(());
    }
    let path = dir.display();
    if !dir.join(signature).exists() {
        return Err(Failure::Refused(format!(
            "{path}: there are files here that Assay did not make; choose another directory with \
             --dir"
        )));
    }
    fs::remove_dir_all(dir).map_err(|e| Failure::Refused(format!("{path}: {e}")))
}

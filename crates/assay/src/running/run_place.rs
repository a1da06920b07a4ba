//! The place of a command's run file.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use assay_core::run_file::{RunFile, RunFileError};
use jiff::Timestamp;
use program_support::exit::{Failure, Outcome};
use program_support::whole_file::Claim;

use crate::files;

/// The path of a run file that this command alone writes, unless `--output` names it.
pub(crate) struct RunPlace {
    path: PathBuf,
    claim: Option<Claim>,
    /// The folder, if it was made for this run file.
    made_folder: Option<PathBuf>,
}

impl RunPlace {
    /// Returns the path that `--output` names, or an unused name made of the suite and the time.
    /// The path can be written to.
    pub(crate) fn of(output: Option<&Path>, suite: &str, created: Timestamp) -> Outcome<Self> {
        match output {
            Some(path) => {
                Self::check(path)?;
                Ok(Self { path: path.into(), claim: None, made_folder: None })
            }
            None => Self::claimed(Path::new(files::RUNS_FOLDER), suite, created),
        }
    }

    /// Checks that a run can be written to the path that `--output` names.
    pub(crate) fn check(path: &Path) -> Outcome {
        files::check_writable(path, "--output")?;
        // An empty file was made for this run.
        match RunFile::load(path) {
            Err(RunFileError::Foreign { .. }) if files::is_written(path) => {
                Err(Failure::Refused(format!(
                    "{}: is there already, and is no run file; choose another file with --output",
                    path.display()
                )))
            }
            _ => Ok(()),
        }
    }

    fn claimed(folder: &Path, suite: &str, created: Timestamp) -> Outcome<Self> {
        let time = created.strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut number = 1;
        let mut made_folder = None;
        loop {
            let name = match number {
                1 => format!("{suite}-{time}.json"),
                _ => format!("{suite}-{time}-{number}.json"),
            };
            let path = folder.join(name);
            files::check_default(&path)?;
            if files::make_directory(folder, "--output")? {
                made_folder = Some(folder.to_path_buf());
            }
            match Claim::new(&path) {
                Ok(claim) => return Ok(Self { path, claim: Some(claim), made_folder }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                // Another command has removed the folder, in which it wrote nothing.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Failure::Refused(format!(
                        "{}: {error}; choose another file with --output",
                        path.display()
                    )));
                }
            }
        }
    }

    /// Returns the path of the run file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the run file was written.
    pub(crate) fn is_written(&self) -> bool {
        files::is_written(&self.path)
    }
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        drop(self.claim.take());
        if let Some(folder) = &self.made_folder {
            // The folder stays if it is not empty.
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_moment_have_names_of_their_own() {
        let parent = tempfile::tempdir().expect("a directory");
        let folder = parent.path().join("runs");
        let moment = Timestamp::UNIX_EPOCH;
        let place = || RunPlace::claimed(&folder, "ycsb", moment).expect("a name");
        let first = place();
        let second = place();
        assert_eq!(first.path(), folder.join("ycsb-19700101T000000Z.json"));
        assert_eq!(second.path(), folder.join("ycsb-19700101T000000Z-2.json"));
        assert!(!first.is_written());
        drop(second);
        drop(first);
        assert!(!folder.exists(), "nothing was written");
    }
}

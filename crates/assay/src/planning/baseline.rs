//! `--against`: another build, of Assay or of a plugin, that takes turns with this one.
//!
//! Another Assay is asked to introduce itself before anything is planned. It must have the language
//! of workers ([`PROTOCOL`]) and the suite's revision in common with this one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use assay_core::run_file::{OtherBuild, OtherKind};
use assay_driver::Driver;
use assay_drivers::plugin;
use assay_suites::AnySuite;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;

use crate::plugins;
use crate::worker::parent::{self, End};
use crate::worker::{Introduction, Job, Message, PROTOCOL, Program};

/// The other build.
pub(crate) struct Baseline {
    path: PathBuf,
    has: Has,
}

/// The kind of the other build.
enum Has {
    /// An Assay, with its introduction.
    Program(Introduction),
    /// A plugin with this engine.
    Plugin(String),
}

impl Baseline {
    /// Examines the file that the user named.
    pub(crate) fn at(path: &Path) -> Outcome<Self> {
        let refused =
            |why: String| Failure::Refused(format!("--against {}: {why}", path.display()));
        let whole = path.canonicalize().map_err(|e| refused(e.to_string()))?;
        let found = fs::metadata(&whole).map_err(|e| refused(e.to_string()))?;
        if !found.is_file() {
            return Err(refused("not a file; name another assay, or a plugin".into()));
        }
        if whole.to_str().is_none() {
            return Err(refused("not UTF-8, so a run file could not name it".into()));
        }
        if is_library(&whole) {
            let description = plugins::describe(&whole)?.map_err(refused)?;
            return Ok(Self { path: whole, has: Has::Plugin(description.id) });
        }
        if found.permissions().mode() & 0o111 == 0 {
            return Err(refused("not executable; name another assay, or a plugin (….so)".into()));
        }
        let introduction = introduce(&whole)?.map_err(refused)?;
        Ok(Self { path: whole, has: Has::Program(introduction) })
    }

    /// Returns the engines of both builds. Those that were asked for by name must be among them.
    pub(crate) fn common(
        &self,
        mut drivers: Vec<Box<dyn Driver>>,
        by_name: bool,
    ) -> Outcome<Vec<Box<dyn Driver>>> {
        let absent = drivers.iter().find(|driver| !self.has_engine(driver.as_ref()));
        if let (true, Some(absent)) = (by_name, absent) {
            let path = self.path.display();
            let id = absent.profile().id;
            return Err(Failure::Usage(format!(
                "--against {path}: it has no engine {id}; it has {}",
                self.engines().join(", ")
            )));
        }
        drivers.retain(|driver| self.has_engine(driver.as_ref()));
        if drivers.is_empty() {
            Err(Failure::Usage(format!(
                "--against {}: this build has none of its engines, which are {}",
                self.path.display(),
                self.engines().join(", ")
            )))
        } else {
            Ok(drivers)
        }
    }

    /// Refuses a suite that the other build does not have, or has in another revision.
    pub(crate) fn check_suite(&self, suite: &str) -> Outcome {
        let Has::Program(introduction) = &self.has else {
            return Ok(());
        };
        let path = self.path.display();
        let ours = assay_suites::find(suite).map(AnySuite::revision);
        let theirs = introduction.suites.iter().find(|its| its.id == suite);
        match theirs.map(|its| its.revision) {
            None => Err(Failure::Usage(format!("--against {path}: it has no suite {suite}"))),
            Some(theirs) if Some(theirs) != ours => Err(Failure::Refused(format!(
                "--against {path}: its suite {suite} is of revision {theirs}, this one's of {}; \
                 they do other operations",
                ours.unwrap_or_default()
            ))),
            Some(_) => Ok(()),
        }
    }

    /// Returns the program of the other build's workers.
    pub(crate) fn program(&self) -> Program<'_> {
        match self.has {
            Has::Program(_) => Program::Other(&self.path),
            Has::Plugin(_) => Program::WithPlugin(&self.path),
        }
    }

    /// Returns the run file's description of the other build.
    pub(crate) fn described(&self) -> OtherBuild {
        let (kind, build) = match &self.has {
            Has::Program(introduction) => (OtherKind::Program, Some(introduction.build.clone())),
            Has::Plugin(_) => (OtherKind::Plugin, None),
        };
        OtherBuild { path: self.path.clone(), kind, build }
    }

    fn engines(&self) -> &[String] {
        match &self.has {
            Has::Program(introduction) => &introduction.build.engines,
            Has::Plugin(id) => std::slice::from_ref(id),
        }
    }

    /// Returns true if the other build has an engine. Another Assay loads the plugins of this one.
    fn has_engine(&self, driver: &dyn Driver) -> bool {
        let id = driver.profile().id;
        let is_given = matches!(self.has, Has::Program(_)) && plugin::path_of(id).is_some();
        is_given || self.engines().iter().any(|engine| engine == id)
    }
}

/// Returns true if a file is a shared library by its name.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so") || name.contains(".so.") || name.ends_with(".dylib")
}

/// Asks a program to introduce itself; the outer error is the user's interrupt.
fn introduce(path: &Path) -> Outcome<Result<Introduction, String>> {
    let interrupt = Interrupt::ending_at_once();
    let patience = plugins::patience();
    let order = parent::Order { job: &Job::Introduce, program: Program::Other(path) };
    Ok(match parent::carry_out(order, patience, &interrupt, &mut |_| ()) {
        End::Replied(Message::Introduced(introduction)) => of_protocol(introduction),
        End::Replied(other) => Err(no_assay(&format!("it sent {}", other.what()))),
        End::Failed(why) | End::Killed(why) => Err(no_assay(&why)),
        End::Interrupted => return Err(Failure::Interrupted("interrupted".into())),
    })
}

fn of_protocol(introduction: Introduction) -> Result<Introduction, String> {
    match introduction.protocol {
        PROTOCOL => Ok(introduction),
        other => Err(format!(
            "assay {}, whose workers speak protocol {other}; those of this one speak {PROTOCOL}",
            introduction.build.version
        )),
    }
}

fn no_assay(why: &str) -> String {
    format!("not an assay whose workers speak protocol {PROTOCOL}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        for library in ["libnudb.so", "/a/libx.so.1", "x.dylib"] {
            assert!(is_library(Path::new(library)), "{library}");
        }
        for program in ["assay", "/a.so/assay", "assay.sold", "so"] {
            assert!(!is_library(Path::new(program)), "{program}");
        }
    }
}

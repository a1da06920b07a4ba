//! One process for each cell. The parent (`parent`) starts this same program as a worker and writes
//! it a [`Job`]; the worker (`child`) replies with [`Message`]s, one JSON text a line.
//!
//! The replies have a separate pipe. An engine's standard output goes to the worker's standard
//! error, whose end the parent keeps for its report.

pub(crate) mod callgrind;
pub(crate) mod child;
pub(crate) mod groups;
pub(crate) mod introduction;
pub(crate) mod memory_group;
pub(crate) mod parent;
pub(crate) mod patience;
mod pipes;
pub(crate) mod program;
pub(crate) mod tracer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::counting::{Counter, Marks};
use assay_core::environment::Build;
use assay_core::isolation::Isolated;
use assay_core::plan::Cell;
use assay_drivers::plugin::Description;
use assay_suites::crash;
use assay_suites::run::Looked;
use assay_suites::{Measured, Progress};
use assay_suites::{isolate, verify};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the language that parents and workers speak, [`Job`] and [`Message`] with all
/// that is in them. A change after which two builds do not understand each other adds one.
pub(crate) const PROTOCOL: u32 = 5;

/// The program of a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program<'p> {
    /// This program.
    This,
    /// This program, with the engine of the plugin in this file.
    WithPlugin(&'p Path),
    /// Another build of this program.
    Other(&'p Path),
}

/// A build's introduction to another build.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Introduction {
    /// The version of the language that its workers speak.
    pub protocol: u32,
    /// The build itself.
    pub build: Build,
    /// The suites of the build.
    pub suites: Vec<SuiteId>,
}

/// A suite of a build.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SuiteId {
    pub id: String,
    pub revision: u32,
}

/// A worker's job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Introduce this build.
    Introduce,
    /// Measure a cell.
    Measure(Box<Cell>),
    /// Continue to measure a cell with what a killed worker left.
    Resume(Box<Cell>, Value),
    /// Do the work of a cell for a counter, which writes its counts into a folder.
    Count(Box<Cell>, Counter, PathBuf),
    /// Examine the store that the measuring of a cell left.
    Look(Box<Cell>, Value),
    /// Verify a driver.
    Verify(verify::Job),
    /// Look at the isolation of an engine's transactions.
    Isolate(isolate::Job),
    /// Report what a plugin declares.
    Describe(PathBuf),
    /// Commit a history, and wait to be ended.
    CrashWrite(crash::Job),
    /// Commit a history from where the log ends, on a disk that may fail.
    CrashEndure(crash::Job, crash::Log, crash::Then),
    /// Open the store that a writer left, and close it.
    CrashReopen(crash::Job),
    /// Check what is left of the histories, of which these commits were acknowledged; if told so,
    /// synchronise the files before, so that no later call reports errors of a disk that is healed.
    CrashCheck(crash::Job, crash::Log, bool),
}

impl Job {
    /// Returns the engine that the job needs.
    fn engine(&self) -> Option<&str> {
        match self {
            Self::Measure(cell)
            | Self::Resume(cell, _)
            | Self::Count(cell, ..)
            | Self::Look(cell, _) => Some(&cell.engine.id),
            Self::Verify(job) => Some(&job.engine),
            Self::Isolate(job) => Some(&job.engine),
            Self::CrashWrite(job)
            | Self::CrashEndure(job, ..)
            | Self::CrashReopen(job)
            | Self::CrashCheck(job, ..) => Some(&job.engine),
            Self::Introduce | Self::Describe(_) => None,
        }
    }

    /// Returns the memory limit of the job's worker, if there is one.
    fn memory_limit_bytes(&self) -> Option<u64> {
        match self {
            Self::Measure(cell)
            | Self::Resume(cell, _)
            | Self::Count(cell, ..)
            | Self::Look(cell, _) => cell.memory.limit_bytes,
            _ => None,
        }
    }

    /// Returns the counter that the job's worker is started with, and the folder for its counts.
    fn counter(&self) -> Option<(Counter, &Path)> {
        match self {
            Self::Count(_, counter, folder) => Some((*counter, folder)),
            _ => None,
        }
    }

    /// Returns the process whose mount namespace the job needs, unless it is the parent's.
    fn namespace(&self) -> Option<u32> {
        match self {
            Self::CrashWrite(job)
            | Self::CrashEndure(job, ..)
            | Self::CrashReopen(job)
            | Self::CrashCheck(job, ..) => job.namespace,
            _ => None,
        }
    }
}

/// A worker's message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The worker's introduction of its build.
    Introduced(Introduction),
    /// The progress of the work.
    Progress(Progress),
    /// The measurement.
    Measured(Box<Measured>),
    /// The measurement so far; the worker is to be killed after this time, while it writes.
    Farewell(Box<Measured>, Duration),
    /// The measurement of a cell that was counted, and its marks.
    Counted(Box<Measured>, Marks),
    /// The result of examining a cell's store.
    Looked(Looked),
    /// The checks of a verification.
    Verified(Vec<verify::Check>),
    /// The isolation that was seen, or why none can be seen.
    Isolated(Result<Isolated, String>),
    /// The plugin's declaration, or why it is no plugin.
    Described(Result<Description, String>),
    /// The store was opened or closed, or a commit was made.
    Wrote(crash::Said),
    /// The worker cannot continue committing, or cannot open the store again.
    CannotWrite(String),
    /// The finding after a crash.
    Found(crash::Checked),
    /// The worker cannot run on the processors that its cell names.
    CannotBind(String),
    /// The processor does not count for the worker.
    CannotCount(String),
    /// The engine (or a driver) panicked.
    Panicked(String),
}

impl Message {
    /// Returns the name of the message's kind, for one that was not expected.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Introduced(_) => "an introduction",
            Self::Progress(_) => "progress",
            Self::Measured(_) => "a measurement",
            Self::Farewell(..) => "the farewell of a worker",
            Self::Counted(..) => "a count",
            Self::Looked(_) => "what a cell left",
            Self::Verified(_) => "a verification",
            Self::Isolated(_) => "the isolation of an engine",
            Self::Described(_) => "the description of a plugin",
            Self::Wrote(_) => "an acknowledgement",
            Self::CannotWrite(_) => "the end of a writer",
            Self::Found(_) => "what a crash left",
            Self::CannotBind(_) => "the end of a worker that has no processor",
            Self::CannotCount(_) => "the end of a worker that cannot be counted",
            Self::Panicked(_) => "a panic",
        }
    }

    /// Returns why the job failed, in one line; none if it did not.
    fn failure(&self) -> Option<String> {
        match self {
            Self::CannotBind(why) | Self::CannotCount(why) => Some(why.clone()),
            Self::Panicked(text) => {
                Some(format!("the engine panicked: {}", text.lines().next().unwrap_or_default()))
            }
            _ => None,
        }
    }
}

//! One process for each cell. The parent (`parent`) starts this same program as a worker and
//! writes it a [`Job`]; the worker (`child`) replies with [`Message`]s, one JSON text a line.
//!
//! The replies go through a pipe of their own: what an engine prints to standard output ends
//! up with its standard error, of which the parent keeps the end for its report.

pub(crate) mod child;
pub(crate) mod groups;
pub(crate) mod introduction;
pub(crate) mod memory_group;
pub(crate) mod parent;
pub(crate) mod patience;
mod pipes;
pub(crate) mod program;

use std::path::{Path, PathBuf};

use assay_core::durability::Found;
use assay_core::environment::Build;
use assay_core::plan::Cell;
use assay_drivers::plugin::Description;
use assay_suites::cell::{Looked, Measured, Progress};
use assay_suites::crash;
use assay_suites::verify;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The number of the language that parents and workers speak, [`Job`] and [`Message`] with all that
/// is in them: one more with each change after which two builds do not understand each other.
pub(crate) const PROTOCOL: u32 = 3;

/// Which program a worker is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program<'p> {
    /// This one.
    This,
    /// This one, with the engine of the plugin in this file.
    WithPlugin(&'p Path),
    /// Another build of this one.
    Other(&'p Path),
}

/// What a build says of itself to another one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Introduction {
    /// What its workers speak.
    pub protocol: u32,
    /// Which build it is.
    pub build: Build,
    /// Its suites.
    pub suites: Vec<SuiteId>,
}

/// A suite of a build.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SuiteId {
    pub id: String,
    pub revision: u32,
}

/// What a worker is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Say which build it is.
    Introduce,
    /// Measure a cell.
    Measure(Box<Cell>),
    /// Look at the store that the measuring of a cell left.
    Look(Box<Cell>, Value),
    /// Verify a driver.
    Verify(verify::Job),
    /// Look at what a plugin declares.
    Describe(PathBuf),
    /// Commit a history, and wait to be ended.
    CrashWrite(crash::Job),
    /// Look at what is left of one, of which this number of commits was acknowledged.
    CrashCheck(crash::Job, u32),
}

impl Job {
    /// The engine that it needs.
    fn engine(&self) -> Option<&str> {
        match self {
            Self::Measure(cell) | Self::Look(cell, _) => Some(&cell.engine),
            Self::Verify(job) => Some(&job.engine),
            Self::CrashWrite(job) | Self::CrashCheck(job, _) => Some(&job.engine),
            Self::Introduce | Self::Describe(_) => None,
        }
    }

    /// The limit of the memory that its worker takes up, if there is one.
    fn memory_limit_bytes(&self) -> Option<u64> {
        match self {
            Self::Measure(cell) | Self::Look(cell, _) => cell.memory_limit_bytes,
            _ => None,
        }
    }

    /// The process whose mount namespace it is done in, if not in the parent's.
    fn namespace(&self) -> Option<u32> {
        match self {
            Self::CrashWrite(job) | Self::CrashCheck(job, _) => job.namespace,
            _ => None,
        }
    }
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// Which build it is.
    Introduced(Introduction),
    /// It is at work.
    Progress(Progress),
    /// It has measured.
    Measured(Box<Measured>),
    /// It has looked at what a cell left.
    Looked(Looked),
    /// It has verified.
    Verified(Vec<verify::Check>),
    /// What the plugin declares, or why it is none.
    Described(Result<Description, String>),
    /// It has opened a store, or committed.
    Wrote(crash::Said),
    /// It cannot go on committing.
    CannotWrite(String),
    /// It has looked at what a crash left.
    Found(Found),
    /// It cannot run on the processors that its cell names.
    CannotBind(String),
    /// The engine (or a driver) panicked.
    Panicked(String),
}

impl Message {
    /// What it is, to name one that was not expected.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Introduced(_) => "an introduction",
            Self::Progress(_) => "progress",
            Self::Measured(_) => "a measurement",
            Self::Looked(_) => "what a cell left",
            Self::Verified(_) => "a verification",
            Self::Described(_) => "the description of a plugin",
            Self::Wrote(_) => "an acknowledgement",
            Self::CannotWrite(_) => "the end of a writer",
            Self::Found(_) => "what a crash left",
            Self::CannotBind(_) => "the end of a worker that has no processor",
            Self::Panicked(_) => "a panic",
        }
    }

    /// Why its job failed, in one line; none if it did not.
    fn failure(&self) -> Option<String> {
        match self {
            Self::CannotBind(why) => Some(why.clone()),
            Self::Panicked(text) => {
                Some(format!("the engine panicked: {}", text.lines().next().unwrap_or_default()))
            }
            _ => None,
        }
    }
}

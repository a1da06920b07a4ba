//! `crash`: tests what an engine keeps when its process is killed or the power fails.
//!
//! A *writer* commits seeded histories (`history`) of `ledger` records and acknowledges each
//! commit; it is ended at some moment. It has one thread or several (`writers`), each with a
//! history of its own. A *checker* opens the store that is left and looks for the moment of the
//! histories that it is at: all acknowledged commits must be there, a commit in flight must be
//! there as a whole or not at all, and nothing else. What several writers may leave is in `order`.
//! The caller knows the promise ([`assay_core::durability::Promise`]).
//!
//! On a disk that fails, `endure` writes instead: errors do not end it. What commits with errors
//! may leave is in `refusals`.

mod check;
mod endure;
mod history;
mod ledger;
mod log;
mod order;
mod refusals;
mod write;
mod writers;

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_core::tape::Records;
use assay_driver::error::Result;
use assay_driver::{Driver, Durability, Endpoint, KeyKind, OpenSpec, Storage, Store};
use serde::{Deserialize, Serialize};

pub use check::{Checked, check, reopen};
pub use endure::{Then, endure};
pub use log::{Acknowledged, Log, Refused};
pub use write::{Said, write};

use ledger::Ledger;
use writers::Writers;

/// A writer's or a checker's job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The engine's id.
    pub engine: String,
    /// The durability level.
    pub durability: Durability,
    /// The organisation of the key.
    pub key_kind: KeyKind,
    /// The directory of the store.
    pub dir: PathBuf,
    /// Settings of the engine that differ from their defaults.
    pub options: BTreeMap<String, String>,
    /// The seed of the history.
    pub seed: u64,
    /// The number of commits in the histories of all threads together.
    pub commits: u32,
    /// The threads that write.
    pub threads: u32,
    /// Microseconds of the pause before each commit, so that a history takes several intervals
    /// between syncs; 0 for none.
    pub pace_us: u64,
    /// The process whose mount namespace the directory is in; none for this one's.
    pub namespace: Option<u32>,
}

/// The number of commits of each thread that a store has to take after the crash.
const COMMITS_AFTER: u32 = 5;

fn open(job: &Job, driver: &dyn Driver, ledger: &Ledger, create: bool) -> Result<Box<dyn Store>> {
    let spec = OpenSpec {
        endpoint: Endpoint::Directory(job.dir.clone()),
        create,
        storage: Storage::Disk,
        durability: job.durability,
        key_kind: job.key_kind,
        schema: ledger.schema().clone(),
        expected_rows: u64::from(Writers::of(job, driver).rows()),
        threads: job.threads.max(1),
        cache_bytes: None,
        volumes: None,
        parameters: BTreeMap::new(),
    };
    driver.open(&spec.with(job.options.clone()))
}

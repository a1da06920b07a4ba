//! `crash`: tests what an engine keeps when its process is killed or the power fails.
//!
//! A *writer* commits a seeded history (`history`) of `ledger` records and acknowledges each
//! commit; it is ended at some moment. A *checker* opens the store that is left and looks for its
//! moment in the history: all acknowledged commits must be there, the commit in flight must be
//! there as a whole or not at all, and nothing else. The caller knows the promise
//! ([`assay_core::durability::Promise`]).

mod check;
mod history;
mod ledger;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_core::tape::Records;
use assay_driver::error::Result;
use assay_driver::{Driver, Durability, Endpoint, KeyKind, OpenSpec, Storage, Store};
use serde::{Deserialize, Serialize};

pub use check::check;
pub use write::{Said, write};

use history::Habits;
use ledger::Ledger;

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
    /// The number of commits in the history.
    pub commits: u32,
    /// Microseconds of the pause before each commit, so that a history takes several intervals
    /// between syncs; 0 for none.
    pub pace_us: u64,
    /// The process whose mount namespace the directory is in; none for this one's.
    pub namespace: Option<u32>,
}

/// The number of commits that a store has to take after the crash.
const COMMITS_AFTER: u32 = 5;

/// Returns the number of rows of the ledger.
fn rows(job: &Job, driver: &dyn Driver) -> u32 {
    Habits::of(driver).rows(job.commits.saturating_add(COMMITS_AFTER))
}

fn open(job: &Job, driver: &dyn Driver, ledger: &Ledger, create: bool) -> Result<Box<dyn Store>> {
    let spec = OpenSpec {
        endpoint: Endpoint::Directory(job.dir.clone()),
        create,
        storage: Storage::Disk,
        durability: job.durability,
        key_kind: job.key_kind,
        schema: ledger.schema().clone(),
        expected_rows: u64::from(rows(job, driver)),
        threads: 1,
        cache_bytes: None,
        volumes: None,
        parameters: BTreeMap::new(),
    };
    driver.open(&spec.with(job.options.clone()))
}

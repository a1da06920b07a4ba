//! `isolate`: the anomalies of isolation that an engine's transactions show, compared with what its
//! documentation promises.

mod promises;
mod subject;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use assay_core::isolation::{Isolated, Seen, short};
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{
    Change, Concurrency, Driver, Durability, Endpoint, KeyKind, OpenSpec, Profile, Storage,
    Transactions,
};
use assay_isolation::drive::{CaseResult, Plan, in_fixed_order, in_threads};
use assay_isolation::{Found, Level, Outcome, check};
use serde::{Deserialize, Serialize};

pub use promises::{Promise, promise};
pub use subject::{MOST_VALUES, Subject};

/// The time after which a step of a case is taken to wait for another session.
const PATIENCE: Duration = Duration::from_millis(250);
/// The keys in use at the same time.
const KEYS: u64 = 16;
/// The file that marks a directory as one of this command.
pub const SIGNATURE: &str = "assay-isolate";

/// The engine, its setting and the transactions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The engine's id.
    pub engine: String,
    /// The storage mode of the store.
    pub storage: Storage,
    /// The durability level.
    pub durability: Durability,
    /// An empty directory for the stores.
    pub dir: PathBuf,
    /// The threads that run drawn transactions at once.
    pub threads: u32,
    /// The number of drawn transactions.
    pub transactions: u64,
    /// The seed of the drawn transactions.
    pub seed: u64,
    /// The engine's parameters that differ from their defaults.
    pub parameters: BTreeMap<String, String>,
}

/// Returns why an engine's isolation cannot be looked at; none if it can.
pub fn why_not(driver: &dyn Driver) -> Option<String> {
    let profile = driver.profile();
    let lacks = |change| driver.lacks().contains(&change);
    if let Err(why) = driver.version() {
        Some(why)
    } else if !profile.keeps_data {
        Some("it keeps nothing".into())
    } else if profile.transactions != Transactions::Full {
        Some("it has no transactions that read and write".into())
    } else if profile.concurrency == Concurrency::OneConnection {
        Some("it has one connection".into())
    } else if lacks(Change::Delete) || lacks(Change::Update) {
        Some("it does not update or delete".into())
    } else {
        None
    }
}

/// Runs drawn transactions and the cases, each on a store of its own.
///
/// # Errors
/// If the engine fails, or cannot have several connections in this storage mode.
pub fn run(job: &Job, driver: &dyn Driver) -> Result<Isolated> {
    let profile = driver.profile();
    let has_ranges = profile.key_kinds.contains(&KeyKind::Tree);
    let broken =
        |why: assay_isolation::drive::Broken| Error::new(ErrorKind::Engine, why.to_string());
    let plan = Plan {
        seed: job.seed,
        threads: job.threads,
        transactions: job.transactions,
        keys: KEYS,
        ranges: has_ranges,
    };
    let store = driver.open(&spec(job, profile, "drawn")?)?;
    let history = in_threads(&Subject::new(store.as_ref()), &plan).map_err(broken)?;
    store.close()?;
    let store = driver.open(&spec(job, profile, "cases")?)?;
    let cases = in_fixed_order(&Subject::new(store.as_ref()), has_ranges, PATIENCE);
    let cases = cases.map_err(broken)?;
    store.close()?;
    let verdict = check(&history).map_err(|e| Error::new(ErrorKind::Engine, e.to_string()))?;
    let count = |wanted: Outcome| history.iter().filter(|one| one.outcome == wanted).count() as u64;
    let many = |is: fn(&CaseResult) -> bool| cases.iter().filter(|case| is(case)).count() as u64;
    let kept = cases.iter().map(|case| case.verdict.level).fold(verdict.level, Level::min);
    let mut seen: Vec<Seen> = Vec::new();
    // A case is easier to read than drawn transactions.
    let of_cases = cases.iter().map(|case| (Some(case.name), &case.verdict));
    for (case, verdict) in of_cases.chain([(None, &verdict)]) {
        for found in &verdict.anomalies {
            if !seen.iter().any(|seen| seen.anomaly == short(found.anomaly)) {
                seen.push(noted(found, case, promise(profile.id)));
            }
        }
    }
    Ok(Isolated {
        engine_version: driver.version().map_err(Error::unsupported)?,
        has_ranges,
        committed: count(Outcome::Committed),
        aborted: count(Outcome::Aborted),
        cases: cases.len() as u64,
        cases_waited: many(|case| case.has_waited),
        cases_refused: many(|case| case.was_refused),
        kept: kept.to_string(),
        seen,
    })
}

fn noted(found: &Found, case: Option<&str>, promise: Option<Promise>) -> Seen {
    Seen {
        anomaly: short(found.anomaly).into(),
        case: case.map(String::from),
        example: found.to_string().lines().map(String::from).collect(),
        // No level allows what breaks a store, whatever was promised.
        is_against_promise: found.anomaly.allowed_at()
            < promise.map_or(Level::ReadUncommitted, |it| it.level),
    }
}

/// Returns the store of a part of the job.
fn spec(job: &Job, profile: &Profile, part: &str) -> Result<OpenSpec> {
    let dir = job.dir.join(part);
    if job.storage != Storage::Memory {
        std::fs::create_dir_all(&dir)
            .and_then(|()| std::fs::write(job.dir.join(SIGNATURE), ""))
            .map_err(|e| Error::engine("create", e))?;
    }
    let list = ColumnType::Bytes(8 * MOST_VALUES as u32);
    let columns = [("id", ColumnType::U64), ("length", ColumnType::U64), ("list", list)];
    let has_tree = profile.key_kinds.contains(&KeyKind::Tree);
    Ok(OpenSpec {
        endpoint: Endpoint::Directory(dir),
        create: true,
        storage: job.storage,
        durability: job.durability,
        key_kind: if has_tree { KeyKind::Tree } else { profile.key_kinds[0] },
        schema: Schema::new("lists", &columns, 1),
        expected_rows: job.transactions,
        threads: job.threads,
        cache_bytes: None,
        volumes: None,
        parameters: job.parameters.clone(),
    })
}

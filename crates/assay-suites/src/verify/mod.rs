//! `verify`: checks that a driver does what the record level says and its profile declares.
//!
//! Every check has a name and ends passed, skipped (the engine does not offer it) or failed with
//! the first difference. The basic operations run on three schemas, so that drivers which treat
//! short and long keys or payloads differently are tried on both.

mod cases;
mod model;
mod schemas;
mod subject;

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_core::random::derive;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Driver, Durability, KeyKind, Storage};
use serde::{Deserialize, Serialize};

use cases::{CASES, NEEDED};
use schemas::Shape;
use subject::Subject;

/// The engine and the setting to verify.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The engine's id.
    pub engine: String,
    /// The storage mode of the store.
    pub storage: Storage,
    /// The durability level.
    pub durability: Durability,
    /// The organisation of the key.
    pub key_kind: KeyKind,
    /// An empty directory for the stores.
    pub dir: PathBuf,
    /// Parameters of the engine that are set.
    pub parameters: BTreeMap<String, String>,
    /// The seed of the random operations.
    pub seed: u64,
}

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The name of the check.
    pub name: String,
    /// The verdict of the check.
    pub verdict: Verdict,
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The engine behaves as it should.
    Passed,
    /// The engine does not offer the checked operation.
    Skipped(String),
    /// The first difference that was found.
    Failed(String),
}

/// The file that marks a directory as a verification's.
pub const SIGNATURE: &str = "assay-verify";

/// The number of random operations against the model.
const RANDOM_OPERATIONS: u64 = 10_000;

/// Runs every check in order; ends after the first that fails.
pub fn run(job: &Job, driver: &dyn Driver) -> Vec<Check> {
    let mut checks = Checks(Vec::new());
    for shape in Shape::ALL {
        if shape == Shape::Indexed && !driver.has_indexes() {
            let name = format!("lookups by secondary indexes ({})", shape.name());
            match checks.note(name, Err(Error::unsupported("secondary indexes"))) {
                Ok(()) => continue,
                Err(Ended) => break,
            }
        }
        let records = shape.records(job.seed);
        let subject = Subject {
            job,
            driver,
            profile: driver.profile(),
            records: &records,
            dir: job.dir.join(shape.name()),
        };
        if let Err(Ended) = subject.run(&mut checks, shape) {
            break;
        }
    }
    checks.0
}

struct Checks(Vec<Check>);

/// The error that ends the checks after a failed one.
struct Ended;

impl Checks {
    fn note(
        &mut self,
        name: impl Into<String>,
        result: Result<()>,
    ) -> std::result::Result<(), Ended> {
        let verdict = match result {
            Ok(()) => Verdict::Passed,
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                Verdict::Skipped(error.to_string())
            }
            Err(error) => Verdict::Failed(error.to_string()),
        };
        let failed = matches!(verdict, Verdict::Failed(_));
        self.0.push(Check { name: name.into(), verdict });
        if failed { Err(Ended) } else { Ok(()) }
    }
}

impl Subject<'_> {
    fn run(&self, checks: &mut Checks, shape: Shape) -> std::result::Result<(), Ended> {
        let label = |name: &str| format!("{name} ({})", shape.name());
        let store = match self.open(true, 1) {
            Ok(store) => store,
            Err(error) => return checks.note(label("open"), Err(error)),
        };
        for (name, case) in CASES {
            let mut result = store.connect(&mut |connection| case(self, connection));
            let is_needed = NEEDED.iter().any(|(needed, change)| {
                needed == name && change.is_none_or(|change| self.has(change))
            });
            if let (true, Err(error)) = (is_needed, &result)
                && error.kind() == ErrorKind::Unsupported
            {
                let words = format!("{error} is not offered, and every engine has to have it");
                result = Err(Error::engine(name, words));
            }
            checks.note(label(name), result)?;
        }
        let mut model = self.model();
        let seed = derive(self.job.seed, shape.name());
        let result = store.connect(&mut |connection| {
            model.adopt(connection)?;
            model.operate(connection, seed, RANDOM_OPERATIONS)?;
            model.compare(connection)
        });
        checks.note(label("10,000 random operations"), result)?;
        checks.note(label("close"), store.close())?;
        let reopened = if self.profile.reopens(self.job.storage) {
            self.open(false, 1).and_then(|store| {
                store.connect(&mut |connection| model.compare(connection))?;
                store.close()
            })
        } else {
            Err(Error::unsupported("this storage is gone when it is closed"))
        };
        checks.note(label("reopen with everything there"), reopened)?;
        match shape {
            Shape::Wide => checks.note("several connections at once", self.connections()),
            _ => Ok(()),
        }
    }
}

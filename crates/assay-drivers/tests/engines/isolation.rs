//! Transactions of eight threads at once, and known cases: their reads are explained by some order
//! of them, as far as the engine's documentation promises that.

use std::collections::BTreeMap;

use assay_core::isolation::Seen;
use assay_driver::Storage;
use assay_suites::isolate::{self, Job};

use crate::stores::{THREADS, drivers};

const TRANSACTIONS: u64 = 600;

#[test]
fn transactions_keep_the_level_that_the_engine_promises() {
    let mut checked = Vec::new();
    for driver in drivers() {
        let profile = driver.profile();
        if isolate::why_not(driver.as_ref()).is_some() {
            continue;
        }
        for (storage, levels) in profile.levels {
            let subject = format!("{} on {storage}", profile.id);
            let dir = tempfile::tempdir().expect("a directory");
            let job = Job {
                engine: profile.id.into(),
                storage: *storage,
                durability: levels[0],
                dir: dir.path().into(),
                threads: THREADS as u32,
                transactions: TRANSACTIONS,
                seed: 1,
                parameters: BTreeMap::new(),
            };
            let isolated = match isolate::run(&job, driver.as_ref()) {
                // A database in memory may have one connection.
                Err(_) if profile.id == "sqlite" && *storage == Storage::Memory => continue,
                ended => ended.unwrap_or_else(|error| panic!("{subject}: {error}")),
            };
            let against = |seen: &&Seen| seen.is_against_promise;
            let found: Vec<_> = isolated.seen.iter().filter(against).collect();
            assert!(found.is_empty(), "{subject} kept {}: {found:#?}", isolated.kept);
            assert!(isolated.committed > 0, "{subject}: {isolated:?}");
            assert!(isolated.cases >= 9, "{subject}: {isolated:?}");
            checked.push(subject);
        }
    }
    assert!(checked.len() > 3, "{checked:?}");
}

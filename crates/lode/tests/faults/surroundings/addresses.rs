//! A process that may have few addresses (`RLIMIT_AS`): a database opens with less, or says why it
//! does not, and nothing ends the process.

use lode::{Durability, Error, Options};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::support::{expect, keys, put, role, run, table};

const MIB: u64 = 1 << 20;

fn work(options: &Options, path: &std::path::Path, count: u64) -> Result<u64, Error> {
    let db = options.open(path)?;
    let table = table(&db);
    put(&db, 0..count)?;
    let snapshot = db.snapshot();
    let transaction = db.begin();
    (0..count / 10)
        .try_for_each(|key| transaction.upsert(&table, &super::support::record(key)).map(drop))?;
    transaction.commit()?;
    put(&db, 0..count)?;
    drop(snapshot);
    let count = keys(&db).len() as u64;
    db.close().map(|()| count)
}

#[test]
fn few_addresses_are_enough_for_a_small_budget_and_a_large_one_is_refused() {
    const TEST: &str = "surroundings::addresses::\
                        few_addresses_are_enough_for_a_small_budget_and_a_large_one_is_refused";
    if role().is_none() {
        // Of the process, with what it has already.
        for mib in [512, 1_024, 1_331] {
            let path = tempfile::tempdir().expect("a directory");
            let output = run(TEST, &mib.to_string(), path.path());
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{mib} MiB: {:?}: {said}", output.status);
            expect(path.path(), 20_000);
        }
        return;
    }
    let (role, path) = role().expect("a child");
    let mib: u64 = role.parse().expect("a number");
    let (_, hard) = getrlimit(Resource::RLIMIT_AS).expect("a limit");
    setrlimit(Resource::RLIMIT_AS, mib * MIB, hard).expect("it is no higher");
    // A budget that has no room is refused when it is opened, and the error says so.
    let large = Options::new().memory_bytes(mib * MIB);
    for refused in [large.in_memory().map(drop), large.open(path.join("large")).map(drop)] {
        match refused {
            Err(Error::Io { what, .. }) => assert!(what.contains("addresses"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
    let defaults = [Options::new(), Options::new().memory_bytes(16 * MIB)];
    let levels = [Durability::None, Durability::Process, Durability::Periodic, Durability::Commit];
    for (number, options) in defaults.iter().enumerate() {
        for level in levels {
            let own = path.join(format!("{number}-{level:?}"));
            // Each write syncs its log at the last level.
            let count = if level == Durability::Commit { 200 } else { 20_000 };
            let worked = work(&options.clone().durability(level), &own, count);
            assert_eq!(worked, Ok(count), "{number}, {level:?}");
        }
        let in_memory = options.in_memory().expect("its default fits");
        table(&in_memory);
        put(&in_memory, 0..20_000).expect("room");
    }
    let last = Options::new().durability(Durability::Process).open(&path).expect("room");
    put(&last, 0..20_000).expect("room");
    last.close().expect("nothing is wrong");
}

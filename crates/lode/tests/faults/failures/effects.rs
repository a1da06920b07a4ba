//! Each error says whether the operation that returned it has happened, whatever call of the disk
//! fails.

use lode::simulation::{self, Fault, FaultKind, Mapping, Simulated};
use lode::{Database, Durability, Effect, Error};

use crate::common::content::{Content, difference, options, read};
use crate::common::tables::{TABLES, record, schema};

/// A table whose records are in a tree, and a new value of its records.
const TABLE: usize = 3;
const NEW: u32 = 7_000;

/// Something that changes a database, and what its content is then.
struct Operation {
    name: &'static str,
    levels: &'static [Durability],
    work: fn(&Database) -> Result<(), Error>,
    change: fn(&mut Content),
}

const LOGGED: &[Durability] = &[Durability::Process, Durability::Commit];
const ALL: &[Durability] = &[Durability::None, Durability::Process, Durability::Commit];

fn put(content: &mut Content, keys: std::ops::Range<u32>) {
    content.get_mut(&TABLE).expect("a table").extend(keys.map(|key| (key, NEW)));
}

fn records(keys: std::ops::Range<u32>) -> impl Iterator<Item = Vec<u8>> {
    keys.map(|key| record(TABLE, key, NEW))
}

fn commit(db: &Database, level: Durability) -> Result<(), Error> {
    let transaction = db.begin();
    let table = db.table(TABLES[TABLE].0)?;
    records(100..120).try_for_each(|record| transaction.upsert(&table, &record).map(drop))?;
    transaction.commit_with(level)
}

const OPERATIONS: [Operation; 8] = [
    Operation {
        name: "upsert",
        levels: ALL,
        work: |db| db.table(TABLES[TABLE].0)?.upsert(&record(TABLE, 100, NEW)).map(drop),
        change: |content| put(content, 100..101),
    },
    Operation {
        name: "delete",
        levels: ALL,
        work: |db| db.table(TABLES[TABLE].0)?.delete(1u32.to_le_bytes()).map(drop),
        change: |content| {
            content.get_mut(&TABLE).expect("a table").remove(&1);
        },
    },
    Operation {
        name: "insert_all",
        levels: ALL,
        work: |db| db.table(TABLES[TABLE].0)?.insert_all(records(100..120)).map(drop),
        change: |content| put(content, 100..120),
    },
    Operation {
        name: "commit",
        levels: ALL,
        work: |db| commit(db, Durability::None),
        change: |content| put(content, 100..120),
    },
    Operation {
        name: "commit_with periodic",
        levels: ALL,
        work: |db| commit(db, Durability::Periodic),
        change: |content| put(content, 100..120),
    },
    Operation {
        name: "commit_with commit",
        levels: ALL,
        work: |db| commit(db, Durability::Commit),
        change: |content| put(content, 100..120),
    },
    Operation {
        name: "create_table",
        levels: LOGGED,
        work: |db| db.create_table(&schema(4), TABLES[4].1).map(drop),
        change: |content| drop(content.insert(4, Default::default())),
    },
    Operation {
        name: "drop_table",
        levels: LOGGED,
        work: |db| db.drop_table(TABLES[TABLE].0),
        change: |content| drop(content.remove(&TABLE)),
    },
];

/// A database with a checkpoint and some records after it, and its content.
fn before(level: Durability, mapping: Mapping) -> (Simulated, Database, Content) {
    let disk = Simulated::new(1);
    disk.set_mapping(mapping);
    let db = simulation::open(&options(level), &disk, 1).expect("an empty disk");
    for at in [1, TABLE] {
        let table = db.create_table(&schema(at), TABLES[at].1).expect("room");
        for key in 0..20 {
            table.upsert(&record(at, key, key)).expect("room");
        }
    }
    db.checkpoint().expect("nothing is wrong with the disk");
    let content = read(&db).expect("nothing is wrong with the disk");
    (disk, db, content)
}

/// Has one call fail, as the `number`th of an operation or the next after it of this kind. Returns
/// what the error said of the effect, if there was an error, and whether a call failed.
fn with_fault(
    operation: &Operation,
    (level, mapping): (Durability, Mapping),
    (number, kind): (u64, FaultKind),
) -> (Option<Effect>, bool) {
    let (disk, db, content) = before(level, mapping);
    let mut wanted = content.clone();
    (operation.change)(&mut wanted);
    let case = format!("{} at {level:?}, {mapping:?}: {kind:?} {number}", operation.name);
    let start = disk.operations();
    disk.fail(Fault::Error { at: start + number, kind });
    let result = (operation.work)(&db);
    let is_beyond = disk.operations() <= start + number;
    disk.heal();
    let found = read(&db).unwrap_or_else(|why| panic!("{case}: {why}"));
    let is = |wanted: &Content| assert!(found == *wanted, "{case}: {}", difference(&found, wanted));
    let Err(error) = result else {
        is(&wanted);
        return (None, !is_beyond);
    };
    let effect = error.effect();
    assert!(!error.is_retryable(), "{case}: {error}");
    match effect {
        Effect::None => is(&content),
        Effect::Applied => is(&wanted),
        Effect::Unknown => {
            is(&wanted);
            assert!(matches!(error, Error::Poisoned { .. }), "{case}: {error}");
            let also = db.flush().expect_err("it takes no more writes");
            assert_eq!(also.effect(), Effect::None, "{case}: {also}");
        }
    }
    // What has happened is durable after the next flush, and what has not comes back never.
    let flushed = db.flush();
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    disk.crash(number);
    let db =
        simulation::open(&options(level), &disk, 2).unwrap_or_else(|why| panic!("{case}: {why}"));
    let reopened = read(&db).unwrap_or_else(|why| panic!("{case}: {why}"));
    let is_durable = match effect {
        Effect::Unknown => reopened == content || reopened == wanted,
        _ if flushed.is_ok() => reopened == found,
        _ => reopened == content || reopened == found,
    };
    assert!(is_durable, "{case}, reopened: {}", difference(&reopened, &found));
    (Some(effect), true)
}

#[test]
fn each_error_says_whether_it_has_happened() {
    let kinds =
        [FaultKind::ReadFails, FaultKind::WriteFails, FaultKind::SyncFails, FaultKind::NoSpace];
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for operation in &OPERATIONS {
        for (level, mapping) in
            operation.levels.iter().flat_map(|level| Mapping::ALL.map(|mapping| (*level, mapping)))
        {
            for kind in kinds {
                for number in 0.. {
                    let case = (number, kind);
                    let (effect, has_failed) = with_fault(operation, (level, mapping), case);
                    *seen.entry(format!("{effect:?}")).or_default() += 1;
                    if !has_failed {
                        break;
                    }
                }
            }
        }
    }
    for effect in [Effect::None, Effect::Applied, Effect::Unknown] {
        let count = seen.get(&format!("{:?}", Some(effect))).copied().unwrap_or(0);
        assert!(count > 0, "no error had the effect {effect:?}: {seen:?}");
    }
}

/// A checkpoint that fails after a commit of a database without a log: the transaction stays.
#[test]
fn a_commit_that_is_not_durable_says_that_it_has_happened() {
    let (disk, db, content) = before(Durability::None, Mapping::None);
    let mut wanted = content;
    put(&mut wanted, 100..120);
    disk.fail(Fault::Error { at: disk.operations(), kind: FaultKind::WriteFails });
    let error = commit(&db, Durability::Commit).expect_err("no checkpoint can be made");
    let Error::NotDurable { source } = &error else { panic!("{error}") };
    assert_eq!((source.code(), error.code()), ("io", "not_durable"));
    assert_eq!((error.effect(), error.is_retryable()), (Effect::Applied, false));
    assert_eq!(read(&db).as_ref(), Ok(&wanted));
    db.flush().expect("the disk is all right again");
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    disk.crash(1);
    let db = simulation::open(&options(Durability::None), &disk, 2).expect("it is durable");
    assert_eq!(read(&db).as_ref(), Ok(&wanted));
}

/// Every caller that closes the database gets the outcome of the closing.
#[test]
fn closing_again_returns_what_came_of_the_first_time() {
    let (disk, db, _) = before(Durability::Commit, Mapping::None);
    db.table(TABLES[TABLE].0).and_then(|t| t.upsert(&record(TABLE, 1, 2))).expect("room");
    disk.fail(Fault::Error { at: disk.operations(), kind: FaultKind::WriteFails });
    let first = db.clone().close();
    assert!(matches!(first, Err(Error::Io { .. })), "{first:?}");
    assert_eq!(db.close(), first);
}

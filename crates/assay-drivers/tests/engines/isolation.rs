//! Transactions of eight threads at once: their reads are explained by some order of them, as far
//! as the engine's documentation promises that.

use std::ops::Bound;

use assay_driver::error::{ErrorKind, Result as Done};
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{
    Change, Concurrency, Connection, Driver, Durability, KeyKind, Outcome, Profile, Scan, Storage,
    Store, Transactions,
};
use assay_isolation::drive::{Engine, Plan, Session, Stop, in_threads};
use assay_isolation::{Level, Verdict, check};

use crate::stores::{THREADS, drivers, spec};

const TRANSACTIONS: u64 = 600;
/// Room for the longest list.
const MOST_BYTES: usize = 2_048;
/// A key, the length of a list, and the list.
const RECORD_BYTES: usize = 16 + MOST_BYTES;

/// Returns the least level of transactions that read and write. With one writer at a time, they run
/// one after another. The other engines read at a snapshot, and refuse to lose updates.
fn promise(profile: &Profile) -> Level {
    match (profile.id, profile.concurrency) {
        ("lode", _) => Level::StrictlySerializable,
        (_, Concurrency::Concurrent) => Level::SnapshotIsolation,
        _ => Level::StrictlySerializable,
    }
}

#[test]
fn transactions_keep_the_level_that_the_engine_promises() {
    let mut checked = Vec::new();
    for driver in drivers() {
        let profile = driver.profile();
        let can_change = !driver.lacks().contains(&Change::Delete);
        let is_alone = profile.concurrency == Concurrency::OneConnection;
        let is_full = profile.transactions == Transactions::Full && can_change && !is_alone;
        if !is_full || !profile.keeps_data || driver.version().is_err() {
            continue;
        }
        for (storage, levels) in profile.levels {
            if let Some(verdict) = run(driver.as_ref(), *storage, levels[0]) {
                let subject = format!("{} on {storage}", profile.id);
                assert!(verdict.level >= promise(profile), "{subject}: {verdict}");
                checked.push(subject);
            }
        }
    }
    assert!(checked.len() > 3, "{checked:?}");
}

/// Returns the verdict on transactions of a store, if it can have several connections.
fn run(driver: &dyn Driver, storage: Storage, level: Durability) -> Option<Verdict> {
    let subject = format!("{} on {storage}", driver.profile().id);
    let dir = tempfile::tempdir().expect("a directory");
    let mut spec = spec(driver, dir.path(), storage, level, true);
    let list = ColumnType::Bytes(MOST_BYTES as u32);
    let columns = [("id", ColumnType::U64), ("length", ColumnType::U64), ("list", list)];
    spec.schema = Schema::new("lists", &columns, 1);
    let has_scans = driver.profile().key_kinds.contains(&KeyKind::Tree);
    if has_scans {
        spec.key_kind = KeyKind::Tree;
    }
    let store = match driver.open(&spec) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return None,
        opened => opened.unwrap_or_else(|error| panic!("{subject}: {error}")),
    };
    let plan = Plan {
        seed: 1,
        threads: THREADS as u32,
        transactions: TRANSACTIONS,
        keys: 16,
        ranges: has_scans,
    };
    let history = in_threads(&Subject { store: store.as_ref() }, &plan);
    let history = history.unwrap_or_else(|why| panic!("{subject}: {why}"));
    store.close().unwrap_or_else(|error| panic!("{subject}: {error}"));
    Some(check(&history).expect("values are written once"))
}

struct Subject<'s> {
    store: &'s dyn Store,
}

impl Engine for Subject<'_> {
    fn connect(&self, work: &mut dyn FnMut(&mut dyn Session)) -> Result<(), String> {
        let mut call = |connection: &mut dyn Connection| {
            work(&mut Driven { connection });
            Ok(())
        };
        self.store.connect(&mut call).map_err(|error| error.to_string())
    }
}

struct Driven<'c> {
    connection: &'c mut dyn Connection,
}

impl Driven<'_> {
    /// Ends the transaction if something in it has failed.
    fn ended<T>(&mut self, done: Done<T>) -> Result<T, Stop> {
        done.map_err(|error| match self.connection.rollback() {
            _ if error.kind() != ErrorKind::Conflict => Stop::Failed(error.to_string()),
            Ok(()) => Stop::Refused,
            Err(error) => Stop::Failed(error.to_string()),
        })
    }
}

/// Returns the list of a payload area.
fn list(payload: &[u8]) -> Vec<u8> {
    let (length, list) = payload.split_first_chunk().expect("a length");
    list[..u64::from_le_bytes(*length) as usize].to_vec()
}

fn store(connection: &mut dyn Connection, record: &[u8]) -> Done<()> {
    match connection.upsert(record) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            connection.delete(&record[..8])?;
            connection.insert(record).map(|_| ())
        }
        done => done,
    }
}

impl Session for Driven<'_> {
    fn begin(&mut self) -> Result<(), Stop> {
        let begun = self.connection.begin();
        self.ended(begun)
    }

    fn get(&mut self, key: u64) -> Result<Option<Vec<u8>>, Stop> {
        let mut payload = vec![0; RECORD_BYTES - 8];
        let found = self.connection.get(&key.to_le_bytes(), &mut payload);
        let outcome = self.ended(found)?;
        Ok((outcome == Outcome::Done).then(|| list(&payload)))
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<(), Stop> {
        let mut record = [key.to_le_bytes(), (value.len() as u64).to_le_bytes()].concat();
        record.extend_from_slice(value);
        record.resize(RECORD_BYTES, 0);
        let stored = store(self.connection, &record);
        self.ended(stored)
    }

    fn delete(&mut self, key: u64) -> Result<(), Stop> {
        let deleted = self.connection.delete(&key.to_le_bytes());
        self.ended(deleted).map(|_| ())
    }

    fn range(&mut self, low: u64, high: u64) -> Result<Vec<(u64, Vec<u8>)>, Stop> {
        let (low, high) = (low.to_le_bytes(), high.to_le_bytes());
        let mut rows = Vec::new();
        let scan = Scan {
            lower: Bound::Included(&low),
            upper: Bound::Included(&high),
            columns: &[0, 1, 2],
            limit: u64::MAX,
        };
        let scanned = self.connection.scan(&scan, &mut |row| {
            let (key, payload) = row.split_first_chunk().expect("a key");
            rows.push((u64::from_le_bytes(*key), list(payload)));
        });
        self.ended(scanned).map(|_| rows)
    }

    fn commit(&mut self) -> Result<(), Stop> {
        let committed = self.connection.commit();
        self.ended(committed)
    }

    fn abort(&mut self) -> Result<(), Stop> {
        let rolled_back = self.connection.rollback();
        self.ended(rolled_back)
    }
}

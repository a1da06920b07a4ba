//! A store of any engine, as the checker of isolation drives it: lists of numbers under keys.

use std::ops::Bound;

use assay_driver::error::{ErrorKind, Result as Done};
use assay_driver::{Connection, Outcome, Scan, Store};
use assay_isolation::drive::{Engine, Session, Stop};

/// The most values of a list.
pub const MOST_VALUES: usize = 256;

/// A key, the length of a list, and the list.
const RECORD_BYTES: usize = 16 + 8 * MOST_VALUES;

/// A store with a schema of a key, the bytes of a list, and the list in
/// 8 × [`MOST_VALUES`] bytes.
pub struct Subject<'s> {
    store: &'s dyn Store,
}

impl<'s> Subject<'s> {
    /// Creates the subject.
    pub fn new(store: &'s dyn Store) -> Self {
        Self { store }
    }
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
fn list(payload: &[u8]) -> Result<Vec<u8>, Stop> {
    let (length, list) = payload.split_first_chunk().expect("the schema has a length");
    let length = u64::from_le_bytes(*length);
    let list = usize::try_from(length).ok().and_then(|length| list.get(..length));
    let list = list.ok_or_else(|| Stop::Failed(format!("a list has {length} bytes")))?;
    Ok(list.to_vec())
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
        match self.ended(found)? {
            Outcome::Done => list(&payload).map(Some),
            _ => Ok(None),
        }
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<(), Stop> {
        let mut record = [key.to_le_bytes(), (value.len() as u64).to_le_bytes()].concat();
        record.extend_from_slice(value);
        if record.len() > RECORD_BYTES {
            return Err(Stop::Failed(format!("a list has {} bytes", value.len())));
        }
        record.resize(RECORD_BYTES, 0);
        let stored = store(self.connection, &record);
        self.ended(stored)
    }

    fn delete(&mut self, key: u64) -> Result<(), Stop> {
        let deleted = self.connection.delete(&key.to_le_bytes());
        self.ended(deleted).map(|_| ())
    }

    fn range(&mut self, low: u64, high: u64) -> Result<Vec<(u64, Vec<u8>)>, Stop> {
        let low = low.to_le_bytes();
        let high = high.to_le_bytes();
        let mut rows = Ok(Vec::new());
        let scan = Scan {
            lower: Bound::Included(&low),
            upper: Bound::Included(&high),
            columns: &[0, 1, 2],
            limit: u64::MAX,
        };
        let scanned = self.connection.scan(&scan, &mut |row| {
            let (key, payload) = row.split_first_chunk().expect("the schema has a key");
            let row = list(payload).map(|list| (u64::from_le_bytes(*key), list));
            match (&mut rows, row) {
                (Ok(rows), Ok(row)) => rows.push(row),
                (Ok(_), Err(stop)) => rows = Err(stop),
                (Err(_), _) => {}
            }
        });
        self.ended(scanned)?;
        rows
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

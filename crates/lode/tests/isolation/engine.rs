//! Lode as an engine of histories. Odd keys are in an ordered table, even ones in a hashed one.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use assay_isolation::drive::{Engine, Session, Stop};
use lode::{
    Database, Error, IndexSchema, KeyKind, ReadTable, RowRef, Schema, Table, Transaction, Type,
    Value,
};

/// The way in which transactions are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Used as they should be.
    Now,
    /// They start at a snapshot of that moment.
    AtSnapshot,
    /// Records are found by secondary indexes: a unique one, and one that is not.
    ByIndex,
    /// All reads are made outside of the transaction, so that it cannot check them.
    ReadOutside,
}

pub struct Lode {
    db: Database,
    used: Use,
    even: Table,
    odd: Table,
}

impl Lode {
    pub fn new(db: Database, used: Use) -> Self {
        let table = |name: &str, kind| {
            let schema = Schema::build(name).key("key", Type::U64);
            let schema = schema.column("mirror", Type::U64).column("values", Type::VarBytes(4_096));
            let indexes = match (used, kind) {
                (Use::ByIndex, KeyKind::Hash) => vec![by_mirror().unique()],
                (Use::ByIndex, KeyKind::Tree) => vec![by_mirror()],
                _ => Vec::new(),
            };
            let schema = schema.finish().expect("a schema");
            db.create_indexed_table(&schema, kind, &indexes).expect("room")
        };
        let even = table("even", KeyKind::Hash);
        let odd = table("odd", KeyKind::Tree);
        Self { db, used, even, odd }
    }

    fn table(&self, key: u64) -> &Table {
        if key.is_multiple_of(2) { &self.even } else { &self.odd }
    }
}

fn by_mirror() -> IndexSchema {
    IndexSchema::new("by_mirror", ["mirror"])
}

/// Returns the value of the indexed column: in the order against that of keys.
fn mirror(key: u64) -> u64 {
    u64::MAX - key
}

impl Engine for Lode {
    fn connect(&self, work: &mut dyn FnMut(&mut dyn Session)) -> Result<(), String> {
        work(&mut LodeSession { lode: self, current: None, own: Own::new() });
        Ok(())
    }
}

/// Writes of a transaction that reads outside of itself.
type Own = BTreeMap<u64, Option<Vec<u8>>>;

struct LodeSession<'l> {
    lode: &'l Lode,
    current: Option<Transaction>,
    own: Own,
}

/// Returns the key and the values of a record.
fn parts(row: &RowRef<'_>) -> (u64, Vec<u8>) {
    let (Some(Value::Unsigned(key)), Some(Value::Bytes(values))) =
        (row.get("key"), row.get("values"))
    else {
        panic!("a record of another schema: {row:?}");
    };
    (key, values.to_vec())
}

/// Returns the rows of a range: the even keys by a scan of all, the odd ones by one of the range.
fn rows(
    even: &impl ReadTable,
    odd: &impl ReadTable,
    range: RangeInclusive<u64>,
) -> Result<BTreeMap<u64, Vec<u8>>, Error> {
    let mut rows = BTreeMap::new();
    let mut even = even.iter();
    while let Some(row) = even.next_row()? {
        let (key, value) = parts(&row);
        if range.contains(&key) {
            rows.insert(key, value);
        }
    }
    let mut odd = odd.range(range);
    while let Some(row) = odd.next_row()? {
        rows.extend([parts(&row)]);
    }
    Ok(rows)
}

/// Returns the rows of a range, each found by an index.
fn rows_by_index(
    lode: &Lode,
    transaction: &Transaction,
    range: RangeInclusive<u64>,
) -> Result<BTreeMap<u64, Vec<u8>>, Error> {
    let mut rows = BTreeMap::new();
    for table in [&lode.even, &lode.odd] {
        let within = table.within(transaction);
        let by = within.by("by_mirror")?;
        let mut found = by.range(mirror(*range.end())..=mirror(*range.start()));
        while let Some(row) = found.next_row()? {
            rows.extend([parts(&row)]);
        }
    }
    Ok(rows)
}

impl LodeSession<'_> {
    /// Does something in the transaction, which ends if that fails.
    fn within<T>(
        &mut self,
        work: impl FnOnce(&Lode, &Transaction) -> Result<T, Error>,
    ) -> Result<T, Stop> {
        let transaction = self.current.take().expect("it has begun");
        match work(self.lode, &transaction) {
            Ok(done) => {
                self.current = Some(transaction);
                Ok(done)
            }
            Err(error) => Err(stop(error)),
        }
    }
}

fn stop(error: Error) -> Stop {
    match error {
        Error::Conflict { .. } | Error::SnapshotTooOld { .. } => Stop::Refused,
        other => Stop::Failed(other.to_string()),
    }
}

impl Session for LodeSession<'_> {
    fn begin(&mut self) -> Result<(), Stop> {
        let db = &self.lode.db;
        self.own.clear();
        self.current = Some(match self.lode.used {
            Use::Now | Use::ByIndex | Use::ReadOutside => db.begin(),
            Use::AtSnapshot => db.begin_at(&db.snapshot()),
        });
        Ok(())
    }

    fn get(&mut self, key: u64) -> Result<Option<Vec<u8>>, Stop> {
        if let Some(own) = self.own.get(&key) {
            return Ok(own.clone());
        }
        self.within(|lode, transaction| {
            let table = lode.table(key);
            let row = match lode.used {
                Use::ReadOutside => table.get(key)?,
                Use::ByIndex => table.within(transaction).by("by_mirror")?.get(mirror(key))?,
                Use::Now | Use::AtSnapshot => table.within(transaction).get(key)?,
            };
            Ok(row.map(|row| parts(&row.as_ref()).1))
        })
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<(), Stop> {
        if self.lode.used == Use::ReadOutside {
            self.own.insert(key, Some(value.to_vec()));
        }
        self.within(|lode, transaction| {
            let table = lode.table(key);
            let record = table.schema().pack(&[
                Value::Unsigned(key),
                Value::Unsigned(mirror(key)),
                Value::Bytes(value),
            ])?;
            transaction.upsert(table, &record).map(|_| ())
        })
    }

    fn delete(&mut self, key: u64) -> Result<(), Stop> {
        if self.lode.used == Use::ReadOutside {
            self.own.insert(key, None);
        }
        self.within(|lode, transaction| transaction.delete(lode.table(key), key).map(|_| ()))
    }

    fn range(&mut self, low: u64, high: u64) -> Result<Vec<(u64, Vec<u8>)>, Stop> {
        let mut rows = self.within(|lode, transaction| match lode.used {
            Use::ReadOutside => rows(&lode.even, &lode.odd, low..=high),
            Use::ByIndex => rows_by_index(lode, transaction, low..=high),
            Use::Now | Use::AtSnapshot => {
                rows(&lode.even.within(transaction), &lode.odd.within(transaction), low..=high)
            }
        })?;
        for (key, value) in self.own.range(low..=high) {
            match value {
                Some(value) => _ = rows.insert(*key, value.clone()),
                None => _ = rows.remove(key),
            }
        }
        Ok(rows.into_iter().collect())
    }

    fn commit(&mut self) -> Result<(), Stop> {
        self.current.take().expect("it has begun").commit().map_err(stop)
    }

    fn abort(&mut self) -> Result<(), Stop> {
        self.current = None;
        Ok(())
    }
}

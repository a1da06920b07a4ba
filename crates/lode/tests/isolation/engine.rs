//! Lode as an engine of histories. Odd keys are in an ordered table, even ones in a hashed one.

use assay_isolation::drive::{Engine, Session, Stop};
use lode::{Database, Error, KeyKind, ReadTable, RowRef, Schema, Table, Transaction, Type, Value};

/// The way in which transactions start.
#[derive(Clone, Copy, Debug)]
pub enum Begin {
    Now,
    AtSnapshot,
}

pub struct Lode {
    db: Database,
    begin: Begin,
    even: Table,
    odd: Table,
}

impl Lode {
    pub fn new(db: Database, begin: Begin) -> Self {
        let table = |name: &str, kind| {
            let schema = Schema::build(name).key("key", Type::U64);
            let schema = schema.column("values", Type::VarBytes(4_096)).finish();
            db.create_table(&schema.expect("a schema"), kind).expect("room")
        };
        let even = table("even", KeyKind::Hash);
        let odd = table("odd", KeyKind::Tree);
        Self { db, begin, even, odd }
    }

    fn table(&self, key: u64) -> &Table {
        if key.is_multiple_of(2) { &self.even } else { &self.odd }
    }
}

impl Engine for Lode {
    fn session(&self) -> Result<Box<dyn Session + '_>, String> {
        Ok(Box::new(LodeSession { lode: self, current: None }))
    }
}

struct LodeSession<'l> {
    lode: &'l Lode,
    current: Option<Transaction>,
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
        self.current = Some(match self.lode.begin {
            Begin::Now => db.begin(),
            Begin::AtSnapshot => db.begin_at(&db.snapshot()),
        });
        Ok(())
    }

    fn get(&mut self, key: u64) -> Result<Option<Vec<u8>>, Stop> {
        self.within(|lode, transaction| {
            let row = lode.table(key).within(transaction).get(key)?;
            Ok(row.map(|row| parts(&row.as_ref()).1))
        })
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<(), Stop> {
        self.within(|lode, transaction| {
            let table = lode.table(key);
            let record = table.schema().pack(&[Value::Unsigned(key), Value::Bytes(value)])?;
            transaction.upsert(table, &record).map(|_| ())
        })
    }

    fn delete(&mut self, key: u64) -> Result<(), Stop> {
        self.within(|lode, transaction| transaction.delete(lode.table(key), key).map(|_| ()))
    }

    fn range(&mut self, low: u64, high: u64) -> Result<Vec<(u64, Vec<u8>)>, Stop> {
        self.within(|lode, transaction| {
            let mut rows = Vec::new();
            let mut even = lode.even.within(transaction).iter();
            while let Some(row) = even.next_row()? {
                let row = parts(&row);
                if (low..=high).contains(&row.0) {
                    rows.push(row);
                }
            }
            let mut odd = lode.odd.within(transaction).range(low..=high);
            while let Some(row) = odd.next_row()? {
                rows.push(parts(&row));
            }
            Ok(rows)
        })
    }

    fn commit(&mut self) -> Result<(), Stop> {
        self.current.take().expect("it has begun").commit().map_err(stop)
    }

    fn abort(&mut self) -> Result<(), Stop> {
        self.current = None;
        Ok(())
    }
}

//! Writing many records together.

use std::borrow::Cow;

use super::{Table, expect_not_changing};
use crate::api::steps::{Step, Steps};
use crate::api::transaction::{MOST_BYTES, most_written_bytes};
use crate::error::{Error, Result};
use crate::hash::AHEAD;
use crate::index::Put;
use crate::table::KeyKind;

impl Table {
    /// Inserts packed records together: readers see all of them or none, and after a crash all of
    /// them are there or none. A record whose key is there already, or comes earlier among them, is
    /// left out. Returns how many were inserted.
    ///
    /// It does what a [transaction](crate::Database::begin) would, in less time: it looks each key
    /// up once, and never returns `Conflict`. While it writes, all others wait.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("leg").key("of", Type::U64).column("km", Type::U64).finish()?;
    /// let legs = db.create_table(&schema, KeyKind::Hash)?;
    /// let leg = |of, km| schema.pack(&[Value::Unsigned(of), Value::Unsigned(km)]);
    /// assert_eq!(legs.insert_all([leg(1, 12)?, leg(2, 7)?])?, 2);
    /// assert_eq!(legs.insert_all([leg(2, 8)?, leg(3, 30)?])?, 1);
    /// assert_eq!(legs.upsert_all([leg(2, 8)?, leg(4, 5)?])?, 1);
    /// assert_eq!(legs.len()?, 4);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Self::insert) of each; `TxnTooLarge` when they have more bytes than a
    /// transaction may write. None of them is inserted then.
    pub fn insert_all<R: AsRef<[u8]>>(&self, records: impl IntoIterator<Item = R>) -> Result<u64> {
        self.put_all(records, Put::Insert)
    }

    /// Writes packed records together, as [`insert_all`](Self::insert_all) does, whether there are
    /// some with their keys or not; of several with the same key, the last one counts. Returns how
    /// many of their keys were new.
    ///
    /// # Errors
    /// As [`insert_all`](Self::insert_all).
    pub fn upsert_all<R: AsRef<[u8]>>(&self, records: impl IntoIterator<Item = R>) -> Result<u64> {
        self.put_all(records, Put::Upsert)
    }

    fn put_all<R: AsRef<[u8]>>(
        &self,
        records: impl IntoIterator<Item = R>,
        put: Put,
    ) -> Result<u64> {
        let records: Vec<R> = records.into_iter().collect();
        let records = Records::of(self, &records)?;
        let (new, end) = self.db.admitted_alone(&mut || {
            self.core.ensure_open()?;
            let mut steps = Steps::new(&self.db, records.order.len());
            let new = self.put_steps(&records, put, &mut steps);
            steps.end(new)
        })?;
        self.db.acknowledge(end)?;
        Ok(new)
    }

    /// Returns how many of the keys were new.
    fn put_steps<'r>(
        &'r self,
        records: &'r Records<'_>,
        put: Put,
        steps: &mut Steps<'r>,
    ) -> Result<u64> {
        let (core, pager) = (&*self.core, self.db.pager());
        let mut new = 0;
        for group in records.order.chunks(AHEAD) {
            // What they need comes from memory at the same time.
            core.fetch(pager, group.iter().map(|number| records.key(*number)));
            for number in group {
                let (key, wanted) = (records.key(*number), Some(records.payload(*number)));
                let seen = match put {
                    Put::Insert => None,
                    Put::Upsert => core.payload_of(pager, key)?.map(Cow::Owned),
                };
                let is_new = seen.is_none();
                let is_taken = steps.take(Step { core, key, seen, wanted })?;
                new += u64::from(is_new && is_taken);
            }
        }
        Ok(new)
    }
}

/// Records that are written together, numbered as they came.
struct Records<'r> {
    /// The keys in order, one after another.
    keys: Vec<u8>,
    /// Where the key of each ends, and its payload.
    records: Vec<(usize, &'r [u8])>,
    /// Their numbers, in the order in which they are written: that of the keys in a tree, in which
    /// neighbours are in the same pages.
    order: Vec<usize>,
}

impl<'r> Records<'r> {
    fn of(table: &Table, packed: &'r [impl AsRef<[u8]>]) -> Result<Self> {
        let mut records = Self { keys: Vec::new(), records: Vec::new(), order: Vec::new() };
        let most_bytes = most_written_bytes(&table.db);
        let (mut payload_bytes, mut held_bytes) = (0, 0);
        for record in packed {
            let (key, payload) = table.core.split(record.as_ref())?;
            payload_bytes += payload.len();
            // As in a transaction: what the tables get, and with keys all that is held meanwhile.
            held_bytes += key.len() + payload.len() + Steps::BYTES_OF_ONE;
            for (bytes, most_bytes) in [(payload_bytes, most_bytes), (held_bytes, MOST_BYTES)] {
                if bytes > most_bytes {
                    return Err(Error::TxnTooLarge { most_bytes });
                }
            }
            table.core.in_order(key, |ordered| {
                expect_not_changing(&table.core, ordered)?;
                records.keys.extend_from_slice(ordered);
                Ok(())
            })?;
            records.records.push((records.keys.len(), payload));
        }
        let mut order: Vec<_> = (0..packed.len()).collect();
        if table.core.definition().kind == KeyKind::Tree {
            // Those with the same key stay in their order.
            order.sort_by(|a, b| records.key(*a).cmp(records.key(*b)));
        }
        Ok(Self { order, ..records })
    }

    fn key(&self, number: usize) -> &[u8] {
        let end = |number: usize| self.records[number].0;
        &self.keys[number.checked_sub(1).map_or(0, end)..end(number)]
    }

    fn payload(&self, number: usize) -> &'r [u8] {
        self.records[number].1
    }
}

//! Writing many records together.

use std::borrow::Cow;

use super::{Table, expect_not_changing};
use crate::api::steps::{Step, Steps};
use crate::api::transaction::{MOST_BYTES, most_written_bytes};
use crate::error::{Error, Result};
use crate::hash::AHEAD;
use crate::table::{FetchFor, KeyKind};
use crate::wal::LogPosition;

/// What is done with a record whose key is there already, or comes earlier among those written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfThere {
    /// It is left out.
    Skip,
    /// It is written.
    Replace,
    /// None of the records is written.
    Refuse,
}

/// What came of records that were written together.
struct Written {
    /// How many of their keys were new.
    new: u64,
    /// The number of the first one whose key was there, if none is written for that.
    refused: Option<usize>,
}

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
        self.put_all(records, IfThere::Skip).map(|written| written.new)
    }

    /// Inserts packed records together, as [`insert_all`](Self::insert_all) does, if all their keys
    /// are new. Returns the number, from 0 on, of the first record whose key is there already, or
    /// comes earlier among them; none is inserted then.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("leg").key("of", Type::U64).column("km", Type::U64).finish()?;
    /// let legs = db.create_table(&schema, KeyKind::Hash)?;
    /// let leg = |of, km| schema.pack(&[Value::Unsigned(of), Value::Unsigned(km)]);
    /// assert_eq!(legs.insert_all_new([leg(1, 12)?, leg(2, 7)?])?, None);
    /// assert_eq!(legs.insert_all_new([leg(3, 30)?, leg(2, 8)?])?, Some(1));
    /// assert_eq!(legs.len()?, 2);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert_all`](Self::insert_all).
    pub fn insert_all_new<R: AsRef<[u8]>>(
        &self,
        records: impl IntoIterator<Item = R>,
    ) -> Result<Option<usize>> {
        self.put_all(records, IfThere::Refuse).map(|written| written.refused)
    }

    /// Writes packed records together, as [`insert_all`](Self::insert_all) does, whether there are
    /// some with their keys or not; of several with the same key, the last one counts. Returns how
    /// many of their keys were new.
    ///
    /// # Errors
    /// As [`insert_all`](Self::insert_all).
    pub fn upsert_all<R: AsRef<[u8]>>(&self, records: impl IntoIterator<Item = R>) -> Result<u64> {
        self.put_all(records, IfThere::Replace).map(|written| written.new)
    }

    fn put_all<R: AsRef<[u8]>>(
        &self,
        records: impl IntoIterator<Item = R>,
        if_there: IfThere,
    ) -> Result<Written> {
        let records = self.collect(records)?;
        let records = Records::of(self, &records)?;
        let (written, end) = self.db.admitted_alone(&mut || {
            self.core.ensure_open()?;
            let mut steps = Steps::new(&self.db, records.order.len());
            match self.put_steps(&records, if_there, &mut steps) {
                Ok(written @ Written { refused: Some(_), .. }) => {
                    steps.undo()?;
                    Ok((written, LogPosition::default()))
                }
                written => steps.end(written),
            }
        })?;
        self.db.acknowledge(end)?;
        Ok(written)
    }

    /// Collects records that are written together, as long as they are no more than a transaction
    /// may write.
    fn collect<R: AsRef<[u8]>>(&self, records: impl IntoIterator<Item = R>) -> Result<Vec<R>> {
        let most_bytes = most_written_bytes(&self.db);
        let (mut payload_bytes, mut held_bytes) = (0, 0);
        let mut collected = Vec::new();
        for record in records {
            let (key, payload) = self.core.split(record.as_ref())?;
            // As in a transaction: what the tables get, and with keys all that is held meanwhile.
            payload_bytes += payload.len();
            held_bytes += key.len() + payload.len() + Steps::BYTES_OF_ONE;
            for (bytes, most_bytes) in [(payload_bytes, most_bytes), (held_bytes, MOST_BYTES)] {
                if bytes > most_bytes {
                    return Err(Error::TxnTooLarge { most_bytes });
                }
            }
            collected.push(record);
        }
        Ok(collected)
    }

    fn put_steps<'r>(
        &'r self,
        records: &'r Records<'_>,
        if_there: IfThere,
        steps: &mut Steps<'r>,
    ) -> Result<Written> {
        let (core, pager) = (&*self.core, self.db.pager());
        let mut written = Written { new: 0, refused: None };
        for group in records.order.chunks(AHEAD) {
            // Of those that are refused the first counts. In a tree, it may come later.
            let refused = written.refused.unwrap_or(usize::MAX);
            let group = group.iter().filter(move |number| **number < refused);
            // What they need comes from memory at the same time.
            let keys = group.clone().map(|number| records.key(*number));
            core.fetch(pager, keys, FetchFor::Insert);
            for number in group {
                let (key, wanted) = (records.key(*number), Some(records.payload(*number)));
                let seen = match if_there {
                    IfThere::Skip | IfThere::Refuse => None,
                    IfThere::Replace => core.payload_of(pager, key)?.map(Cow::Owned),
                };
                let is_new = seen.is_none();
                let is_taken = steps.take(Step { core, key, seen, wanted })?;
                written.new += u64::from(is_new && is_taken);
                if !is_taken && if_there == IfThere::Refuse {
                    let first = written.refused.map_or(*number, |first| first.min(*number));
                    written.refused = Some(first);
                }
            }
        }
        Ok(written)
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
        for record in packed {
            let (key, payload) = table.core.split(record.as_ref())?;
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

//! Loading many records.

use super::{Table, expect_not_changing};
use crate::error::Result;
use crate::index::Record;
use crate::pager::PAGE_BYTES;
use crate::tree::Tree;

impl Table {
    /// Inserts packed records, as [`insert`](Self::insert) does with each. Returns the number of
    /// new keys. It is much faster if the records come in the order of their keys and the table is
    /// a tree: those that go into the same page are inserted in one step.
    ///
    /// The records of one step are there as a whole after a crash, or not at all; all of them
    /// together need not be. For that, use [`insert_all`](Self::insert_all).
    ///
    /// ```
    /// use lode::{Database, KeyKind, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("square").key("of", Type::I64).column("is", Type::I64).finish()?;
    /// let squares = db.create_table(&schema, KeyKind::Tree)?;
    /// let all = (-500..500).map(|n| schema.pack(&[Value::Signed(n), Value::Signed(n * n)]));
    /// assert_eq!(squares.load(all.collect::<lode::Result<Vec<_>>>()?)?, 1_000);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Self::insert) of the first record that cannot be inserted. If others came
    /// before it, they are inserted, and the error is `PartlyDone` with their number.
    pub fn load<R: AsRef<[u8]>>(&self, records: impl IntoIterator<Item = R>) -> Result<u64> {
        let records = records.into_iter();
        let Some(tree) = self.core.tree_of_records() else {
            let mut loaded = Loaded::default();
            for record in records {
                let is_new = self.insert(record.as_ref());
                loaded.new += u64::from(is_new.map_err(|why| why.after_records(loaded.done))?);
                loaded.done += 1;
            }
            return Ok(loaded.new);
        };
        let mut loaded = Loaded::default();
        let all = self.load_in_groups(tree, records, &mut loaded);
        all.map(|()| loaded.new).map_err(|why| why.after_records(loaded.done))
    }

    fn load_in_groups<R: AsRef<[u8]>>(
        &self,
        tree: &Tree,
        records: impl Iterator<Item = R>,
        loaded: &mut Loaded,
    ) -> Result<()> {
        let mut group = Group::default();
        for record in records {
            let split = self.core.split(record.as_ref());
            let ordered =
                split.map(|(key, payload)| (self.core.in_order(key, <[u8]>::to_vec), payload));
            let is_next = |(key, _): &(Vec<u8>, &[u8])| group.takes(key);
            if !ordered.as_ref().is_ok_and(is_next) {
                self.insert_group(tree, &mut group, loaded)?;
            }
            let (key, payload) = ordered?;
            group.push(&key, payload);
        }
        self.insert_group(tree, &mut group, loaded)
    }

    /// Inserts the records of a group, and empties it.
    fn insert_group(&self, tree: &Tree, group: &mut Group, loaded: &mut Loaded) -> Result<()> {
        let (records, mut at) = (group.records(), 0);
        while at < records.len() {
            let rest = &records[at..];
            for Record { key, .. } in rest {
                expect_not_changing(&self.core, key)?;
            }
            let first = rest[0].key;
            let count = self.write(first, 0, |context| tree.insert_run(context, rest))?;
            // None if there is a record with the first key.
            let passed = count.max(1);
            loaded.new += count as u64;
            loaded.done += passed as u64;
            at += passed;
        }
        group.clear();
        Ok(())
    }
}

/// The progress of loading.
#[derive(Default)]
struct Loaded {
    /// Records that were passed.
    done: u64,
    /// Passed records whose keys were new.
    new: u64,
}

/// Records whose keys ascend: about as many as a page can have.
#[derive(Default)]
struct Group {
    /// Keys in order, each with its payload.
    bytes: Vec<u8>,
    /// The ends of each key and each payload.
    ends: Vec<(usize, usize)>,
}

impl Group {
    fn records(&self) -> Vec<Record<'_>> {
        (0..self.ends.len()).map(|at| self.record(at)).collect()
    }

    fn record(&self, at: usize) -> Record<'_> {
        let (key_end, end) = self.ends[at];
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        Record { key: &self.bytes[from..key_end], payload: &self.bytes[key_end..end] }
    }

    /// Returns true if a record with this key can be the next one.
    fn takes(&self, key: &[u8]) -> bool {
        let last = self.ends.len().checked_sub(1);
        last.is_none_or(|last| self.record(last).key < key && self.bytes.len() < PAGE_BYTES)
    }

    fn push(&mut self, key: &[u8], payload: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

//! Loading many records.

use super::Table;
use crate::error::Result;
use crate::pager::PAGE_BYTES;
use crate::tree::Tree;

impl Table {
    /// Inserts packed records, as [`insert`](Self::insert) does with each; answers how many of them had
    /// keys that were new. It is much faster where they come in the order of their keys and lie in a
    /// tree: those that come into the same page do so in one step.
    ///
    /// What is inserted in one step is there as a whole after a crash, or not at all; all of them together
    /// need not be. For that there are [transactions](crate::Database::begin).
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
    /// `Schema` when one of them is no record; those before it are there then.
    pub fn load<R: AsRef<[u8]>>(&self, records: impl IntoIterator<Item = R>) -> Result<u64> {
        let mut records = records.into_iter();
        let Some(tree) = self.core.tree_of_records() else {
            return records
                .try_fold(0, |new, record| Ok(new + u64::from(self.insert(record.as_ref())?)));
        };
        let (mut group, mut new) = (Group::new(self.schema().key_size()), 0);
        for record in records {
            let split = self.core.split(record.as_ref());
            let ordered =
                split.map(|(key, payload)| (self.core.in_order(key, <[u8]>::to_vec), payload));
            let is_next = |(key, _): &(Vec<u8>, &[u8])| group.takes(key);
            if !ordered.as_ref().is_ok_and(is_next) {
                new += self.insert_group(tree, &mut group)?;
            }
            let (key, payload) = ordered?;
            group.push(&key, payload);
        }
        Ok(new + self.insert_group(tree, &mut group)?)
    }

    /// Inserts the records of a group, and leaves none there; answers how many of the keys were new.
    fn insert_group(&self, tree: &Tree, group: &mut Group) -> Result<u64> {
        let (size, mut rest, mut new) = (self.schema().record_size(), &group.records[..], 0);
        while !rest.is_empty() {
            let count =
                self.write(0, |journal| tree.insert_run(journal, &self.core.space, rest))?;
            new += count as u64;
            // None if there is a record with the first key.
            rest = &rest[count.max(1) * size..];
        }
        group.records.clear();
        Ok(new)
    }
}

/// Records whose keys ascend: about as many as a page can have.
struct Group {
    /// Keys in order, each with its payload.
    records: Vec<u8>,
    key_size: usize,
    /// Where the last key is.
    last: usize,
}

impl Group {
    fn new(key_size: usize) -> Self {
        Self { records: Vec::with_capacity(PAGE_BYTES), key_size, last: 0 }
    }

    /// Whether a record with this key can be the next one.
    fn takes(&self, key: &[u8]) -> bool {
        let last = self.records.get(self.last..self.last + self.key_size);
        last.is_none_or(|last| last < key && self.records.len() < PAGE_BYTES)
    }

    fn push(&mut self, key: &[u8], payload: &[u8]) {
        self.last = self.records.len();
        self.records.extend_from_slice(key);
        self.records.extend_from_slice(payload);
    }
}

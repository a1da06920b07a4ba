//! Creating, dropping and listing the secondary indexes of a table.
//!
//! An index that is created is kept by all writes from then on. It gets the entries of existing
//! records page by page, each page in a commit of its own, next to readers and writers. Then it is
//! ready. A crash before that leaves an index that opening drops.

use super::Table;
use crate::api::Snapshot;
use crate::api::steps::{Indexed, Steps};
use crate::batch::Batch;
use crate::engine::CommitSize;
use crate::error::{Effect, Error, MOST_DUPLICATES, Result};
use crate::observability::Work;
use crate::schema::IndexSchema;
use crate::table::{Needs, Rows, Secondaries, Secondary, Walk};

impl Table {
    /// Creates a secondary index. When this returns, it has an entry for each record, and
    /// [`by`](crate::ReadTable::by) finds records by it. Each write of a record writes its entries
    /// in the same step. Others read and write the table while the index is built. A crash in that
    /// time leaves none.
    ///
    /// Transactions that have written in the table before return `Conflict`.
    ///
    /// ```
    /// use lode::{Database, Error, IndexSchema, KeyKind, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Hash)?;
    /// bytes.insert(&[7, 3])?;
    /// bytes.insert(&[11, 3])?;
    /// let by_bits = IndexSchema::new("by_bits", ["bits"]);
    /// let refused = bytes.create_index(&by_bits.clone().unique());
    /// let Err(Error::Duplicates { keys, .. }) = refused else { panic!("both have 3") };
    /// assert_eq!(*keys, ["3".into()]);
    /// bytes.create_index(&by_bits)?;
    /// assert_eq!(bytes.indexes()?, [by_bits]);
    /// bytes.drop_index("by_bits")?;
    /// assert_eq!(bytes.indexes()?, []);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `IndexExists`; `NoColumn`; `InvalidSchema` when it has no name or columns, or these have
    /// more bytes than a key; `SchemaTooLong`; `Duplicates` when it is unique, and records have
    /// equal values; `NoIndex` when it was dropped in the meantime; `CatalogueFull`; and those
    /// of [writing](Table#errors). There is no such index then.
    pub fn create_index(&self, index: &IndexSchema) -> Result<()> {
        self.core.ensure_open()?;
        let _turn = self.core.turn_to_build();
        let work = Work::start();
        let secondary = self.db.begin_index(&self.core, index)?;
        let built = self.build(&secondary);
        let built = built.and_then(|()| self.db.end_index(&self.core, &secondary));
        if let Err(error) = &built
            && error.effect() == Effect::None
        {
            self.db.give_up_index(&self.core, &secondary);
        }
        let observer = self.db.observer();
        observer.built_index(work, self.schema().name(), secondary.of().name.as_ref(), &built);
        built
    }

    /// Drops a secondary index. Transactions that have written in the table before return
    /// `Conflict`.
    ///
    /// # Errors
    /// `NoIndex`; and those of [writing](Table#errors).
    pub fn drop_index(&self, name: &str) -> Result<()> {
        self.db.drop_index(&self.core, name)
    }

    /// Returns the secondary indexes that lookups can use, in the order of their names.
    ///
    /// # Errors
    /// `NoTable`, `Closed`, `Forked`; `Corrupt` when one of them cannot be read.
    pub fn indexes(&self) -> Result<Vec<IndexSchema>> {
        self.core.ensure_open()?;
        let secondaries = self.core.secondaries();
        secondaries.expect_whole()?;
        let ready = secondaries.all.iter().filter(|secondary| secondary.of().is_ready());
        ready.map(|secondary| secondary.of().described(self.schema())).collect()
    }

    /// Returns true if the table has an index like this one, which is ready or damaged.
    pub(in crate::api) fn knows_index(&self, index: &IndexSchema) -> bool {
        let known = self.db.indexes_of(&self.core);
        known.iter().any(|of| of.is_ready() && of.described(self.schema()).as_ref() == Ok(index))
    }

    /// Returns true if the table has a secondary index, ready or not.
    pub fn has_indexes(&self) -> bool {
        self.core.has_secondaries()
    }

    /// Adds the entries of all records.
    fn build(&self, secondary: &Secondary) -> Result<()> {
        let mut walk = self.core.index.walk();
        let mut most_entries = usize::MAX;
        let mut duplicates = Vec::new();
        while let Some(keys) = self.next_keys(&mut walk)? {
            self.add_entries(secondary, &keys, &mut most_entries, &mut duplicates)?;
            if duplicates.len() >= MOST_DUPLICATES {
                break;
            }
        }
        if duplicates.is_empty() {
            return Ok(());
        }
        duplicates.truncate(MOST_DUPLICATES);
        let (table, index) = (self.schema().name().into(), secondary.of().name.as_str().into());
        Err(Error::Duplicates { table, index, keys: duplicates.into() })
    }

    /// Returns the keys in order of the records of the next page of a walk; `None` at the end. The
    /// page is as of now, so what was written since the index was created is met or is kept by who
    /// wrote it.
    pub(in crate::api) fn next_keys(&self, walk: &mut Walk) -> Result<Option<Vec<Vec<u8>>>> {
        self.next_keys_of(walk, &|_| true)
    }

    /// Returns the keys of the next page as [`next_keys`](Self::next_keys) does: of the records
    /// that `is_wanted` accepts by their payloads.
    pub(super) fn next_keys_of(
        &self,
        walk: &mut Walk,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        /// Attempts to read a page whose moment was lost for want of memory.
        const MOST_ATTEMPTS: usize = 16;
        let mut keys = self.next_keys_now(walk, is_wanted);
        for _ in 1..MOST_ATTEMPTS {
            match keys {
                Err(Error::SnapshotTooOld { .. }) => {
                    keys = self.next_keys_now(walk, is_wanted);
                }
                _ => break,
            }
        }
        keys
    }

    /// Reads the next page of a walk, which stays where it was if that fails.
    fn next_keys_now(
        &self,
        walk: &mut Walk,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let before = walk.clone();
        self.read_next_keys(walk, is_wanted).inspect_err(|_| *walk = before)
    }

    fn read_next_keys(
        &self,
        walk: &mut Walk,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let mut rows = Rows::new(&self.core, None, Needs::Record);
        let mut batch = Batch::default();
        let mut keys = Vec::new();
        let pager = self.db.pager();
        let snapshot = Snapshot::new(self.db.clone());
        let moment = snapshot.moment();
        walk.change_moment();
        let wanted = rows.wanted(&self.core);
        if !self.core.next_page(pager, moment, walk, &wanted, &mut batch)? {
            return Ok(None);
        }
        for at in 0..batch.len() {
            if rows.read(&self.core, pager, moment, &batch, at)? {
                let (key, payload) = self.core.split(rows.bytes(&batch))?;
                if is_wanted(payload) {
                    keys.push(self.core.in_order(key, <[u8]>::to_vec));
                }
            }
        }
        Ok(Some(keys))
    }

    /// Adds the entries of the records under keys in order, in commits of at most `most_entries`;
    /// lowers that if such a commit changes more pages than have room. Leaves out entries that a
    /// unique index has of other records, and adds their values to `duplicates`. No commit waits
    /// for its sync: the one that makes the index ready does.
    fn add_entries(
        &self,
        secondary: &Secondary,
        keys: &[Vec<u8>],
        most_entries: &mut usize,
        duplicates: &mut Vec<Box<str>>,
    ) -> Result<()> {
        let mut left = keys;
        while !left.is_empty() {
            let (now, later) = left.split_at(left.len().min(*most_entries));
            let size = CommitSize { records: now.len(), bytes: 0 };
            let added = self.db.admitted_alone(size, &mut || {
                self.db.expect_there(&self.core, secondary)?;
                let secondaries = self.core.secondaries();
                let mut steps = Steps::new(&self.db, now.len());
                let mut add = |key| self.add_entry(&secondaries, secondary, key, &mut steps);
                let mut note = |added| match added {
                    Err(Error::UniqueViolation { key, .. }) => {
                        if !duplicates.contains(&key) {
                            duplicates.push(key);
                        }
                        Ok(())
                    }
                    added => added,
                };
                let all = now.iter().try_for_each(|key| note(add(key)));
                steps.end(all)
            });
            match added {
                Err(Error::Full { .. }) if now.len() > 1 => *most_entries = now.len() / 2,
                added => {
                    added?;
                    left = later;
                }
            }
        }
        Ok(())
    }

    /// Adds the entry of the record under a key in order, if it still exists. Removes the record if
    /// it has expired.
    fn add_entry<'s>(
        &'s self,
        secondaries: &'s Secondaries,
        secondary: &'s Secondary,
        key: &[u8],
        steps: &mut Steps<'s>,
    ) -> Result<()> {
        let Some(payload) = self.core.payload_of(self.db.pager(), key)? else { return Ok(()) };
        self.core.expect_stored(&payload)?;
        let of = Indexed { table: &self.core, secondaries };
        if self.db.expired_us(&self.core, &payload).is_some() {
            return steps.remove_record(of, key.to_vec(), payload);
        }
        let mut packed = Vec::new();
        self.core.unpack_key(key, &mut packed)?;
        let entry = secondary.entries().entry_of(self.schema(), &packed, &payload);
        steps.add_entry(of, secondary, entry, &|_| true)
    }
}

#[cfg(test)]
mod tests;

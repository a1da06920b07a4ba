//! Creating, dropping and listing the secondary indexes of a table.
//!
//! An index that is created is kept by all writes from then on. It gets the entries of the records
//! that are there already page by page, each in a commit of its own, next to readers and writers.
//! Then it is ready. A crash before that leaves an index that opening drops.

use super::Table;
use crate::api::Snapshot;
use crate::api::steps::Steps;
use crate::batch::Batch;
use crate::engine::CommitSize;
use crate::error::{Effect, Error, Result};
use crate::schema::IndexSchema;
use crate::table::{Needs, Rows, Secondary, Walk};

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
    /// assert!(matches!(refused, Err(Error::UniqueViolation { .. })));
    /// bytes.create_index(&by_bits)?;
    /// assert_eq!(bytes.indexes()?, [by_bits]);
    /// bytes.drop_index("by_bits")?;
    /// assert_eq!(bytes.indexes()?, []);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `IndexExists`; `NoColumn`; `InvalidSchema` when it has no name or columns, or these have
    /// more bytes than a key; `SchemaTooLong`; `UniqueViolation` when it is unique, and records
    /// have equal values; `NoIndex` when it was dropped in the meantime; `CatalogueFull`; and those
    /// of [writing](Table#errors). There is no such index then.
    pub fn create_index(&self, index: &IndexSchema) -> Result<()> {
        let secondary = self.db.begin_index(&self.core, index)?;
        let built = self.build(&secondary);
        let built = built.and_then(|()| self.db.end_index(&self.core, &secondary));
        if let Err(error) = &built
            && error.effect() == Effect::None
        {
            // If that is not possible either, the next opening drops it.
            let _ = self.db.drop_index(&self.core, index.name());
        }
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

    /// Returns true if the table has a secondary index, ready or not.
    pub fn has_indexes(&self) -> bool {
        self.core.is_indexed()
    }

    /// Adds the entries of all records.
    fn build(&self, secondary: &Secondary) -> Result<()> {
        /// Walks that are started when the moment of a page was lost for want of memory.
        const MOST_WALKS: usize = 16;
        let mut rows = Rows::new(&self.core, None, Needs::Record);
        let mut built = Ok(());
        for _ in 0..MOST_WALKS {
            let mut walk = self.core.index.walk();
            built = loop {
                match self.build_page(secondary, &mut walk, &mut rows) {
                    Ok(true) => {}
                    ended => break ended.map(drop),
                }
            };
            if !matches!(built, Err(Error::SnapshotTooOld { .. })) {
                break;
            }
        }
        built
    }

    /// Adds the entries of the records of the next page of a walk; returns false at the end. The
    /// page is as of now, so what was written since the index was created is met or is kept by who
    /// wrote it.
    fn build_page(&self, secondary: &Secondary, walk: &mut Walk, rows: &mut Rows) -> Result<bool> {
        let mut batch = Batch::default();
        let mut keys = Vec::new();
        let pager = self.db.pager();
        let snapshot = Snapshot::new(self.db.clone());
        let moment = snapshot.moment();
        let wanted = rows.wanted(&self.core);
        if !self.core.next_page(pager, moment, walk, &wanted, &mut batch)? {
            return Ok(false);
        }
        for at in 0..batch.len() {
            if rows.read(&self.core, pager, moment, &batch, at)? {
                let (key, _) = self.core.split(rows.bytes(&batch))?;
                keys.push(self.core.in_order(key, <[u8]>::to_vec));
            }
        }
        drop(snapshot);
        let size = CommitSize { records: keys.len(), bytes: 0 };
        let end = self.db.admitted_alone(size, &mut || {
            self.db.expect_there(&self.core, secondary)?;
            let mut steps = Steps::new(&self.db, keys.len());
            let added = keys.iter().try_for_each(|key| self.add_entry(secondary, key, &mut steps));
            steps.end(added).map(|((), end)| end)
        })?;
        self.db.acknowledge(end).map_err(Error::after_effect)?;
        Ok(true)
    }

    /// Adds the entry of the record under a key in order, if it still exists.
    fn add_entry<'s>(
        &self,
        secondary: &'s Secondary,
        key: &[u8],
        steps: &mut Steps<'s>,
    ) -> Result<()>
    where
        Self: 's,
    {
        let Some(payload) = self.core.payload_of(self.db.pager(), key)? else { return Ok(()) };
        let mut packed = Vec::new();
        self.core.unpack_key(key, &mut packed)?;
        let entry = secondary.entries().entry_of(self.schema(), &packed, &payload);
        steps.add_entry(self.schema(), secondary, entry)
    }
}

#[cfg(test)]
mod tests;

//! Deleting what was taken out of the tree.
//!
//! An unlink moves its entry below [`REMOVED`] in one transaction: that is when it happens. What
//! it takes to delete the entry, and all below it, is done in steps of bounded size after that. A
//! crash may come between two of them; the next one who opens the volume goes on. No path leads to
//! such entries, and no id is used twice, so nothing can be seen of them.

use std::sync::atomic::Ordering;

use crate::clock::Moment;
use crate::core::Core;
use crate::error::Result;
use crate::lock::lock;
use crate::tables::{Id, REMOVED};

/// The most records that a step deletes or moves.
const STEP_RECORDS: u64 = 256;

/// The name of an entry among those that are being deleted.
pub(crate) fn removed_name(id: Id) -> String {
    format!("{id:016x}")
}

impl Core {
    /// Deletes an entry that was taken out, if the table still has it, and all below it; and with
    /// it whatever else was taken out. It ends early when the volume is closed.
    pub(crate) fn clear_removed(&self, id: Id) -> Result<()> {
        let name = removed_name(id);
        if self.tables.child(&self.tables.entries, REMOVED, &name)?.is_none() {
            return Ok(());
        }
        self.clear_all_removed()
    }

    /// Deletes everything that was taken out.
    pub(crate) fn clear_all_removed(&self) -> Result<()> {
        if !self.has_removed.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let cleared = self.clear_in_steps();
        if !matches!(cleared, Ok(true)) {
            self.has_removed.store(true, Ordering::SeqCst);
        }
        cleared.map(drop)
    }

    /// Returns whether nothing is left.
    fn clear_in_steps(&self) -> Result<bool> {
        loop {
            if self.is_ending.load(Ordering::SeqCst) {
                return Ok(false);
            }
            let Some((name, id)) = self.next_removed()? else { return Ok(true) };
            if self.move_children_out(id)? || self.delete_properties(id)? {
                continue;
            }
            self.tables.entries.delete(&self.tables.entry_key(REMOVED, &name)?)?;
        }
    }

    /// The first entry that was taken out and can be deleted.
    fn next_removed(&self) -> Result<Option<(String, Id)>> {
        let mut all = self.tables.children(None, REMOVED, "");
        while let Some(row) = all.next_row()? {
            let (name, id) = self.tables.entry_of(&row);
            if !lock(&self.leaving).contains(&id) {
                return Ok(Some((name.into(), id)));
            }
        }
        Ok(None)
    }

    /// Moves some children of an entry to those that are being deleted; false if it has none.
    fn move_children_out(&self, parent: Id) -> Result<bool> {
        let mut children = Vec::new();
        let mut cursor = self.tables.children(None, parent, "").limit(STEP_RECORDS);
        while let Some(row) = cursor.next_row()? {
            let (name, id) = self.tables.entry_of(&row);
            children.push((name.to_string(), id));
        }
        drop(cursor);
        let entries = &self.tables.entries;
        self.database.transact(|transaction| {
            for (name, id) in &children {
                // Another thread may be doing the same.
                if transaction.delete(entries, &self.tables.entry_key(parent, name)?)? {
                    let removed = self.tables.entry_record(REMOVED, &removed_name(*id), *id)?;
                    transaction.upsert(entries, &removed)?;
                }
            }
            Ok::<_, lode::Error>(())
        })?;
        Ok(!children.is_empty())
    }

    /// Deletes some properties of an entry; false if it has none.
    fn delete_properties(&self, entry: Id) -> Result<bool> {
        let schema = self.tables.properties.schema();
        let (name, expires_at) = (schema.columns()[1].id(), self.tables.expires_at);
        let mut properties = Vec::new();
        let cursor = self.tables.properties_of(None, entry, "").columns([name, expires_at]);
        let mut cursor = cursor.limit(STEP_RECORDS);
        while let Some(row) = cursor.next_row()? {
            if let (lode::Value::Text(name), lode::Value::Timestamp(when)) =
                (row.at(name), row.at(expires_at))
            {
                properties.push((name.to_string(), Moment(when)));
            }
        }
        drop(cursor);
        for (name, expires) in &properties {
            if *expires != Moment::NEVER {
                let key = self.tables.expiry_key(*expires, entry, name)?;
                self.tables.expiries.delete(&key)?;
            }
            self.tables.properties.delete(&self.tables.property_key(entry, name)?)?;
        }
        Ok(!properties.is_empty())
    }
}

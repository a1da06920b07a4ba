//! Writes in a table with secondary indexes: a record is written together with its entries, which
//! are records of the transaction, too. So a commit checks them, and savepoints undo them.

use super::{Place, Transaction};
use crate::api::table::Table;
use crate::error::{Error, Result};
use crate::schema::Entry;
use crate::table::{EntryChange, Secondary};

/// A record or an entry, and its new payload; `None` if it is to be deleted.
type Change = (Place, Option<Vec<u8>>);

impl Transaction {
    /// Gives a record a payload, or deletes it, together with its entries. After an error, nothing
    /// of that is written.
    pub(super) fn write_indexed(
        &self,
        table: &Table,
        place: Place,
        wanted: Option<&[u8]>,
    ) -> Result<()> {
        let core = table.core();
        let secondaries = self.tables.borrow_mut()[place.table].secondaries();
        let Some(secondaries) = secondaries else { return Err(self.conflict(core)) };
        secondaries.expect_whole()?;
        let changes = {
            let touched = &self.tables.borrow()[place.table];
            let before = touched.current(place.number);
            secondaries.changes(core, touched.key(place.number), before, wanted)?
        };
        let mut written = vec![];
        for EntryChange { secondary, old, new } in &changes {
            for (entry, is_new) in [(old, false), (new, true)] {
                let Some(entry) = entry else { continue };
                let change = self.change_of(table, secondary, entry, is_new)?;
                written.extend(change);
            }
        }
        let before = self.savepoint();
        let done = self.write_one(place, wanted).and_then(|()| {
            written.iter().try_for_each(|(place, wanted)| self.write_one(*place, wanted.as_deref()))
        });
        if done.is_err() {
            self.roll_back_to(&before);
        }
        self.release(before);
        done
    }

    /// Removes the record of an entry, by its payload, that a unique index has in the place of
    /// another, if the record has expired. Returns true if it did.
    fn remove_holder(&self, table: &Table, secondary: &Secondary, entry: &[u8]) -> Result<bool> {
        let core = table.core();
        if !core.has_expiry() {
            return Ok(false);
        }
        let holder = self.record(table, secondary.key_in_payload(core.schema(), entry)?)?;
        let is_stored = self.tables.borrow()[holder.table].current(holder.number).is_some();
        if !is_stored || self.is_there(table, holder)? {
            return Ok(false);
        }
        self.write_indexed(table, holder, None)?;
        Ok(true)
    }

    /// Returns the change that adds or removes an entry, if the index is not like that already.
    ///
    /// # Errors
    /// `UniqueViolation` when the entry of another record is there; those of reading.
    fn change_of(
        &self,
        table: &Table,
        secondary: &Secondary,
        entry: &Entry,
        is_new: bool,
    ) -> Result<Option<Change>> {
        let index = Table::new(self.db.clone(), secondary.core().clone());
        let place = match self.record(&index, &entry.key) {
            // It was created after the moment of the transaction, or dropped since.
            Err(Error::NoTable { .. }) => return Err(self.conflict(table.core())),
            place => place?,
        };
        let current = |place: Place| {
            let tables = self.tables.borrow();
            tables[place.table].current(place.number).map(<[u8]>::to_vec)
        };
        match current(place) {
            None => Ok(is_new.then(|| (place, Some(entry.payload.clone())))),
            Some(found) if found == entry.payload => Ok((!is_new).then_some((place, None))),
            Some(found) if is_new => match self.remove_holder(table, secondary, &found)? {
                true => Ok(Some((place, Some(entry.payload.clone())))),
                false => Err(secondary.violation(table.schema(), entry)),
            },
            // That of another record, in an index that is being built.
            Some(_) => Ok(None),
        }
    }
}

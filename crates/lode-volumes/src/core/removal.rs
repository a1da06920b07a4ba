//! Deletes entries that were taken out of the tree.
//!
//! An unlink moves its entry below [`REMOVED`] in one transaction: that is when it happens. Steps
//! of bounded size then delete the entry and all below it. A crash may come between two of them;
//! the next program that opens the volume continues. No path leads to such entries, and no id is
//! used twice, so nothing can be seen of them.
//!
//! A step goes down from the entries that were taken out, as far as its bounds allow. It deletes
//! all that it has passed in one transaction. Entries of which something is left move below
//! [`REMOVED`]. So each entry moves once at most, and those without anything below them do not.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use lode::{Table, Transaction};

use crate::clock::Moment;
use crate::core::Core;
use crate::error::Result;
use crate::lock::lock;
use crate::tables::{Id, REMOVED, Tables, unpack_property};

/// The most links that a step deletes, of those below [`REMOVED`], of others, and properties too.
const STEP_RECORDS: usize = 256;

/// Bytes of values after which a step deletes no more properties: a transaction holds them.
const STEP_BYTES: usize = 1 << 20;

/// Returns the name of an entry among those that are being deleted.
pub(crate) fn removed_name(id: Id) -> String {
    format!("{id:016x}")
}

/// The deletions of one step, and what the step leaves to later ones.
struct Step<'c> {
    tables: &'c Tables,
    /// The keys of links.
    links: Vec<Vec<u8>>,
    /// The keys of properties, with those of their expiries.
    properties: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    value_bytes: usize,
    /// Entries that have lost their link, of which something is left.
    left: Vec<Id>,
    no_children: Gap,
    no_properties: Gap,
}

/// Ids of which a table has no row: from the first to before the second one. Siblings were often
/// linked one after another, so one look at the table answers for many of them.
#[derive(Clone, Copy, Default)]
struct Gap {
    from: Id,
    to: Id,
}

impl Gap {
    /// Returns true if a table has no row of an entry.
    fn has(&mut self, table: &Table, entry: Id) -> lode::Result<bool> {
        if !(self.from..self.to).contains(&entry) {
            let to = Tables::first_from(table, entry)?.unwrap_or(Id::MAX);
            *self = Self { from: entry, to };
        }
        Ok((self.from..self.to).contains(&entry))
    }
}

impl<'c> Step<'c> {
    fn new(tables: &'c Tables) -> Self {
        Self {
            tables,
            links: Vec::new(),
            properties: Vec::new(),
            value_bytes: 0,
            left: Vec::new(),
            no_children: Gap::default(),
            no_properties: Gap::default(),
        }
    }

    /// Plans to delete entries that were taken out, and what is below them.
    fn plan(&mut self, removed: Vec<Id>) -> lode::Result<()> {
        let mut links_left = STEP_RECORDS;
        let is_removed = |id| (id, true);
        let mut entries: VecDeque<_> = removed.into_iter().map(is_removed).collect();
        while let Some((id, is_removed)) = entries.pop_front() {
            let children = self.children(id, links_left)?;
            let has_all_children = children.len() <= links_left;
            for (name, child) in children.into_iter().take(links_left) {
                links_left -= 1;
                self.links.push(self.tables.entry_key(id, &name)?);
                entries.push_back((child, false));
            }
            let is_done = self.take_properties(id)? && has_all_children;
            match (is_done, is_removed) {
                (true, true) => {
                    self.links.push(self.tables.entry_key(REMOVED, &removed_name(id))?);
                }
                (false, false) => self.left.push(id),
                (true, false) | (false, true) => {}
            }
        }
        Ok(())
    }

    /// Returns the first children of an entry: one more than `most`, if there are as many.
    fn children(&mut self, id: Id, most: usize) -> lode::Result<Vec<(String, Id)>> {
        let mut children = Vec::new();
        if self.no_children.has(&self.tables.entries, id)? {
            return Ok(children);
        }
        let mut cursor = self.tables.children(None, id, "").limit(most as u64 + 1);
        while let Some(row) = cursor.next_row()? {
            let (name, id) = self.tables.entry_of(&row);
            children.push((name.to_string(), id));
        }
        Ok(children)
    }

    /// Takes properties of an entry, as long as there is room; returns true if those are all.
    fn take_properties(&mut self, id: Id) -> lode::Result<bool> {
        if self.no_properties.has(&self.tables.properties, id)? {
            return Ok(true);
        }
        let mut cursor = self.tables.properties_of(None, id, "");
        while self.properties.len() < STEP_RECORDS && self.value_bytes < STEP_BYTES {
            let Some(row) = cursor.next_row()? else { return Ok(true) };
            let Some(lode::Value::Text(name)) = row.get("name") else { continue };
            let expires = unpack_property(row.payload()).map_or(Moment::NEVER, |it| it.expires);
            let expiry = match expires {
                Moment::NEVER => None,
                when => Some(self.tables.expiry_key(when, id, name)?),
            };
            self.value_bytes += row.payload().len();
            self.properties.push((self.tables.property_key(id, name)?, expiry));
        }
        Ok(false)
    }

    fn carry_out(&self, transaction: &Transaction) -> lode::Result<()> {
        let Tables { entries, properties, expiries, .. } = self.tables;
        for link in &self.links {
            transaction.delete(entries, &link[..])?;
        }
        for id in &self.left {
            let removed = self.tables.entry_record(REMOVED, &removed_name(*id), *id)?;
            transaction.upsert(entries, &removed)?;
        }
        for (property, expiry) in &self.properties {
            transaction.delete(properties, &property[..])?;
            if let Some(expiry) = expiry {
                transaction.delete(expiries, &expiry[..])?;
            }
        }
        Ok(())
    }
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

    /// Deletes what was taken out, step by step. Returns true if nothing is left.
    fn clear_in_steps(&self) -> Result<bool> {
        loop {
            if self.is_ending.load(Ordering::SeqCst) {
                return Ok(false);
            }
            if !self.clear_step()? {
                return Ok(true);
            }
        }
    }

    /// Deletes some of what was taken out; returns false if nothing is left.
    fn clear_step(&self) -> Result<bool> {
        let _step = lock(&self.clearing);
        let removed = self.first_removed()?;
        if removed.is_empty() {
            return Ok(false);
        }
        let mut step = Step::new(&self.tables);
        step.plan(removed)?;
        self.database.transact(|transaction| step.carry_out(transaction))?;
        Ok(true)
    }

    /// Returns the first entries that were taken out and can be deleted.
    fn first_removed(&self) -> Result<Vec<Id>> {
        let mut first = Vec::new();
        let mut all = self.tables.children(None, REMOVED, "");
        while first.len() < STEP_RECORDS
            && let Some(row) = all.next_row()?
        {
            let (_, id) = self.tables.entry_of(&row);
            if !lock(&self.leaving).contains(&id) {
                first.push(id);
            }
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use crate::counted;
    use crate::{Entry, Volume};

    const COUNT: u64 = 20_000;

    /// Returns how many looks at tables and entries it took to unlink all below the root.
    fn steps_to_unlink(volume: &Volume, name: &str) -> u64 {
        let steps = counted::steps_of(|| volume.root().unlink_all(name).expect("it is there"));
        let left = volume.core().database.table("entries").and_then(|table| {
            use lode::ReadTable;
            table.len()
        });
        assert_eq!(left.expect("a table"), 0);
        steps
    }

    fn with_properties(entry: &Entry, at: u64) {
        if at.is_multiple_of(100) {
            entry.set("at", at).expect("it is set");
        }
    }

    #[test]
    fn a_long_chain_is_unlinked_in_few_steps_for_each_entry() {
        for is_held in [false, true] {
            let volume = Volume::in_memory().expect("a volume");
            let mut last = volume.root();
            for at in 0..COUNT {
                last = last.link("n").expect("it is free");
                with_properties(&last, at);
            }
            let held = is_held.then_some(last);
            let steps = steps_to_unlink(&volume, "n");
            assert!(steps <= 8 * COUNT, "{steps} steps");
            assert!(held.is_none_or(|last| last.property("at").is_err()));
        }
    }

    #[test]
    fn many_children_are_unlinked_in_a_look_for_many_of_them() {
        let volume = Volume::in_memory().expect("a volume");
        let parent = volume.root().link("many").expect("it is free");
        for at in 0..COUNT {
            with_properties(&parent.link(&format!("{at:06}")).expect("it is free"), at);
        }
        drop(parent);
        let steps = steps_to_unlink(&volume, "many");
        // Of those that are open, each is looked at.
        let open = 3 * 4_096;
        assert!(steps <= open + COUNT / 8, "{steps} steps");
    }
}

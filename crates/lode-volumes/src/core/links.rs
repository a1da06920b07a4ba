//! Changing the tree: links, unlinks and renames.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::core::Core;
use crate::core::removal::removed_name;
use crate::error::{Error, Result};
use crate::lock::{lock, read, write};
use crate::name::{child_path, expect_name};
use crate::open::node::{Below, Node, Place, State};
use crate::tables::{Id, REMOVED};
use crate::watch::{Event, What};

/// The part that an unlink takes away.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// An entry without children.
    Entry,
    /// An entry and all below it.
    Subtree,
}

/// The old and the new place of an entry that is moved.
pub(crate) struct Move<'m> {
    pub from: &'m Arc<Node>,
    pub name: &'m str,
    pub to: &'m Arc<Node>,
    pub new_name: &'m str,
}

impl Core {
    /// Links a new entry below another one.
    pub(crate) fn link(&self, parent: &Arc<Node>, name: &str) -> Result<Arc<Node>> {
        self.expect_writable()?;
        expect_name(name)?;
        self.trim_if_over_full();
        let told = self.watchers.of(|| child_path(&self.path_of(parent), name));
        self.late.wait_at_gate();
        let id = self.new_id()?;
        let version = self.version();
        let place = || Place { parent: Arc::clone(parent), name: name.into() };
        // No other thread can open the entry before the table has it: no change is missed.
        let node = self.registry.find_or_add(id, || Node::new_empty(id, place()));
        let linked = self.insert_link(parent, name, id);
        if linked.is_err() {
            node.set_state(State::Gone);
            self.registry.forget(id);
        }
        linked?;
        told.say(|path| Event { path: path.into(), what: What::Linked });
        if self.is_still(parent, name, &node, version) {
            return Ok(node);
        }
        // Another thread unlinked or renamed something; perhaps this entry.
        match self.child(parent, name) {
            Ok(Some(found)) if found.id == id => Ok(found),
            Ok(_) | Err(Error::Gone { .. }) => {
                let gone = Node::new(id, Some(place()));
                gone.set_state(State::Gone);
                Ok(Arc::new(gone))
            }
            Err(error) => Err(error),
        }
    }

    /// Inserts a link into the table.
    fn insert_link(&self, parent: &Node, name: &str, id: Id) -> Result<()> {
        // A thread that unlinks the parent waits for this, or has unlinked it.
        let _linking = read(&parent.children);
        self.expect_linked(parent)?;
        parent.note_children();
        let record = self.tables.entry_record(parent.id, name, id)?;
        if self.tables.entries.insert(&record)? {
            Ok(())
        } else {
            Err(Error::NameTaken { path: child_path(&parent.path(), name) })
        }
    }

    /// Unlinks the child of an entry.
    pub(crate) fn unlink(&self, parent: &Arc<Node>, name: &str, extent: Extent) -> Result<()> {
        self.expect_writable()?;
        expect_name(name)?;
        let told = self.watchers.of(|| child_path(&self.path_of(parent), name));
        self.late.wait_at_gate();
        let structure = read(&self.structure);
        let child = loop {
            self.expect_linked(parent)?;
            let found = self.tables.child(&self.tables.entries, parent.id, name)?;
            let id = found.ok_or_else(|| self.no_entry(parent, name))?;
            let place = || Place { parent: Arc::clone(parent), name: name.into() };
            let child = self.registry.find_or_open(id, place);
            if self.take_out(parent, name, &child, extent)? {
                break child;
            }
        };
        told.say(|path| Event { path: path.into(), what: What::Unlinked });
        drop(structure);
        self.clear_removed(child.id)
    }

    /// Takes an entry out of the tree, so that it and all below it are gone; returns false if
    /// another thread has.
    fn take_out(
        &self,
        parent: &Arc<Node>,
        name: &str,
        child: &Arc<Node>,
        extent: Extent,
    ) -> Result<bool> {
        let _alone = write(&child.children);
        if child.state() == State::Gone {
            return Ok(false);
        }
        let has_children = child.may_have_children() && self.has_children(child.id)?;
        if extent == Extent::Entry && has_children {
            return Err(Error::NotEmpty { path: child_path(&parent.path(), name) });
        }
        child.set_state(State::Leaving);
        child.cells.wait_for_changes();
        // Deleting starts when no handle can add to what is deleted.
        lock(&self.leaving).insert(child.id);
        let taken = self.move_out(parent.id, name, child, extent);
        let is_taken = matches!(taken, Ok(true));
        if is_taken {
            self.paths_have_changed();
            child.set_state(State::Gone);
            if has_children {
                self.mark_gone_below(child);
            }
            self.registry.forget(child.id);
        } else {
            child.set_state(State::Linked);
        }
        lock(&self.leaving).remove(&child.id);
        // A move that fails may have happened all the same.
        self.has_removed.store(true, Ordering::SeqCst);
        taken
    }

    fn has_children(&self, id: Id) -> Result<bool> {
        let mut first = self.tables.children(None, id, "").limit(1);
        Ok(first.next_row()?.is_some())
    }

    fn has_properties(&self, id: Id) -> Result<bool> {
        let mut first = self.tables.properties_of(None, id, "").columns([]).limit(1);
        Ok(first.next_row()?.is_some())
    }

    /// Moves an entry to those that are being deleted; returns false if it is not where it was.
    fn move_out(&self, parent: Id, name: &str, child: &Node, extent: Extent) -> Result<bool> {
        let id = child.id;
        let key = self.tables.entry_key(parent, name)?;
        let has_properties = child.may_have_properties() && self.has_properties(id)?;
        if extent == Extent::Entry && !has_properties {
            // The locks keep out a thread that renames or unlinks the entry.
            return Ok(self.tables.entries.delete(&key)?);
        }
        let removed = self.tables.entry_record(REMOVED, &removed_name(id), id)?;
        let entries = &self.tables.entries;
        let taken = self.database.transact(|transaction| {
            let view = entries.within(transaction);
            if self.tables.child(&view, parent, name)? != Some(id) {
                return Ok(false);
            }
            transaction.delete(entries, &key)?;
            transaction.insert(entries, &removed)
        });
        taken.map_err(Error::from)
    }

    /// Marks all open entries below one that was taken out, and waits for changes of them that are
    /// under way.
    fn mark_gone_below(&self, ancestor: &Arc<Node>) {
        loop {
            let mut found = false;
            let mut below = Below::new(ancestor.id);
            for node in self.registry.all() {
                if node.state() == State::Gone || !below.has(&node) {
                    continue;
                }
                found = true;
                let alone = write(&node.children);
                node.set_state(State::Gone);
                drop(alone);
                node.cells.wait_for_changes();
                self.registry.forget(node.id);
            }
            // The next look finds what was opened below an entry before that was marked.
            if !found {
                return;
            }
        }
    }

    /// Moves an entry, with all below it, to another name, or below another entry.
    pub(crate) fn rename(&self, to_move: &Move<'_>) -> Result<()> {
        let Move { from, name, to, new_name } = to_move;
        self.expect_writable()?;
        [name, new_name].into_iter().try_for_each(|name| expect_name(name))?;
        let told = self.watchers.of(|| child_path(&self.path_of(from), name));
        self.late.wait_at_gate();
        let _structure = write(&self.structure);
        [from, to].into_iter().try_for_each(|node| self.expect_linked(node))?;
        let id = self.tables.child(&self.tables.entries, from.id, name)?;
        let id = id.ok_or_else(|| self.no_entry(from, name))?;
        let new_path = child_path(&to.path(), new_name);
        if to.is_within(id) {
            let path = child_path(&from.path(), name);
            return Err(Error::IntoItself { path, to: new_path });
        }
        if from.id == to.id && name == new_name {
            return Ok(());
        }
        let entries = &self.tables.entries;
        let old = self.tables.entry_key(from.id, name)?;
        let new = self.tables.entry_record(to.id, new_name, id)?;
        let moved = self.database.transact(|transaction| {
            if !transaction.insert(entries, &new)? {
                return Ok::<_, lode::Error>(false);
            }
            transaction.delete(entries, &old)
        })?;
        if !moved {
            return Err(Error::NameTaken { path: new_path });
        }
        self.paths_have_changed();
        to.note_children();
        if let Some(node) = self.registry.find(id) {
            node.move_to(Place { parent: Arc::clone(to), name: (*new_name).into() });
        }
        told.say(|path| Event {
            path: path.into(),
            what: What::Renamed { to: new_path.as_str().into() },
        });
        Ok(())
    }
}

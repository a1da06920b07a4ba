//! Reading and changing the properties of open entries.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lode::{ReadTable, Transaction};

use crate::clock::Moment;
use crate::core::{Core, Mode};
use crate::error::{Error, Result};
use crate::name::expect_name;
use crate::open::cells::{Cell, Held, Seen};
use crate::open::kept::Content;
use crate::open::node::{Node, State};
use crate::tables::{Id, Stored, pack_property, unpack_property};
use crate::value::{Value, ValueRef, to_value};
use crate::watch::{Event, What};

/// Room for a record that a thread keeps for the next one.
const MOST_KEPT_BYTES: usize = 16 << 10;

/// The wanted content of a property.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'v> {
    Set {
        value: ValueRef<'v>,
        expires: Moment,
    },
    Removed,
    /// The present value, with another expiry.
    Expires(Moment),
}

/// A change of a property, for a transaction.
pub(crate) struct Step<'s> {
    pub entry: Id,
    pub cell: &'s Arc<Cell>,
    pub wanted: Wanted<'s>,
}

/// The outcome of a look at a cell.
enum Found<T> {
    Value(T),
    Nothing,
    Expired,
    InTable,
}

/// The outcome of an attempt to change a cell.
enum Tried<T> {
    Done(T),
    /// The cell is detached: another one has the property, or will.
    Detached,
    /// The entry is being unlinked.
    Leaving,
}

impl Core {
    /// Lets `read` see a property.
    #[inline]
    pub(crate) fn read_property<T>(
        &self,
        node: &Arc<Node>,
        name: &str,
        read: impl FnOnce(ValueRef<'_>) -> T,
    ) -> Result<Option<T>> {
        self.expect_linked(node)?;
        let mut read = Some(read);
        let mut look = |cell: &Cell| cell.read(|content| self.look(content, &mut read));
        let found = match node.cells.with(name, |cell| look(cell)) {
            Some(found) => found,
            None => look(&*self.cell(node, name)?),
        };
        match (found, read) {
            (Found::Value(value), _) => Ok(Some(value)),
            (Found::InTable, Some(read)) => self.read_table(node, name, read),
            (Found::Expired, _) => {
                // The property has expired, even if its removal fails.
                let _ = self.remove_expired(node, name);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn look<T, R: FnOnce(ValueRef<'_>) -> T>(
        &self,
        content: Content<'_>,
        read: &mut Option<R>,
    ) -> Found<T> {
        match content {
            Content::Absent => Found::Nothing,
            Content::Kept { expires, .. } | Content::InTable { expires }
                if self.has_expired(expires) =>
            {
                Found::Expired
            }
            Content::InTable { .. } => Found::InTable,
            Content::Kept { value, .. } => match read.take() {
                Some(read) => Found::Value(read(value)),
                None => Found::Nothing,
            },
        }
    }

    #[inline]
    pub(crate) fn has_expired(&self, expires: Moment) -> bool {
        expires != Moment::NEVER && self.has_expired_at(expires, self.time.now())
    }

    /// Reads a property that is too long to be kept.
    fn read_table<T>(
        &self,
        node: &Node,
        name: &str,
        read: impl FnOnce(ValueRef<'_>) -> T,
    ) -> Result<Option<T>> {
        let key = self.tables.property_key(node.id, name)?;
        let mut payload = Vec::new();
        if !self.tables.properties.get_into(&key, &mut payload)? {
            return Ok(None);
        }
        let stored = self.unpack(&payload, name)?;
        Ok((!self.has_expired(stored.expires)).then(|| read(stored.value)))
    }

    pub(crate) fn unpack<'p>(&self, payload: &'p [u8], name: &str) -> Result<Stored<'p>> {
        unpack_property(payload)
            .ok_or_else(|| self.corrupt(format!("property {name:?} has no value of its type")))
    }

    /// Returns the cell of a property.
    pub(crate) fn cell(&self, node: &Arc<Node>, name: &str) -> Result<Arc<Cell>> {
        if let Some(cell) = node.cells.with(name, Arc::clone) {
            return Ok(cell);
        }
        expect_name(name)?;
        self.trim_if_over_full();
        let (cell, growth) = node.cells.find_or_add(name, || {
            let key = self.tables.property_key(node.id, name)?;
            let mut payload = Vec::new();
            // A thread that changes a property has a cell for it first.
            if !node.may_have_properties()
                || !self.tables.properties.get_into(&key, &mut payload)?
            {
                return Ok(Cell::new(name, key, None));
            }
            let Stored { value, expires } = self.unpack(&payload, name)?;
            Ok::<_, Error>(Cell::new(name, key, Some((value, expires))))
        })?;
        self.registry.grow(growth);
        Ok(cell)
    }

    /// Calls `work` with the cell of a property, which only it changes then.
    fn with_cell<T>(
        &self,
        node: &Arc<Node>,
        name: &str,
        mut work: impl FnMut(&Arc<Cell>, &mut Held) -> Result<T>,
    ) -> Result<T> {
        let mut is_late = false;
        let mut change = |cell: &Arc<Cell>| -> Result<Tried<T>> {
            let mut held = cell.lock();
            if held.detached {
                return Ok(Tried::Detached);
            }
            match node.state() {
                State::Linked => {}
                State::Gone => return Err(self.gone(node)),
                State::Leaving => return Ok(Tried::Leaving),
            }
            let done = work(cell, &mut held)?;
            is_late = held.dirty;
            Ok(Tried::Done(done))
        };
        let done = loop {
            self.late.wait_at_gate();
            let tried = match node.cells.with(name, &mut change) {
                Some(tried) => tried?,
                None => change(&self.cell(node, name)?)?,
            };
            match tried {
                Tried::Done(done) => break done,
                Tried::Detached => {}
                Tried::Leaving => node.wait_for_unlink(),
            }
        };
        if is_late {
            self.late.catch_up_if_many(&self.tables);
        }
        Ok(done)
    }

    /// Sets a property, whether it is there or not; it does not expire then.
    pub(crate) fn set(&self, node: &Arc<Node>, name: &str, value: ValueRef<'_>) -> Result<()> {
        self.expect_writable()?;
        value.expect_fits()?;
        let told = self.watchers.of(|| self.path_of(node));
        self.with_cell(node, name, |cell, held| {
            let wanted = Wanted::Set { value, expires: Moment::NEVER };
            self.apply(node, cell, held, wanted)?;
            told.say(|path| Event { path: path.into(), what: What::Set { name: name.into() } });
            Ok(())
        })
    }

    /// Removes a property; returns false if the property is missing.
    pub(crate) fn remove(&self, node: &Arc<Node>, name: &str) -> Result<bool> {
        self.expect_writable()?;
        let told = self.watchers.of(|| self.path_of(node));
        self.with_cell(node, name, |cell, held| {
            if !self.is_there(cell) {
                return Ok(false);
            }
            self.apply(node, cell, held, Wanted::Removed)?;
            told.say(|path| Event { path: path.into(), what: What::Removed { name: name.into() } });
            Ok(true)
        })
    }

    /// Lets a property expire at a moment, or never; returns false if the property is missing.
    pub(crate) fn expire(
        &self,
        node: &Arc<Node>,
        name: &str,
        after: Option<Duration>,
    ) -> Result<bool> {
        self.expect_writable()?;
        let expires = match after {
            Some(after) => self.time.now().after(after)?,
            None => Moment::NEVER,
        };
        self.with_cell(node, name, |cell, held| {
            if !self.is_there(cell) {
                return Ok(false);
            }
            let is_same = cell.expires() == Some(expires);
            if !is_same {
                self.apply(node, cell, held, Wanted::Expires(expires))?;
            }
            Ok(true)
        })
    }

    /// Replaces a property if it is still what it was; returns false if it is not.
    pub(crate) fn replace(
        &self,
        node: &Arc<Node>,
        name: &str,
        seen: &Seen,
        value: Option<ValueRef<'_>>,
    ) -> Result<bool> {
        self.expect_writable()?;
        value.map_or(Ok(()), ValueRef::expect_fits)?;
        let told = self.watchers.of(|| self.path_of(node));
        self.with_cell(node, name, |cell, held| {
            if !seen.is_now(cell) {
                return Ok(false);
            }
            let (wanted, what) = match value {
                Some(value) => {
                    let expires = Moment::NEVER;
                    (Wanted::Set { value, expires }, What::Set { name: name.into() })
                }
                None => (Wanted::Removed, What::Removed { name: name.into() }),
            };
            self.apply(node, cell, held, wanted)?;
            told.say(|path| Event { path: path.into(), what });
            Ok(true)
        })
    }

    /// Returns true if a cell has a property that has not expired.
    pub(crate) fn is_there(&self, cell: &Cell) -> bool {
        cell.expires().is_some_and(|expires| !self.has_expired(expires))
    }

    /// Removes a property that has expired.
    fn remove_expired(&self, node: &Arc<Node>, name: &str) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        let told = self.watchers.of(|| self.path_of(node));
        self.with_cell(node, name, |cell, held| {
            let Some(expires) = cell.expires() else { return Ok(()) };
            if !self.has_expired(expires) {
                return Ok(());
            }
            if self.remove_due(expires, node.id, name)? {
                let what = What::Expired { name: name.into() };
                told.say(|path| Event { path: path.into(), what });
            }
            held.room_bytes = None;
            self.registry.grow(cell.store(held, Content::Absent));
            Ok(())
        })
    }

    /// Changes a property as wanted; by the holder of its lock.
    fn apply(
        &self,
        node: &Arc<Node>,
        cell: &Arc<Cell>,
        held: &mut Held,
        wanted: Wanted<'_>,
    ) -> Result<()> {
        node.note_properties();
        let does_not_expire = |expires| expires == Moment::NEVER;
        let is_plain = cell.expires().is_none_or(does_not_expire)
            && match wanted {
                Wanted::Set { expires, .. } => does_not_expire(expires),
                Wanted::Removed => true,
                Wanted::Expires(_) => false,
            };
        let may_be_late = is_plain && self.late.is_allowed && has_room(held, wanted);
        if may_be_late && self.late.add(node, cell, held) {
            let content = match wanted {
                Wanted::Set { value, expires } => Content::of(value, expires),
                Wanted::Removed | Wanted::Expires(_) => Content::Absent,
            };
            self.registry.grow(cell.store(held, content));
            return Ok(());
        }
        let step = Step { entry: node.id, cell, wanted };
        let written = if is_plain {
            self.write_plain(&step)
        } else {
            self.write_steps(std::slice::from_ref(&(step, held.dirty)))
        };
        if let Err(error) = written {
            self.distrust_unless_late(node, cell, held);
            return Err(error);
        }
        self.take_over(cell, held, wanted);
        Ok(())
    }

    /// Has a cell read again after a write that failed: the table may have the change or not.
    /// (Where nothing is synced, the table is as it was, and may be behind the cell.)
    pub(crate) fn distrust_unless_late(&self, node: &Node, cell: &Arc<Cell>, held: &mut Held) {
        if self.mode == Mode::Through {
            node.cells.distrust(cell, held);
        }
    }

    /// Writes a change of a property that does not expire, before or after.
    fn write_plain(&self, step: &Step<'_>) -> Result<()> {
        thread_local! {
            static RECORD: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) };
        }
        let Wanted::Set { value, expires } = step.wanted else {
            self.tables.properties.delete(&step.cell.key[..])?;
            return Ok(());
        };
        // In a thread that is ending there may be none any more.
        let mut record = RECORD.try_with(std::cell::Cell::take).unwrap_or_default();
        pack_property(&step.cell.key, &Stored { value, expires }, &mut record);
        let written = self.tables.properties.upsert(&record);
        if record.capacity() <= MOST_KEPT_BYTES {
            let _ = RECORD.try_with(|kept| kept.set(record));
        }
        written?;
        Ok(())
    }

    /// Writes changes in one transaction. With each comes whether its cell is late.
    pub(crate) fn write_steps(&self, steps: &[(Step<'_>, bool)]) -> Result<()> {
        self.database.transact(|transaction| {
            steps.iter().try_for_each(|(step, late)| self.write_step(transaction, step, *late))
        })
    }

    fn write_step(&self, transaction: &Transaction, step: &Step<'_>, late: bool) -> Result<()> {
        let Step { entry, cell, wanted } = step;
        let expiry = |when| self.tables.expiry_key(when, *entry, &cell.name);
        if let Some(before) = cell.expires().filter(|before| *before != Moment::NEVER) {
            transaction.delete(&self.tables.expiries, expiry(before)?)?;
        }
        let put = |property: &Stored<'_>| {
            let mut record = Vec::new();
            pack_property(&cell.key, property, &mut record);
            transaction.upsert(&self.tables.properties, &record).map(drop)
        };
        let expires = match *wanted {
            Wanted::Removed => {
                transaction.delete(&self.tables.properties, &cell.key[..])?;
                return Ok(());
            }
            Wanted::Set { value, expires } => {
                put(&Stored { value, expires })?;
                expires
            }
            Wanted::Expires(expires) => {
                cell.read(|content| match content {
                    Content::Kept { value, .. } if late => put(&Stored { value, expires }),
                    _ => {
                        let column = self.tables.expires_at;
                        let bytes = expires.0.to_le_bytes();
                        transaction
                            .update(&self.tables.properties, &cell.key[..], column, &bytes)
                            .map(drop)
                    }
                })?;
                expires
            }
        };
        if expires != Moment::NEVER {
            transaction.insert(&self.tables.expiries, &expiry(expires)?)?;
        }
        Ok(())
    }

    /// Makes a cell what the table is now; by the holder of its lock.
    pub(crate) fn take_over(&self, cell: &Arc<Cell>, held: &mut Held, wanted: Wanted<'_>) {
        held.dirty = false;
        if let Wanted::Set { expires, .. } | Wanted::Expires(expires) = wanted
            && expires != Moment::NEVER
        {
            self.next_expiry.fetch_min(expires.0, Ordering::SeqCst);
        }
        let growth = match wanted {
            Wanted::Set { value, expires } => {
                held.room_bytes = Some(value.size_bytes());
                cell.store(held, Content::of(value, expires))
            }
            Wanted::Removed => {
                held.room_bytes = None;
                cell.store(held, Content::Absent)
            }
            Wanted::Expires(expires) => {
                cell.set_expires(held, expires);
                0
            }
        };
        self.registry.grow(growth);
    }

    /// Returns a copy of a property, `None` if it is missing, and how it was seen.
    pub(crate) fn see_value(&self, node: &Arc<Node>, name: &str) -> Result<(Option<Value>, Seen)> {
        let cell = self.cell(node, name)?;
        let (value, seen) = cell.see(|content| self.value_of(node, name, content));
        Ok((value?, seen))
    }

    /// Returns a copy of a property as it is in a cell; `None` if it is missing.
    fn value_of(
        &self,
        node: &Arc<Node>,
        name: &str,
        content: Content<'_>,
    ) -> Result<Option<Value>> {
        match content {
            Content::Kept { value, expires } if !self.has_expired(expires) => {
                Ok(Some(value.to_value()))
            }
            Content::InTable { expires } if !self.has_expired(expires) => {
                self.read_table(node, name, to_value)
            }
            _ => Ok(None),
        }
    }
}

/// Returns true if the table has room for the wanted content of a property.
fn has_room(held: &Held, wanted: Wanted<'_>) -> bool {
    match wanted {
        Wanted::Set { value, .. } => {
            let size_bytes = value.size_bytes();
            Content::keeps(size_bytes) && held.room_bytes.is_some_and(|room| size_bytes <= room)
        }
        Wanted::Removed => held.room_bytes.is_some(),
        Wanted::Expires(_) => false,
    }
}

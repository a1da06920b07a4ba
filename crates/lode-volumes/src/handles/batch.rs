//! Several changes at once, or none of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::core::Core;
use crate::core::properties::{Step, Wanted};
use crate::error::{Error, Result};
use crate::handles::entry::Entry;
use crate::open::cells::{Cell, Seen};
use crate::open::node::{Node, State};
use crate::tables::Id;
use crate::value::{Value, ValueRef};
use crate::watch::{Event, What};

/// The number of attempts after which a batch gives up.
const MOST_ATTEMPTS: u32 = 1_000;

/// Changes of properties of one volume that happen together. See
/// [`Volume::update`](crate::Volume::update) and [`Entry::update`].
///
/// A batch reads what it has set; others see it when all of it has happened. If another thread
/// changes what the batch has read, the batch runs again from the start.
///
/// ```
/// use lode_volumes::{Value, Volume};
///
/// let volume = Volume::in_memory()?;
/// let (from, to) = (volume.root().link("from")?, volume.root().link("to")?);
/// from.set("cents", 100i64)?;
/// to.set("cents", 0i64)?;
/// volume.update(|batch| {
///     let Some(Value::I64(has)) = batch.property(&from, "cents")? else { return Ok(()) };
///     batch.set(&from, "cents", has - 30)?;
///     batch.set(&to, "cents", 30i64)
/// })?;
/// assert_eq!(from.property("cents")?, Some(Value::I64(70)));
/// # Ok::<(), lode_volumes::Error>(())
/// ```
pub struct Batch<'v> {
    core: &'v Core,
    pieces: RefCell<BTreeMap<(Id, Box<str>), Piece>>,
}

/// The part of a batch about one property: its value as read, and its change.
struct Piece {
    node: Arc<Node>,
    seen: Option<Seen>,
    becomes: Option<Becomes>,
}

#[derive(Clone)]
enum Becomes {
    Set { value: Value, expires: Moment },
    Removed,
}

impl<'v> Batch<'v> {
    fn new(core: &'v Core) -> Self {
        Self { core, pieces: RefCell::default() }
    }

    fn expect_own(&self, entry: &Entry) -> Result<()> {
        if std::ptr::eq(entry.core(), self.core) {
            self.core.expect_linked(entry.node())
        } else {
            Err(Error::OtherVolume {
                found: entry.core().name.clone(),
                expected: self.core.name.clone(),
            })
        }
    }

    /// Notes what a property is to become.
    fn note(&self, entry: &Entry, name: &str, becomes: Becomes) {
        let mut pieces = self.pieces.borrow_mut();
        let piece = pieces.entry((entry.node().id, name.into()));
        let piece = piece.or_insert_with(|| Piece {
            node: Arc::clone(entry.node()),
            seen: None,
            becomes: None,
        });
        piece.becomes = Some(becomes);
    }

    /// Sets a property, whether it is there or not; it does not expire then.
    ///
    /// # Errors
    /// As [`Entry::set`], and `OtherVolume`.
    pub fn set<'p>(&self, entry: &Entry, name: &str, value: impl Into<ValueRef<'p>>) -> Result<()> {
        self.set_until(entry, name, value.into(), Moment::NEVER)
    }

    /// Sets a property of an entry that expires at a moment.
    pub(crate) fn set_until(
        &self,
        entry: &Entry,
        name: &str,
        value: ValueRef<'_>,
        expires: Moment,
    ) -> Result<()> {
        self.expect_own(entry)?;
        crate::name::expect_name(name)?;
        value.expect_fits()?;
        self.note(entry, name, Becomes::Set { value: value.to_value(), expires });
        Ok(())
    }

    /// Returns a property as the batch has made it so far.
    ///
    /// # Errors
    /// As [`Entry::property`], and `OtherVolume`.
    pub fn property(&self, entry: &Entry, name: &str) -> Result<Option<Value>> {
        self.expect_own(entry)?;
        let key = (entry.node().id, name.into());
        if let Some(piece) = self.pieces.borrow().get(&key) {
            match &piece.becomes {
                Some(Becomes::Set { value, .. }) => return Ok(Some(value.clone())),
                Some(Becomes::Removed) => return Ok(None),
                None => {}
            }
        }
        let (value, seen) = self.core.see_value(entry.node(), name)?;
        let mut pieces = self.pieces.borrow_mut();
        let piece = pieces.entry(key).or_insert_with(|| Piece {
            node: Arc::clone(entry.node()),
            seen: None,
            becomes: None,
        });
        // The first value that was read has to be unchanged at the end.
        piece.seen.get_or_insert(seen);
        Ok(value)
    }

    /// Removes a property; returns false if the property is missing.
    ///
    /// # Errors
    /// As [`Entry::remove_property`], and `OtherVolume`.
    pub fn remove_property(&self, entry: &Entry, name: &str) -> Result<bool> {
        let is_there = self.property(entry, name)?.is_some();
        if is_there {
            self.note(entry, name, Becomes::Removed);
        }
        Ok(is_there)
    }

    /// Lets a property expire after a time; returns false if the property is missing.
    ///
    /// # Errors
    /// As [`Entry::expire_property`], and `OtherVolume`.
    pub fn expire_property(&self, entry: &Entry, name: &str, after: Duration) -> Result<bool> {
        let Some(value) = self.property(entry, name)? else { return Ok(false) };
        let expires = self.core.time.now().after(after)?;
        self.note(entry, name, Becomes::Set { value, expires });
        Ok(true)
    }
}

impl Entry {
    /// Changes several properties of this entry, all of them or none. See [`Batch`].
    ///
    /// ```
    /// use lode_volumes::Volume;
    ///
    /// let root = Volume::in_memory()?.root();
    /// root.update(|entry| {
    ///     entry.set("user", "ada")?;
    ///     entry.set("attempts", 0u8)
    /// })?;
    /// assert_eq!(root.property_names()?, ["attempts", "user"]);
    /// # Ok::<(), lode_volumes::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of `work`; `Conflict`; and [those of every write](Self#errors).
    pub fn update<T, E: From<Error>>(
        &self,
        mut work: impl FnMut(&EntryBatch<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.core().update(|batch| work(&EntryBatch { batch, entry: self }))
    }
}

/// Changes of properties of one entry that happen together. Made by [`Entry::update`].
pub struct EntryBatch<'b> {
    batch: &'b Batch<'b>,
    entry: &'b Entry,
}

impl EntryBatch<'_> {
    /// Sets a property, as [`Batch::set`] does.
    ///
    /// # Errors
    /// As there.
    pub fn set<'p>(&self, name: &str, value: impl Into<ValueRef<'p>>) -> Result<()> {
        self.batch.set(self.entry, name, value)
    }

    /// Returns a property, as [`Batch::property`] does.
    ///
    /// # Errors
    /// As there.
    pub fn property(&self, name: &str) -> Result<Option<Value>> {
        self.batch.property(self.entry, name)
    }

    /// Removes a property, as [`Batch::remove_property`] does.
    ///
    /// # Errors
    /// As there.
    pub fn remove_property(&self, name: &str) -> Result<bool> {
        self.batch.remove_property(self.entry, name)
    }

    /// Lets a property expire, as [`Batch::expire_property`] does.
    ///
    /// # Errors
    /// As there.
    pub fn expire_property(&self, name: &str, after: Duration) -> Result<bool> {
        self.batch.expire_property(self.entry, name, after)
    }
}

/// The outcome of one attempt at a batch.
enum Outcome {
    Done,
    Again,
}

impl Core {
    /// Runs `work` and does what it wants, again if what it has read has changed.
    pub(crate) fn update<T, E: From<Error>>(
        &self,
        mut work: impl FnMut(&Batch<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.expect_writable()?;
        for _ in 0..MOST_ATTEMPTS {
            let batch = Batch::new(self);
            let done = work(&batch)?;
            match self.carry_out(batch.pieces.into_inner())? {
                Outcome::Done => return Ok(done),
                Outcome::Again => std::thread::yield_now(),
            }
        }
        Err(Error::Conflict { attempts: MOST_ATTEMPTS }.into())
    }

    fn carry_out(&self, pieces: BTreeMap<(Id, Box<str>), Piece>) -> Result<Outcome> {
        self.late.wait_at_gate();
        let paths: Vec<_> =
            pieces.values().map(|piece| self.watchers.of(|| self.path_of(&piece.node))).collect();
        // The cells held here are detached no more; one that was before makes the batch run again.
        let cells = pieces
            .iter()
            .map(|((_, name), piece)| self.cell(&piece.node, name))
            .collect::<Result<Vec<Arc<Cell>>>>()?;
        let mut held: Vec<_> = cells.iter().map(|cell| cell.lock()).collect();
        for ((piece, cell), held) in pieces.values().zip(&cells).zip(&held) {
            match piece.node.state() {
                State::Linked => {}
                State::Leaving => return Ok(Outcome::Again),
                State::Gone => return Err(self.gone(&piece.node)),
            }
            let has_changed = piece.seen.as_ref().is_some_and(|seen| !seen.is_now(cell));
            if held.detached || has_changed {
                return Ok(Outcome::Again);
            }
            piece.node.note_properties();
        }
        let mut steps = Vec::new();
        for ((((entry, _), piece), cell), held) in pieces.iter().zip(&cells).zip(&held) {
            let wanted = match &piece.becomes {
                None => continue,
                Some(Becomes::Removed) => Wanted::Removed,
                Some(Becomes::Set { value, expires }) => {
                    Wanted::Set { value: value.as_ref(), expires: *expires }
                }
            };
            steps.push((Step { entry: *entry, cell, wanted }, held.dirty));
        }
        let written = self.write_steps(&steps);
        drop(steps);
        for (at, (((_, name), piece), cell)) in pieces.iter().zip(&cells).enumerate() {
            let (wanted, what) = match &piece.becomes {
                None => continue,
                Some(Becomes::Removed) => (Wanted::Removed, What::Removed { name: name.clone() }),
                Some(Becomes::Set { value, expires }) => (
                    Wanted::Set { value: value.as_ref(), expires: *expires },
                    What::Set { name: name.clone() },
                ),
            };
            match &written {
                Ok(()) => {
                    self.take_over(cell, &mut held[at], wanted);
                    paths[at].say(|path| Event { path: path.into(), what });
                }
                Err(_) => self.distrust_unless_late(&piece.node, cell, &mut held[at]),
            }
        }
        written.map(|()| Outcome::Done)
    }
}

//! Entries of a storage: what the mounted volumes have under one path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::Inner;
use super::mounts::{Access, Mounted};
use crate::error::{Error, Result};
use crate::handles::entry::Entry;
use crate::name::{child_path, expect_name};
use crate::value::{Value, ValueRef, to_value};

/// An entry of a [`Storage`](crate::Storage): one of each volume that is mounted there and has it.
/// Handles are cheap to clone, and may be used by any number of threads.
///
/// ```
/// use lode_volumes::{Mount, Storage, Value, Volume};
///
/// let (first, second) = (Volume::in_memory()?, Volume::in_memory()?);
/// let storage = Storage::new();
/// storage.mount("/", Mount::new(&first).priority(2))?;
/// storage.mount("/", Mount::new(&second).priority(1))?;
/// let a = storage.create_entry("/a")?;
/// a.set("x", 1u8)?;
/// second.create_entry("/a/only_here")?;
/// assert_eq!(second.create_entry("/a")?.property("x")?, Some(Value::U8(1)));
/// assert_eq!(a.links()?, ["only_here"]);
/// # Ok::<(), lode_volumes::Error>(())
/// ```
///
/// # Errors
/// All operations can return `MountsChanged`, `Gone` when no volume has the entry any more, and
/// [those of entries](Entry#errors). Writing returns `ReadOnly` when no volume is mounted for
/// writing, and `Partial` when some have failed and others not.
#[derive(Clone)]
pub struct StorageEntry {
    storage: Arc<Inner>,
    version: u64,
    path: String,
    parts: Arc<[Part]>,
}

/// The part of an entry that one volume has.
struct Part {
    mounted: Mounted,
    /// The path below the entry that is mounted.
    rest: String,
    found: ArcSwapOption<Entry>,
}

impl Part {
    /// Calls `work` with the volume's entry, if it has it.
    fn with_entry<T>(&self, work: impl FnOnce(Option<&Entry>) -> Result<T>) -> Result<T> {
        if let Some(entry) = &*self.found.load()
            && !entry.is_gone()
        {
            return work(Some(entry));
        }
        let found = match self.mounted.top.entry(&self.rest) {
            // The entry that is mounted was unlinked.
            Err(Error::Gone { .. }) => None,
            found => found?.map(Arc::new),
        };
        self.found.store(found.clone());
        work(found.as_deref())
    }

    fn entry(&self) -> Result<Option<Entry>> {
        self.with_entry(|entry| Ok(entry.cloned()))
    }

    /// Calls `work` with the volume's entry, which is made if the volume has not got it.
    fn with_made<T>(&self, work: impl Fn(&Entry) -> Result<T>) -> Result<T> {
        let done = self.with_entry(|entry| entry.map(&work).transpose())?;
        if let Some(done) = done {
            return Ok(done);
        }
        let made = Arc::new(self.mounted.top.create_entry(&self.rest)?);
        self.found.store(Some(Arc::clone(&made)));
        work(&made)
    }

    fn name(&self) -> String {
        self.mounted.volume.name().into()
    }

    fn is_writable(&self) -> bool {
        self.mounted.access == Access::Write
    }
}

impl fmt::Debug for StorageEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageEntry").field("path", &self.path).finish_non_exhaustive()
    }
}

impl StorageEntry {
    pub(super) fn new(
        storage: Arc<Inner>,
        version: u64,
        path: String,
        rest: String,
        mounts: Vec<Mounted>,
    ) -> Self {
        let parts = mounts.into_iter().map(|mounted| Part {
            mounted,
            rest: rest.clone(),
            found: ArcSwapOption::empty(),
        });
        Self { storage, version, path, parts: parts.collect() }
    }

    /// Returns the entry's path in the storage.
    pub fn path(&self) -> &str {
        &self.path
    }

    fn expect_mounts(&self) -> Result<()> {
        if self.storage.version() == self.version {
            Ok(())
        } else {
            Err(Error::MountsChanged { path: self.path.clone() })
        }
    }

    pub(super) fn is_there(&self) -> Result<bool> {
        for part in &*self.parts {
            if part.with_entry(|entry| Ok(entry.is_some()))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the entries of the volumes that have it, the highest priority first.
    fn entries(&self) -> Result<Vec<Entry>> {
        self.expect_mounts()?;
        let mut entries = Vec::with_capacity(self.parts.len());
        for part in &*self.parts {
            entries.extend(part.entry()?);
        }
        if entries.is_empty() { Err(Error::Gone { path: self.path.clone() }) } else { Ok(entries) }
    }

    /// Does something in every volume that is mounted for writing; returns true if one of them
    /// returned true.
    fn write_all(&self, work: impl Fn(&Part) -> Result<bool>) -> Result<bool> {
        self.expect_mounts()?;
        let mut any = false;
        let mut is_writable = false;
        let mut failed = Vec::new();
        for (at, part) in self.parts.iter().enumerate().filter(|(_, part)| part.is_writable()) {
            is_writable = true;
            match work(part) {
                Ok(outcome) => any |= outcome,
                Err(error) => failed.push((at, error)),
            }
        }
        match (is_writable, failed.is_empty()) {
            (true, true) => Ok(any),
            (true, false) => Err(self.partial(failed)),
            (false, _) => Err(Error::ReadOnly { volume: self.path.clone() }),
        }
    }

    /// Returns the error for an operation that failed in some volumes.
    #[cold]
    fn partial(&self, mut failed: Vec<(usize, Error)>) -> Error {
        let writable = self.parts.iter().enumerate().filter(|(_, part)| part.is_writable());
        let others = writable.filter(|(at, _)| failed.iter().all(|(other, _)| other != at));
        let written: Vec<_> = others.map(|(_, part)| part.name()).collect();
        match (&written[..], &failed[..]) {
            // Nothing has changed, and there is only one reason.
            ([], [_]) => failed.remove(0).1,
            _ => {
                let failed = failed.into_iter().map(|(at, error)| (self.parts[at].name(), error));
                Error::Partial { written, failed: failed.collect() }
            }
        }
    }

    /// Refuses an entry that no volume has, so that a write does not bring it back.
    fn expect_there(&self) -> Result<()> {
        if self.is_there()? { Ok(()) } else { Err(Error::Gone { path: self.path.clone() }) }
    }

    /// Makes the entry in every volume that is mounted for writing.
    pub(super) fn make(&self) -> Result<()> {
        self.write_all(|part| part.with_made(|_| Ok(true))).map(drop)
    }

    /// Sets a property in every volume that is mounted for writing.
    ///
    /// # Errors
    /// As [`Entry::set`], and [those of every write](Self#errors).
    pub fn set<'v>(&self, name: &str, value: impl Into<ValueRef<'v>>) -> Result<()> {
        let value = value.into();
        expect_name(name)?;
        value.expect_fits()?;
        self.expect_there()?;
        self.write_all(|part| part.with_made(|entry| entry.set(name, value).map(|()| true)))
            .map(drop)
    }

    /// Returns a copy of a property, of the volume with the highest priority that has it.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn property(&self, name: &str) -> Result<Option<Value>> {
        self.with_property(name, to_value)
    }

    /// Lends that property to `read`, and returns what that returns.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn with_property<T>(
        &self,
        name: &str,
        read: impl FnOnce(ValueRef<'_>) -> T,
    ) -> Result<Option<T>> {
        self.expect_mounts()?;
        let mut read = Some(read);
        let mut is_there = false;
        for part in &*self.parts {
            let found = part.read(name, &mut read)?;
            match found {
                Found::Value(value) => return Ok(Some(value)),
                Found::Nothing => is_there = true,
                Found::NoEntry => {}
            }
        }
        if is_there { Ok(None) } else { Err(Error::Gone { path: self.path.clone() }) }
    }

    /// Returns true if a volume has the property.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn has_property(&self, name: &str) -> Result<bool> {
        self.with_property(name, |_| ()).map(|found| found.is_some())
    }

    /// Removes a property from every volume that is mounted for writing; returns false if they all
    /// lack it. A volume that is read-only may have it still.
    ///
    /// # Errors
    /// [The errors of every write](Self#errors).
    pub fn remove_property(&self, name: &str) -> Result<bool> {
        expect_name(name)?;
        self.expect_there()?;
        self.write_found(|entry| entry.remove_property(name))
    }

    /// Does something where the entry is; returns true if it was done anywhere.
    fn write_found(&self, work: impl Fn(&Entry) -> Result<bool>) -> Result<bool> {
        self.write_all(|part| part.with_entry(|entry| entry.map_or(Ok(false), &work)))
    }

    /// Lets a property expire after a time, in every volume that is mounted for writing; returns
    /// false if they all lack it.
    ///
    /// # Errors
    /// As [`Entry::expire_property`], and [those of every write](Self#errors).
    pub fn expire_property(&self, name: &str, after: Duration) -> Result<bool> {
        self.expect_there()?;
        self.write_found(|entry| entry.expire_property(name, after))
    }

    /// Lets a property stay that would have expired; returns false if no volume that is mounted for
    /// writing has it.
    ///
    /// # Errors
    /// [The errors of every write](Self#errors).
    pub fn cancel_expiration(&self, name: &str) -> Result<bool> {
        self.expect_there()?;
        self.write_found(|entry| entry.cancel_expiration(name))
    }

    /// Returns all properties, each of the volume with the highest priority that has it.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn properties(&self) -> Result<BTreeMap<String, Value>> {
        let mut all = BTreeMap::new();
        for entry in self.entries()? {
            for property in entry.properties()? {
                let (name, value) = property?;
                all.entry(name).or_insert(value);
            }
        }
        Ok(all)
    }

    /// Returns the names of all properties, in the order of their bytes.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn property_names(&self) -> Result<Vec<String>> {
        let mut names = BTreeSet::new();
        for entry in self.entries()? {
            names.extend(entry.property_names()?);
        }
        Ok(names.into_iter().collect())
    }

    /// Returns the names of the children that any of the volumes has, in the order of their bytes.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn links(&self) -> Result<Vec<String>> {
        let mut names = BTreeSet::new();
        for entry in self.entries()? {
            for name in entry.links()? {
                names.insert(name?);
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Links a child in every volume that is mounted for writing.
    ///
    /// # Errors
    /// `NameTaken` when any volume has such a child, and [those of every write](Self#errors).
    pub fn link(&self, name: &str) -> Result<()> {
        expect_name(name)?;
        let entries = self.entries()?;
        // A single volume reports that itself.
        for entry in entries.iter().filter(|_| self.parts.len() > 1) {
            if entry.entry(name)?.is_some() {
                return Err(Error::NameTaken { path: child_path(&self.path, name) });
            }
        }
        self.write_all(|part| part.with_made(|entry| entry.link(name).map(|_| true))).map(drop)
    }

    /// Unlinks a child in every volume that has it.
    ///
    /// # Errors
    /// `NoEntry`; `NotEmpty` when it has children in any of them; `ReadOnly` when a volume has it
    /// that is read-only, so that it would still be there: nothing is changed then; and [those of
    /// every write](Self#errors).
    pub fn unlink(&self, name: &str) -> Result<()> {
        if let [only] = &*self.parts
            && only.is_writable()
        {
            return self.write_found(|entry| entry.unlink(name).map(|()| true)).map(drop);
        }
        self.expect_unlinkable(name, Entry::has_links)?;
        self.write_found(|entry| absent_is_false(entry.unlink(name))).map(drop)
    }

    /// Unlinks a child, and all below it, in every volume that has it.
    ///
    /// # Errors
    /// As [`unlink`](Self::unlink), but for `NotEmpty`.
    pub fn unlink_all(&self, name: &str) -> Result<()> {
        self.expect_unlinkable(name, |_| Ok(false))?;
        self.write_found(|entry| absent_is_false(entry.unlink_all(name))).map(drop)
    }

    /// Refuses to unlink a child that is nowhere, that would stay, or that is `kept`.
    fn expect_unlinkable(&self, name: &str, kept: impl Fn(&Entry) -> Result<bool>) -> Result<()> {
        expect_name(name)?;
        self.expect_mounts()?;
        let mut is_there = false;
        let path = child_path(&self.path, name);
        for part in &*self.parts {
            let Some(entry) = part.entry()? else { continue };
            let Some(child) = entry.entry(name)? else { continue };
            if !part.is_writable() {
                return Err(Error::ReadOnly { volume: part.name() });
            }
            if kept(&child)? {
                return Err(Error::NotEmpty { path });
            }
            is_there = true;
        }
        if is_there { Ok(()) } else { Err(Error::NoEntry { path }) }
    }
}

fn absent_is_false(outcome: Result<()>) -> Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(Error::NoEntry { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The part of a property that a volume has.
enum Found<T> {
    Value(T),
    Nothing,
    NoEntry,
}

impl Part {
    /// Reads a property, if the volume has it.
    fn read<T, R: FnOnce(ValueRef<'_>) -> T>(
        &self,
        name: &str,
        read_it: &mut Option<R>,
    ) -> Result<Found<T>> {
        self.with_entry(|entry| {
            let Some(entry) = entry else { return Ok(Found::NoEntry) };
            let found = entry.with_property(name, |value| read_it.take().map(|read| read(value)));
            match found {
                Ok(Some(Some(value))) => Ok(Found::Value(value)),
                Ok(_) => Ok(Found::Nothing),
                // It was unlinked just now.
                Err(Error::Gone { .. }) => Ok(Found::NoEntry),
                Err(error) => Err(error),
            }
        })
    }
}

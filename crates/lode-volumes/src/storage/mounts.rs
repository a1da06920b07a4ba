//! The mounts of a storage.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::handles::entry::Entry;
use crate::handles::volume::Volume;
use crate::name::{is_below, usual_path};

/// The access that a storage has to a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing, unless the volume was opened for reading only.
    #[default]
    Write,
    /// Reading only.
    ReadOnly,
}

/// A volume to mount, and how. See [`Storage`](crate::Storage).
///
/// ```
/// use lode_volumes::{Mount, Storage, Volume};
///
/// let volume = Volume::in_memory()?;
/// volume.create_entry("/app/settings")?;
/// let storage = Storage::new();
/// storage.mount("/settings", Mount::new(&volume).entry("/app/settings").priority(10))?;
/// storage.create_entry("/settings/ui")?;
/// assert!(volume.entry("/app/settings/ui")?.is_some());
/// # Ok::<(), lode_volumes::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mount<'m> {
    volume: &'m Volume,
    entry: &'m str,
    priority: i32,
    access: Access,
}

impl<'m> Mount<'m> {
    /// Mounts the root of the volume, with priority 0, for writing.
    pub fn new(volume: &'m Volume) -> Self {
        Self { volume, entry: "/", priority: 0, access: Access::default() }
    }

    /// Mounts the entry of this path instead of the root.
    #[must_use]
    pub fn entry(mut self, path: &'m str) -> Self {
        self.entry = path;
        self
    }

    /// Sets the priority: the higher, the earlier the volume is asked for a property.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the access that the storage has to the volume.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Finds the entry to mount.
    pub(super) fn open(&self) -> Result<Mounted> {
        let entry_path = usual_path(self.entry)?;
        let top = self.volume.entry(&entry_path)?;
        let top = top.ok_or_else(|| Error::NoEntry { path: entry_path.clone() })?;
        let access = if self.volume.is_read_only() { Access::ReadOnly } else { self.access };
        let volume = self.volume.clone();
        let priority = self.priority;
        Ok(Mounted { volume, entry_path, top, priority, access })
    }
}

/// A volume that is mounted.
#[derive(Clone)]
pub(super) struct Mounted {
    pub volume: Volume,
    entry_path: String,
    pub top: Entry,
    priority: i32,
    pub access: Access,
}

impl Mounted {
    fn is_of(&self, volume: &Volume, entry_path: &str) -> bool {
        std::ptr::eq(self.volume.core(), volume.core()) && self.entry_path == entry_path
    }

    pub(super) fn already(self, path: String) -> Error {
        let volume = self.volume.name().to_string();
        Error::AlreadyMounted { volume, entry: self.entry_path, path }
    }
}

/// The mounts of a storage, by their paths in their usual form; the highest priority first.
#[derive(Default)]
pub(super) struct Mounts {
    by_path: BTreeMap<String, Vec<Mounted>>,
}

impl Mounts {
    pub(super) fn all(&self) -> impl Iterator<Item = &Mounted> {
        self.by_path.values().flatten()
    }

    pub(super) fn count(&self) -> usize {
        self.all().count()
    }

    pub(super) fn find(&self, path: &str, like: &Mounted) -> Option<&Mounted> {
        let at_path = self.by_path.get(path)?;
        at_path.iter().find(|mounted| mounted.is_of(&like.volume, &like.entry_path))
    }

    pub(super) fn add(&mut self, path: String, mounted: Mounted) {
        let at_path = self.by_path.entry(path).or_default();
        let place = at_path.partition_point(|other| other.priority >= mounted.priority);
        at_path.insert(place, mounted);
    }

    pub(super) fn take(&mut self, path: &str, volume: &Volume, entry: &str) -> Option<Mounted> {
        let at_path = self.by_path.get_mut(path)?;
        let place = at_path.iter().position(|mounted| mounted.is_of(volume, entry))?;
        let taken = at_path.remove(place);
        if at_path.is_empty() {
            self.by_path.remove(path);
        }
        Some(taken)
    }

    /// Returns the mounts that count for a path, and the path that they are mounted at.
    pub(super) fn for_path(&self, path: &str) -> Option<(&str, Vec<Mounted>)> {
        let above = self.by_path.iter().filter(|(at, _)| is_below(path, at));
        let (at, mounts) = above.max_by_key(|(at, _)| at.len())?;
        Some((at, mounts.clone()))
    }
}

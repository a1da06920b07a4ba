//! Several volumes as one: storages, mounts and priorities.

mod entry;
mod mounts;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

pub use entry::StorageEntry;
use mounts::Mounts;
pub use mounts::{Access, Mount};

use crate::error::{Error, Result};
use crate::handles::volume::Volume;
use crate::lock::{read, write};
use crate::name::{names_of, usual_path};

/// Volumes that are mounted at paths, and read and written as one tree.
///
/// Several volumes may be mounted at one path, each with a *priority*:
///
/// - A property is read from the volume with the highest priority that has it. Of volumes with the
///   same priority the one that was mounted first comes first.
/// - Children are those of all of them.
/// - A write goes to all that are mounted for writing. An entry that one of them has not is made
///   there. If some fail, [`Error::Partial`] says which have the change.
/// - A volume that was opened or mounted for reading only takes no writes. A write fails for that
///   reason only if all of them are so.
///
/// The mounts of the longest path that a path starts with are those that count for it. A volume can
/// be mounted in one storage at a time, there as often as wanted.
///
/// ```
/// use lode_volumes::{Access, Mount, Storage, Value, Volume};
///
/// let (defaults, user) = (Volume::in_memory()?, Volume::in_memory()?);
/// defaults.create_entry("/ui")?.set("theme", "light")?;
///
/// let storage = Storage::new();
/// storage.mount("/", Mount::new(&user).priority(1))?;
/// storage.mount("/", Mount::new(&defaults).access(Access::ReadOnly))?;
/// let ui = storage.entry("/ui")?.expect("the defaults have it");
/// assert_eq!(ui.property("theme")?, Some(Value::Text("light".into())));
/// ui.set("theme", "dark")?;
/// assert_eq!(ui.property("theme")?, Some(Value::Text("dark".into())));
/// ui.remove_property("theme")?;
/// assert_eq!(ui.property("theme")?, Some(Value::Text("light".into())));
/// # Ok::<(), lode_volumes::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Storage {
    inner: Arc<Inner>,
}

/// The parts that handles of a storage share.
pub(crate) struct Inner {
    /// The number by which volumes know the storage.
    token: u64,
    mounts: RwLock<Mounts>,
    /// The number of times that volumes were mounted or unmounted.
    version: AtomicU64,
}

impl Default for Inner {
    fn default() -> Self {
        static TOKENS: AtomicU64 = AtomicU64::new(1);
        Self {
            token: TOKENS.fetch_add(1, Ordering::Relaxed),
            mounts: RwLock::default(),
            version: AtomicU64::new(0),
        }
    }
}

impl Inner {
    fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    fn have_changed(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mounts = self.mounts.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        mounts.all().for_each(|mounted| mounted.volume.core().release(self.token));
    }
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage").field("mounts", &read(&self.inner.mounts).count()).finish()
    }
}

impl Storage {
    /// Makes a storage in which nothing is mounted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Mounts a volume, or an entry of it, at a path.
    ///
    /// # Errors
    /// `InvalidName`; `NoEntry` when the volume has not the entry that is to be mounted; `Claimed`;
    /// `AlreadyMounted`; and as [every operation](crate::Entry#errors).
    pub fn mount(&self, path: &str, mount: Mount<'_>) -> Result<()> {
        let path = usual_path(path)?;
        let mounted = mount.open()?;
        let mut mounts = write(&self.inner.mounts);
        if mounts.find(&path, &mounted).is_some() {
            return Err(mounted.already(path));
        }
        mounted.volume.core().claim(self.inner.token)?;
        mounts.add(path, mounted);
        self.inner.have_changed();
        Ok(())
    }

    /// Takes a volume, of which the entry of a path was mounted, out again.
    ///
    /// # Errors
    /// `InvalidName`; `NotMounted`.
    pub fn unmount(&self, path: &str, volume: &Volume, entry: &str) -> Result<()> {
        let path = usual_path(path)?;
        let entry = usual_path(entry)?;
        let mut mounts = write(&self.inner.mounts);
        let taken = mounts.take(&path, volume, &entry);
        let taken = taken.ok_or(Error::NotMounted { path })?;
        taken.volume.core().release(self.inner.token);
        self.inner.have_changed();
        Ok(())
    }

    /// Returns the entry under a path; `None` if no volume that is mounted there has it.
    ///
    /// # Errors
    /// `InvalidName`; `NotMounted` when no volume is mounted at the path or above it; and as [every
    /// operation](crate::Entry#errors).
    pub fn entry(&self, path: &str) -> Result<Option<StorageEntry>> {
        let entry = self.entry_or_place(path)?;
        Ok(entry.is_there()?.then_some(entry))
    }

    /// Returns the entry under a path. Links it in the volumes mounted for writing if it is not
    /// there, and those on the way.
    ///
    /// # Errors
    /// As [`entry`](Self::entry), and those of [writing](StorageEntry#errors).
    pub fn create_entry(&self, path: &str) -> Result<StorageEntry> {
        let entry = self.entry_or_place(path)?;
        entry.make()?;
        Ok(entry)
    }

    fn entry_or_place(&self, path: &str) -> Result<StorageEntry> {
        names_of(path)?;
        let path = usual_path(path)?;
        let mounts = read(&self.inner.mounts);
        let version = self.inner.version();
        let found = mounts.for_path(&path);
        let (at, parts) = found.ok_or_else(|| Error::NotMounted { path: path.clone() })?;
        let rest = path[if at == "/" { 0 } else { at.len() }..].to_string();
        Ok(StorageEntry::new(Arc::clone(&self.inner), version, path.clone(), rest, parts))
    }
}

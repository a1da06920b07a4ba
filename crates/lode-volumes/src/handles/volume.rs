//! Handles of volumes, and how they are opened.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use lode::Durability;

use crate::core::Core;
use crate::error::{Error, Result};
use crate::handles::batch::Batch;
use crate::handles::entry::Entry;
use crate::handles::shared::Shared;
use crate::handles::snapshot::Snapshot;
use crate::name::usual_path;
use crate::options::Options;
use crate::watch::{Event, Watch, Watching};

/// A volume: a tree of entries with typed properties, in a database of its own. Handles are cheap
/// to clone, and may be used by any number of threads.
///
/// ```
/// use lode_volumes::{Value, Volume};
///
/// let volume = Volume::in_memory()?;
/// let ui = volume.create_entry("/app/ui")?;
/// ui.set("theme", "dark")?;
///
/// let found = volume.entry("/app/ui")?.expect("it was created");
/// assert_eq!(found.property("theme")?, Some(Value::Text("dark".into())));
/// assert!(volume.entry("/app/none")?.is_none());
/// # Ok::<(), lode_volumes::Error>(())
/// ```
#[derive(Clone)]
pub struct Volume {
    shared: Arc<Shared>,
}

impl fmt::Debug for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Volume").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

impl Volume {
    fn start(core: Core, options: &Options) -> Result<Self> {
        let shared = Shared::start(core, options.sweep_interval)?;
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(crate) fn core(&self) -> &Core {
        &self.shared
    }

    /// Makes a volume that lives as long as its handles, with the default [`Options`].
    ///
    /// # Errors
    /// As [`Options::in_memory`].
    pub fn in_memory() -> Result<Self> {
        Options::new().in_memory()
    }

    /// Opens the volume in a directory, with the default [`Options`]; makes one if the directory is
    /// not there or empty.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    /// Returns the volume's name in errors.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns true if the volume was opened to be read only.
    pub fn is_read_only(&self) -> bool {
        self.shared.is_read_only()
    }

    /// Returns the entry that all others are below. It has no name, and cannot be unlinked.
    pub fn root(&self) -> Entry {
        Entry::new(Arc::clone(&self.shared), Arc::clone(self.shared.registry.root()))
    }

    /// Returns the entry under a path, such as `/a/b`; `None` if it is missing.
    ///
    /// # Errors
    /// As [every operation](Entry#errors).
    pub fn entry(&self, path: &str) -> Result<Option<Entry>> {
        self.root().entry(path)
    }

    /// Returns the entry under a path. Links it if it is not there, and those on the way.
    ///
    /// # Errors
    /// As [every write](Entry#errors).
    pub fn create_entry(&self, path: &str) -> Result<Entry> {
        self.root().create_entry(path)
    }

    /// Changes several properties, all of them or none. See [`Batch`].
    ///
    /// # Errors
    /// The error of `work`; `Conflict`; and as [every write](Entry#errors).
    pub fn update<T, E: From<Error>>(
        &self,
        work: impl FnMut(&Batch<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.shared.update(work)
    }

    /// Takes a snapshot of the whole tree as it is now.
    ///
    /// # Errors
    /// The errors of the database.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.shared.expect_here()?;
        Snapshot::take(&self.shared)
    }

    /// Watches the entry under a path, and all below it, for changes from now on. The entry need
    /// not be there yet. See [`Event`].
    ///
    /// # Errors
    /// `InvalidName`; [`lode::Error::Forked`].
    pub fn watch(&self, path: &str) -> Result<Watch> {
        self.shared.expect_here()?;
        Ok(self.shared.watchers.watch(usual_path(path)?))
    }

    /// Calls `callback` for each such change, one after another, in a thread of its own.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use lode_volumes::{Volume, What};
    ///
    /// let volume = Volume::in_memory()?;
    /// let (sender, receiver) = channel();
    /// let watching = volume.watch_with("/", move |event| drop(sender.send(event.what)))?;
    /// volume.root().set("theme", "dark")?;
    /// assert_eq!(receiver.recv(), Ok(What::Set { name: "theme".into() }));
    /// drop(watching);
    /// # Ok::<(), lode_volumes::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`watch`](Self::watch); `Stream` when the system has no thread.
    pub fn watch_with(
        &self,
        path: &str,
        callback: impl FnMut(Event) + Send + 'static,
    ) -> Result<Watching> {
        Watching::start(self.watch(path)?, callback)
            .map_err(|error| Error::stream("start a thread", error))
    }

    /// Removes all properties that have expired, as the background does every now and then, and
    /// deletes what is left of unlinked entries. Returns the number of properties.
    ///
    /// # Errors
    /// The errors of the database.
    pub fn sweep(&self) -> Result<u64> {
        self.shared.sweep()
    }

    /// Makes everything durable that was done before, whatever the level.
    ///
    /// # Errors
    /// As [`lode::Database::flush`].
    pub fn flush(&self) -> Result<()> {
        self.shared.catch_up()?;
        Ok(self.shared.database.flush()?)
    }

    /// Closes the volume: all that was done is in its files then, whatever the level. Other handles
    /// return [`lode::Error::Closed`] from then on, except for what they have in memory. Letting go
    /// of the last handle closes it too, but does not say whether that went well.
    ///
    /// # Errors
    /// As [`lode::Database::close`]. It is closed all the same.
    pub fn close(self) -> Result<()> {
        self.shared.close()
    }
}

/// Returns the name of a volume in a directory.
fn name_of(directory: &Path) -> String {
    directory.display().to_string()
}

impl Options {
    /// Makes a volume that lives as long as its handles.
    ///
    /// # Errors
    /// As [`lode::Options::in_memory`].
    pub fn in_memory(&self) -> Result<Volume> {
        let database = self.lode().in_memory()?;
        let options = Self { durability: Durability::None, ..self.clone() };
        Volume::start(Core::writable(database, "memory".into(), &options)?, &options)
    }

    /// Opens the volume in a directory; makes one if the directory is not there or empty.
    ///
    /// # Errors
    /// `NotAVolume` when there is a database of another kind; `Layout`; and as
    /// [`lode::Options::open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Volume> {
        let database = self.lode().open(path.as_ref())?;
        Volume::start(Core::writable(database, name_of(path.as_ref()), self)?, self)
    }

    /// Opens the volume in a directory, which has to be there.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`lode::Error::NoDatabase`] when the directory has none.
    pub fn open_existing(&self, path: impl AsRef<Path>) -> Result<Volume> {
        let database = self.lode().open_existing(path.as_ref())?;
        Volume::start(Core::writable(database, name_of(path.as_ref()), self)?, self)
    }

    /// Opens the volume in a directory, to read it only. Any number of users may have it open so at
    /// the same time, if none has it open for writing.
    ///
    /// # Errors
    /// `NotAVolume`, `Layout`; and as [`lode::Options::open_read_only`].
    pub fn open_read_only(&self, path: impl AsRef<Path>) -> Result<Volume> {
        let database = self.lode().open_read_only(path.as_ref())?;
        Volume::start(Core::read_only(database, name_of(path.as_ref()), self)?, self)
    }
}

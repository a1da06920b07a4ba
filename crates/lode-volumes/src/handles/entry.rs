//! Handles of entries.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::core::Core;
use crate::core::links::{Extent, Move};
use crate::error::{Error, Result};
use crate::handles::listing::{Links, Properties};
use crate::handles::shared::Shared;
use crate::handles::snapshot::{Snapshot, Walk};
use crate::open::node::{Node, State};
use crate::value::{Value, ValueRef, to_value};

/// An entry of a volume: properties, and children under names. Handles are cheap to clone, may be
/// used by any number of threads, and are all of one object in memory.
///
/// Names of children and properties are UTF-8 of 1 to 255 bytes, without `/`, and neither `.` nor
/// `..`; they are compared byte by byte. A handle of an entry that was unlinked returns
/// [`Gone`](Error::Gone).
///
/// ```
/// use lode_volumes::{Value, Volume};
///
/// let volume = Volume::in_memory()?;
/// let ui = volume.root().link("ui")?;
/// ui.set("theme", "dark")?;
/// ui.set("scale", 1.5f64)?;
/// assert_eq!(ui.property("theme")?, Some(Value::Text("dark".into())));
///
/// let names: Vec<String> = ui.property_names()?;
/// assert_eq!(names, ["scale", "theme"]);
/// assert!(ui.remove_property("scale")? && !ui.has_property("scale")?);
/// # Ok::<(), lode_volumes::Error>(())
/// ```
///
/// # Errors
/// All operations can return `Gone`, `Corrupt`, `InvalidName`, and what the database says; those
/// that write also `ReadOnly`.
#[derive(Clone)]
pub struct Entry {
    shared: Arc<Shared>,
    node: Arc<Node>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let volume = &self.core().name;
        let path = self.node.path();
        f.debug_struct("Entry").field("volume", volume).field("path", &path).finish()
    }
}

impl PartialEq for Entry {
    /// Returns true if both are of the same entry of the same opened volume.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.core(), other.core()) && self.node.id == other.node.id
    }
}

impl Eq for Entry {}

impl Entry {
    pub(crate) fn new(shared: Arc<Shared>, node: Arc<Node>) -> Self {
        Self { shared, node }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.shared
    }

    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    fn handle(&self, node: Arc<Node>) -> Self {
        Self::new(Arc::clone(&self.shared), node)
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.node.state() == State::Gone
    }

    /// Returns the entry's path in the volume.
    ///
    /// # Errors
    /// `Gone`.
    pub fn path(&self) -> Result<String> {
        self.core().expect_linked(&self.node)?;
        Ok(self.core().path_of(&self.node))
    }

    /// Sets a property, whether it is there or not. It does not expire then. When this returns, it
    /// is as durable as the volume's level says.
    ///
    /// # Errors
    /// `ValueTooLong`, and [those of every write](Self#errors).
    pub fn set<'v>(&self, name: &str, value: impl Into<ValueRef<'v>>) -> Result<()> {
        self.core().set(&self.node, name, value.into())
    }

    /// Returns a copy of a property; `None` if the property is missing.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn property(&self, name: &str) -> Result<Option<Value>> {
        self.with_property(name, to_value)
    }

    /// Lends a property to `read`, and returns what that returns; `None` if there is no such
    /// property. It allocates nothing, and threads that read do not wait for each other.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    #[inline]
    pub fn with_property<T>(
        &self,
        name: &str,
        read: impl FnOnce(ValueRef<'_>) -> T,
    ) -> Result<Option<T>> {
        self.core().read_property(&self.node, name, read)
    }

    /// Returns true if the entry has the property.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn has_property(&self, name: &str) -> Result<bool> {
        self.with_property(name, |_| ()).map(|found| found.is_some())
    }

    /// Removes a property; returns false if the property is missing.
    ///
    /// # Errors
    /// [The errors of every write](Self#errors).
    pub fn remove_property(&self, name: &str) -> Result<bool> {
        self.core().remove(&self.node, name)
    }

    /// Sets a property to what `change` makes of it, or removes it if that is `None`; no other
    /// change of the property comes between. It does not expire then. Returns what it is now.
    ///
    /// `change` is called again if another thread was first.
    ///
    /// ```
    /// use lode_volumes::{Value, Volume};
    ///
    /// let root = Volume::in_memory()?.root();
    /// for _ in 0..3 {
    ///     root.change_property("visits", |visits| match visits {
    ///         Some(Value::U64(count)) => Some(Value::U64(count + 1)),
    ///         _ => Some(Value::U64(1)),
    ///     })?;
    /// }
    /// assert_eq!(root.property("visits")?, Some(Value::U64(3)));
    /// # Ok::<(), lode_volumes::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ValueTooLong`, and [those of every write](Self#errors).
    pub fn change_property(
        &self,
        name: &str,
        mut change: impl FnMut(Option<Value>) -> Option<Value>,
    ) -> Result<Option<Value>> {
        loop {
            self.core().expect_linked(&self.node)?;
            let (value, seen) = self.core().see_value(&self.node, name)?;
            let value = change(value);
            let wanted = value.as_ref().map(Value::as_ref);
            if self.core().replace(&self.node, name, &seen, wanted)? {
                return Ok(value);
            }
        }
    }

    /// Returns all properties as they are now, in the order of their names' bytes.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn properties(&self) -> Result<Properties> {
        self.core().expect_linked(&self.node)?;
        self.core().catch_up()?;
        Ok(Properties::new(self.shared.core(), None, self.node.id, self.core().time.now()))
    }

    /// Returns the names of all properties, in the order of their bytes.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn property_names(&self) -> Result<Vec<String>> {
        self.properties()?.names()
    }

    /// Lets a property expire after a time, to the microsecond; returns false if it is missing.
    /// From then on no one sees it, also after the volume was opened again, or the clock was set
    /// back. After a crash too, what a reader has found expired is gone, if the volume's level
    /// keeps what was set before. (Readers of a volume that was opened to be read only write
    /// nothing.)
    ///
    /// ```
    /// use std::time::Duration;
    /// use lode_volumes::Volume;
    ///
    /// let root = Volume::in_memory()?.root();
    /// root.set("token", "abc")?;
    /// assert!(root.expire_property("token", Duration::from_secs(3600))?);
    /// assert!(root.cancel_expiration("token")?);
    /// root.expire_property("token", Duration::ZERO)?;
    /// assert!(!root.has_property("token")?);
    /// # Ok::<(), lode_volumes::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ExpiryTooFar`, and [those of every write](Self#errors).
    pub fn expire_property(&self, name: &str, after: Duration) -> Result<bool> {
        self.core().expire(&self.node, name, Some(after))
    }

    /// Lets a property stay that would have expired; returns false if it is missing.
    ///
    /// # Errors
    /// [The errors of every write](Self#errors).
    pub fn cancel_expiration(&self, name: &str) -> Result<bool> {
        self.core().expire(&self.node, name, None)
    }

    /// Links a new entry, without properties, below this one.
    ///
    /// # Errors
    /// `NameTaken`, and [those of every write](Self#errors).
    pub fn link(&self, name: &str) -> Result<Self> {
        self.core().link(&self.node, name).map(|node| self.handle(node))
    }

    /// Unlinks a child, with its properties. Handles of it return `Gone` from then on.
    ///
    /// # Errors
    /// `NoEntry`; `NotEmpty` when the child has children; and [those of every write](Self#errors).
    /// If deleting what the child had fails after it was unlinked, that is returned, too; the
    /// deletion continues later.
    pub fn unlink(&self, name: &str) -> Result<()> {
        self.core().unlink(&self.node, name, Extent::Entry)
    }

    /// Unlinks a child and all below it. They are gone at once. Deleting what they had takes as
    /// many steps of bounded size as it needs; after a crash between them, it continues when the
    /// volume is opened again.
    ///
    /// ```
    /// use lode_volumes::{Error, Volume};
    ///
    /// let volume = Volume::in_memory()?;
    /// let leaf = volume.create_entry("/a/b/c")?;
    /// assert!(matches!(volume.root().unlink("a"), Err(Error::NotEmpty { .. })));
    /// volume.root().unlink_all("a")?;
    /// assert!(matches!(leaf.set("x", 1u8), Err(Error::Gone { .. })));
    /// # Ok::<(), lode_volumes::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NoEntry`, and as [`unlink`](Self::unlink).
    pub fn unlink_all(&self, name: &str) -> Result<()> {
        self.core().unlink(&self.node, name, Extent::Subtree)
    }

    /// Moves a child, with all below it, to another name below another entry, or this one. Handles
    /// stay what they are.
    ///
    /// # Errors
    /// `NoEntry`; `NameTaken`; `IntoItself` when `to` is the child or below it; `OtherVolume`; and
    /// [those of every write](Self#errors).
    pub fn rename(&self, name: &str, to: &Self, new_name: &str) -> Result<()> {
        if !std::ptr::eq(self.core(), to.core()) {
            let found = to.core().name.clone();
            let expected = self.core().name.clone();
            return Err(Error::OtherVolume { found, expected });
        }
        self.core().rename(&Move { from: &self.node, name, to: &to.node, new_name })
    }

    /// Returns the entry under a path from here; `None` if it is missing. An empty path is this
    /// entry.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn entry(&self, path: &str) -> Result<Option<Self>> {
        Ok(self.core().lookup(&self.node, path)?.map(|node| self.handle(node)))
    }

    /// Returns the entry under a path from here. Links it if it is not there, and those on the way.
    ///
    /// # Errors
    /// [The errors of every write](Self#errors).
    pub fn create_entry(&self, path: &str) -> Result<Self> {
        self.core().make(&self.node, path).map(|node| self.handle(node))
    }

    /// Returns the names of the children as they are now, in the order of their bytes.
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn links(&self) -> Result<Links> {
        self.links_with_prefix("")
    }

    pub(crate) fn has_links(&self) -> Result<bool> {
        self.links()?.next().transpose().map(|first| first.is_some())
    }

    /// Returns the names of the children that start with a prefix, in the order of their bytes.
    ///
    /// ```
    /// use lode_volumes::{Result, Volume};
    ///
    /// let root = Volume::in_memory()?.root();
    /// for name in ["alpha", "beta", "bern", "gamma"] {
    ///     root.link(name)?;
    /// }
    /// let names: Result<Vec<_>> = root.links_with_prefix("be")?.collect();
    /// assert_eq!(names?, ["bern", "beta"]);
    /// # Ok::<(), lode_volumes::Error>(())
    /// ```
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn links_with_prefix(&self, prefix: &str) -> Result<Links> {
        self.core().expect_linked(&self.node)?;
        Ok(Links::new(self.core(), None, self.node.id, prefix))
    }

    /// Walks over this entry and all below it, at one moment. See [`Walk`].
    ///
    /// # Errors
    /// [The errors of every operation](Self#errors).
    pub fn walk(&self) -> Result<Walk> {
        let snapshot = Snapshot::take(&self.shared)?;
        // The path shows if the entry is gone, after the moment at which the walk reads.
        Ok(snapshot.at(self.node.id, self.path()?).walk())
    }
}

//! A volume as it was at one moment.

use std::sync::Arc;

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::handles::listing::{Links, Properties};
use crate::handles::shared::Shared;
use crate::name::{child_path, names_of, usual_path};
use crate::tables::{Id, ROOT};
use crate::value::Value;

/// A volume as it was at one moment, for as long as it is kept. Clones are cheap.
///
/// ```
/// use lode_volumes::{Value, Volume};
///
/// let volume = Volume::in_memory()?;
/// volume.create_entry("/a")?.set("x", 1u8)?;
/// let before = volume.snapshot()?;
/// volume.create_entry("/a")?.set("x", 2u8)?;
/// volume.root().unlink("a")?;
///
/// let a = before.entry("/a")?.expect("it was there");
/// assert_eq!(a.property("x")?, Some(Value::U8(1)));
/// # Ok::<(), lode_volumes::Error>(())
/// ```
///
/// # Errors
/// Reading returns what the database says; that is
/// [`SnapshotTooOld`](lode::Error::SnapshotTooOld) when so much has changed since that the memory
/// does not suffice.
#[derive(Clone)]
pub struct Snapshot {
    held: Arc<Held>,
}

struct Held {
    shared: Arc<Shared>,
    snapshot: lode::Snapshot,
    now: Moment,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let volume = &self.held.shared.name;
        f.debug_struct("Snapshot").field("volume", volume).finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn take(shared: &Arc<Shared>) -> Result<Self> {
        let snapshot = shared.late.snapshot(&shared.database, &shared.tables)?;
        let now = shared.time.now();
        Ok(Self { held: Arc::new(Held { shared: Arc::clone(shared), snapshot, now }) })
    }

    /// Returns an entry that was there.
    pub(crate) fn at(&self, id: Id, path: String) -> EntryAt {
        EntryAt { snapshot: self.clone(), id, path, depth: 0 }
    }

    /// Returns the entry that all others are below.
    pub fn root(&self) -> EntryAt {
        self.at(ROOT, "/".into())
    }

    /// Returns the entry under a path; `None` if it was missing.
    ///
    /// # Errors
    /// `InvalidName`, and [those of reading](Self#errors).
    pub fn entry(&self, path: &str) -> Result<Option<EntryAt>> {
        let tables = &self.held.shared.tables;
        let mut id = ROOT;
        let view = tables.entries.at(&self.held.snapshot);
        for name in names_of(path)? {
            match tables.child(&view, id, name)? {
                Some(child) => id = child,
                None => return Ok(None),
            }
        }
        Ok(Some(self.at(id, usual_path(path)?)))
    }
}

/// An entry as it was at the moment of a [`Snapshot`].
#[derive(Clone, Debug)]
pub struct EntryAt {
    snapshot: Snapshot,
    id: Id,
    path: String,
    depth: usize,
}

impl EntryAt {
    fn held(&self) -> &Held {
        &self.snapshot.held
    }

    /// Returns the entry's path in the volume.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns how many levels the entry is below the start of a walk; 0 outside of walks.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns a property; `None` if it was missing.
    ///
    /// # Errors
    /// `InvalidName`, and [those of reading](Snapshot#errors).
    pub fn property(&self, name: &str) -> Result<Option<Value>> {
        use lode::ReadTable;
        crate::name::expect_name(name)?;
        let core = &self.held().shared;
        let mut payload = Vec::new();
        let key = core.tables.property_key(self.id, name)?;
        let view = core.tables.properties.at(&self.held().snapshot);
        if !view.get_into(&key, &mut payload)? {
            return Ok(None);
        }
        let stored = core.unpack(&payload, name)?;
        let has_expired = core.has_expired_at(stored.expires, self.held().now);
        Ok((!has_expired).then(|| stored.value.to_value()))
    }

    /// Returns all properties, in the order of their names' bytes.
    pub fn properties(&self) -> Properties {
        let Held { shared, snapshot, now } = self.held();
        Properties::new(shared.core(), Some(snapshot), self.id, *now)
    }

    /// Returns the names of the children, in the order of their bytes.
    pub fn links(&self) -> Links {
        let Held { shared, snapshot, .. } = self.held();
        Links::new(shared, Some(snapshot), self.id, "")
    }

    /// Walks over this entry and all below it. See [`Walk`].
    pub fn walk(&self) -> Walk {
        Walk { next: Some(Self { depth: 0, ..self.clone() }), parents: Vec::new() }
    }
}

/// An entry and all below it: each comes before its children, and these in the order of their
/// names' bytes. See [`Entry::walk`](crate::Entry::walk).
///
/// The walk keeps a cursor for each level that it is below the first entry.
///
/// ```
/// use lode_volumes::Volume;
///
/// let volume = Volume::in_memory()?;
/// for path in ["/b", "/a/y", "/a/x"] {
///     volume.create_entry(path)?;
/// }
/// let mut paths = Vec::new();
/// for entry in volume.root().walk()? {
///     paths.push(entry?.path().to_string());
/// }
/// assert_eq!(paths, ["/", "/a", "/a/x", "/a/y", "/b"]);
/// # Ok::<(), lode_volumes::Error>(())
/// ```
pub struct Walk {
    next: Option<EntryAt>,
    parents: Vec<(lode::Cursor, EntryAt)>,
}

impl Walk {
    fn next_child(&mut self) -> Result<Option<EntryAt>> {
        while let Some((children, parent)) = self.parents.last_mut() {
            if let Some(row) = children.next_row()? {
                let (name, id) = parent.held().shared.tables.entry_of(&row);
                return Ok(Some(EntryAt {
                    snapshot: parent.snapshot.clone(),
                    id,
                    path: child_path(&parent.path, name),
                    depth: parent.depth + 1,
                }));
            }
            self.parents.pop();
        }
        Ok(None)
    }
}

impl Iterator for Walk {
    type Item = Result<EntryAt, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = match self.next.take() {
            Some(first) => first,
            None => match self.next_child() {
                Ok(child) => child?,
                Err(error) => {
                    self.parents.clear();
                    return Some(Err(error));
                }
            },
        };
        let Held { shared, snapshot, .. } = entry.held();
        let children = shared.tables.children(Some(snapshot), entry.id, "");
        self.parents.push((children, entry.clone()));
        Some(Ok(entry))
    }
}

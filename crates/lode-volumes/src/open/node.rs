//! Open entries: one object for each, which all handles share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, RwLock};

use crate::lock::{read, write};
use crate::name::path_of_names;
use crate::open::cells::Cells;
use crate::tables::{Id, ROOT};

/// An open entry.
pub(crate) struct Node {
    pub id: Id,
    place: RwLock<Option<Place>>,
    state: AtomicU8,
    /// True if the table may have children, or properties, of it. One linked just now has none.
    has_children: AtomicBool,
    has_properties: AtomicBool,
    /// Shared by those who link children, held alone by the one who unlinks the entry.
    pub children: RwLock<()>,
    pub cells: Cells,
}

/// The place of an entry; the root and a removed entry have no place.
#[derive(Clone)]
pub(crate) struct Place {
    pub parent: Arc<Node>,
    pub name: Box<str>,
}

/// The state of an entry in the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    Linked,
    /// An entry that is being unlinked, which may fail.
    Leaving,
    Gone,
}

impl Node {
    /// Makes an entry of which the table may have anything.
    pub(crate) fn new(id: Id, place: Option<Place>) -> Self {
        Self::with(id, place, true)
    }

    /// Makes an entry that has no children and no properties.
    pub(crate) fn new_empty(id: Id, place: Place) -> Self {
        Self::with(id, Some(place), false)
    }

    fn with(id: Id, place: Option<Place>, has_anything: bool) -> Self {
        Self {
            has_children: AtomicBool::new(has_anything),
            has_properties: AtomicBool::new(has_anything),
            id,
            place: RwLock::new(place),
            state: AtomicU8::new(State::Linked as u8),
            children: RwLock::new(()),
            cells: Cells::new(),
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        match self.state.load(Ordering::SeqCst) {
            0 => State::Linked,
            1 => State::Leaving,
            _ => State::Gone,
        }
    }

    /// Sets the state. The caller holds `children`.
    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    /// Notes that the entry may get a child. The caller holds `children`.
    pub(crate) fn note_children(&self) {
        if !self.has_children.load(Ordering::SeqCst) {
            self.has_children.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn may_have_children(&self) -> bool {
        self.has_children.load(Ordering::SeqCst)
    }

    /// Notes that the entry may get a property. The caller holds the lock of a cell.
    pub(crate) fn note_properties(&self) {
        if !self.has_properties.load(Ordering::SeqCst) {
            self.has_properties.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn may_have_properties(&self) -> bool {
        self.has_properties.load(Ordering::SeqCst)
    }

    /// Waits until the thread that is unlinking it is done.
    pub(crate) fn wait_for_unlink(&self) {
        drop(read(&self.children));
    }

    pub(crate) fn is_root(&self) -> bool {
        self.id == ROOT
    }

    pub(crate) fn place(&self) -> Option<Place> {
        read(&self.place).clone()
    }

    pub(crate) fn is_at(&self, parent: &Arc<Node>, name: &str) -> bool {
        let place = read(&self.place);
        place.as_ref().is_some_and(|at| Arc::ptr_eq(&at.parent, parent) && *at.name == *name)
    }

    /// Moves the entry. The caller holds the volume's structure lock.
    pub(crate) fn move_to(&self, place: Place) {
        // The old place may be the last to hold its parent: it is dropped without the lock.
        drop(write(&self.place).replace(place));
    }

    fn parent(&self) -> Option<Arc<Self>> {
        #[cfg(test)]
        crate::counted::step();
        read(&self.place).as_ref().map(|place| Arc::clone(&place.parent))
    }

    /// Returns true if the entry is `ancestor` or below it.
    pub(crate) fn is_within(self: &Arc<Self>, ancestor: Id) -> bool {
        Below::new(ancestor).has(self)
    }

    /// Returns the entry's path.
    pub(crate) fn path(&self) -> String {
        let mut names = Vec::new();
        let mut next = self.place();
        while let Some(Place { parent, name }) = next {
            next = parent.place();
            names.push(name);
        }
        path_of_names(names.iter().rev().map(|name| &**name))
    }
}

/// A check of which entries are an ancestor or below it, while no entry is moved. Each entry is
/// looked at once.
pub(crate) struct Below {
    known: HashMap<Id, bool>,
}

impl Below {
    pub(crate) fn new(ancestor: Id) -> Self {
        Self { known: HashMap::from([(ancestor, true)]) }
    }

    pub(crate) fn has(&mut self, node: &Arc<Node>) -> bool {
        let mut way = Vec::new();
        let mut next = Some(Arc::clone(node));
        let is_below = loop {
            let Some(node) = next else { break false };
            if let Some(known) = self.known.get(&node.id) {
                break *known;
            }
            way.push(node.id);
            next = node.parent();
        };
        self.known.extend(way.into_iter().map(|id| (id, is_below)));
        is_below
    }
}

impl Drop for Node {
    /// Entries hold their parents. A long chain of them is dropped one after another, not one
    /// inside the other.
    fn drop(&mut self) {
        let take = |place: &mut RwLock<Option<Place>>| {
            let place = place.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            place.take().map(|place| place.parent)
        };
        let mut next = take(&mut self.place);
        while let Some(parent) = next {
            next = Arc::into_inner(parent).and_then(|mut parent| take(&mut parent.place));
        }
    }
}

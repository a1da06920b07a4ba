//! The properties of an entry that is open, as objects in memory: found by name without a lookup
//! in the table, and read without a write to memory that others read.
//!
//! A *cell* is a property, or the knowledge that the property is missing. A thread that changes the
//! property holds the cell's lock, so the table and the cell change in the same order. A *detached*
//! cell is of no more use to writers: the table, or another cell, has the property. Readers may
//! still see what it was when they started.

use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use xxhash_rust::xxh3::xxh3_64;

use crate::clock::Moment;
use crate::lock::{lock, try_lock};
use crate::open::kept::{Content, Kept, Version};
use crate::value::ValueRef;

/// The most cells of an entry.
const MOST_CELLS: usize = 256;

/// A property of an open entry.
pub(crate) struct Cell {
    hash: u64,
    pub name: Box<str>,
    /// The key in the table.
    pub key: Box<[u8]>,
    kept: Kept,
    held: Mutex<Held>,
}

/// The part of a cell that only the holder of its lock sees.
pub(crate) struct Held {
    pub detached: bool,
    /// True if the table does not have what the cell has.
    pub dirty: bool,
    /// Values of at most as many bytes take up no more room in the table; `None` if the table has
    /// no such property.
    pub room_bytes: Option<usize>,
}

/// A change of the number of bytes kept.
pub(crate) type Growth = isize;

impl Cell {
    pub(crate) fn new(name: &str, key: Vec<u8>, found: Option<(ValueRef<'_>, Moment)>) -> Self {
        let content = match found {
            None => Content::Absent,
            Some((value, expires)) => Content::of(value, expires),
        };
        let room_bytes = found.map(|(value, _)| value.size_bytes());
        Self {
            hash: hash_of(name),
            name: name.into(),
            key: key.into(),
            kept: Kept::new(content),
            held: Mutex::new(Held { detached: false, dirty: false, room_bytes }),
        }
    }

    /// Waits until no other thread changes it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }

    /// Lets `read` see what it is now.
    #[inline]
    pub(crate) fn read<T>(&self, read: impl FnOnce(Content<'_>) -> T) -> T {
        self.kept.read(read).0
    }

    /// Returns the moment at which the property expires; `None` if it never does.
    pub(crate) fn expires(&self) -> Option<Moment> {
        self.kept.expires()
    }

    /// Lets `read` see what it is now, to be compared with what it is later.
    pub(crate) fn see<T>(self: &Arc<Self>, read: impl FnOnce(Content<'_>) -> T) -> (T, Seen) {
        let (done, version) = self.kept.read(read);
        (done, Seen { cell: Arc::clone(self), version })
    }

    /// Replaces it; by the holder of the lock.
    pub(crate) fn store(&self, _held: &mut Held, content: Content<'_>) -> Growth {
        let before = self.kept.size_bytes() as Growth;
        self.kept.change(content);
        self.kept.size_bytes() as Growth - before
    }

    /// Lets it expire at another moment; by the holder of the lock.
    pub(crate) fn set_expires(&self, _held: &mut Held, expires: Moment) {
        self.kept.set_expires(expires);
    }

    /// Returns about how many bytes the cell keeps.
    pub(crate) fn size_bytes(&self) -> usize {
        self.kept.size_bytes() + self.name.len() + self.key.len() + size_of::<Self>()
    }
}

/// A property as it was once.
pub(crate) struct Seen {
    cell: Arc<Cell>,
    version: Version,
}

impl Seen {
    /// Returns true if a cell is still what was seen.
    pub(crate) fn is_now(&self, cell: &Arc<Cell>) -> bool {
        Arc::ptr_eq(&self.cell, cell) && cell.kept.is_of(self.version)
    }
}

fn hash_of(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

/// The cells of an entry. Readers see a map that never changes; a new cell comes with a new map.
pub(crate) struct Cells {
    map: ArcSwap<Map>,
    /// A lock that is held while the map is replaced.
    change: Mutex<()>,
}

/// An open-addressing hash table, at most half full.
#[derive(Default)]
struct Map {
    places: Box<[Option<Arc<Cell>>]>,
    count: usize,
}

impl Map {
    fn find(&self, name: &str) -> Option<&Arc<Cell>> {
        let hash = hash_of(name);
        let mut at = self.first_place(hash)?;
        loop {
            let cell = self.places[at].as_ref()?;
            if cell.hash == hash && *cell.name == *name {
                return Some(cell);
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    fn first_place(&self, hash: u64) -> Option<usize> {
        let mask = self.places.len().checked_sub(1)?;
        Some(hash as usize & mask)
    }

    fn of(cells: &[Arc<Cell>]) -> Self {
        let mut places = vec![None; (cells.len() * 2).next_power_of_two()].into_boxed_slice();
        let mask = places.len() - 1;
        for cell in cells {
            let mut at = cell.hash as usize & mask;
            while places[at].is_some() {
                at = (at + 1) & mask;
            }
            places[at] = Some(Arc::clone(cell));
        }
        Self { places, count: cells.len() }
    }

    fn cells(&self) -> impl Iterator<Item = &Arc<Cell>> {
        self.places.iter().flatten()
    }
}

impl Cells {
    pub(crate) fn new() -> Self {
        Self { map: ArcSwap::default(), change: Mutex::new(()) }
    }

    /// Lends the cell of a name to `work`, if there is one.
    #[inline]
    pub(crate) fn with<T>(&self, name: &str, work: impl FnOnce(&Arc<Cell>) -> T) -> Option<T> {
        let map = self.map.load();
        map.find(name).map(work)
    }

    /// Returns the cell of a name, and adds the one that `make` makes if it is missing. Nothing
    /// changes the property during the call. Returns how many bytes more are kept, too.
    pub(crate) fn find_or_add<E>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Cell, E>,
    ) -> Result<(Arc<Cell>, Growth), E> {
        let _change = lock(&self.change);
        let map = self.map.load();
        if let Some(cell) = map.find(name) {
            return Ok((Arc::clone(cell), 0));
        }
        let cell = Arc::new(make()?);
        let mut growth = cell.size_bytes() as Growth;
        let mut cells: Vec<_> = map.cells().map(Arc::clone).collect();
        if cells.len() >= MOST_CELLS {
            growth -= detach(&mut cells) as Growth;
        }
        cells.push(Arc::clone(&cell));
        self.map.store(Arc::new(Map::of(&cells)));
        Ok((cell, growth))
    }

    /// Detaches a cell that may not have what the table has; by the holder of its lock.
    pub(crate) fn distrust(&self, cell: &Arc<Cell>, held: &mut Held) {
        held.detached = true;
        held.dirty = false;
        let _change = lock(&self.change);
        let map = self.map.load();
        let others = map.cells().filter(|other| !Arc::ptr_eq(other, cell)).map(Arc::clone);
        self.map.store(Arc::new(Map::of(&others.collect::<Vec<_>>())));
    }

    /// Detaches the cells that no thread is about to change; returns how many bytes they kept.
    pub(crate) fn trim(&self) -> usize {
        let _change = lock(&self.change);
        let map = self.map.load();
        if map.count == 0 {
            return 0;
        }
        let mut cells: Vec<_> = map.cells().map(Arc::clone).collect();
        let bytes = detach(&mut cells);
        self.map.store(Arc::new(Map::of(&cells)));
        bytes
    }

    /// Waits until every change that is under way has ended. (A cell in which one is under way is
    /// never detached.)
    pub(crate) fn wait_for_changes(&self) {
        self.map.load_full().cells().for_each(|cell| drop(cell.lock()));
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.map.load().cells().map(|cell| cell.size_bytes()).sum()
    }
}

/// Detaches the cells that are clean and that no thread is about to change, of those of a map;
/// returns their bytes.
fn detach(cells: &mut Vec<Arc<Cell>>) -> usize {
    let mut bytes = 0;
    cells.retain(|cell| match try_lock(&cell.held) {
        // The map has one reference, and `cells` another.
        Some(mut held) if !held.dirty && Arc::strong_count(cell) == 2 => {
            held.detached = true;
            bytes += cell.size_bytes();
            false
        }
        _ => true,
    });
    bytes
}

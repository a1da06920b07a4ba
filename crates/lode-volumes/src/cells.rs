//! The properties of an entry that is open, as objects in memory: found by name without a lookup
//! in the table, and read without a write to memory that others read.
//!
//! A *cell* is a property, or the knowledge that there is none. Whoever changes the property holds
//! the cell's lock, so the table and the cell change in the same order. A cell that is *detached*
//! is of no use to writers any more: the table, or another cell, has the property. Readers may
//! still see what it was when they began.

use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use xxhash_rust::xxh3::xxh3_64;

use crate::clock::Moment;
use crate::lock::{lock, try_lock};
use crate::value::{Value, ValueRef};

/// The most cells of an entry.
const MOST_CELLS: usize = 256;

/// Longer values are always read from the table.
const MOST_KEPT_BYTES: usize = 16 << 10;

/// What a property is.
pub(crate) enum Content {
    Absent,
    Kept {
        value: Value,
        expires: Moment,
    },
    /// It is too long to be kept.
    InTable {
        expires: Moment,
    },
}

impl Content {
    pub(crate) fn of(value: ValueRef<'_>, expires: Moment) -> Self {
        match Self::keeps(value.size_bytes()) {
            true => Self::Kept { value: value.to_value(), expires },
            false => Self::InTable { expires },
        }
    }

    /// Whether a value of as many bytes is kept.
    pub(crate) fn keeps(size_bytes: usize) -> bool {
        size_bytes <= MOST_KEPT_BYTES
    }

    /// When it expires; `None` if there is none.
    pub(crate) fn expires(&self) -> Option<Moment> {
        match self {
            Self::Absent => None,
            Self::Kept { expires, .. } | Self::InTable { expires } => Some(*expires),
        }
    }

    fn kept_bytes(&self) -> usize {
        match self {
            Self::Kept { value, .. } => value.as_ref().size_bytes(),
            Self::Absent | Self::InTable { .. } => 0,
        }
    }
}

/// A property of an open entry.
pub(crate) struct Cell {
    hash: u64,
    pub name: Box<str>,
    /// The key in the table.
    pub key: Box<[u8]>,
    content: ArcSwap<Content>,
    held: Mutex<Held>,
}

/// What only the holder of a cell's lock sees.
pub(crate) struct Held {
    pub detached: bool,
    /// The table has not what the cell has.
    pub dirty: bool,
    /// Values of at most as many bytes take up no more room in the table; `None` if the table has
    /// no such property.
    pub room_bytes: Option<usize>,
}

/// How many bytes more are kept.
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
            content: ArcSwap::from_pointee(content),
            held: Mutex::new(Held { detached: false, dirty: false, room_bytes }),
        }
    }

    /// Waits until no other thread changes it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }

    /// Lets `read` see what it is now.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Content) -> T) -> T {
        read(&self.content.load())
    }

    /// What it is now, to be compared with what it is later.
    pub(crate) fn content(&self) -> Arc<Content> {
        self.content.load_full()
    }

    /// Whether it is still what it was.
    pub(crate) fn is(&self, content: &Arc<Content>) -> bool {
        Arc::ptr_eq(&self.content.load(), content)
    }

    /// Replaces it; by the holder of the lock.
    pub(crate) fn store(&self, _held: &mut Held, content: Content) -> Growth {
        let bytes = content.kept_bytes() as Growth;
        let before = self.content.swap(Arc::new(content));
        bytes - before.kept_bytes() as Growth
    }

    /// Bytes that it keeps, about.
    pub(crate) fn size_bytes(&self) -> usize {
        self.read(Content::kept_bytes) + self.name.len() + self.key.len() + size_of::<Self>()
    }
}

fn hash_of(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

/// The cells of an entry. Readers see a map that never changes; a new cell comes with a new map.
pub(crate) struct Cells {
    map: ArcSwap<Map>,
    /// Held while the map is replaced.
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
            at = (at + 1) % self.places.len();
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

    /// Lets `read` see the content of a cell, if there is one.
    pub(crate) fn read<T>(&self, name: &str, read: impl FnOnce(&Content) -> T) -> Option<T> {
        let map = self.map.load();
        map.find(name).map(|cell| cell.read(read))
    }

    /// The cell of a name, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Cell>> {
        self.map.load().find(name).map(Arc::clone)
    }

    /// The cell of a name; if there is none, the one that `make` makes. Nothing changes the
    /// property meanwhile. Returns how many bytes more are kept, too.
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

    /// Waits until every change that has begun has ended. (A cell in which one is under way is
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

//! The data file: pages in *slots*, which are never overwritten while their content could be
//! needed; the page map, which has the location and the checksum of each page; and two superblocks,
//! of which the newer one that is whole has the location of the page map.
//!
//! `FORMAT.md` describes all of it.

mod copy;
mod keeps;
mod map;
mod number;
mod readers;
mod salvage;
mod slots;
mod space;
mod superblock;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use copy::Kept;
use map::PageMap;
pub(crate) use number::PageNumber;
use number::SlotNumber;
use readers::Readers;
pub(crate) use readers::{DEFAULT_READER_BYTES, Pinned};
pub(crate) use salvage::Damaged;
use slots::Slots;
use space::Growth;
pub(crate) use space::Left;
pub(crate) use superblock::{LanePlace, Superblock};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{Effect, Error, Result};
use crate::io::File;

/// Bytes of a page and of its slot.
pub(crate) const SLOT_BYTES: usize = 16 * 1024;

/// The location of a page of a table, or of *metadata*: pages of the catalogue and nodes of the
/// page map, which are there twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ref {
    pub slot: SlotNumber,
    /// The note of a page, in the highest byte; or the slot of the copy of metadata.
    more: u32,
    pub checksum: u64,
}

impl Ref {
    fn is_some(self) -> bool {
        self.slot.is_some()
    }

    /// Returns the location of these bytes in a slot.
    fn of(slot: SlotNumber, bytes: &[u8], owner: u64) -> Self {
        debug_assert!(slot.is_some(), "a page is written to a slot");
        debug_assert_eq!(bytes.len(), SLOT_BYTES, "a page fills its slot");
        Self { slot, more: u32::from(bytes[7]) << 24, checksum: checksum(bytes, owner) }
    }

    /// Returns the location of metadata in two slots.
    fn twice([slot, copy]: [SlotNumber; 2], checksum: u64) -> Self {
        debug_assert_eq!(slot.is_some(), copy.is_some(), "metadata is there twice or not at all");
        Self { slot, more: copy.0, checksum }
    }

    /// Returns the highest byte of the first word of a page of a table.
    fn note(self) -> u8 {
        (self.more >> 24) as u8
    }

    /// Returns the location that two words of the page map have.
    fn from_words(location: u64, checksum: u64) -> Self {
        Self { slot: SlotNumber(location as u32), more: (location >> 32) as u32, checksum }
    }

    /// Returns the two words of the location in the page map.
    fn to_words(self) -> [u64; 2] {
        [u64::from(self.slot.0) | u64::from(self.more) << 32, self.checksum]
    }

    /// Returns the two slots of metadata.
    fn slots(self) -> [SlotNumber; 2] {
        [self.slot, SlotNumber(self.more)]
    }
}

/// Returns the checksum of the bytes in a slot. With another owner it is another.
fn checksum(bytes: &[u8], owner: u64) -> u64 {
    xxh3_64_with_seed(bytes, owner)
}

/// An open data file.
pub(crate) struct DataFile {
    file: Box<dyn File>,
    /// Held while the file becomes longer or shorter; locked before `state`.
    growth: Mutex<Growth>,
    state: Mutex<State>,
    /// A writer's knowledge of readers in other processes; locked after `growth`, before `state`.
    readers: Mutex<Readers>,
    /// The generation of the checkpoint that a reader has pinned; `None` for a writer.
    pinned: Option<u64>,
    pages_read: AtomicU64,
    pages_written: AtomicU64,
    /// True if the directory is no longer locked.
    is_given_up: AtomicBool,
}

struct State {
    map: PageMap,
    slots: Slots,
    /// Pages of the current catalogue.
    catalogue_pages: u32,
    /// Free slots that the last reservation asked for, for the next checkpoint.
    reserved: u64,
    /// Pages that the checkpoint in progress has still to write, and that have no slot that this
    /// would release.
    unwritten_new_pages: u64,
    /// The highest generation that a superblock was written with, or was to be.
    tried_generation: u64,
}

impl DataFile {
    /// Creates a data file without pages.
    pub(crate) fn create(file: Box<dyn File>) -> Result<Self> {
        let map = PageMap::default();
        let slots = Slots::default();
        let size = u64::from(slots.end()) * SLOT_BYTES as u64;
        file.preallocate(0..size).map_err(|error| Error::io("extend file data", &error))?;
        Ok(Self::new(file, State::new(map, slots)))
    }

    fn new(file: Box<dyn File>, state: State) -> Self {
        Self {
            file,
            growth: Mutex::new(Growth::Open),
            state: Mutex::new(state),
            readers: Mutex::default(),
            pinned: None,
            pages_read: AtomicU64::new(0),
            pages_written: AtomicU64::new(0),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// Opens an existing data file, to read it; returns the superblock that counts, and the
    /// catalogue, too. Before it is written to, it must be [made sure of](Self::make_sure).
    ///
    /// # Errors
    /// `UnfinishedBackup`; `Corrupt`, `Version`; `Io`.
    pub(crate) fn open(file: Box<dyn File>) -> Result<(Self, Superblock, Vec<u8>)> {
        let opened = Self::open_backup(file)?;
        if opened.1.is_unfinished_backup { Err(Error::UnfinishedBackup) } else { Ok(opened) }
    }

    /// Opens an existing data file that may be of a backup which is not finished.
    ///
    /// # Errors
    /// `Corrupt`, `Version`; `Io`.
    pub(crate) fn open_backup(file: Box<dyn File>) -> Result<(Self, Superblock, Vec<u8>)> {
        let superblock = Superblock::read(&*file)?;
        let (data, catalogue) = Self::open_at(file, &superblock, None)?;
        Ok((data, superblock, catalogue))
    }

    /// Opens a data file at a superblock that was read, which a reader has pinned; returns the
    /// catalogue, too.
    fn open_at(
        file: Box<dyn File>,
        superblock: &Superblock,
        pinned: Option<u64>,
    ) -> Result<(Self, Vec<u8>)> {
        let mut state = State::new(PageMap::open(superblock.map), Slots::default());
        state.catalogue_pages = superblock.catalogue_pages;
        let data = Self { pinned, ..Self::new(file, state) };
        let loaded = superblock.load_catalogue(&*data.file, &mut data.state().map);
        let bytes = loaded.map_err(|error| data.explained(error))?;
        let (catalogue, used) = superblock.split_catalogue(&bytes)?;
        data.state().slots = Slots::restore(used, superblock.slots)?;
        Ok((data, catalogue.to_vec()))
    }

    /// Writes again what may be in the operating system's memory only, since a sync failed in the
    /// life of the database before this one: what is read back then may still be lost. (Rebello et
    /// al.: Can Applications Recover from fsync Failures?, USENIX ATC 2020, section 3.)
    pub(crate) fn make_sure(&self, superblock: &Superblock) -> Result<()> {
        let failed = |error| Error::io("sync file data", &error);
        self.expire_earlier_readers(superblock.generation)?;
        let mut size = self.file.size_bytes().map_err(failed)?;
        let wanted = u64::from(superblock.slots) * SLOT_BYTES as u64;
        if size > wanted && !self.file.has_space().map_err(failed)? {
            // Another program made it longer. Slots reserved and not used would have space.
            size = wanted;
        }
        self.file.set_size(size).map_err(failed)?;
        superblock.write(&*self.file)?;
        self.file.sync().map_err(failed)?;
        let has_space = self.file.has_space().map_err(failed)?;
        // Space that was reserved and not used.
        let mut state = self.state();
        let end = u32::try_from(size / SLOT_BYTES as u64).unwrap_or(u32::MAX);
        match end.cmp(&state.slots.end()) {
            std::cmp::Ordering::Greater => state.slots.extend(end),
            // The file was cut off behind what is in use.
            std::cmp::Ordering::Less if end >= state.slots.last_used() => state.slots.truncate(end),
            _ => {}
        }
        if !has_space {
            state.slots.forget_space();
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a page has a slot.
    pub(crate) fn has(&self, page: PageNumber) -> Result<bool> {
        Ok(self.note(page)?.is_some())
    }

    /// Returns the highest byte of a page's first word, which describes the page without reading it
    /// whole; `None` if the page has no slot.
    pub(crate) fn note(&self, page: PageNumber) -> Result<Option<u8>> {
        let found = self.state().map.get(&*self.file, page);
        let at = found.map_err(|error| self.explained(error))?;
        Ok(at.is_some().then_some(at.note()))
    }

    /// Reads a page.
    ///
    /// # Errors
    /// `Corrupt` if it is not what was written last, or the page does not exist. `Closed` if the
    /// file is not this database's any more. `MomentExpired` if it is not this reader's.
    pub(crate) fn load(&self, page: PageNumber, bytes: &mut [u8]) -> Result<()> {
        let loaded = self.load_what_is_there(page, bytes);
        // Another may have opened the directory and written to it.
        if self.is_given_up() {
            Err(Error::Closed)
        } else {
            loaded.map_err(|error| self.explained(error))
        }
    }

    fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Acquire)
    }

    /// Refuses all further loads of pages: other processes may open the directory.
    pub(crate) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
    }

    fn load_what_is_there(&self, page: PageNumber, bytes: &mut [u8]) -> Result<()> {
        let at = self.state().map.get(&*self.file, page)?;
        if !at.is_some() {
            return Err(Error::corrupt(format!("page {page}"), "it is nowhere in file data"));
        }
        self.pages_read.fetch_add(1, Ordering::Relaxed);
        read_slot(&*self.file, at, page.word(), bytes, || format!("page {page}"))
    }

    /// Returns the bytes of pages that were read from the file since it was opened.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.pages_read.load(Ordering::Relaxed) * SLOT_BYTES as u64
    }

    /// Returns the bytes of pages that were written to the file since it was opened.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.pages_written.load(Ordering::Relaxed) * SLOT_BYTES as u64
    }

    /// Writes pages to free slots, which are theirs from then on. `bytes` has the bytes of all
    /// `pages`, one after another.
    pub(crate) fn write(&self, pages: &[PageNumber], bytes: &[u8]) -> Result<()> {
        assert_eq!(bytes.len(), pages.len() * SLOT_BYTES, "each page has its bytes");
        debug_assert!(pages.is_sorted_by(|a, b| a < b), "each page is written once");
        let mut state = self.state();
        let mut slots = Vec::new();
        for _ in pages {
            match state.slots.take() {
                Ok(slot) => slots.push(slot),
                Err(error) => {
                    slots.iter().for_each(|slot| state.slots.give_back(*slot));
                    return Err(error);
                }
            }
        }
        // Without the lock: a thread that loads another page need not wait.
        drop(state);
        self.pages_written.fetch_add(pages.len() as u64, Ordering::Relaxed);
        let superblock = slots.iter().find(|slot| slots::has_superblock(**slot));
        assert_eq!(superblock, None, "a page is not written over a superblock");
        let mut from = 0;
        for run in slots.chunk_by(|a, b| a.0 + 1 == b.0) {
            let to = from + run.len() * SLOT_BYTES;
            let at = run[0].byte();
            if let Err(error) = self.file.write_at(at, &bytes[from..to]) {
                let mut state = self.state();
                slots.iter().for_each(|slot| state.slots.give_back(*slot));
                return Err(Error::io("write pages to file data", &error));
            }
            from = to;
        }
        debug_assert_eq!(from, bytes.len(), "all bytes are written");
        let mut state = self.state();
        let contents = pages.iter().zip(bytes.chunks(SLOT_BYTES));
        for (done, ((page, bytes), slot)) in contents.zip(&slots).enumerate() {
            let at = Ref::of(*slot, bytes, page.word());
            if let Err(error) = state.set(&*self.file, *page, at) {
                // A node of the page map could not be read.
                slots[done..].iter().for_each(|slot| state.slots.give_back(*slot));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Forgets a page that is not used any more.
    pub(crate) fn remove(&self, page: PageNumber) -> Result<()> {
        self.state().set(&*self.file, page, Ref::default())
    }

    /// Writes the catalogue and the page map, and makes them current. No other thread may write
    /// pages in that time.
    ///
    /// # Errors
    /// `Poisoned` if a sync fails: which state is current is unknown then. After any other error
    /// the state of before is current, or all of this one; both are whole, and the next checkpoint
    /// spares both.
    pub(crate) fn publish(&self, catalogue: &[u8], superblock: &Superblock) -> Result<Superblock> {
        let mut superblock = *superblock;
        let mut state = self.state();
        let State { map, slots, catalogue_pages, .. } = &mut *state;
        let size = catalogue.len() + slots.bitmap_bytes();
        let pages = size.div_ceil(SLOT_BYTES) as u32;
        // Creating a table is refused long before. The next page would be a table's.
        if pages > PageNumber::FIRST_OF_TABLES.get() {
            let most_bytes = PageNumber::FIRST_OF_TABLES.index() * SLOT_BYTES;
            return Err(Error::CatalogueFull { most_bytes });
        }
        let most_pages = pages.max(*catalogue_pages);
        // If this fails, the next call releases the pages beyond its own too.
        *catalogue_pages = most_pages;
        for page in PageNumber::default().run(most_pages) {
            let taken = if page.get() < pages { slots.take_two()? } else { Default::default() };
            let before = map.set(&*self.file, page, Ref::twice(taken, 0))?;
            before.slots().into_iter().for_each(|slot| slots.release(slot));
        }
        map.take_slots(&*self.file, slots)?;
        // From here on slots stay as they are.
        let left = (slots.free(), slots.released());
        let mut bytes = catalogue.to_vec();
        slots.write_bitmap(&mut bytes);
        assert_eq!(bytes.len(), size, "the catalogue fits the pages that were taken for it");
        bytes.resize(pages as usize * SLOT_BYTES, 0);
        let numbers = PageNumber::default().run(pages);
        for (page, bytes) in numbers.zip(bytes.chunks(SLOT_BYTES)) {
            let taken = map.get(&*self.file, page)?.slots();
            map.set(&*self.file, page, write_twice(&*self.file, taken, bytes, page.word())?)?;
        }
        let root = map.write(&*self.file)?;
        assert!(root.is_some(), "the page map has a root");
        assert!(root.slot.0 < slots.end(), "the root of the page map is in the file");
        assert_eq!((slots.free(), slots.released()), left, "the bits of used slots are right");
        superblock.map = root;
        superblock.catalogue_pages = pages;
        superblock.catalogue_bytes = catalogue.len() as u64;
        superblock.slots = slots.end();
        *catalogue_pages = pages;
        slots.begin_to_need();
        superblock.generation = state.next_generation(superblock.generation);
        drop(state);
        self.sync()?;
        superblock.write(&*self.file)?;
        self.sync()?;
        let end = self.state().slots.end();
        assert!(end >= superblock.slots, "the file is not cut off before it is published");
        self.settle(superblock.generation);
        Ok(superblock)
    }

    /// Makes a superblock current that names the same pages as the one before, and another position
    /// in the log.
    ///
    /// # Errors
    /// Those of [`publish`](Self::publish).
    pub(crate) fn publish_log(&self, superblock: &Superblock) -> Result<Superblock> {
        let generation = self.state().next_generation(superblock.generation);
        let next = Superblock { generation, ..*superblock };
        next.write(&*self.file)?;
        self.sync()?;
        Ok(next)
    }

    fn sync(&self) -> Result<()> {
        let failed = |error| Error::io("sync file data", &error).to_string();
        let poisoned = |error| Error::Poisoned { why: failed(error), effect: Effect::None };
        self.file.sync().map_err(poisoned)
    }

    /// Checks the whole page map: each used slot must be used once, and no others may be.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut state = self.state();
        let State { map, slots, .. } = &mut *state;
        let mut used = map.all_slots(&*self.file).map_err(|error| error.to_string())?;
        used.sort_unstable();
        if let Some(pair) = used.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("slot {} of file data is used twice", pair[0]));
        }
        slots.check(&used)
    }

    /// Checks that both copies of each node of the current page map, and of each page of the
    /// catalogue, are whole. The caller keeps others from publishing at the same time.
    pub(crate) fn check_copies(&self, current: &Superblock) -> Result<(), String> {
        match PageMap::open(current.map).damaged_copy(&*self.file) {
            Ok(None) => Ok(()),
            Ok(Some(what)) => Err(format!("{what} is damaged; nothing is lost, it is there twice")),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl State {
    fn new(map: PageMap, slots: Slots) -> Self {
        Self {
            map,
            slots,
            catalogue_pages: 0,
            reserved: 0,
            unwritten_new_pages: 0,
            tried_generation: 0,
        }
    }

    /// Returns a generation for the superblock after the current one, which no superblock had that
    /// could not be written: a reader may have seen it. It takes the place of that one.
    fn next_generation(&mut self, current: u64) -> u64 {
        let mut next = current + 1;
        while next <= self.tried_generation {
            next += 2;
        }
        self.tried_generation = next;
        next
    }

    fn set(&mut self, file: &dyn File, page: PageNumber, at: Ref) -> Result<()> {
        let before = self.map.set(file, page, at)?;
        if !before.is_some() {
            self.unwritten_new_pages = self.unwritten_new_pages.saturating_sub(1);
        }
        self.slots.release(before.slot);
        Ok(())
    }
}

/// Reads metadata; returns true if one of its two slots is damaged.
///
/// # Errors
/// The fault of the first slot if both are damaged.
fn read_twice(
    file: &dyn File,
    at: Ref,
    owner: u64,
    bytes: &mut [u8],
    what: impl Fn() -> String,
) -> Result<bool> {
    let Err(error) = read_slot(file, at, owner, bytes, &what) else { return Ok(false) };
    let copy = Ref { slot: at.slots()[1], ..at };
    if copy.is_some() && read_slot(file, copy, owner, bytes, &what).is_ok() {
        Ok(true)
    } else {
        Err(error)
    }
}

/// Writes metadata to its two slots; returns its location.
fn write_twice(file: &dyn File, slots: [SlotNumber; 2], bytes: &[u8], owner: u64) -> Result<Ref> {
    slots.into_iter().try_for_each(|slot| write_slot(file, slot, bytes))?;
    Ok(Ref::twice(slots, checksum(bytes, owner)))
}

fn read_slot(
    file: &dyn File,
    at: Ref,
    owner: u64,
    bytes: &mut [u8],
    what: impl Fn() -> String,
) -> Result<()> {
    debug_assert_eq!(bytes.len(), SLOT_BYTES, "{} is read whole", what());
    file.read_at(at.slot.byte(), bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::corrupt(what(), "file data ends before it"),
        _ => Error::io(format!("read {} from file data", what()), &error),
    })?;
    if checksum(bytes, owner) == at.checksum {
        Ok(())
    } else {
        Err(Error::corrupt(
            what(),
            format!("its checksum does not fit what is at slot {} of file data", at.slot),
        ))
    }
}

fn write_slot(file: &dyn File, slot: SlotNumber, bytes: &[u8]) -> Result<()> {
    assert_eq!(bytes.len(), SLOT_BYTES, "slot {slot} is written whole");
    assert!(!slots::has_superblock(slot), "slot {slot} has a superblock");
    file.write_at(slot.byte(), bytes).map_err(|error| Error::io("write to file data", &error))
}

//! The data file: pages in *slots*, which are never overwritten while something could need what is
//! there; the page map, which says where each page is and what its checksum is; and two
//! superblocks, of which the newer one that is whole says where the page map is.
//!
//! All of it is in `FORMAT.md`.

mod map;
mod number;
mod slots;
mod superblock;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use map::PageMap;
pub(crate) use number::PageNumber;
use number::SlotNumber;
use slots::Slots;
pub(crate) use superblock::Superblock;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{Error, Result};
use crate::io::File;

/// Bytes of a page and of its slot.
pub(crate) const SLOT_BYTES: usize = 16 * 1024;

/// Where a page is, or a node of the page map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ref {
    pub slot: SlotNumber,
    /// What the highest byte of its first word was.
    pub note: u8,
    pub checksum: u64,
}

impl Ref {
    fn is_some(self) -> bool {
        self.slot.is_some()
    }

    /// Where what is in these bytes is.
    fn of(slot: SlotNumber, bytes: &[u8], owner: u64) -> Self {
        Self { slot, note: bytes[7], checksum: checksum(bytes, owner) }
    }
}

/// The checksum of what is at a slot. What belongs elsewhere has another.
fn checksum(bytes: &[u8], owner: u64) -> u64 {
    xxh3_64_with_seed(bytes, owner)
}

/// A data file that is open.
pub(crate) struct DataFile {
    file: Box<dyn File>,
    state: Mutex<State>,
    pages_read: AtomicU64,
    pages_written: AtomicU64,
}

struct State {
    map: PageMap,
    slots: Slots,
    /// Pages of the catalogue that is current.
    catalogue_pages: u32,
}

impl DataFile {
    /// A new one, without pages.
    pub(crate) fn create(file: Box<dyn File>) -> Result<Self> {
        let (map, slots) = (PageMap::default(), Slots::default());
        let size = u64::from(slots.end()) * SLOT_BYTES as u64;
        file.preallocate(size).map_err(|error| Error::io("extend file data", &error))?;
        Ok(Self::new(file, State { map, slots, catalogue_pages: 0 }))
    }

    fn new(file: Box<dyn File>, state: State) -> Self {
        let (pages_read, pages_written) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { file, state: Mutex::new(state), pages_read, pages_written }
    }

    /// One that is there, with the superblock that counts, and the catalogue.
    pub(crate) fn open(file: Box<dyn File>) -> Result<(Self, Superblock, Vec<u8>)> {
        let (data, superblock, catalogue) = Self::open_to_read(file)?;
        data.make_sure(&superblock)?;
        Ok((data, superblock, catalogue))
    }

    /// The same, of a file that is not written to.
    pub(crate) fn open_to_read(file: Box<dyn File>) -> Result<(Self, Superblock, Vec<u8>)> {
        let superblock = Superblock::read(&*file)?;
        let map = PageMap::open(superblock.map);
        let catalogue_pages = superblock.catalogue_pages;
        let state = State { map, slots: Slots::default(), catalogue_pages };
        let data = Self::new(file, state);
        // Page by page: how many there should be may be more than there are.
        let (mut bytes, mut page_bytes) = (Vec::new(), vec![0; SLOT_BYTES]);
        for page in PageNumber::default().run(superblock.catalogue_pages) {
            data.load(page, &mut page_bytes)?;
            bytes.extend_from_slice(&page_bytes);
        }
        let (catalogue, used) = superblock.split_catalogue(&bytes)?;
        data.state().slots = Slots::restore(used, superblock.slots)?;
        Ok((data, superblock, catalogue.to_vec()))
    }

    /// Writes again what may be in the operating system's memory only, since a sync failed in the
    /// life of the database before this one: what is read back then may still be lost. (Rebello et
    /// al.: Can Applications Recover from fsync Failures?, USENIX ATC 2020, section 3.)
    fn make_sure(&self, superblock: &Superblock) -> Result<()> {
        let failed = |error| Error::io("sync file data", &error);
        let mut size = self.file.size_bytes().map_err(failed)?;
        let wanted = u64::from(superblock.slots) * SLOT_BYTES as u64;
        if size > wanted && !self.file.has_space().map_err(failed)? {
            // Another program made it longer. What was reserved and not used would have space.
            size = wanted;
        }
        self.file.set_size(size).map_err(failed)?;
        superblock.write(&*self.file)?;
        self.file.sync().map_err(failed)?;
        // Space that was reserved and not used.
        let mut state = self.state();
        let end = u32::try_from(size / SLOT_BYTES as u64).unwrap_or(u32::MAX);
        match end.cmp(&state.slots.end()) {
            std::cmp::Ordering::Greater => state.slots.extend(end),
            // It was cut off behind what is in use.
            std::cmp::Ordering::Less if end >= state.slots.last_used() => state.slots.truncate(end),
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a page has a slot.
    pub(crate) fn has(&self, page: PageNumber) -> Result<bool> {
        Ok(self.note(page)?.is_some())
    }

    /// The highest byte of a page's first word, which describes the page without reading it whole;
    /// `None` if it has no slot.
    pub(crate) fn note(&self, page: PageNumber) -> Result<Option<u8>> {
        let at = self.state().map.get(&*self.file, page)?;
        Ok(at.is_some().then_some(at.note))
    }

    /// Reads a page.
    ///
    /// # Errors
    /// `Corrupt` when it is not what was written last, or there is no such page.
    pub(crate) fn load(&self, page: PageNumber, bytes: &mut [u8]) -> Result<()> {
        let at = self.state().map.get(&*self.file, page)?;
        if !at.is_some() {
            return Err(Error::corrupt(format!("page {page}"), "it is nowhere in file data"));
        }
        self.pages_read.fetch_add(1, Ordering::Relaxed);
        read_slot(&*self.file, at, page.word(), bytes, || format!("page {page}"))
    }

    /// Bytes of pages that were read from it since it was opened.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.pages_read.load(Ordering::Relaxed) * SLOT_BYTES as u64
    }

    /// Bytes of pages that were written to it since it was opened.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.pages_written.load(Ordering::Relaxed) * SLOT_BYTES as u64
    }

    /// Bytes of the file.
    pub(crate) fn size_bytes(&self) -> u64 {
        u64::from(self.state().slots.end()) * SLOT_BYTES as u64
    }

    /// Bytes of slots in use.
    pub(crate) fn used_bytes(&self) -> u64 {
        let slots = &self.state().slots;
        (u64::from(slots.end()) - slots.free()) * SLOT_BYTES as u64
    }

    /// Makes sure that `pages` pages can be changed and a checkpoint be written.
    ///
    /// # Errors
    /// `DiskFull`.
    pub(crate) fn reserve(&self, pages: u64) -> Result<()> {
        let mut state = self.state();
        let wanted = pages + state.overhead(pages);
        self.grow(&mut state, wanted)
    }

    /// Makes sure that `wanted` slots are free.
    fn grow(&self, state: &mut State, wanted: u64) -> Result<()> {
        let free = state.slots.free();
        if free >= wanted {
            return Ok(());
        }
        // In steps that grow with the file, so that it is seldom asked for more; or as little as
        // will do, if there is no more.
        let least = wanted - free;
        let ample = least.max(u64::from(state.slots.end()) / 8).min(least + 4096);
        let mut grown = Err(Error::TableFull);
        for count in [ample, least] {
            let end = u64::from(state.slots.end()) + count;
            let end = u32::try_from(end).map_err(|_| Error::TableFull)?;
            let size = u64::from(end) * SLOT_BYTES as u64;
            grown = self
                .file
                .preallocate(size)
                .map_err(|error| Error::io("extend file data", &error))
                .map(|()| state.slots.extend(end));
            if grown.is_ok() {
                break;
            }
        }
        grown
    }

    /// Writes pages to free slots, which are theirs from then on. The numbers and the bytes of all
    /// of them come one after another.
    pub(crate) fn write(&self, pages: &[PageNumber], bytes: &[u8]) -> Result<()> {
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

    /// A page is no more.
    pub(crate) fn remove(&self, page: PageNumber) -> Result<()> {
        self.state().set(&*self.file, page, Ref::default())
    }

    /// Writes the catalogue and the page map, and makes them current. No other thread may write
    /// pages meanwhile.
    ///
    /// # Errors
    /// `Poisoned` when a sync fails: what is current is unknown then. After any other error it is
    /// what was current before, or all of this; both are whole, and the next checkpoint spares
    /// both.
    pub(crate) fn publish(
        &self,
        catalogue: &[u8],
        mut superblock: Superblock,
    ) -> Result<Superblock> {
        let mut state = self.state();
        let State { map, slots, catalogue_pages } = &mut *state;
        let size = catalogue.len() + slots.bitmap_bytes();
        let pages = size.div_ceil(SLOT_BYTES) as u32;
        let most_pages = pages.max(*catalogue_pages);
        // If this fails, the next one sees to those that there are more of now.
        *catalogue_pages = most_pages;
        for page in PageNumber::default().run(most_pages) {
            let slot = if page.get() < pages { slots.take()? } else { SlotNumber::NONE };
            let before = map.set(&*self.file, page, Ref { slot, ..Ref::default() })?;
            slots.release(before);
        }
        map.take_slots(&*self.file, slots)?;
        // From here on slots stay as they are.
        let mut bytes = catalogue.to_vec();
        slots.write_bitmap(&mut bytes);
        bytes.resize(pages as usize * SLOT_BYTES, 0);
        let numbers = PageNumber::default().run(pages);
        for (page, bytes) in numbers.zip(bytes.chunks(SLOT_BYTES)) {
            let Ref { slot, .. } = map.get(&*self.file, page)?;
            map.set(&*self.file, page, Ref::of(slot, bytes, page.word()))?;
            write_slot(&*self.file, slot, bytes)?;
        }
        let root = map.write(&*self.file)?;
        assert!(root.is_some(), "the page map has a root");
        superblock.generation += 1;
        superblock.map = root;
        superblock.catalogue_pages = pages;
        superblock.catalogue_bytes = catalogue.len() as u64;
        superblock.slots = slots.end();
        *catalogue_pages = pages;
        drop(state);
        self.sync()?;
        superblock.write(&*self.file)?;
        self.sync()?;
        self.state().slots.settle();
        Ok(superblock)
    }

    fn sync(&self) -> Result<()> {
        let failed = |error| Error::io("sync file data", &error).to_string();
        self.file.sync().map_err(|error| Error::Poisoned { why: failed(error) })
    }

    /// Pages of tables whose slots are beyond those that would be enough for all. What is written
    /// from now on goes to the lowest slots that are free.
    pub(crate) fn pages_beyond_need(&self) -> Result<Vec<PageNumber>> {
        let mut state = self.state();
        let State { map, slots, .. } = &mut *state;
        let enough = slots.enough();
        slots.rewind();
        let mut pages = map.pages(&*self.file)?;
        let first = PageNumber::FIRST_OF_TABLES;
        pages.retain(|(page, slot)| *page >= first && u64::from(slot.0) >= enough);
        Ok(pages.into_iter().map(|(page, _)| page).collect())
    }

    /// Has the nodes of the page map that lie beyond the slots that would be enough for all written
    /// elsewhere by the next checkpoint. Makes sure that there is space for a checkpoint of `pages`
    /// changed pages with them.
    ///
    /// # Errors
    /// `DiskFull`; then no node is concerned.
    pub(crate) fn rewrite_map_beyond_need(&self, pages: u64) -> Result<()> {
        let mut state = self.state();
        let enough = state.slots.enough();
        state.slots.rewind();
        let nodes = state.map.nodes_beyond(&*self.file, enough)?;
        // Each of them, and those above it.
        let wanted = pages + state.overhead(pages) + 2 * nodes.len() as u64 + 1;
        self.grow(&mut state, wanted)?;
        nodes
            .into_iter()
            .try_for_each(|(level, number)| state.map.rewrite(&*self.file, level, number))
    }

    /// Lets what is written from now on go to the lowest slots that are free.
    pub(crate) fn rewind(&self) {
        self.state().slots.rewind();
    }

    /// Gives all slots after the last one in use back. Nothing can be written after that without
    /// [space](Self::reserve).
    pub(crate) fn shrink_to_used(&self) -> Result<()> {
        let mut state = self.state();
        let last = state.slots.last_used();
        self.cut(&mut state, last)
    }

    /// Gives the slots after the last one in use back, other than what a checkpoint of `pages`
    /// changed pages needs.
    pub(crate) fn shrink(&self, pages: u64) -> Result<()> {
        let mut state = self.state();
        let (last, end) = (state.slots.last_used(), state.slots.end());
        let pages = pages + u64::from(state.catalogue_pages);
        let needed = pages + state.overhead(pages);
        let before_last = state.slots.free() - u64::from(end - last);
        let kept = needed.saturating_sub(before_last).min(u64::from(end - last)) as u32;
        self.cut(&mut state, last + kept)
    }

    /// Cuts the file off before the slot `end`, unless it is shorter.
    fn cut(&self, state: &mut State, end: u32) -> Result<()> {
        if end < state.slots.end() {
            self.file
                .set_size(u64::from(end) * SLOT_BYTES as u64)
                .map_err(|error| Error::io("shorten file data", &error))?;
            state.slots.truncate(end);
        }
        Ok(())
    }

    /// Looks at the whole page map: whether each slot that is used is used once, and no others
    /// are.
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
}

impl State {
    fn set(&mut self, file: &dyn File, page: PageNumber, at: Ref) -> Result<()> {
        let before = self.map.set(file, page, at)?;
        self.slots.release(before);
        Ok(())
    }

    /// Slots that a checkpoint of `pages` changed pages needs beside those of the pages.
    fn overhead(&self, pages: u64) -> u64 {
        // A new table changes pages, and its definition takes up a small part of one.
        let growth = 2 + (pages / 8).min(6);
        let catalogue = u64::from(self.catalogue_pages) * 9 / 8 + growth;
        // Bits of slots that the file gets for these pages.
        let bits = 2 * pages / (8 * SLOT_BYTES as u64);
        self.map.most_changed(pages) + catalogue + bits
    }
}

fn read_slot(
    file: &dyn File,
    at: Ref,
    owner: u64,
    bytes: &mut [u8],
    what: impl Fn() -> String,
) -> Result<()> {
    file.read_at(at.slot.byte(), bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::corrupt(what(), "file data ends before it"),
        _ => Error::io(format!("read {} from file data", what()), &error),
    })?;
    match checksum(bytes, owner) == at.checksum {
        true => Ok(()),
        false => Err(Error::corrupt(
            what(),
            format!("its checksum does not fit what is at slot {} of file data", at.slot),
        )),
    }
}

fn write_slot(file: &dyn File, slot: SlotNumber, bytes: &[u8]) -> Result<()> {
    assert!(!slots::has_superblock(slot), "slot {slot} has a superblock");
    file.write_at(slot.byte(), bytes).map_err(|error| Error::io("write to file data", &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Disk;
    use crate::io::simulated::{Fault, FaultKind, Simulated};

    /// Pages in two nodes of the page map.
    const FIRST: PageNumber = PageNumber::FIRST_OF_TABLES;
    const PAGES: [PageNumber; 2] = [FIRST, PageNumber::new(FIRST.get() + 1024)];

    #[test]
    fn a_node_that_cannot_be_read_takes_no_slots_along() {
        let disk = Simulated::new(0);
        let file = disk.create("data").expect("an empty disk");
        let data = DataFile::create(file).expect("space");
        let bytes = vec![1; 2 * SLOT_BYTES];
        data.reserve(2).expect("space");
        data.write(&PAGES, &bytes).expect("slots");
        data.publish(&[], Superblock::default()).expect("slots");
        let (data, ..) = DataFile::open(disk.open("data").expect("it is there")).expect("whole");
        assert_eq!(data.has(PAGES[0]), Ok(true));
        data.reserve(2).expect("space");
        disk.fail(Fault::Error { at: disk.operations(), kind: FaultKind::ReadFails });
        // The first node has been read before, the second one has not.
        assert!(data.write(&PAGES, &bytes).is_err());
        assert_eq!(data.check(), Ok(()));
        data.write(&PAGES, &bytes).expect("it can be read again");
        assert_eq!(data.check(), Ok(()));
    }

    #[test]
    fn nodes_of_the_page_map_leave_the_end_of_the_file_though_their_pages_stay() {
        let disk = Simulated::new(0);
        let file = disk.create("data").expect("an empty disk");
        let data = DataFile::create(file).expect("space");
        // Their nodes come after all of them in the file.
        let numbers: Vec<_> = FIRST.run(400 * 1024).step_by(1024).collect();
        let bytes = vec![1; numbers.len() * SLOT_BYTES];
        data.reserve(400).expect("space");
        data.write(&numbers, &bytes).expect("space");
        data.reserve(0).expect("space");
        let superblock = data.publish(&[], Superblock::default()).expect("space");
        numbers[20..].iter().for_each(|page| data.remove(*page).expect("it is there"));
        data.reserve(0).expect("space");
        let superblock = data.publish(&[], superblock).expect("space");
        assert_eq!(data.pages_beyond_need(), Ok(Vec::new()), "pages lie before their nodes");
        data.rewrite_map_beyond_need(0).expect("space");
        let superblock = data.publish(&[], superblock).expect("space");
        data.rewind();
        data.reserve(0).expect("space");
        data.publish(&[], superblock).expect("space");
        data.shrink(0).expect("nothing is wrong");
        let size = data.size_bytes() / SLOT_BYTES as u64;
        assert!(size < 100, "{size} slots are left for 20 pages and their nodes");
        assert_eq!(data.check(), Ok(()));
        assert!(numbers[..20].iter().all(|page| data.has(*page) == Ok(true)));
        assert!(numbers[20..].iter().all(|page| data.has(*page) == Ok(false)));
    }
}

//! The heap of a table: long records, and those of any length, in the order in which they come. The
//! index has their *addresses*, under their [keys there](index_key); so records that come in no
//! order change few pages.
//!
//! A record moves within its page freely; it moves to another, and the index changes, only if it
//! has become too long. Later records use the room of removed ones. Every page here is a [page of
//! records](page) or a [piece](long) of a record longer than a page.
//!
//! Most changes leave a short record [in its place](in_place), and latch its page only. Any other
//! operation looks at all pages first, which may have to come from the disk. Then it latches the
//! page of the index and those of the heap, and waits for none. If one of them has changed by then,
//! it starts again.

mod buffer;
mod check;
mod empty;
mod evacuate;
mod free_space;
mod in_place;
mod index_key;
mod long;
mod page;
mod places;
mod plan;
mod salvage;
mod target;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use buffer::Buffer;
pub(crate) use check::{Census, IndexEntry};
pub(crate) use evacuate::Evacuation;
use free_space::FreeSpaceMap;
use index_key::MOST_PROBES;
pub(crate) use index_key::{DIGEST_BYTES, Entry, IndexKey, IndexKeys};
use long::Cut;
pub(crate) use long::pages_for;
use page::{HeapPage, Slot};
pub(crate) use salvage::InHeap;
pub(crate) use write::{Outcome, UndoRecord};

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::index::Index;
use crate::pager::{self, Epoch, PageNumber, Pager, ReadEpoch, Seen, Space};

/// The address of a record: its page, and the number of its slot there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    page: PageNumber,
    slot: u16,
}

impl Address {
    /// Returns the error of an address that leads nowhere.
    fn wrong(self) -> Error {
        let Self { page, slot } = self;
        Error::corrupt(
            format!("page {page}"),
            format!("there is no record {slot}, to which a key leads"),
        )
    }
}

/// The most lookups of a record that changes each time. After that it takes the slow path: it is
/// read as it is at one moment. A record that does not fit in memory whole always needs that: some
/// pieces leave while others come.
const MOST_ATTEMPTS: usize = 4;

/// The long records of a table.
pub(crate) struct Heap {
    space: Space,
    index_keys: IndexKeys,
    free_space: FreeSpaceMap,
    /// The last epoch in which a record was written, or a later one.
    written_in: AtomicU64,
}

/// A record where it was found.
struct Home<'p> {
    address: Address,
    seen: Seen<'p>,
    page: HeapPage<'p>,
}

/// The result of a search for a key.
struct Found<'k, 'p> {
    /// The key's index key, or the one that it would have.
    index_key: IndexKey<'k>,
    home: Option<Home<'p>>,
    /// Another record that has the same digest, and has not been passed yet.
    other: Option<Address>,
    /// True if the index key is not the first one for the key: its record may have been under
    /// another one before, in another page.
    is_beyond: bool,
}

impl Heap {
    /// Creates a heap with these pages, if any.
    pub(crate) fn new(space: Space, index_keys: IndexKeys) -> Self {
        let written_in = AtomicU64::default();
        Self { space, index_keys, free_space: FreeSpaceMap::default(), written_in }
    }

    /// Returns true if the heap has the keys too, each before its payload.
    pub(crate) fn has_keys(&self) -> bool {
        matches!(self.index_keys, IndexKeys::Digests { .. })
    }

    /// Returns the heap's pages.
    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// Finds the record that a key leads to.
    #[inline]
    fn find<'k, 'p>(
        &self,
        index: &impl Index,
        pager: &'p Pager,
        key: &'k [u8],
    ) -> Result<Found<'k, 'p>> {
        let mut probe = 0;
        while probe < MOST_PROBES {
            let index_key = self.index_keys.index_key(key, probe);
            let is_beyond = probe > 0;
            let led = index.locate(pager, index_key.bytes(), |bytes| {
                let entry = Entry::of(bytes);
                let look = |address: Address| {
                    let looked = pager.read_optimistic(address.page);
                    if let Ok((_, words)) = &looked {
                        HeapPage::new(*words).fetch_hinted(entry.hint);
                    }
                    (address, looked)
                };
                (entry.is_passed, entry.address.map(look))
            })?;
            let Some((is_passed, led)) = led else {
                return Ok(Found { index_key, home: None, other: None, is_beyond });
            };
            // An entry without an address: the record was deleted.
            let Some((address, looked)) = led else {
                probe += 1;
                continue;
            };
            let (seen, words) = looked?;
            let home = Home { address, seen, page: HeapPage::new(words) };
            match self.has_key(pager, &home, key)? {
                Some(true) => {
                    let home = Some(home);
                    return Ok(Found { index_key, home, other: None, is_beyond });
                }
                Some(false) if is_passed => probe += 1,
                Some(false) => {
                    let other = Some(address);
                    return Ok(Found { index_key, home: None, other, is_beyond });
                }
                // The record has changed.
                None => {}
            }
        }
        Err(too_many_probes())
    }

    /// Returns true if a record has this key; `None` if it has changed since it was found.
    #[inline(always)]
    fn has_key(&self, pager: &Pager, home: &Home<'_>, key: &[u8]) -> Result<Option<bool>> {
        match self.index_keys {
            IndexKeys::Keys => Ok(Some(true)),
            IndexKeys::Digests { .. } => self.compare_key(pager, home, key),
        }
    }

    fn compare_key(&self, pager: &Pager, home: &Home<'_>, key: &[u8]) -> Result<Option<bool>> {
        /// Bytes of a key that need no allocation.
        const SHORT: usize = 64;
        let mut short = [0; SHORT];
        let mut long = Vec::new();
        let own = if key.len() <= SHORT {
            &mut short[..key.len()]
        } else {
            long.resize(key.len(), 0);
            &mut long[..]
        };
        let Some(slot) = home.page.slot(home.address.slot.into()) else {
            return if home.seen.validate() { Err(home.address.wrong()) } else { Ok(None) };
        };
        if !slot.is_long && slot.size < key.len() {
            // Where keys have all lengths, this record has another key.
            return Ok(home.seen.validate().then_some(false));
        }
        if !slot.is_long {
            // All of it, since the bytes after the key are read next.
            home.page.fetch(slot, 0..slot.size);
            home.page.read(slot, 0, own);
            return Ok(home.seen.validate().then(|| own == key));
        }
        let Some((head, cut)) = self.head_of(home, slot)? else { return Ok(None) };
        let Some(first) = long::pages_of(&head, cut).next() else {
            return Err(long::wrong_head(home.address.page));
        };
        let piece = pager.read_optimistic(first);
        if !home.seen.validate() {
            return Ok(None);
        }
        let (seen, words) = piece?;
        long::read_piece(words, 0, own);
        Ok((seen.validate() && home.seen.validate()).then(|| own == key))
    }

    /// Copies the record's payload; returns false if the record does not exist.
    #[inline]
    pub(crate) fn get(
        &self,
        index: &impl Index,
        pager: &Pager,
        key: &[u8],
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<bool> {
        for _ in 0..MOST_ATTEMPTS {
            let Some(home) = self.find(index, pager, key)?.home else { return Ok(false) };
            if self.read(pager, &home, self.index_keys.front(key), payload)? {
                return Ok(true);
            }
        }
        let moment = pager.moment();
        let found = self.get_at(index, pager, moment, key, payload);
        pager.release(moment);
        Ok(found?.is_some())
    }

    /// Copies the payload of a record, if it exists, and returns its location. The payload is right
    /// as long as the page there is as it was seen.
    fn read_consistent<'k, 'p>(
        &self,
        index: &impl Index,
        pager: &'p Pager,
        key: &'k [u8],
        payload: &mut Vec<u8>,
    ) -> Result<Found<'k, 'p>> {
        for _ in 0..MOST_ATTEMPTS {
            let found = self.find(index, pager, key)?;
            let Some(home) = &found.home else { return Ok(found) };
            if self.read(pager, home, self.index_keys.front(key), payload)? {
                return Ok(found);
            }
        }
        loop {
            let moment = pager.moment();
            let address = self.get_at(index, pager, moment, key, payload);
            let found = self.find(index, pager, key);
            let is_same = |home: &Home<'_>, address: Option<Address>| {
                address == Some(home.address) && !pager.has_changed_since(moment, home.address.page)
            };
            let consistent = match (address, found) {
                (Err(error), _) | (_, Err(error)) => Some(Err(error)),
                (Ok(address), Ok(found)) => {
                    let is_consistent =
                        found.home.as_ref().is_none_or(|home| is_same(home, address));
                    is_consistent.then_some(Ok(found))
                }
            };
            pager.release(moment);
            if let Some(consistent) = consistent {
                return consistent;
            }
        }
    }

    /// Copies the payload that a record had at a moment; returns its address then, if it existed.
    pub(crate) fn get_at(
        &self,
        index: &impl Index,
        pager: &Pager,
        moment: ReadEpoch,
        key: &[u8],
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<Option<Address>> {
        for probe in 0..MOST_PROBES {
            let mut entry = [0; Entry::BYTES];
            let index_key = self.index_keys.index_key(key, probe);
            if !index.get_at(pager, moment, index_key.bytes(), &mut entry)? {
                return Ok(None);
            }
            let entry = Entry::of(entry);
            let Some(address) = entry.address else { continue };
            if let IndexKeys::Keys = self.index_keys {
                self.read_at(pager, moment, address, payload)?;
                return Ok(Some(address));
            }
            let mut whole = Vec::new();
            self.read_at(pager, moment, address, &mut whole)?;
            if let Some(its_payload) = whole.strip_prefix(key) {
                let to = payload.of_size(its_payload.len()).ok_or_else(|| address.wrong())?;
                to.copy_from_slice(its_payload);
                return Ok(Some(address));
            }
            if !entry.is_passed {
                return Ok(None);
            }
        }
        Err(too_many_probes())
    }

    /// Returns the index key of a key, if no other key has the same digest.
    pub(crate) fn index_key<'k>(&self, key: &'k [u8]) -> IndexKey<'k> {
        self.index_keys.index_key(key, 0)
    }

    /// Finds the page of a record; `None` if it does not exist, or at an error.
    pub(crate) fn page_of(
        &self,
        index: &impl Index,
        pager: &Pager,
        key: &[u8],
    ) -> Option<PageNumber> {
        let mut address = None;
        let located = index.locate(pager, self.index_key(key).bytes(), |bytes| {
            address = Entry::of(bytes).address;
        });
        located.ok().and(address).map(|address| address.page)
    }

    /// Has the processor fetch what a lookup of the record will look at; the index's part should
    /// have come already.
    pub(crate) fn fetch(&self, index: &impl Index, pager: &Pager, key: &[u8]) {
        // The lookup itself reports errors.
        let _ = index.locate(pager, self.index_key(key).bytes(), |bytes| {
            Self::fetch_slot(pager, Entry::of(bytes));
        });
    }

    /// Returns true if the page of a record has changed since a moment: so it does with each piece.
    pub(crate) fn has_changed_since(pager: &Pager, moment: ReadEpoch, entry: Entry) -> bool {
        entry.address.is_some_and(|address| pager.has_changed_since(moment, address.page))
    }

    /// Returns true if a record may have been written since a moment. The gate is closed.
    pub(crate) fn is_written_since(&self, moment: ReadEpoch) -> bool {
        !moment.sees(Epoch::load(&self.written_in, Ordering::Acquire))
    }

    /// Has the processor fetch the slot of a record.
    pub(crate) fn fetch_slot(pager: &Pager, entry: Entry) {
        let Some(address) = entry.address else { return };
        if let Some((_, words)) = pager.try_read(address.page) {
            let page = HeapPage::new(words);
            page.fetch_slot(address.slot.into());
            page.fetch_hinted(entry.hint);
        }
    }

    /// Has the processor fetch a record, whose [slot](Self::fetch_slot) should have come already.
    pub(crate) fn fetch_record(pager: &Pager, entry: Entry) {
        let Some(address) = entry.address else { return };
        if let Some((_, words)) = pager.try_read(address.page) {
            // A record that is being changed leads to some other line of the page.
            let page = HeapPage::new(words);
            page.slot(address.slot.into()).iter().for_each(|slot| page.fetch(*slot, 0..slot.size));
        }
    }

    /// Reads a record where it was found, without the first `front` bytes, its key; returns false
    /// if it has changed since.
    fn read(
        &self,
        pager: &Pager,
        home: &Home<'_>,
        front: usize,
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<bool> {
        let Home { address, seen, page } = home;
        let Some(slot) = page.slot(address.slot.into()) else {
            return if seen.validate() { Err(address.wrong()) } else { Ok(false) };
        };
        if slot.is_long {
            return self.read_long(pager, home, slot, front, payload);
        }
        page.fetch(slot, front..slot.size.max(front));
        let bytes = slot.size.checked_sub(front).and_then(|size| payload.of_size(size));
        let fits = bytes.map(|bytes| page.read(slot, front, bytes)).is_some();
        match seen.validate() {
            true if !fits => Err(address.wrong()),
            still => Ok(still),
        }
    }

    #[cold]
    fn read_long(
        &self,
        pager: &Pager,
        home: &Home<'_>,
        slot: Slot,
        front: usize,
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<bool> {
        let Some((head, cut)) = self.head_of(home, slot)? else { return Ok(false) };
        // Without its key, which is in the first piece.
        let size = cut.size - front;
        let Some(bytes) = payload.of_size(size) else { return Err(home.address.wrong()) };
        bytes[size - cut.rest..].copy_from_slice(long::rest_of(&head, cut));
        for (at, number) in long::pages_of(&head, cut).enumerate() {
            let piece = pager.read_optimistic(number);
            // The piece was looked at while the head led to it.
            if !home.seen.validate() {
                return Ok(false);
            }
            let (seen, words) = piece?;
            let piece = cut.piece(at);
            let skipped = front.saturating_sub(piece.start);
            let to = &mut bytes[piece.start + skipped - front..piece.end - front];
            let is_piece = long::read_piece(words, skipped, to);
            match seen.validate() {
                true if is_piece => {}
                true => return Err(long::wrong_head(home.address.page)),
                false => return Ok(false),
            }
        }
        // A thread that changes a piece changes its head too.
        Ok(home.seen.validate())
    }

    /// Copies all bytes that the heap had of a record at an address at a moment: its payload, or
    /// its key and its payload.
    pub(crate) fn read_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        address: Address,
        whole: &mut (impl Buffer + ?Sized),
    ) -> Result<()> {
        let found = pager.at(moment, address.page, |words| {
            let page = HeapPage::new(words);
            let slot = page.slot(address.slot.into())?;
            if !slot.is_long {
                page.read(slot, 0, whole.of_size(slot.size)?);
            }
            Some(slot)
        })?;
        let slot = found.ok_or_else(|| address.wrong())?;
        if !slot.is_long {
            return Ok(());
        }
        let (head, cut) = self.head_at(pager, moment, address)?;
        let bytes = whole.of_size(cut.size).ok_or_else(|| address.wrong())?;
        bytes[cut.size - cut.rest..].copy_from_slice(long::rest_of(&head, cut));
        for (at, number) in long::pages_of(&head, cut).enumerate() {
            let piece = &mut bytes[cut.piece(at)];
            if !pager.at(moment, number, |words| long::read_piece(words, 0, piece))? {
                return Err(long::wrong_head(address.page));
            }
        }
        Ok(())
    }
}

impl Heap {
    /// Returns the head of a long record where it was found, and its cut; `None` if it has changed
    /// since.
    fn head_of(&self, home: &Home<'_>, slot: Slot) -> Result<Option<(Vec<u8>, Cut)>> {
        let mut head = vec![0; slot.size];
        home.page.read(slot, 0, &mut head);
        if !home.seen.validate() {
            return Ok(None);
        }
        let own = home.address.page;
        let cut = Cut::of_head(&head).ok_or_else(|| long::wrong_head(own))?;
        let mut pages: Vec<_> = long::pages_of(&head, cut).chain([own]).collect();
        if pager::differ(&mut pages) && pages.iter().all(|page| self.space.has(*page)) {
            Ok(Some((head, cut)))
        } else {
            Err(long::wrong_head(own))
        }
    }

    /// Returns the head of a long record that was at an address at a moment, and its cut.
    fn head_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        address: Address,
    ) -> Result<(Vec<u8>, Cut)> {
        let head = pager.at(moment, address.page, |words| {
            let page = HeapPage::new(words);
            let slot = page.slot(address.slot.into())?;
            let mut head = vec![0; slot.size];
            page.read(slot, 0, &mut head);
            Some(head)
        })?;
        let head = head.ok_or_else(|| address.wrong())?;
        let cut = Cut::of_head(&head).ok_or_else(|| long::wrong_head(address.page))?;
        Ok((head, cut))
    }
}

/// Returns the error of a key that could be under any number of digests.
fn too_many_probes() -> Error {
    Error::corrupt("the index of a heap", "there are too many records with the same digest")
}

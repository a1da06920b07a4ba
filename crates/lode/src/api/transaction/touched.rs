//! The records of one table that a transaction has read and written.

use std::collections::HashMap;
use std::sync::Arc;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::engine::CommitSize;
use crate::pager::PageNumber;
use crate::table::{Secondaries, TableCore};
use crate::tree::Range;

/// The least bytes of payloads at which unused ones are dropped.
const LEAST_SPARSE_BYTES: usize = 1 << 20;

/// Bytes that [`in_order`](Touched::in_order) takes up for each record.
pub(super) const BYTES_OF_ORDER: usize = size_of::<(u64, u32)>() + size_of::<u32>();

/// Bytes that were copied.
#[derive(Clone, Copy)]
struct Piece {
    from: u32,
    size: u32,
    /// Bytes that the piece has room for.
    room: u32,
}

/// The wanted payload of a record, if it was written. A copy of it stays good as long as the record
/// is written so that its old payload is [kept](Overwrite::Keep), and until
/// [`drop_old`](Touched::drop_old).
#[derive(Clone, Copy)]
pub(super) struct Wanted(Option<Option<Piece>>);

/// The treatment of the wanted payload that a write replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overwrite {
    /// The old payload is not needed any more.
    Replace,
    /// The record may get the old payload back.
    Keep,
}

/// A record that a transaction has read or written.
struct Entry {
    /// The end of its key in `keys`.
    key_end: u32,
    /// The payload that was read.
    seen: Option<Piece>,
    /// The new payload, if the record was written.
    wanted: Option<Option<Piece>>,
    /// A page that writing it changes, if one is known.
    page: Option<PageNumber>,
}

/// The number of a record, with the hash of its key: so a lookup reads no other key, and the growth
/// of the table reads none.
#[derive(Clone, Copy)]
struct Numbered {
    hash: u32,
    number: u32,
}

impl Numbered {
    /// Spreads a hash for [`HashTable`]: a place in the low bits, and a tag in the high ones.
    fn spread(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

/// The records of a table that a transaction has read or written, numbered as they came. Keys are
/// as the table's index has them.
pub(super) struct Touched {
    core: Arc<TableCore>,
    /// The secondary indexes whose entries are written with the records, from the first write on.
    secondaries: Option<Arc<Secondaries>>,
    keys: Vec<u8>,
    entries: Vec<Entry>,
    /// The numbers, by the hashes of the keys.
    numbers: HashTable<Numbered>,
    payloads: Vec<u8>,
    /// The bytes of payloads above which those that no record needs are dropped.
    sparse_above_bytes: usize,
    written: CommitSize,
    /// The pages that are known to change, each with the number of written records that change it.
    pages: HashMap<PageNumber, u32>,
}

impl Touched {
    pub(super) fn new(core: Arc<TableCore>) -> Self {
        let keys = Vec::new();
        let entries = Vec::new();
        let payloads = Vec::new();
        let numbers = HashTable::new();
        let sparse_above_bytes = LEAST_SPARSE_BYTES;
        let written = CommitSize::default();
        let pages = HashMap::new();
        Self {
            core,
            secondaries: None,
            keys,
            entries,
            numbers,
            payloads,
            sparse_above_bytes,
            written,
            pages,
        }
    }

    pub(super) fn core(&self) -> &Arc<TableCore> {
        &self.core
    }

    /// Returns the secondary indexes whose entries a write has to change; `None` if it has none, or
    /// has others than earlier writes had.
    pub(super) fn secondaries(&mut self) -> Option<Arc<Secondaries>> {
        let now = self.core.secondaries();
        if self.written.records == 0 {
            self.secondaries = Some(now);
        }
        self.secondaries.clone().filter(|_| self.has_same_secondaries())
    }

    /// Returns true if the table has the secondary indexes now whose entries were written.
    pub(super) fn has_same_secondaries(&self) -> bool {
        match &self.secondaries {
            None => !self.core.is_indexed(),
            Some(written) => Arc::ptr_eq(written, &self.core.secondaries()),
        }
    }

    /// Returns the number and the bytes of the written records.
    pub(super) fn written_size(&self) -> CommitSize {
        self.written
    }

    /// Returns by how many records the writes make the table larger; below 0, smaller.
    pub(super) fn written_more(&self) -> i64 {
        let more = |entry: &Entry| match (entry.seen, entry.wanted) {
            (None, Some(Some(_))) => 1,
            (Some(_), Some(None)) => -1,
            _ => 0,
        };
        self.entries.iter().map(more).sum()
    }

    /// Returns the number of pages that are known to change.
    pub(super) fn changed_pages(&self) -> usize {
        self.pages.len()
    }

    /// Notes a page that writing a record will change, unless it has been written.
    pub(super) fn note_page(
        &mut self,
        number: usize,
        find: impl FnOnce(&[u8]) -> Option<PageNumber>,
    ) {
        if self.entries[number].wanted.is_none() {
            self.entries[number].page = find(self.key(number));
        }
    }

    /// Sets the wanted payload of a record, in place of the one before.
    fn set(&mut self, number: usize, wanted: Option<Option<Piece>>) {
        for (wanted, is_added) in [(self.entries[number].wanted, false), (wanted, true)] {
            let Some(wanted) = wanted else { continue };
            let bytes = wanted.map_or(0, |piece| piece.size as usize);
            let CommitSize { records, bytes: all_bytes } = &mut self.written;
            for (sum, by) in [(records, 1), (all_bytes, bytes)] {
                debug_assert!(is_added || *sum >= by, "what is taken off was counted");
                *sum = if is_added { *sum + by } else { *sum - by };
            }
        }
        let was_written = self.entries[number].wanted.is_some();
        if let Some(page) = self.entries[number].page.filter(|_| was_written != wanted.is_some()) {
            let count = self.pages.entry(page).or_default();
            debug_assert!(*count > 0 || !was_written, "a page was counted for each of its records");
            *count = if was_written { *count - 1 } else { *count + 1 };
            if *count == 0 {
                self.pages.remove(&page);
            }
        }
        self.entries[number].wanted = wanted;
    }

    /// Returns the bytes that all of it takes up, about.
    pub(super) fn size_bytes(&self) -> usize {
        /// An entry, its number, and the spare room of both.
        const OVERHEAD: usize = 2 * (size_of::<Entry>() + size_of::<Numbered>());
        let pages = self.pages.len() * 2 * size_of::<(PageNumber, u32)>();
        self.keys.len() + self.payloads.len() + self.entries.len() * OVERHEAD + pages
    }

    /// Returns the bytes that a [copy](Self::written) of the writes takes up, about.
    pub(super) fn copy_bytes(&self) -> usize {
        /// Two byte strings, each by itself on the heap.
        const OVERHEAD: usize = size_of::<(Vec<u8>, Option<Vec<u8>>)>() + 2 * size_of::<u128>();
        self.written.records * OVERHEAD + self.keys.len() + self.written.bytes
    }

    fn hash(&self, key: &[u8]) -> u32 {
        xxh3_64_with_seed(key, self.core.definition().seed) as u32
    }

    /// Returns the number of records.
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Returns the key of a record.
    pub(super) fn key(&self, number: usize) -> &[u8] {
        let end = |number: usize| self.entries[number].key_end as usize;
        &self.keys[number.checked_sub(1).map_or(0, end)..end(number)]
    }

    /// Returns the number of the record with a key.
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let hash = self.hash(key);
        let is_it = |it: &Numbered| it.hash == hash && self.key(it.number as usize) == key;
        self.numbers.find(Numbered::spread(hash), is_it).map(|it| it.number as usize)
    }

    /// Notes the payload of a record that is new here; returns its number.
    pub(super) fn note(&mut self, key: &[u8], seen: Option<&[u8]>) -> usize {
        debug_assert!(self.find(key).is_none(), "a record is noted once");
        let number = self.entries.len();
        let seen = seen.map(|payload| self.keep(payload));
        self.keys.extend_from_slice(key);
        self.entries.push(Entry {
            key_end: self.keys.len() as u32,
            seen,
            wanted: None,
            page: None,
        });
        let hash = self.hash(key);
        let numbered = Numbered { hash, number: number as u32 };
        let spread = |it: &Numbered| Numbered::spread(it.hash);
        self.numbers.insert_unique(Numbered::spread(hash), numbered, spread);
        number
    }

    fn keep(&mut self, payload: &[u8]) -> Piece {
        // A transaction is smaller than what 32 bits can count.
        let end = self.payloads.len() + payload.len();
        debug_assert!(u32::try_from(end).is_ok(), "32 bits have a place in a transaction");
        let from = self.payloads.len() as u32;
        let size = payload.len() as u32;
        let piece = Piece { from, size, room: size };
        self.payloads.extend_from_slice(payload);
        piece
    }

    fn bytes(&self, piece: Piece) -> &[u8] {
        &self.payloads[piece.from as usize..][..piece.size as usize]
    }

    /// Returns the payload of a record as it was read.
    pub(super) fn seen(&self, number: usize) -> Option<&[u8]> {
        self.entries[number].seen.map(|piece| self.bytes(piece))
    }

    /// Returns the wanted payload of a record, if it was written.
    pub(super) fn wanted(&self, number: usize) -> Option<Option<&[u8]>> {
        self.entries[number].wanted.map(|wanted| wanted.map(|piece| self.bytes(piece)))
    }

    /// Returns the payload of a record as the transaction sees it.
    pub(super) fn current(&self, number: usize) -> Option<&[u8]> {
        self.wanted(number).unwrap_or_else(|| self.seen(number))
    }

    /// Sets the wanted payload of a record.
    pub(super) fn put(&mut self, number: usize, payload: &[u8], overwrite: Overwrite) {
        let has_room = |before: Piece| {
            overwrite == Overwrite::Replace && payload.len() <= before.room as usize
        };
        let piece = match self.entries[number].wanted {
            Some(Some(before)) if has_room(before) => {
                let piece = Piece { size: payload.len() as u32, ..before };
                self.payloads[piece.from as usize..][..payload.len()].copy_from_slice(payload);
                piece
            }
            _ => self.keep(payload),
        };
        self.set(number, Some(Some(piece)));
    }

    /// Notes that a record is to be deleted.
    pub(super) fn delete(&mut self, number: usize) {
        self.set(number, Some(None));
    }

    /// Returns the wanted payload of a record, to be [restored](Self::restore).
    pub(super) fn wanted_now(&self, number: usize) -> Wanted {
        Wanted(self.entries[number].wanted)
    }

    /// Restores the wanted payload of a record.
    pub(super) fn restore(&mut self, number: usize, Wanted(before): Wanted) {
        let undone = self.entries[number].wanted;
        self.set(number, before);
        if let Some(undone) = undone.flatten()
            && undone.from + undone.room == self.payloads.len() as u32
            && before.flatten().is_none_or(|before| before.from != undone.from)
        {
            debug_assert!(undone.from as usize <= self.payloads.len(), "the last piece goes");
            self.payloads.truncate(undone.from as usize);
        }
    }

    /// Forgets all writes; what was read stays.
    pub(super) fn forget_writes(&mut self) {
        (0..self.count()).for_each(|number| self.set(number, None));
        debug_assert!(self.written == CommitSize::default(), "nothing is written any more");
        self.drop_old();
    }

    /// Drops the payloads that no record has or will have, if there may be many of them.
    pub(super) fn drop_old(&mut self) {
        if self.payloads.len() <= self.sparse_above_bytes {
            return;
        }
        let old = std::mem::take(&mut self.payloads);
        let payloads = &mut self.payloads;
        for Entry { seen, wanted, .. } in &mut self.entries {
            for piece in seen.iter_mut().chain(wanted.iter_mut().flatten()) {
                let from = payloads.len() as u32;
                let size = piece.size;
                payloads.extend_from_slice(&old[piece.from as usize..][..size as usize]);
                *piece = Piece { from, size, room: size };
            }
        }
        debug_assert!(payloads.len() <= old.len(), "no more is kept than there was");
        self.sparse_above_bytes = (2 * payloads.len()).max(LEAST_SPARSE_BYTES);
    }

    /// Copies the writes, all or a range, in the order of keys.
    pub(super) fn written(&self, range: Option<&Range>) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let written = (0..self.count()).filter_map(|number| {
            let key = self.key(number);
            let wanted = self.wanted(number)?;
            let is_asked_for = range.is_none_or(|range| range.contains(key));
            is_asked_for.then(|| (key.to_vec(), wanted.map(<[u8]>::to_vec)))
        });
        let mut written: Vec<_> = written.collect();
        written.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        written
    }

    /// Returns the numbers in the order of keys: neighbours are in the same pages of a tree.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let front = |number: u32| {
            let key = self.key(number as usize);
            let mut front = [0; 8];
            let size = key.len().min(8);
            front[..size].copy_from_slice(&key[..size]);
            u64::from_be_bytes(front)
        };
        // Compares the first bytes next to the numbers, and whole keys only if these are equal.
        let mut fronts: Vec<_> =
            (0..self.count() as u32).map(|number| (front(number), number)).collect();
        fronts.sort_unstable_by(|(a_front, a), (b_front, b)| {
            a_front.cmp(b_front).then_with(|| self.key(*a as usize).cmp(self.key(*b as usize)))
        });
        fronts.into_iter().map(|(_, number)| number).collect()
    }
}

#[cfg(test)]
mod tests;

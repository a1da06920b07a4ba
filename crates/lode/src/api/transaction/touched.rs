//! What a transaction has read and written of one table.

use std::sync::Arc;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::table::TableCore;
use crate::tree::Range;

/// Bytes that were copied.
#[derive(Clone, Copy)]
struct Piece {
    from: u32,
    size: u32,
    /// How many bytes there is room for.
    room: u32,
}

/// A record that a transaction has dealt with.
struct Entry {
    /// Where its key ends.
    key_end: u32,
    /// The payload that it had.
    seen: Option<Piece>,
    /// The one that it shall have, if it was written.
    wanted: Option<Option<Piece>>,
}

/// The records of a table that a transaction has dealt with, numbered as they came. Keys are as the
/// table's index has them.
pub(super) struct Touched {
    core: Arc<TableCore>,
    keys: Vec<u8>,
    entries: Vec<Entry>,
    /// The numbers, by the hashes of the keys.
    numbers: HashTable<u32>,
    payloads: Vec<u8>,
    /// Bytes of the payloads that records shall have.
    written_bytes: usize,
}

impl Touched {
    pub(super) fn new(core: Arc<TableCore>) -> Self {
        let (keys, entries, payloads) = (Vec::new(), Vec::new(), Vec::new());
        Self { core, keys, entries, numbers: HashTable::new(), payloads, written_bytes: 0 }
    }

    pub(super) fn core(&self) -> &Arc<TableCore> {
        &self.core
    }

    /// Bytes of the payloads that records shall have.
    pub(super) fn written_bytes(&self) -> usize {
        self.written_bytes
    }

    /// Bytes that it takes up, about.
    pub(super) fn size_bytes(&self) -> usize {
        /// An entry, its number, and the room that both have left over.
        const OVERHEAD: usize = 2 * (size_of::<Entry>() + size_of::<u32>());
        self.keys.len() + self.payloads.len() + self.entries.len() * OVERHEAD
    }

    fn hash(&self, key: &[u8]) -> u64 {
        xxh3_64_with_seed(key, self.core.definition().seed)
    }

    /// How many records there are.
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    /// The key of a record.
    pub(super) fn key(&self, number: usize) -> &[u8] {
        key_of(&self.keys, &self.entries, number)
    }

    /// The number of the record with a key.
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let is_it = |number: &u32| self.key(*number as usize) == key;
        self.numbers.find(self.hash(key), is_it).map(|number| *number as usize)
    }

    /// Notes what a record was that was not dealt with before; returns its number.
    pub(super) fn note(&mut self, key: &[u8], seen: Option<&[u8]>) -> usize {
        let number = self.entries.len();
        let seen = seen.map(|payload| self.keep(payload));
        self.keys.extend_from_slice(key);
        self.entries.push(Entry { key_end: self.keys.len() as u32, seen, wanted: None });
        let seed = self.core.definition().seed;
        let (keys, entries) = (&self.keys, &self.entries);
        let hash = |number: &u32| xxh3_64_with_seed(key_of(keys, entries, *number as usize), seed);
        self.numbers.insert_unique(xxh3_64_with_seed(key, seed), number as u32, hash);
        number
    }

    fn keep(&mut self, payload: &[u8]) -> Piece {
        // A transaction is smaller than what 32 bits can count.
        let (from, size) = (self.payloads.len() as u32, payload.len() as u32);
        let piece = Piece { from, size, room: size };
        self.payloads.extend_from_slice(payload);
        piece
    }

    fn bytes(&self, piece: Piece) -> &[u8] {
        &self.payloads[piece.from as usize..][..piece.size as usize]
    }

    /// What a record was.
    pub(super) fn seen(&self, number: usize) -> Option<&[u8]> {
        self.entries[number].seen.map(|piece| self.bytes(piece))
    }

    /// What a record shall be, if it was written.
    pub(super) fn wanted(&self, number: usize) -> Option<Option<&[u8]>> {
        self.entries[number].wanted.map(|wanted| wanted.map(|piece| self.bytes(piece)))
    }

    /// What a record is for the transaction.
    pub(super) fn current(&self, number: usize) -> Option<&[u8]> {
        self.wanted(number).unwrap_or_else(|| self.seen(number))
    }

    /// A record shall have this payload.
    pub(super) fn put(&mut self, number: usize, payload: &[u8]) {
        self.written_bytes = self.written_bytes - self.wanted_bytes(number) + payload.len();
        let piece = match self.entries[number].wanted {
            // In the place of what it should have been before.
            Some(Some(before)) if payload.len() <= before.room as usize => {
                let piece = Piece { size: payload.len() as u32, ..before };
                self.payloads[piece.from as usize..][..payload.len()].copy_from_slice(payload);
                piece
            }
            _ => self.keep(payload),
        };
        self.entries[number].wanted = Some(Some(piece));
    }

    fn wanted_bytes(&self, number: usize) -> usize {
        self.wanted(number).flatten().map_or(0, <[u8]>::len)
    }

    /// A record shall not be there.
    pub(super) fn delete(&mut self, number: usize) {
        self.written_bytes -= self.wanted_bytes(number);
        self.entries[number].wanted = Some(None);
    }

    /// A record shall have what it should have had before: `wanted` is what that was, if it had been
    /// written.
    pub(super) fn restore(&mut self, number: usize, wanted: Option<Option<&[u8]>>) {
        match wanted {
            Some(Some(payload)) => self.put(number, payload),
            Some(None) => self.delete(number),
            None => {
                self.written_bytes -= self.wanted_bytes(number);
                self.entries[number].wanted = None;
            }
        }
    }

    /// A copy of what was written, of all or of a range, in the order of keys.
    pub(super) fn written(&self, range: Option<&Range>) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let written = (0..self.count()).filter_map(|number| {
            let (key, wanted) = (self.key(number), self.wanted(number)?);
            let is_asked_for = range.is_none_or(|range| range.contains(key));
            is_asked_for.then(|| (key.to_vec(), wanted.map(<[u8]>::to_vec)))
        });
        let mut written: Vec<_> = written.collect();
        written.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        written
    }

    /// The numbers in the order of keys: neighbours are in the same pages of a tree.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let front = |number: u32| {
            let key = self.key(number as usize);
            let mut front = [0; 8];
            let size = key.len().min(8);
            front[..size].copy_from_slice(&key[..size]);
            u64::from_be_bytes(front)
        };
        // Sorted by what is beside the numbers, as far as that goes.
        let mut fronts: Vec<_> =
            (0..self.count() as u32).map(|number| (front(number), number)).collect();
        fronts.sort_unstable_by(|(a_front, a), (b_front, b)| {
            a_front.cmp(b_front).then_with(|| self.key(*a as usize).cmp(self.key(*b as usize)))
        });
        fronts.into_iter().map(|(_, number)| number).collect()
    }
}

/// The key of a record.
fn key_of<'k>(keys: &'k [u8], entries: &[Entry], number: usize) -> &'k [u8] {
    let end = |number: usize| entries[number].key_end as usize;
    &keys[number.checked_sub(1).map_or(0, end)..end(number)]
}

//! The content of a file, sector by sector.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::history::{Fate, History};
use super::random::Random;

/// Bytes that are written wholly or not at all.
pub(super) const SECTOR_BYTES: usize = 512;

/// The bytes of a sector; `None` if all are zeros, as where files are made longer or cut off.
type Sector = Option<Box<[u8; SECTOR_BYTES]>>;

const ZEROS: [u8; SECTOR_BYTES] = [0; SECTOR_BYTES];

/// A file's content.
///
/// Sectors without a history are durable as they are seen. Beyond the file's end all is zeros.
#[derive(Clone)]
pub(super) struct Content {
    /// The bytes as they are seen.
    bytes: Vec<u8>,
    length: History<usize>,
    /// The sectors that a crash may change.
    sectors: BTreeMap<usize, History<Sector>>,
    /// Sectors that have no space.
    holes: BTreeSet<usize>,
}

impl Content {
    /// Returns content that is durable.
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        let length = History::new(bytes.len());
        Self { length, bytes, sectors: BTreeMap::new(), holes: BTreeSet::new() }
    }

    /// Returns the bytes as they are seen.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes of space that the content takes up.
    pub(super) fn space_bytes(&self) -> u64 {
        (self.bytes.len() - self.holes.len() * SECTOR_BYTES) as u64
    }

    /// Returns true if a part has no space.
    pub(super) fn has_holes(&self) -> bool {
        !self.holes.is_empty()
    }

    /// Returns the bytes of space that a part needs, or its extension of the file.
    pub(super) fn space_for(&self, bytes: &Range<u64>) -> u64 {
        let holes = self.holes.range(sectors(bytes)).count() * SECTOR_BYTES;
        holes as u64 + bytes.end.saturating_sub(self.bytes.len() as u64)
    }

    /// Sets space aside for a part of the content.
    pub(super) fn set_aside(&mut self, bytes: &Range<u64>) {
        let part = sectors(bytes);
        self.holes.retain(|sector| !part.contains(sector));
    }

    /// Gives the space of the whole sectors of a part back, which read as zeros.
    pub(super) fn punch(&mut self, bytes: &Range<u64>) {
        let all = (bytes.end as usize).min(self.bytes.len()) / SECTOR_BYTES;
        for sector in (bytes.start as usize).div_ceil(SECTOR_BYTES)..all {
            let at = sector * SECTOR_BYTES;
            self.change(sector, |content| content[at..at + SECTOR_BYTES].fill(0));
            self.holes.insert(sector);
        }
    }

    /// Writes bytes from offset `at` on; bytes between the end and there are zeros from now on.
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if !bytes.is_empty() && end > self.bytes.len() {
            self.set_size(end);
        }
        self.set_aside(&(at as u64..end as u64));
        for (at, piece) in pieces(at, bytes) {
            self.change(at / SECTOR_BYTES, |content| {
                content[at..at + piece.len()].copy_from_slice(piece);
            });
        }
    }

    /// Writes some of the sectors of the bytes at offset `at`: the first few, or any.
    pub(super) fn write_some(&mut self, at: usize, bytes: &[u8], random: &mut Random) {
        let pieces: Vec<_> = pieces(at, bytes).collect();
        let prefix = (random.below(2) == 0).then(|| random.below(pieces.len() as u64 + 1) as usize);
        for (number, (at, piece)) in pieces.into_iter().enumerate() {
            if prefix.map_or_else(|| random.below(2) == 0, |prefix| number < prefix) {
                self.write(at, piece);
            }
        }
    }

    /// Sets the length. New bytes read as zeros.
    pub(super) fn set_size(&mut self, size: usize) {
        // The part cut off has to be zeros when the file grows again, so its sectors change.
        let mut at = size;
        while at < self.bytes.len() {
            let end = self.bytes.len().min((at / SECTOR_BYTES + 1) * SECTOR_BYTES);
            self.change(at / SECTOR_BYTES, |content| content[at..end].fill(0));
            at = end;
        }
        self.bytes.resize(size, 0);
        self.length.set(size);
        self.holes.retain(|sector| (sector + 1) * SECTOR_BYTES <= size);
    }

    /// Makes the seen bytes durable, except those that a failed sync has lost.
    pub(super) fn sync(&mut self) {
        self.length.sync();
        self.sectors.retain(|_, sector| {
            sector.sync();
            !sector.is_durable()
        });
    }

    /// Loses changes that are not durable, without a trace, unless they are written again.
    pub(super) fn fail_sync(&mut self) {
        self.length.fail_sync();
        self.sectors.values_mut().for_each(History::fail_sync);
    }

    /// Becomes the content that a crash leaves.
    pub(super) fn crash(&mut self, fate: &mut Fate) {
        let length = fate.choose(std::mem::replace(&mut self.length, History::new(0)));
        self.length = History::new(length);
        self.bytes.resize(length, 0);
        self.holes.retain(|sector| (sector + 1) * SECTOR_BYTES <= length);
        for (number, history) in std::mem::take(&mut self.sectors) {
            let sector = fate.choose(history);
            if let Some(left) = self.bytes.get_mut(number * SECTOR_BYTES..) {
                let size = left.len().min(SECTOR_BYTES);
                left[..size].copy_from_slice(&sector.as_deref().unwrap_or(&ZEROS)[..size]);
            }
        }
    }

    /// Flips a bit in all versions of the sector, so that a crash does not flip it back.
    pub(super) fn flip_bit(&mut self, bit: u64) {
        let at = (bit / 8) as usize;
        let mask = 1 << (bit % 8);
        self.bytes[at] ^= mask;
        if let Some(history) = self.sectors.get_mut(&(at / SECTOR_BYTES)) {
            history.versions_mut().for_each(|sector| {
                sector.get_or_insert_with(|| Box::new(ZEROS))[at % SECTOR_BYTES] ^= mask;
            });
        }
    }

    /// Changes the seen bytes of one sector, and notes it in its history.
    fn change(&mut self, sector: usize, change: impl FnOnce(&mut [u8])) {
        let Self { bytes, sectors, .. } = self;
        let history =
            sectors.entry(sector).or_insert_with(|| History::new(copy_of_sector(bytes, sector)));
        change(bytes);
        history.set(copy_of_sector(bytes, sector));
    }
}

/// Returns a sector as it is seen.
fn copy_of_sector(bytes: &[u8], sector: usize) -> Sector {
    let left = bytes.get(sector * SECTOR_BYTES..).unwrap_or_default();
    let seen = &left[..left.len().min(SECTOR_BYTES)];
    if *seen == ZEROS[..seen.len()] {
        return None;
    }
    let mut copy = Box::new(ZEROS);
    copy[..seen.len()].copy_from_slice(seen);
    Some(copy)
}

/// Returns the sectors that hold the bytes.
fn sectors(bytes: &Range<u64>) -> Range<usize> {
    let sector = |at: u64| at as usize / SECTOR_BYTES;
    let end = if bytes.is_empty() { sector(bytes.start) } else { sector(bytes.end - 1) + 1 };
    sector(bytes.start)..end
}

/// Cuts bytes that are written at offset `at` where sectors end.
fn pieces(mut at: usize, mut bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    std::iter::from_fn(move || {
        let size = bytes.len().min(SECTOR_BYTES - at % SECTOR_BYTES);
        let (piece, rest) = bytes.split_at(size);
        let start = at;
        (at, bytes) = (at + size, rest);
        (size > 0).then_some((start, piece))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_cut_where_sectors_end() {
        let sizes = |at, size| -> Vec<_> {
            let bytes = vec![0; size];
            pieces(at, &bytes).map(|(at, piece)| (at, piece.len())).collect()
        };
        assert_eq!(sizes(500, 0), []);
        assert_eq!(sizes(500, 12), [(500, 12)]);
        assert_eq!(sizes(500, 1000), [(500, 12), (512, 512), (1024, 476)]);
    }

    #[test]
    fn what_was_cut_off_is_zeros_when_the_file_grows_again() {
        let mut content = Content::durable(vec![7; 1500]);
        content.set_size(100);
        content.set_size(1500);
        assert_eq!(content.bytes()[..100], [7; 100]);
        assert_eq!(content.bytes()[100..], [0; 1400]);
        content.sync();
        for seed in 0..100 {
            let mut copy = content.clone();
            copy.crash(&mut Fate::new(seed));
            assert!(copy.bytes() == content.bytes());
        }
    }

    #[test]
    fn a_length_that_comes_back_brings_back_what_was_there() {
        let mut content = Content::durable(vec![7; 1500]);
        content.set_size(0);
        let mut seen = [false; 2];
        for seed in 0..100 {
            let mut copy = content.clone();
            copy.crash(&mut Fate::new(seed));
            seen[0] |= copy.bytes().is_empty();
            seen[1] |= copy.bytes() == [7; 1500];
        }
        assert_eq!(seen, [true; 2]);
    }
}

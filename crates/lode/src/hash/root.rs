//! The root of the directory: it finds the segment of a place.
//!
//! It has 2^b entries, one for the high b bits of a place. Up to 2^10 are in its own page; more are
//! in *parts*, pages with 2^10 each, which it names.

use std::ops::Range;

use super::{HashPlace, Page};
use crate::error::{Error, Result};
use crate::pager::{
    self, Epoch, Latched, PAGE_WORDS, PageMut, PageNumber, PageRef, Pager, ReadEpoch, Seen, Space,
};

/// The bits that the entries of a page decide by. In unit tests there are few, so that few buckets
/// need all levels.
const PART_BITS: u32 = if cfg!(test) { 2 } else { 10 };

/// The most bits of all entries.
pub(super) const MOST_BITS: u32 = if cfg!(test) { 4 } else { 14 };

/// The most bits that a segment decides by: as many entries fit on a page.
pub(super) const SEGMENT_BITS: u32 = if cfg!(test) { 2 } else { 12 };

/// The word at which the entries of a page start, or the names of the parts; before them, in the
/// root, is the number of bits.
const ENTRIES: usize = 1;

/// The entries of a part.
const PART: usize = 1 << PART_BITS;

const _: () = assert!(ENTRIES + PART <= PAGE_WORDS, "a part is a page");
const _: () =
    assert!(ENTRIES + (1 << (MOST_BITS - PART_BITS)) <= PAGE_WORDS, "the root is one too");
const _: () = assert!(1 << SEGMENT_BITS <= 2 * PAGE_WORDS, "so is a segment");

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub segment: PageNumber,
    /// Bits that the segment decides by.
    pub bits: u32,
    /// Bits that all places of the segment have in common.
    pub prefix: u32,
}

impl Entry {
    fn read(word: u64) -> Self {
        Self {
            segment: PageNumber::of_word(word),
            bits: (word >> 32) as u32 & 0xff,
            prefix: (word >> 40) as u32 & 0xff,
        }
    }

    fn word(self) -> u64 {
        debug_assert!(self.fits(MOST_BITS), "{self:?} is an entry that is read again");
        self.segment.word() | u64::from(self.bits) << 32 | u64::from(self.prefix) << 40
    }

    /// Returns true if such an entry is possible among those for this many bits.
    fn fits(self, bits: u32) -> bool {
        bits <= MOST_BITS && self.prefix <= bits && self.bits <= SEGMENT_BITS
    }

    /// Returns the index of the segment's entry for a place.
    #[inline(always)]
    pub(super) fn index(self, place: HashPlace) -> usize {
        place.bits_after(self.prefix, self.bits)
    }

    /// Returns the number of bits that decide for an entry of the segment.
    pub(super) fn depth(self) -> u32 {
        self.prefix + self.bits
    }

    /// Returns the high bits that all places of the segment have in common.
    pub(super) fn base(self, place: HashPlace) -> u64 {
        place.high_bits(self.prefix) as u64
    }

    /// Returns the first place of an entry of the segment.
    pub(super) fn place_of(self, base: u64, index: usize) -> HashPlace {
        self.place_after(base, index).expect("the entry is one of the segment")
    }

    /// Returns the first place after the entries before `index`; after all of them, that of the
    /// next segment, if one follows.
    pub(super) fn place_after(self, base: u64, index: usize) -> Option<HashPlace> {
        let high = (u128::from(base) << self.bits) + index as u128;
        HashPlace::first_of(high, self.depth())
    }
}

/// The root of a directory.
pub(super) struct Root {
    page: PageNumber,
}

/// An entry where it was found.
pub(super) struct Found<'p> {
    pub entry: Entry,
    /// The bits of all entries.
    pub bits: u32,
    /// The number of the entry.
    number: usize,
    words: PageRef<'p>,
    root: Seen<'p>,
    part: Option<Seen<'p>>,
}

impl Found<'_> {
    /// Returns true if the entry is unchanged.
    pub(super) fn validate(&self) -> bool {
        self.root.validate() && self.part.is_none_or(|part| part.validate())
    }

    /// Returns the numbers of all entries for the same segment.
    pub(super) fn numbers(&self) -> Range<usize> {
        let count = 1 << self.bits.saturating_sub(self.entry.prefix);
        let first = self.number & !(count - 1);
        first..first + count
    }
}

/// The location of an entry, as the root says.
enum Location {
    Here(Entry),
    /// In this part, at this word.
    There(PageNumber, usize),
}

fn locate(words: Page<'_>, number: usize, bits: u32) -> Location {
    if bits <= PART_BITS {
        Location::Here(Entry::read(words.get(ENTRIES + number)))
    } else {
        let part = PageNumber::of_word(words.get(ENTRIES + number / PART));
        Location::There(part, ENTRIES + number % PART)
    }
}

fn bits_of(words: Page<'_>) -> u32 {
    words.get(0) as u32 & 63
}

/// The entries that a root has itself, or the parts that have them.
pub(super) enum Entries {
    Here(Vec<Entry>),
    InParts(Vec<PageNumber>),
}

const NO_DIRECTORY: &str = "no directory of a table looks like that";

/// Reads a root that may be damaged.
///
/// # Errors
/// Its fault.
pub(super) fn entries_of_root(words: Page<'_>) -> Result<Entries, String> {
    let bits = bits_of(words);
    if bits > MOST_BITS {
        return Err(NO_DIRECTORY.into());
    }
    if bits <= PART_BITS {
        return entries_in(words, 1 << bits).map(Entries::Here);
    }
    let parts = (0..1 << (bits - PART_BITS)).map(|at| PageNumber::of_word(words.get(ENTRIES + at)));
    Ok(Entries::InParts(parts.collect()))
}

/// Reads a part that may be damaged.
///
/// # Errors
/// Its fault.
pub(super) fn entries_of_part(words: Page<'_>) -> Result<Vec<Entry>, String> {
    entries_in(words, PART)
}

fn entries_in(words: Page<'_>, count: usize) -> Result<Vec<Entry>, String> {
    let entries: Vec<_> = (0..count).map(|at| Entry::read(words.get(ENTRIES + at))).collect();
    let fit = entries.iter().all(|entry| entry.fits(MOST_BITS));
    if fit { Ok(entries) } else { Err(NO_DIRECTORY.into()) }
}

impl Root {
    /// Creates a root that has this entry for all places.
    pub(super) fn create(pager: &Pager, space: &Space, entry: Entry) -> Result<Self> {
        let mut root = pager.allocate(space)?;
        root.first_content().set(ENTRIES, entry.word());
        Ok(Self { page: root.page() })
    }

    /// Opens an existing root by its page.
    pub(super) fn open(page: PageNumber) -> Self {
        Self { page }
    }

    pub(super) fn page(&self) -> PageNumber {
        self.page
    }

    /// Finds the entry of a place.
    pub(super) fn read_optimistic<'p>(
        &self,
        pager: &'p Pager,
        place: HashPlace,
    ) -> Result<Found<'p>> {
        loop {
            let (root, words) = pager.read_optimistic(self.page)?;
            let bits = bits_of(words);
            let number = place.high_bits(bits);
            let (entry, part) = match locate(words, number, bits) {
                Location::Here(entry) => (entry, None),
                Location::There(part, at) => {
                    let part = pager.read_optimistic(part);
                    // The part was looked at while the root led there.
                    if !root.validate() {
                        continue;
                    }
                    let (part, words) = part?;
                    (Entry::read(words.get(at)), Some(part))
                }
            };
            let found = Found { entry, bits, number, words, root, part };
            if entry.fits(bits) {
                return Ok(found);
            }
            if found.validate() {
                return Err(self.wrong());
            }
        }
    }

    #[cold]
    fn wrong(&self) -> Error {
        Error::corrupt(format!("page {}", self.page), NO_DIRECTORY)
    }

    /// Returns the entry that a place had at a moment.
    pub(super) fn read_at_epoch(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        place: HashPlace,
    ) -> Result<Entry> {
        let (bits, found) = pager.at(moment, self.page, |words| {
            let bits = bits_of(words);
            (bits, locate(words, place.high_bits(bits), bits))
        })?;
        let entry = match found {
            Location::Here(entry) => entry,
            Location::There(part, at) => {
                pager.at(moment, part, |words| Entry::read(words.get(at)))?
            }
        };
        if entry.fits(bits) { Ok(entry) } else { Err(self.wrong()) }
    }

    /// Latches the root and the parts that have all entries for the segment of a found entry;
    /// `None` if something has changed.
    pub(super) fn latch<'p>(
        &self,
        pager: &'p Pager,
        found: &Found<'p>,
    ) -> Result<Option<Held<'p>>> {
        let Some(parts) = self.parts(pager, found, found.numbers())? else { return Ok(None) };
        let Some(root) = pager.latch(found.root) else { return Ok(None) };
        let parts = parts.into_iter().map(|(at, part)| Some((at, pager.latch(part)?)));
        Ok(parts.collect::<Option<_>>().map(|parts| Held { root, parts }))
    }

    /// Returns the parts that have these entries: their numbers, as they were seen; none if the
    /// entries are in the root.
    fn parts<'p>(
        &self,
        pager: &'p Pager,
        found: &Found<'p>,
        numbers: Range<usize>,
    ) -> Result<Option<Vec<(usize, Seen<'p>)>>> {
        let mut parts = Vec::new();
        if found.bits > PART_BITS {
            for at in numbers.start / PART..numbers.end.div_ceil(PART) {
                let part =
                    pager.read_optimistic(PageNumber::of_word(found.words.get(ENTRIES + at)));
                if !found.root.validate() {
                    return Ok(None);
                }
                parts.push((at, part?.0));
            }
        }
        let mut pages: Vec<_> = parts.iter().map(|(_, part)| part.page()).collect();
        pages.extend([self.page, found.entry.segment]);
        if pager::differ(&mut pages) {
            return Ok(Some(parts));
        }
        if found.validate() { Err(self.wrong()) } else { Ok(None) }
    }

    /// Decides by one bit more, unless something has changed since an entry was found.
    ///
    /// # Errors
    /// `TableFull` if all bits are used.
    pub(super) fn double(&self, pager: &Pager, space: &Space, found: &Found<'_>) -> Result<()> {
        if found.bits >= MOST_BITS {
            return Err(Error::TableFull);
        }
        let Some(parts) = self.parts(pager, found, 0..1 << found.bits)? else { return Ok(()) };
        if found.bits < PART_BITS {
            let Some(mut root) = pager.latch(found.root) else { return Ok(()) };
            let mut words = root.change(pager.epoch());
            double_in_place(&mut words, 1 << found.bits);
            words.set(0, u64::from(found.bits + 1));
            return Ok(());
        }
        let mut new = Vec::new();
        while new.len() < parts.len().max(2) {
            match pager.allocate(space) {
                Ok(page) => new.push(page),
                Err(error) => {
                    free(new, space, pager);
                    return Err(error);
                }
            }
        }
        let latch = || {
            let root = pager.latch(found.root)?;
            let parts = parts.iter().map(|(_, part)| pager.latch(*part));
            Some((root, parts.collect::<Option<Vec<_>>>()?))
        };
        let Some((mut root, mut parts)) = latch() else {
            free(new, space, pager);
            return Ok(());
        };
        let epoch = pager.epoch();
        debug_assert!(parts.is_empty() == (found.bits == PART_BITS), "more entries are in parts");
        debug_assert_eq!(parts.len().max(1), 1 << (found.bits - PART_BITS), "all parts are here");
        let mut words = root.change(epoch);
        if parts.is_empty() {
            // The first parts: all entries leave the root.
            for (part, new) in new.iter_mut().enumerate() {
                double_into(words.page_ref(), part * PART / 2, &mut new.change(epoch));
            }
            for (part, new) in new.iter().enumerate() {
                words.set(ENTRIES + part, new.page().word());
            }
        }
        // Each part keeps its first half, and a new one gets the other.
        for (at, (low, high)) in parts.iter_mut().zip(&mut new).enumerate().rev() {
            let low_page = low.page();
            let mut low_words = low.change(epoch);
            double_into(low_words.page_ref(), PART / 2, &mut high.change(epoch));
            double_in_place(&mut low_words, PART / 2);
            words.set(ENTRIES + 2 * at + 1, high.page().word());
            words.set(ENTRIES + 2 * at, low_page.word());
        }
        words.set(0, u64::from(found.bits + 1));
        Ok(())
    }
}

/// Doubles the first entries of a page: writes each twice.
fn double_in_place(words: &mut PageMut<'_>, count: usize) {
    debug_assert!(ENTRIES + 2 * count <= PAGE_WORDS, "a page has room for twice as many entries");
    for at in (0..count).rev() {
        let entry = words.get(ENTRIES + at);
        words.set(ENTRIES + 2 * at + 1, entry);
        words.set(ENTRIES + 2 * at, entry);
    }
}

/// Fills a part with the entries of a page from one of them on, each twice.
fn double_into(from: PageRef<'_>, first: usize, part: &mut PageMut<'_>) {
    debug_assert!(ENTRIES + first + PART / 2 <= PAGE_WORDS, "half of a part comes from one page");
    for at in 0..PART {
        part.set(ENTRIES + at, from.get(ENTRIES + first + at / 2));
    }
}

fn free(pages: Vec<Latched<'_>>, space: &Space, pager: &Pager) {
    pages.into_iter().for_each(|page| page.free(space, pager.epoch()));
}

/// The latched root, with the parts that hold some of its entries.
pub(super) struct Held<'p> {
    root: Latched<'p>,
    parts: Vec<(usize, Latched<'p>)>,
}

impl Held<'_> {
    /// Sets entries that are stored there.
    pub(super) fn set(&mut self, epoch: Epoch, numbers: Range<usize>, entry: Entry) {
        debug_assert!(!numbers.is_empty() && numbers.end <= 1 << MOST_BITS, "they are entries");
        if self.parts.is_empty() {
            debug_assert!(numbers.end <= PART, "the root has the entries of one part at most");
            let mut words = self.root.change(epoch);
            return numbers.for_each(|number| words.set(ENTRIES + number, entry.word()));
        }
        for (part, page) in &mut self.parts {
            let own = *part * PART..(*part + 1) * PART;
            let numbers = numbers.start.max(own.start)..numbers.end.min(own.end);
            if !numbers.is_empty() {
                let mut words = page.change(epoch);
                numbers.for_each(|number| words.set(ENTRIES + number - own.start, entry.word()));
            }
        }
    }
}

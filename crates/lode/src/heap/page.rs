//! A page of the heap: records of any length, each under the number of a slot that it keeps for
//! life, wherever it moves to within its page.
//!
//! | words | content |
//! |---|---|
//! | 0 | the number of slots, where the records start, garbage, free slots, the note on its room |
//! | 1… | slots: where the record is, in words, its bytes, and bits: exists, is long |
//! | … | free |
//! | … | records, each from a word on |
//!
//! Garbage is the words that removed records left. The [note](note_of) is the highest byte.

use std::ops::{Deref, Range};

use super::index_key::Hint;
use super::places::Places;
use crate::pager::{PAGE_WORDS, PageMut, PageRef};

/// The word at which the slots start.
const SLOTS: usize = 1;

/// The most bytes of a record in a page.
pub(super) const MOST_BYTES: usize = (PAGE_WORDS - SLOTS - 1) * 8;

/// The words of room of a page without records.
const MOST_ROOM: usize = PAGE_WORDS - SLOTS;

/// The first word of a page that is a piece of a record: as if it were full of slots. A writer that
/// takes it for a page with room finds none.
pub(super) const PIECE: u64 = FIELD_MASK;

/// Bits of a number in the first word, and in a slot.
const FIELD: u32 = 12;
const FIELD_MASK: u64 = (1 << FIELD) - 1;

const BYTES_SHIFT: u32 = 16;
const TAKEN: u64 = 1 << 32;
const LONG: u64 = 1 << 33;

/// Words of a line of the processor's cache.
const LINE_WORDS: usize = 8;

/// The most words that are fetched together: no processor waits for more than some 32 lines.
const MOST_FETCHED: usize = 32 * LINE_WORDS;

const _: () = assert!(PAGE_WORDS < 1 << FIELD, "a field has any word of a page");
const _: () = assert!(MOST_BYTES < 1 << 16, "a slot has the bytes of any record");

/// A page to read.
#[derive(Clone, Copy)]
pub(super) struct HeapPage<'p> {
    words: PageRef<'p>,
}

/// A page to change.
pub(super) struct HeapPageMut<'p> {
    page: HeapPage<'p>,
    words: PageMut<'p>,
}

impl<'p> Deref for HeapPageMut<'p> {
    type Target = HeapPage<'p>;

    fn deref(&self) -> &HeapPage<'p> {
        &self.page
    }
}

/// A record in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The word at which it starts.
    at: usize,
    /// Bytes of the record.
    pub size: usize,
    /// True if it is only the head of a long record.
    pub is_long: bool,
}

/// The bytes of a record as a page has them: all of it, or the head of a long one.
#[derive(Clone, Copy)]
pub(super) struct Stored<'s> {
    pub bytes: &'s [u8],
    pub is_long: bool,
}

impl<'s> Stored<'s> {
    /// Returns the head, if the record has one, or else `whole`.
    pub(super) fn of(head: Option<&'s [u8]>, whole: &'s [u8]) -> Self {
        Self { bytes: head.unwrap_or(whole), is_long: head.is_some() }
    }
}

impl Slot {
    fn read(word: u64) -> Option<Self> {
        (word & TAKEN != 0).then(|| Self {
            at: (word & FIELD_MASK) as usize,
            size: ((word >> BYTES_SHIFT & 0xffff) as usize).min(MOST_BYTES),
            is_long: word & LONG != 0,
        })
    }

    fn word(self) -> u64 {
        let long = if self.is_long { LONG } else { 0 };
        self.at as u64 | (self.size as u64) << BYTES_SHIFT | TAKEN | long
    }

    fn words(self) -> usize {
        self.size.div_ceil(8)
    }
}

/// The counts in the first word.
#[derive(Clone, Copy)]
struct Header {
    slots: usize,
    records_at: usize,
    garbage: usize,
    free_slots: usize,
}

impl Header {
    /// Returns the words that records and slots can still have.
    fn room(self) -> usize {
        (self.records_at + self.garbage).saturating_sub(SLOTS + self.slots)
    }
}

/// Words of room for each unit of a note.
const NOTED: usize = 8;

/// Returns the highest byte of the first word for this much room: words, rounded down.
fn note_of(room: usize) -> u8 {
    (room / NOTED).min(u8::MAX.into()) as u8
}

/// Returns the words of room of a page by its note: at least as many, if not nearly empty.
pub(super) fn noted_room(note: u8) -> usize {
    match note {
        // More cannot be counted; most of these pages are empty.
        u8::MAX => MOST_ROOM,
        few => usize::from(few) * NOTED,
    }
}

/// Returns the most words of room that a record of this size takes up.
pub(super) fn room_for(size: usize) -> usize {
    size.div_ceil(8) + 1
}

impl<'p> HeapPage<'p> {
    pub(super) fn new(words: PageRef<'p>) -> Self {
        Self { words }
    }

    fn header(self) -> Header {
        let word = self.words.get(0);
        let field = |number: u32| (word >> (number * FIELD) & FIELD_MASK) as usize;
        Header {
            slots: field(0).min(PAGE_WORDS - SLOTS),
            records_at: field(1).min(PAGE_WORDS),
            garbage: field(2),
            free_slots: field(3),
        }
    }

    /// Returns the words that records and slots can still have.
    pub(super) fn room(self) -> usize {
        self.header().room()
    }

    /// Returns true if the page has no records.
    pub(super) fn is_empty(self) -> bool {
        self.room() == MOST_ROOM
    }

    /// Returns the number of slots.
    pub(super) fn slots(self) -> usize {
        self.header().slots
    }

    /// Returns the record under a number.
    #[inline]
    pub(super) fn slot(self, number: usize) -> Option<Slot> {
        if number < self.header().slots { Slot::read(self.words.get(SLOTS + number)) } else { None }
    }

    /// Has the processor fetch a slot.
    pub(super) fn fetch_slot(self, number: usize) {
        self.words.fetch(SLOTS + number);
    }

    /// Has the processor fetch a record where it was put once.
    #[inline]
    pub(super) fn fetch_hinted(self, hint: Hint) {
        let (at, lines) = hint.lines();
        (0..lines).for_each(|line| self.words.fetch(at + line * LINE_WORDS));
    }

    /// Returns the hint for the record of a slot.
    pub(super) fn hint(self, number: usize) -> Hint {
        let touched = |slot: Slot| (slot.at % LINE_WORDS + slot.words()).div_ceil(LINE_WORDS);
        self.slot(number).map_or(Hint::default(), |slot| Hint::new(slot.at, touched(slot)))
    }

    /// Has the processor fetch bytes of a record, all lines at once. A copy alone waits for the
    /// first ones before it comes to the last.
    #[inline]
    pub(super) fn fetch(self, slot: Slot, bytes: Range<usize>) {
        let from = (slot.at + bytes.start / 8) / LINE_WORDS * LINE_WORDS;
        let to = (slot.at + bytes.end.div_ceil(8)).min(from + MOST_FETCHED);
        (from..to).step_by(LINE_WORDS).for_each(|at| self.words.fetch(at));
    }

    /// Copies bytes of a record, from one of them on.
    #[inline]
    pub(super) fn read(self, slot: Slot, from: usize, bytes: &mut [u8]) {
        self.words.read(slot.at * 8 + from, bytes);
    }

    /// Returns true if one more record of this size fits.
    pub(super) fn fits(self, size: usize) -> bool {
        let header = self.header();
        let slot = usize::from(header.free_slots == 0);
        header.room() >= size.div_ceil(8) + slot
    }

    /// Returns true if `size` bytes fit in the place of a record.
    pub(super) fn fits_over(self, slot: Slot, size: usize) -> bool {
        self.header().room() + slot.words() >= size.div_ceil(8)
    }

    /// Returns the page's first fault, if there is one.
    pub(super) fn check(self) -> Result<(), String> {
        let header = self.header();
        let slots = (0..header.slots).map(|number| Slot::read(self.words.get(SLOTS + number)));
        let mut taken: Vec<Slot> = slots.flatten().collect();
        if header.slots != taken.len() + header.free_slots {
            return Err(format!("{} slots of which {} are free", header.slots, header.free_slots));
        }
        taken.retain(|slot| slot.size > 0);
        taken.sort_unstable_by_key(|slot| slot.at);
        let ends = taken.windows(2).all(|pair| pair[0].at + pair[0].words() <= pair[1].at);
        let first = taken.first().map_or(PAGE_WORDS, |slot| slot.at);
        let last = taken.last().map_or(PAGE_WORDS, |slot| slot.at + slot.words());
        if !ends || first < header.records_at || last > PAGE_WORDS {
            return Err("records lie one over the other, or outside of their place".into());
        }
        let used: usize = taken.iter().map(|slot| slot.words()).sum();
        if header.records_at < SLOTS + header.slots
            || PAGE_WORDS - header.records_at != used + header.garbage
        {
            return Err(format!("records of {used} words and {} of garbage", header.garbage));
        }
        if (self.words.get(0) >> 56) as u8 == note_of(header.room()) {
            Ok(())
        } else {
            Err("what it notes on its room is wrong".into())
        }
    }
}

impl<'p> HeapPageMut<'p> {
    pub(super) fn new(words: PageMut<'p>) -> Self {
        Self { page: HeapPage::new(words.page_ref()), words }
    }

    fn set_header(&mut self, header: Header) {
        let Header { slots, records_at, garbage, free_slots } = header;
        debug_assert!(records_at <= PAGE_WORDS, "records start in their page");
        debug_assert!(slots <= PAGE_WORDS - SLOTS, "slots are in their page");
        let fields = [slots, records_at, garbage, free_slots].into_iter().zip(0..);
        let word =
            fields.fold(0, |word, (field, at)| word | (field as u64 & FIELD_MASK) << (at * FIELD));
        self.words.set(0, word | u64::from(note_of(header.room())) << 56);
    }

    /// Turns it into an empty page.
    pub(super) fn clear(&mut self) {
        self.set_header(Header { slots: 0, records_at: PAGE_WORDS, garbage: 0, free_slots: 0 });
    }

    /// Inserts a record that fits; returns its number.
    pub(super) fn insert(&mut self, stored: Stored<'_>) -> usize {
        debug_assert!(self.fits(stored.bytes.len()), "a record is put where it fits");
        let mut header = self.header();
        let free = |number: &usize| self.words.get(SLOTS + number) & TAKEN == 0;
        let reused = (header.free_slots > 0).then(|| (0..header.slots).find(free)).flatten();
        let number = match reused {
            Some(number) => {
                header.free_slots = header.free_slots.saturating_sub(1);
                number
            }
            None => {
                // The new slot may be where a record is.
                if header.records_at <= SLOTS + header.slots {
                    header = self.compact(header);
                }
                header.slots += 1;
                header.slots - 1
            }
        };
        // The slot is free until the record is put: records may have to be moved.
        self.words.set(SLOTS + number, 0);
        self.put(header, number, stored);
        number
    }

    /// Replaces a record with other bytes, which fit there.
    pub(super) fn replace(&mut self, number: usize, old: Slot, stored: Stored<'_>) {
        let Stored { bytes, is_long } = stored;
        debug_assert_eq!(self.slot(number), Some(old), "a record is replaced where it is");
        debug_assert!(self.fits_over(old, bytes.len()), "a record is put where it fits");
        let slot = Slot { at: old.at, size: bytes.len(), is_long };
        let words = slot.words();
        let former = old.words();
        let mut header = self.header();
        if words <= former {
            self.set_record(number, slot, bytes);
            if words < former {
                header.garbage += former - words;
                self.set_header(header);
            }
            return;
        }
        header.garbage += former;
        self.words.set(SLOTS + number, 0);
        self.put(header, number, stored);
    }

    /// Puts a record under a number that has none.
    fn put(&mut self, header: Header, number: usize, stored: Stored<'_>) {
        let Stored { bytes, is_long } = stored;
        let mut header = header;
        let words = bytes.len().div_ceil(8);
        if header.records_at < SLOTS + header.slots + words {
            header = self.compact(header);
        }
        debug_assert!(number < header.slots, "a record is put under a number that is counted");
        debug_assert!(self.taken(SLOTS + number).is_none(), "no record has the number");
        // In a forged page there may be less room than it says.
        header.records_at = header.records_at.saturating_sub(words);
        let slot = Slot { at: header.records_at, size: bytes.len(), is_long };
        self.set_record(number, slot, bytes);
        self.set_header(header);
    }

    fn set_record(&mut self, number: usize, slot: Slot, bytes: &[u8]) {
        debug_assert_eq!(bytes.len(), slot.size, "a slot has the size of its record");
        debug_assert!(slot.size <= MOST_BYTES, "longer records are cut");
        self.words.write(slot.at * 8, bytes);
        self.words.set(SLOTS + number, slot.word());
    }

    /// Overwrites bytes of a record, from one of them on.
    pub(super) fn write(&mut self, slot: Slot, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= slot.size, "bytes of the record are overwritten");
        self.words.write(slot.at * 8 + at, bytes);
    }

    /// Removes a record.
    pub(super) fn remove(&mut self, number: usize, old: Slot) {
        debug_assert_eq!(self.slot(number), Some(old), "a record is removed once");
        let mut header = self.header();
        header.garbage += old.words();
        header.free_slots += 1;
        self.words.set(SLOTS + number, 0);
        while header.slots > 0 && self.words.get(SLOTS + header.slots - 1) & TAKEN == 0 {
            header.slots -= 1;
            header.free_slots = header.free_slots.saturating_sub(1);
        }
        self.set_header(header);
    }

    /// Moves the records together, so that the room of removed ones can be used.
    fn compact(&mut self, header: Header) -> Header {
        let was_sound = cfg!(debug_assertions) && self.is_counted(header);
        let moves = self.places(header).pack();
        debug_assert!(
            !was_sound || moves.records_at() == header.records_at + header.garbage,
            "records that are moved together leave no garbage"
        );
        for (words, distance) in moves.in_order().filter(|(_, distance)| *distance > 0) {
            self.words.shift(words.start, words.len(), words.start + distance);
        }
        for number in SLOTS..SLOTS + header.slots {
            // Records without bytes take up no words.
            if let Some(slot) = self.taken(number).filter(|slot| slot.size > 0) {
                self.words.set(number, Slot { at: moves.moved(slot.at), ..slot }.word());
            }
        }
        Header { records_at: moves.records_at(), garbage: 0, ..header }
    }

    /// Returns true if all words after the start of the records are counted. It looks at all slots.
    fn is_counted(&self, header: Header) -> bool {
        let numbers = SLOTS..SLOTS + header.slots;
        let slots = numbers.filter_map(|number| self.taken(number));
        let used: usize = slots.map(Slot::words).sum();
        PAGE_WORDS - header.records_at == used + header.garbage
    }

    fn places(&self, header: Header) -> Places {
        let mut places = Places::none();
        for number in SLOTS..SLOTS + header.slots {
            if let Some(slot) = self.taken(number) {
                places.add(slot.at..slot.at + slot.words());
            }
        }
        places
    }

    /// Returns the record of the slot at a word.
    fn taken(&self, word: usize) -> Option<Slot> {
        Slot::read(self.words.get(word))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::pager::Image;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(usize),
        Replace(usize, usize),
        Remove(usize),
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let size = || prop_oneof![4 => 0..200usize, 2 => 0..3_000usize, 1 => 0..=MOST_BYTES];
        let op = prop_oneof![
            3 => size().prop_map(Op::Insert),
            2 => (any::<usize>(), size()).prop_map(|(which, size)| Op::Replace(which, size)),
            2 => any::<usize>().prop_map(Op::Remove),
        ];
        proptest::collection::vec(op, 0..300)
    }

    proptest! {
        #[test]
        fn records_stay_what_they_are_and_where_their_numbers_say(ops in ops()) {
            let mut image = Image::empty();
            let mut page = HeapPageMut::new(image.words_mut());
            page.clear();
            let mut model: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
            for (turn, op) in ops.into_iter().enumerate() {
                let bytes = |size: usize| vec![turn as u8 | 1; size];
                let chosen = |which: usize| model.keys().nth(which % model.len().max(1)).copied();
                match op {
                    Op::Insert(size) => {
                        if page.fits(size) {
                            let is_long = size % 2 == 1;
                            let number = page.insert(Stored { bytes: &bytes(size), is_long });
                            prop_assert!(model.insert(number, bytes(size)).is_none());
                            let slot = page.slot(number).expect("it is there");
                            let words = slot.at..slot.at + slot.words();
                            let mut lines: Vec<_> = words.map(|word| word / LINE_WORDS).collect();
                            lines.dedup();
                            let expected = (slot.at % PAGE_WORDS, lines.len().min(15));
                            prop_assert!(size == 0 || page.hint(number).lines() == expected);
                        } else {
                            let used: usize = model.values().map(|b| b.len().div_ceil(8) + 1).sum();
                            let room = PAGE_WORDS - SLOTS - page.slots();
                            prop_assert!(used + size.div_ceil(8) + 1 > room);
                        }
                    }
                    Op::Replace(which, size) => {
                        let Some(number) = chosen(which) else { continue };
                        let old = page.slot(number).expect("it is there");
                        if page.fits_over(old, size) {
                            let stored = Stored { bytes: &bytes(size), is_long: size % 2 == 1 };
                            page.replace(number, old, stored);
                            model.insert(number, bytes(size));
                        }
                    }
                    Op::Remove(which) => {
                        let Some(number) = chosen(which) else { continue };
                        page.remove(number, page.slot(number).expect("it is there"));
                        model.remove(&number);
                    }
                }
                prop_assert_eq!(page.check(), Ok(()));
                for (number, expected) in &model {
                    let slot = page.slot(*number).expect("it is there");
                    let mut found = vec![0; slot.size];
                    page.read(slot, 0, &mut found);
                    prop_assert_eq!(&found, expected);
                    prop_assert_eq!(slot.is_long, expected.len() % 2 == 1);
                }
                let there = (0..page.slots()).filter(|number| page.slot(*number).is_some()).count();
                prop_assert_eq!(there, model.len());
                prop_assert_eq!(page.is_empty(), model.is_empty());
            }
        }
    }

    #[test]
    fn a_page_with_the_room_for_a_record_takes_it() {
        let mut image = Image::empty();
        let mut page = HeapPageMut::new(image.words_mut());
        for (size, note) in (0..=MOST_BYTES)
            .step_by(8)
            .flat_map(|size| [0, 1, 17, 128, 254].map(|note| (size, note)))
        {
            page.clear();
            let room = noted_room(note);
            if room_for(size) > room {
                continue;
            }
            // A record that leaves so much room.
            let bytes = &vec![1; (page.room() - room - 1) * 8];
            page.insert(Stored { bytes, is_long: false });
            assert!(page.room() >= room);
            assert!(page.fits(size), "{size} bytes where {room} words are free");
        }
    }
}

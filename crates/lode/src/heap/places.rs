//! The words of a heap page that records take up, and their words after they were moved together. A
//! bit for each word at which that changes does for both, without sorting: where one record ends
//! and the next starts, it changes twice. The number of bits before a word says which records it
//! belongs to (rank; Jacobson: Space-efficient Static Trees and Graphs, FOCS 1989).

use std::ops::Range;

use crate::pager::PAGE_WORDS;

const BITS: usize = u64::BITS as usize;

/// The words of a bit for each word of a page, and one more for the end of the page.
const WORDS: usize = PAGE_WORDS / BITS + 1;

/// The places that records take up in a page, in words of it.
pub(super) struct Places {
    /// The words at which records start after what is free, or end before it.
    changes: [u64; WORDS],
}

impl Places {
    pub(super) fn none() -> Self {
        Self { changes: [0; WORDS] }
    }

    /// Adds the place of a record, which has no word in common with others. What is beyond the page
    /// is left out.
    pub(super) fn add(&mut self, place: Range<usize>) {
        debug_assert!(place.start <= place.end, "a record ends after its start");
        for word in [place.start, place.end] {
            let word = word.min(PAGE_WORDS);
            self.changes[word / BITS] ^= 1 << (word % BITS);
        }
    }

    /// Returns the places, where adjacent ones are joined; the first one comes first.
    fn joined(&self) -> Vec<Range<usize>> {
        let mut joined = Vec::new();
        let mut start = None;
        for (at, bits) in self.changes.iter().enumerate() {
            let mut left = *bits;
            while left != 0 {
                let word = at * BITS + left.trailing_zeros() as usize;
                left &= left - 1;
                match start.take() {
                    None => start = Some(word),
                    Some(start) => joined.push(start..word),
                }
            }
        }
        joined
    }

    /// Returns the moves that put the records together at the end of the page.
    pub(super) fn pack(&self) -> Moves {
        let places = self.joined();
        let mut before = [0; WORDS];
        let mut count = 0;
        for (before, bits) in before.iter_mut().zip(&self.changes) {
            *before = count;
            count += bits.count_ones();
        }
        let mut to = PAGE_WORDS;
        let mut distances = vec![0; places.len()];
        for (place, distance) in places.iter().zip(&mut distances).rev() {
            to = to.saturating_sub(place.len());
            *distance = to.saturating_sub(place.start);
        }
        debug_assert!(distances.is_sorted_by(|a, b| a >= b), "records keep their order");
        Moves { changes: self.changes, before, places, distances, end: to }
    }
}

/// The distances that the records of a page move.
pub(super) struct Moves {
    changes: [u64; WORDS],
    /// The changes before each word of them.
    before: [u32; WORDS],
    places: Vec<Range<usize>>,
    distances: Vec<usize>,
    end: usize,
}

impl Moves {
    /// Returns the word at which the records start then.
    pub(super) fn records_at(&self) -> usize {
        self.end
    }

    /// Returns the words to move, and how far: in this order, each moves before it is overwritten.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        self.places.iter().cloned().zip(self.distances.iter().copied()).rev()
    }

    /// Returns the new word of the record that was at `word`.
    pub(super) fn moved(&self, word: usize) -> usize {
        let at = word.min(PAGE_WORDS) / BITS;
        let bit = word % BITS;
        let changes = self.before[at] + (self.changes[at] << (BITS - 1 - bit)).count_ones();
        // Each place before it starts with a change and ends with one.
        let place = changes as usize / 2;
        word + self.distances.get(place).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Generates places that have no word in common, as the gaps before them and their lengths.
    fn places() -> impl Strategy<Value = Vec<Range<usize>>> {
        proptest::collection::vec((prop_oneof![Just(0), 0..40usize], 0..60usize), 0..100).prop_map(
            |lengths| {
                let mut end = 0;
                let mut places = Vec::new();
                for (gap, length) in lengths {
                    let start = end + gap;
                    end = start + length;
                    places.push(start..end);
                }
                places.retain(|place| place.end <= PAGE_WORDS);
                places
            },
        )
    }

    fn all(places: &[Range<usize>]) -> Places {
        let mut all = Places::none();
        places.iter().for_each(|place| all.add(place.clone()));
        all
    }

    /// A page of which each word is the number of its record.
    fn model(places: &[Range<usize>]) -> Vec<Option<usize>> {
        let mut words = vec![None; PAGE_WORDS];
        for (number, place) in places.iter().enumerate() {
            words[place.clone()].fill(Some(number));
        }
        words
    }

    proptest! {
        #[test]
        fn records_are_at_the_end_when_they_were_moved_together(
            places in places().prop_shuffle(),
        ) {
            let mut words = model(&places);
            let moves = all(&places).pack();
            for (place, distance) in moves.in_order() {
                words.copy_within(place.clone(), place.start + distance);
            }
            let used: usize = places.iter().map(Range::len).sum();
            prop_assert_eq!(moves.records_at(), PAGE_WORDS - used);
            let has_words = |(_, place): &(_, &Range<usize>)| !place.is_empty();
            for (number, place) in places.iter().enumerate().filter(has_words) {
                let to = moves.moved(place.start);
                prop_assert!(to >= moves.records_at());
                prop_assert!(words[to..to + place.len()].iter().all(|word| *word == Some(number)));
            }
        }

        /// Such places are in a forged page.
        #[test]
        fn places_that_lie_one_over_the_other_are_no_panic(
            places in proptest::collection::vec((0..2 * PAGE_WORDS, 0..PAGE_WORDS), 0..50),
        ) {
            let mut all = Places::none();
            places.iter().for_each(|(start, length)| all.add(*start..start + length));
            let moves = all.pack();
            let is_inside =
                |(place, distance): (Range<usize>, _)| place.end + distance <= PAGE_WORDS;
            prop_assert!(moves.in_order().all(is_inside));
            let is_near = |start: usize| moves.moved(start) <= start + PAGE_WORDS;
            prop_assert!(places.iter().all(|(start, _)| is_near(*start)));
        }
    }
}

//! Searches for the place of a key among the entries of a node.

use std::cmp::Ordering;
use std::ops::Range;

use super::fences::LOWER;
use super::{ENTRIES, HEAD_BYTES, HIGHEST_HEAD, LINE, Node, SearchKey};
use crate::pager::first_bytes;

/// Bytes of a key that are compared at a time.
const PIECE: usize = 64;

/// Returns the first bytes of a key after those that all keys of a node have in common.
#[inline(always)]
pub(super) fn head_of(key: SearchKey<'_>, common: usize) -> u64 {
    key.eight_from(common) >> 16
}

impl Node<'_> {
    /// Has the processor fetch the entries that a search for a key starts with.
    pub(in crate::tree) fn fetch_guess(self, key: SearchKey<'_>) {
        let guess = self.guess(self.count(), head_of(key, self.common()));
        for at in [guess.saturating_sub(LINE), guess, guess + LINE] {
            self.words.fetch(ENTRIES + at);
        }
    }

    /// Returns true if the entry at `at` is before those of a head, which `entry` has.
    #[inline(always)]
    fn is_before(self, at: usize, entry: u64) -> bool {
        self.words.get(ENTRIES + at) < entry
    }

    /// Guesses the place of an entry with this head, if they are spread evenly (Perl, Itai, Avni:
    /// Interpolation Search, CACM 21(7), 1978).
    #[inline(always)]
    fn guess(self, count: usize, head: u64) -> usize {
        let lowest = self.words.get(2);
        let mut highest = self.words.get(3);
        if highest == HIGHEST_HEAD {
            // The last node of a level does not bound its keys.
            highest = self.head(count.saturating_sub(1));
        }
        let from = head.saturating_sub(lowest);
        let to = highest.saturating_sub(lowest);
        let guess = from.wrapping_mul(count as u64) / to.max(1);
        (guess as usize).min(count)
    }

    /// Returns a range of entries with the first one that has this head or a higher one in it or
    /// after it: few if the keys are spread evenly.
    #[inline(always)]
    fn bracket(self, count: usize, head: u64) -> (usize, usize) {
        let guess = self.guess(count, head);
        let entry = head << 16;
        // The entries between these two are on their way while they are looked at.
        self.words.fetch(ENTRIES + guess);
        let mut low = guess.saturating_sub(LINE);
        let mut high = (guess + LINE).min(count);
        let mut step = LINE;
        while low > 0 && !self.is_before(low - 1, entry) {
            // A wrong guess costs a few steps more.
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
        while high < count && self.is_before(high, entry) {
            low = high;
            high = (high + step).min(count);
            step *= 2;
        }
        (low, high)
    }

    /// Returns the first entry that has this head or a higher one.
    #[inline(always)]
    fn first_from(self, count: usize, head: u64) -> usize {
        let (mut low, high) = self.bracket(count, head);
        let mut rest = high - low;
        let entry = head << 16;
        // The half that it is in cannot be guessed: so there is no branch.
        while rest > 1 {
            let half = rest / 2;
            low += half * usize::from(self.is_before(low + half - 1, entry));
            rest -= half;
        }
        debug_assert!(low + rest <= count, "a search stays among the entries");
        low + usize::from(rest == 1 && self.is_before(low, entry))
    }

    /// Returns the place of a key, or where it would be.
    #[inline(always)]
    pub(in crate::tree) fn search(self, key: SearchKey<'_>) -> Result<usize, usize> {
        let count = self.count();
        let common = self.common();
        let head = head_of(key, common);
        let first = self.first_from(count, head);
        if first >= count || self.head(first) != head {
            Err(first)
        } else if common + HEAD_BYTES >= key.bytes().len() {
            debug_assert!(
                self.level() > 0 || self.key_size(first) == key.bytes().len(),
                "no key is the beginning of another"
            );
            Ok(first)
        } else {
            self.search_among(first..count, key, common)
        }
    }

    /// Searches for a key among the entries from one on that has the key's head.
    #[inline(never)]
    fn search_among(
        self,
        entries: Range<usize>,
        key: SearchKey<'_>,
        common: usize,
    ) -> Result<usize, usize> {
        let head = head_of(key, common);
        let Range { start: mut low, end: count } = entries;
        let from = common + HEAD_BYTES;
        let next = key.eight_from(from);
        let compare = |at: usize| {
            if self.head(at) == head {
                self.compare_rest(at, key.bytes(), from, next)
            } else {
                Ordering::Greater
            }
        };
        let mut end = low + LINE;
        if end < count && self.head(end) == head {
            let guess = self.guess_among(low..count, key, common);
            match near(low..count, guess, compare) {
                Ok(at) => return Ok(at),
                Err(few) => (low, end) = (few.start, few.end),
            }
        }
        end = end.min(count);
        while low < end {
            let middle = low + (end - low) / 2;
            match compare(middle) {
                Ordering::Equal => return Ok(middle),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => end = middle,
            }
        }
        Err(low)
    }

    /// Guesses which of some entries has a key, if the eight bytes after those in common are spread
    /// evenly.
    #[inline]
    fn guess_among(self, entries: Range<usize>, key: SearchKey<'_>, common: usize) -> usize {
        debug_assert!(!entries.is_empty(), "there are entries to guess from");
        let last = entries.end - 1;
        let [lowest, highest] = [entries.start, last].map(|at| self.eight_from(at, common));
        let span = highest.saturating_sub(lowest);
        let before = key.eight_from(common).min(highest).saturating_sub(lowest);
        // Their product with a number of entries, which is less than 2¹², has room.
        let shift = 12u32.saturating_sub(span.leading_zeros());
        let steps = (last - entries.start) as u64;
        let guess = (before >> shift).wrapping_mul(steps) / (span >> shift).max(1);
        (entries.start + guess as usize).min(last)
    }

    /// Searches for a key that need not be between the fences.
    pub(in crate::tree) fn place(self, key: &[u8]) -> Result<usize, usize> {
        match self.compare_common(key) {
            Ordering::Less => Err(0),
            Ordering::Equal => self.search(SearchKey::new(key)),
            Ordering::Greater => Err(self.count()),
        }
    }

    /// Compares the first bytes of a key with those that all keys of the node have in common.
    fn compare_common(self, key: &[u8]) -> Ordering {
        let mut piece = [0; PIECE];
        let common = self.common();
        for from in (0..common).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(common - from)];
            self.words.read(self.fence_at(LOWER) * 8 + from, piece);
            let rest = key.get(from..).unwrap_or_default();
            let order = rest[..piece.len().min(rest.len())].cmp(piece);
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Returns the entry of the child that is responsible for the key.
    #[inline]
    pub(in crate::tree) fn responsible(self, key: SearchKey<'_>) -> usize {
        match self.search(key) {
            Ok(at) => at,
            Err(at) => at.saturating_sub(1),
        }
    }

    /// Returns eight bytes of the key of an entry from a byte on; zeros after its last one.
    #[inline]
    fn eight_from(self, at: usize, from: usize) -> u64 {
        let count = self.key_size(at).saturating_sub(from).min(8);
        self.words.get_bytes(self.key_at(at) + from, count)
    }

    /// Compares the key of an entry with another from a byte on, before which they are the same.
    /// `next` has the eight bytes of the other from there on, or fewer and zeros after them.
    #[inline]
    fn compare_rest(self, at: usize, key: &[u8], from: usize, next: u64) -> Ordering {
        let start = self.key_at(at);
        let size = self.key_size(at);
        let count = key.len().min(size).saturating_sub(from).min(8);
        let own = self.words.get_bytes(start + from, count);
        match own.cmp(&first_bytes(next, count)) {
            Ordering::Equal if count == 8 => self.compare_next(at, key, from + 8),
            Ordering::Equal => size.cmp(&key.len()),
            decided => decided,
        }
    }

    /// Compares eight bytes more, and then the rest.
    #[inline]
    fn compare_next(self, at: usize, key: &[u8], from: usize) -> Ordering {
        let size = self.key_size(at);
        let rest = key.get(from..).unwrap_or_default();
        let count = rest.len().min(size.saturating_sub(from)).min(8);
        let own = self.words.get_bytes(self.key_at(at) + from, count);
        match own.cmp(&first_bytes(SearchKey::new(rest).eight_from(0), count)) {
            Ordering::Equal if count == 8 => self.compare_far(at, key, from + 8),
            Ordering::Equal => size.cmp(&key.len()),
            decided => decided,
        }
    }

    /// Compares the rest of keys that share many bytes.
    #[cold]
    fn compare_far(self, at: usize, key: &[u8], from: usize) -> Ordering {
        let mut piece = [0; PIECE];
        let mut from = from;
        let start = self.key_at(at);
        let size = self.key_size(at);
        while from < key.len().min(size) {
            let count = PIECE.min(key.len().min(size) - from);
            self.words.read(start + from, &mut piece[..count]);
            match piece[..count].cmp(&key[from..from + count]) {
                Ordering::Equal => from += count,
                other => return other,
            }
        }
        size.cmp(&key.len())
    }
}

/// Looks for an entry at a guess, and from there on in steps that double. Returns its place, or the
/// range in which it would be.
#[inline]
fn near(
    entries: Range<usize>,
    guess: usize,
    compare: impl Fn(usize) -> Ordering,
) -> Result<usize, Range<usize>> {
    debug_assert!(entries.contains(&guess), "a guess is one of the entries");
    let Range { start: mut low, mut end } = entries;
    let mut step = 1;
    match compare(guess) {
        Ordering::Equal => return Ok(guess),
        Ordering::Less => {
            low = guess + 1;
            while step < end - low {
                let at = low + step - 1;
                match compare(at) {
                    Ordering::Equal => return Ok(at),
                    Ordering::Less => low = at + 1,
                    Ordering::Greater => end = at,
                }
                step *= 2;
            }
        }
        Ordering::Greater => {
            end = guess;
            while step < end - low {
                let at = end - step;
                match compare(at) {
                    Ordering::Equal => return Ok(at),
                    Ordering::Less => low = at + 1,
                    Ordering::Greater => end = at,
                }
                step *= 2;
            }
        }
    }
    debug_assert!(low <= end, "the range holds the place");
    Err(low..end)
}

//! Splitting a bucket, and joining two.

use super::{Probe, Slots};
use crate::hash::Page;
use crate::pager::PageMut;

/// Where a slot's record goes when a bucket is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goes {
    Nowhere,
    Low,
    High,
}

/// Which buckets are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hash) enum Joins {
    /// Those with so few records that the next inserts do not split them again.
    Sparse,
    /// Those whose records fit in one bucket, with a little room for more.
    Fitting,
}

/// Why records cannot be moved to another bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hash) enum Unmovable {
    /// One would be too far from its home.
    NoRoom,
    /// What is wrong with a bucket.
    Corrupt(&'static str),
}

impl Slots {
    /// Whether what is in two buckets fits in one.
    pub(in crate::hash) fn fit_together(
        &self,
        (one, other): (Page<'_>, Page<'_>),
        joins: Joins,
    ) -> bool {
        let most = match joins {
            Joins::Sparse => self.most / 2,
            Joins::Fitting => self.most - self.most / 16,
        };
        self.records(one).saturating_add(self.records(other)) <= most
    }

    /// Moves the records for which `is_high` returns true to a page of zeros, `high`. With that, it
    /// returns the home of a record.
    ///
    /// # Errors
    /// What is wrong with the bucket. Nothing has been moved then.
    pub(in crate::hash) fn split(
        &self,
        low: &mut PageMut<'_>,
        high: &mut PageMut<'_>,
        is_high: impl Fn(&[u8]) -> (bool, usize),
    ) -> Result<(), &'static str> {
        let (start, moves) = self.plan_split(low.page_ref(), is_high)?;
        // From a free slot on, around the end: so the records whose slots a record could not have
        // come before it. None comes further from its home than it was, since no more come before
        // it than did.
        let mut moved = 0;
        let mut slot = start;
        for _ in 0..self.count {
            match moves[slot] {
                Goes::Nowhere => {}
                Goes::High => {
                    let (to, less) = self.first_free(high.page_ref(), low.page_ref(), slot);
                    let (from, at) = (self.word_of(slot), self.word_of(to));
                    high.set(at, low.get(from).wrapping_sub(less as u64));
                    (1..self.stride).for_each(|word| high.set(at + word, low.get(from + word)));
                    self.clear(low, slot);
                    moved += 1;
                }
                Goes::Low => {
                    let (to, less) = self.first_free(low.page_ref(), low.page_ref(), slot);
                    if less > 0 {
                        self.move_record(low, slot, to, less);
                        self.clear(low, slot);
                    }
                }
            }
            slot = self.after(slot);
        }
        self.count_records(high, |_| moved);
        self.count_records(low, |records| records - moved);
        Ok(())
    }

    /// The first free slot of a page for the record that is in `slot` of another one: from its
    /// home on, and no further from it than it is. Returns how much nearer it is, too.
    #[inline(always)]
    fn first_free(&self, words: Page<'_>, other: Page<'_>, slot: usize) -> (usize, usize) {
        let distance = self.tag(other, slot).saturating_sub(1);
        let home = if slot >= distance { slot - distance } else { slot + self.count - distance };
        let (mut at, mut less) = (home, distance);
        while less > 0 && self.tag(words, at) != 0 {
            (at, less) = (self.after(at), less - 1);
        }
        (at, less)
    }

    /// A free slot, and where each slot's record goes in a split.
    ///
    /// # Errors
    /// Which record does not lie where it belongs.
    fn plan_split(
        &self,
        words: Page<'_>,
        is_high: impl Fn(&[u8]) -> (bool, usize),
    ) -> Result<(usize, Vec<Goes>), &'static str> {
        let start = (0..self.count).find(|slot| self.tag(words, *slot) == 0);
        let start = start.ok_or("it has no free slot")?;
        let mut key = vec![0; self.shape.key_size];
        let mut moves = vec![Goes::Nowhere; self.count];
        // Slots before this one that are taken, and all records.
        let (mut run, mut records) = (0, 0);
        let mut slot = start;
        for _ in 0..self.count {
            match self.tag(words, slot).checked_sub(1) {
                None => run = 0,
                Some(distance) => {
                    let (is_high, home) = self.with_key(words, slot, &mut key, &is_high);
                    let end = home + distance;
                    let end = if end >= self.count { end - self.count } else { end };
                    if distance > run || end != slot {
                        return Err("a record is not as far from its home as its slot says");
                    }
                    moves[slot] = if is_high { Goes::High } else { Goes::Low };
                    (run, records) = (run + 1, records + 1);
                }
            }
            slot = self.after(slot);
        }
        if records > self.most || records != self.records(words) {
            return Err("it does not have as many records as it says");
        }
        Ok((start, moves))
    }

    /// Calls `work` with the key of the record in a slot. A key that is not in the slot's first
    /// word alone is copied into `buffer`, which is as long.
    #[inline(always)]
    fn with_key<T>(
        &self,
        words: Page<'_>,
        slot: usize,
        buffer: &mut [u8],
        work: impl Fn(&[u8]) -> T,
    ) -> T {
        let at = self.word_of(slot);
        if let Some(key) = (words.get(at) >> 8).to_le_bytes()[..7].get(..buffer.len()) {
            return work(key);
        }
        words.read(at * 8 + 1, buffer);
        work(buffer)
    }

    /// Inserts the records of another bucket; `home` returns that of a key.
    ///
    /// # Errors
    /// Why they do not fit; some may have been inserted then.
    pub(in crate::hash) fn join(
        &self,
        target: &mut PageMut<'_>,
        other: Page<'_>,
        home: &dyn Fn(&[u8]) -> usize,
    ) -> Result<(), Unmovable> {
        let mut record = vec![0; self.shape.key_size + self.shape.payload_size];
        for slot in self.taken(other) {
            self.read_record(other, slot, &mut record);
            let (key, payload) = record.split_at(self.shape.key_size);
            let probe = Probe::new(key);
            let found = self.find_or_gap(target.page_ref(), home(key), &probe);
            if found.is_there() {
                return Err(Unmovable::Corrupt("it has two records with the same key"));
            }
            if !self.has_room(target.page_ref(), found) {
                return Err(Unmovable::NoRoom);
            }
            self.insert(target, found, probe, payload);
        }
        Ok(())
    }
}

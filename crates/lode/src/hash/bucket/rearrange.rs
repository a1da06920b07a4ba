//! Splitting a bucket, and joining two.

use super::{Found, HOME_TAG, MOST_TAG, Probe, Slots, TAG};
use crate::hash::Page;
use crate::pager::{Image, PAGE_WORDS, PageMut};

/// Bytes of a slot that are copied in less time than a wrong guess takes.
const SHORT_BYTES: usize = 128;

/// A record of a bucket that is split: its slot, and its home.
#[derive(Clone, Copy, Debug, Default)]
struct Placed {
    slot: u16,
    home: u16,
}

/// The new slots of a bucket's records, in the order in which they are moved: from a free slot on,
/// around the end of the page.
pub(in crate::hash) struct Plan {
    /// The records that stay from the start on, and those that move from the end backwards.
    records: Vec<Placed>,
    stay: usize,
    move_from: usize,
}

impl Plan {
    fn staying(&self) -> impl ExactSizeIterator<Item = Placed> {
        self.records[..self.stay].iter().copied()
    }

    fn moving(&self) -> impl ExactSizeIterator<Item = Placed> {
        self.records[self.move_from..].iter().rev().copied()
    }
}

/// The taken slots of a page: a bit each.
struct Taken {
    bits: [u64; PAGE_WORDS / 64],
    words: usize,
}

impl Taken {
    /// Returns a set with none of `count` slots taken. Bits after those are set.
    fn none(count: usize) -> Self {
        let words = count.div_ceil(64);
        let mut bits = [0; PAGE_WORDS / 64];
        if !count.is_multiple_of(64) {
            bits[words - 1] = u64::MAX << (count % 64);
        }
        Self { bits, words }
    }

    #[inline(always)]
    fn take(&mut self, slot: usize) {
        self.bits[slot / 64] |= 1 << (slot % 64);
    }

    #[inline(always)]
    fn free(&mut self, slot: usize) {
        self.bits[slot / 64] &= !(1 << (slot % 64));
    }

    /// Returns the first free slot from one on, around the end; one has to be free. The number
    /// taken before it cannot be guessed, so they are not looked at one by one.
    #[inline(always)]
    fn first_free(&self, from: usize) -> usize {
        debug_assert!(self.bits[..self.words].iter().any(|bits| *bits != u64::MAX), "one is free");
        let mut at = from / 64;
        let mut free = !self.bits[at] & u64::MAX << (from % 64);
        while free == 0 {
            at = if at + 1 == self.words { 0 } else { at + 1 };
            free = !self.bits[at];
        }
        at * 64 + free.trailing_zeros() as usize
    }
}

/// The buckets that are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hash) enum Joins {
    /// Buckets with so few records that the next inserts do not split them again.
    Sparse,
    /// Buckets that have no more records than fit in one.
    Fitting,
}

/// The reason why records cannot be moved to another bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hash) enum Unmovable {
    /// A record would be too far from its home.
    NoRoom,
    /// The fault of a bucket.
    Corrupt(&'static str),
}

impl Slots {
    /// Returns true if the records of two buckets fit in one.
    pub(in crate::hash) fn fit_together(
        &self,
        one: Page<'_>,
        other: Page<'_>,
        joins: Joins,
    ) -> bool {
        let most = match joins {
            Joins::Sparse => self.most / 2,
            Joins::Fitting => self.most,
        };
        self.records(one).saturating_add(self.records(other)) <= most
    }

    /// Moves the records for which `is_high` returns true to a page of zeros, `high`. With that, it
    /// returns the home of a record.
    ///
    /// # Errors
    /// The fault of the bucket. Nothing has been moved then.
    pub(in crate::hash) fn split(
        &self,
        low: &mut PageMut<'_>,
        high: &mut PageMut<'_>,
        is_high: impl Fn(&[u8]) -> (bool, usize),
    ) -> Result<(), &'static str> {
        let plan = self.plan_split(low.page_ref(), is_high)?;
        self.copy_moving(&plan, low.page_ref(), high);
        self.keep_staying(&plan, low);
        Ok(())
    }

    /// Copies the records that a plan moves to a page of zeros.
    pub(in crate::hash) fn copy_moving(&self, plan: &Plan, low: Page<'_>, high: &mut PageMut<'_>) {
        debug_assert_eq!(self.records(high.page_ref()), 0, "a new bucket has no records");
        // A free slot comes before the first record. No record moves further from its home, since
        // no more records come before it.
        let mut taken = Taken::none(self.count);
        for Placed { slot, home } in plan.moving() {
            let to = taken.first_free(home.into());
            taken.take(to);
            let from = self.start_of(slot.into());
            let at = self.start_of(to);
            self.copy(high, low, from, at, self.tagged(low.get_at(from), home.into(), to));
        }
        self.count_records(high, |_| plan.moving().len() as u64);
    }

    /// Removes the records that a plan moves from their bucket, and closes the gaps.
    pub(in crate::hash) fn keep_staying(&self, plan: &Plan, low: &mut PageMut<'_>) {
        debug_assert_eq!(
            self.records(low.page_ref()),
            plan.staying().len() + plan.moving().len(),
            "the bucket is as it was planned for"
        );
        plan.moving().for_each(|Placed { slot, .. }| low.set_at(self.start_of(slot.into()), 0));
        let mut taken = Taken::none(self.count);
        plan.staying().for_each(|Placed { slot, .. }| taken.take(slot.into()));
        for Placed { slot, home } in plan.staying() {
            taken.free(slot.into());
            let to = taken.first_free(home.into());
            taken.take(to);
            // A wrong guess if it stays in its slot costs more than to copy a short one.
            if self.stride > SHORT_BYTES && to == usize::from(slot) {
                continue;
            }
            let from = self.start_of(slot.into());
            let at = self.start_of(to);
            let first = low.get_at(from);
            // Free, before it may be taken again.
            low.set_at(from, first & !TAG);
            let page = low.page_ref();
            self.copy(low, page, from, at, self.tagged(first, home.into(), to));
        }
        self.count_records(low, |_| plan.staying().len() as u64);
    }

    /// Returns the first word of a slot with another tag: that of a record with this home.
    #[inline(always)]
    fn tagged(&self, first: u64, home: usize, slot: usize) -> u64 {
        let distance = if slot >= home { slot - home } else { slot + self.count - home };
        debug_assert!(distance < MOST_TAG, "a tag has room for the distance");
        first & !TAG | (HOME_TAG + distance as u64)
    }

    /// Plans the new slot of each record in a split.
    ///
    /// # Errors
    /// The record that is not where it belongs.
    pub(in crate::hash) fn plan_split(
        &self,
        words: Page<'_>,
        is_high: impl Fn(&[u8]) -> (bool, usize),
    ) -> Result<Plan, &'static str> {
        let start = (0..self.count).find(|slot| self.tag(words, *slot) == 0);
        let start = start.ok_or("it has no free slot")?;
        let mut key = vec![0; self.shape.key_size];
        let mut records = vec![Placed::default(); self.count];
        let mut stay = 0;
        let mut move_from = self.count;
        // Slots before this one that are taken.
        let mut run = 0;
        let mut is_wrong = false;
        let mut slot = start;
        let mut at = self.start_of(start);
        for _ in 1..self.count {
            (slot, at) = (slot + 1, at + self.stride);
            if slot == self.count {
                (slot, at) = (0, self.start_of(0));
            }
            let first = words.get_at(at);
            if first & TAG == 0 {
                run = 0;
                continue;
            }
            // A key of few bytes is in the first word alone.
            let few = (first >> 8).to_le_bytes();
            let few = few[..7].get(..self.shape.key_size);
            let (is_high, home) = is_high(few.unwrap_or_else(|| {
                words.read(at + 1, &mut key);
                &key
            }));
            let distance = (first & TAG) as usize - 1;
            let end = home + distance;
            let end = if end >= self.count { end - self.count } else { end };
            is_wrong |= (distance > run) | (end != slot);
            run += 1;
            move_from -= usize::from(is_high);
            // The way it moves cannot be guessed: so there is no branch.
            let at = if is_high { move_from } else { stay };
            records[at] = Placed { slot: slot as u16, home: home as u16 };
            stay += usize::from(!is_high);
        }
        if is_wrong {
            return Err("a record is not as far from its home as its slot says");
        }
        let found = stay + self.count - move_from;
        if found > self.most || found != self.records(words) {
            return Err("it does not have as many records as it says");
        }
        debug_assert!(stay <= move_from, "each record stays or moves");
        Ok(Plan { records, stay, move_from })
    }

    /// Returns the records of a bucket and a new one in the order of their homes. In it, none is
    /// far from its own (Celis, Larson, Munro: Robin Hood Hashing, FOCS 1985). Each has its home,
    /// its slot (for the new one, the count of slots), and its slot in that order. `None` if there
    /// is no room.
    #[cold]
    fn in_order(
        &self,
        words: Page<'_>,
        new_home: usize,
        home_of: &dyn Fn(&[u8]) -> usize,
    ) -> Option<Vec<(usize, usize, usize)>> {
        let mut key = vec![0; self.shape.key_size];
        let home_in = |slot: usize| {
            words.read(self.start_of(slot) + 1, &mut key);
            (home_of(&key), slot)
        };
        let mut records: Vec<_> = self.taken(words).map(home_in).collect();
        if records.len() >= self.most {
            return None;
        }
        records.push((new_home, self.count));
        records.sort_unstable();
        // Records that go around the end push the first ones, which may push others around it.
        let mut around = 0;
        loop {
            let end = records.iter().fold(around, |next, (home, _)| next.max(*home) + 1);
            match end.saturating_sub(self.count) {
                more if more > around => around = more,
                _ => break,
            }
        }
        let mut next = around;
        let placed = records.into_iter().map(|(home, slot)| {
            let at = next.max(home);
            next = at + 1;
            (at - home < MOST_TAG).then_some((home, slot, at % self.count))
        });
        placed.collect()
    }

    /// Returns true if one more record with this home has room in a bucket whose records are put in
    /// the order of their homes.
    #[cold]
    pub(in crate::hash) fn has_room_in_order(
        &self,
        words: Page<'_>,
        home: usize,
        home_of: &dyn Fn(&[u8]) -> usize,
    ) -> bool {
        self.in_order(words, home, home_of).is_some()
    }

    /// Inserts a record for which there [is room](Self::has_room_in_order), and orders all others.
    #[cold]
    pub(in crate::hash) fn insert_in_order(
        &self,
        words: &mut PageMut<'_>,
        home: usize,
        probe: Probe<'_>,
        payload: &[u8],
        home_of: &dyn Fn(&[u8]) -> usize,
    ) {
        let records = self.in_order(words.page_ref(), home, home_of);
        let records = records.expect("whoever has the latch has looked for room");
        let old = Image::of(words.page_ref());
        (0..self.count).for_each(|slot| words.set_at(self.start_of(slot), 0));
        for (home, slot, to) in records {
            if slot == self.count {
                let distance = (to + self.count - home) % self.count;
                self.insert(words, Found::new(to, distance, false), probe, payload);
                continue;
            }
            let from = self.start_of(slot);
            let first = self.tagged(old.words().get_at(from), home, to);
            self.copy(words, old.words(), from, self.start_of(to), first);
        }
        let words = words.page_ref();
        debug_assert_eq!(self.records(words), self.records(old.words()) + 1, "one is inserted");
    }

    /// Inserts the records of another bucket; `home` returns the home of a key.
    ///
    /// # Errors
    /// The reason why they do not fit; some may have been inserted then.
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
        debug_assert!(self.records(target.page_ref()) <= self.most, "the records fit in one");
        Ok(())
    }
}

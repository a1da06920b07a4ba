//! The directory: it finds the bucket of a place.
//!
//! Two levels, both in pages. The [root] has 2^b entries for the high b bits of a place; each names
//! a *segment*, the number of bits it stands for (its prefix; several entries may name the same
//! one), and the number of further bits it decides by. A segment has an entry for each combination
//! of those; several may name the same bucket. What outgrows its page is split in two, and nothing
//! is ever copied whole. Buckets with few records are joined again with those that they were split
//! from, unless the table has few buckets; the directory keeps its size.

use std::ops::Range;

use super::bucket::{Joins, Slots, Unmovable};
use super::place::Place;
use super::root::{self, Entry, Found, Root, SEGMENT_BITS};
use super::shortcut::Shortcut;
use super::{HashPlace, Page};
use crate::error::{Error, Result};
use crate::pager::{self, Image, Latched, PageMut, PageNumber, Pager, ReadEpoch, Seen, Space};

/// The most bits that root and segment decide by together.
pub(super) const MOST_BITS: u32 = root::MOST_BITS + SEGMENT_BITS;

/// The bits that tell apart the buckets into which the only bucket of a table is split: a table
/// that outgrows a page soon outgrows two. With memory to spare, a table starts with as many.
const FIRST_BITS: u32 = 2;

const _: () = assert!(FIRST_BITS <= SEGMENT_BITS, "a segment has the first buckets");

/// The buckets that a new table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstBuckets {
    /// One bucket: the table is to take up little.
    One,
    /// The buckets that the only one would be split into: so that split is not needed.
    Few,
}

impl FirstBuckets {
    fn bits(self) -> u32 {
        match self {
            Self::One => 0,
            Self::Few => FIRST_BITS,
        }
    }
}

/// The directory of a table.
pub(super) struct Directory {
    root: Root,
}

fn bucket_of(words: Page<'_>, index: usize) -> PageNumber {
    PageNumber::of_word(words.get(index / 2) >> (index % 2 * 32))
}

fn set_bucket(words: &mut PageMut<'_>, index: usize, bucket: PageNumber) {
    debug_assert!(index < 1 << SEGMENT_BITS, "a segment has {} buckets", 1 << SEGMENT_BITS);
    let shift = index % 2 * 32;
    let other = words.get(index / 2) & !(0xffff_ffff << shift);
    words.set(index / 2, other | bucket.word() << shift);
}

/// Returns the buckets of a segment that decides by this many bits, in the order of its entries;
/// one that several entries name comes as often.
pub(super) fn buckets_of(words: Page<'_>, bits: u32) -> Vec<PageNumber> {
    (0..1 << bits).map(|index| bucket_of(words, index)).collect()
}

/// Returns the entries that name the same bucket as the one at `index`: the first of them, and
/// their number, a power of two.
fn run_of(words: Page<'_>, index: usize, bits: u32) -> (usize, usize) {
    let bucket = bucket_of(words, index);
    let mut count = 1;
    while count < 1 << bits {
        let first = index & !(count * 2 - 1);
        let same = (first..first + count * 2).all(|at| bucket_of(words, at) == bucket);
        if !same {
            break;
        }
        count *= 2;
    }
    (index & !(count - 1), count)
}

/// Allocates the new pages for the split of a bucket: one; or three, if it is the only one of its
/// table, and there is room for them.
fn allocate_for_split<'p>(
    pager: &'p Pager,
    space: &Space,
    is_only: bool,
) -> Result<Vec<Latched<'p>>> {
    let mut new = vec![pager.allocate(space)?];
    if is_only {
        let more = [(); (1 << FIRST_BITS) - 2].map(|()| pager.allocate(space).ok());
        new.extend(more.into_iter().flatten());
        if new.len() < (1 << FIRST_BITS) - 1 {
            // The other pages are split once they are full.
            new.drain(1..).for_each(|page| page.free(space, pager.epoch()));
        }
    }
    Ok(new)
}

/// Latches the segment of a found entry, if `is_right` accepts its content. Waits a while for a
/// thread that has latched it; returns `None` if that is not enough, or the entry has changed, or
/// the segment is not in memory.
fn latch_segment<'p>(
    pager: &'p Pager,
    found: &Found<'_>,
    is_right: &dyn Fn(Page<'_>) -> bool,
) -> Option<Latched<'p>> {
    const MOST_LOOKS: u32 = 1 << 10;
    for look in 1..=MOST_LOOKS {
        if !found.validate() {
            return None;
        }
        if let Some((seen, words)) = pager.try_read(found.entry.segment) {
            let is_right = is_right(words);
            if let Some(segment) = pager.latch(seen) {
                // Only a thread that has latched the segment changes its entry in the root.
                return (is_right && found.validate()).then_some(segment);
            }
        }
        if look.is_multiple_of(32) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
    None
}

/// The parts of a table that a split or a join changes with its directory.
#[derive(Clone, Copy)]
pub(super) struct Parts<'h> {
    pub slots: &'h Slots,
    pub shortcut: &'h Shortcut,
}

/// A full bucket that has several entries in its segment.
struct Full<'p> {
    /// The segment's entry in the root.
    found: Found<'p>,
    /// A place of the bucket.
    place: HashPlace,
    seen: Seen<'p>,
    /// The bucket's entries in the segment.
    run: Range<usize>,
}

/// Moves half of a bucket's records to a new one; the only bucket of a table becomes four, with
/// room for them.
///
/// All splits of a segment's buckets change it. So it is latched last, when the records have
/// been copied, and only until its entries lead to the new bucket. That may wait for it, with
/// the bucket latched: whoever holds the segment waits for nothing.
fn halve(
    pager: &Pager,
    space: &Space,
    parts: Parts<'_>,
    full: &Full<'_>,
    place_of: impl Fn(&[u8]) -> Place,
) -> Result<()> {
    let Parts { slots, shortcut } = parts;
    let Full { found, place, seen, run } = full;
    let entry = found.entry;
    debug_assert!(run.len().is_power_of_two(), "a bucket's entries are a power of two");
    debug_assert!(run.start.is_multiple_of(run.len()), "its entries have bits in common");
    shortcut.make_room(entry.depth())?;
    let Some(mut bucket) = pager.latch(*seen) else { return Ok(()) };
    let is_only = entry.depth() == FIRST_BITS && run.len() == 1 << FIRST_BITS;
    let mut new = allocate_for_split(pager, space, is_only)?;
    let give_back = |new: Vec<Latched<'_>>| {
        new.into_iter().for_each(|page| page.free(space, pager.epoch()));
    };
    let middle = run.start + run.len() / 2;
    // The bit of a place in which the halves of the run differ, and what is above it.
    let depth = entry.depth() - (run.len() / 2).trailing_zeros();
    debug_assert!(depth <= entry.depth(), "no bucket is deeper than the directory");
    let half_at = |depth: u32| {
        let place_of = &place_of;
        move |key: &[u8]| {
            let place = place_of(key);
            (place.directory.is_high(depth), place.home)
        }
    };
    let plan = match slots.plan_split(bucket.words(), half_at(depth)) {
        Ok(plan) => plan,
        Err(why) => {
            give_back(new);
            return Err(Error::corrupt(format!("page {}", bucket.page()), why));
        }
    };
    slots.copy_moving(&plan, bucket.words(), &mut new[0].first_content());
    let is_led_to = |words: Page<'_>| {
        run_of(words, run.start, entry.bits) == (run.start, run.len())
            && bucket_of(words, run.start) == bucket.page()
    };
    let Some(mut segment) = latch_segment(pager, found, &is_led_to) else {
        give_back(new);
        return Ok(());
    };
    // One epoch for all changes: a reader at any moment finds all of these pages as they were,
    // or as they become.
    let epoch = pager.epoch();
    for page in &mut new {
        page.change(epoch);
        page.inherit(&bucket);
    }
    let lead = |segment: &mut Latched<'_>, page: PageNumber, run: Range<usize>, depth: u32| {
        let first = entry.place_of(entry.base(*place), run.start);
        let mut words = segment.change(epoch);
        run.for_each(|at| set_bucket(&mut words, at, page));
        // While the bucket is latched: readers of the shortcut rely on that.
        shortcut.set(page, first, depth);
    };
    lead(&mut segment, new[0].page(), middle..run.end, depth);
    if let [second, third, fourth] = &mut new[..] {
        slots.keep_staying(&plan, &mut bucket.change(epoch));
        let quarter = run.len() / 4;
        let low = (&mut bucket, third, run.start + quarter..middle);
        let high = (second, fourth, middle + quarter..run.end);
        for (half, new, run) in [low, high] {
            // The records are where they belong since the first half was checked.
            slots
                .split(&mut half.change(epoch), &mut new.first_content(), half_at(depth + 1))
                .map_err(|why| Error::corrupt(format!("page {}", half.page()), why))?;
            lead(&mut segment, new.page(), run, depth + 1);
        }
    } else {
        drop(segment);
        slots.keep_staying(&plan, &mut bucket.change(epoch));
    }
    Ok(())
}

impl Directory {
    /// Creates a directory with empty buckets.
    pub(super) fn create(pager: &Pager, space: &Space, first: FirstBuckets) -> Result<Self> {
        let buckets = (0..1 << first.bits()).map(|_| pager.allocate(space));
        let buckets = buckets.collect::<Result<Vec<_>>>()?;
        let mut segment = pager.allocate(space)?;
        let mut words = segment.first_content();
        for (at, bucket) in buckets.iter().enumerate() {
            set_bucket(&mut words, at, bucket.page());
        }
        let entry = Entry { segment: segment.page(), bits: first.bits(), prefix: 0 };
        Ok(Self { root: Root::create(pager, space, entry)? })
    }

    /// Opens an existing directory by the page of its root.
    pub(super) fn open(root: PageNumber) -> Self {
        Self { root: Root::open(root) }
    }

    /// Returns the page of the root.
    pub(super) fn root(&self) -> PageNumber {
        self.root.page()
    }

    /// Calls `visit`, until it fails, with every bucket, its first place, and the number of bits
    /// that its places have in common. No other thread may change the directory during the call.
    pub(super) fn each(
        &self,
        pager: &Pager,
        visit: &mut dyn FnMut(PageNumber, HashPlace, u32) -> Result<()>,
    ) -> Result<()> {
        let mut next = Some(HashPlace::FIRST);
        while let Some(place) = next {
            let entry = self.root.read_optimistic(pager, place)?.entry;
            let (_, segment) = pager.read_optimistic(entry.segment)?;
            // All buckets of the segment, without looking up the way again for each.
            let base = entry.base(place);
            let bits = entry.bits;
            let mut index = 0;
            while index < 1 << bits {
                let (first, count) = run_of(segment, index, bits);
                let depth = entry.prefix + bits - count.trailing_zeros();
                visit(bucket_of(segment, index), entry.place_of(base, first), depth)?;
                index = first + count;
            }
            next = entry.place_after(base, 1 << bits);
        }
        Ok(())
    }

    /// Returns the bucket that a place had at a moment, and the place where the next one starts.
    pub(super) fn read_at_epoch(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        place: HashPlace,
    ) -> Result<(PageNumber, Option<HashPlace>)> {
        let entry = self.root.read_at_epoch(pager, moment, place)?;
        let index = entry.index(place);
        let (bucket, first, count) = pager.at(moment, entry.segment, |words| {
            let (first, count) = run_of(words, index, entry.bits);
            (bucket_of(words, index), first, count)
        })?;
        Ok((bucket, entry.place_after(entry.base(place), first + count)))
    }

    /// Returns the bucket of a place, and the place where the next one starts.
    pub(super) fn read_optimistic(
        &self,
        pager: &Pager,
        place: HashPlace,
    ) -> Result<(PageNumber, Option<HashPlace>)> {
        loop {
            let found = self.root.read_optimistic(pager, place)?;
            let entry = found.entry;
            let segment = pager.read_optimistic(entry.segment);
            if !found.validate() {
                continue;
            }
            let (seen, words) = segment?;
            let (first, count) = run_of(words, entry.index(place), entry.bits);
            let bucket = bucket_of(words, first);
            if seen.validate() && found.validate() {
                return Ok((bucket, entry.place_after(entry.base(place), first + count)));
            }
        }
    }

    /// Makes room for a record whose bucket `has_room` refuses. Other threads may have done so, and
    /// more may have to be done: the caller looks again.
    pub(super) fn split(
        &self,
        pager: &Pager,
        space: &Space,
        parts: Parts<'_>,
        place: HashPlace,
        has_room: &dyn Fn(Page<'_>) -> bool,
        place_of: impl Fn(&[u8]) -> Place,
    ) -> Result<()> {
        let found = self.root.read_optimistic(pager, place)?;
        let entry = found.entry;
        let segment = pager.read_optimistic(entry.segment);
        if !found.validate() {
            return Ok(());
        }
        let (segment_seen, segment_words) = segment?;
        let index = entry.index(place);
        let bucket = pager.read_optimistic(bucket_of(segment_words, index));
        if !segment_seen.validate() {
            return Ok(());
        }
        let (bucket_seen, bucket_words) = bucket?;
        let has_room = has_room(bucket_words);
        let (first, count) = run_of(segment_words, index, entry.bits);
        let still = bucket_seen.validate() && segment_seen.validate() && found.validate();
        if has_room || !still {
            return Ok(());
        }
        if !pager::differ(&mut [self.root(), entry.segment, bucket_seen.page()]) {
            return Err(Error::corrupt(
                format!("page {}", bucket_seen.page()),
                "it is in two places",
            ));
        }
        if count > 1 {
            let run = first..first + count;
            let full = Full { found, place, seen: bucket_seen, run };
            return halve(pager, space, parts, &full, place_of);
        }
        let numbers = found.numbers();
        if entry.bits < SEGMENT_BITS {
            let Some(mut root) = self.root.latch(pager, &found)? else { return Ok(()) };
            let Some(mut segment) = pager.latch(segment_seen) else { return Ok(()) };
            let epoch = pager.epoch();
            let mut words = segment.change(epoch);
            let more = if entry.depth() == 0 { FIRST_BITS } else { 1 };
            debug_assert!(entry.bits + more <= SEGMENT_BITS, "a segment is one page");
            for at in (0..1 << entry.bits).rev() {
                let bucket = bucket_of(words.page_ref(), at);
                let own = at << more..(at + 1) << more;
                own.for_each(|at| set_bucket(&mut words, at, bucket));
            }
            root.set(epoch, numbers, Entry { bits: entry.bits + more, ..entry });
        } else if numbers.len() > 1 {
            let Some(mut root) = self.root.latch(pager, &found)? else { return Ok(()) };
            let Some(mut segment) = pager.latch(segment_seen) else { return Ok(()) };
            let mut new = pager.allocate(space)?;
            let epoch = pager.epoch();
            let low = segment.change(epoch);
            let mut high = new.change(epoch);
            let low = low.page_ref();
            let half = 1 << (SEGMENT_BITS - 1);
            (0..half).for_each(|at| set_bucket(&mut high, at, bucket_of(low, half + at)));
            debug_assert_eq!(entry.bits, SEGMENT_BITS, "a full segment is halved");
            let halved = Entry { bits: entry.bits - 1, prefix: entry.prefix + 1, ..entry };
            let other = Entry { segment: new.page(), ..halved };
            let middle = numbers.start + numbers.len() / 2;
            root.set(epoch, numbers.start..middle, halved);
            root.set(epoch, middle..numbers.end, other);
        } else {
            self.root.double(pager, space, &found)?;
        }
        Ok(())
    }

    /// Joins the bucket of a place with the one that it was split from, if `joins` allows it;
    /// returns true if it did. Buckets that another thread works on are left for another time.
    pub(super) fn join(
        &self,
        pager: &Pager,
        space: &Space,
        parts: Parts<'_>,
        place: HashPlace,
        joins: Joins,
        home_of: &dyn Fn(&[u8]) -> usize,
    ) -> Result<bool> {
        let Parts { slots, shortcut } = parts;
        let found = self.root.read_optimistic(pager, place)?;
        let entry = found.entry;
        let segment = pager.read_optimistic(entry.segment);
        if !found.validate() {
            return Ok(false);
        }
        let (segment_seen, segment_words) = segment?;
        let bits = entry.bits;
        let (first, count) = run_of(segment_words, entry.index(place), bits);
        if count >= 1 << bits {
            return Ok(false);
        }
        let low_at = first & !count;
        let high_at = first | count;
        let are_as_deep = |words: Page<'_>| {
            [low_at, high_at].into_iter().all(|at| run_of(words, at, bits) == (at, count))
        };
        if !are_as_deep(segment_words) {
            return Ok(false);
        }
        let low = pager.read_optimistic(bucket_of(segment_words, low_at));
        let high = pager.read_optimistic(bucket_of(segment_words, high_at));
        if !segment_seen.validate() {
            return Ok(false);
        }
        let ((low_seen, low_words), (high_seen, high_words)) = (low?, high?);
        if !slots.fit_together(low_words, high_words, joins) {
            return Ok(false);
        }
        let latched = (pager.latch(low_seen), pager.latch(high_seen));
        let (Some(mut low), Some(high)) = latched else { return Ok(false) };
        // Not in the page: without room, the page stays unchanged, and need not be written.
        let mut joined = Image::of(low.words());
        match slots.join(&mut joined.words_mut(), high.words(), home_of) {
            Ok(()) => {}
            Err(Unmovable::NoRoom) => return Ok(false),
            Err(Unmovable::Corrupt(why)) => {
                return Err(Error::corrupt(format!("page {}", low.page()), why));
            }
        }
        let both = || slots.records(low.words()) + slots.taken(high.words()).count();
        debug_assert_eq!(slots.records(joined.words()), both(), "a join loses no record");
        debug_assert!(low_at + count <= high_at, "buckets that were one are next to each other");
        let is_right = |words: Page<'_>| {
            are_as_deep(words)
                && bucket_of(words, low_at) == low.page()
                && bucket_of(words, high_at) == high.page()
        };
        // Last, and for a moment, as in a split.
        let Some(mut segment) = latch_segment(pager, &found, &is_right) else { return Ok(false) };
        let epoch = pager.epoch();
        let mut words = segment.change(epoch);
        let page = low.page();
        (high_at..high_at + count).for_each(|at| set_bucket(&mut words, at, page));
        // While both buckets are latched: readers of the shortcut rely on that.
        let depth = entry.depth() - count.trailing_zeros() - 1;
        shortcut.set(page, entry.place_of(entry.base(place), low_at), depth);
        drop(segment);
        low.change(epoch).copy_from(joined.words());
        low.cover(&high);
        drop(low);
        high.free(space, epoch);
        Ok(true)
    }
}

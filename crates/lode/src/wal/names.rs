//! The order of frames in several lanes.
//!
//! Each frame has a number, its *order*: one more than that of the frame before it in its lane, and
//! than those of all frames that it *names*. So the frames of all lanes, by their numbers, are in
//! an order in which each comes after those that it depends on. (Lamport, Time, Clocks, and the
//! Ordering of Events in a Distributed System, CACM 21(7), 1978; for pages and logs: Haubenschild
//! et al., Rethinking Logging, Checkpoints, and Recovery for High-Performance Storage Engines,
//! SIGMOD 2020.)
//!
//! A page has the name of the frame that changed it last: the next frame that changes the page
//! names that one. Where records move between pages without a frame, the name moves with them. A
//! page with records of two pages may depend on frames of several lanes: then it is marked, and the
//! next frame that changes it names the last frames of all lanes.

use std::sync::atomic::{AtomicU64, Ordering};

/// The most lanes of a log.
pub(crate) const MOST_LANES: usize = 16;

/// More than the order of any frame: a superblock has no place for it.
pub(super) const MOST_ORDER: u64 = (1 << 48) - 1;

const LANE_BITS: u32 = MOST_LANES.trailing_zeros();

/// The mark of the word of a page whose records depend on frames of several lanes.
const SEVERAL: u64 = 1 << 63;

const _: () = assert!(MOST_LANES == 1 << LANE_BITS, "a lane has a number of whole bits");

/// The name of a frame: its lane and its order. By default, it names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FrameName(u64);

impl FrameName {
    /// Bytes that a name has in a frame.
    pub(super) const BYTES: usize = size_of::<u64>();

    pub(super) fn new(order: u64, lane: usize) -> Self {
        debug_assert!(lane < MOST_LANES, "a log has no lane {lane}");
        debug_assert!(order < SEVERAL >> LANE_BITS, "no log has {order} frames");
        Self(order << LANE_BITS | lane as u64)
    }

    /// Returns the name that a frame has in these bytes.
    pub(super) fn read(bytes: [u8; Self::BYTES]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0.to_le_bytes()
    }

    pub(super) fn order(self) -> u64 {
        (self.0 & !SEVERAL) >> LANE_BITS
    }

    pub(super) fn lane(self) -> usize {
        self.0 as usize % MOST_LANES
    }
}

/// The name of the last frame that all later ones come after. It changes only while one thread is
/// alone.
#[derive(Default)]
pub(super) struct Floor(AtomicU64);

impl Floor {
    pub(super) fn get(&self) -> FrameName {
        FrameName(self.0.load(Ordering::Acquire))
    }

    pub(super) fn store(&self, name: FrameName) {
        debug_assert!(self.get().order() <= name.order(), "later frames come after all before");
        self.0.store(name.0, Ordering::Release);
    }
}

/// The names in a frame: at most one of each other lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    names: [FrameName; MOST_LANES],
    count: usize,
}

impl Names {
    pub(super) const fn none() -> Self {
        Self { names: [FrameName(0); MOST_LANES], count: 0 }
    }

    /// Adds a name, or puts it in the place of an earlier one of its lane.
    pub(super) fn add(&mut self, name: FrameName) {
        let known = self.names[..self.count].iter_mut().find(|known| known.lane() == name.lane());
        match known {
            Some(known) => *known = (*known).max(name),
            None => {
                self.names[self.count] = name;
                self.count += 1;
            }
        }
    }

    pub(super) fn as_slice(&self) -> &[FrameName] {
        &self.names[..self.count]
    }
}

/// Returns the order of a frame that comes after one of this order, and has these names.
pub(super) fn next_order(before: u64, names: &[FrameName]) -> u64 {
    names.iter().map(|name| name.order()).fold(before, u64::max) + 1
}

/// The words of the pages that a frame changes, which the caller has latched: each has the name of
/// the frame that changed its page last.
#[derive(Clone, Copy, Default)]
pub(crate) struct Touched<'p> {
    /// The words; `None` where there is no page.
    pub lasts: [Option<&'p AtomicU64>; 3],
    /// True if the frame may depend on frames of other pages.
    pub is_after_all: bool,
}

impl<'p> Touched<'p> {
    /// Returns the word of the only page that a frame changes.
    #[inline(always)]
    pub(crate) fn one(last: Option<&'p AtomicU64>) -> Self {
        Self { lasts: [last, None, None], is_after_all: false }
    }

    /// Calls `take` with the name in each word, and true if the page depends on several lanes.
    pub(super) fn each(&self, mut take: impl FnMut(FrameName, bool)) {
        for last in self.lasts.iter().flatten() {
            let word = last.load(Ordering::Relaxed);
            take(FrameName(word & !SEVERAL), word & SEVERAL != 0);
        }
    }

    /// Stores the name of the frame that has changed the pages.
    pub(super) fn set(&self, name: FrameName) {
        self.lasts.iter().flatten().for_each(|last| last.store(name.0, Ordering::Relaxed));
    }
}

/// Makes a page depend on what another depends on, whose records it gets besides its own. Both are
/// latched.
pub(crate) fn cover(to: &AtomicU64, from: &AtomicU64) {
    let own = to.load(Ordering::Relaxed);
    let other = from.load(Ordering::Relaxed);
    let name = |word: u64| FrameName(word & !SEVERAL);
    let is_one = own == 0 || other == 0 || name(own).lane() == name(other).lane();
    let several = (own | other) & SEVERAL | if is_one { 0 } else { SEVERAL };
    to.store(name(own).max(name(other)).0 | several, Ordering::Relaxed);
}

/// Has a page depend on what another does, from which it gets all of its records.
pub(crate) fn inherit(to: &AtomicU64, from: &AtomicU64) {
    to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(order: u64, lane: usize) -> AtomicU64 {
        AtomicU64::new(FrameName::new(order, lane).0)
    }

    /// Returns the names in a word, and true if they are of several lanes.
    fn seen(word: &AtomicU64) -> (FrameName, bool) {
        let mut all = Vec::new();
        Touched::one(Some(word)).each(|name, is_several| all.push((name, is_several)));
        all[0]
    }

    #[test]
    fn a_page_that_gets_records_of_another_depends_on_the_frames_of_both() {
        let cases = [
            (word(3, 1), word(5, 1), (FrameName::new(5, 1), false)),
            (word(5, 1), word(3, 1), (FrameName::new(5, 1), false)),
            (word(5, 1), word(3, 2), (FrameName::new(5, 1), true)),
            (word(3, 2), word(5, 1), (FrameName::new(5, 1), true)),
            (AtomicU64::new(0), word(3, 2), (FrameName::new(3, 2), false)),
            (word(3, 2), AtomicU64::new(0), (FrameName::new(3, 2), false)),
        ];
        for (to, from, wanted) in cases {
            cover(&to, &from);
            assert_eq!(seen(&to), wanted);
            let third = word(9, 1);
            cover(&third, &to);
            // A page that depended on several lanes still does so with a later frame.
            assert_eq!(seen(&third), (FrameName::new(9, 1), wanted.1 || wanted.0.lane() != 1));
            inherit(&third, &from);
            assert_eq!(seen(&third), seen(&from));
        }
    }

    #[test]
    fn a_frame_has_one_name_of_each_lane_and_comes_after_all() {
        let mut names = Names::none();
        let all = [(4, 2), (7, 3), (9, 2), (1, 3)].map(|(order, lane)| FrameName::new(order, lane));
        all.into_iter().for_each(|name| names.add(name));
        assert_eq!(names.as_slice(), [FrameName::new(9, 2), FrameName::new(7, 3)]);
        assert_eq!(next_order(5, names.as_slice()), 10);
        assert_eq!(next_order(12, names.as_slice()), 13);
        let name = FrameName::new(9, 2);
        assert_eq!(FrameName::read(name.to_bytes()), name);
    }
}

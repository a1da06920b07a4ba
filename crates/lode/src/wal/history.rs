//! The history: segments that recovery does not need any more, kept for readers of changes.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::front::FRAMES_AT;
use super::turn::Old;
use super::{Log, SegmentNumber, lock};
use crate::error::{Error, Result};

/// The most that can be kept, in MiB: the header of a segment has three bytes for it.
pub(crate) const MOST_KEPT_MIB: u32 = (1 << 24) - 1;

/// Segments of the first lane before those that recovery needs, the oldest first.
#[derive(Default)]
pub(super) struct History {
    kept: VecDeque<(SegmentNumber, u64)>,
}

impl History {
    /// Adds later segments, with the bytes of their files; leaves out segments that it has.
    fn add(&mut self, segments: impl IntoIterator<Item = (SegmentNumber, u64)>) {
        for (number, size_bytes) in segments {
            if self.kept.back().is_none_or(|(last, _)| *last < number) {
                self.kept.push_back((number, size_bytes));
            }
        }
        debug_assert!(self.kept.iter().is_sorted(), "segments follow each other");
    }

    fn has(&self, number: SegmentNumber) -> bool {
        self.kept.iter().any(|(kept, _)| *kept == number)
    }

    /// Returns the bytes of the file of a segment that it has.
    fn size_of(&mut self, number: SegmentNumber) -> Option<&mut u64> {
        let mut kept = self.kept.iter_mut();
        kept.find(|(kept, _)| *kept == number).map(|(_, size_bytes)| size_bytes)
    }

    /// Takes out the oldest segments, as long as the others have at least these bytes.
    fn give_up_beyond(&mut self, wanted_bytes: u64) -> Vec<SegmentNumber> {
        let bytes = |kept: &VecDeque<_>| kept.iter().map(|(_, size_bytes)| size_bytes).sum::<u64>();
        let mut given_up = Vec::new();
        let mut left_bytes = bytes(&self.kept);
        while let Some((number, size_bytes)) = self.kept.front().copied()
            && left_bytes - size_bytes >= wanted_bytes
        {
            left_bytes -= size_bytes;
            given_up.push(number);
            self.kept.pop_front();
        }
        debug_assert_eq!(left_bytes, bytes(&self.kept), "only what was given up is missing");
        debug_assert!(given_up.is_sorted(), "the oldest go first");
        given_up
    }
}

impl Log {
    /// Returns true if changes are kept for readers: records say what was before them.
    pub(crate) fn keeps_changes(&self) -> bool {
        self.kept_mib > 0
    }

    /// Has segments kept that another process has left, if changes are kept. Makes those durable
    /// that were `replayed`. Returns their numbers.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn keep_history(
        &self,
        replayed: &[SegmentNumber],
        left: Vec<(SegmentNumber, u64)>,
    ) -> Result<Vec<SegmentNumber>> {
        if !self.keeps_changes() {
            return Ok(Vec::new());
        }
        for number in replayed {
            let file = self.disk.open(&number.file_name());
            let synced = file.and_then(|file| file.sync());
            synced.map_err(|error| Error::io(format!("sync {number}"), &error))?;
        }
        let mut history = lock(&self.history);
        history.add(left);
        Ok(history.kept.iter().map(|(number, _)| *number).collect())
    }

    /// Keeps segments that recovery does not need any more, if changes are kept, and removes older
    /// ones. Returns the segments that are not kept.
    pub(super) fn keep(&self, mut forgotten: Vec<Old>) -> Result<Vec<Old>> {
        if !self.keeps_changes() {
            return Ok(forgotten);
        }
        debug_assert_eq!(self.count.load(Ordering::Relaxed), 1, "changes have one order");
        let mut history = lock(&self.history);
        for Old { number, end, segment } in &mut forgotten {
            // What a file has no frames in is of no use.
            debug_assert!(*end >= FRAMES_AT, "a header is kept whole");
            if let Some(segment) = segment {
                segment.cut(*end)?;
                history.add([(*number, *end)]);
            } else if let Some(size_bytes) = history.size_of(*number) {
                let file = self.disk.open(&number.file_name());
                let cut = file.and_then(|file| file.set_size(*end));
                cut.map_err(|error| Error::io(format!("cut {number} off"), &error))?;
                *size_bytes = *end;
            }
        }
        // Others were replayed: what is kept of them is in the history by now.
        let is_useless = |old: &Old| old.segment.is_none() && !history.has(old.number);
        let useless = forgotten.into_iter().filter(is_useless).collect();
        for number in history.give_up_beyond(u64::from(self.kept_mib) << 20) {
            let removed = self.disk.remove(&number.file_name());
            removed.map_err(|error| Error::io("remove an old log segment", &error))?;
        }
        Ok(useless)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_segments_are_given_up_when_later_ones_have_enough_bytes() {
        let segment = |number: u64| (SegmentNumber::new(number), 10 * number);
        let mut history = History::default();
        history.add([1, 2, 4].map(segment));
        history.add([2, 4, 5].map(segment));
        assert_eq!(history.kept, [1, 2, 4, 5].map(segment));
        assert_eq!(history.give_up_beyond(111), []);
        assert_eq!(history.give_up_beyond(110), [segment(1).0]);
        assert_eq!(history.give_up_beyond(50), [2, 4].map(|number| segment(number).0));
        // One segment has more than enough, and stays.
        assert_eq!(history.give_up_beyond(1), []);
        assert_eq!(history.kept, [segment(5)]);
    }
}

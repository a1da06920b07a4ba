//! A position in the log that one thread at a time moves forward, and any may read without a lock.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::{LogPosition, SegmentNumber};

/// A position that never goes back.
pub(super) struct Mark {
    /// The version: odd while the segment changes.
    version: AtomicU64,
    segment: AtomicU64,
    at: AtomicU64,
}

impl Mark {
    pub(super) fn new(position: LogPosition) -> Self {
        Self {
            version: AtomicU64::new(0),
            segment: AtomicU64::new(position.segment.get()),
            at: AtomicU64::new(position.at),
        }
    }

    /// Moves the mark forward. Only one thread at a time may do so.
    #[inline]
    pub(super) fn set(&self, position: LogPosition) {
        debug_assert!(self.get() <= position, "a mark never goes back");
        if self.segment.load(Ordering::Relaxed) == position.segment.get() {
            return self.at.store(position.at, Ordering::Release);
        }
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        self.segment.store(position.segment.get(), Ordering::Relaxed);
        self.at.store(position.at, Ordering::Relaxed);
        self.version.store(version + 2, Ordering::Release);
    }

    /// Returns the position; not before any that the caller knows to have been set.
    #[inline]
    pub(super) fn get(&self) -> LogPosition {
        loop {
            let version = self.version.load(Ordering::Acquire);
            let segment = self.segment.load(Ordering::Relaxed);
            let at = self.at.load(Ordering::Acquire);
            fence(Ordering::Acquire);
            if version & 1 == 0 && self.version.load(Ordering::Relaxed) == version {
                return LogPosition { segment: SegmentNumber::new(segment), at };
            }
            // Two stores are all that the loop waits for.
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_a_position_that_was_set_and_no_older_one_than_it_knows_of() {
        const FRAMES: u64 = 10;
        let number = |LogPosition { segment, at }: LogPosition| segment.get() * FRAMES + at;
        let mark = Mark::new(LogPosition::default());
        let known = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let moved = scope.spawn(|| {
                for segment in 0..100_000 {
                    for at in 0..FRAMES - segment % 7 {
                        mark.set(LogPosition { segment: SegmentNumber::new(segment), at });
                        known.store(segment * FRAMES + at, Ordering::Release);
                    }
                }
            });
            while !moved.is_finished() {
                let known = known.load(Ordering::Acquire);
                let seen = mark.get();
                assert!(seen.at < FRAMES - seen.segment.get() % 7, "{seen:?} was never set");
                assert!(number(seen) >= known, "{seen:?} is older than {known}");
            }
        });
    }
}

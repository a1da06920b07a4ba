//! Small numbers that threads have for themselves.

use std::sync::atomic::{AtomicU64, Ordering};

/// A set of numbers, each of which one thread at a time may have.
pub(crate) struct Numbers {
    /// A bit for each number that is taken.
    taken: AtomicU64,
}

/// The number of a thread. When it is dropped, another thread can have the number.
pub(crate) struct Number {
    of: &'static Numbers,
    value: usize,
}

impl Numbers {
    /// The numbers of a set are less than this.
    pub(crate) const COUNT: usize = u64::BITS as usize;

    pub(crate) const fn new() -> Self {
        Self { taken: AtomicU64::new(0) }
    }

    /// Takes the lowest number that is left, or [`COUNT`](Self::COUNT) if none is.
    pub(crate) fn take(&'static self) -> Number {
        let take = |taken: u64| Some(taken | (!taken & taken.wrapping_add(1)));
        let before = self.taken.fetch_update(Ordering::Acquire, Ordering::Relaxed, take);
        Number { of: self, value: before.map_or(0, u64::trailing_ones) as usize }
    }
}

impl Number {
    pub(crate) fn get(&self) -> usize {
        self.value
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        if self.value < Numbers::COUNT {
            let before = self.of.taken.fetch_and(!(1 << self.value), Ordering::Release);
            debug_assert!(before & 1 << self.value != 0, "a number is given back once");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_of_one_thread_at_a_time_and_comes_again() {
        static NUMBERS: Numbers = Numbers::new();
        let mut all: Vec<_> = (0..Numbers::COUNT + 2).map(|_| NUMBERS.take()).collect();
        let values: Vec<_> = all.iter().map(Number::get).collect();
        assert_eq!(values[..Numbers::COUNT], (0..Numbers::COUNT).collect::<Vec<_>>());
        assert_eq!(values[Numbers::COUNT..], [Numbers::COUNT; 2]);
        all.remove(5);
        all.remove(0);
        let again = [NUMBERS.take(), NUMBERS.take()];
        assert_eq!(again.map(|number| number.get()), [0, 5]);
    }
}

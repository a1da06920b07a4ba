//! The operations that meet a fault of the disk, and what becomes of them.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use assay_core::durability::{Fault, Lasts};
use assay_core::random::draw;
use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use crate::volume::Ino;

/// The delay of an operation on a slow disk.
const DELAY: Duration = Duration::from_millis(20);
/// The most delays of a fault, so that all together take 2 s.
const DELAYS_MOST: u32 = 100;
/// The fewest operations that meet a fault which is healed, and how many more there may be.
const HEALED_LEAST: u64 = 2;
const HEALED_FURTHER: u64 = 8;

/// The binary logarithm of the most operations from a fault to a power cut.
const POWER_AFTER_MOST_LOG: u64 = 8;

/// A fault to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// The kind of the fault.
    pub fault: Fault,
    /// The first operation that meets it, counted from 1 among those that the fault concerns.
    pub at: u64,
    /// The number of operations that meet it, until the disk is healed.
    pub operations: u64,
    /// The further operations after the first that met it, before the power goes; none if it stays.
    pub power_after: Option<u64>,
}

impl Injection {
    /// Returns a fault that no operation meets: the disk only counts those that it concerns.
    pub fn never(fault: Fault) -> Self {
        Self { fault, at: u64::MAX, operations: 0, power_after: None }
    }

    /// Returns a fault from an operation on; `seed` draws when a disk is healed.
    pub fn new(fault: Fault, lasts: Lasts, at: u64, seed: u64) -> Self {
        let operations = match lasts {
            Lasts::Once => 1,
            Lasts::Healed => HEALED_LEAST + draw(seed, 0, HEALED_FURTHER),
            Lasts::Always => u64::MAX,
        };
        Self { fault, at, operations, power_after: None }
    }

    /// Adds a power cut soon after the first operation that meets the fault; `seed` draws when.
    pub fn with_power_cut(self, seed: u64) -> Self {
        let most = 1 << draw(seed, 1, POWER_AFTER_MOST_LOG + 1);
        Self { power_after: Some(draw(seed, 2, most)), ..self }
    }
}

/// Returns the longest that all operations together are delayed by a fault.
pub fn delay_most(fault: Fault) -> Duration {
    if fault == Fault::Slow { DELAY * DELAYS_MOST } else { Duration::ZERO }
}

/// An operation, as far as a fault concerns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write(Write),
    /// An allocation, or a new name.
    Allocate,
    Synchronise,
    /// Any other change.
    Other,
}

/// A write, as far as a fault concerns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) len: usize,
    /// True if the kernel writes a mapped page back. It takes no notice of a short write then.
    pub(crate) from_cache: bool,
    pub(crate) needs_space: bool,
}

/// The effect of a fault on an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Fails(Errno),
    /// Only this many bytes are written.
    Short(usize),
    Delayed(Duration),
}

/// The fault of a disk, and the operations that it concerned.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) injection: Option<Injection>,
    /// Operations that the fault concerned.
    pub(crate) seen: u64,
    /// Operations that met the fault.
    pub(crate) met: u64,
}

impl Faults {
    /// Makes the state of a fault that is to come.
    pub(crate) fn new(injection: Injection) -> Self {
        Self { injection: Some(injection), ..Self::default() }
    }

    /// Counts an operation. Returns what the fault does to it, if it meets it.
    pub(crate) fn meet(&mut self, operation: Operation) -> Option<Effect> {
        let Injection { fault, at, operations, .. } = self.injection?;
        let effect = effect_on(fault, operation)?;
        self.seen += 1;
        let meets = self.seen >= at && self.seen - at < operations;
        let is_quick = fault == Fault::Slow && self.met >= u64::from(DELAYS_MOST);
        if !meets || is_quick {
            return None;
        }
        self.met += 1;
        Some(effect)
    }

    /// Returns true if the fault is of this kind.
    pub(crate) fn is(&self, fault: Fault) -> bool {
        self.injection.is_some_and(|injection| injection.fault == fault)
    }
}

/// Returns what a fault does to an operation; none if it does not concern it.
fn effect_on(fault: Fault, operation: Operation) -> Option<Effect> {
    match (fault, operation) {
        (Fault::EioRead, Operation::Read)
        | (Fault::EioWrite, Operation::Write(_))
        | (Fault::EioSync, Operation::Synchronise) => Some(Effect::Fails(Errno::EIO)),
        (Fault::Full, Operation::Write(Write { needs_space: true, .. }) | Operation::Allocate) => {
            Some(Effect::Fails(Errno::ENOSPC))
        }
        (Fault::ShortWrite, Operation::Write(Write { len, from_cache: false, .. })) if len > 1 => {
            Some(Effect::Short(len / 2))
        }
        (Fault::Slow, Operation::Write(_) | Operation::Synchronise) => Some(Effect::Delayed(DELAY)),
        _ => None,
    }
}

/// Pages of files that were allocated, so that writes to them need no space.
#[derive(Debug, Default)]
pub(crate) struct Reserved(HashMap<Ino, Vec<Range<u64>>>);

impl Reserved {
    pub(crate) fn add(&mut self, file: Ino, pages: Range<u64>) {
        let ranges = self.0.entry(file).or_default();
        match ranges.last_mut() {
            // Files are allocated in their order, as a rule.
            Some(last) if last.end == pages.start => last.end = pages.end,
            _ => ranges.push(pages),
        }
    }

    /// Takes pages back that became a hole, or were cut off.
    pub(crate) fn punch(&mut self, file: Ino, hole: &Range<u64>) {
        let Some(ranges) = self.0.get_mut(&file).filter(|_| !hole.is_empty()) else { return };
        let rest = ranges.iter().flat_map(|range| {
            [range.start..range.end.min(hole.start), range.start.max(hole.end)..range.end]
        });
        *ranges = rest.filter(|range| !range.is_empty()).collect();
    }

    pub(crate) fn has(&self, file: Ino, page: u64) -> bool {
        self.0.get(&file).is_some_and(|ranges| ranges.iter().any(|range| range.contains(&page)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Operation =
        Operation::Write(Write { len: 10, from_cache: false, needs_space: true });

    /// Returns the numbers of the operations, from 1 on, that met a fault.
    fn met(injection: Injection, operations: &[Operation]) -> Vec<usize> {
        let mut faults = Faults::new(injection);
        let numbered = (1..).zip(operations);
        numbered.filter_map(|(at, &operation)| faults.meet(operation).map(|_| at)).collect()
    }

    #[test]
    fn a_fault_meets_the_operations_that_it_concerns_from_one_of_them_on() {
        let operations =
            [Operation::Synchronise, WRITE, Operation::Read, WRITE, Operation::Other, WRITE, WRITE];
        let write =
            |operations| Injection { fault: Fault::EioWrite, at: 2, operations, power_after: None };
        assert_eq!(met(write(1), &operations), [4]);
        assert_eq!(met(write(2), &operations), [4, 6]);
        assert_eq!(met(write(u64::MAX), &operations), [4, 6, 7]);
        for (fault, concerned) in [
            (Fault::EioRead, vec![3]),
            (Fault::EioSync, vec![1]),
            (Fault::Full, vec![2, 4, 6, 7]),
            (Fault::ShortWrite, vec![2, 4, 6, 7]),
            (Fault::Slow, vec![1, 2, 4, 6, 7]),
        ] {
            let always = Injection::new(fault, Lasts::Always, 1, 0);
            assert_eq!(met(always, &operations), concerned, "{fault}");
            assert!(met(Injection::never(fault), &operations).is_empty());
        }
    }

    #[test]
    fn each_time_that_a_fault_lasts_has_its_operations() {
        let of = |lasts, seed| Injection::new(Fault::EioSync, lasts, 3, seed).operations;
        let healed: Vec<_> = (0..100).map(|seed| of(Lasts::Healed, seed)).collect();
        assert_eq!((healed.iter().min(), healed.iter().max()), (Some(&2), Some(&9)));
        assert_eq!((of(Lasts::Once, 1), of(Lasts::Always, 1)), (1, u64::MAX));
    }

    #[test]
    fn only_what_needs_space_meets_a_full_disk() {
        let full = |operation| effect_on(Fault::Full, operation);
        let no_space = Some(Effect::Fails(Errno::ENOSPC));
        assert_eq!((full(WRITE), full(Operation::Allocate)), (no_space, no_space));
        let in_place = Write { len: 10, from_cache: true, needs_space: false };
        assert_eq!(full(Operation::Write(in_place)), None);
    }

    #[test]
    fn a_short_write_takes_some_bytes_and_never_all() {
        let short = |len, from_cache| {
            let write = Write { len, from_cache, needs_space: true };
            effect_on(Fault::ShortWrite, Operation::Write(write))
        };
        assert_eq!(short(1, false), None);
        assert_eq!(short(2, false), Some(Effect::Short(1)));
        assert_eq!(short(4096, false), Some(Effect::Short(2048)));
        assert_eq!(short(4096, true), None, "the kernel would take it for the whole");
    }

    #[test]
    fn a_slow_disk_is_quick_again_after_a_while() {
        let slow = Injection::new(Fault::Slow, Lasts::Always, 1, 0);
        assert_eq!(met(slow, &[WRITE; 1000]).len(), DELAYS_MOST as usize);
        assert_eq!(delay_most(Fault::Slow), Duration::from_secs(2));
        assert_eq!(delay_most(Fault::Full), Duration::ZERO);
    }

    #[test]
    fn what_was_allocated_is_reserved_until_it_is_a_hole_or_cut_off() {
        let mut reserved = Reserved::default();
        reserved.add(2, 0..10);
        reserved.add(2, 10..20);
        reserved.add(2, 30..40);
        let of = |reserved: &Reserved| (0..50).filter(|&page| reserved.has(2, page)).count();
        assert_eq!((of(&reserved), reserved.has(3, 0)), (30, false));
        reserved.punch(2, &(12..14));
        assert!(!reserved.has(2, 12) && !reserved.has(2, 13));
        reserved.punch(2, &Range { start: 8, end: 7 });
        assert_eq!(of(&reserved), 28);
        reserved.punch(2, &(15..u64::MAX));
        assert_eq!(of(&reserved), 13);
    }
}

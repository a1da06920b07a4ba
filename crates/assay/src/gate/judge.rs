//! The verdict: counts of one side against those of the other.
//!
//! Two counts differ if all repetitions of one side are beyond all of the other by more than the
//! tolerance. The tolerance is twice the larger spread of the two sides. For instructions and
//! bytes, it is at least 0.1 %: the smallest change of a compiler moves them. A system call that a
//! program makes for certain has no spread, so one more of it differs.
//!
//! An engine that draws at random, such as seeds of its hash maps, has a few values. Three
//! repetitions may show one of them, and so a spread that is too small.

use super::counts::{
    CALL, Counted, INSTRUCTIONS, Phase, Quantities, READ_BYTES, SYNC_CALLS, WRITTEN_BYTES, median,
    of,
};

/// The least tolerance of instructions and bytes.
pub(crate) const TOLERANCE_LEAST: f64 = 0.001;

/// The tolerance in spreads of repetitions.
const SPREADS: u64 = 2;

/// System calls whose number depends on which thread comes first, or on what the allocator has
/// left: they are reported.
const NOT_JUDGED: [&str; 29] = [
    "brk",
    "clock_nanosleep",
    "clone",
    "clone3",
    "epoll_pwait",
    "epoll_wait",
    "exit",
    "futex",
    "getcpu",
    "getpid",
    "getrandom",
    "gettid",
    "madvise",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "nanosleep",
    "poll",
    "ppoll",
    "prctl",
    "restart_syscall",
    "rseq",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "sigaltstack",
];

/// A verdict on a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    /// More than before, which ends the command with status 4.
    More,
    /// Less than before.
    Less,
    /// Another number of syncs: what survives a crash may be another.
    OtherSyncs,
    /// A quantity that is not judged.
    Reported,
}

impl Verdict {
    /// Returns true if the command fails because of it.
    pub(crate) fn is_failure(self) -> bool {
        matches!(self, Self::More | Self::OtherSyncs)
    }
}

/// A quantity of a phase on both sides, of one repetition.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub phase: String,
    pub quantity: String,
    pub operations: u64,
    pub base: u64,
    pub new: u64,
    /// The larger spread of the two sides' repetitions.
    pub spread: u64,
    pub verdict: Verdict,
}

/// The comparison of a cell.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// The engine and its work, for a reader.
    pub title: String,
    pub lines: Vec<Line>,
    /// The reasons why phases were not judged.
    pub not_judged: Vec<String>,
}

impl Comparison {
    /// Returns true if a quantity changed that was judged.
    pub(crate) fn differs(&self) -> bool {
        self.changed().next().is_some()
    }

    /// Returns true if no quantity that changed has any spread.
    pub(crate) fn is_exact(&self) -> bool {
        self.changed().all(|line| line.spread == 0)
    }

    fn changed(&self) -> impl Iterator<Item = &Line> {
        let same = |line: &Line| matches!(line.verdict, Verdict::Same | Verdict::Reported);
        self.lines.iter().filter(move |line| !same(line))
    }
}

/// Compares the counts of a cell.
pub(crate) fn compare(title: &str, base: &Counted, new: &Counted) -> Comparison {
    let mut comparison =
        Comparison { title: title.into(), lines: Vec::new(), not_judged: Vec::new() };
    for (side, counted) in [("before", base), ("now", new)] {
        if let Some(why) = &counted.failed {
            comparison.not_judged.push(format!("{side}: {why}"));
        }
    }
    if !comparison.not_judged.is_empty() {
        return comparison;
    }
    if base.phases.is_empty() {
        comparison.not_judged.push("no phase was counted before".into());
    }
    for phase in &base.phases {
        match new.phases.iter().find(|other| other.name == phase.name) {
            None => comparison.not_judged.push(format!("{}: it is no longer there", phase.name)),
            // A phase such as a reopening.
            Some(other) if phase.operations.iter().chain(&other.operations).all(|n| *n == 0) => {}
            Some(other) => match operations(phase, other) {
                Ok(count) => comparison.lines.extend(lines(count, phase, other)),
                Err(why) => comparison.not_judged.push(format!("{}: {why}", phase.name)),
            },
        }
    }
    comparison
}

/// Returns the operations of a phase, which are as many in all repetitions.
fn operations(base: &Phase, new: &Phase) -> Result<u64, String> {
    let mut all = base.operations.iter().chain(&new.operations);
    let first = all.next().copied().unwrap_or(0);
    if first == 0 {
        Err("no operation was counted".into())
    } else if all.all(|count| *count == first) {
        Ok(first)
    } else {
        Err("its repetitions did different numbers of operations; name a number of them instead \
             of a time"
            .into())
    }
}

fn lines(operations: u64, base: &Phase, new: &Phase) -> Vec<Line> {
    let mut names: Vec<_> = base.counts.keys().chain(new.counts.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let line = |name: &String| {
        let sides = [&base.counts, &new.counts].map(|counts| of(counts, name));
        Line {
            phase: base.name.clone(),
            quantity: name.clone(),
            operations,
            base: median(sides[0]),
            new: median(sides[1]),
            spread: Range::of(sides[0]).spread().max(Range::of(sides[1]).spread()),
            verdict: verdict(name, &base.counts, &new.counts),
        }
    };
    names.into_iter().map(line).collect()
}

/// Judges a quantity.
pub(crate) fn verdict(name: &str, base: &Quantities, new: &Quantities) -> Verdict {
    let Some(least) = least_tolerance(name) else {
        return Verdict::Reported;
    };
    let base = Range::of(of(base, name));
    let new = Range::of(of(new, name));
    let least = (least * base.high as f64) as u64;
    let tolerance = least.max(base.spread().max(new.spread()).saturating_mul(SPREADS));
    let is_more = new.low > base.high.saturating_add(tolerance);
    let is_less = new.high.saturating_add(tolerance) < base.low;
    match name.strip_prefix(CALL) {
        Some(call) if SYNC_CALLS.contains(&call) && (is_more || is_less) => Verdict::OtherSyncs,
        _ if is_more => Verdict::More,
        _ if is_less => Verdict::Less,
        _ => Verdict::Same,
    }
}

/// Returns the least tolerance of a quantity; none if it is not judged.
fn least_tolerance(name: &str) -> Option<f64> {
    match name {
        INSTRUCTIONS | READ_BYTES | WRITTEN_BYTES => Some(TOLERANCE_LEAST),
        _ => {
            let call = name.strip_prefix(CALL)?;
            (!NOT_JUDGED.contains(&call)).then_some(0.0)
        }
    }
}

/// The least and the most of repetitions.
#[derive(Clone, Copy)]
struct Range {
    low: u64,
    high: u64,
}

impl Range {
    fn of(values: &[u64]) -> Self {
        let low = values.iter().copied().min().unwrap_or(0);
        Self { low, high: values.iter().copied().max().unwrap_or(0) }
    }

    fn spread(self) -> u64 {
        self.high - self.low
    }
}

#[cfg(test)]
mod tests;

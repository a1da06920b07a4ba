//! The state that several writers may leave: a prefix of one order of their commits.
//!
//! **The rule.** Let each writer's commits be in its own order, and let commit `a` be before `b` if
//! `a` was acknowledged before `b` began. A state is right if there is a set of commits and an
//! order of them such that
//!
//! 1. the set has every commit that is before one of its commits, by the writer's own order or by
//!    time; so it is a prefix of an order of all commits;
//! 2. the order agrees with the writers' own orders and with time;
//! 3. the commits of the set, applied in that order, make the state;
//! 4. the set has all commits that have to be there.
//!
//! A writer's own rows say how many of its commits the set may have ([`Writer::moments`]). The rows
//! that all writers change are *registers*: each has the value of the last commit that wrote it.
//!
//! **The check.** Conditions 1 and 4, and the moments, are closed under taking the smaller of two
//! sets writer by writer. So there is a least set, and a loop that only raises counts finds it. A
//! larger set would only add demands on the order, so the least set decides.
//!
//! For a set, an order exists if no commit has to be before itself. The last writer of a register
//! comes after all others that wrote it. Every cycle goes through last writers, since time alone
//! has no cycle; and between two of them, time is one step. So it is enough to look at the last
//! writers, at most one for each register. For each register, the latest start among the others is
//! looked at, too. The cost is that of reading the commits once, and the square of the registers'
//! number.

/// A commit: the writer's place, and the commit's number in that writer's order, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Commit {
    pub(super) writer: usize,
    pub(super) number: u32,
}

/// The time of a commit, by a count that all writers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The count before the commit began.
    pub(super) began: u64,
    /// The count after the commit was done; none if it was in flight.
    pub(super) ended: Option<u64>,
}

/// One writer's commits, as far as they may have been made.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer {
    /// The time of each commit.
    pub(super) spans: Vec<Span>,
    /// The numbers of commits that the writer's own rows allow, in ascending order.
    pub(super) moments: Vec<u32>,
    /// The registers that each commit wrote.
    pub(super) registers: Vec<Vec<usize>>,
}

/// The commits of all writers, and the state that they left.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    pub(super) writers: Vec<Writer>,
    /// The last writer of each register; none if it has no value.
    pub(super) last: Vec<Option<Commit>>,
}

/// Why a state is no prefix of one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// A commit is missing that has to be there.
    Missing {
        /// The missing commit.
        commit: Commit,
        /// The commit that is there and was begun later; none if the missing one left something
        /// itself, or had to be there.
        later: Option<Commit>,
    },
    /// A register has the value of a commit that another one replaced.
    Replaced {
        register: usize,
        /// The commit whose value is there; none if the register has none.
        seen: Option<Commit>,
        /// A commit that is there too, and wrote the register later.
        later: Commit,
    },
    /// Two registers have values that no order leaves.
    Crossed { registers: [usize; 2], seen: [Commit; 2] },
}

impl Left {
    /// Returns how many commits of each writer the least set has, of those that have at least
    /// `required` of each.
    pub(super) fn least(&self, required: &[u32]) -> Result<Vec<u32>, Wrong> {
        let counts = self.closed(required)?;
        self.check_order(&counts)?;
        Ok(counts)
    }

    fn span(&self, commit: Commit) -> Span {
        self.writers[commit.writer].spans[commit.number as usize - 1]
    }

    /// Returns true if the first commit was acknowledged before the second began.
    fn is_before(&self, first: Commit, second: Commit) -> bool {
        self.span(first).ended.is_some_and(|ended| ended < self.span(second).began)
    }

    /// Returns the least counts with which conditions 1 and 4 hold, and the writers' own rows.
    fn closed(&self, required: &[u32]) -> Result<Vec<u32>, Wrong> {
        let mut counts = required.to_vec();
        for commit in self.last.iter().flatten() {
            counts[commit.writer] = counts[commit.writer].max(commit.number);
        }
        // The commit that made each count necessary.
        let mut reasons: Vec<Option<Commit>> = vec![None; counts.len()];
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for (at, writer) in self.writers.iter().enumerate() {
                let first = writer.moments.partition_point(|&moment| moment < counts[at]);
                let Some(&moment) = writer.moments.get(first) else {
                    let commit = Commit { writer: at, number: counts[at] };
                    return Err(Wrong::Missing { commit, later: reasons[at] });
                };
                counts[at] = moment;
                if moment == 0 {
                    continue;
                }
                let newest = Commit { writer: at, number: moment };
                let began = self.span(newest).began;
                for (other, writer) in self.writers.iter().enumerate().filter(|(o, _)| *o != at) {
                    let ended = |span: &Span| span.ended.is_some_and(|ended| ended < began);
                    let before = writer.spans.partition_point(ended) as u32;
                    if counts[other] < before {
                        (counts[other], reasons[other]) = (before, Some(newest));
                        is_settled = false;
                    }
                }
            }
        }
        Ok(counts)
    }

    /// Checks that some order of the commits leaves the registers as they are.
    fn check_order(&self, counts: &[u32]) -> Result<(), Wrong> {
        let latest = self.latest_others(counts);
        for (register, (&seen, &latest)) in self.last.iter().zip(&latest).enumerate() {
            match (seen, latest) {
                (Some(last), Some(later)) if self.is_before(last, later) => {
                    return Err(Wrong::Replaced { register, seen, later });
                }
                (None, Some(later)) => {
                    return Err(Wrong::Replaced { register, seen, later });
                }
                _ => {}
            }
        }
        // Which registers' last writers come, by what is known, before which others.
        let count = self.last.len();
        let mut before = vec![vec![false; count]; count];
        for (from, row) in before.iter_mut().enumerate() {
            let Some(first) = self.last[from] else { continue };
            for (to, is_before) in row.iter_mut().enumerate() {
                let Some(second) = self.last[to].filter(|&second| second != first) else {
                    continue;
                };
                let wrote = &self.writers[first.writer].registers[first.number as usize - 1];
                *is_before = wrote.contains(&to)
                    || self.is_before(first, second)
                    || latest[to].is_some_and(|other| self.is_before(first, other));
            }
        }
        for middle in 0..count {
            for from in 0..count {
                for to in 0..count {
                    before[from][to] |= before[from][middle] && before[middle][to];
                }
            }
        }
        for registers in (0..count).flat_map(|to| (0..to).map(move |from| [from, to])) {
            let [one, other] = registers;
            let is_circle = before[one][other] && before[other][one];
            if let (true, Some(first), Some(second)) = (is_circle, self.last[one], self.last[other])
                && first != second
            {
                return Err(Wrong::Crossed { registers, seen: [first, second] });
            }
        }
        Ok(())
    }

    /// Returns, for each register, which of its writers began latest, without the last one.
    fn latest_others(&self, counts: &[u32]) -> Vec<Option<Commit>> {
        let mut latest: Vec<Option<Commit>> = vec![None; self.last.len()];
        for (at, (writer, &count)) in self.writers.iter().zip(counts).enumerate() {
            for (number, registers) in (1..=count).zip(&writer.registers) {
                let commit = Commit { writer: at, number };
                for &register in registers {
                    let is_later = |other| self.span(other).began < self.span(commit).began;
                    if self.last[register] != Some(commit) && latest[register].is_none_or(is_later)
                    {
                        latest[register] = Some(commit);
                    }
                }
            }
        }
        latest
    }
}

#[cfg(test)]
mod tests;

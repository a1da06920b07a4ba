//! The writes of a batch, by which an answer is judged: the value that was read must have been that
//! of the record at some moment between the start and the end of the read.

use super::model::{Lane, State};

/// A write in a running batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) row: u64,
    /// The place of the operation in its thread's batch.
    pub(super) at: usize,
    pub(super) before: State,
    pub(super) after: State,
    /// The time within which it had its effect, in nanoseconds from the start of the phase.
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

/// The writes of one thread in a batch, by record and then in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(Vec<Write>);

impl Log {
    pub(super) fn of(mut writes: Vec<Write>) -> Self {
        writes.sort_unstable_by_key(|write| (write.row, write.at));
        Self(writes)
    }

    fn of_row(&self, row: u64) -> &[Write] {
        let from = self.0.partition_point(|write| write.row < row);
        let count = self.0[from..].partition_point(|write| write.row == row);
        &self.0[from..from + count]
    }
}

/// A read that is to be judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) thread: usize,
    /// The place of the operation in its thread's batch.
    pub(super) at: usize,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

/// The states that a record can have had during a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Possible<'l> {
    first: State,
    then: &'l [Write],
}

impl<'l> Possible<'l> {
    /// Returns the one state that a record has.
    pub(super) fn only(state: State) -> Self {
        Self { first: state, then: &[] }
    }

    /// Returns the states that a record of a lane can have had, by the log of the lane's thread.
    pub(super) fn of(row: u64, owner: usize, lane: &Lane, log: &'l Log, read: &Moment) -> Self {
        let writes = log.of_row(row);
        let Some(first) = writes.first() else { return Self::only(lane.state(row)) };
        // A thread's own operations have the order of its batch, those of others that of time.
        let (done, begun) = if owner == read.thread {
            let done = writes.partition_point(|write| write.at < read.at);
            (done, done)
        } else {
            let done = writes.partition_point(|write| write.end_ns <= read.begin_ns);
            (done, writes.partition_point(|write| write.begin_ns <= read.end_ns))
        };
        let last_done = done.checked_sub(1).map_or(first.before, |last| writes[last].after);
        Self { first: last_done, then: &writes[done..begun.max(done)] }
    }

    fn states(self) -> impl Iterator<Item = State> + 'l {
        std::iter::once(self.first).chain(self.then.iter().map(|write| write.after))
    }

    /// Returns true if the record can have been absent.
    pub(super) fn may_be_absent(self) -> bool {
        self.states().any(|state| !state.is_there())
    }

    /// Returns true if the record can have been there.
    pub(super) fn may_be_there(self) -> bool {
        self.states().any(State::is_there)
    }

    /// Returns true if the record can have had this version.
    pub(super) fn allows(self, version: u32) -> bool {
        self.states().any(|state| state.is_there() && state.version() == version)
    }

    /// Returns the possible states as messages show them.
    pub(super) fn in_words(self) -> String {
        let last = self.then.last().map_or(self.first, |write| write.after);
        let word = |state: State| {
            if state.is_there() { format!("version {}", state.version()) } else { "absent".into() }
        };
        if last == self.first {
            word(last)
        } else {
            format!("{} to {}", word(self.first), word(last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Model;
    use super::*;

    /// Record 1 of two threads: written at 10 to 20, deleted at 30 to 40, written at 50 to 60.
    fn written() -> (Vec<Lane>, Log) {
        let mut lanes = Model::loaded(4).lanes(2);
        let mut before = lanes[1].state(1);
        let writes = [(10, true), (30, false), (50, true)].iter().enumerate();
        let writes = writes.map(|(at, (begin_ns, is_there))| {
            let after = lanes[1].write(1, *is_there);
            let write =
                Write { row: 1, at, before, after, begin_ns: *begin_ns, end_ns: begin_ns + 10 };
            before = after;
            write
        });
        let log = Log::of(writes.collect());
        (lanes, log)
    }

    /// Returns the possible versions, and whether it can be absent, for a read of another thread.
    fn seen(begin_ns: u64, end_ns: u64) -> (Vec<u32>, bool) {
        let (lanes, log) = written();
        let read = Moment { thread: 0, at: 0, begin_ns, end_ns };
        let possible = Possible::of(1, 1, &lanes[1], &log, &read);
        ((0..9).filter(|version| possible.allows(*version)).collect(), possible.may_be_absent())
    }

    #[test]
    fn a_read_sees_what_was_so_at_some_moment_of_it() {
        assert_eq!(seen(0, 5), (vec![1], false), "before all writes");
        assert_eq!(seen(0, 15), (vec![1, 2], false), "while the first one was under way");
        assert_eq!(seen(22, 25), (vec![2], false), "after it, the old one is stale");
        assert_eq!(seen(22, 35), (vec![2], true));
        assert_eq!(seen(42, 45), (vec![], true), "it is deleted");
        assert_eq!(seen(42, 55), (vec![4], true));
        assert_eq!(seen(0, 100), (vec![1, 2, 4], true), "a read that took as long as all");
        assert_eq!(seen(61, 70), (vec![4], false));
    }

    #[test]
    fn a_thread_sees_its_own_writes_in_their_order() {
        let (lanes, log) = written();
        for (at, version) in [(0, Some(1)), (1, Some(2)), (2, None), (3, Some(4))] {
            let read = Moment { thread: 1, at, begin_ns: 0, end_ns: 100 };
            let possible = Possible::of(1, 1, &lanes[1], &log, &read);
            let found: Vec<_> = (0..9).filter(|version| possible.allows(*version)).collect();
            assert_eq!(found, Vec::from_iter(version));
            assert_eq!(possible.may_be_absent(), version.is_none());
        }
    }
}

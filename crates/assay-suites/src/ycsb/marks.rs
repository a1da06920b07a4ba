//! The records that threads had inserted at some positions of a round, so that any operation can be
//! computed without those before it.

use super::choice::Chooser;
use super::clients::{Clients, Round};

/// The distance of two marks.
const EVERY: u64 = 1024;

/// The marks of one round.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    /// For each thread, its state before every 1,024th of its operations.
    threads: Vec<Vec<Mark>>,
}

/// The state of a thread before an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) thread: usize,
    /// The number of records that it has inserted.
    pub(super) inserted: u64,
    pub(super) chooser: Chooser,
}

impl Marks {
    pub(super) fn of(clients: &Clients<'_>, round: Round) -> Self {
        let operations = clients.of_round(round);
        let of_thread = |thread: usize| {
            let mut inserted = clients.inserted_before(thread, round);
            let mut chooser = operations.chooser;
            let mut marks = Vec::new();
            for (nth, position) in (0..).zip(clients.positions(round, thread)) {
                if u64::is_multiple_of(nth, EVERY) {
                    chooser.reach(clients.users.loaded + inserted - 1);
                    marks.push(Mark { thread, inserted, chooser });
                }
                inserted += u64::from(operations.inserts(position));
            }
            marks
        };
        Self { threads: (0..clients.threads as usize).map(of_thread).collect() }
    }

    /// Returns the state before the operation at a position, of the thread that does it.
    pub(super) fn before(&self, clients: &Clients<'_>, round: Round, position: u64) -> Mark {
        let operations = clients.of_round(round);
        let all = clients.operations(round).max(1);
        // The shares of threads differ by one at most.
        let near = (u128::from(position) * u128::from(clients.threads) / u128::from(all)) as usize;
        let owns = |thread: &usize| clients.positions(round, *thread).contains(&position);
        let threads = near.saturating_sub(1)..(near + 2).min(clients.threads as usize);
        let thread = threads.into_iter().find(owns).unwrap_or_default();
        let first = clients.positions(round, thread).start;
        let nth = position.saturating_sub(first) / EVERY;
        let mark = self.threads[thread][nth as usize];
        let since = (first + nth * EVERY..position).filter(|&at| operations.inserts(at)).count();
        Mark { inserted: mark.inserted + since as u64, ..mark }
    }
}

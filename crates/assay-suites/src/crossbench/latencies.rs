//! Latencies: rounds of their own after those for the throughput, each operation timed by itself.

use assay_core::error::Result;
use assay_core::latency::{Stopwatch, operations_at, summary};
use assay_core::random::derive;
use assay_core::tape::{Order, Tape};
use assay_core::timing::{Action, Timed};
use serde::{Deserialize, Serialize};

use super::Run;
use crate::cell::{Session, Taken};
use crate::phases::{Visit, crew_visit, telling};

/// That latencies are taken, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    /// Operations a second that arrive at all threads together; a closed loop without.
    pub rate: Option<u64>,
}

impl Latencies {
    /// In words.
    pub fn variant(self) -> String {
        match self.rate {
            None => "latencies in a closed loop".into(),
            Some(rate) => format!("latencies at {rate} operations a second"),
        }
    }
}

/// The latencies of a phase, not yet added to it.
pub(super) struct Round {
    phase: &'static str,
    threads: u32,
    checked: u64,
    taken: Taken,
}

impl Round {
    pub(super) fn add_to(self, session: &mut Session<'_>) {
        session.add_latencies(self.phase, self.threads, self.checked, self.taken);
    }
}

impl Run<'_> {
    /// Takes the latencies of `count` operations of one kind on the living rows, if they are
    /// wanted.
    pub(super) fn latencies(
        &mut self,
        session: &mut Session<'_>,
        phase: &'static str,
        order: Order,
        count: u64,
        action: Action,
    ) -> Result<Option<Round>> {
        let (Some(Latencies { rate }), threads) = (self.options.latencies, self.cell.threads)
        else {
            return Ok(None);
        };
        session.cool()?;
        let population = session.marker.population.clone();
        let visit = Visit {
            records: &self.routes,
            rows: &population.rows(),
            tape: &Tape::new(order, derive(self.cell.seed, "latencies"), population.live()),
            count: operations_at(rate, count),
            multiple_of: 1,
            check: self.check,
        };
        let mut told = telling(self.report, phase, (1, 1), visit.count, threads);
        let crew = crew_visit(session, threads, &visit, &mut told, &|round, thread| {
            round.one_by_one(action, Stopwatch::new(1, rate, threads, thread))
        })?;
        let (timed, stopwatches): (Vec<_>, Vec<_>) = crew.into_iter().unzip();
        let (timed, _) = Timed::of_crew(timed);
        let taken = summary(stopwatches, &[phase]);
        Ok(taken.map(|taken| Round { phase, threads, checked: timed.checked, taken }))
    }

    /// Takes the latencies of deleting `count` rows and of inserting them again, after which the
    /// store holds what it held.
    pub(super) fn turn_over(
        &mut self,
        session: &mut Session<'_>,
        order: Order,
        count: u64,
    ) -> Result<Vec<Round>> {
        let Some(Latencies { rate }) = self.options.latencies else {
            return Ok(Vec::new());
        };
        // Both visit the same rows, so both have the same tape and count.
        let count = operations_at(rate, count);
        session.marker.in_progress = true;
        session.mark()?;
        let deleted = self.latencies(session, "delete", order, count, Action::Delete)?;
        let inserted = self.latencies(session, "insert", order, count, Action::Insert)?;
        session.settle()?;
        Ok(inserted.into_iter().chain(deleted).collect())
    }
}

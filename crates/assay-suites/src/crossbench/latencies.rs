//! Latencies, taken in rounds after those for the throughput, each operation timed by itself.

use assay_core::latency::{Arrivals, Stopwatch, operations_at, summary};
use assay_core::random::derive;
use assay_core::tape::{Population, Tape};
use assay_core::timing::{Action, Clock, Timed};
use assay_driver::error::Result;

use super::{DELETE, INSERT, Run};
use crate::phases::{Crew, NthRound, Visit, crew_visit, telling};
use crate::session::Session;

/// The option to take latencies, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// Operations per second that arrive at all threads together; none: a closed loop.
    pub rate: Option<u64>,
}

/// The first `count` rows of a tape over a population.
#[derive(Clone, Copy)]
pub(super) struct Visited<'v> {
    pub population: &'v Population,
    pub tape: &'v Tape,
    pub count: u64,
}

impl Latencies {
    /// Returns the option in words.
    pub fn variant(self) -> String {
        match self.rate {
            None => "latencies in a closed loop".into(),
            Some(rate) => format!("latencies at {rate} random arrivals a second"),
        }
    }
}

impl Run<'_> {
    /// Takes the latencies of one kind of operation, if they are wanted, and adds them to its
    /// phase.
    pub(super) fn latencies(
        &mut self,
        session: &mut Session<'_>,
        phase: &'static str,
        visited: Visited<'_>,
        action: Action,
    ) -> Result<()> {
        let (Some(Latencies { rate }), threads) = (self.options.latencies(), self.cell.threads)
        else {
            return Ok(());
        };
        session.cool()?;
        let visit = Visit {
            records: &self.routes,
            rows: &visited.population.rows(),
            tape: visited.tape,
            count: operations_at(rate, visited.count),
            multiple_of: 1,
            clock: Clock::Stops,
            check: self.check,
        };
        let mut told = telling(self.report, phase, NthRound::ONLY, visit.count, threads);
        let seed = derive(derive(self.cell.seed, "arrivals"), phase);
        let crew =
            crew_visit(&mut Crew::Fresh(session, threads), &visit, &mut told, &|round, thread| {
                let of_thread = |rate| Arrivals::new(rate, thread, threads, seed);
                round.one_by_one(action, Stopwatch::new(1, rate.map(of_thread)))
            })?;
        let (timed, stopwatches): (Vec<_>, Vec<_>) = crew.into_iter().unzip();
        let (timed, _) = Timed::of_crew(timed);
        if let Some(taken) = summary(stopwatches, &[phase]) {
            session.add_latencies(phase, threads, timed.checked, taken);
        }
        Ok(())
    }

    /// Takes the latencies of inserting rows that were just deleted, and of deleting them again.
    pub(super) fn turn_over(
        &mut self,
        session: &mut Session<'_>,
        visited: Visited<'_>,
    ) -> Result<()> {
        if !self.options.latency {
            return Ok(());
        }
        session.marker.in_progress = true;
        session.mark()?;
        self.latencies(session, INSERT, visited, Action::Insert)?;
        self.latencies(session, DELETE, visited, Action::Delete)?;
        session.settle()
    }
}

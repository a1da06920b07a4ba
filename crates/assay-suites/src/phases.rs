//! Phases of a run file, made of the rounds of a crew.

use assay_core::crew::{Pace, Taken, share};
use assay_core::plan::Cell;
use assay_core::random::derive;
use assay_core::run_file::{self, Phase};
use assay_core::tape::{Order, Population, Records, Rows, Tape, TapeHash};
use assay_core::timing::{Clock, Round, Timed};
use assay_driver::error::Result;
use assay_driver::{Connection, Driver, Transactions};

use crate::cell::{Progress, Report, Session, as_ns};
use crate::repeats::Repeats;

/// Returns a round in the form of the run file.
pub(crate) fn kept(operations: u64, taken: Taken) -> run_file::Round {
    run_file::Round { operations, time_ns: as_ns(taken.time), usage: taken.usage }
}

/// A phase that grows by rounds.
pub(crate) struct Growing {
    phase: Phase,
    hash: TapeHash,
}

impl Growing {
    pub(crate) fn new(name: &str, threads: u32) -> Self {
        let phase = Phase { name: name.into(), published_top: 1, threads, ..Phase::default() };
        Self { phase, hash: TapeHash::default() }
    }

    /// Adds a round.
    pub(crate) fn round(&mut self, timed: &Timed, taken: Taken) {
        self.hash.add(timed.tape.value());
        self.phase.checked += timed.checked;
        self.phase.rounds.push(kept(timed.operations, taken));
    }

    /// Returns the whole phase, without repeated rounds.
    pub(crate) fn done(self) -> Phase {
        self.done_with(&Repeats::none())
    }

    /// Returns the whole phase, with the number of its rounds that were repeated.
    pub(crate) fn done_with(mut self, repeats: &Repeats) -> Phase {
        self.phase.repeats = repeats.done();
        self.phase.tape_hash = format!("{:016x}", self.hash.value());
        self.phase
    }
}

/// Records of another set, from row `first` on.
pub(crate) struct Offset<'r, R> {
    pub(crate) records: &'r R,
    pub(crate) first: u64,
}

impl<R: Records> Records for Offset<'_, R> {
    fn schema(&self) -> &assay_driver::schema::Schema {
        self.records.schema()
    }

    fn key(&self, row: u64, key: &mut [u8]) {
        self.records.key(self.first + row, key);
    }

    fn payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        self.records.payload(self.first + row, version, payload);
    }
}

/// The records that one round of a crew visits.
pub(crate) struct Visit<'v, R> {
    pub(crate) records: &'v R,
    pub(crate) rows: &'v Rows,
    pub(crate) tape: &'v Tape,
    pub(crate) count: u64,
    /// The number of which each thread's share is a multiple.
    pub(crate) multiple_of: u64,
    pub(crate) clock: Clock,
    pub(crate) check: bool,
}

/// Runs a round, shared out to `threads` threads.
pub(crate) fn crew_round<R: Records + Sync>(
    session: &Session<'_>,
    threads: u32,
    visit: &Visit<'_, R>,
    progress: &mut dyn FnMut(u64),
    work: &(dyn Fn(Round<'_, '_, R>) -> Result<Timed> + Sync),
) -> Result<(Timed, Taken)> {
    let crew = crew_visit(session, threads, visit, progress, &|round, _| work(round))?;
    Ok(Timed::of_crew(crew))
}

/// Runs a round of work that knows the number of its thread; returns each thread's result.
pub(crate) fn crew_visit<R: Records + Sync, T: Send>(
    session: &Session<'_>,
    threads: u32,
    visit: &Visit<'_, R>,
    progress: &mut dyn FnMut(u64),
    work: &(dyn Fn(Round<'_, '_, R>, usize) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let duty = |number: usize,
                pace: &mut Pace<'_>,
                connections: &mut [&mut dyn Connection],
                progress: &mut dyn FnMut(u64)| {
        let shares = share(visit.count.div_ceil(visit.multiple_of), threads, number);
        let limit = |share: u64| (share * visit.multiple_of).min(visit.count);
        let round = Round {
            connection: &mut *connections[0],
            pace,
            records: visit.records,
            rows: visit.rows,
            tape: visit.tape,
            positions: limit(shares.start)..limit(shares.end),
            clock: visit.clock,
            check: visit.check,
            progress,
        };
        work(round, number)
    };
    session.crew(threads, progress, &duty)
}

/// Returns the words for a cell's clock at the end of its variant.
pub(crate) fn clock_in_words(clock: Clock) -> &'static str {
    match clock {
        Clock::Stops => "",
        Clock::Continuous => ", continuous",
    }
}

/// The phase that fills a store for others.
pub(crate) const LOAD: &str = "load";

/// Inserts records 0 to the cell's number of rows as the phase `load`: by one connection, in random
/// order of their keys, in transactions of `batch` if the engine has transactions.
pub(crate) fn load<R: Records + Sync>(
    cell: &Cell,
    records: &R,
    batch: u64,
    driver: &dyn Driver,
    session: &mut Session<'_>,
    report: &mut Report<'_>,
) -> Result<()> {
    let profile = driver.profile();
    let visit = Visit {
        records,
        rows: &Population::all(cell.rows).rows(),
        tape: &Tape::new(Order::Permutation, derive(cell.seed, "load"), cell.rows),
        count: cell.rows,
        multiple_of: batch,
        clock: Clock::Stops,
        check: profile.keeps_data,
    };
    let mut told = telling(report, LOAD, (1, 1), cell.rows, 1);
    let (timed, taken) =
        crew_round(session, 1, &visit, &mut told, &|round| match profile.transactions {
            Transactions::None => round.inserts(false),
            _ => round.batches(batch),
        })?;
    let mut phase = Growing::new(LOAD, 1);
    phase.round(&timed, taken);
    session.keep(phase.done());
    Ok(())
}

/// Returns a function for [`crew_round`] that reports the progress of a round; the first thread
/// reports for all.
pub(crate) fn telling<'p>(
    report: &'p mut Report<'_>,
    phase: &str,
    (round, rounds): (usize, usize),
    total: u64,
    threads: u32,
) -> impl FnMut(u64) + 'p {
    let mut progress = Progress { phase: phase.into(), round, rounds, done: 0, total };
    move |done| {
        progress.done = done.saturating_mul(u64::from(threads)).min(total);
        report(&progress);
    }
}

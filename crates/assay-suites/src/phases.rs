//! Phases of a run file, made of the rounds of a crew.

use assay_core::crew::{Connections, Duty, Pace, Taken, share};
use assay_core::plan::Cell;
use assay_core::random::derive;
use assay_core::run_file::{self, Phase};
use assay_core::tape::{Order, Population, Records, Rows, Tape, TapeHash};
use assay_core::timing::{Clock, Round, Timed};
use assay_driver::error::Result;
use assay_driver::{Driver, Transactions};

use crate::repeats::Repeats;
use crate::session::{Progress, Report, Session, as_ns};

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

/// The threads that carry out a round, and their connections.
pub(crate) enum Crew<'c, 's, 'm> {
    /// The calling thread, on connections that it keeps for the rounds of a phase.
    Kept(Connections<'c, 's>),
    /// Threads of this number, each on connections that it opens for each round.
    Fresh(&'c mut Session<'m>, u32),
}

impl<'m> Crew<'_, '_, 'm> {
    /// Runs the rounds of a phase on `threads` threads; one thread may keep its connection.
    pub(crate) fn of(
        session: &mut Session<'m>,
        threads: u32,
        keeps_connection: bool,
        rounds: &mut dyn FnMut(&mut Crew<'_, '_, 'm>) -> Result<()>,
    ) -> Result<()> {
        if threads == 1 && keeps_connection {
            return session.connected(&mut |connection| rounds(&mut Crew::Kept(&mut [connection])));
        }
        rounds(&mut Crew::Fresh(session, threads))
    }

    /// Cools a cold store before the next round; a store with connections is a warm one.
    pub(crate) fn cool(&mut self) -> Result<()> {
        match self {
            Self::Kept(_) => Ok(()),
            Self::Fresh(session, _) => session.cool(),
        }
    }

    /// Returns the number of threads.
    fn threads(&self) -> u32 {
        match self {
            Self::Kept(_) => 1,
            Self::Fresh(_, threads) => *threads,
        }
    }

    /// Runs a duty on all threads at once.
    fn run<T: Send>(
        &mut self,
        progress: &mut dyn FnMut(u64),
        duty: &Duty<'_, T>,
    ) -> Result<Vec<T>> {
        match self {
            Self::Kept(connections) => {
                Ok(vec![duty(0, &mut Pace::alone(), connections, progress)?])
            }
            Self::Fresh(session, threads) => session.crew(*threads, progress, duty),
        }
    }
}

/// Runs a round, shared out to the threads of a crew.
pub(crate) fn crew_round<R: Records + Sync>(
    crew: &mut Crew<'_, '_, '_>,
    visit: &Visit<'_, R>,
    progress: &mut dyn FnMut(u64),
    work: &(dyn Fn(Round<'_, '_, R>) -> Result<Timed> + Sync),
) -> Result<(Timed, Taken)> {
    let all = crew_visit(crew, visit, progress, &|round, _| work(round))?;
    let tape = all[0].tape;
    let (whole, taken) = Timed::of_crew(all);
    Ok(match crew {
        // A thread that keeps its connection has one tape, with the hash that it has alone.
        Crew::Kept(_) => (Timed { tape, ..whole }, taken),
        Crew::Fresh(..) => (whole, taken),
    })
}

/// Runs a round of work that knows the number of its thread; returns each thread's result.
pub(crate) fn crew_visit<R: Records + Sync, T: Send>(
    crew: &mut Crew<'_, '_, '_>,
    visit: &Visit<'_, R>,
    progress: &mut dyn FnMut(u64),
    work: &(dyn Fn(Round<'_, '_, R>, usize) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let threads = crew.threads();
    let duty = |number: usize,
                pace: &mut Pace<'_>,
                connections: Connections<'_, '_>,
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
    crew.run(progress, &duty)
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

/// The way in which a store is filled.
pub(crate) struct Loading {
    /// The number of records.
    pub(crate) rows: u64,
    /// The number of records in a transaction.
    pub(crate) batch: u64,
    pub(crate) order: Order,
    /// True for one transaction with all records.
    pub(crate) bulk: bool,
}

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
    let loading = Loading { rows: cell.rows, batch, order: Order::Permutation, bulk: false };
    load_as(cell, records, &loading, driver, session, report)
}

/// Inserts records as the phase `load` by one connection, in transactions if the engine has them.
pub(crate) fn load_as<R: Records + Sync>(
    cell: &Cell,
    records: &R,
    loading: &Loading,
    driver: &dyn Driver,
    session: &mut Session<'_>,
    report: &mut Report<'_>,
) -> Result<()> {
    let profile = driver.profile();
    let rows = loading.rows;
    let visit = Visit {
        records,
        rows: &Population::all(rows).rows(),
        tape: &Tape::new(loading.order, derive(cell.seed, "load"), rows),
        count: rows,
        multiple_of: loading.batch,
        clock: Clock::Stops,
        check: profile.keeps_data,
    };
    let mut told = telling(report, LOAD, NthRound::ONLY, rows, 1);
    let (timed, taken) =
        crew_round(&mut Crew::Fresh(session, 1), &visit, &mut told, &|round| match profile
            .transactions
        {
            Transactions::None => round.inserts(false),
            _ if loading.bulk => round.inserts(true),
            _ => round.batches(loading.batch),
        })?;
    let mut phase = Growing::new(LOAD, 1);
    phase.round(&timed, taken);
    session.keep(phase.done());
    Ok(())
}

/// A round of a phase, from 1 on, and the number of its rounds.
#[derive(Clone, Copy)]
pub(crate) struct NthRound {
    pub round: usize,
    pub rounds: usize,
}

impl NthRound {
    /// The round of a phase that has one.
    pub(crate) const ONLY: Self = Self { round: 1, rounds: 1 };
}

/// Returns a function for [`crew_round`] that reports the progress of a round; the first thread
/// reports for all.
pub(crate) fn telling<'p>(
    report: &'p mut Report<'_>,
    phase: &str,
    NthRound { round, rounds }: NthRound,
    total: u64,
    threads: u32,
) -> impl FnMut(u64) + 'p {
    let mut progress = Progress { phase: phase.into(), round, rounds, done: 0, total };
    move |done| {
        progress.done = done.saturating_mul(u64::from(threads)).min(total);
        report(&progress);
    }
}

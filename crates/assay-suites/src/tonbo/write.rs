//! `tonbo-write`: a bulk load in one transaction, individual writes by 1, 4 and 8 threads,
//! transactions of 100 writes by as many threads, and removals.

use std::fmt;

use assay_core::crew::Connections;
use assay_core::plan::Cell;
use assay_core::random::derive;
use assay_core::run_file::RunFile;
use assay_core::sample::{Expected, compare, sample};
use assay_core::tape::{Order, Population, Records, Tape};
use assay_core::timing::{Clock, Round, Timed};
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Change, Transactions};
use clap::Args;
use program_support::exit::{Failure, Outcome};
use serde::{Deserialize, Serialize};

use super::customers::{Customers, Numbering};
use crate::options::{Continuous, Part, Threads, count, defaults};
use crate::phases::{Crew, Growing, NthRound, Offset, Visit, clock_in_words, crew_round, telling};
use crate::reopened::Reopened;
use crate::session::{Needs, Report, Session};
use crate::suite::{CellLook, CellRun, Suite};

/// The id of the suite.
pub const ID: &str = "tonbo-write";

/// The suite.
pub struct TonboWrite;

/// The options of this suite.
#[derive(Args, Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// Multiply the published counts (500,000 loaded, 500,000 written one by one and 5,000 batches
    /// of 100 for each number of threads, 250,000 removed) by this
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = count::parse_scale)]
    pub scale: f64,
    /// Numbers of threads, separated by commas
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "1,4,8")]
    pub threads: Vec<Threads>,
    /// The clock.
    #[command(flatten)]
    #[serde(flatten)]
    pub continuous: Continuous,
}

impl Default for Options {
    fn default() -> Self {
        defaults()
    }
}

/// The number of records in a transaction.
const BATCH_SIZE: u64 = 100;

impl Options {
    /// Returns a published count times the scale, at least one.
    fn scaled(&self, count: u64) -> u64 {
        ((count as f64 * self.scale).round() as u64).max(1)
    }

    /// Returns the number of records loaded in one transaction.
    fn bulk(&self) -> u64 {
        self.scaled(500_000)
    }

    /// Returns the number of records written one by one, by each number of threads.
    fn individual(&self) -> u64 {
        self.scaled(500_000)
    }

    /// Returns the number of transactions, by each number of threads.
    fn batches(&self) -> u64 {
        self.scaled(5_000)
    }

    /// Returns the number of records removed at the end.
    fn removals(&self) -> u64 {
        self.scaled(250_000)
    }

    /// Returns the numbers of threads.
    fn threads(&self) -> Vec<u32> {
        Threads::each(&self.threads)
    }

    /// Returns the number of records in the store at its fullest.
    pub fn rows(&self) -> u64 {
        let each = self.individual() + self.batches() * BATCH_SIZE;
        self.bulk() + each * self.threads().len() as u64
    }
}

/// The most records: the number of keys.
pub(super) const MOST_ROWS: u64 = super::customers::MOST_ROWS;

/// The phase that removes records.
const REMOVALS: &str = "removals";

/// Returns the name of a phase with a number of threads.
pub(super) fn phase_name(what: &str, threads: u32) -> String {
    match threads {
        1 => what.into(),
        _ => format!("{what} ({threads} threads)"),
    }
}

/// The numbers of records that a cell wrote, and that it removed again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Left {
    written: u64,
    removed: u64,
}

/// Returns the stores that a cell needs.
fn needs<'c>(cell: &Cell, options: &Options, customers: &'c Customers) -> Needs<'c> {
    Needs {
        schema: customers.schema(),
        records: String::new(),
        keep: false,
        expected_rows: cell.rows,
        threads: options.threads().into_iter().max().unwrap_or(1),
        volumes: None,
    }
}

impl Suite for TonboWrite {
    type Options = Options;
    type Left = Left;

    const ID: &'static str = ID;
    const ABOUT: &'static str =
        "loads records, then writes and removes them one by one and in batches";
    const REVISION: u32 = 2;
    const SHORTER: &'static str = "--scale 0.01";

    fn parts(options: Options) -> Outcome<Vec<Part<Options>>> {
        let rows = options.rows();
        if rows > MOST_ROWS {
            return Err(Failure::Usage(format!(
                "{rows} records are more than there are keys ({MOST_ROWS}); choose a smaller \
                 --scale"
            )));
        }
        let threads = Threads::apart(&options.threads);
        Ok(vec![Part::of(rows, Options { threads, ..options })])
    }

    fn variant(options: &Options) -> String {
        let individual = options.individual();
        let batches = options.batches();
        let clock = clock_in_words(options.continuous.clock());
        format!("{individual} individual writes, {batches} batches{clock}")
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Left>> {
        let CellRun { cell, options, driver, measurement, report, .. } = run;
        let customers = Customers::new(options.rows(), Numbering::Scattered, cell.seed);
        let needs = needs(cell, options, &customers);
        let transactions = driver.profile().transactions != Transactions::None;
        let check = driver.profile().keeps_data;
        let mut session = Session::open(cell, driver, &needs, measurement)?;
        let clock = options.continuous.clock();
        session.note_clock(clock);
        let mut bench = Bench { session, customers: &customers, clock, check, written: 0 };

        if !transactions {
            bench.session.note(
                "it has no transactions: the bulk load was inserted without one, and there are no \
             batch writes"
                    .into(),
            );
        }
        bench.write("bulk load", options.bulk(), 1, 1, report, &|r| r.inserts(transactions))?;
        for threads in options.threads() {
            let name = phase_name("individual writes", threads);
            bench.write(&name, options.individual(), 1, threads, report, &|r| r.inserts(false))?;
        }
        for threads in options.threads().into_iter().filter(|_| transactions) {
            let name = phase_name("batch writes", threads);
            let count = options.batches() * BATCH_SIZE;
            bench.write(&name, count, BATCH_SIZE, threads, report, &|r| r.batches(BATCH_SIZE))?;
        }
        let mut removed = 0;
        let seed = derive(cell.seed, REMOVALS);
        if bench.session.offers(Change::Delete, REMOVALS) {
            removed = options.removals().min(bench.written);
            bench.remove(removed, seed, report)?;
        }
        let Bench { session, written, .. } = bench;
        Ok(session.close()?.then_some(Left { written, removed }))
    }

    /// Checks that the first `removed` of the order of removals are gone, and the others are there.
    fn look(look: CellLook<'_, Options>, left: Left) -> Result<(u64, Option<Left>)> {
        let CellLook { cell, options, driver } = look;
        let Left { written, removed } = left;
        let customers = Customers::new(options.rows(), Numbering::Scattered, cell.seed);
        let tape = Tape::new(Order::Permutation, derive(cell.seed, REMOVALS), written);
        let stores = Reopened::open(cell, driver, &needs(cell, options, &customers))?;
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            let gone = sample(removed).map(|position| tape.row(position));
            let there = sample(written - removed).map(|position| tape.row(removed + position));
            let connection = &mut *connections[0];
            let compared = compare(connection, &customers, gone, Expected::Gone)?;
            let expected = Expected::There { version: 0, ignored: None };
            Ok(compared + compare(connection, &customers, there, expected)?)
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn operations(_: &Cell, options: &Options) -> Option<u64> {
        Some(options.rows() + options.removals())
    }

    fn commits(_: &Cell, options: &Options) -> Option<u64> {
        let each = options.individual().saturating_add(options.batches());
        let written = each.saturating_mul(options.threads().len() as u64);
        Some(written.saturating_add(options.removals()))
    }

    fn record_bytes(_: &Options) -> u64 {
        super::customers::RECORD_BYTES
    }

    fn calibration(options: &Options) -> Option<Options> {
        Some(options.clone())
    }

    fn published(run: &RunFile, _: &str) -> std::result::Result<String, fmt::Error> {
        super::published::times(run)
    }
}

struct Bench<'b, 'm> {
    session: Session<'m>,
    customers: &'b Customers,
    clock: Clock,
    check: bool,
    written: u64,
}

impl Bench<'_, '_> {
    /// Writes the next `count` records.
    fn write(
        &mut self,
        name: &str,
        count: u64,
        multiple_of: u64,
        threads: u32,
        report: &mut Report<'_>,
        work: &(dyn Fn(Round<'_, '_, Offset<'_, Customers>>) -> Result<Timed> + Sync),
    ) -> Result<()> {
        let visit = Visit {
            records: &Offset { records: self.customers, first: self.written },
            rows: &Population::all(count).rows(),
            tape: &Tape::new(Order::Sequential, 0, count),
            count,
            multiple_of,
            clock: self.clock,
            check: self.check,
        };
        if self.written > 0 {
            self.session.cool()?;
        }
        let mut told = telling(report, name, NthRound::ONLY, count, threads);
        let (timed, taken) =
            crew_round(&mut Crew::Fresh(&mut self.session, threads), &visit, &mut told, work)
                .map_err(|error| named(name, &error))?;
        let mut phase = Growing::new(name, threads);
        phase.round(&timed, taken);
        self.session.keep(phase.done());
        self.written += count;
        Ok(())
    }

    fn remove(&mut self, count: u64, seed: u64, report: &mut Report<'_>) -> Result<()> {
        let name = REMOVALS;
        self.session.cool()?;
        let visit = Visit {
            records: self.customers,
            rows: &Population::all(self.written).rows(),
            tape: &Tape::new(Order::Permutation, seed, self.written),
            count,
            multiple_of: 1,
            clock: self.clock,
            check: self.check,
        };
        let mut told = telling(report, name, NthRound::ONLY, count, 1);
        let (timed, taken) =
            crew_round(&mut Crew::Fresh(&mut self.session, 1), &visit, &mut told, &|round| {
                round.deletes()
            })?;
        let mut phase = Growing::new(name, 1);
        phase.round(&timed, taken);
        self.session.keep(phase.done());
        Ok(())
    }
}

/// Returns an error with the phase that it ended.
fn named(phase: &str, error: &Error) -> Error {
    match error.kind() {
        ErrorKind::Unsupported => Error::unsupported(format!("{phase}: {error}")),
        kind => Error::new(kind, format!("{phase}: {error}")),
    }
}

//! `nudb`: the bench that NuDB publishes.
//!
//! Items with a random key of fixed size and a random value of 250 to 750 bytes are inserted one
//! by one; then existing items are fetched in random order. In batch mode, batches of inserts
//! and of fetches take turns, which gives the cost of both as the store grows.
//! `docs/suites/nudb.md` says where this departs from the original and why.

mod items;
mod options;
pub mod published;

use std::collections::BTreeMap;
use std::fmt;

use assay_core::chart::LineChart;
use assay_core::crew::Connections;
use assay_core::plan::Cell;
use assay_core::random::{derive, mix};
use assay_core::run_file::{Phase, RunFile};
use assay_core::sample::{Expected, compare, sample};
use assay_core::tape::{Order, Population, Records, Tape};
use assay_driver::error::Result;
use program_support::exit::Outcome;

use crate::options::Part;
use crate::phases::{Crew, Growing, NthRound, Offset, Visit, clock_in_words, crew_round, telling};
use crate::reopened::Reopened;
use crate::repeats::Repeats;
use crate::session::{Needs, Report, Session};
use crate::suite::{CALIBRATION_COUNT, CellLook, CellRun, Nothing, Suite};
use items::Items;
pub use options::Options;

/// The id of the suite.
pub const ID: &str = "nudb";

/// The suite.
pub struct Nudb;

/// The phases, after which the published tables are named.
const INSERT: &str = "insert";
const FETCH: &str = "fetch";

/// The mean bytes of a value, which has 250 to 750.
const MEAN_VALUE_BYTES: u64 = 500;

/// Returns the number of different keys of a size; none for more than 2⁶⁴.
pub fn most_items(key_size: u32) -> Option<u64> {
    (key_size < 8).then(|| 1 << (8 * key_size))
}

/// Returns the stores that a cell needs.
fn needs<'i>(cell: &Cell, items: &'i Items) -> Needs<'i> {
    Needs {
        schema: items.schema(),
        records: String::new(),
        keep: false,
        expected_rows: cell.rows,
        threads: 1,
        volumes: None,
    }
}

impl Suite for Nudb {
    type Options = Options;
    type Left = Nothing;

    const ID: &'static str = ID;
    const ABOUT: &'static str = "inserts records of a key and a value, then fetches some of them";
    const REVISION: u32 = 3;
    const SHORTER: &'static str = "--inserts 10k --fetches 10k";

    fn parts(options: Options) -> Outcome<Vec<Part<Options>>> {
        options.parts()
    }

    fn parameters(options: &Options) -> BTreeMap<String, String> {
        let block_size = options.block_size.map(|size| ("block_size".into(), size.to_string()));
        let load_factor = options.load_factor.map(|of| ("load_factor".into(), of.to_string()));
        block_size.into_iter().chain(load_factor).collect()
    }

    fn variant(options: &Options) -> String {
        let size = options.key_size;
        let clock = clock_in_words(options.continuous.clock());
        let batches = options.batch_size.map(|size| format!(", batches of {size}"));
        format!("keys of {size} bytes{}{clock}", batches.unwrap_or_default())
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Nothing>> {
        let CellRun { cell, options, driver, measurement, report, .. } = run;
        let given = Self::parameters(options).into_keys();
        let is_ignored = |name: &String| driver.profile().parameter(name).is_none();
        let ignored: Vec<_> = given.filter(is_ignored).collect();
        let items = Items::new(options.key_size, cell.seed);
        let mut session = Session::open(cell, driver, &needs(cell, &items), measurement)?;
        session.note_clock(options.continuous.clock());
        if !ignored.is_empty() {
            session.note(format!(
                "ignored, since the engine has no such setting: {}",
                ignored.join(", ")
            ));
        }
        let bench = Bench { cell, options, items: &items, check: driver.profile().keeps_data };
        match options.batch_size {
            None => bench.whole(&mut session, report)?,
            Some(size) => bench.batches(&mut session, size, report)?,
        }
        Ok(session.close()?.then_some(Nothing {}))
    }

    fn look(look: CellLook<'_, Options>, _: Nothing) -> Result<(u64, Option<Nothing>)> {
        let CellLook { cell, options, driver } = look;
        let items = Items::new(options.key_size, cell.seed);
        // Only whole batches are inserted.
        let held = options.batch_size.map_or(cell.rows, |size| cell.rows / size * size);
        let stores = Reopened::open(cell, driver, &needs(cell, &items))?;
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            let expected = Expected::There { version: 0, ignored: None };
            compare(&mut *connections[0], &items, sample(held), expected)
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn uncountable(options: &Options) -> Option<String> {
        let why = "batches of inserts and fetches take turns; leave --batch-size out";
        options.batch_size.map(|_| why.into())
    }

    fn operations(cell: &Cell, options: &Options) -> Option<u64> {
        let batches = options.batch_size.map_or(1, |size| cell.rows / size);
        Some(cell.rows.saturating_add(options.fetches().saturating_mul(batches)))
    }

    fn commits(cell: &Cell, _: &Options) -> Option<u64> {
        Some(cell.rows)
    }

    fn record_bytes(options: &Options) -> u64 {
        MEAN_VALUE_BYTES + u64::from(options.key_size)
    }

    fn calibration(options: &Options) -> Option<Options> {
        Some(Options { fetches: Some(options.fetches().min(CALIBRATION_COUNT)), ..options.clone() })
    }

    fn published(run: &RunFile, _: &str) -> std::result::Result<String, fmt::Error> {
        published::text(run)
    }

    fn charts(run: &RunFile) -> Vec<LineChart> {
        published::charts(run)
    }
}

struct Bench<'b> {
    cell: &'b Cell,
    options: &'b Options,
    items: &'b Items,
    check: bool,
}

/// The phase of fetches.
struct Fetches {
    phase: Growing,
    repeats: Repeats,
}

impl Fetches {
    fn new(bench: &Bench<'_>) -> Self {
        let repeats = Repeats::at_most(bench.options.repeats, bench.cell);
        Self { phase: Growing::new(FETCH, 1), repeats }
    }

    fn done(self) -> Phase {
        self.phase.done_with(&self.repeats)
    }
}

impl Bench<'_> {
    /// Runs all inserts, closes and opens the store, and runs all fetches.
    fn whole(&self, session: &mut Session<'_>, report: &mut Report<'_>) -> Result<()> {
        let mut insert = Growing::new(INSERT, 1);
        self.insert(session, &mut insert, NthRound::ONLY, self.cell.rows, report)?;
        session.keep(insert.done());
        let mut fetches = Fetches::new(self);
        self.fetch(session, &mut fetches, NthRound::ONLY, self.cell.rows, report)?;
        session.keep(fetches.done());
        Ok(())
    }

    /// Runs a batch of inserts, closes and opens the store, runs a batch of fetches among all
    /// existing items, and so on.
    fn batches(&self, session: &mut Session<'_>, size: u64, report: &mut Report<'_>) -> Result<()> {
        let mut insert = Growing::new(INSERT, 1);
        let mut fetches = Fetches::new(self);
        let batches = (self.cell.rows / size) as usize;
        for round in 1..=batches {
            let batch = NthRound { round, rounds: batches };
            self.insert(session, &mut insert, batch, size, report)?;
            self.fetch(session, &mut fetches, batch, round as u64 * size, report)?;
        }
        session.keep(insert.done());
        session.keep(fetches.done());
        Ok(())
    }

    /// Inserts the items of a batch in the order of their numbers; their keys are random.
    fn insert(
        &self,
        session: &mut Session<'_>,
        phase: &mut Growing,
        batch: NthRound,
        count: u64,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let items = Offset { records: self.items, first: (batch.round as u64 - 1) * count };
        let visit = Visit {
            records: &items,
            rows: &Population::all(count).rows(),
            tape: &Tape::new(Order::Sequential, 0, count),
            count,
            multiple_of: 1,
            clock: self.options.continuous.clock(),
            check: self.check,
        };
        let mut told = telling(report, INSERT, batch, count, 1);
        let (timed, taken) =
            crew_round(&mut Crew::Fresh(session, 1), &visit, &mut told, &|round| {
                round.inserts(false)
            })?;
        phase.round(&timed, taken);
        Ok(())
    }

    /// Closes the store, opens it again, and fetches items, in each attempt.
    fn fetch(
        &self,
        session: &mut Session<'_>,
        fetches: &mut Fetches,
        batch: NthRound,
        held: u64,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let count = self.options.fetches();
        let seed = mix(derive(self.cell.seed, FETCH), batch.round as u64 - 1);
        let visit = Visit {
            records: self.items,
            rows: &Population::all(held).rows(),
            tape: &Tape::new(Order::Draws, seed, held),
            count,
            multiple_of: 1,
            clock: self.options.continuous.clock(),
            check: self.check,
        };
        let mut told = telling(report, FETCH, batch, count, 1);
        let (timed, taken) = fetches.repeats.least_disturbed(|_| {
            // The engine's remaining work for its inserts is not part of the fetches' time.
            session.reopen()?;
            crew_round(&mut Crew::Fresh(session, 1), &visit, &mut told, &|round| {
                round.queries(None)
            })
        })?;
        fetches.phase.round(&timed, taken);
        Ok(())
    }
}

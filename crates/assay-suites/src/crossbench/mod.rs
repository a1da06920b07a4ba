//! `crossbench`: the suite that CrossDB publishes as CrossBench.
//!
//! A table of routes is filled by one insert a transaction, or loaded in one transaction. Then it
//! is queried and updated in ten rounds each, and emptied. `docs/suites/crossbench.md` says where
//! this departs from the original and why.

pub mod latencies;
mod options;
pub mod published;
pub mod route;
pub mod script;
mod survival;

use std::fmt;

use assay_core::chart::LineChart;
use assay_core::plan::{Cell, PageCache};
use assay_core::random::{derive, mix};
use assay_core::run_file::{Phase, RunFile};
use assay_core::tape::{Order, Population, Records, Tape};
use assay_core::timing::{Action, Round, Timed};
use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;
use assay_driver::{Change, Profile, Storage, Transactions};
use program_support::exit::{Failure, Outcome};

use crate::options::{Part, Threads};
use crate::phases::{Crew, Growing, LOAD, NthRound, Visit, clock_in_words, crew_round, telling};
use crate::repeats::Repeats;
use crate::session::{Needs, Report, Session};
use crate::suite::{CALIBRATION_COUNT, CellLook, CellRun, StoreUse, Suite};
use latencies::Visited;
pub use options::{Fill, Keys, Options};
use route::Routes;
use script::Script;
use survival::{Deleted, Left};

/// The id of the suite.
pub const ID: &str = "crossbench";

/// The suite.
pub struct CrossBench;

/// The phases whose rate a table shows, in order.
pub const PHASES: [&str; 5] = [LOAD, INSERT, QUERY, UPDATE, DELETE];

const INSERT: &str = "insert";
const QUERY: &str = "query";
const UPDATE: &str = "update";
const DELETE: &str = "delete";

/// The number of rounds of query and of update.
const ROUNDS: usize = 10;

/// Bytes of a route.
const RECORD_BYTES: u64 = 34;

/// The most rows: the number of different keys.
pub const MOST_ROWS: u64 = route::MOST_ROWS;

/// Returns the stores that a cell needs.
fn needs<'s>(cell: &Cell, options: &Options, schema: &'s Schema) -> Needs<'s> {
    Needs {
        schema,
        records: options.keys.to_string(),
        keep: false,
        expected_rows: cell.rows,
        threads: cell.threads,
        volumes: None,
    }
}

/// Closes the stores of a cell and returns `left`, if they outlive closing.
fn close(session: Session<'_>, left: Left) -> Result<Option<Left>> {
    Ok(session.close()?.then_some(left))
}

impl Suite for CrossBench {
    type Options = Options;
    type Left = Left;

    const ID: &'static str = ID;
    const ABOUT: &'static str =
        "inserts, looks up, updates and deletes single records by their keys";
    const REVISION: u32 = 2;
    // The published name of the suite describes its cells.
    const SHOWS_VARIANT: bool = false;
    const PUBLISHES_BARS: bool = true;
    const SHORTER: &'static str = "-i 100k -q 100k -u 20k";

    fn parts(options: Options) -> Outcome<Vec<Part<Options>>> {
        let (fill, rows) = options.filled();
        if rows == 0 {
            return Err(Failure::Usage(
                "-r 0 leaves nothing to measure; it is for -H, which prints the header".into(),
            ));
        }
        if rows > MOST_ROWS {
            return Err(Failure::Usage(format!(
                "{rows} rows are more than there are different keys ({MOST_ROWS})"
            )));
        }
        let counts = Threads::each(&options.threads);
        if fill == Fill::Open && counts.len() > 1 {
            return Err(Failure::Usage(
                "-r opens the one store that is there, so there can be one number of threads"
                    .into(),
            ));
        }
        let options = options.filled_by(fill, rows);
        let part = |threads| Part {
            rows,
            threads,
            options: Options { threads: vec![Threads::one(threads)], ..options.clone() },
        };
        Ok(counts.into_iter().map(part).collect())
    }

    fn variant(options: &Options) -> String {
        let access = if options.sequential { "sequential" } else { "random" };
        let latencies =
            options.latencies().map_or_else(String::new, |l| format!(", {}", l.variant()));
        let clock = clock_in_words(options.continuous.clock());
        format!("{access} access, {}{latencies}{clock}", options.keys)
    }

    fn options_for(options: &Options, profile: &Profile, storage: Storage) -> Options {
        options.clone().with_counts_of(Script::of(profile), storage)
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Left>> {
        let CellRun { cell, options, driver, measurement, report, .. } = run;
        let routes = Routes::new(options.keys, cell.seed);
        let schema = routes.schema().clone();
        let keep = options.filled().0 == Fill::Open;
        let needs = Needs { keep, ..needs(cell, options, &schema) };
        let mut session = Session::open(cell, driver, &needs, measurement)?;
        session.note_clock(options.continuous.clock());
        let run = Run { cell, options, routes, check: driver.profile().keeps_data, report };
        run.phases(session)
    }

    fn look(look: CellLook<'_, Options>, left: Left) -> Result<(u64, Option<Left>)> {
        survival::look(&look, left)
    }

    fn operations(cell: &Cell, options: &Options) -> Option<u64> {
        let filled = if options.filled().0 == Fill::Open { 0 } else { cell.rows };
        let more = u64::from(options.latency);
        let rounds =
            options.query.saturating_add(options.update).saturating_mul(ROUNDS as u64 + more);
        let deleted = options.delete.min(cell.rows).saturating_mul(1 + 2 * more);
        Some(rounds.saturating_add(filled).saturating_add(deleted))
    }

    fn commits(cell: &Cell, options: &Options) -> Option<u64> {
        let filled = match options.filled().0 {
            Fill::Insert => cell.rows,
            Fill::Load => 1,
            Fill::Open => 0,
        };
        let updated = options.update.saturating_mul(ROUNDS as u64);
        Some(updated.saturating_add(filled).saturating_add(options.delete.min(cell.rows)))
    }

    fn record_bytes(_: &Options) -> u64 {
        RECORD_BYTES
    }

    fn store_use(options: &Options) -> StoreUse {
        match options.filled().0 {
            Fill::Insert | Fill::Load => StoreUse::Makes,
            Fill::Open => StoreUse::Opens,
        }
    }

    fn calibration(options: &Options) -> Option<Options> {
        let options = options.clone().with_counts_of(Script::Sqlite, Storage::Disk);
        let (fill, rows) = options.filled();
        let fill = if fill == Fill::Load { Fill::Load } else { Fill::Insert };
        Some(Options {
            query: options.query.min(CALIBRATION_COUNT),
            update: options.update.min(CALIBRATION_COUNT),
            delete: options.delete.min(CALIBRATION_COUNT),
            latency: false,
            rate: None,
            ..options.filled_by(fill, rows)
        })
    }

    fn published(run: &RunFile, _: &str) -> std::result::Result<String, fmt::Error> {
        published::run(run)
    }

    fn charts(run: &RunFile) -> Vec<LineChart> {
        crate::scaling::charts(run)
    }
}

/// The work of a round; it gets the round and a number that is unique in the phase.
type Work<'w> = dyn Fn(Round<'_, '_, Routes>, u32) -> Result<Timed> + Sync + 'w;

/// Returns the number of an attempt at a round.
fn number_of(round: usize, attempt: u32) -> u32 {
    round as u32 + attempt * ROUNDS as u32
}

struct Run<'r> {
    cell: &'r Cell,
    options: &'r Options,
    routes: Routes,
    check: bool,
    report: &'r mut Report<'r>,
}

/// One phase: its name, its orders, its rounds, and the number of rounds in the published mean.
struct Plan {
    name: &'static str,
    order: Order,
    seeds: Vec<u64>,
    count: u64,
    published_top: usize,
}

impl Plan {
    /// Returns the repeats of a phase: lookups and updates of existing rows may be repeated.
    fn repeats(&self, run: &Run<'_>) -> Repeats {
        match self.name {
            QUERY | UPDATE => Repeats::at_most(run.options.repeats, run.cell),
            _ => Repeats::none(),
        }
    }
}

impl Run<'_> {
    fn phases(mut self, mut session: Session<'_>) -> Result<Option<Left>> {
        let (random_all, random_some) = if self.options.sequential {
            (Order::Sequential, Order::Sequential)
        } else {
            (Order::Permutation, Order::Draws)
        };
        let seed = |part: &str, round: u64| mix(derive(self.cell.seed, part), round);
        let rounds = |part: &str| (0..ROUNDS as u64).map(|round| seed(part, round)).collect();
        let one = |name, order, seed, count| Plan {
            name,
            order,
            seeds: vec![seed],
            count,
            published_top: 1,
        };

        self.fill(&mut session, one(INSERT, random_all, seed(INSERT, 0), self.cell.rows))?;
        let living = session.marker.population.live();
        if living == 0 {
            return close(session, Left::default());
        }
        if self.options.query > 0 {
            self.query(
                &mut session,
                Plan {
                    name: QUERY,
                    order: random_some,
                    seeds: rounds(QUERY),
                    count: self.options.query,
                    published_top: 3,
                },
            )?;
        }
        if self.options.update > 0 && session.offers(Change::Update, UPDATE) {
            self.update(
                &mut session,
                Plan {
                    name: UPDATE,
                    order: random_some,
                    seeds: rounds(UPDATE),
                    count: self.options.update,
                    published_top: 5,
                },
            )?;
        }
        let deleted = self.options.delete.min(living);
        if deleted > 0 && !session.offers(Change::Delete, DELETE) {
            // A store that was to be emptied is not left for a next run.
            return close(session, Left { goes: deleted == living, ..Left::default() });
        }
        let mut gone = None;
        if deleted > 0 {
            let order_seed = seed(DELETE, living);
            let plan = one(DELETE, random_all, order_seed, deleted);
            gone = Some(self.delete(&mut session, plan)?);
        }
        close(session, Left { deleted: gone, ..Left::default() })
    }

    /// Inserts or loads all rows, or takes the existing ones.
    fn fill(&mut self, session: &mut Session<'_>, plan: Plan) -> Result<()> {
        let all = Population::all(self.cell.rows);
        if self.options.filled().0 == Fill::Open {
            if !self.check {
                session.marker.population = all;
            }
            let held = session.marker.population.live();
            if held != self.cell.rows {
                return Err(Error::engine(
                    "open",
                    format!(
                        "the store here holds {held} rows, not {}; say -r {held}",
                        self.cell.rows
                    ),
                ));
            }
            return Ok(());
        }
        let load = self.options.filled().0 == Fill::Load;
        let plan = Plan { name: if load { LOAD } else { plan.name }, ..plan };
        let at_once = load && session.profile().transactions != Transactions::None;
        if load && !at_once {
            session.note(
                "load: this engine has no transactions, so the rows were inserted without one"
                    .into(),
            );
        }
        self.rounds(session, &plan, &all, &|round, _| round.inserts(at_once))?;
        session.marker.population = all;
        session.settle()
    }

    fn query(&mut self, session: &mut Session<'_>, plan: Plan) -> Result<()> {
        session.cool()?;
        let birth = self.routes.schema().position("birth");
        let ignored = birth.filter(|_| session.marker.updated);
        if ignored.is_some() {
            session.note(
                "query: the column birth was not compared, since an earlier run updated it".into(),
            );
        }
        let population = session.marker.population.clone();
        self.rounds(session, &plan, &population, &|round, _| round.queries(ignored))?;
        self.add_latencies(session, &plan, Action::Query { ignored })
    }

    fn update(&mut self, session: &mut Session<'_>, plan: Plan) -> Result<()> {
        session.cool()?;
        let birth = self.routes.schema().position("birth").expect("routes have a birth");
        session.marker.updated = true;
        session.settle()?;
        let population = session.marker.population.clone();
        self.rounds(session, &plan, &population, &|round, number| round.updates(birth, number))?;
        let version = number_of(ROUNDS, self.options.repeats.repeats) + 1;
        self.add_latencies(session, &plan, Action::Update { column: birth, version })
    }

    /// Takes the latencies of a phase after its rounds.
    fn add_latencies(
        &mut self,
        session: &mut Session<'_>,
        plan: &Plan,
        action: Action,
    ) -> Result<()> {
        let population = session.marker.population.clone();
        let seed = derive(self.cell.seed, "latencies");
        let tape = Tape::new(plan.order, seed, population.live());
        let visited = Visited { population: &population, tape: &tape, count: plan.count };
        self.latencies(session, plan.name, visited, action)
    }

    /// Deletes rows, and returns them.
    fn delete(&mut self, session: &mut Session<'_>, plan: Plan) -> Result<Deleted> {
        session.cool()?;
        session.marker.in_progress = true;
        session.mark()?;
        let population = session.marker.population.clone();
        self.rounds(session, &plan, &population, &|round, _| round.deletes())?;
        session.marker.population.delete(plan.order, plan.seeds[0], plan.count);
        let tape = Tape::new(plan.order, plan.seeds[0], population.live());
        self.turn_over(
            session,
            Visited { population: &population, tape: &tape, count: plan.count },
        )?;
        Ok(Deleted {
            before: population,
            order: plan.order,
            seed: plan.seeds[0],
            count: plan.count,
        })
    }

    /// Runs the rounds of a phase by one crew: one thread keeps its connection, unless the store
    /// is closed before each round, to drop its page cache.
    fn rounds(
        &mut self,
        session: &mut Session<'_>,
        plan: &Plan,
        population: &Population,
        work: &Work<'_>,
    ) -> Result<()> {
        let threads = if plan.name == LOAD { 1 } else { self.cell.threads };
        let is_cooled = self.cell.page_cache == PageCache::Cold && plan.seeds.len() > 1;
        let rows = population.rows();
        let mut phase = Growing::new(plan.name, threads);
        let mut repeats = plan.repeats(self);
        Crew::of(session, threads, !is_cooled, &mut |crew| {
            for (seed, number) in plan.seeds.iter().zip(1..) {
                if number > 1 {
                    crew.cool()?;
                }
                let visit = Visit {
                    records: &self.routes,
                    rows: &rows,
                    tape: &Tape::new(plan.order, *seed, population.live()),
                    count: plan.count,
                    multiple_of: 1,
                    clock: self.options.continuous.clock(),
                    check: self.check,
                };
                let of = NthRound { round: number, rounds: plan.seeds.len() };
                let mut told = telling(self.report, plan.name, of, plan.count, threads);
                let (timed, taken) = repeats.least_disturbed(|attempt| {
                    crew_round(crew, &visit, &mut told, &|round| {
                        work(round, number_of(number, attempt))
                    })
                })?;
                phase.round(&timed, taken);
            }
            Ok(())
        })?;
        let published_top = plan.published_top;
        session.keep(Phase { published_top, ..phase.done_with(&repeats) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_as_stores_name_them() {
        assert_eq!(
            [Keys::Dense, Keys::Sparse].map(|k| k.to_string()),
            ["dense keys", "sparse keys"]
        );
    }
}

//! `tonbo-read`: scans random ranges of a loaded store, whole and with one column only, by one and
//! by more threads.

use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use assay_core::crew::{Connections, Pace, share};
use assay_core::plan::Cell;
use assay_core::random::{derive, draw};
use assay_core::run_file::RunFile;
use assay_core::sample::{Expected, compare, sample};
use assay_core::tape::{Population, Records};
use assay_core::timing::Timed;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::Schema;
use assay_driver::{Connection, Scan};
use clap::Args;
use program_support::exit::{Failure, Outcome};
use program_support::given_file;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::customers::{Customers, Numbering};
use super::tbl::Table;
use super::write::{MOST_ROWS, phase_name};
use crate::options::{MostRepeats, Part, Threads, count, defaults};
use crate::phases::{Growing, NthRound, load, telling};
use crate::reopened::Reopened;
use crate::repeats::Repeats;
use crate::session::{Needs, Session};
use crate::suite::{CellLook, CellRun, Nothing, StoreUse, Suite};

/// The id of the suite.
pub const ID: &str = "tonbo-read";

/// The suite.
pub struct TonboRead;

/// Records to load, where the published bench has a hundred times as many.
const RECORDS: u64 = 400_000;

/// The options of this suite.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Records to load [default: 400k; the published bench has 40m]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, conflicts_with = "tbl")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Load the customers in this file, a TPC-H customer.tbl, instead of random ones
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tbl: Option<PathBuf>,
    /// Random ranges in each phase
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "200")]
    pub ranges: u64,
    /// Records in a range; the published bench scans 200k
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "2k")]
    pub range_size: u64,
    /// Numbers of threads of the last phases, separated by commas
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "4,8,16,32")]
    pub threads: Vec<Threads>,
    /// Leave the loaded store in its directory; the next run with --keep and the same records opens
    /// it
    #[arg(long)]
    pub keep: bool,
    /// The repeats of disturbed rounds.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeats: MostRepeats,
}

impl Default for Options {
    fn default() -> Self {
        defaults()
    }
}

impl Options {
    /// Returns these options with the number of records to load and the path of their file.
    fn settled(self) -> Outcome<(u64, Self)> {
        let Some(path) = &self.tbl else {
            let rows = self.records.unwrap_or(RECORDS);
            return Ok((rows, Self { records: Some(rows), ..self }));
        };
        given_file::check_readable(path, "--tbl")?;
        let table = Table::read(path).map_err(|error| Failure::Refused(error.to_string()))?;
        let whole = path
            .canonicalize()
            .map_err(|error| Failure::Refused(format!("{}: {error}", path.display())))?;
        if whole.to_str().is_none() {
            return Err(Failure::Usage(format!(
                "--tbl {}: not UTF-8, so a run file could not name it; choose another name",
                whole.display()
            )));
        }
        Ok((table.rows(), Self { tbl: Some(whole), ..self }))
    }
}

/// The column that projected reads return.
const PROJECTED: &str = "c_name";

impl Suite for TonboRead {
    type Options = Options;
    type Left = Nothing;

    const ID: &'static str = ID;
    const ABOUT: &'static str = "reads ranges of records, whole and in part";
    const REVISION: u32 = 3;
    const SHORTER: &'static str = "--records 40k";

    fn parts(options: Options) -> Outcome<Vec<Part<Options>>> {
        let (rows, options) = options.settled()?;
        if rows > MOST_ROWS {
            return Err(Failure::Usage(format!(
                "{rows} records are more than there are keys ({MOST_ROWS})"
            )));
        }
        if options.range_size > rows {
            return Err(Failure::Usage(format!(
                "a range of {} records is more than the {rows} that there are; choose a smaller \
                 --range-size",
                options.range_size
            )));
        }
        let threads = Threads::apart(&options.threads);
        Ok(vec![Part::of(rows, Options { threads, ..options })])
    }

    fn variant(options: &Options) -> String {
        let of = match &options.tbl {
            None => String::new(),
            Some(path) => format!(" of {}", path.display()),
        };
        format!("{} ranges of {} records{of}", options.ranges, options.range_size)
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Nothing>> {
        match &run.options.tbl {
            None => {
                let customers = Customers::new(run.cell.rows, Numbering::ByKey, run.cell.seed);
                read(run, &customers, String::new())
            }
            Some(path) => {
                let (table, identity) = table(path)?;
                read(run, &table, identity)
            }
        }
    }

    fn look(look: CellLook<'_, Options>, _: Nothing) -> Result<(u64, Option<Nothing>)> {
        let compared = match &look.options.tbl {
            None => {
                let customers = Customers::new(look.cell.rows, Numbering::ByKey, look.cell.seed);
                read_back(&look, &customers, String::new())?
            }
            Some(path) => {
                let (table, identity) = table(path)?;
                read_back(&look, &table, identity)?
            }
        };
        Ok((compared, None))
    }

    fn operations(cell: &Cell, options: &Options) -> Option<u64> {
        let scans = 4 + Threads::each(&options.threads).len() as u64;
        Some(cell.rows.saturating_add((options.ranges * options.range_size).saturating_mul(scans)))
    }

    /// Returns 0: records are loaded in few transactions.
    fn commits(_: &Cell, _: &Options) -> Option<u64> {
        Some(0)
    }

    fn record_bytes(_: &Options) -> u64 {
        super::customers::RECORD_BYTES
    }

    fn store_use(options: &Options) -> StoreUse {
        if options.keep { StoreUse::TakesOrMakes } else { StoreUse::Makes }
    }

    fn scans(_: &Options) -> bool {
        true
    }

    fn calibration(options: &Options) -> Option<Options> {
        Some(Options { keep: false, ..options.clone() })
    }

    fn published(run: &RunFile, _: &str) -> std::result::Result<String, fmt::Error> {
        super::published::times(run)
    }
}

/// Reads the records of a file, and returns them with their identity for a marker.
fn table(path: &Path) -> Result<(Table, String)> {
    let table = Table::read(path).map_err(|e| Error::new(ErrorKind::Engine, e.to_string()))?;
    let identity = format!("customers {:016x}", table.hash());
    Ok((table, identity))
}

/// Returns the stores that a cell needs for `records`, whose marker has `identity`.
fn needs<'r, R: Records>(
    cell: &Cell,
    options: &Options,
    records: &'r R,
    identity: String,
) -> Needs<'r> {
    Needs {
        schema: records.schema(),
        records: identity,
        keep: false,
        expected_rows: cell.rows,
        threads: Threads::each(&options.threads).into_iter().max().unwrap_or(1),
        volumes: None,
    }
}

/// Compares a sample of the records that a cell loaded.
fn read_back<R: Records + Sync>(
    look: &CellLook<'_, Options>,
    records: &R,
    identity: String,
) -> Result<u64> {
    let CellLook { cell, options, driver } = *look;
    let stores = Reopened::open(cell, driver, &needs(cell, options, records, identity))?;
    let compared = stores.look(&|connections: Connections<'_, '_>| {
        let expected = Expected::There { version: 0, ignored: None };
        compare(&mut *connections[0], records, sample(cell.rows), expected)
    })?;
    stores.close(options.keep)?;
    Ok(compared)
}

/// Measures a cell on `records`, whose marker has `identity`.
fn read<R: Records + Sync>(
    run: CellRun<'_, Options>,
    records: &R,
    identity: String,
) -> Result<Option<Nothing>> {
    let CellRun { cell, options, driver, measurement, report, .. } = run;
    let keep = options.keep && Session::is_there(cell, driver);
    let needs = Needs { keep, ..needs(cell, options, records, identity) };
    let check = driver.profile().keeps_data;
    let mut session = Session::open(cell, driver, &needs, measurement)?;
    if needs.keep {
        let held = session.marker.population.live();
        if held != cell.rows {
            return Err(Error::engine(
                "open",
                format!(
                    "the store here holds {held} records, not {}; choose another --dir",
                    cell.rows
                ),
            ));
        }
        session.note("the store is the one that an earlier run loaded".into());
    } else {
        load(cell, records, LOAD_BATCH, driver, &mut session, report)?;
        session.marker.population = Population::all(cell.rows);
        session.settle()?;
    }
    let schema = records.schema();
    let whole: Vec<_> = (0..schema.columns().len()).collect();
    let projected: Vec<_> = schema.position(PROJECTED).into_iter().collect();
    let all = "random range reads";
    let one = "random range projection reads";
    let mut phases: Vec<(String, &[usize], u32, usize)> =
        vec![(all.into(), &whole, 1, 2), (one.into(), &projected, 1, 2)];
    for threads in Threads::each(&options.threads) {
        phases.push((phase_name(one, threads), &projected, threads, 1));
    }
    for (at, (name, columns, threads, rounds)) in phases.iter().enumerate() {
        let mut phase = Growing::new(name, *threads);
        let mut repeats = Repeats::at_most(options.repeats, cell);
        for round in 0..*rounds {
            session.cool()?;
            let total = options.ranges * options.range_size;
            let nth = NthRound { round: round + 1, rounds: *rounds };
            let mut told = telling(report, name, nth, total, *threads);
            let seed = derive(cell.seed, "ranges") ^ (at as u64) << 8 ^ round as u64;
            let ranges = Ranges { records, options, rows: cell.rows, columns, seed, check };
            let (timed, taken) = repeats.least_disturbed(|_| {
                let crew =
                    session.crew(*threads, &mut told, &|number, pace, connections, progress| {
                        ranges.scan(*threads, number, pace, &mut *connections[0], progress)
                    })?;
                Ok(Timed::of_crew(crew))
            })?;
            phase.round(&timed, taken);
        }
        session.keep(phase.done_with(&repeats));
    }
    Ok(session.close()?.then_some(Nothing {}))
}

/// The number of records loaded in a transaction: enough that its end does not count, and few
/// enough for engines that keep a transaction in memory.
const LOAD_BATCH: u64 = 10_000;

/// The ranges of a phase.
struct Ranges<'r, R> {
    records: &'r R,
    options: &'r Options,
    rows: u64,
    columns: &'r [usize],
    seed: u64,
    check: bool,
}

impl<R: Records> Ranges<'_, R> {
    /// Scans this thread's share of the ranges. The returned columns are folded into a digest as
    /// they come, and compared once the scan is off the clock.
    fn scan(
        &self,
        threads: u32,
        number: usize,
        pace: &mut Pace<'_>,
        connection: &mut dyn Connection,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Timed> {
        let schema = self.records.schema();
        let size = self.options.range_size.min(self.rows);
        let mut timed = Timed::default();
        let mut lower = vec![0; schema.key_size()];
        let mut upper = vec![0; schema.key_size()];
        for range in share(self.options.ranges, threads, number) {
            let first = draw(self.seed, range, self.rows - size + 1);
            self.records.key(first, &mut lower);
            self.records.key(first + size - 1, &mut upper);
            let scan = Scan {
                lower: Bound::Included(&lower),
                upper: Bound::Included(&upper),
                columns: self.columns,
                limit: u64::MAX,
            };
            let mut digest = 0;
            let count = pace.span(|| {
                connection.scan(&scan, &mut |record| {
                    digest = fold(digest, schema, self.columns, record);
                })
            })?;
            timed.operations += size;
            timed.tape.add(first);
            if self.check {
                if count != size {
                    return Err(wrong(first, &format!("{count} records, expected {size}")));
                }
                if digest != self.expected(first, size) {
                    return Err(wrong(first, "its records are not those that were loaded"));
                }
                timed.checked += size;
            }
            progress(timed.operations);
        }
        timed.spans = pace.finish()?;
        Ok(timed)
    }

    fn expected(&self, first: u64, size: u64) -> u64 {
        let schema = self.records.schema();
        let mut record = vec![0; schema.record_size()];
        (first..first + size).fold(0, |digest, row| {
            let (key, payload) = record.split_at_mut(schema.key_size());
            self.records.key(row, key);
            self.records.payload(row, 0, payload);
            fold(digest, schema, self.columns, &record)
        })
    }
}

/// Returns the digest with the wanted columns of a record added.
fn fold(digest: u64, schema: &Schema, columns: &[usize], record: &[u8]) -> u64 {
    columns
        .iter()
        .fold(digest, |digest, &at| xxh3_64_with_seed(schema.columns()[at].slice(record), digest))
}

fn wrong(first: u64, what: &str) -> Error {
    Error::new(ErrorKind::WrongAnswer, format!("the range that begins with record {first}: {what}"))
}

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
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::customers::{Customers, Numbering};
use super::tbl::Table;
use super::write::phase_name;
use crate::phases::{Growing, load, telling};
use crate::reopened::Reopened;
use crate::repeats::{Repeats, is_zero};
use crate::session::{Needs, Session};
use crate::suite::{CellLook, CellRun, Nothing, StoreUse, Suite};

/// The id of the suite.
pub const ID: &str = "tonbo-read";

/// The suite.
pub struct TonboRead;

/// The options of a cell of this suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The number of ranges that a phase scans.
    pub ranges: u64,
    /// The number of records in a range.
    pub range_size: u64,
    /// The numbers of threads for the last phases.
    pub threads: Vec<u32>,
    /// A file with the records; absent: random ones.
    pub tbl: Option<PathBuf>,
    /// True if an existing store with these records is taken, and left in its place.
    pub keep: bool,
    /// The most repeats of disturbed rounds of a phase.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
}

/// The column that projected reads return.
const PROJECTED: &str = "c_name";

impl Suite for TonboRead {
    type Options = Options;
    type Left = Nothing;

    const ID: &'static str = ID;
    const ABOUT: &'static str = "reads ranges of records, whole and in part";
    const REVISION: u32 = 3;

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
        let scans = 4 + options.threads.len() as u64;
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
        match options.keep {
            true => StoreUse::TakesOrMakes,
            false => StoreUse::Makes,
        }
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
        threads: options.threads.iter().copied().max().unwrap_or(1),
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
    let CellRun { cell, options, driver, measurement, report } = run;
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
    let (all, one) = ("random range reads", "random range projection reads");
    let mut phases: Vec<(String, &[usize], u32, usize)> =
        vec![(all.into(), &whole, 1, 2), (one.into(), &projected, 1, 2)];
    for &threads in &options.threads {
        phases.push((phase_name(one, threads), &projected, threads, 1));
    }
    for (at, (name, columns, threads, rounds)) in phases.iter().enumerate() {
        let mut phase = Growing::new(name, *threads);
        let mut repeats = Repeats::at_most(options.repeats, cell);
        for round in 0..*rounds {
            session.cool()?;
            let total = options.ranges * options.range_size;
            let mut told = telling(report, name, (round + 1, *rounds), total, *threads);
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
        let (mut lower, mut upper) = (vec![0; schema.key_size()], vec![0; schema.key_size()]);
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

//! `tonbo-micro`: writes of 256-byte keys and values, 1, 16 or 128 in a transaction, sampled as
//! Criterion.rs samples: a warm-up, then 100 samples of d, 2d, 3d, … iterations, where d is such
//! that all of them take about the time for measuring.

use std::fmt;
use std::time::{Duration, Instant};

use assay_core::crew::{Connections, Pace, Spans, Taken};
use assay_core::plan::Cell;
use assay_core::random::{Words, derive, mix};
use assay_core::run_file::{Phase, RunFile};
use assay_core::sample::{Expected, compare, sample};
use assay_core::tape::Records;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{Connection, Transactions};
use clap::Args;
use program_support::exit::Outcome;
use serde::{Deserialize, Serialize};

use crate::options::{MostRepeats, Part, count, defaults};
use crate::phases::kept;
use crate::reopened::Reopened;
use crate::repeats::Repeats;
use crate::session::{Needs, Progress, Report, Session};
use crate::suite::{CellLook, CellRun, Suite};

/// The id of the suite.
pub const ID: &str = "tonbo-micro";

/// The suite.
pub struct TonboMicro;

/// The options of this suite.
#[derive(Args, Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// Writes in a transaction, separated by commas
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1,16,128",
          value_parser = count::parse_positive)]
    pub batches: Vec<u64>,
    /// Seconds of writing before anything is sampled
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = count::parse_scale)]
    pub warm_up: f64,
    /// Seconds of all samples together, about
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = count::parse_scale)]
    pub measurement: f64,
    /// Number of samples
    #[arg(long, value_name = "COUNT", default_value = "100",
          value_parser = count::between::<u64>(10, 10_000))]
    pub samples: u64,
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
    /// Returns more records than any engine writes in that time: a million a second, twice over.
    fn most_rows(&self) -> u64 {
        let time_s = self.warm_up + self.measurement;
        (time_s * 2e6) as u64 * self.batches.len() as u64
    }
}

/// Bytes of a key and of a value.
const SIZE: u32 = 256;

/// Bytes of records prepared at a time.
const PREPARED_BYTES: usize = 1 << 20;

/// Pairs of random bytes.
struct Pairs {
    schema: Schema,
    seed: u64,
}

impl Pairs {
    fn of(cell: &Cell) -> Self {
        let size = ColumnType::Bytes(SIZE);
        let schema = Schema::new("pairs", &[("k", size), ("v", size)], 1);
        Self { schema, seed: derive(cell.seed, "pairs") }
    }
}

impl Records for Pairs {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Writes a key. Its first word is a bijection of the row, so keys differ.
    fn key(&self, row: u64, key: &mut [u8]) {
        key[..8].copy_from_slice(&mix(self.seed, row).to_le_bytes());
        fill(Words::new(mix(!self.seed, row)), &mut key[8..]);
    }

    fn payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        fill(Words::new(mix(self.seed ^ u64::from(version + 1) << 32, !row)), payload);
    }
}

fn fill(mut words: Words, bytes: &mut [u8]) {
    for chunk in bytes.chunks_exact_mut(8) {
        chunk.copy_from_slice(&words.next().to_le_bytes());
    }
}

/// The number of rows that a cell wrote.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Left {
    written: u64,
}

/// Returns the stores that a cell needs.
fn needs<'p>(options: &Options, pairs: &'p Pairs) -> Needs<'p> {
    Needs {
        schema: &pairs.schema,
        records: String::new(),
        keep: false,
        expected_rows: options.most_rows(),
        threads: 1,
        volumes: None,
    }
}

impl Suite for TonboMicro {
    type Options = Options;
    type Left = Left;

    const ID: &'static str = ID;
    const ABOUT: &'static str = "commits transactions of a few writes";
    const REVISION: u32 = 2;
    const SHORTER: &'static str = "--measurement 1";

    fn parts(options: Options) -> Outcome<Vec<Part<Options>>> {
        Ok(vec![Part::of(0, options)])
    }

    fn variant(options: &Options) -> String {
        format!("{} samples in about {} s", options.samples, options.measurement)
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Left>> {
        let CellRun { cell, options, driver, measurement, report, .. } = run;
        let pairs = Pairs::of(cell);
        let needs = needs(options, &pairs);
        let transactions = driver.profile().transactions != Transactions::None;
        let mut session = Session::open(cell, driver, &needs, measurement)?;
        if !transactions && options.batches.iter().any(|&size| size > 1) {
            session.note("it has no transactions: the writes of a batch are single writes".into());
        }
        let mut bench = Bench {
            pairs: &pairs,
            cell,
            options,
            transactions,
            check: driver.profile().keeps_data,
            next: 0,
            records: Vec::new(),
        };
        for &size in &options.batches {
            session.phase(|connection| bench.phase(size, connection, report))?;
        }
        let written = bench.next;
        Ok(session.close()?.then_some(Left { written }))
    }

    fn look(look: CellLook<'_, Options>, left: Left) -> Result<(u64, Option<Left>)> {
        let CellLook { cell, options, driver } = look;
        let pairs = Pairs::of(cell);
        let stores = Reopened::open(cell, driver, &needs(options, &pairs))?;
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            let expected = Expected::There { version: 0, ignored: None };
            compare(&mut *connections[0], &pairs, sample(left.written), expected)
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn operations(_: &Cell, _: &Options) -> Option<u64> {
        None
    }

    fn commits(_: &Cell, _: &Options) -> Option<u64> {
        None
    }

    fn record_bytes(_: &Options) -> u64 {
        2 * u64::from(SIZE)
    }

    /// Returns none: a null engine would fill the time with writing nothing.
    fn calibration(_: &Options) -> Option<Options> {
        None
    }

    fn published(run: &RunFile, _: &str) -> std::result::Result<String, fmt::Error> {
        super::published::estimates(run)
    }
}

struct Bench<'b> {
    pairs: &'b Pairs,
    cell: &'b Cell,
    options: &'b Options,
    transactions: bool,
    check: bool,
    /// The first row that is not written yet.
    next: u64,
    records: Vec<u8>,
}

impl Bench<'_> {
    fn phase(
        &mut self,
        size: u64,
        connection: &mut dyn Connection,
        report: &mut Report<'_>,
    ) -> Result<Phase> {
        let name = format!("write/{size}");
        let first = self.next;
        let each = self.warm_up(size, connection)?;
        let samples = self.options.samples;
        // The sum 1 + 2 + … + `samples`, in units of d.
        let steps = samples * (samples + 1) / 2;
        let step = self.options.measurement * 1e9 / (each * steps as f64);
        let step = (step.ceil() as u64).max(1);
        let mut phase =
            Phase { name: name.clone(), published_top: 1, threads: 1, ..Phase::default() };
        let mut repeats = Repeats::at_most(self.options.repeats, self.cell);
        for sample in 1..=samples {
            report(&Progress {
                phase: name.clone(),
                round: 1,
                rounds: 1,
                done: sample,
                total: samples,
            });
            let iterations = sample * step;
            // A sample writes new pairs, and so does another attempt at it.
            let (_, taken) =
                repeats.least_disturbed(|_| Ok(((), self.write(size, iterations, connection)?)))?;
            phase.rounds.push(kept(iterations, taken));
        }
        phase.repeats = repeats.done();
        phase.checked = self.read_back(first, connection)?;
        // Iterations depend on the engine's speed, so two engines do not write the same number
        // of pairs; the pairs are the same.
        phase.tape_hash = format!("{:016x}", mix(self.pairs.seed, size));
        Ok(phase)
    }

    /// Writes for the time of the warm-up, twice as much each time; returns the time of an
    /// iteration in nanoseconds.
    fn warm_up(&mut self, size: u64, connection: &mut dyn Connection) -> Result<f64> {
        let enough = Duration::from_secs_f64(self.options.warm_up);
        let started = Instant::now();
        let mut iterations = 1;
        let mut done = 0u64;
        let mut spent = Duration::ZERO;
        loop {
            spent += self.write(size, iterations, connection)?.time;
            done += iterations;
            if started.elapsed() >= enough {
                return Ok((spent.as_nanos() as f64 / done as f64).max(1.0));
            }
            iterations *= 2;
        }
    }

    /// Runs `iterations` iterations; their pairs are prepared off the clock.
    fn write(
        &mut self,
        size: u64,
        iterations: u64,
        connection: &mut dyn Connection,
    ) -> Result<Taken> {
        let record_size = self.pairs.schema.record_size();
        let of_iteration = record_size * size as usize;
        let at_once = (PREPARED_BYTES / of_iteration).max(1) as u64;
        let mut pace = Pace::alone();
        for first in (0..iterations).step_by(at_once as usize) {
            let count = at_once.min(iterations - first);
            self.prepare(count * size);
            let batched = self.transactions && size > 1;
            let done: u64 = pace.span(|| {
                let batches = self.records.chunks_exact(of_iteration);
                batches
                    .map(|records| {
                        if batched {
                            connection.batch(records, record_size)
                        } else {
                            connection.replay_inserts(records, record_size)
                        }
                    })
                    .sum()
            })?;
            if self.check && done != count * size {
                let refused = count * size - done;
                return Err(wrong(format!("{refused} writes of new keys were refused")));
            }
        }
        Ok(Spans::taken(&[pace.finish()?]))
    }

    fn prepare(&mut self, count: u64) {
        let size = self.pairs.schema.record_size();
        self.records.resize(size * count as usize, 0);
        for record in self.records.chunks_exact_mut(size) {
            let (key, payload) = record.split_at_mut(self.pairs.schema.key_size());
            self.pairs.key(self.next, key);
            self.pairs.payload(self.next, 0, payload);
            self.next += 1;
        }
    }

    /// Looks up a sample of the pairs that were written from row `first` on.
    fn read_back(&self, first: u64, connection: &mut dyn Connection) -> Result<u64> {
        if !self.check {
            return Ok(0);
        }
        let rows = sample(self.next - first).map(|at| first + at);
        compare(connection, self.pairs, rows, Expected::There { version: 0, ignored: None })
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::WrongAnswer, message)
}

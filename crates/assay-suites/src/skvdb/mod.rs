//! `skvdb`: the tables that SKVDB publishes.
//!
//! Threads write, read and remove typed properties of one shared record, or each of a separate
//! record. One to three volumes are mounted at one point: a write goes to every volume, a read
//! takes the first that has the property. Then each links and unlinks children.
//! `docs/suites/skvdb.md` says where this departs from the original and why.

mod adapter;
mod charts;
mod published;

use std::fmt;

use assay_core::chart::{LineChart, Sheet};
use assay_core::crew::{Connections, Pace, Spans};
use assay_core::plan::Cell;
use assay_core::run_file::{Phase, RunFile};
use assay_core::sample::sample;
use assay_core::tape::TapeHash;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::Schema;
use assay_driver::volume::{Property, Volume};
use assay_driver::{Connection, DeleteRule, Driver, InsertRule, Outcome};
use clap::Args;
use program_support::exit;
use serde::Serialize;

use crate::options::{MostRepeats, Part, Threads, count, defaults};
use crate::phases::{NthRound, kept, telling};
use crate::reopened::Reopened;
use crate::repeats::Repeats;
use crate::session::{Needs, Session};
use crate::suite::{CellLook, CellRun, Nothing, Suite};
use adapter::RecordVolume;

/// The id of the suite.
pub const ID: &str = "skvdb";

/// The suite.
pub struct Skvdb;

/// The options of this suite.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Numbers of threads, separated by commas; 2-16 means all from 2 to 16
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "2-16")]
    pub threads: Vec<Threads>,
    /// Numbers of volumes mounted at one point, separated by commas
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "3,2,1",
          value_parser = count::between::<u32>(1, 16))]
    pub entries: Vec<u32>,
    /// Operations of each thread in each phase on properties
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "20k")]
    pub operations: u64,
    /// Child records that each thread links and unlinks; none for 0
    #[arg(long, value_name = "COUNT", value_parser = count::parse, default_value = "1k")]
    pub children: u64,
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
    /// Returns the number of volumes mounted at one point in a cell: the published "entries".
    fn entries(&self) -> u32 {
        self.entries.first().copied().unwrap_or(1)
    }
}

/// Returns a number of entries in words.
fn entries_in_words(entries: u32) -> String {
    match entries {
        1 => "1 entry".into(),
        entries => format!("{entries} entries"),
    }
}

/// Bytes of a property with its name, on the mean of the seven.
const RECORD_BYTES: u64 = 210;

/// The phases, in order. The first four have published tables.
const PHASES: [&str; 7] = [
    "write, one record",
    "read, one record",
    "write, own records",
    "read, own records",
    "remove",
    "link",
    "unlink",
];

/// The number of properties that a record has.
const PROPERTIES: u64 = 7;

/// Returns the published property with this number.
fn property(at: u64) -> (&'static str, Property<'static>) {
    const TEXT: &str = {
        const BYTES: [u8; 256] = [b'a'; 256];
        match str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("letters are UTF-8"),
        }
    };
    match at % PROPERTIES {
        0 => ("flt_prop", Property::F32(123.0)),
        1 => ("double_prop", Property::F64(956.0)),
        2 => ("uint8t_prop", Property::U8(20)),
        3 => ("uint32t_prop", Property::U32(1 << 30)),
        4 => ("uint64t_prop", Property::U64(1 << 50)),
        5 => ("string_prop", Property::Text(TEXT)),
        _ => ("blob_prop", Property::Blob(&[b'Z'; 1024])),
    }
}

/// The record that all threads share. Below it, the number of records that a thread may own, more
/// than it can need.
const SHARED: u64 = 1;
const ROOM: u64 = 1 << 32;

fn own(thread: usize) -> u64 {
    (thread as u64 + 1) * ROOM
}

/// Returns the stores that a cell needs.
fn needs<'s>(cell: &Cell, options: &Options, schema: &'s Schema) -> Needs<'s> {
    Needs {
        schema,
        records: String::new(),
        keep: false,
        expected_rows: u64::from(cell.threads) * (options.operations + options.children)
            + 2 * PROPERTIES,
        threads: cell.threads,
        volumes: Some(options.entries()),
    }
}

impl Suite for Skvdb {
    type Options = Options;
    type Left = Nothing;

    const ID: &'static str = ID;
    const ABOUT: &'static str =
        "reads, writes and removes properties of records, and links records, by several threads";
    const REVISION: u32 = 3;
    const SHORTER: &'static str = "--threads 2,16";

    fn parts(options: Options) -> exit::Outcome<Vec<Part<Options>>> {
        let mut parts = Vec::new();
        for &entries in &options.entries {
            for threads in Threads::each(&options.threads) {
                let entries = vec![entries];
                let counts = vec![Threads::one(threads)];
                let options = Options { entries, threads: counts, ..options.clone() };
                parts.push(Part { rows: options.operations, threads, options });
            }
        }
        Ok(parts)
    }

    fn variant(options: &Options) -> String {
        entries_in_words(options.entries())
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Nothing>> {
        let CellRun { cell, options, driver, measurement, report, .. } = run;
        let schema = adapter::schema();
        let rules = Rules::of(driver);
        let needs = needs(cell, options, &schema);
        let mut session = Session::open(cell, driver, &needs, measurement)?;
        for (name, at) in PHASES.iter().zip(1..) {
            let count = if at > 5 { options.children } else { options.operations };
            if count == 0 {
                continue;
            }
            let total = count * u64::from(cell.threads);
            let mut told = telling(report, name, NthRound::ONLY, total, cell.threads);
            let mut repeats = match at {
                1..=4 => Repeats::at_most(options.repeats, cell),
                _ => Repeats::none(),
            };
            if at > 1 {
                session.cool()?;
            }
            let (_, taken) = repeats.least_disturbed(|_| {
                let crew = session.crew(
                    cell.threads,
                    &mut told,
                    &|thread, pace, connections, progress| {
                        let mut mount = Mount::new(connections, rules);
                        let spans = phase(at, thread, count, &mut mount, pace)?;
                        progress(count);
                        Ok(spans)
                    },
                )?;
                Ok(((), Spans::taken(&crew)))
            })?;
            let mut hash = TapeHash::default();
            [at as u64, count, u64::from(cell.threads)].into_iter().for_each(|part| hash.add(part));
            session.keep(Phase {
                name: (*name).into(),
                rounds: vec![kept(total, taken)],
                published_top: 1,
                tape_hash: format!("{:016x}", hash.value()),
                checked: if rules.check { total } else { 0 },
                repeats: repeats.done(),
                threads: cell.threads,
                ..Phase::default()
            });
        }
        Ok(session.close()?.then_some(Nothing {}))
    }

    fn look(look: CellLook<'_, Options>, _: Nothing) -> Result<(u64, Option<Nothing>)> {
        let CellLook { cell, options, driver } = look;
        let schema = adapter::schema();
        let rules = Rules::of(driver);
        let stores = Reopened::open(cell, driver, &needs(cell, options, &schema))?;
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            let mut mount = Mount::new(connections, rules);
            let threads = 0..cell.threads as usize;
            threads.map(|thread| mount.look_at_all(thread, options)).sum()
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn operations(cell: &Cell, options: &Options) -> Option<u64> {
        let each = options.operations.saturating_mul(6).saturating_add(options.children * 2);
        Some(each.saturating_mul(u64::from(cell.threads) * u64::from(options.entries())))
    }

    fn commits(cell: &Cell, options: &Options) -> Option<u64> {
        // Three of the five phases on properties change them.
        let each = options.operations.saturating_mul(3).saturating_add(options.children * 2);
        Some(each.saturating_mul(u64::from(cell.threads)))
    }

    fn record_bytes(_: &Options) -> u64 {
        RECORD_BYTES
    }

    fn mounts_volumes(_: &Options) -> bool {
        true
    }

    fn calibration(options: &Options) -> Option<Options> {
        Some(options.clone())
    }

    fn published(run: &RunFile, name: &str) -> std::result::Result<String, fmt::Error> {
        published::text(run, name)
    }

    fn charts(run: &RunFile) -> Vec<LineChart> {
        charts::charts(run)
    }

    fn over_engines(run: &RunFile) -> Option<Sheet> {
        charts::over_engines(run)
    }
}

/// Does one thread's part of the phase with this number. Every result is checked as it comes: the
/// comparison of a property is some nanoseconds on the clock. Removals, links and unlinks are
/// checked while the clock is stopped.
fn phase(
    number: usize,
    thread: usize,
    count: u64,
    mount: &mut Mount<'_>,
    pace: &mut Pace<'_>,
) -> Result<Spans> {
    let own = own(thread);
    let record = if number <= 2 { SHARED } else { own };
    match number {
        1 | 3 => pace.span(|| (0..count).try_for_each(|at| mount.set(record, at))),
        2 | 4 => pace.span(|| (0..count).try_for_each(|at| mount.get(record, at))),
        5 => {
            // Properties that are to be removed must exist: seven of each record.
            (0..count).try_for_each(|at| mount.set(emptied(own, at), at))?;
            sample(count).try_for_each(|at| mount.get(emptied(own, at), at))?;
            pace.span(|| (0..count).try_for_each(|at| mount.remove(emptied(own, at), at)))
        }
        6 => pace.span(|| (0..count).try_for_each(|at| mount.link(own, at))),
        _ => pace.span(|| (0..count).try_for_each(|at| mount.unlink(own, at))),
    }?;
    let spans = pace.finish()?;
    match number {
        5 => sample(count).try_for_each(|at| mount.has_removed(emptied(own, at), at)),
        6 => sample(count).try_for_each(|at| mount.has_linked(own, at)),
        7 => sample(count).take(LINKS).try_for_each(|at| mount.has_unlinked(own, at)),
        _ => Ok(()),
    }?;
    Ok(spans)
}

/// The number of links that are checked after they were made and undone, in two commits.
const LINKS: usize = 64;

/// Returns the record whose property the removal with this number takes.
fn emptied(own: u64, at: u64) -> u64 {
    own + 1 + at / PROPERTIES
}

#[derive(Clone, Copy)]
struct Rules {
    insert: InsertRule,
    /// True if a delete does not return whether something was deleted.
    silent_delete: bool,
    check: bool,
}

impl Rules {
    fn of(driver: &dyn Driver) -> Self {
        let profile = driver.profile();
        Self {
            insert: profile.insert_rule,
            silent_delete: profile.delete_rule == DeleteRule::Silent,
            check: profile.keeps_data,
        }
    }
}

/// A change that is made to every volume.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Remove,
    Link,
    Unlink,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Remove => "remove",
            Self::Link => "link",
            Self::Unlink => "unlink",
        })
    }
}

/// The volumes mounted at one point, the first with the highest priority.
struct Mount<'c> {
    volumes: Vec<Mounted<'c>>,
    rules: Rules,
}

enum Mounted<'c> {
    Native(&'c mut dyn Volume),
    Records(RecordVolume<'c>),
}

impl Mounted<'_> {
    fn volume(&mut self) -> &mut dyn Volume {
        match self {
            Self::Native(volume) => *volume,
            Self::Records(volume) => volume,
        }
    }
}

impl<'c> Mount<'c> {
    fn new(connections: &'c mut [&mut dyn Connection], rules: Rules) -> Self {
        let volumes = connections.iter_mut().map(|connection| {
            // Asked twice, because a borrow that is handed out cannot be taken back.
            if connection.volume().is_some() {
                Mounted::Native(connection.volume().expect("it was there"))
            } else {
                Mounted::Records(RecordVolume::new(&mut **connection, rules.insert))
            }
        });
        Self { volumes: volumes.collect(), rules }
    }

    fn set(&mut self, record: u64, at: u64) -> Result<()> {
        let (name, value) = property(at);
        self.volumes.iter_mut().try_for_each(|mounted| mounted.volume().set(record, name, value))
    }

    /// Asks every volume, as the original does. Writes went to all of them, so each must have the
    /// value that the first one returns.
    fn get(&mut self, record: u64, at: u64) -> Result<()> {
        let (name, expected) = property(at);
        let mut right = 0;
        for mounted in &mut self.volumes {
            let mut compare = |found: Property<'_>| right += usize::from(found == expected);
            mounted.volume().get(record, name, &mut compare)?;
        }
        self.expect(right == self.volumes.len(), || {
            format!("{name} of record {record} is missing or another value")
        })
    }

    fn remove(&mut self, record: u64, at: u64) -> Result<()> {
        let (name, _) = property(at);
        self.every(Step::Remove, name, |volume| volume.remove(record, name))
    }

    fn link(&mut self, parent: u64, at: u64) -> Result<()> {
        let name = child_name(at);
        let name = name.as_str();
        self.every(Step::Link, name, |volume| volume.link(parent, name, parent + at + 1))
    }

    fn unlink(&mut self, parent: u64, at: u64) -> Result<()> {
        let name = child_name(at);
        let name = name.as_str();
        self.every(Step::Unlink, name, |volume| volume.unlink(parent, name))
    }

    /// Checks the results of all phases: what one thread wrote is there, what it removed and
    /// unlinked is not. Returns the number of answers that were compared.
    fn look_at_all(&mut self, thread: usize, options: &Options) -> Result<u64> {
        let own = own(thread);
        let mut compared = 0;
        for at in 0..options.operations.min(PROPERTIES) {
            self.get(SHARED, at)?;
            self.get(own, at)?;
            compared += 2;
        }
        for at in sample(options.operations) {
            self.has_removed(emptied(own, at), at)?;
            compared += 1;
        }
        for at in sample(options.children).take(LINKS) {
            self.has_unlinked(own, at)?;
            compared += 1;
        }
        Ok(compared)
    }

    /// Checks that no volume has a removed property.
    fn has_removed(&mut self, record: u64, at: u64) -> Result<()> {
        let (name, _) = property(at);
        let mut gone = true;
        for mounted in &mut self.volumes {
            gone &= mounted.volume().get(record, name, &mut |_| ())? == Outcome::Missing;
        }
        self.expect(gone, || format!("{name} of record {record} is still there after its removal"))
    }

    /// Checks that every volume has a link: its name is taken.
    fn has_linked(&mut self, parent: u64, at: u64) -> Result<()> {
        let name = child_name(at);
        let name = name.as_str();
        let mut taken = true;
        for mounted in &mut self.volumes {
            let outcome = mounted.volume().link(parent, name, parent + at + 1)?;
            taken &= outcome == Outcome::Duplicate;
        }
        self.expect(taken, || format!("{name} is missing after it was linked"))
    }

    /// Checks that no volume has an unlinked link: its name is free. Leaves it free.
    fn has_unlinked(&mut self, parent: u64, at: u64) -> Result<()> {
        let name = child_name(at);
        let name = name.as_str();
        let mut free = true;
        for mounted in &mut self.volumes {
            let outcome = mounted.volume().link(parent, name, parent + at + 1)?;
            free &= outcome == Outcome::Done;
        }
        self.expect(free, || format!("{name} is still linked after it was unlinked"))?;
        self.unlink(parent, at)
    }

    /// Does `work` on every volume, and checks that each did it.
    fn every(
        &mut self,
        step: Step,
        name: &str,
        mut work: impl FnMut(&mut dyn Volume) -> Result<Outcome>,
    ) -> Result<()> {
        let mut right = true;
        for mounted in &mut self.volumes {
            right &= work(mounted.volume())? == Outcome::Done;
        }
        self.expect(right || self.rules.silent_delete && step != Step::Link, || {
            format!("{step} of {name}: it was not there, or there already")
        })
    }

    fn expect(&self, right: bool, wrong: impl FnOnce() -> String) -> Result<()> {
        if right || !self.rules.check {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::WrongAnswer, wrong()))
        }
    }
}

/// A name that is stored without an allocation.
struct Name {
    bytes: [u8; 12],
    len: usize,
}

impl Name {
    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).expect("a name is ASCII")
    }
}

/// Returns the name of a child: `c0`, `c1`, …
fn child_name(at: u64) -> Name {
    let mut name = Name { bytes: [b'c'; 12], len: 1 };
    let digits = at.checked_ilog10().unwrap_or(0) + 1;
    for place in (0..digits).rev() {
        name.bytes[name.len] = b'0' + (at / 10u64.pow(place) % 10) as u8;
        name.len += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_the_published_ones() {
        let names: Vec<_> = (0..7).map(|at| property(at).0).collect();
        assert!(names.iter().all(|name| name.len() <= 12), "names of up to 12 bytes");
        assert_eq!(property(3 + 7).1, Property::U32(1 << 30));
        assert!(matches!(property(5).1, Property::Text(text) if text.len() == 256));
        assert!(matches!(property(6).1, Property::Blob(blob) if blob.len() == 1024));
    }

    #[test]
    fn children_have_names_of_their_own() {
        let names: Vec<_> = [0, 9, 10, 999].map(|at| child_name(at).as_str().to_string()).into();
        assert_eq!(names, ["c0", "c9", "c10", "c999"]);
    }
}

//! The meaning of a workload: its records, its operations and how skewed they are, found by
//! computing them.

use std::collections::HashMap;
use std::fmt::{self, Write};

use assay_core::latency::Rates;
use assay_core::random::mix;
use assay_driver::Durability;

use super::course::Course;
use super::model::{Model, Start};
use super::sizes::Sizes;
use super::spec::{ColumnKind, Key, KeyType, Kind, Made, Phase, Spec, Task, Until};
use super::tape::Tape;

/// The most operations of a phase that are computed, and the most records among which they choose.
const OPERATIONS: u64 = 200_000;
const RECORDS: u64 = 4_000_000;

/// The draws of a picture of sizes, and the places of a picture.
const DRAWS: u64 = 20_000;
const PLACES: usize = 32;

/// The shares of records whose share of the operations is printed.
const HOTTEST: [f64; 2] = [0.01, 0.1];

/// Returns what a workload means, in lines.
///
/// # Errors
/// None: text can be written to memory.
pub fn text(spec: &Spec) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let records = &spec.records;
    let mean = records.value.mean();
    writeln!(out, "{}", spec.title)?;
    writeln!(out, "  survives     {}", survives(spec.survives))?;
    writeln!(
        out,
        "  records      {} with {} of values, in {} order{}",
        records.count,
        bytes(records.count as f64 * mean),
        if records.in_order { "ascending" } else { "random" },
        if records.bulk { ", in one transaction" } else { "" }
    )?;
    writeln!(out, "  keys         {}", key(&records.key))?;
    writeln!(out, "  value bytes  {}", sizes(&records.value))?;
    if records.compressible > 0.0 {
        writeln!(out, "               {:.0} % of them repeat", 100.0 * records.compressible)?;
    }
    for column in &records.columns {
        let kind = column_kind(column.kind);
        let values = column.distinct.min(records.count.max(1));
        writeln!(
            out,
            "  column       {}: {kind}, {}, {} of each{}",
            column.name,
            counted(values, "value"),
            counted(records.count.div_ceil(column.distinct), "record"),
            if column.is_indexed { ", indexed" } else { "" }
        )?;
    }
    let mut model = Model::loaded(records.count.min(RECORDS));
    for phase in &spec.phases {
        let end = match phase.until {
            Until::Operations(count) => format!("{count} operations"),
            Until::Seconds(seconds) => format!("{seconds} s"),
            Until::Steady { window, limit } => {
                format!("until windows of {window} s are steady, for {limit} s at most")
            }
            Until::Half { looks } => {
                format!("deletes half of the records, and looks at the space for {looks} s")
            }
        };
        if phase.task == Task::Reopen {
            writeln!(out, "\n{}: closes the store and opens it again", phase.name)?;
            continue;
        }
        if phase.task == Task::Recover {
            let name = &phase.name;
            let what = "in which the process is killed; another one opens the store";
            writeln!(out, "\n{name}: updates records for {end}, {what}")?;
            continue;
        }
        let phase = &phase.one_window(model.live());
        let threads: Vec<_> = phase.threads.iter().map(ToString::to_string).collect();
        writeln!(out, "\n{}: {end}, threads {}", phase.name, threads.join(", "))?;
        writeln!(out, "  mix          {}", shares(phase))?;
        reads(&mut out, spec, phase)?;
        if phase.together > 1 {
            writeln!(out, "  transaction  {} operations", phase.together)?;
        }
        if let Some(rates) = &phase.rates {
            let steps = rates.steps().map(|(seconds, rate)| format!("{rate} for {seconds} s"));
            let steps: Vec<_> = steps.collect();
            let rates = match steps.len() {
                1 => rates.mean().to_string(),
                _ => format!("{}, and on", steps.join(", ")),
            };
            writeln!(out, "  rate         {rates} operations a second, at random")?;
        }
        if let Some(behind) = phase.behind() {
            let rate = behind.rates.as_ref().map_or(0, Rates::mean);
            writeln!(out, "  background   {}, {rate} operations a second", shares(&behind))?;
            reads(&mut out, spec, &behind)?;
        }
        let seen;
        (model, seen) = computed(phase, model);
        writeln!(out, "  touches      {}", seen.in_words())?;
        if let Some(skew) = seen.skew() {
            writeln!(out, "  skew         {skew}")?;
            writeln!(out, "               {} hottest to coldest", seen.picture())?;
        }
        writeln!(out, "  writes       {}", bytes(seen.writes as f64 * mean))?;
        writeln!(out, "  leaves       {} records", model.live())?;
    }
    Ok(out)
}

/// Writes what the scans and finds of a phase, or of its background, read.
fn reads(out: &mut String, spec: &Spec, phase: &Phase) -> fmt::Result {
    if phase.has(Kind::Scan) {
        let columns = phase.scanned_columns.as_ref().map_or_else(String::new, |places| {
            let named = &spec.records.columns;
            let name = |place: &usize| named.get(*place).map_or("value", |column| &column.name);
            let names: Vec<_> = ["key"].into_iter().chain(places.iter().map(name)).collect();
            format!(", {}", names.join(", "))
        });
        writeln!(out, "  scan rows    {}{columns}", sizes(&phase.scanned))?;
    }
    match spec.found_by(phase) {
        Some(column) => writeln!(out, "  finds by     {}", column.name),
        None => Ok(()),
    }
}

fn survives(level: Option<Durability>) -> &'static str {
    match level {
        None => "as --durability says",
        Some(Durability::None) => "nothing: level none",
        Some(Durability::Process) => "a killed process: level process",
        Some(Durability::Periodic) => "a power cut but for the last moment: level periodic",
        Some(Durability::Commit) => "a power cut: level commit",
    }
}

fn key(key: &Key) -> String {
    let kind = match key.kind {
        KeyType::U64 => "u64".to_string(),
        KeyType::Text(size) => format!("text of {size} bytes"),
        KeyType::Bytes(size) => format!("{size} bytes"),
    };
    let made = match key.made {
        Made::Dense => "0, 1, 2, …",
        Made::Sparse => "ascending with gaps",
        Made::Hashed => "spread over the whole range",
        Made::Time => "ascending moments",
    };
    let leading = key.leading.iter().map(|column| {
        format!(
            "{} ({}, {}), ",
            column.name,
            column_kind(column.kind),
            counted(column.distinct, "value")
        )
    });
    format!("{}{kind}, {made}", leading.collect::<String>())
}

fn column_kind(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::U32 => "u32".to_string(),
        ColumnKind::U64 => "u64".to_string(),
        ColumnKind::Text(size) => format!("text of {size} bytes"),
    }
}

fn shares(phase: &Phase) -> String {
    let kinds = Kind::ALL.into_iter().filter(|kind| phase.has(*kind));
    let parts: Vec<_> = kinds
        .map(|kind| format!("{} {:.3} %", kind.name(), 100.0 * phase.mix[kind as usize]))
        .map(|part| part.replace(".000 %", " %"))
        .collect();
    parts.join(", ")
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn bytes(count: f64) -> String {
    match count {
        count if count < 1e3 => format!("{count:.0} B"),
        count if count < 1e6 => format!("{:.1} kB", count / 1e3),
        count if count < 1e9 => format!("{:.1} MB", count / 1e6),
        count => format!("{:.1} GB", count / 1e9),
    }
}

/// Returns quantiles of sizes, with a picture of how many have which, on a logarithmic scale.
fn sizes(of: &Sizes) -> String {
    if of.is_constant() {
        return format!("{}", of.most());
    }
    let mut drawn: Vec<_> = (0..DRAWS).map(|at| of.of(mix(1, at))).collect();
    drawn.sort_unstable();
    let at = |share: f64| drawn[((DRAWS - 1) as f64 * share) as usize];
    let least = (of.least().max(1) as f64).ln();
    let most = (of.most() as f64).ln();
    let mut counts = [0.0; PLACES];
    for size in &drawn {
        let share = ((*size as f64).ln() - least) / (most - least);
        counts[((share * PLACES as f64) as usize).min(PLACES - 1)] += 1.0;
    }
    format!(
        "p50 {}, p99 {}, mean {:.0}; {} {} {}",
        at(0.5),
        at(0.99),
        of.mean(),
        of.least(),
        bars(&counts),
        of.most()
    )
}

/// Returns a bar for each value.
fn bars(values: &[f64]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let bar = |value: &f64| match *value {
        0.0 => BARS[0],
        value => BARS[((value / most * 8.0).ceil() as usize).clamp(1, 8)],
    };
    values.iter().map(bar).collect()
}

/// The operations of a phase that were computed.
struct Seen {
    operations: u64,
    of: Option<u64>,
    /// Operations that write a value.
    writes: u64,
    /// The number of choices of each record, the highest first.
    counts: Vec<u64>,
}

/// Computes the operations of a phase by one thread.
fn computed(phase: &Phase, model: Model) -> (Model, Seen) {
    let start = Start::of(&model);
    let of = match phase.until {
        Until::Operations(count) => Some(count),
        _ => None,
    };
    let operations = of.unwrap_or(OPERATIONS).min(OPERATIONS);
    let mut lanes = model.lanes(1);
    // What is done in the background is said apart.
    let phase = &Phase { background: None, ..phase.clone() };
    let course = Course::new(phase, 1, 1, start.rows);
    let tape = Tape::new(phase, &course, &start, 0);
    let mut counts = HashMap::<u64, u64>::new();
    let mut writes = 0;
    for position in 0..operations {
        let operation = tape.next(position, &mut lanes[0], &start);
        writes += u64::from(operation.after.is_some() && operation.kind != Kind::Delete);
        if !matches!(operation.kind, Kind::Insert | Kind::Missing) {
            *counts.entry(operation.row).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let model = Model::of_lanes(&lanes.iter().collect::<Vec<_>>());
    (model, Seen { operations, of, writes, counts })
}

impl Seen {
    fn in_words(&self) -> String {
        let which = match self.of {
            Some(all) if all == self.operations => String::new(),
            _ => format!(", in its first {} operations", self.operations),
        };
        format!("{} records that are there{which}", self.counts.len())
    }

    fn share_of(&self, first: usize) -> f64 {
        let all: u64 = self.counts.iter().sum();
        self.counts[..first].iter().sum::<u64>() as f64 / all.max(1) as f64
    }

    /// Returns the shares of the operations that the records have that are chosen most often.
    fn skew(&self) -> Option<String> {
        let first = self.counts.first()?;
        let hottest = HOTTEST.map(|share| {
            let count = ((self.counts.len() as f64 * share) as usize).max(1);
            format!("{:.0} % have {:.1} %", 100.0 * share, 100.0 * self.share_of(count))
        });
        let one = 100.0 * *first as f64 / self.counts.iter().sum::<u64>() as f64;
        Some(format!("of these, one has {one:.2} % of the operations, {}", hottest.join(", ")))
    }

    /// Returns a picture of how often records are chosen, by equal parts of those that are.
    fn picture(&self) -> String {
        let places = PLACES.min(self.counts.len());
        let parts = (0..places).map(|at| {
            let from = at * self.counts.len() / places;
            let to = (at + 1) * self.counts.len() / places;
            self.counts[from..to].iter().sum::<u64>() as f64 / (to - from) as f64
        });
        bars(&parts.collect::<Vec<_>>())
    }
}

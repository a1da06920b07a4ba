//! The standing of engines in each suite and storage mode: the geometric mean of (10 ns + time) ÷
//! (10 ns + best time) over the cells of an engine. The page of a suite ranks them by it, too.

use std::collections::{BTreeMap, BTreeSet};

use assay_driver::Storage;

use crate::blocks::Distinct;
use crate::html::data::PageData;
use crate::html::lines::{LineData, MarkData};
use crate::marks::{Marked, of_most};

/// Nanoseconds added to both times: a smaller difference may be due to the instrument.
const FLOOR_NS: f64 = 10.0;

/// A suite, storage mode and level over which engines are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Column {
    pub suite: String,
    /// The index of the storage mode.
    place: Option<usize>,
    pub storage: String,
    /// The durability level that was asked for.
    pub level: String,
}

/// The standing of an engine in a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Score {
    /// The engine's time relative to the best of each cell, as the geometric mean.
    pub value: f64,
    /// The number of cells with the engine's time.
    pub cells: usize,
    /// The number of all cells.
    pub of: usize,
    /// The marks of at least one of its lines, or of most of its figures.
    pub marks: Vec<Marked>,
}

/// Engines and columns, of the runs on one machine.
#[derive(Debug)]
pub(super) struct Standing {
    pub columns: Vec<Column>,
    /// The engines, best first.
    pub engines: Vec<Entry>,
}

/// An engine, with a score for each column that it has figures in.
#[derive(Debug)]
pub(super) struct Entry {
    pub engine: String,
    /// True if the engine is by the authors of this instrument.
    pub is_own: bool,
    pub scores: Vec<Option<Score>>,
}

/// A cell: an operation of a workload, with the time of each engine in nanoseconds.
type Cells<'d> = BTreeMap<CellKey<'d>, BTreeMap<&'d str, Newest<'d>>>;
type CellKey<'d> = (&'d str, u64, u32, bool, &'d str);

/// The time of the newest run.
struct Newest<'d> {
    run: usize,
    ns: f64,
    of_line: &'d [MarkData],
    of_figure: &'d [MarkData],
}

impl Standing {
    /// Compares the lines for which `is_here` holds; of several runs with the same cell the later
    /// one counts.
    pub(super) fn of(data: &PageData, is_here: impl Fn(&LineData) -> bool) -> Self {
        let mut columns: BTreeMap<Column, Cells<'_>> = BTreeMap::new();
        for line in data.lines.iter().filter(|line| is_here(line)) {
            let column = Column {
                suite: line.suite.clone(),
                place: Storage::ALL.iter().position(|mode| mode.to_string() == line.storage),
                storage: line.storage.clone(),
                level: line.wanted.clone(),
            };
            let cells = columns.entry(column).or_default();
            add(cells, line, &data.engines[line.engine].of_any_keys);
        }
        columns.retain(|_, cells| !cells.is_empty());
        let scores: Vec<_> = columns.values().map(|cells| scores(cells, data)).collect();
        let engines: BTreeSet<&str> = scores.iter().flat_map(|of| of.keys().copied()).collect();
        let engines = engines.into_iter().map(|engine| {
            let is_own = data.engines.iter().any(|one| one.of_any_keys == engine && one.is_own);
            let scores = scores.iter().map(|of| of.get(engine).cloned()).collect();
            Entry { engine: engine.to_string(), is_own, scores }
        });
        Self { columns: columns.into_keys().collect(), engines: placed(engines.collect()) }
    }
}

fn add<'d>(cells: &mut Cells<'d>, line: &'d LineData, engine: &'d str) {
    for phase in &line.phases {
        let Some(rate) = phase.rate.filter(|rate| *rate > 0.0) else { continue };
        let key = (line.work.as_str(), line.rows, line.threads, line.is_cold, phase.name.as_str());
        let of_line = line.marks.as_slice();
        let of_figure = phase.marks.as_slice();
        let newest = Newest { run: line.run, ns: 1e9 / rate, of_line, of_figure };
        let of_engine = cells.entry(key).or_default().entry(engine);
        // Within one run, the kind of keys with the faster time counts.
        let counts = |before: &Newest<'_>| {
            before.run < newest.run || (before.run == newest.run && newest.ns < before.ns)
        };
        match of_engine {
            std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(newest)),
            std::collections::btree_map::Entry::Occupied(mut place) => {
                if counts(place.get()) {
                    place.insert(newest);
                }
            }
        }
    }
}

fn scores<'d>(cells: &Cells<'d>, data: &PageData) -> BTreeMap<&'d str, Score> {
    let mut all: BTreeMap<&str, Vec<(f64, &Newest<'d>)>> = BTreeMap::new();
    for of_engine in cells.values() {
        let best = of_engine.values().map(|newest| newest.ns).fold(f64::INFINITY, f64::min);
        for (engine, newest) in of_engine {
            let ratio = (FLOOR_NS + newest.ns) / (FLOOR_NS + best);
            all.entry(engine).or_default().push((ratio.ln(), newest));
        }
    }
    let marks = |own: &[(f64, &Newest<'d>)]| {
        let words =
            |marks: &[MarkData]| marks.iter().map(|mark| data.marked(*mark)).collect::<Vec<_>>();
        let mut found = Distinct::default();
        let of_lines = own.iter().flat_map(|(_, newest)| words(newest.of_line));
        of_lines.for_each(|marked| found.add(marked));
        let of_figures: Vec<Vec<_>> =
            own.iter().map(|(_, newest)| words(newest.of_figure)).collect();
        of_most(&of_figures).into_iter().for_each(|marked| found.add(marked));
        found.in_order
    };
    let score = |own: Vec<(f64, &Newest<'d>)>| Score {
        value: mean(own.iter().map(|(logarithm, _)| *logarithm)).exp(),
        cells: own.len(),
        of: cells.len(),
        marks: marks(&own),
    };
    all.into_iter().map(|(engine, own)| (engine, score(own))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}

/// Returns the engines in their order. An engine that lacks columns, or cells of one, gains nothing
/// by that: it is placed below each that is faster over the columns that both have.
fn placed(mut engines: Vec<Entry>) -> Vec<Entry> {
    let own = |entry: &Entry| mean(entry.scores.iter().flatten().map(|score| score.value.ln()));
    let is_whole = |entry: &Entry| {
        entry.scores.iter().all(|score| score.as_ref().is_some_and(|of| of.cells == of.of))
    };
    engines.sort_by(|a, b| own(a).total_cmp(&own(b)).then_with(|| a.engine.cmp(&b.engine)));
    let (mut order, short): (Vec<_>, Vec<_>) = engines.into_iter().partition(is_whole);
    for entry in short {
        let is_faster = |other: &Entry| {
            let pairs = other.scores.iter().zip(&entry.scores);
            let both = pairs.filter_map(|(a, b)| Some((a.as_ref()?, b.as_ref()?)));
            let both: Vec<_> = both.map(|(a, b)| (a.value.ln(), b.value.ln())).collect();
            let over_both = |of: fn(&(f64, f64)) -> f64| mean(both.iter().map(of));
            let is_over_both = !both.is_empty() && over_both(|p| p.0) < over_both(|p| p.1);
            own(other) < own(&entry) || is_over_both
        };
        let at = order.iter().rposition(is_faster).map_or(0, |last| last + 1);
        order.insert(at, entry);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, values: [f64; 3]) -> Entry {
        let whole = |value| Score { value, cells: 2, of: 2, marks: Vec::new() };
        let score = |value: f64| (value > 0.0).then(|| whole(value));
        Entry { engine: name.into(), is_own: false, scores: values.map(score).to_vec() }
    }

    fn order(entries: Vec<Entry>) -> Vec<String> {
        placed(entries).into_iter().map(|entry| entry.engine).collect()
    }

    #[test]
    fn an_engine_gains_nothing_by_what_it_lacks() {
        // `some` was measured in a column with equal engines, and is slower there than `all`.
        let entries = vec![
            entry("some", [1.2, 0.0, 0.0]),
            entry("slow", [9.0, 9.0, 9.0]),
            entry("all", [1.0, 4.0, 4.0]),
        ];
        assert_eq!(order(entries), ["all", "some", "slow"]);
    }

    #[test]
    fn engines_without_gaps_stand_by_their_means() {
        let entries = vec![
            entry("b", [2.0, 1.0, 1.0]),
            entry("c", [2.0, 2.0, 1.0]),
            entry("a", [1.0, 1.0, 1.0]),
        ];
        assert_eq!(order(entries), ["a", "b", "c"]);
    }
}

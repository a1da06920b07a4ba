//! How engines stand in each suite and storage mode: the geometric mean of
//! (10 ns + time) ÷ (10 ns + best time) over the cells that an engine has, as the page of a suite
//! ranks them.

use std::collections::{BTreeMap, BTreeSet};

use assay_driver::Storage;

use crate::html::data::PageData;
use crate::html::lines::LineData;

/// Added to both times: below that, a difference is of the instrument too.
const FLOOR_NS: f64 = 10.0;

/// What engines are compared over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Column {
    pub suite: String,
    /// Its place among the storage modes.
    place: Option<usize>,
    pub storage: String,
    /// The durability level that was asked for.
    pub level: String,
}

/// How an engine stands in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// How many times as long it takes as the best of each cell.
    pub value: f64,
    /// Over how many cells.
    pub cells: usize,
    /// How many cells there are.
    pub of: usize,
}

/// Engines and columns, of the runs on one machine.
#[derive(Debug)]
pub(super) struct Standing {
    pub columns: Vec<Column>,
    /// The engines, best first, with a score for each column that they have figures in.
    pub engines: Vec<(String, Vec<Option<Score>>)>,
}

/// A cell: an operation of a workload, with the time of each engine in nanoseconds.
type Cells<'d> = BTreeMap<CellKey<'d>, BTreeMap<&'d str, Newest>>;
type CellKey<'d> = (&'d str, u64, u32, bool, &'d str);

/// The time of the newest run.
struct Newest {
    run: usize,
    ns: f64,
}

impl Standing {
    /// Of the runs for which `is_here` holds; of several runs with the same cell the later counts.
    pub(super) fn of(data: &PageData, is_here: impl Fn(usize) -> bool) -> Self {
        let mut columns: BTreeMap<Column, Cells<'_>> = BTreeMap::new();
        for line in data.lines.iter().filter(|line| is_here(line.run)) {
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
        let scores: Vec<_> = columns.values().map(scores).collect();
        let engines: BTreeSet<&str> = scores.iter().flat_map(|of| of.keys().copied()).collect();
        let engines = engines.into_iter().map(|engine| {
            let own = scores.iter().map(|of| of.get(engine).copied()).collect();
            (engine.to_string(), own)
        });
        Self { columns: columns.into_keys().collect(), engines: placed(engines.collect()) }
    }
}

fn add<'d>(cells: &mut Cells<'d>, line: &'d LineData, engine: &'d str) {
    for phase in &line.phases {
        let Some(rate) = phase.rate.filter(|rate| *rate > 0.0) else { continue };
        let key = (line.work.as_str(), line.rows, line.threads, line.is_cold, phase.name.as_str());
        let newest = Newest { run: line.run, ns: 1e9 / rate };
        let of_engine = cells.entry(key).or_default().entry(engine);
        // Of one run, keys of the kind with which it is faster.
        let counts = |before: &Newest| {
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

fn scores<'d>(cells: &Cells<'d>) -> BTreeMap<&'d str, Score> {
    let mut logarithms: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for of_engine in cells.values() {
        let best = of_engine.values().map(|newest| newest.ns).fold(f64::INFINITY, f64::min);
        for (engine, Newest { ns, .. }) in of_engine {
            let ratio = (FLOOR_NS + ns) / (FLOOR_NS + best);
            logarithms.entry(engine).or_default().push(ratio.ln());
        }
    }
    let score = |own: Vec<f64>| Score {
        value: mean(own.iter().copied()).exp(),
        cells: own.len(),
        of: cells.len(),
    };
    logarithms.into_iter().map(|(engine, own)| (engine, score(own))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}

type Entry = (String, Vec<Option<Score>>);

/// The engines in their order. An engine that lacks columns, or cells of one, gains nothing by
/// that: it stands below each that is faster over the columns that both have.
fn placed(mut engines: Vec<Entry>) -> Vec<Entry> {
    let own = |(_, scores): &Entry| mean(scores.iter().flatten().map(|score| score.value.ln()));
    let is_whole = |(_, scores): &Entry| {
        scores.iter().all(|score| score.is_some_and(|score| score.cells == score.of))
    };
    engines.sort_by(|a, b| own(a).total_cmp(&own(b)).then_with(|| a.0.cmp(&b.0)));
    let (mut order, short): (Vec<_>, Vec<_>) = engines.into_iter().partition(is_whole);
    for entry in short {
        let is_faster = |other: &Entry| {
            let both = || other.1.iter().zip(&entry.1).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
            let over = |of: fn((Score, Score)) -> Score| mean(both().map(|p| of(p).value.ln()));
            let is_over_both = both().count() > 0 && over(|pair| pair.0) < over(|pair| pair.1);
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
        let score = |value: f64| (value > 0.0).then_some(Score { value, cells: 2, of: 2 });
        (name.into(), values.map(score).to_vec())
    }

    fn order(entries: Vec<Entry>) -> Vec<String> {
        placed(entries).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn an_engine_gains_nothing_by_what_it_lacks() {
        // `some` was measured where all are alike, and is slower there than `all`.
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

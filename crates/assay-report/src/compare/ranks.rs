//! The order of engines in two runs, of different work perhaps: how far a choice by one of them is
//! a choice by the other.

use std::collections::BTreeMap;
use std::fmt::Write;

use assay_core::run_file::{CellResult, NotOffered, RunFile};
use assay_core::stats::median;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use crate::blocks::{FILLING, blocks};
use crate::format::quantity;
use crate::rows::plain_markdown;
use crate::table::grid::paragraph;

/// Engines as two runs rank them by throughput.
#[derive(Debug)]
pub struct Ranks {
    /// The engines that both runs measured, in the base's order, which is from the fastest on.
    pub engines: Vec<Ranked>,
    /// Engines without a throughput in one of the runs, with the reason: each a sentence.
    pub not_ranked: Vec<String>,
}

/// An engine's throughput and rank in two runs.
#[derive(Debug)]
pub struct Ranked {
    /// The engine, with the kind of its keys.
    pub engine: String,
    /// Operations a second in the base, over all phases but the filling of the store.
    pub base: f64,
    /// Operations a second in the other run.
    pub new: f64,
    /// The rank in the base, from 1 on.
    pub base_rank: usize,
    /// The rank in the other run.
    pub new_rank: usize,
}

/// Ranks engines by two runs.
///
/// # Errors
/// A sentence, if a run has more than one kind of work, or fewer than two engines are in both.
pub fn ranks(base: &RunFile, new: &RunFile) -> Result<Ranks, String> {
    let of_base = rates(Place::First, base)?;
    let of_new = rates(Place::Second, new)?;
    let mut not_ranked = Vec::new();
    let mut both = Vec::new();
    for (engine, base) in &of_base {
        match (base, of_new.get(engine)) {
            (Ok(base), Some(Ok(new))) => both.push((engine, *base, *new)),
            (Err(why), _) => not_ranked.push(format!("{engine}: in the first run {why}")),
            (_, Some(Err(why))) => not_ranked.push(format!("{engine}: in the second run {why}")),
            (_, None) => not_ranked.push(format!("{engine} is in the first run only")),
        }
    }
    let lone = of_new.keys().filter(|engine| !of_base.contains_key(*engine));
    not_ranked.extend(lone.map(|engine| format!("{engine} is in the second run only")));
    both.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    let ranked = both.iter().map(|(engine, base, new)| Ranked {
        engine: (*engine).clone(),
        base: *base,
        new: *new,
        base_rank: 1 + both.iter().filter(|(_, other, _)| other > base).count(),
        new_rank: 1 + both.iter().filter(|(_, _, other)| other > new).count(),
    });
    let engines: Vec<_> = ranked.collect();
    if engines.len() < 2 {
        let first = not_ranked.first().map_or_else(String::new, |why| format!("; {why}"));
        return Err(format!("fewer than two engines have a throughput in both runs{first}"));
    }
    Ok(Ranks { engines, not_ranked })
}

/// One of the two runs.
#[derive(Clone, Copy)]
enum Place {
    First,
    Second,
}

/// Returns each engine of a run with its operations a second, or why it has none.
fn rates(place: Place, run: &RunFile) -> Result<BTreeMap<String, Result<f64, String>>, String> {
    let named = match place {
        Place::First => "the first run",
        Place::Second => "the second run",
    };
    let blocks = blocks(run);
    let [block] = &blocks[..] else {
        return Err(format!(
            "{named} has {} kinds of work, and ranks are those of one; measure one workload in one \
             storage mode",
            blocks.len()
        ));
    };
    let mut rates = BTreeMap::new();
    for line in &block.lines {
        let cell = line.cell();
        let name = format!("{} {}", cell.engine, cell.key_kind);
        let of_trials: Result<Vec<_>, _> = line.trials.iter().map(|trial| rate_of(trial)).collect();
        let rate = of_trials.map(|rates| median(&rates).unwrap_or_default());
        if rates.insert(name.clone(), rate).is_some() {
            return Err(format!(
                "{named} has {name} more than once, by other threads, settings or levels; measure \
                 it one way"
            ));
        }
    }
    Ok(rates)
}

/// Returns the operations a second of a trial, over all phases but the filling of the store, or why
/// it has none.
fn rate_of(trial: &CellResult) -> Result<f64, String> {
    if let Some(why) = trial.status.reason() {
        return Err(why.into());
    }
    if let Some(NotOffered { phase, why }) = trial.measurement.not_offered.first() {
        return Err(format!("it left {phase} out: {why}"));
    }
    let phases = trial.measurement.phases.iter().filter(|phase| phase.name != FILLING);
    let rounds: Vec<_> = phases.flat_map(|phase| &phase.rounds).collect();
    let operations: f64 = rounds.iter().map(|round| round.operations as f64).sum();
    let time_ns: f64 = rounds.iter().map(|round| round.time_ns as f64).sum();
    if time_ns > 0.0 { Ok(operations * 1e9 / time_ns) } else { Err("it took no time".into()) }
}

impl Ranks {
    /// Returns the number of pairs of engines, and of those that both runs have in one order.
    pub fn pairs(&self) -> (usize, usize) {
        let count = self.engines.len();
        (count * (count - 1) / 2, self.balance(|product| product > 0.0))
    }

    /// Returns Kendall's τ, from -1 for opposite orders to 1 for one order (M. G. Kendall, "A New
    /// Measure of Rank Correlation", Biometrika 1938).
    pub fn tau(&self) -> f64 {
        let (all, alike) = self.pairs();
        let opposite = self.balance(|product| product < 0.0);
        (alike as f64 - opposite as f64) / all as f64
    }

    /// Counts pairs of engines by the product of their differences in both runs.
    fn balance(&self, is_counted: impl Fn(f64) -> bool) -> usize {
        let of = |(at, a): (usize, &Ranked)| {
            let later = &self.engines[at + 1..];
            later.iter().filter(|b| is_counted((a.base - b.base) * (a.new - b.new))).count()
        };
        self.engines.iter().enumerate().map(of).sum()
    }

    fn sentences(&self) -> Vec<String> {
        let (all, alike) = self.pairs();
        let mut sentences = vec![
            format!(
                "Kendall's τ {:.2}: both runs have {alike} of {all} pairs in one order",
                self.tau()
            ),
            "operations/s over all phases but load, median over trials".into(),
        ];
        sentences.extend(self.not_ranked.iter().map(|sentence| format!("not ranked: {sentence}")));
        sentences
    }

    /// Returns the ranks as a table; sentences have at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(HEADS);
        for it in &self.engines {
            table.add_row(cells(it));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut out = String::from("\n");
        for line in table.lines() {
            out += line.trim_end();
            out.push('\n');
        }
        out.push('\n');
        for sentence in self.sentences() {
            paragraph(&mut out, &[sentence], "", width);
        }
        out
    }

    /// Returns the ranks as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("| {} |\n|---|---:|---:|---:|---:|\n", HEADS.join(" | "));
        for it in &self.engines {
            let _ =
                writeln!(out, "| {} |", cells(it).map(|cell| plain_markdown(&cell)).join(" | "));
        }
        out.push('\n');
        for sentence in self.sentences() {
            let _ = writeln!(out, "- {}", plain_markdown(&sentence));
        }
        out
    }

    /// Returns the ranks as JSON.
    pub fn json(&self) -> String {
        let (pairs, alike) = self.pairs();
        let engine = |it: &Ranked| {
            json!({
                "engine": it.engine,
                "base": { "rate": it.base, "rank": it.base_rank },
                "new": { "rate": it.new, "rank": it.new_rank },
            })
        };
        let value = json!({
            "format": "assay-ranks",
            "schema_version": SCHEMA_VERSION,
            "tau": self.tau(),
            "pairs": pairs,
            "pairs_in_one_order": alike,
            "engines": self.engines.iter().map(engine).collect::<Vec<_>>(),
            "not_ranked": self.not_ranked,
        });
        format!("{value:#}\n")
    }
}

/// The version of the format in JSON.
const SCHEMA_VERSION: u32 = 1;

const HEADS: [&str; 5] = ["engine", "base/s", "rank", "new/s", "rank"];

fn cells(it: &Ranked) -> [String; 5] {
    let Ranked { engine, base, new, base_rank, new_rank } = it;
    [engine.clone(), quantity(*base), base_rank.to_string(), quantity(*new), new_rank.to_string()]
}

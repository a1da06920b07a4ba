//! The words and figures of a conclusion, which all views share.

use assay_core::advice::{Advice, Facts, Rank};
use assay_core::estimate::{Bounds, TRIALS_LEAST};
use assay_core::run_file::RunFile;
use assay_driver::{Durability, binary_size};
use serde::Serialize;

use super::{ALIKE, Found, Place, Verdict, verdict};
use crate::format::{bytes, duration_ns, percent, quantity};

/// A conclusion in words.
#[derive(Debug, Serialize)]
pub(crate) struct Sheet {
    /// The question, in parts.
    pub(crate) question: Vec<String>,
    /// The heads of the columns: the place, the engine, figures.
    pub(crate) heads: Vec<&'static str>,
    /// A row for each engine that qualifies, best first.
    pub(crate) rows: Vec<Vec<String>>,
    /// The meaning of the table, a sentence each.
    pub(crate) sentences: Vec<String>,
    /// The facts about each engine that qualifies, in parts.
    pub(crate) facts: Vec<Vec<String>>,
    /// The engines that do not qualify, each with the reason.
    pub(crate) out: Vec<String>,
}

/// The heads after the figure by which engines are ranked.
const HEADS: [&str; 5] = ["processors", "memory", "disk", "p99.9", "operations/s"];

/// The heads of the cost.
const COST: [&str; 2] = ["cost", "95 %"];

impl Sheet {
    /// Returns the conclusion of a run; none if the run answers no question.
    pub(crate) fn of(run: &RunFile) -> Option<Self> {
        let advice = run.advice.as_ref()?;
        let verdict = verdict(run)?;
        let costs: &[_] = if advice.rank == Rank::Cost { &COST } else { &[] };
        let heads = ["", "engine"].into_iter().chain(costs.iter().copied()).chain(HEADS);
        Some(Self {
            question: question(run, advice),
            heads: heads.collect(),
            rows: verdict.ranked.iter().map(|place| row(advice, place)).collect(),
            sentences: sentences(advice, &verdict),
            facts: verdict.ranked.iter().map(|place| facts(advice, place)).collect(),
            out: verdict.out.iter().map(|out| format!("{}: {}", out.engine, out.why)).collect(),
        })
    }
}

/// Returns the row of an engine.
fn row(advice: &Advice, place: &Place) -> Vec<String> {
    let rank = format!("{}{}", place.rank, if place.is_shared { "=" } else { "" });
    let mut row = vec![rank, place.engine.clone()];
    if advice.rank == Rank::Cost {
        let interval = place.ranked.interval();
        row.push(small(place.ranked.value));
        row.push(
            interval.map_or_else(dash, |bounds| {
                format!("{}–{}", small(bounds.low), small(bounds.high))
            }),
        );
    }
    let figures = &place.figures;
    let rest = [
        figures.processors(advice).map(small),
        figures.memory_bytes.map(|found| bytes(found as u64)),
        figures.disk_bytes.map(|found| bytes(found as u64)),
        figures.p999_ns.map(|ns| duration_ns(ns as u64)),
        figures.throughput.map(quantity),
    ];
    row.extend(rest.map(|text| text.unwrap_or_else(dash)));
    row
}

/// Returns what was asked.
fn question(run: &RunFile, advice: &Advice) -> Vec<String> {
    let mut parts = vec![format!("Advice for {}", advice.title)];
    if let Some(cell) = run.results().next().map(|result| &result.cell) {
        parts.push(format!("on {}", cell.storage));
        parts.push(survives(cell.durability_wanted).into());
        parts.push(match cell.threads {
            1 => "1 thread".into(),
            threads => format!("{threads} threads"),
        });
    }
    if let Some(rate) = advice.rate_per_second {
        parts.push(format!("{} operations a second", quantity(rate)));
    }
    parts.extend(advice.isolation.as_ref().map(|level| format!("{level} transactions")));
    parts.extend(advice.language.as_ref().map(|language| format!("a program in {language}")));
    let limits = &advice.limits;
    let at_most = |what: &str, bytes: u64| format!("{what} at most {}", binary_size(bytes));
    parts.extend(limits.memory_bytes.map(|bytes| at_most("memory", bytes)));
    parts.extend(limits.disk_bytes.map(|bytes| at_most("disk", bytes)));
    parts.extend(limits.p999_ns.map(|ns| format!("p99.9 at most {}", duration_ns(ns))));
    parts
}

fn survives(level: Durability) -> &'static str {
    match level {
        Durability::None => "nothing has to survive",
        Durability::Process => "survives a killed process",
        Durability::Periodic => "survives a power cut but for the last moment",
        Durability::Commit => "survives a power cut",
    }
}

/// Returns the name of the quantity by which engines are ranked.
fn ranked_by(rank: Rank) -> &'static str {
    match rank {
        Rank::Cost => "cost",
        Rank::Throughput => "throughput",
        Rank::Latency => "p99.9",
        Rank::Memory => "memory",
        Rank::Disk => "disk",
    }
}

fn dash() -> String {
    "–".into()
}

/// Returns a number of processors.
fn small(processors: f64) -> String {
    match processors {
        many if many >= 9.995 => format!("{many:.1}"),
        some if some >= 0.0995 => format!("{some:.2}"),
        few => format!("{few:.4}"),
    }
}

/// Returns what the table means, a sentence a line.
fn sentences(advice: &Advice, verdict: &Verdict) -> Vec<String> {
    let mut said = Vec::new();
    // An engine with a later place was told from the best by a test.
    let is_tested =
        |place: &Place| place.rank > 1 || place.to_best.is_some_and(|s| s.ratio.test.is_some());
    let is_compared = verdict.ranked.iter().any(|place| place.to_best.is_some());
    if is_compared && !verdict.ranked.iter().any(is_tested) {
        said.push(format!(
            "no engine has the {TRIALS_LEAST} trials that can tell it from another, so the order \
             is a guess; more time gives more trials"
        ));
    } else {
        for best in verdict.ranked.iter().filter(|place| place.to_best.is_none()) {
            said.extend(shared(advice, verdict, best, Found::Alike));
            said.extend(shared(advice, verdict, best, Found::CannotTell));
            said.extend(untested(advice, verdict, best));
        }
    }
    if verdict.ranked.iter().any(|place| place.is_shared) {
        said.push(
            "engines have places of their own if chance alone tells some apart in at most 5 of 100 \
             such runs"
                .into(),
        );
    }
    for place in verdict.ranked.iter().filter(|place| place.is_open) {
        said.push(format!("{} missed a limit, in too few trials to leave it out", place.engine));
    }
    said.push(match advice.rank {
        Rank::Cost => format!(
            "cost: processors{}, less the instrument's own; a GiB of memory counts as {} \
             processors, a GiB on disk as {}",
            match advice.rate_per_second {
                Some(_) => " at that rate",
                None => " at the engine's own throughput",
            },
            advice.weights.memory,
            advice.weights.disk
        ),
        rank => format!("ranked by {}", ranked_by(rank)),
    });
    if verdict.ranked.iter().any(|place| place.is_own) {
        said.push("lode is by the authors of this instrument; --without lode leaves it out".into());
    }
    said
}

/// Returns which engines share the place of the best for a reason; none if there are none.
fn shared(advice: &Advice, verdict: &Verdict, best: &Place, found: Found) -> Option<String> {
    let of_place = verdict.ranked.iter().filter(|place| place.rank == best.rank);
    let engine = |place: &Place| {
        let step = place.to_best.filter(|step| step.found == found)?;
        let Bounds { low, high } = step.ratio.test?.interval;
        Some(format!("{} ({:.3}, {low:.3}–{high:.3})", place.engine, step.ratio.value))
    };
    let engines: Vec<_> = of_place.filter_map(engine).collect();
    let of = ranked_by(advice.rank);
    let best = &best.engine;
    let start = match found {
        Found::Worse | Found::Better => return None,
        Found::Alike => format!("within {} of {best} by {of}", percent(ALIKE)),
        Found::CannotTell => format!("cannot tell from {best} by {of}"),
    };
    let ratios = "ratios with 95 % intervals";
    (!engines.is_empty()).then(|| format!("{start} ({ratios}): {}", engines.join(", ")))
}

/// Returns which engines share the place of the best for lack of trials; none if there are none.
fn untested(advice: &Advice, verdict: &Verdict, best: &Place) -> Option<String> {
    let of_place = verdict.ranked.iter().filter(|place| place.rank == best.rank);
    let engine = |place: &Place| {
        let step = place.to_best.filter(|step| step.ratio.test.is_none())?;
        Some(format!("{} ({:.3})", place.engine, step.ratio.value))
    };
    let engines: Vec<_> = of_place.filter_map(engine).collect();
    let best = &best.engine;
    let of = ranked_by(advice.rank);
    (!engines.is_empty()).then(|| {
        format!(
            "fewer than {TRIALS_LEAST} trials to tell from {best} by {of} (ratios); more time \
             gives more: {}",
            engines.join(", ")
        )
    })
}

/// Returns what is known of an engine besides figures.
fn facts(advice: &Advice, place: &Place) -> Vec<String> {
    let mut parts = vec![format!("{} {}", place.engine, place.version)];
    let known = advice.facts.iter().find(|facts| facts.engine == place.id);
    if let Some(facts) = known {
        let Facts { released, licence, languages, isolation, compile_s, program_bytes, .. } = facts;
        parts.extend(released.as_ref().map(|day| format!("of {day}")));
        parts.push(licence.clone());
        parts.push(format!("for {}", languages.join(", ")));
        parts.extend(isolation.clone());
        let compiled = compile_s.map(|s| u64::from(s) * 1_000_000_000);
        parts.extend(compiled.map(|ns| format!("{} to compile", duration_ns(ns))));
        parts.extend(program_bytes.map(|added| format!("adds {} to a program", bytes(added))));
    }
    parts
}

//! The conclusion of a run that answers a question (`assay advise`): the engines that qualify, in
//! their order, as far as the trials can tell them apart; and each that does not, with the reason.
//!
//! The best engine and all that cannot be told from it share the first place; of the others, the
//! best and all that cannot be told from it share the next one; and so on. Engines take turns, so
//! two are compared by the paired *t* test on the logarithms of their trials ([`Ratio::paired`]).
//! The trials are looked at again and again until they suffice, so each look has its share of the
//! level (Bonferroni). In a look the first place has half of that share, and each next place half
//! as much. Holm's procedure adjusts for the engines of a place.

mod figures;
pub(crate) mod sheet;
mod text;

use std::collections::{BTreeMap, HashMap, HashSet};

use assay_core::advice::Advice;
use assay_core::estimate::{Estimate, TRIALS_LEAST};
use assay_core::holm;
use assay_core::ratio::{Pair, Ratio};
use assay_core::run_file::{CellResult, RunFile, Status};

use crate::blocks::Distinct;
use crate::format::{bytes, duration_ns, engine, percent, quantity};
pub use figures::Figures;
use figures::Instrument;
pub use text::render;

/// The chance that engines which do not differ are told apart, over all looks and pairs.
const LEVEL: f64 = 0.05;

/// The most trials of an engine.
pub const MOST_TRIALS: u32 = 16;

/// The looks at the trials, each of which may tell engines apart.
const MOST_LOOKS: u32 = MOST_TRIALS - TRIALS_LEAST as u32 + 1;

/// Figures that differ by less are alike to a user.
const ALIKE: f64 = 0.02;

/// The trials after which an engine is out that misses a latency or a rate by less than [`FAR`].
const TRIALS_TO_MISS: usize = 3;

/// An engine that misses a latency or a rate by this factor is out after one trial.
const FAR: f64 = 2.0;

/// The least share of the offered operations that an engine does in time if it keeps up.
const IN_TIME: f64 = 0.95;

/// The conclusion.
#[derive(Debug)]
pub struct Verdict {
    /// The engines that qualify, best first.
    pub ranked: Vec<Place>,
    /// The engines that do not qualify.
    pub out: Vec<Out>,
}

/// An engine that qualifies.
#[derive(Debug)]
pub struct Place {
    /// The engine, with its settings.
    pub engine: String,
    /// The engine's id.
    pub id: String,
    /// True if the engine is by the authors of this instrument.
    pub is_own: bool,
    /// The version of the engine.
    pub version: String,
    /// The number of trials.
    pub trials: usize,
    /// The figure by which engines are ranked, of which less is better.
    pub ranked: Estimate,
    /// The medians of all figures.
    pub figures: Figures,
    /// The place, from 1; engines that share one have that of the best of them.
    pub rank: usize,
    /// True if other engines share the place.
    pub is_shared: bool,
    /// The comparison with the best engine of the place; none for the best itself.
    pub to_best: Option<Step>,
    /// True if a latency or a rate was missed, in too few trials to say that it always is.
    pub is_open: bool,
}

/// The comparison of an engine with the best of its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The engine's figure ÷ that of the best.
    pub ratio: Ratio,
    /// The finding.
    pub found: Found,
}

/// The finding of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The engine is worse.
    Worse,
    /// The engine is better.
    Better,
    /// The two differ by less than a user notices.
    Alike,
    /// The trials cannot tell the two apart.
    CannotTell,
}

/// An engine that does not qualify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Out {
    /// The engine, with its settings.
    pub engine: String,
    /// The reason.
    pub why: String,
}

impl Verdict {
    /// Returns the engines that missed a limit in too few trials to leave them out.
    pub fn open(&self) -> Vec<&str> {
        self.ranked.iter().filter(|place| place.is_open).map(|place| place.id.as_str()).collect()
    }

    /// Returns the engines of which more trials would show more.
    pub fn undecided(&self) -> Vec<&str> {
        let is_unclear =
            |place: &&Place| place.to_best.is_some_and(|step| step.found == Found::CannotTell);
        let unclear: HashSet<_> =
            self.ranked.iter().filter(is_unclear).map(|place| place.rank).collect();
        // Of engines that are alike to the best there is no more to find out.
        let gets_more = |place: &&Place| {
            let is_best = place.to_best.is_none() && unclear.contains(&place.rank);
            place.is_open || is_best || is_unclear(place)
        };
        self.ranked.iter().filter(gets_more).map(|place| place.id.as_str()).collect()
    }
}

/// An engine of the run.
struct Engine<'r> {
    results: Vec<&'r CellResult>,
    trials: BTreeMap<u32, Figures>,
}

/// Draws the conclusion of a run; none if the run answers no question.
pub fn verdict(run: &RunFile) -> Option<Verdict> {
    let advice = run.advice.as_ref()?;
    let mut names = Distinct::default();
    let mut of_engine: HashMap<String, Vec<&CellResult>> = HashMap::new();
    for result in run.results() {
        let name = engine(&result.cell);
        names.add(name.clone());
        of_engine.entry(name).or_default().push(result);
    }
    let calibrating = run.cells.iter().filter(|result| result.cell.calibration);
    let instrument = Instrument::of(calibrating, advice);
    let mut out: Vec<_> = advice
        .left_out
        .iter()
        .map(|left_out| Out { engine: left_out.engine.clone(), why: left_out.why.clone() })
        .collect();
    let mut ranked: Vec<(Place, Engine<'_>)> = Vec::new();
    for name in names.in_order {
        let results = of_engine.remove(&name).unwrap_or_default();
        let trials = figures::by_trial(&results, advice, instrument);
        let engine = Engine { results, trials };
        match engine.place(&name, advice) {
            Ok(place) => ranked.push((place, engine)),
            Err(why) => out.push(Out { engine: name, why }),
        }
    }
    ranked.sort_by(|(one, _), (other, _)| one.ranked.value.total_cmp(&other.ranked.value));
    Some(Verdict { ranked: in_places(ranked, advice), out })
}

/// Returns engines, best first, in the places that they share.
fn in_places(mut left: Vec<(Place, Engine<'_>)>, advice: &Advice) -> Vec<Place> {
    let mut ranked: Vec<Place> = Vec::new();
    let mut level = LEVEL / f64::from(MOST_LOOKS);
    while !left.is_empty() {
        level /= 2.0;
        let (best, steps) = take_best(&mut left, advice, level);
        let first = ranked.len();
        ranked.push(best);
        let mut worse = Vec::new();
        for ((place, engine), step) in left.into_iter().zip(steps) {
            if step.is_some_and(|step| step.found == Found::Worse) {
                worse.push((place, engine));
            } else {
                ranked.push(Place { to_best: step, ..place });
            }
        }
        let is_shared = ranked.len() > first + 1;
        for place in &mut ranked[first..] {
            place.rank = first + 1;
            place.is_shared = is_shared;
        }
        left = worse;
    }
    ranked
}

/// Takes the best engine out; returns it with the comparisons of the others with it. As a rule its
/// median is the least. But engines have different numbers of trials, and the machine may have
/// become slower: an engine that is better in the trials that both have is the best.
fn take_best(
    left: &mut Vec<(Place, Engine<'_>)>,
    advice: &Advice,
    level: f64,
) -> (Place, Vec<Option<Step>>) {
    let mut at = 0;
    for _ in 0..left.len() {
        let of_best = &left[at].1;
        let others = left.iter().enumerate().filter(|(other, _)| *other != at);
        let mut steps: Vec<_> =
            others.map(|(_, (_, engine))| of_best.compared(engine, advice)).collect();
        decide(&mut steps, level);
        let is_better = |step: &Option<Step>| step.is_some_and(|step| step.found == Found::Better);
        match steps.iter().position(is_better) {
            Some(better) => at = if better < at { better } else { better + 1 },
            None => return (left.remove(at).0, steps),
        }
    }
    // Comparisons that lead in a circle prove nothing.
    let (best, _) = left.remove(0);
    (best, left.iter().map(|_| None).collect())
}

/// Finds which engines differ from the best, from all tests of a place.
fn decide(steps: &mut [Option<Step>], level: f64) {
    let tested = || steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.as_ref()?)));
    let probability = |step: &Step| step.ratio.test.map(|test| test.probability);
    let places: Vec<_> =
        tested().filter(|(_, step)| probability(step).is_some()).map(|(at, _)| at).collect();
    let mut probabilities: Vec<_> = tested().filter_map(|(_, step)| probability(step)).collect();
    holm::adjust(&mut probabilities);
    for (at, probability) in places.into_iter().zip(probabilities) {
        if let Some(step) = &mut steps[at] {
            step.found = if step.is_alike() {
                Found::Alike
            } else if probability < level {
                if step.ratio.value > 1.0 { Found::Worse } else { Found::Better }
            } else {
                Found::CannotTell
            };
        }
    }
}

impl Step {
    /// Returns true if the whole interval is close to 1.
    fn is_alike(&self) -> bool {
        self.ratio.test.is_some_and(|test| {
            test.interval.low > 1.0 / (1.0 + ALIKE) && test.interval.high < 1.0 + ALIKE
        })
    }
}

impl Engine<'_> {
    /// Returns the engine's place, without a comparison; or why it does not qualify.
    fn place(&self, name: &str, advice: &Advice) -> Result<Place, String> {
        self.trouble()?;
        let figures = Figures::median(self.trials.values());
        let is_open = self.misses(&figures, advice)?;
        let of_trials = self.trials.values().filter_map(|trial| trial.ranked(advice));
        let of_trials: Vec<_> = of_trials.map(|figure| vec![figure]).collect();
        let ranked = Estimate::of_trials(&of_trials).ok_or("nothing was measured to rank it by")?;
        let first = self.results[0];
        Ok(Place {
            engine: name.into(),
            id: first.cell.engine.to_string(),
            is_own: first.cell.engine.is_own(),
            version: first.measurement.engine_version.clone(),
            trials: self.trials.len(),
            ranked,
            figures,
            rank: 0,
            is_shared: false,
            to_best: None,
            is_open,
        })
    }

    /// Fails with what disqualifies an engine whatever its figures are.
    fn trouble(&self) -> Result<(), String> {
        let reason = |status: &Status| match status {
            Status::Measured => None,
            Status::Wrong(why) => Some(format!("an answer was wrong: {why}")),
            Status::Unsupported(why)
            | Status::Unavailable(why)
            | Status::Failed(why)
            | Status::Killed(why) => Some(why.clone()),
        };
        let troubled = self.results.iter().find_map(|result| reason(&result.status));
        let left_out = || {
            let left_out = self.results.iter().find_map(|r| r.measurement.not_offered.first())?;
            Some(format!("{}: {}", left_out.phase, left_out.why))
        };
        let refuted = || self.results.iter().find_map(|result| result.refuted.clone());
        troubled.or_else(left_out).or_else(refuted).map_or(Ok(()), Err)
    }

    /// Fails with the limit that the engine exceeds. Returns true if it exceeds one of those that
    /// differ from trial to trial, in too few trials to say so.
    fn misses(&self, figures: &Figures, advice: &Advice) -> Result<bool, String> {
        let limits = &advice.limits;
        let exceeds = |found: Option<f64>, limit: Option<u64>, what: &str| match (found, limit) {
            (Some(found), Some(limit)) if found > limit as f64 => {
                Err(format!("takes {} {what}, and may take {}", bytes(found as u64), bytes(limit)))
            }
            _ => Ok(()),
        };
        exceeds(figures.memory_bytes, limits.memory_bytes, "of memory")?;
        exceeds(figures.disk_bytes, limits.disk_bytes, "on disk")?;
        if advice.rate_per_second.is_some() && figures.kept_up.is_none() {
            return Err("was not measured at the rate; give it more time with --for".into());
        }
        let tried = self.trials.values().filter(|trial| trial.p999_ns.is_some()).count();
        let is_certain = |factor: f64| tried >= TRIALS_TO_MISS || factor >= FAR;
        let mut is_open = false;
        if let Some(kept_up) = figures.kept_up.filter(|kept_up| *kept_up < IN_TIME) {
            if is_certain(1.0 / kept_up) {
                let of =
                    advice.rate_per_second.map(|rate| format!(" of {} a second", quantity(rate)));
                return Err(format!(
                    "does only {} of the operations{} in time",
                    percent(kept_up),
                    of.unwrap_or_default()
                ));
            }
            is_open = true;
        }
        if let (Some(found), Some(limit)) = (figures.p999_ns, limits.p999_ns)
            && found > limit as f64
        {
            if is_certain(found / limit as f64) {
                return Err(format!(
                    "its p99.9 is {}, and may be {}",
                    duration_ns(found as u64),
                    duration_ns(limit)
                ));
            }
            is_open = true;
        }
        Ok(is_open)
    }

    /// Compares another engine with this one, by the trials that both have.
    fn compared(&self, other: &Self, advice: &Advice) -> Option<Step> {
        let pairs = self.trials.iter().filter_map(|(trial, figures)| {
            let other = other.trials.get(trial)?;
            Some(Pair { base: figures.ranked(advice)?, new: other.ranked(advice)? })
        });
        let ratio = Ratio::paired(&pairs.collect::<Vec<_>>())?;
        Some(Step { ratio, found: Found::CannotTell })
    }
}

//! A comparison as JSON, for other programs. `docs/comparing.md` describes it.

use assay_core::estimate::TRIALS_LEAST;
use serde_json::{Value, json};

use super::text::SMALL;
use super::{Comparison, Design, LEVEL, Line, Quantity, Statistic, Verdict};

/// The version of this format.
const SCHEMA_VERSION: u32 = 1;

/// Returns the comparison as JSON, on lines as people read it.
pub fn json(comparison: &Comparison) -> String {
    let value = json!({
        "format": "assay-comparison",
        "schema_version": SCHEMA_VERSION,
        "design": match comparison.design {
            Design::Apart => "apart",
            Design::InTurns => "in_turns",
        },
        "level": LEVEL,
        "tests": comparison.tests,
        "trials_least": TRIALS_LEAST,
        "trials_for_5_percent": comparison.trials_to_find(SMALL),
        "lines": comparison.lines.iter().map(|l| line(comparison, l)).collect::<Vec<_>>(),
        "differences": comparison.differences,
        "not_compared": comparison.not_compared,
        "notes": comparison.notes,
    });
    format!("{value:#}\n")
}

fn line(comparison: &Comparison, line: &Line) -> Value {
    let test = line.ratio.test.map(|test| {
        let level = comparison.level();
        json!({
            "low_95": test.interval.low,
            "high_95": test.interval.high,
            "probability": test.probability,
            "probability_adjusted": line.adjusted,
            "smallest_found": test.smallest_found(level),
            "trials_for_5_percent": test.trials_to_find(SMALL, level),
        })
    });
    json!({
        "work": line.work,
        "engine": line.engine,
        "quantity": quantity(&line.quantity),
        "statistic": match line.statistic {
            Statistic::Median => "median",
            Statistic::FastestTenth => "fastest_tenth",
        },
        "base": line.base,
        "new": line.new,
        "ratio": line.ratio.value,
        "test": test,
        "verdict": match line.verdict() {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NotFound => "not_found",
            Verdict::TooFewTrials => "too_few_trials",
        },
    })
}

fn quantity(quantity: &Quantity) -> Value {
    let better = if quantity.is_better_higher() { "higher" } else { "lower" };
    let (kind, phase, operation, percentile) = match quantity {
        Quantity::Rate { phase } => ("rate", Some(phase), None, None),
        Quantity::Latency { phase, operation, percentile } => {
            ("latency", Some(phase), Some(operation), Some(percentile.percent()))
        }
        Quantity::Memory => ("memory", None, None, None),
        Quantity::Space => ("space", None, None, None),
        Quantity::Written => ("written", None, None, None),
        Quantity::Close => ("close", None, None, None),
    };
    json!({
        "kind": kind,
        "phase": phase,
        "operation": operation,
        "percentile": percentile,
        "unit": quantity.unit(),
        "better": better,
    })
}

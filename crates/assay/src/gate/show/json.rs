//! The gate's JSON.

use serde_json::{Value, json};

use crate::gate::counts::Counts;
use crate::gate::judge::{Comparison, Line, Verdict};

/// Returns one object: the counts, and the comparisons if there are any.
pub(super) fn json(counts: &Counts, comparisons: Option<&Vec<Comparison>>) -> String {
    let comparisons: Option<Vec<_>> = comparisons.map(|all| all.iter().map(comparison).collect());
    let whole = json!({
        "format": "assay-gate",
        "schema_version": 1,
        "counts": counts,
        "comparisons": comparisons,
    });
    format!("{whole:#}\n")
}

fn comparison(comparison: &Comparison) -> Value {
    let lines: Vec<_> = comparison.lines.iter().map(line).collect();
    json!({ "cell": comparison.title, "lines": lines, "not_judged": comparison.not_judged })
}

fn line(line: &Line) -> Value {
    json!({
        "phase": line.phase,
        "quantity": line.quantity,
        "operations": line.operations,
        "base": line.base,
        "new": line.new,
        "spread": line.spread,
        "verdict": match line.verdict {
            Verdict::Same => "same",
            Verdict::More => "more",
            Verdict::Less => "less",
            Verdict::OtherSyncs => "other_syncs",
            Verdict::Reported => "reported",
        },
    })
}

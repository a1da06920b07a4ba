//! The file of a fitted workload.

use std::fmt::Write;
use std::path::Path;

use super::super::line::{MOST_SCANNED, MOST_VALUE_BYTES};
use super::profile::{Counts, Profile};
use crate::workload::spec::Kind;

/// The most steps of a distribution of sizes.
const STEPS: u64 = 32;

/// The fewest bytes of a value in a workload.
const LEAST_VALUE_BYTES: u64 = 8;

/// The exponent from which on records are not chosen equally.
const SKEWED: f64 = 0.05;

/// Returns the file of the workload that is like a trace, with this exponent of Zipf's law.
pub(super) fn of(trace: &Profile, path: &Path, exponent: f64) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(|letter| is_plain(*letter)).take(40).collect();
    let key = match trace.key_bytes {
        bytes if bytes >= 16 => format!("{{ type = \"text\", bytes = {} }}", bytes.min(256)),
        bytes => format!("{{ type = \"bytes\", bytes = {} }}", bytes.max(8)),
    };
    let mut text = format!(
        "# Fitted to the trace {name} by `assay workload fit`: {} operations on {} keys.\n\
         title = \"As {name}\"\n\
         \n\
         [records]\n\
         count = {}\n\
         key = {key}\n\
         value = {}\n\
         \n\
         [[phase]]\n\
         name = \"serve\"\n\
         operations = {}\n\
         mix = {{ {} }}\n\
         choose = {}\n",
        trace.operations,
        trace.stored,
        trace.at_start,
        sizes(&trace.sizes, LEAST_VALUE_BYTES, MOST_VALUE_BYTES),
        trace.operations,
        mix(trace),
        choose(exponent),
    );
    let mut add = |line: String| writeln!(text, "{line}").expect("text can be written to memory");
    if trace.kinds[Kind::Scan as usize] > 0 {
        add(format!("scan = {{ rows = {} }}", sizes(&trace.scanned, 1, MOST_SCANNED)));
    }
    match trace.rate() {
        Some(rate) => add(format!(
            "# An operation follows the one before; to arrive as in the trace: rate = {}",
            rate.max(1.0).round()
        )),
        None => add("# The trace has no times, so there is no rate.".into()),
    }
    text
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_. ".contains(letter)
}

/// Returns the share of each kind, in operations of a million.
fn mix(trace: &Profile) -> String {
    let kinds = Kind::ALL.into_iter().filter(|kind| trace.kinds[*kind as usize] > 0);
    let parts = kinds.map(|kind| {
        let share = (trace.share(kind) * 1e8).round() / 1e6;
        format!("{} = {}", kind.name(), share.max(1e-6))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn choose(exponent: f64) -> String {
    if exponent < SKEWED { "\"uniform\"".into() } else { format!("{{ zipfian = {exponent:.3} }}") }
}

/// Returns a distribution of sizes: one, or steps of which each has as many.
fn sizes(counts: &Counts, least: u64, most: u64) -> String {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    let all: u64 = counts.values().sum();
    let mut seen = 0;
    let mut sum = 0;
    let mut count = 0;
    for (number, times) in counts {
        let is_many = *times > all / STEPS;
        if is_many && count > 0 {
            steps.push((sum / count, count));
            (sum, count) = (0, 0);
        }
        sum += number * times;
        count += times;
        seen += times;
        if is_many || count > all / STEPS || seen == all {
            steps.push((sum / count, count));
            (sum, count) = (0, 0);
        }
    }
    let steps: Vec<_> =
        steps.iter().map(|(size, count)| ((*size).clamp(least, most), *count)).collect();
    match steps[..] {
        [] => format!("{{ constant = {} }}", least.max(1)),
        [(size, _)] => format!("{{ constant = {size} }}"),
        _ => {
            let pairs: Vec<_> =
                steps.iter().map(|(size, count)| format!("[{size}, {count}]")).collect();
            let lines: Vec<_> = pairs.chunks(6).map(|line| line.join(", ")).collect();
            format!("{{ histogram = [\n  {},\n] }}", lines.join(",\n  "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_one_or_steps() {
        assert_eq!(sizes(&Counts::from([(3, 5)]), 8, 1_000), "{ constant = 8 }");
        assert_eq!(sizes(&Counts::new(), 1, 1_000), "{ constant = 1 }");
        let two = sizes(&Counts::from([(10, 1), (90, 3)]), 8, 1_000);
        assert_eq!(two, "{ histogram = [\n  [10, 1], [90, 3],\n] }");
        let many: Counts = (1..=1_000).map(|size| (size, 1)).collect();
        let steps = sizes(&many, 1, 1_000).matches('[').count() - 1;
        assert!((30..=33).contains(&steps), "{steps}");
    }
}

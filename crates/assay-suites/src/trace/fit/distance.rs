//! The distance of a fitted workload from its trace, property by property.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::popularity;
use super::profile::{Counts, Profile, quantile};
use crate::workload::spec::Kind;

/// Shares of the records, the most often chosen ones, at which popularity is compared.
const HOTTEST: [f64; 13] =
    [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8];

/// Returns the distances in lines: each is between 0, equal, and 1.
pub(super) fn text(trace: &Profile, fitted: &Profile) -> Result<String, fmt::Error> {
    let mut out = String::new();
    writeln!(out, "property       distance  trace, fitted")?;
    let shares = |profile: &Profile| {
        let kinds = Kind::ALL.into_iter().filter(|kind| profile.kinds[*kind as usize] > 0);
        let shares = kinds.map(|kind| format!("{} {}", kind.name(), percent(profile.share(kind))));
        shares.collect::<Vec<_>>().join(" ")
    };
    let mix = Kind::ALL.into_iter().map(|kind| (trace.share(kind) - fitted.share(kind)).abs());
    let mut row =
        |name: &str, distance: f64, said: String| writeln!(out, "{name:14} {distance:8.4}  {said}");
    row("mix", mix.sum::<f64>() / 2.0, format!("{}; {}", shares(trace), shares(fitted)))?;
    let middle =
        |counts: &Counts| format!("p50 {} p99 {}", quantile(counts, 0.5), quantile(counts, 0.99));
    let pair = |trace: &Counts, fitted: &Counts| format!("{}; {}", middle(trace), middle(fitted));
    let sizes = pair(&trace.sizes, &fitted.sizes);
    row("value bytes", farthest(&trace.sizes, &fitted.sizes), sizes)?;
    if !trace.scanned.is_empty() {
        let scanned = pair(&trace.scanned, &fitted.scanned);
        row("scan rows", farthest(&trace.scanned, &fitted.scanned), scanned)?;
    }
    let apart = HOTTEST.map(|share| {
        let of = |profile: &Profile| popularity::share_of(&profile.chosen, share);
        (of(trace) - of(fitted)).abs()
    });
    let popular = |profile: &Profile| {
        let exponent = popularity::exponent(&profile.chosen);
        let hottest = popularity::share_of(&profile.chosen, 0.01);
        format!("exponent {exponent:.3} hottest 1 % {}", percent(hottest))
    };
    let apart = apart.into_iter().fold(0.0, f64::max);
    row("popularity", apart, format!("{}; {}", popular(trace), popular(fitted)))?;
    let mut shares = |name: &str, of: fn(&Profile) -> f64| {
        let trace = of(trace);
        let fitted = of(fitted);
        row(name, (trace - fitted).abs(), format!("{}; {}", percent(trace), percent(fitted)))
    };
    shares("one-hit keys", |profile| profile.once as f64 / profile.stored.max(1) as f64)?;
    shares("growth", |profile| profile.share(Kind::Insert))?;
    match trace.rate() {
        Some(rate) => writeln!(out, "rate                     {rate:.0} operations a second")?,
        None => writeln!(out, "rate                     the trace has no times")?,
    }
    Ok(out)
}

/// Returns a share in words.
fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Returns the greatest distance of two distributions (Kolmogorov's and Smirnov's).
fn farthest(one: &Counts, other: &Counts) -> f64 {
    let sum = |counts: &Counts| counts.values().sum::<u64>().max(1) as f64;
    let all_one = sum(one);
    let all_other = sum(other);
    let mut below_one = 0.0;
    let mut below_other = 0.0;
    let mut most = 0.0_f64;
    for number in one.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
        below_one += one.get(number).copied().unwrap_or(0) as f64 / all_one;
        below_other += other.get(number).copied().unwrap_or(0) as f64 / all_other;
        most = most.max((below_one - below_other).abs());
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_as_far_apart_as_where_they_differ_most() {
        let one = Counts::from([(1, 1), (2, 1)]);
        assert_eq!(farthest(&one, &one), 0.0);
        assert_eq!(farthest(&one, &Counts::from([(1, 3), (2, 1)])), 0.25);
        assert_eq!(farthest(&one, &Counts::from([(9, 7)])), 1.0);
    }
}

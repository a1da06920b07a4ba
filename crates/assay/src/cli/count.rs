//! Numbers on the command line besides those of suites: seeds, processors, times, percentages.

use std::collections::HashSet;
use std::time::Duration;

pub(crate) use assay_suites::options::count::{between, parse_positive};

/// Reads a seed: any whole number of 64 bits.
pub(crate) fn parse_seed(text: &str) -> Result<u64, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let seed = if is_plain { text.parse().ok() } else { None };
    seed.ok_or_else(|| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// Processors, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cpus {
    first: usize,
    last: usize,
}

/// No machine has more processors.
const MOST_CPUS: usize = 1 << 20;

/// Reads the number of a processor, or a range of them.
pub(crate) fn parse_cpus(text: &str) -> Result<Cpus, String> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().filter(|&number| number < MOST_CPUS)
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(Cpus { first, last }),
        _ => Err("a processor is named by its number: 0 is the first; a range is like 0-3".into()),
    }
}

/// Returns every processor once, in the order named.
pub(crate) fn each_cpu(ranges: &[Cpus]) -> Vec<usize> {
    let mut known = HashSet::new();
    let all = ranges.iter().flat_map(|range| range.first..=range.last);
    all.filter(|&cpu| known.insert(cpu)).collect()
}

/// Reads a number of seconds that something may take.
pub(crate) fn parse_seconds(text: &str) -> Result<u64, String> {
    match parse_positive(text)? {
        seconds if seconds <= MOST_SECONDS => Ok(seconds),
        _ => Err("too long; it can be at most 1000m seconds".into()),
    }
}

/// Reads a time that something may take: a number with `s`, `m` or `h` behind it.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let refused = || "not a time; write a number with s, m or h behind it, such as 30m".to_string();
    let unit = text.chars().last().ok_or_else(refused)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return Err(refused()),
    };
    let digits = text.strip_suffix(unit).filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    let count: u64 = digits.and_then(|text| text.parse().ok()).ok_or_else(refused)?;
    match count.checked_mul(seconds) {
        Some(0) => Err("must be at least 1s".into()),
        Some(seconds) if seconds <= MOST_SECONDS => Ok(Duration::from_secs(seconds)),
        _ => Err("too long; it can be at most 1000m seconds".into()),
    }
}

/// Reads a latency: a number with `us`, `ms` or `s` behind it.
pub(crate) fn parse_latency(text: &str) -> Result<Duration, String> {
    let refused = "not a latency; write a number with us, ms or s behind it, such as 5ms";
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(refused)?;
    let (number, unit) = text.split_at(at);
    let unit_s = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(refused.into()),
    };
    match number.parse::<f64>().map(|number| number * unit_s) {
        Ok(seconds) if (1e-6..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        Ok(_) => Err("must be from 1us to 3600s".into()),
        Err(_) => Err(refused.into()),
    }
}

/// Some thirty years, which can be added to any time.
const MOST_SECONDS: u64 = 1_000_000_000;

/// Reads a number of trials.
pub(crate) fn parse_trials(text: &str) -> Result<u32, String> {
    match parse_positive(text)? {
        count if count <= MOST_TRIALS => Ok(count as u32),
        _ => Err("there can be at most 10k trials".into()),
    }
}

const MOST_TRIALS: u64 = 10_000;

/// Reads a percentage, with its sign or without: above 0, below 100; returns the share.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("must be a percentage above 0 and below 100, such as 5%".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_numbers_and_ranges() {
        let ranges = ["2", "0-3", "5"].map(|text| parse_cpus(text).expect("processors"));
        assert_eq!(each_cpu(&ranges), [2, 0, 1, 3, 5]);
        for text in ["", "-1", "1-", "3-2", "x", "0-1-2", "1048576"] {
            assert!(parse_cpus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(parse_time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("30m"), Ok(Duration::from_secs(1800)));
        assert_eq!(parse_time("2h"), Ok(Duration::from_secs(7200)));
        for text in ["", "30", "m", "0m", "-1m", "1.5h", "1d", "1é", "9999999999h"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn latencies_have_a_unit() {
        assert_eq!(parse_latency("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(parse_latency("0.5s"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_latency("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_latency("250µs"), Ok(Duration::from_micros(250)));
        for text in ["", "5", "ms", "0ms", "-1ms", "1h", "1.2.3s", "1e9s", "5000s", "NaNs"] {
            assert!(parse_latency(text).is_err(), "{text}");
        }
    }
}

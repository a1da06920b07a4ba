//! Numbers on the command line: counts as CrossBench takes them (`500`, `10k`, `1M`), sizes,
//! shares, threads.

use std::collections::HashSet;
use std::time::Duration;

/// Reads a count; k or K is a thousand, m or M a million.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a count; write digits, with k for thousands or m for millions".into());
    }
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .filter(|&count| count <= MOST)
        .ok_or_else(|| "too large; a count has to be at most 1000000m".into())
}

/// No machine counts further in a lifetime of its disk.
const MOST: u64 = 1_000_000_000_000;

/// Reads a count between two others.
pub(crate) fn between<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let count = parse(text)?;
        let found = (least..=most).contains(&count).then(|| T::try_from(count).ok()).flatten();
        found.ok_or_else(|| format!("must be between {least} and {most}"))
    }
}

/// Reads a seed: any whole number of 64 bits.
pub(crate) fn parse_seed(text: &str) -> Result<u64, String> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().ok(),
        false => None,
    }
    .ok_or_else(|| format!("a seed is a whole number from 0 to {}", u64::MAX))
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

/// Reads a count that may not be zero.
pub(crate) fn parse_positive(text: &str) -> Result<u64, String> {
    match parse(text)? {
        0 => Err("must be at least 1".into()),
        count => Ok(count),
    }
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

/// Some thirty years, which can be added to any time.
const MOST_SECONDS: u64 = 1_000_000_000;

/// Reads operations a second.
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    match parse_positive(text)? {
        rate if rate <= MOST_RATE => Ok(rate),
        _ => Err("no engine is that fast; a rate can be at most 1000m operations a second".into()),
    }
}

const MOST_RATE: u64 = 1_000_000_000;

/// Reads a number of trials.
pub(crate) fn parse_trials(text: &str) -> Result<u32, String> {
    match parse_positive(text)? {
        count if count <= MOST_TRIALS => Ok(count as u32),
        _ => Err("there can be at most 10k trials".into()),
    }
}

const MOST_TRIALS: u64 = 10_000;

/// Reads a number of rounds that may be done again.
pub(crate) fn parse_repeats(text: &str) -> Result<u32, String> {
    match parse(text)? {
        count if count <= MOST_REPEATS => Ok(count as u32),
        _ => Err(format!("there can be at most {MOST_REPEATS} of them")),
    }
}

const MOST_REPEATS: u64 = 1_000;

/// Reads a number of records of YCSB, whose distribution of the latest has a term for each.
pub(crate) fn parse_records(text: &str) -> Result<u64, String> {
    match parse_positive(text)? {
        count if count <= MOST_RECORDS => Ok(count),
        _ => Err("too large; there can be at most 1000m records".into()),
    }
}

const MOST_RECORDS: u64 = 1_000_000_000;

/// Reads the size of a key in bytes.
pub(crate) fn parse_key_size(text: &str) -> Result<u32, String> {
    let most = assay_suites::nudb::MOST_KEY_BYTES;
    match parse(text)? {
        size @ 1.. if size <= u64::from(most) => Ok(size as u32),
        _ => Err(format!("a key has 1 to {most} bytes")),
    }
}

/// Reads a share: above 0, at most 1.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("must be a number above 0 and at most 1".into()),
    }
}

/// Reads a factor or a number of seconds: above 0, at most a million.
pub(crate) fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if scale > 0.0 && scale <= 1e6 => Ok(scale),
        _ => Err("must be a number above 0 and at most a million".into()),
    }
}

/// Reads a percentage, with its sign or without: above 0, below 100; returns the share.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("must be a percentage above 0 and below 100, such as 5%".into()),
    }
}

/// The most threads.
const MOST_THREADS: u64 = 256;

/// Numbers of threads, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads {
    first: u32,
    last: u32,
}

/// Reads a number of threads, or a range of them.
pub(crate) fn parse_threads(text: &str) -> Result<Threads, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (parse(first)?, parse(last)?) {
        (first @ 1.., last) if first <= last && last <= MOST_THREADS => {
            Ok(Threads { first: first as u32, last: last as u32 })
        }
        _ => Err(format!("threads are 1 to {MOST_THREADS}, a range is like 2-16")),
    }
}

/// Every number once, in the order named.
pub(crate) fn each_thread_count(ranges: &[Threads]) -> Vec<u32> {
    let mut counts = Vec::new();
    for count in ranges.iter().flat_map(|range| range.first..=range.last) {
        if !counts.contains(&count) {
            counts.push(count);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_multiply() {
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("500"), Ok(500));
        assert_eq!((parse("10k"), parse("10K")), (Ok(10_000), Ok(10_000)));
        assert_eq!((parse("2m"), parse("2M")), (Ok(2_000_000), Ok(2_000_000)));
    }

    #[test]
    fn threads_are_numbers_and_ranges() {
        let ranges = ["2-4", "3", "16"].map(|text| parse_threads(text).expect("threads"));
        assert_eq!(each_thread_count(&ranges), [2, 3, 4, 16]);
        for text in ["0", "257", "4-2", "1-", "x", "1-2-3", "0-2"] {
            assert!(parse_threads(text).is_err(), "{text}");
        }
    }

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
    fn sizes_and_shares_have_bounds() {
        assert_eq!((parse_key_size("64"), parse_key_size("65536")), (Ok(64), Ok(65_536)));
        for text in ["0", "65537", "x", ""] {
            assert!(parse_key_size(text).is_err(), "{text}");
        }
        assert_eq!(parse_share("0.5"), Ok(0.5));
        for text in ["0", "1.1", "-1", "NaN", "half"] {
            assert!(parse_share(text).is_err(), "{text}");
        }
        assert!(parse_scale("0").is_err() && parse_scale("inf").is_err());
    }

    #[test]
    fn what_is_no_count_is_refused() {
        for text in ["", "k", "-1", "1.5m", "ten", "1 k", "1kk", "１k"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("1000000m"), Ok(MOST));
        assert!(parse("1000000000001").is_err());
        assert!(parse("18446744073709551616").is_err());
        assert!(parse("18446744073709552k").is_err());
        assert!(parse_records("1001m").is_err());
        assert!(parse_positive("0").is_err());
    }
}

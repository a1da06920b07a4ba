//! Sizes of memory on the command line: `256m`, `1g`, in units of 1024 as control groups have them.

use super::CacheArg;

/// Reads a size in bytes; k, m, g and t are KiB, MiB, GiB and TiB, in either case.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let last = text.chars().last().map(|last| last.to_ascii_lowercase());
    let unit = units.into_iter().find(|(letter, _)| Some(*letter) == last);
    let (digits, shift) = unit.map_or((text, 0), |(_, shift)| (&text[..text.len() - 1], shift));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a size; write digits with m or g behind them, such as 256m".into());
    }
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes.filter(|&bytes| bytes <= MOST).ok_or_else(|| "too large for any machine".into())
}

/// What a processor of today can address.
const MOST: u64 = 1 << 52;

/// Reads the size of a cache, or `own`.
pub(crate) fn parse_cache(text: &str) -> Result<CacheArg, String> {
    if text == "own" {
        return Ok(CacheArg::Own);
    }
    match parse(text)? {
        bytes if bytes < LEAST_CACHE => Err("must be at least 1m, or own".into()),
        bytes => Ok(CacheArg::Bytes(bytes)),
    }
}

/// Reads a limit of the memory that a worker takes up.
pub(crate) fn parse_limit(text: &str) -> Result<u64, String> {
    match parse(text)? {
        bytes if bytes < LEAST_LIMIT => Err("must be at least 32m".into()),
        bytes => Ok(bytes),
    }
}

/// What a worker takes up before an engine is opened, and room for that.
const LEAST_LIMIT: u64 = 32 << 20;

/// The least that every engine here works with.
const LEAST_CACHE: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_units_of_1024() {
        let sizes = ["4096", "512k", "256m", "256M", "1g", "2T"].map(parse);
        let bytes = [4096, 512 << 10, 256 << 20, 256 << 20, 1 << 30, 2 << 40];
        assert_eq!(sizes, bytes.map(Ok));
        for bad in ["", "m", "-1", "1.5g", "1gb", "many", "1µ", "99999999999t", "5000t"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_cache_has_a_size_or_is_the_engines_own() {
        assert_eq!(parse_cache("own"), Ok(CacheArg::Own));
        assert_eq!(parse_cache("1m"), Ok(CacheArg::Bytes(1 << 20)));
        assert!(parse_cache("0").is_err() && parse_cache("1023k").is_err());
    }
}

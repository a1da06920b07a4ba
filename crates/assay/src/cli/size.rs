//! Sizes of memory on the command line: `256m`, `1g`, in units of 1024 as control groups have them.

use assay_driver::parse_size as parse;

use super::CacheArg;

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

/// The memory that a worker takes up before it opens an engine, and room for that.
const LEAST_LIMIT: u64 = 32 << 20;

/// The least that every engine here works with.
const LEAST_CACHE: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_has_a_size_or_is_the_engines_own() {
        assert_eq!(parse_cache("own"), Ok(CacheArg::Own));
        assert_eq!(parse_cache("1m"), Ok(CacheArg::Bytes(1 << 20)));
        assert!(parse_cache("0").is_err() && parse_cache("1023k").is_err());
    }
}

//! The amount of work of the long tests: little by default, all of it where `LODE_THOROUGH` is set.

/// The number that the environment variable `name` holds, if it holds one.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Returns the number of cases: that of the environment variable `name`, else `thorough` where
/// `LODE_THOROUGH` is set and `quick` elsewhere.
pub fn effort(name: &str, quick: u64, thorough: u64) -> u64 {
    let usual = if std::env::var_os("LODE_THOROUGH").is_some() { thorough } else { quick };
    number(name).unwrap_or(usual)
}

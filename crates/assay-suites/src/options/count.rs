//! Numbers of options: counts as CrossBench takes them (`500`, `10k`, `1M`), rates, shares.

/// Reads a count; k or K is a thousand, m or M a million.
///
/// # Errors
/// If the text is no count, or is too large.
pub fn parse(text: &str) -> Result<u64, String> {
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
pub(crate) const MOST: u64 = 1_000_000_000_000;

/// Returns a reader of counts between two others.
pub fn between<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let count = parse(text)?;
        let found = (least..=most).contains(&count).then(|| T::try_from(count).ok()).flatten();
        found.ok_or_else(|| format!("must be between {least} and {most}"))
    }
}

/// Reads a count that may not be zero.
///
/// # Errors
/// As [`parse`], and for 0.
pub fn parse_positive(text: &str) -> Result<u64, String> {
    match parse(text)? {
        0 => Err("must be at least 1".into()),
        count => Ok(count),
    }
}

/// Reads operations a second.
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    match parse_positive(text)? {
        rate if rate <= MOST_RATE => Ok(rate),
        _ => Err("no engine is that fast; a rate can be at most 1000m operations a second".into()),
    }
}

const MOST_RATE: u64 = 1_000_000_000;

/// Reads a number of rounds that may be done again.
pub(crate) fn parse_repeats(text: &str) -> Result<u32, String> {
    match parse(text)? {
        count if count <= MOST_REPEATS => Ok(count as u32),
        _ => Err(format!("there can be at most {MOST_REPEATS} of them")),
    }
}

const MOST_REPEATS: u64 = 1_000;

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

//! Counts as CrossBench takes them: `500`, `10k`, `1M`.

/// Reads a count; k or K is a thousand, m or M a million.
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
        .ok_or_else(|| "too large; a count has to be below 2^64".into())
}

/// Reads a count that may not be zero.
pub fn parse_positive(text: &str) -> Result<u64, String> {
    match parse(text)? {
        0 => Err("must be at least 1".into()),
        count => Ok(count),
    }
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
    fn what_is_no_count_is_refused() {
        for text in ["", "k", "-1", "1.5m", "ten", "1 k", "1kk", "１k"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("18446744073709551615").is_ok());
        assert!(parse("18446744073709551616").is_err());
        assert!(parse("18446744073709552k").is_err());
        assert!(parse_positive("0").is_err());
    }
}

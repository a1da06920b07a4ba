//! Values from the texts of fields.

use std::str::FromStr;

use jiff::civil::Time;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;

use super::fields::FieldText;

/// Reads what the standard library reads, as integers.
pub(super) fn parsed<N: FromStr>(field: FieldText<'_>) -> Option<N> {
    str::from_utf8(field.bytes).ok()?.trim().parse().ok()
}

/// Reads a truth value: `true`, `t`, `yes`, `y`, `1` and their opposites, in any case.
pub(super) fn truth(field: FieldText<'_>) -> Option<bool> {
    let is_any = |words: [&str; 5]| {
        words.iter().any(|word| field.bytes.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    };
    match (is_any(["true", "t", "yes", "y", "1"]), is_any(["false", "f", "no", "n", "0"])) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Reads a moment as microseconds since the start of 1970: that number, or a date or a time as in
/// ISO 8601. Without a zone it is of UTC.
///
/// `None` where microseconds cannot hold it exactly, unless it is to be rounded.
pub(super) fn moment(field: FieldText<'_>, rounds: bool) -> Option<i64> {
    let text = str::from_utf8(field.bytes).ok()?.trim();
    text.parse().ok().or_else(|| iso_moment(text, rounds))
}

/// Reads a date or a time as in ISO 8601.
pub(super) fn iso_moment(text: &str, rounds: bool) -> Option<i64> {
    // Digits without signs between them may be a number that was meant, and the 60th second of a
    // minute is no moment here.
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00"));
    let is_extended = date.get(1..)?.contains('-') && time.contains(':');
    if !is_extended || time.contains(":60") {
        return None;
    }
    let pieces = Pieces::parse(text).ok()?;
    if pieces.time_zone_annotation().is_some() {
        return None;
    }
    let at = pieces.date().to_datetime(pieces.time().unwrap_or(Time::midnight()));
    let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
    let time_ns = offset.to_timestamp(at).ok()?.as_nanosecond();
    crate::cells::microseconds(time_ns, rounds)
}

/// Returns bytes from their digits, two each.
pub(super) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment_of(text: &str) -> Option<i64> {
        moment(FieldText { bytes: text.as_bytes(), is_quoted: false }, false)
    }

    #[test]
    fn moments_are_microseconds_or_iso() {
        for (text, wanted) in [
            ("-17", Some(-17)),
            ("1970-01-02", Some(86_400_000_000)),
            ("1970-01-01T00:00:01", Some(1_000_000)),
            ("1970-01-01 00:00:01.5Z", Some(1_500_000)),
            ("1969-12-31t23:59:59.999999z", Some(-1)),
            ("1970-01-01T01:00:00+01:00", Some(0)),
            ("1970-01-01T00:00-00:30", Some(1_800_000_000)),
            ("-009999-01-02T01:59:59Z", Some(-377_705_023_201_000_000)),
            ("2024-02-29T12:30:00.123456700", None),
            ("2024-02-29T12:30:00.1234567891", None),
            ("2023-02-29", None),
            ("2024-02-29T24:00:00", None),
            ("2016-12-31T23:59:60Z", None),
            ("20240229T123000Z", None),
            ("2024-02-29T123000Z", None),
            ("2024-02-29T12:30:00+01:00[Europe/Zurich]", None),
            ("9999-12-31T23:59:59-23:00", None),
            ("12:30:00", None),
            ("today", None),
            ("", None),
        ] {
            assert_eq!(moment_of(text), wanted, "{text}");
        }
        assert_eq!(iso_moment("1970-01-01T00:00:00.0000015Z", true), Some(2));
        assert_eq!(iso_moment("1969-12-31T23:59:59.9999985Z", true), Some(-1));
        assert_eq!(iso_moment("1969-12-31T23:59:59.9999984Z", true), Some(-2));
    }

    #[test]
    fn truth_has_several_words() {
        let truth = |text: &str| truth(FieldText { bytes: text.as_bytes(), is_quoted: false });
        for (yes, no) in [("true", "FALSE"), ("T", "f"), ("Yes", "no"), ("y", "N"), ("1", "0")] {
            assert_eq!((truth(yes), truth(no)), (Some(true), Some(false)));
        }
        for text in ["", "2", "on", "-1", "tru", "1.0"] {
            assert_eq!(truth(text), None, "{text}");
        }
    }
}

//! Moments: microseconds since 1970 in SQLite, since 2000 in PostgreSQL's binary form.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

/// Microseconds from 1970 to 2000.
pub(crate) const EPOCH_US: i64 = 946_684_800_000_000;
/// Microseconds of a day.
pub(crate) const DAY_US: i64 = 86_400_000_000;

/// Returns a moment as text, in UTC; or the number where the year is beyond 9999 or before 1.
pub(crate) fn text(since_1970_us: i64) -> String {
    let moment = Timestamp::from_microsecond(since_1970_us).ok();
    let moment = moment.map(|at| Offset::UTC.to_datetime(at));
    match moment.filter(|at| at.year() > 0) {
        Some(at) if since_1970_us % 1_000_000 == 0 => {
            at.strftime("%Y-%m-%d %H:%M:%S+00").to_string()
        }
        Some(at) => {
            let fraction = format!("{:06}", since_1970_us.rem_euclid(1_000_000));
            let fraction = fraction.trim_end_matches('0');
            format!("{}.{fraction}+00", at.strftime("%Y-%m-%d %H:%M:%S"))
        }
        None => since_1970_us.to_string(),
    }
}

/// Returns the microseconds since 1970 of a text: a date, a date with a time, perhaps with an
/// offset from UTC; or that number.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    // PostgreSQL writes offsets without minutes, too.
    let tail = text.len().checked_sub(3).and_then(|at| text.get(at..));
    let is_short = tail.is_some_and(|tail| {
        let bytes = tail.as_bytes();
        matches!(bytes[0], b'+' | b'-') && bytes[1..].iter().all(u8::is_ascii_digit)
    });
    let is_time = text.contains(':');
    let whole = if is_short && is_time { format!("{text}:00") } else { text.to_string() };
    let in_utc = |time: DateTime| Offset::UTC.to_timestamp(time).ok();
    let moment = whole.parse::<Timestamp>().ok();
    let moment = moment.or_else(|| whole.parse().ok().and_then(in_utc));
    let of_date = || whole.parse::<Date>().ok().and_then(|date| in_utc(date.at(0, 0, 0, 0)));
    let moment = moment.or_else(of_date)?;
    Some(moment.as_microsecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        for moment in
            [0, 1, -1, 1_767_225_600_000_000, 1_767_225_600_123_400, -62_135_596_800_000_000]
        {
            assert_eq!(parse(&text(moment)), Some(moment), "{}", text(moment));
        }
        assert_eq!(text(1_767_225_600_500_000), "2026-01-01 00:00:00.5+00");
        assert_eq!(parse("2026-01-01"), Some(1_767_225_600_000_000));
        assert_eq!(parse("2026-01-01 01:00:00+01"), Some(1_767_225_600_000_000));
        assert_eq!(parse("2026-01-01T00:00:00Z"), Some(1_767_225_600_000_000));
        assert_eq!(parse("2026-01-01 00:00:00"), Some(1_767_225_600_000_000));
        assert_eq!(parse("soon"), None);
        assert_eq!(text(i64::MAX), i64::MAX.to_string());
    }
}

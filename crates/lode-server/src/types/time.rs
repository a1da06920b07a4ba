//! Moments: microseconds since 1970 in SQLite, since 2000 in PostgreSQL's binary form.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds from 1970 to 2000.
pub(crate) const EPOCH_US: i64 = 946_684_800_000_000;
/// Microseconds of a day.
pub(crate) const DAY_US: i64 = 86_400_000_000;
const SECOND_US: i64 = 1_000_000;
/// The days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// The days from the first of March in year 0 to 1970.
const BEFORE_1970_DAYS: i64 = 719_468;

/// Returns the microseconds since 1970 of now.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Returns a moment as text, in UTC.
pub(crate) fn text(since_1970_us: i64) -> String {
    let (year, month, day) = date(since_1970_us.div_euclid(DAY_US));
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    let of_day_us = since_1970_us.rem_euclid(DAY_US);
    let seconds = of_day_us / SECOND_US;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = format!(".{:06}", of_day_us % SECOND_US);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}+00{era}")
}

/// Returns the year, the month and the day of a number of days since 1970, in the Gregorian
/// calendar. The year 0 is before the year 1.
fn date(days: i64) -> (i64, i64, i64) {
    // Years start in March here, so that a leap day is the last of its year.
    let days = days + BEFORE_1970_DAYS;
    let era = days.div_euclid(ERA_DAYS);
    let of_era = days.rem_euclid(ERA_DAYS);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let is_next = month >= 10;
    let year = era * 400 + year_of_era + i64::from(is_next);
    (year, if is_next { month - 9 } else { month + 3 }, day)
}

/// Returns the days from 1970 to a day; none if there is no such day.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_january_or_february = month <= 2;
    let march_year = year - i64::from(is_january_or_february);
    let month_of_year = if is_january_or_february { month + 9 } else { month - 3 };
    let of_year = (153 * month_of_year + 2) / 5 + day - 1;
    let year_of_era = march_year.rem_euclid(400);
    let of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + of_year;
    let found = march_year.div_euclid(400) * ERA_DAYS + of_era - BEFORE_1970_DAYS;
    (date(found) == (year, month, day)).then_some(found)
}

/// Returns the microseconds since 1970 of a text: a date, a date with a time, perhaps with an
/// offset from UTC, perhaps before Christ; or that number.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let bc = text.strip_suffix("BC").or_else(|| text.strip_suffix("bc"));
    let rest = &mut bc.unwrap_or(text).trim_end();
    let year = digits(rest, 4..=6)?;
    let year = if bc.is_some() { 1 - year } else { year };
    let month = after(rest, "-").then(|| digits(rest, 1..=2)).flatten()?;
    let day = after(rest, "-").then(|| digits(rest, 1..=2)).flatten()?;
    let days = days(year, month, day)?;
    let mut of_day_us = 0;
    if after(rest, "T") || after(rest, "t") || after(rest, " ") {
        let hour = digits(rest, 1..=2).filter(|hour| *hour < 24)?;
        let minute = minutes(rest)?;
        let second = if after(rest, ":") { digits(rest, 2..=2)? } else { 0 };
        if second > 60 {
            return None;
        }
        let fraction_us = if after(rest, ".") { fraction_us(rest)? } else { 0 };
        of_day_us = (hour * 3_600 + minute * 60 + second) * SECOND_US + fraction_us;
        of_day_us -= offset_us(rest)?;
    }
    if !rest.is_empty() {
        return None;
    }
    // Far from 1970 the product alone may be beyond what the sum is not.
    let since_us = i128::from(days) * i128::from(DAY_US) + i128::from(of_day_us);
    i64::try_from(since_us).ok()
}

/// Takes a text if the rest starts with it.
fn after(rest: &mut &str, start: &str) -> bool {
    let found = rest.strip_prefix(start);
    *rest = found.unwrap_or(rest);
    found.is_some()
}

/// Takes a number of so many digits.
fn digits(rest: &mut &str, count: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let found = rest.bytes().take(*count.end()).take_while(u8::is_ascii_digit).count();
    let number = rest[..found].parse().ok().filter(|_| count.contains(&found))?;
    *rest = &rest[found..];
    Some(number)
}

/// Takes minutes after a colon.
fn minutes(rest: &mut &str) -> Option<i64> {
    after(rest, ":").then(|| digits(rest, 2..=2)).flatten().filter(|minute| *minute < 60)
}

/// Takes a fraction of a second, which is rounded to microseconds.
fn fraction_us(rest: &mut &str) -> Option<i64> {
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number: f64 = format!("0.{}", &rest[..count]).parse().ok()?;
    *rest = &rest[count..];
    Some((number * SECOND_US as f64).round() as i64)
}

/// Takes an offset from UTC, which is 0 if there is none.
fn offset_us(rest: &mut &str) -> Option<i64> {
    *rest = rest.trim_start();
    if rest.is_empty() || after(rest, "Z") || after(rest, "z") {
        return Some(0);
    }
    let is_west = after(rest, "-");
    if !is_west && !after(rest, "+") {
        return None;
    }
    let hour = digits(rest, 2..=2).filter(|hour| *hour < 24)?;
    let minute = match rest.bytes().next() {
        None => 0,
        Some(b':') => minutes(rest)?,
        Some(_) => digits(rest, 2..=2).filter(|minute| *minute < 60)?,
    };
    let second = if after(rest, ":") { digits(rest, 2..=2)? } else { 0 };
    let offset_us = (hour * 3_600 + minute * 60 + second) * SECOND_US;
    Some(if is_west { -offset_us } else { offset_us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        let mut moments = vec![0, 1, -1, 1_767_225_600_123_400, i64::MIN, i64::MAX];
        // All days of some eras, and moments far apart.
        moments.extend((-800_000..800_000).step_by(7).map(|day| day * DAY_US - 1));
        moments.extend((-1_000..1_000).map(|at| at * 9_000_000_000_000_007));
        for moment in moments {
            assert_eq!(parse(&text(moment)), Some(moment), "{}", text(moment));
        }
        for (moment, expected) in [
            (1_767_225_600_500_000, "2026-01-01 00:00:00.5+00"),
            (253_402_300_799_999_999, "9999-12-31 23:59:59.999999+00"),
            (253_402_300_800_000_000, "10000-01-01 00:00:00+00"),
            (-62_135_596_800_000_000, "0001-01-01 00:00:00+00"),
            (-62_135_596_800_000_001, "0001-12-31 23:59:59.999999+00 BC"),
            (951_782_400_000_000, "2000-02-29 00:00:00+00"),
            (i64::MAX, "294247-01-10 04:00:54.775807+00"),
            (i64::MIN, "290309-12-21 19:59:05.224192+00 BC"),
        ] {
            assert_eq!(text(moment), expected);
        }
        for same in [
            "2026-01-01",
            "2026-01-01 01:00:00+01",
            "2026-01-01T00:00:00Z",
            "2026-01-01 00:00",
            "2025-12-31 18:29:59.9999999-0530",
            "2025-12-31 22:00:00.000 -02:00",
            "1767225600000000",
        ] {
            assert_eq!(parse(same), Some(1_767_225_600_000_000), "{same}");
        }
        for wrong in [
            "soon",
            "2026-02-29",
            "2026-13-01",
            "2026-01-01 24:00",
            "2026-01-01 00:60",
            "2026-01-01 00:00:00 Zurich",
            "2026-01-01+é",
            "300000-01-01",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}

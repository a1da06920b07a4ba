//! Columns whose rows have one value, which a text says: those by which a table is partitioned.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};
use lode::Decimal;

/// Microseconds of a day.
const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Makes an array of `rows` times the value in a text, as Delta's protocol has it in "Partition
/// Value Serialization"; `None` if the text is no value of that type. A date means its midnight
/// where a moment is wanted.
pub fn constant_array(kind: &DataType, text: &str, rows: usize) -> Option<ArrayRef> {
    /// Makes the array of a value that the standard library reads.
    macro_rules! parsed {
        ($array:ty) => {
            Arc::new(<$array>::from_value(text.parse().ok()?, rows))
        };
    }
    Some(match kind {
        DataType::Int8 => parsed!(Int8Array),
        DataType::Int16 => parsed!(Int16Array),
        DataType::Int32 => parsed!(Int32Array),
        DataType::Int64 => parsed!(Int64Array),
        DataType::UInt8 => parsed!(UInt8Array),
        DataType::UInt16 => parsed!(UInt16Array),
        DataType::UInt32 => parsed!(UInt32Array),
        DataType::UInt64 => parsed!(UInt64Array),
        DataType::Float32 => {
            let number = text.parse().ok().filter(|&number| is_said(text, f64::from(number)))?;
            Arc::new(Float32Array::from_value(number, rows))
        }
        DataType::Float64 => {
            let number = text.parse().ok().filter(|&number| is_said(text, number))?;
            Arc::new(Float64Array::from_value(number, rows))
        }
        DataType::Decimal128(digits, scale) => {
            let number: Decimal = text.parse().ok()?;
            let number = number.rescaled(*digits, u8::try_from(*scale).ok()?)?;
            let array = Decimal128Array::from_value(number, rows);
            Arc::new(array.with_precision_and_scale(*digits, *scale).ok()?)
        }
        DataType::Boolean => Arc::new(BooleanArray::from(vec![text.parse::<bool>().ok()?; rows])),
        DataType::Date32 => Arc::new(Date32Array::from_value(days(text)?, rows)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let array = TimestampMicrosecondArray::from_value(moment_us(text)?, rows);
            Arc::new(array.with_timezone_opt(zone.clone()))
        }
        DataType::Utf8 => Arc::new(StringArray::from(vec![text; rows])),
        _ => return None,
    })
}

/// Returns true if a text contains the number that was read from it: digits beyond the largest one
/// read as infinity.
pub(crate) fn is_said(text: &str, number: f64) -> bool {
    number.is_finite() || !text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns the days since the start of 1970 of a date `2024-02-29`, by the algorithm of Howard
/// Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn days(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-');
    let mut part = |most_digits| digits(parts.next()?, most_digits);
    let year = part(4)?;
    let month = part(2)?;
    let day = part(2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=days).contains(&day) {
        return None;
    }
    // Years start in March, so that the day that some have more comes last.
    let year = year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let era = year.div_euclid(400);
    let year = year.rem_euclid(400);
    let day_of_era = year * 365 + year / 4 - year / 100 + day_of_year;
    i32::try_from(era * 146_097 + day_of_era - 719_468).ok()
}

/// Returns the microseconds since the start of 1970 of `2024-02-29 12:30:00.5`,
/// `2024-02-29T12:30:00.500000Z` or `2024-02-29`, in UTC.
fn moment_us(text: &str) -> Option<i64> {
    let Some((date, time)) = text.trim_end_matches('Z').split_once([' ', 'T']) else {
        return Some(i64::from(days(text)?) * DAY_US);
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.splitn(3, ':');
    let mut part = |below| digits(parts.next()?, 2).filter(|number| *number < below);
    let seconds = part(24)? * 3_600 + part(60)? * 60 + part(60)?;
    let micros = digits(&format!("{fraction:0<6}"), 6)?;
    Some(i64::from(days(date)?) * DAY_US + seconds * 1_000_000 + micros)
}

/// Returns a number of at most `most` digits, and nothing else.
fn digits(text: &str, most: usize) -> Option<i64> {
    let is_number = text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Decimal128Type;

    use super::*;

    #[test]
    fn dates_and_moments_are_those_of_the_calendar() {
        for (text, wanted) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29", Some(11_016)),
            ("2026-11-23", Some(20_780)),
            ("0001-01-01", Some(-719_162)),
            ("2026-13-01", None),
            ("2026-11", None),
            ("2024-02-29", Some(19_782)),
            ("2026-02-29", None),
            ("2100-02-29", None),
            ("2026-06-31", None),
            ("2026-1-+2", None),
            ("-026-01-02", None),
        ] {
            assert_eq!(days(text), wanted, "{text}");
        }
        assert_eq!(moment_us("1970-01-01 00:00:01.5"), Some(1_500_000));
        assert_eq!(moment_us("1969-12-31T23:59:59.999999Z"), Some(-1));
        assert_eq!(moment_us("1970-01-02"), Some(DAY_US));
        for text in [
            "2026-11-23 06:00",
            "2026-11-23 24:00:00",
            "2026-11-23 23:60:00",
            "2026-11-23 4294967295:00:00",
            "2026-11-23 06:00:00.1234567",
            "2026-11-23 06:00:00.+5",
        ] {
            assert_eq!(moment_us(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_that_says_no_value_of_the_type_makes_no_array() {
        for (kind, text) in [
            (DataType::UInt8, "256"),
            (DataType::Int64, "1.0"),
            (DataType::Float32, "1e39"),
            (DataType::Float64, "-1e999"),
            (DataType::Boolean, "yes"),
            (DataType::Date32, "today"),
            (DataType::Binary, "00"),
            (DataType::Decimal128(5, 2), "1000"),
            (DataType::Decimal128(5, 2), "0.001"),
            (DataType::Float32, "1e39"),
            (DataType::Float64, "-1e999"),
        ] {
            assert!(constant_array(&kind, text, 3).is_none(), "{kind} {text}");
        }
        for kind in [DataType::Float32, DataType::Float64] {
            assert!(constant_array(&kind, "-Infinity", 3).is_some(), "{kind}");
        }
        let whole = constant_array(&DataType::UInt64, "18446744073709551615", 3).expect("an array");
        assert_eq!(whole.len(), 3);
        let price = constant_array(&DataType::Decimal128(5, 2), "-1.5", 2).expect("an array");
        assert_eq!(price.as_primitive::<Decimal128Type>().value(1), -150);
    }
}

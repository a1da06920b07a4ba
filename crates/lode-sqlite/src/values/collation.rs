//! The collation `decimal`: compares texts by the numbers that they are.

use std::cmp::Ordering;

use lode::Decimal;

/// The name of the collation.
pub(crate) const COLLATION: &str = "decimal";

/// Compares two texts: numbers by their values, before all that is no number.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    if let (Some(one), Some(other)) = (parse(one), parse(other)) {
        return one.cmp(&other);
    }
    match (Digits::of(one), Digits::of(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// Returns the decimal that a text is; `None` if it has more than 38 digits, or is no number.
pub(crate) fn parse(text: &str) -> Option<Decimal> {
    text.trim_ascii().parse().ok()
}

/// A number with as many digits as its text has. SQLite makes such a text of a REAL that a column
/// is compared with: `-1.0e+300`.
#[derive(Debug, PartialEq, Eq)]
struct Digits {
    /// -1, 0 or 1.
    sign: i8,
    /// The power of ten of the first digit.
    exponent: i64,
    /// Without zeros around them.
    digits: Vec<u8>,
}

impl Digits {
    /// Reads what `Decimal` reads, however long it is.
    fn of(text: &str) -> Option<Self> {
        let text = text.trim_ascii();
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (number, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = [whole.as_bytes(), fraction.as_bytes()].concat();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let is_digit = |digit: &u8| *digit != b'0';
        let Some(first) = digits.iter().position(is_digit) else {
            return Some(Self { sign: 0, exponent: 0, digits: Vec::new() });
        };
        let last = digits.iter().rposition(is_digit).unwrap_or(first);
        Some(Self {
            sign: if text.starts_with('-') { -1 } else { 1 },
            exponent: whole.len() as i64 - first as i64 + i64::from(exponent),
            digits: digits[first..=last].to_vec(),
        })
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let sizes = || {
            let exponents = self.exponent.cmp(&other.exponent);
            exponents.then_with(|| self.digits.cmp(&other.digits))
        };
        match (self.sign.cmp(&other.sign), self.sign) {
            (Ordering::Equal, 0) => Ordering::Equal,
            (Ordering::Equal, 1) => sizes(),
            (Ordering::Equal, _) => sizes().reverse(),
            (signs, _) => signs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_are_in_one_order_before_texts() {
        let mut long = "1.".to_string();
        long.extend(["0"; 50]);
        let before_two = format!("{long}1");
        let order: [&[&str]; 10] = [
            &["-1.0e+300", "-1e300"],
            &["-10.5", " -10.500 ", "-1.05e1"],
            &["-1e-300"],
            &["0", "-0.0", "0e999", "+0"],
            &["1.0e-300"],
            &["1", "1.00", "100e-2", &long],
            &[&before_two],
            &["2", "2."],
            &["1e38", "1.0e+38"],
            &["", "1e", "x"],
        ];
        for (at, ones) in order.iter().enumerate() {
            for (other_at, others) in order.iter().enumerate() {
                for (one, other) in ones.iter().flat_map(|one| others.iter().map(move |o| (one, o)))
                {
                    let wanted =
                        if at == 9 && other_at == 9 { one.cmp(other) } else { at.cmp(&other_at) };
                    assert_eq!(compare(one, other), wanted, "{one:?} {other:?}");
                }
            }
        }
    }
}

//! PostgreSQL's binary form of decimals: digits to the base of 10,000.
//!
//! Four fields come first: the count of digits, the power of the first, the sign, and the number of
//! decimal digits after the point. The digits follow. Each takes two bytes (`numeric_send` in
//! PostgreSQL's sources).

use bytes::{BufMut, BytesMut};

const NEGATIVE: u16 = 0x4000;

/// Appends a decimal that is written in digits, with perhaps a sign and a point. Returns false for
/// any other text.
pub(crate) fn put(text: &str, out: &mut BytesMut) -> bool {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (NEGATIVE, rest),
        None => (0, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || whole.len() + fraction.len() == 0 {
        return false;
    }
    let scale = fraction.len();
    let whole = format!("{:0>1$}", whole, whole.len().next_multiple_of(4));
    let fraction = format!("{:0<1$}", fraction, scale.next_multiple_of(4));
    let group = |four: &[u8]| four.iter().fold(0, |sum, byte| sum * 10 + u16::from(byte - b'0'));
    let all: Vec<u16> = [whole.as_bytes(), fraction.as_bytes()]
        .iter()
        .flat_map(|part| part.chunks(4).map(group))
        .collect();
    let leading = all.iter().take_while(|group| **group == 0).count();
    let end = all.iter().rposition(|group| *group != 0).map_or(leading, |last| last + 1);
    let groups = &all[leading..end];
    let weight = (whole.len() / 4) as i16 - 1 - leading as i16;
    out.put_u16(groups.len() as u16);
    out.put_i16(if groups.is_empty() { 0 } else { weight });
    out.put_u16(if groups.is_empty() { 0 } else { sign });
    out.put_u16(scale as u16);
    groups.iter().for_each(|group| out.put_u16(*group));
    true
}

/// The most digits before or after the point that are taken.
const MOST_DIGITS: usize = 1_000;

/// Returns the text of a decimal in binary form; none if it is not finite or makes no sense.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    let numbers: Vec<u16> = bytes
        .chunks(2)
        .map(|two| two.try_into().map(u16::from_be_bytes))
        .collect::<Result<_, _>>()
        .ok()?;
    let [count, weight, sign, scale, groups @ ..] = &numbers[..] else { return None };
    let weight = isize::from(*weight as i16);
    let scale = usize::from(*scale);
    let is_wrong = groups.len() != usize::from(*count)
        || scale > MOST_DIGITS
        || weight > (MOST_DIGITS / 4) as isize
        || groups.iter().any(|group| *group > 9_999)
        || !matches!(*sign, 0 | NEGATIVE);
    if is_wrong {
        return None;
    }
    let group = |place: isize| {
        let at = usize::try_from(weight - place).ok();
        at.and_then(|at| groups.get(at)).copied().unwrap_or_default()
    };
    let whole: String = (0..=weight.max(0)).rev().map(|at| format!("{:04}", group(at))).collect();
    let whole = whole.trim_start_matches('0');
    let places = scale.div_ceil(4) as isize;
    let mut fraction: String = (1..=places).map(|at| format!("{:04}", group(-at))).collect();
    fraction.truncate(scale);
    let sign = if *sign == NEGATIVE { "-" } else { "" };
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if scale == 0 { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_come_back() {
        for decimal in ["0", "1", "-1", "12.30", "10000", "9999.9999", "0.0001", "-0.00012345"] {
            let mut bytes = BytesMut::new();
            assert!(put(decimal, &mut bytes), "{decimal}");
            assert_eq!(text(&bytes).as_deref(), Some(decimal));
        }
        // As PostgreSQL sends 12345.678.
        let mut bytes = BytesMut::new();
        assert!(put("12345.678", &mut bytes));
        assert_eq!(bytes[..], [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
        for wrong in ["", "-", ".", "1e3", "NaN", "1.2.3"] {
            assert!(!put(wrong, &mut BytesMut::new()), "{wrong}");
        }
        assert_eq!(text(&[0, 1, 0, 0, 0xc0, 0, 0, 0, 0, 1]), None);
        assert_eq!(text(&[0, 2, 0, 0, 0, 0, 0, 0, 0, 1]), None);
        assert_eq!(text(&[0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1]), None);
        assert_eq!(text(&[1]), None);
    }
}

//! Numbers as SQLite has them, and text that looks like one.

/// A number of SQLite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Whole(i64),
    Real(f64),
}

/// Returns true if a byte is white space that SQLite allows around a number.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

impl Number {
    /// Returns the number that a text looks like, as SQLite's numeric affinity has it; `None` if
    /// there is anything else in it.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let start = text.iter().position(|byte| !is_space(*byte))?;
        let end = text.iter().rposition(|byte| !is_space(*byte))? + 1;
        let text = str::from_utf8(&text[start..end]).ok()?;
        if let Ok(number) = text.parse() {
            return Some(Self::Whole(number));
        }
        // Not "inf" or "nan".
        let is_plain = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        if text.bytes().all(is_plain) { text.parse().ok().map(Self::Real) } else { None }
    }

    /// Returns the whole number itself, if it is one: a real one that is whole, too.
    pub(crate) fn as_whole(self) -> Option<i128> {
        match self.floor() {
            (number, true) => Some(number),
            (_, false) => None,
        }
    }

    /// Returns the greatest whole number that is not greater, and true if it is equal.
    pub(crate) fn floor(self) -> (i128, bool) {
        match self {
            Self::Whole(number) => (number.into(), true),
            // Reals beyond the 128 bits become their ends, and so stay beyond every type.
            Self::Real(number) => (number.floor() as i128, number.floor() == number),
        }
    }

    /// Returns the greatest float that is not greater, of 32 or of 64 bits, and true if it is
    /// equal.
    pub(crate) fn floor_float(self, is_short: bool) -> (f64, bool) {
        let near = match (self, is_short) {
            (Self::Whole(number), true) => f64::from(number as f32),
            (Self::Whole(number), false) => number as f64,
            (Self::Real(number), true) => f64::from(number as f32),
            (Self::Real(number), false) => number,
        };
        let (is_same, is_greater) = match self {
            Self::Whole(number) => (near as i128 == number.into(), near as i128 > number.into()),
            Self::Real(number) => (near == number, near > number),
        };
        let floor = match (is_greater, is_short) {
            (false, _) => near,
            (true, true) => f64::from((near as f32).next_down()),
            (true, false) => near.next_down(),
        };
        (floor, is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_number_if_all_of_it_is() {
        let parse = |text: &str| Number::parse(text.as_bytes());
        assert_eq!(parse(" +7\n"), Some(Number::Whole(7)));
        assert_eq!(parse("-9223372036854775808"), Some(Number::Whole(i64::MIN)));
        assert_eq!(parse("9223372036854775808"), Some(Number::Real(9_223_372_036_854_775_808.0)));
        assert_eq!(parse("5."), Some(Number::Real(5.0)));
        assert_eq!(parse(".5e1"), Some(Number::Real(5.0)));
        for text in ["", " ", "inf", "nan", "1e", "0x10", "7 8", "7\u{a0}", "--1"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}

//! Positions among the changes of a database.

use std::fmt;
use std::str::FromStr;

/// A place among the changes of a database: after one commit, and before the next. Of one database,
/// later positions are greater.
///
/// It is three numbers: a segment of the log, a byte there, and the checksum of the log record that
/// ends there. So a position of another database, or of a commit that a crash has taken back, is
/// recognised. As text it can be kept anywhere.
///
/// ```
/// use lode::Position;
///
/// let position: Position = "12-8192-00c0ffee".parse()?;
/// assert_eq!(position.to_string(), "12-8192-00c0ffee");
/// assert!(position < "12-8240-00000001".parse()?);
/// assert!("12-8192".parse::<Position>().is_err());
/// # Ok::<(), lode::NoPosition>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The number of a segment of the log.
    pub(crate) segment: u64,
    /// The offset in the segment.
    pub(crate) at: u64,
    /// The checksum of the frame before.
    pub(crate) chain: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{:08x}", self.segment, self.at, self.chain)
    }
}

impl FromStr for Position {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let read = || {
            let (segment, rest) = text.split_once('-')?;
            let (at, chain) = rest.split_once('-')?;
            let segment = segment.parse().ok()?;
            let at = at.parse().ok()?;
            let chain = u32::from_str_radix(chain, 16).ok()?;
            // Other spellings of the numbers are of no position that was printed.
            Some(Self { segment, at, chain }).filter(|read| read.to_string() == text)
        };
        read().ok_or_else(|| NoPosition { text: text.into() })
    }
}

/// A text that is no [`Position`].
///
/// ```
/// let refused = "yesterday".parse::<lode::Position>().expect_err("it is none");
/// assert_eq!(
///     refused.to_string(),
///     "\"yesterday\" is no position; one looks like 12-8192-00c0ffee"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no position; one looks like 12-8192-00c0ffee")]
pub struct NoPosition {
    /// The text.
    pub text: Box<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back_and_other_texts_are_refused() {
        for position in [
            Position { segment: 1, at: 8192, chain: 0 },
            Position { segment: u64::MAX, at: u64::MAX, chain: u32::MAX },
        ] {
            assert_eq!(position.to_string().parse(), Ok(position));
        }
        for text in ["", "1", "1-2", "1-2-3", "01-2-00000003", "1-2-0000000G", "+1-2-00000003"] {
            let refused = text.parse::<Position>();
            assert_eq!(refused, Err(NoPosition { text: text.into() }));
        }
    }
}

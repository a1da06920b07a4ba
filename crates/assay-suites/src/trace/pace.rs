//! The pace of a replay.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::options::count;

/// The word for a replay without pauses.
const FASTEST: &str = "as-fast-as-possible";
/// The word for a replay at the times of the trace.
const RECORDED: &str = "recorded";

/// The pace of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// An operation follows the one before.
    Fastest,
    /// Operations are due at the times of the trace, divided by this factor.
    Times(f64),
}

impl Pace {
    /// Returns the moment at which an operation is due; none if it follows the one before.
    pub(super) fn due(self, time_ns: u64) -> Option<Duration> {
        match self {
            Self::Fastest => None,
            Self::Times(factor) => Some(Duration::from_nanos((time_ns as f64 / factor) as u64)),
        }
    }
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_suffix('x').or_else(|| text.strip_suffix('×')) {
            _ if text == FASTEST => Ok(Self::Fastest),
            _ if text == RECORDED => Ok(Self::Times(1.0)),
            Some(factor) => count::parse_scale(factor).map(Self::Times),
            None => Err(format!("must be {RECORDED}, {FASTEST}, or a factor such as 10x")),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fastest => f.write_str(FASTEST),
            Self::Times(1.0) => f.write_str(RECORDED),
            Self::Times(factor) => write!(f, "{factor}x"),
        }
    }
}

impl Serialize for Pace {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

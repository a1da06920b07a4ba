//! Numbers of threads: one, or a range such as `2-16`.

use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::count;

/// The most threads.
const MOST: u64 = 256;

/// Numbers of threads, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    first: u32,
    last: u32,
}

impl Threads {
    /// Returns one number of threads.
    pub fn one(count: u32) -> Self {
        Self { first: count, last: count }
    }

    /// Returns every number once, in the order named.
    pub fn each(ranges: &[Self]) -> Vec<u32> {
        let mut counts = Vec::new();
        for count in ranges.iter().flat_map(|range| range.first..=range.last) {
            if !counts.contains(&count) {
                counts.push(count);
            }
        }
        counts
    }

    /// Returns ranges as single numbers, each once.
    pub(crate) fn apart(ranges: &[Self]) -> Vec<Self> {
        Self::each(ranges).into_iter().map(Self::one).collect()
    }
}

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (count::parse(first)?, count::parse(last)?) {
            (first @ 1.., last) if first <= last && last <= MOST => {
                Ok(Self { first: first as u32, last: last as u32 })
            }
            _ => Err(format!("threads are 1 to {MOST}, a range is like 2-16")),
        }
    }
}

impl Serialize for Threads {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        if self.first == self.last {
            out.serialize_u32(self.first)
        } else {
            out.collect_str(&format_args!("{}-{}", self.first, self.last))
        }
    }
}

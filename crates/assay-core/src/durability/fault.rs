//! Faults of a disk.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Found;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A read returns EIO.
    EioRead,
    /// A write returns EIO, and writes nothing.
    EioWrite,
    /// A synchronisation returns EIO. What it should have written counts as clean, and is lost.
    EioSync,
    /// An operation that needs space returns ENOSPC.
    Full,
    /// A write takes a part of its bytes only.
    ShortWrite,
    /// A write or a synchronisation takes longer.
    Slow,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 6] =
        [Self::EioRead, Self::EioWrite, Self::EioSync, Self::Full, Self::ShortWrite, Self::Slow];

    /// Returns the fault's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::EioRead => "eio-read",
            Self::EioWrite => "eio-write",
            Self::EioSync => "eio-sync",
            Self::Full => "full",
            Self::ShortWrite => "short-write",
            Self::Slow => "slow",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|fault| fault.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no fault {text}; there are {names}")
        })
    }
}

/// The time that a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lasts {
    /// For one operation.
    Once,
    /// For several operations; then the disk is healed.
    Healed,
    /// For as long as the writer lives.
    Always,
}

impl Lasts {
    /// All times.
    pub const ALL: [Self; 3] = [Self::Once, Self::Healed, Self::Always];

    /// Returns the time's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Healed => "healed",
            Self::Always => "always",
        }
    }
}

impl fmt::Display for Lasts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Lasts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|lasts| lasts.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no fault lasts {text}; there are {names}")
        })
    }
}

/// The faults of a test, and what they led to besides the stores that were left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The kind of the faults.
    pub fault: Fault,
    /// The time that each lasted; none if rounds took turns.
    pub lasts: Option<Lasts>,
    /// Rounds in which an operation met the fault.
    pub met_rounds: u32,
    /// Commits that were refused, in all rounds together.
    pub refused_commits: u64,
    /// Rounds in which the writer's process ended itself.
    pub ended_rounds: u32,
    /// Rounds that left a commit of which the engine said that nothing had happened.
    pub returned_rounds: u32,
    /// Rounds in which the writer got a wrong answer.
    pub wrong_rounds: u32,
    /// Rounds in which the writer hung.
    pub hung_rounds: u32,
}

impl Tally {
    /// Returns the tally of a test before its first round.
    pub fn new(fault: Fault, lasts: Option<Lasts>) -> Self {
        Self {
            fault,
            lasts,
            met_rounds: 0,
            refused_commits: 0,
            ended_rounds: 0,
            returned_rounds: 0,
            wrong_rounds: 0,
            hung_rounds: 0,
        }
    }

    pub(super) fn add(&mut self, found: &Found) {
        self.returned_rounds += u32::from(matches!(found, Found::Returned(_)));
        self.wrong_rounds += u32::from(matches!(found, Found::Wrong(_)));
        self.hung_rounds += u32::from(matches!(found, Found::Hung(_)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_and_time_has_its_name() {
        for fault in Fault::ALL {
            assert_eq!(fault.name().parse(), Ok(fault));
            assert_eq!(serde_json::to_string(&fault).expect("text"), format!("\"{fault}\""));
        }
        for lasts in Lasts::ALL {
            assert_eq!(lasts.name().parse(), Ok(lasts));
            assert_eq!(serde_json::to_string(&lasts).expect("text"), format!("\"{lasts}\""));
        }
        assert!("some".parse::<Fault>().is_err() && "some".parse::<Lasts>().is_err());
    }
}

//! What a power cut spares of the changes that nobody synchronised.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use assay_core::random::{derive, draw, mix};
use serde::{Deserialize, Serialize};

use crate::volume::{Change, Ino};

/// How a cut treats the changes that were not synchronised. Of the journal a prefix always
/// survives; how long it is, is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// All are lost.
    Everything,
    /// None is lost.
    Nothing,
    /// A prefix of all survives: the device wrote in order.
    Prefix,
    /// Of each file a prefix survives: the files were written independently.
    Files,
    /// Each sector of 512 bytes of each write survives or not, by itself: writes are torn and
    /// out of order.
    #[serde(rename = "sectors-512")]
    Sectors512,
    /// The same with sectors of 4,096 bytes.
    #[serde(rename = "sectors-4096")]
    Sectors4096,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Everything,
        Self::Nothing,
        Self::Prefix,
        Self::Files,
        Self::Sectors512,
        Self::Sectors4096,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Nothing => "nothing",
            Self::Prefix => "prefix",
            Self::Files => "files",
            Self::Sectors512 => "sectors-512",
            Self::Sectors4096 => "sectors-4096",
        }
    }

    /// The changes that survive, in order; the same seed spares the same.
    pub(crate) fn survivors(self, seed: u64, changes: &[Change]) -> Vec<Change> {
        let count = changes.len() as u64;
        let mut journal = match self {
            Self::Everything => 0,
            Self::Nothing => count,
            _ => {
                let journaled = changes.iter().filter(|change| change.is_journaled()).count();
                draw(derive(seed, "journal"), 0, journaled as u64 + 1)
            }
        };
        let mut files = self.allowances(seed, changes);
        let prefix = draw(derive(seed, "prefix"), 0, count + 1);
        let sectors = Sectors::new(seed);
        let mut survivors = Vec::new();
        for (at, change) in (0..).zip(changes) {
            let spared = match self {
                Self::Everything => false,
                Self::Nothing => true,
                Self::Prefix => at < prefix,
                _ if change.is_journaled() => take(&mut journal),
                Self::Files => {
                    change.subject().and_then(|ino| files.get_mut(&ino)).is_some_and(take)
                }
                Self::Sectors512 => {
                    sectors.spare(at, change, 512, &mut survivors);
                    false
                }
                Self::Sectors4096 => {
                    sectors.spare(at, change, 4096, &mut survivors);
                    false
                }
            };
            if spared {
                survivors.push(change.clone());
            }
        }
        survivors
    }

    /// How many changes of each file's data survive, where files have prefixes of their own.
    fn allowances(self, seed: u64, changes: &[Change]) -> HashMap<Ino, u64> {
        let mut files: HashMap<Ino, u64> = HashMap::new();
        if self == Self::Files {
            for change in changes.iter().filter(|change| !change.is_journaled()) {
                *files.entry(change.subject().unwrap_or_default()).or_default() += 1;
            }
            for (ino, count) in &mut files {
                *count = draw(derive(seed, "files"), *ino, *count + 1);
            }
        }
        files
    }
}

/// One more of them, if there is one left.
fn take(left: &mut u64) -> bool {
    let some = *left > 0;
    *left = left.saturating_sub(1);
    some
}

/// A lottery of sectors: how likely one survives is drawn first, from 1/8 to 7/8.
struct Sectors {
    seed: u64,
    eighths: u64,
}

impl Sectors {
    fn new(seed: u64) -> Self {
        let seed = derive(seed, "sectors");
        Self { seed, eighths: 1 + draw(seed, 0, 7) }
    }

    fn survives(&self, change: u64, sector: u64) -> bool {
        draw(mix(self.seed, change), sector, 8) < self.eighths
    }

    /// Adds what survives of a change of data.
    fn spare(&self, at: u64, change: &Change, sector_bytes: u64, survivors: &mut Vec<Change>) {
        match change {
            Change::Write { ino, offset, bytes } => {
                let end = offset + bytes.len() as u64;
                let mut from = *offset;
                while from < end {
                    let sector = from / sector_bytes;
                    let to = end.min((sector + 1) * sector_bytes);
                    if self.survives(at, sector) {
                        let piece = &bytes[(from - offset) as usize..(to - offset) as usize];
                        let bytes = Arc::from(piece);
                        survivors.push(Change::Write { ino: *ino, offset: from, bytes });
                    }
                    from = to;
                }
            }
            other if self.survives(at, 0) => survivors.push(other.clone()),
            _ => {}
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Loss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|loss| loss.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no loss {text}; there are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(ino: Ino, offset: u64, len: usize) -> Change {
        Change::Write { ino, offset, bytes: vec![7; len].into() }
    }

    #[test]
    fn every_loss_has_its_name() {
        for loss in Loss::ALL {
            assert_eq!(loss.name().parse(), Ok(loss));
            assert_eq!(serde_json::to_string(&loss).expect("text"), format!("\"{loss}\""));
        }
        assert!("some".parse::<Loss>().is_err());
    }

    #[test]
    fn a_prefix_is_one_of_each_length_sooner_or_later() {
        let changes: Vec<_> = (0..4).map(|at| write(2, at * 10, 10)).collect();
        let mut lengths = [0; 5];
        for seed in 0..200 {
            lengths[Loss::Prefix.survivors(seed, &changes).len()] += 1;
        }
        assert!(lengths.iter().all(|&count| count > 10), "{lengths:?}");
    }

    #[test]
    fn files_lose_independently() {
        let changes: Vec<_> = (0..8).map(|at| write(2 + at % 2, at * 10, 10)).collect();
        let differ = (0..50).any(|seed| {
            let left = Loss::Files.survivors(seed, &changes);
            let of = |ino| left.iter().filter(|change| change.subject() == Some(ino)).count();
            of(2) != of(3)
        });
        assert!(differ);
    }

    #[test]
    fn sectors_tear_a_write_at_their_borders() {
        let changes = [write(2, 500, 5000)];
        let mut torn = false;
        for seed in 0..50 {
            for piece in Loss::Sectors512.survivors(seed, &changes) {
                let Change::Write { offset, bytes, .. } = piece else {
                    panic!("a write becomes writes");
                };
                let end = offset + bytes.len() as u64;
                assert!(offset == 500 || offset.is_multiple_of(512));
                assert!(end == 5500 || end.is_multiple_of(512));
                torn |= bytes.len() < 5000;
            }
        }
        assert!(torn);
    }
}

//! The unsynchronised changes that a power cut spares.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use assay_core::random::{derive, draw, mix};
use serde::{Deserialize, Serialize};

use crate::volume::{Change, Ino};

/// A cut's treatment of the changes that were not synchronised. Of the journal a prefix always
/// survives; its length is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// All changes are lost.
    Everything,
    /// No change is lost.
    Nothing,
    /// A prefix of all survives: the device wrote in order.
    Prefix,
    /// Of each file a prefix survives: the files were written independently.
    Files,
    /// Each sector of 512 bytes survives by itself, as it was after some of the writes to it:
    /// writes are torn and out of order.
    #[serde(rename = "sectors-512")]
    Sectors512,
    /// Each sector of 4,096 bytes survives by itself, as with [`Self::Sectors512`].
    #[serde(rename = "sectors-4096")]
    Sectors4096,
}

impl Loss {
    /// All losses.
    pub const ALL: [Self; 6] = [
        Self::Everything,
        Self::Nothing,
        Self::Prefix,
        Self::Files,
        Self::Sectors512,
        Self::Sectors4096,
    ];

    /// Returns the loss's name.
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

    /// Returns the changes that survive, in order; equal seeds spare equal changes.
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
        let sector_bytes = match self {
            Self::Sectors512 => Some(512),
            Self::Sectors4096 => Some(4096),
            _ => None,
        };
        if let Some(sector_bytes) = sector_bytes {
            let sectors = Sectors::drawn(seed, sector_bytes, changes);
            return Spared { journal, sectors }.survivors(changes);
        }
        let mut files = self.allowances(seed, changes);
        let prefix = draw(derive(seed, "prefix"), 0, count + 1);
        let mut at = 0;
        survivors(changes, &mut |change, is_hidden, left| {
            at += 1;
            let is_spared = match self {
                Self::Everything => false,
                Self::Nothing => true,
                Self::Prefix => at <= prefix,
                _ if change.is_journaled() => take(&mut journal),
                _ if is_hidden => false,
                _ => change.subject().and_then(|ino| files.get_mut(&ino)).is_some_and(take),
            };
            left.extend(is_spared.then(|| change.clone()));
            is_spared
        })
    }

    /// Returns the number of each file's data changes that survive, if each has a prefix.
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

/// Returns the changes that survive, in order. `spare` adds a change to them, or a part of it, and
/// returns true if that is all of it. Its second argument is true if the change is hidden: data
/// written to a file after it was cut off is in other blocks than the data before. Without the one,
/// the other cannot be seen.
fn survivors(
    changes: &[Change],
    spare: &mut dyn FnMut(&Change, bool, &mut Vec<Change>) -> bool,
) -> Vec<Change> {
    let mut left = Vec::new();
    let mut as_before: HashSet<Ino> = HashSet::new();
    for change in changes {
        let is_hidden = change.subject().is_some_and(|ino| as_before.contains(&ino));
        let is_spared = spare(change, is_hidden, &mut left);
        if let (Change::Size { ino, shrinks: true, .. }, false) = (change, is_spared) {
            as_before.insert(*ino);
        }
    }
    left
}

/// The changes that a cut spares: of the journal a prefix, and of the writes to each sector a
/// prefix.
pub(crate) struct Spared {
    pub(crate) journal: u64,
    pub(crate) sectors: Sectors,
}

impl Spared {
    /// Returns the changes that survive, in order.
    pub(crate) fn survivors(self, changes: &[Change]) -> Vec<Change> {
        let Self { mut journal, mut sectors } = self;
        survivors(changes, &mut |change, is_hidden, left| {
            if change.is_journaled() {
                let is_spared = take(&mut journal);
                left.extend(is_spared.then(|| change.clone()));
                return is_spared;
            }
            if !is_hidden {
                sectors.spare(change, left);
            }
            false
        })
    }
}

/// Takes one from `left`. Returns true if one was left.
fn take(left: &mut u64) -> bool {
    let some = *left > 0;
    *left = left.saturating_sub(1);
    some
}

/// The sector of a file, by its number.
pub(crate) type Sector = (Ino, u64);

/// The sectors of files. The kernel writes a sector back as it is at some time, with all that was
/// written to it until then. So of the writes to each sector a prefix survives.
pub(crate) struct Sectors {
    pub(crate) sector_bytes: u64,
    /// The number of writes to each sector that survive.
    pub(crate) left: HashMap<Sector, u64>,
}

impl Sectors {
    /// Returns sectors of which all writes survive.
    pub(crate) fn all(sector_bytes: u64, changes: &[Change]) -> Self {
        let mut left: HashMap<Sector, u64> = HashMap::new();
        for change in changes {
            for (ino, sector, _) in pieces(change, sector_bytes) {
                *left.entry((ino, sector)).or_default() += 1;
            }
        }
        Self { sector_bytes, left }
    }

    /// Draws what survives: with a probability that is drawn first, from 1/8 to 7/8, a prefix of at
    /// least one write to a sector, else none.
    fn drawn(seed: u64, sector_bytes: u64, changes: &[Change]) -> Self {
        let Self { mut left, .. } = Self::all(sector_bytes, changes);
        let seed = derive(seed, "sectors");
        let eighths = 1 + draw(seed, 0, 7);
        for ((ino, sector), count) in &mut left {
            let own = mix(mix(seed, *ino), *sector);
            *count = if draw(own, 0, 8) < eighths { 1 + draw(own, 1, *count) } else { 0 };
        }
        Self { sector_bytes, left }
    }

    /// Adds the pieces of a write that survive.
    fn spare(&mut self, change: &Change, survivors: &mut Vec<Change>) {
        for (ino, sector, piece) in pieces(change, self.sector_bytes) {
            if self.left.get_mut(&(ino, sector)).is_some_and(take) {
                survivors.push(piece);
            }
        }
    }
}

/// Cuts a write at the borders of sectors: file, number of the sector, and the write to it.
fn pieces(change: &Change, sector_bytes: u64) -> Vec<(Ino, u64, Change)> {
    let Change::Write { ino, offset, bytes } = change else {
        return Vec::new();
    };
    let end = offset + bytes.len() as u64;
    let mut from = *offset;
    let mut pieces = Vec::new();
    while from < end {
        let sector = from / sector_bytes;
        let to = end.min((sector + 1) * sector_bytes);
        let piece = Arc::from(&bytes[(from - offset) as usize..(to - offset) as usize]);
        pieces.push((*ino, sector, Change::Write { ino: *ino, offset: from, bytes: piece }));
        from = to;
    }
    pieces
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

    /// A sector is written back as a whole: a later write to it is not there without an earlier.
    #[test]
    fn writes_to_one_sector_survive_in_their_order() {
        let changes = [write(2, 0, 100), write(2, 100, 100), write(2, 200, 100)];
        let mut lengths = [0; 4];
        for seed in 0..200 {
            let left = Loss::Sectors512.survivors(seed, &changes);
            for (at, change) in left.iter().enumerate() {
                assert!(
                    matches!(change, Change::Write { offset, .. } if *offset == 100 * at as u64)
                );
            }
            lengths[left.len()] += 1;
        }
        assert!(lengths.iter().all(|&count| count > 10), "{lengths:?}");
    }

    #[test]
    fn what_was_written_after_a_cut_off_needs_the_cut_off() {
        let cut_off = Change::Size { ino: 2, size_bytes: 0, shrinks: true };
        let changes = [write(2, 0, 10), cut_off, write(2, 0, 10)];
        for loss in [Loss::Files, Loss::Sectors512, Loss::Sectors4096] {
            let mut kept = 0;
            for seed in 0..100 {
                let left = loss.survivors(seed, &changes);
                let there = left.iter().any(Change::is_journaled);
                kept += u32::from(there);
                let writes = left.iter().filter(|change| !change.is_journaled()).count();
                assert!(there || writes <= 1, "{loss}: {left:?}");
            }
            assert!((20..80).contains(&kept), "{loss}: {kept}");
        }
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

//! A disk's live content, the content that a power cut would leave, and the changes between them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::Range;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use crate::image::PAGE_BYTES;
use crate::loss::Loss;
use crate::states::States;
use crate::volume::{Attributes, Change, Ino, Kind, Name, Node, ROOT, Volume};

/// The most memory of changes that wait for their synchronisation. Beyond it their older half
/// becomes durable, as if the kernel had written it back.
const PENDING_BYTES_MAX: usize = 128 << 20;

/// The time at which names become durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Directories {
    /// All changed names, in order, when anything at all is synchronised: a journal, as ext4 and
    /// most others keep one.
    #[default]
    Journal,
    /// The names of a directory when it is synchronised, which is all that POSIX promises.
    Strict,
}

/// All bytes of a file.
pub(crate) const WHOLE_FILE: Range<u64> = 0..u64::MAX;

/// A disk with a volume on it.
#[derive(Debug, Default)]
pub struct Disk {
    live: Volume,
    durable: Volume,
    pending: Vec<Change>,
    pending_bytes: usize,
    directories: Directories,
    last_ino: Ino,
    /// Pages of files that count as clean and are not durable, since a synchronisation failed.
    falsely_clean: BTreeSet<(Ino, u64)>,
}

/// The effect of a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Changes that waited for their synchronisation.
    pub pending: u64,
    /// Bytes of data in the waiting changes.
    pub pending_bytes: u64,
    /// Waiting changes, or pieces of them, that survived.
    pub survived: u64,
}

impl Disk {
    /// Returns an empty disk.
    pub fn new(directories: Directories) -> Self {
        Self { directories, last_ino: ROOT, ..Self::default() }
    }

    /// Returns a disk with this content, all of it synchronised.
    pub fn holding(volume: Volume, directories: Directories) -> Self {
        let last_ino = volume.last_ino();
        Self { live: volume.clone(), durable: volume, directories, last_ino, ..Self::default() }
    }

    /// Returns the time at which names become durable.
    pub fn directories(&self) -> Directories {
        self.directories
    }

    /// Returns the live content.
    pub fn live(&self) -> &Volume {
        &self.live
    }

    /// Makes a node and enters it in a directory.
    pub fn create(
        &mut self,
        parent: Ino,
        name: &OsStr,
        kind: Kind,
        attributes: Attributes,
    ) -> Result<Ino, Errno> {
        if self.live.lookup(parent, name).is_ok() {
            return Err(Errno::EEXIST);
        }
        self.last_ino += 1;
        let ino = self.last_ino;
        let node = Node::new(kind, attributes);
        // Without a name the node is nothing that a cut could spare.
        self.durable.adopt(ino, node.clone());
        self.live.adopt(ino, node);
        self.change(Change::Enter { parent, name: name.into(), ino })?;
        Ok(ino)
    }

    /// Sets the size of a file.
    pub fn resize(&mut self, ino: Ino, size_bytes: u64) -> Result<(), Errno> {
        let shrinks = match &self.live.node(ino)?.kind {
            Kind::File(image) => size_bytes < image.size_bytes(),
            _ => return Err(Errno::EISDIR),
        };
        self.change(Change::Size { ino, size_bytes, shrinks })
    }

    /// Moves a name.
    pub fn rename(&mut self, from: Name<'_>, to: Name<'_>, exchange: bool) -> Result<(), Errno> {
        let ino = self.live.lookup(from.parent, from.name)?;
        self.change(Change::Move {
            parent: from.parent,
            name: from.name.into(),
            new_parent: to.parent,
            new_name: to.name.into(),
            ino,
            exchange,
        })
    }

    /// Makes a change.
    pub fn change(&mut self, change: Change) -> Result<(), Errno> {
        self.live.apply(&change)?;
        let change = self.with_whole_pages(change);
        self.pending_bytes += change.size_bytes();
        self.pending.push(change);
        if self.pending_bytes > PENDING_BYTES_MAX {
            self.write_back();
        }
        Ok(())
    }

    /// Synchronises a file or a directory.
    pub fn synchronise(&mut self, subject: Ino) {
        let mut rest: Vec<Change> = Vec::new();
        for change in std::mem::take(&mut self.pending) {
            let durable = change.subject() == Some(subject)
                || match self.directories {
                    Directories::Journal => change.is_journaled(),
                    Directories::Strict => change.directories().contains(&Some(subject)),
                };
            if !durable {
                rest.push(change);
                continue;
            }
            if let Change::Size { ino, size_bytes, .. } = change {
                rest = rest.into_iter().filter_map(|early| clip(early, ino, size_bytes)).collect();
            }
            harden(&mut self.durable, &change);
        }
        self.keep(rest);
    }

    /// Fails to synchronise the pages of a range of a file, as Linux does: the data that was to be
    /// written counts as clean. It can be read until the power goes. No later synchronisation
    /// writes it, unless its page is changed again (Rebello et al., USENIX ATC 2020).
    pub fn fail_to_synchronise(&mut self, subject: Ino, range: Range<u64>) {
        let page = PAGE_BYTES as u64;
        let from = range.start / page * page;
        let until = range.end.div_ceil(page).saturating_mul(page);
        let mut rest = Vec::new();
        for change in std::mem::take(&mut self.pending) {
            let Change::Write { ino, offset, bytes } = &change else {
                rest.push(change);
                continue;
            };
            let (ino, offset, end) = (*ino, *offset, offset + bytes.len() as u64);
            let lost = offset.max(from)..end.min(until);
            if ino != subject || lost.is_empty() {
                rest.push(change);
                continue;
            }
            let lost_pages = pages(lost.start, lost.end - lost.start);
            self.falsely_clean.extend(lost_pages.map(|page| (ino, page)));
            for kept in [offset..lost.start, lost.end..end] {
                let bytes = &bytes[(kept.start - offset) as usize..(kept.end - offset) as usize];
                let write = || Change::Write { ino, offset: kept.start, bytes: bytes.into() };
                rest.extend((!bytes.is_empty()).then(write));
            }
        }
        self.keep(rest);
    }

    /// Widens a write to the pages that count as clean: they are dirty again, as a whole.
    fn with_whole_pages(&mut self, change: Change) -> Change {
        if self.falsely_clean.is_empty() {
            return change;
        }
        if let Change::Size { ino, size_bytes, shrinks: true } = change {
            let first_gone = size_bytes.div_ceil(PAGE_BYTES as u64);
            self.falsely_clean.retain(|&(file, page)| file != ino || page < first_gone);
        }
        let Change::Write { ino, offset, bytes } = change else { return change };
        let Ok(Kind::File(image)) = self.live.node(ino).map(|node| &node.kind) else {
            return Change::Write { ino, offset, bytes };
        };
        let mut from = offset;
        let mut end = offset + bytes.len() as u64;
        for page in pages(offset, bytes.len() as u64) {
            if self.falsely_clean.remove(&(ino, page)) {
                from = from.min(page * PAGE_BYTES as u64);
                end = end.max((page + 1) * PAGE_BYTES as u64).min(image.size_bytes());
            }
        }
        Change::Write { ino, offset: from, bytes: image.read(from, (end - from) as usize).into() }
    }

    /// Cuts the power: of the changes that were not synchronised, those that `loss` spares are
    /// there when it returns.
    pub fn cut(&mut self, loss: Loss, seed: u64) -> Cut {
        let survivors = loss.survivors(seed, &self.pending);
        let cut = Cut {
            pending: self.pending.len() as u64,
            pending_bytes: self.pending.iter().map(data_bytes).sum(),
            survived: survivors.len() as u64,
        };
        survivors.iter().for_each(|change| harden(&mut self.durable, change));
        self.durable.sweep();
        self.live = self.durable.clone();
        self.falsely_clean.clear();
        self.keep(Vec::new());
        cut
    }

    /// Returns states in which a cut can leave the disk now, up to `most` different ones. A seed
    /// draws those that no rule names.
    pub(crate) fn states(&self, most: usize, seed: u64) -> States {
        let after = |survivors: &[Change]| {
            let mut volume = self.durable.clone();
            survivors.iter().for_each(|change| harden(&mut volume, change));
            volume.sweep();
            volume
        };
        States::of(&self.pending, most, seed, &after)
    }

    fn keep(&mut self, pending: Vec<Change>) {
        self.pending_bytes = pending.iter().map(Change::size_bytes).sum();
        self.pending = pending;
    }

    fn write_back(&mut self) {
        let rest = self.pending.split_off(self.pending.len() / 2);
        self.pending.iter().for_each(|change| harden(&mut self.durable, change));
        self.keep(rest);
    }
}

/// Makes a change on the durable volume. If the node of the change was lost, the change is lost
/// too. The exception is a name that moved: it is durable without the old one.
fn harden(durable: &mut Volume, change: &Change) {
    let applied = durable.apply(change);
    if let (Err(Errno::ENOENT), Change::Move { new_parent, new_name, ino, exchange: false, .. }) =
        (applied, change)
    {
        let _ = durable.place(*new_parent, new_name, *ino);
    }
}

/// Cuts a change that was made before its file got a size, and becomes durable after it.
fn clip(change: Change, file: Ino, size_bytes: u64) -> Option<Change> {
    match change {
        Change::Write { ino, offset, bytes } if ino == file => {
            let left = size_bytes.saturating_sub(offset).min(bytes.len() as u64) as usize;
            (left > 0).then(|| Change::Write { ino, offset, bytes: bytes[..left].into() })
        }
        other => Some(other),
    }
}

/// Returns the numbers of the pages of a range.
pub(crate) fn pages(offset: u64, len: u64) -> Range<u64> {
    let page = PAGE_BYTES as u64;
    offset / page..(offset + len).div_ceil(page)
}

fn data_bytes(change: &Change) -> u64 {
    match change {
        Change::Write { bytes, .. } => bytes.len() as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;

//! A disk's live content, the content that a power cut would leave, and the changes between them.

use std::ffi::OsStr;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use crate::loss::Loss;
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

/// A disk with a volume on it.
#[derive(Debug, Default)]
pub struct Disk {
    live: Volume,
    durable: Volume,
    pending: Vec<Change>,
    pending_bytes: usize,
    directories: Directories,
    last_ino: Ino,
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
        self.keep(Vec::new());
        cut
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
/// too, except for a name that moved, which is durable without the old one.
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

fn data_bytes(change: &Change) -> u64 {
    match change {
        Change::Write { bytes, .. } => bytes.len() as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::image::Image;

    const PLAIN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };

    fn file(disk: &mut Disk, name: &str) -> Ino {
        disk.create(ROOT, OsStr::new(name), Kind::File(Image::default()), PLAIN).expect("a file")
    }

    fn write(disk: &mut Disk, ino: Ino, offset: u64, bytes: &[u8]) {
        disk.change(Change::Write { ino, offset, bytes: bytes.into() }).expect("a write");
    }

    fn after(disk: &mut Disk, loss: Loss) -> BTreeMap<String, Vec<u8>> {
        disk.cut(loss, 1);
        disk.live().files()
    }

    #[test]
    fn what_was_synchronised_survives_and_nothing_else() {
        let mut disk = Disk::new(Directories::Journal);
        let (a, b) = (file(&mut disk, "a"), file(&mut disk, "b"));
        write(&mut disk, a, 0, b"one");
        write(&mut disk, b, 0, b"two");
        disk.synchronise(a);
        write(&mut disk, a, 0, b"ONE");
        let left = after(&mut disk, Loss::Everything);
        // The name of b was in the journal that a's synchronisation wrote; its data was not.
        let expected = [("/a", b"one".to_vec()), ("/b", Vec::new())];
        assert_eq!(left, expected.map(|(name, bytes)| (name.to_string(), bytes)).into());
    }

    #[test]
    fn a_restored_disk_is_as_the_cut_left_it() {
        let mut disk = Disk::new(Directories::Journal);
        let a = file(&mut disk, "a");
        write(&mut disk, a, 0, b"one");
        disk.synchronise(a);
        let left = after(&mut disk, Loss::Everything);
        let mut restored = Disk::holding(disk.live().clone(), Directories::Journal);
        let b = file(&mut restored, "b");
        assert_ne!(a, b, "a new file gets a number of its own");
        write(&mut restored, a, 0, b"TWO");
        assert_eq!(after(&mut restored, Loss::Everything), left, "all of it was synchronised");
    }

    #[test]
    fn strict_directories_lose_names_that_were_not_synchronised() {
        let mut disk = Disk::new(Directories::Strict);
        let a = file(&mut disk, "a");
        write(&mut disk, a, 0, b"one");
        disk.synchronise(a);
        let b = file(&mut disk, "b");
        disk.synchronise(ROOT);
        write(&mut disk, b, 0, b"two");
        disk.synchronise(b);
        file(&mut disk, "c");
        let left = after(&mut disk, Loss::Everything);
        // The root was synchronised after a and b were entered, and before c was.
        assert_eq!(left["/a"], b"one");
        assert_eq!(left["/b"], b"two");
        assert!(!left.contains_key("/c"));
        let mut disk = Disk::new(Directories::Strict);
        let a = file(&mut disk, "a");
        write(&mut disk, a, 0, b"one");
        disk.synchronise(a);
        assert!(after(&mut disk, Loss::Everything).is_empty());
    }

    #[test]
    fn a_name_moves_whole_or_not_at_all() {
        for (loss, expected) in [(Loss::Everything, "old"), (Loss::Nothing, "new")] {
            let mut disk = Disk::new(Directories::Journal);
            for (name, bytes) in [("target", b"old"), ("temporary", b"new")] {
                let ino = file(&mut disk, name);
                write(&mut disk, ino, 0, bytes);
                disk.synchronise(ino);
            }
            let (from, to) = (OsStr::new("temporary"), OsStr::new("target"));
            let name = |name| Name { parent: ROOT, name };
            disk.rename(name(from), name(to), false).expect("a rename");
            assert_eq!(after(&mut disk, loss)["/target"], expected.as_bytes());
        }
    }

    #[test]
    fn a_name_that_moved_needs_only_its_new_directory() {
        let mut disk = Disk::new(Directories::Strict);
        let folder = Kind::Directory(BTreeMap::new());
        let folder = disk.create(ROOT, OsStr::new("folder"), folder, PLAIN).expect("a directory");
        disk.synchronise(ROOT);
        let ino = file(&mut disk, "a");
        write(&mut disk, ino, 0, b"one");
        disk.synchronise(ino);
        let from = Name { parent: ROOT, name: OsStr::new("a") };
        let to = Name { parent: folder, name: OsStr::new("b") };
        disk.rename(from, to, false).expect("a rename");
        disk.synchronise(folder);
        let left = after(&mut disk, Loss::Everything);
        assert_eq!(left, [("/folder/b".to_string(), b"one".to_vec())].into());
    }

    #[test]
    fn data_cut_off_does_not_come_back() {
        let mut disk = Disk::new(Directories::Journal);
        let (a, b) = (file(&mut disk, "a"), file(&mut disk, "b"));
        write(&mut disk, a, 0, b"one and two");
        disk.resize(a, 3).expect("a size");
        // The size is in the journal that b's synchronisation writes.
        disk.synchronise(b);
        assert_eq!(after(&mut disk, Loss::Nothing)["/a"], b"one");
    }

    #[test]
    fn a_full_log_becomes_durable_from_its_old_end() {
        let mut disk = Disk::new(Directories::Journal);
        let a = file(&mut disk, "a");
        let big = vec![1; PENDING_BYTES_MAX / 4];
        (0..5).for_each(|at| write(&mut disk, a, at * big.len() as u64, &big));
        let left = after(&mut disk, Loss::Everything)["/a"].len();
        assert!(left >= big.len() && left < 5 * big.len(), "{left}");
    }

    #[derive(Clone, Debug)]
    enum Step {
        Write(usize, u64, Vec<u8>),
        Size(usize, u64),
        Synchronise(usize),
        Remove(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let name = 0..3usize;
        prop::collection::vec(
            prop_oneof![
                4 => (name.clone(), 0..3000u64, prop::collection::vec(any::<u8>(), 1..2000))
                    .prop_map(|(name, offset, bytes)| Step::Write(name, offset, bytes)),
                1 => (name.clone(), 0..3000u64).prop_map(|(name, size)| Step::Size(name, size)),
                2 => name.clone().prop_map(Step::Synchronise),
                1 => name.prop_map(Step::Remove),
            ],
            1..40,
        )
    }

    /// Returns the states that a disk went through, as its files, and the index of the first that a
    /// cut may leave.
    fn replay(disk: &mut Disk, steps: &[Step]) -> (Vec<BTreeMap<String, Vec<u8>>>, usize) {
        let (mut states, mut synchronised) = (vec![disk.live().files()], 0);
        let names = ["a", "b", "c"];
        for step in steps {
            let (Step::Write(at, ..)
            | Step::Size(at, _)
            | Step::Synchronise(at)
            | Step::Remove(at)) = step;
            let ino = match disk.live().lookup(ROOT, OsStr::new(names[*at])) {
                Ok(ino) => ino,
                Err(_) => {
                    let ino = file(disk, names[*at]);
                    states.push(disk.live().files());
                    ino
                }
            };
            match step {
                Step::Write(_, offset, bytes) => write(disk, ino, *offset, bytes),
                Step::Size(_, size_bytes) => {
                    disk.resize(ino, *size_bytes).expect("a size");
                }
                Step::Synchronise(_) => {
                    for name in names {
                        if let Ok(ino) = disk.live().lookup(ROOT, OsStr::new(name)) {
                            disk.synchronise(ino);
                        }
                    }
                    synchronised = states.len() - 1;
                }
                Step::Remove(_) => {
                    let name = names[*at].into();
                    disk.change(Change::Leave { parent: ROOT, name }).expect("a removal");
                }
            }
            states.push(disk.live().files());
        }
        (states, synchronised)
    }

    proptest! {
        #[test]
        fn a_prefix_is_a_moment_after_the_last_synchronisation(steps in steps(), seed: u64) {
            let mut disk = Disk::new(Directories::Journal);
            let (states, synchronised) = replay(&mut disk, &steps);
            disk.cut(Loss::Prefix, seed);
            prop_assert!(states[synchronised..].contains(&disk.live().files()));
        }

        #[test]
        fn losing_nothing_leaves_all(steps in steps(), seed: u64) {
            let mut disk = Disk::new(Directories::Journal);
            let (states, _) = replay(&mut disk, &steps);
            disk.cut(Loss::Nothing, seed);
            prop_assert_eq!(&disk.live().files(), states.last().expect("a state"));
        }

        #[test]
        fn losing_everything_leaves_the_last_synchronisation(steps in steps(), seed: u64) {
            let mut disk = Disk::new(Directories::Journal);
            let (states, synchronised) = replay(&mut disk, &steps);
            disk.cut(Loss::Everything, seed);
            prop_assert_eq!(&disk.live().files(), &states[synchronised]);
        }

        #[test]
        fn the_same_cut_leaves_the_same(steps in steps(), seed: u64) {
            for loss in Loss::ALL {
                let left = [0, 1].map(|_| {
                    let mut disk = Disk::new(Directories::Journal);
                    replay(&mut disk, &steps);
                    disk.cut(loss, seed);
                    disk.live().files()
                });
                prop_assert_eq!(&left[0], &left[1]);
            }
        }
    }
}

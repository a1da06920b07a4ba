//! A tree of files and directories in memory, and the changes that can be made to one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use nix::errno::Errno;

use crate::image::Image;

/// The number of a file, a directory or a symbolic link.
pub type Ino = u64;

/// The number of the root directory.
pub const ROOT: Ino = 1;

/// What a number stands for.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A file.
    File(Image),
    /// A directory.
    Directory(BTreeMap<OsString, Ino>),
    /// A symbolic link.
    Symlink(OsString),
}

/// A file, a directory or a symbolic link.
#[derive(Clone, Debug)]
pub struct Node {
    /// Which, and its content.
    pub kind: Kind,
    /// Its permissions.
    pub attributes: Attributes,
    /// How many names it has.
    pub links: u32,
    /// When its content was changed.
    pub modified: SystemTime,
    /// When it was read, as far as it was set.
    pub accessed: SystemTime,
}

/// The owner, and what each user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Permission bits.
    pub mode: u16,
    /// The owner.
    pub uid: u32,
    /// The owner's group.
    pub gid: u32,
}

/// One change of a volume. The first is data; the others belong to the journal.
#[derive(Clone, Debug)]
pub enum Change {
    /// Bytes are written to a file.
    Write {
        /// The file.
        ino: Ino,
        /// Where.
        offset: u64,
        /// What.
        bytes: Arc<[u8]>,
    },
    /// A range of a file becomes zeros.
    Zero {
        /// The file.
        ino: Ino,
        /// From where.
        offset: u64,
        /// How much.
        len: u64,
    },
    /// A file gets a size.
    Size {
        /// The file.
        ino: Ino,
        /// The new size.
        size_bytes: u64,
        /// Whether it is less than the size before.
        shrinks: bool,
    },
    /// Permissions or times are set.
    Attributes {
        /// Whose.
        ino: Ino,
        /// Which.
        attributes: Attributes,
        /// The time of the last change of the content.
        modified: SystemTime,
        /// The time of the last reading.
        accessed: SystemTime,
    },
    /// A name is entered into a directory.
    Enter {
        /// The directory.
        parent: Ino,
        /// The name.
        name: OsString,
        /// What it stands for.
        ino: Ino,
    },
    /// A name is removed from a directory.
    Leave {
        /// The directory.
        parent: Ino,
        /// The name.
        name: OsString,
    },
    /// A name moves, in place of what had the new name.
    Move {
        /// From this directory.
        parent: Ino,
        /// The old name.
        name: OsString,
        /// To this directory.
        new_parent: Ino,
        /// The new name.
        new_name: OsString,
        /// What moves.
        ino: Ino,
        /// Whether what had the new name gets the old one.
        exchange: bool,
    },
}

impl Change {
    /// Whether it is in the journal, and not data of a file.
    pub fn is_journaled(&self) -> bool {
        !matches!(self, Self::Write { .. })
    }

    /// The file whose content, size or attributes it changes.
    pub fn subject(&self) -> Option<Ino> {
        match self {
            Self::Write { ino, .. }
            | Self::Zero { ino, .. }
            | Self::Size { ino, .. }
            | Self::Attributes { ino, .. } => Some(*ino),
            Self::Enter { .. } | Self::Leave { .. } | Self::Move { .. } => None,
        }
    }

    /// The directories whose names it changes.
    pub fn directories(&self) -> [Option<Ino>; 2] {
        match self {
            Self::Enter { parent, .. } | Self::Leave { parent, .. } => [Some(*parent), None],
            Self::Move { parent, new_parent, .. } => [Some(*parent), Some(*new_parent)],
            _ => [None, None],
        }
    }

    /// The memory that it takes, about.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Write { bytes, .. } => size_of::<Self>() + bytes.len(),
            _ => size_of::<Self>(),
        }
    }
}

/// A tree.
#[derive(Clone, Debug)]
pub struct Volume {
    nodes: HashMap<Ino, Node>,
}

impl Default for Volume {
    fn default() -> Self {
        let root =
            Node::new(Kind::Directory(BTreeMap::new()), Attributes { mode: 0o755, uid: 0, gid: 0 });
        Self { nodes: HashMap::from([(ROOT, root)]) }
    }
}

impl Node {
    /// One without a name.
    pub fn new(kind: Kind, attributes: Attributes) -> Self {
        let now = SystemTime::now();
        Self { kind, attributes, links: 0, modified: now, accessed: now }
    }

    fn image(&mut self) -> Result<&mut Image, Errno> {
        match &mut self.kind {
            Kind::File(image) => Ok(image),
            Kind::Directory(_) => Err(Errno::EISDIR),
            Kind::Symlink(_) => Err(Errno::EINVAL),
        }
    }
}

impl Volume {
    /// What has this number.
    pub fn node(&self, ino: Ino) -> Result<&Node, Errno> {
        self.nodes.get(&ino).ok_or(Errno::ENOENT)
    }

    fn node_mut(&mut self, ino: Ino) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&ino).ok_or(Errno::ENOENT)
    }

    /// The names in a directory.
    pub fn entries(&self, directory: Ino) -> Result<&BTreeMap<OsString, Ino>, Errno> {
        match &self.node(directory)?.kind {
            Kind::Directory(entries) => Ok(entries),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn entries_mut(&mut self, directory: Ino) -> Result<&mut BTreeMap<OsString, Ino>, Errno> {
        match &mut self.node_mut(directory)?.kind {
            Kind::Directory(entries) => Ok(entries),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// What has this name.
    pub fn lookup(&self, parent: Ino, name: &OsStr) -> Result<Ino, Errno> {
        self.entries(parent)?.get(name).copied().ok_or(Errno::ENOENT)
    }

    /// Takes up a node that has no name yet.
    pub(crate) fn adopt(&mut self, ino: Ino, node: Node) {
        self.nodes.insert(ino, node);
    }

    /// Makes a change, whole or not at all.
    pub fn apply(&mut self, change: &Change) -> Result<(), Errno> {
        match change {
            Change::Write { ino, offset, bytes } => {
                let node = self.node_mut(*ino)?;
                node.image()?.write(*offset, bytes);
                node.modified = SystemTime::now();
            }
            Change::Zero { ino, offset, len } => self.node_mut(*ino)?.image()?.zero(*offset, *len),
            Change::Size { ino, size_bytes, .. } => {
                let node = self.node_mut(*ino)?;
                node.image()?.resize(*size_bytes);
                node.modified = SystemTime::now();
            }
            Change::Attributes { ino, attributes, modified, accessed } => {
                let node = self.node_mut(*ino)?;
                node.attributes = *attributes;
                node.modified = *modified;
                node.accessed = *accessed;
            }
            Change::Enter { parent, name, ino } => {
                self.node(*ino)?;
                match self.entries_mut(*parent)?.entry(name.clone()) {
                    std::collections::btree_map::Entry::Occupied(_) => return Err(Errno::EEXIST),
                    std::collections::btree_map::Entry::Vacant(place) => place.insert(*ino),
                };
                self.node_mut(*ino)?.links += 1;
            }
            Change::Leave { parent, name } => {
                let ino = self.lookup(*parent, name)?;
                self.check_empty(ino)?;
                self.entries_mut(*parent)?.remove(name);
                self.lose_name(ino);
            }
            Change::Move { parent, name, new_parent, new_name, exchange, .. } => {
                self.shift((*parent, name), (*new_parent, new_name), *exchange)?;
            }
        }
        Ok(())
    }

    fn shift(
        &mut self,
        (parent, name): (Ino, &OsString),
        (new_parent, new_name): (Ino, &OsString),
        exchange: bool,
    ) -> Result<(), Errno> {
        let ino = self.lookup(parent, name)?;
        let replaced = self.entries(new_parent)?.get(new_name).copied();
        if exchange {
            let other = replaced.ok_or(Errno::ENOENT)?;
            self.entries_mut(parent)?.insert(name.clone(), other);
            self.entries_mut(new_parent)?.insert(new_name.clone(), ino);
            return Ok(());
        }
        if replaced == Some(ino) {
            return Ok(());
        }
        if let Some(other) = replaced {
            self.check_empty(other)?;
            let is_directory = |kind: &Kind| matches!(kind, Kind::Directory(_));
            match (is_directory(&self.node(ino)?.kind), is_directory(&self.node(other)?.kind)) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                _ => self.lose_name(other),
            }
        }
        self.entries_mut(parent)?.remove(name);
        self.entries_mut(new_parent)?.insert(new_name.clone(), ino);
        Ok(())
    }

    /// Gives a node a name, in place of what had it: what is left of a move whose old name was
    /// never there.
    pub(crate) fn place(&mut self, parent: Ino, name: &OsString, ino: Ino) -> Result<(), Errno> {
        self.node(ino)?;
        if let Some(other) = self.entries_mut(parent)?.insert(name.clone(), ino) {
            self.lose_name(other);
        }
        self.node_mut(ino)?.links += 1;
        Ok(())
    }

    fn check_empty(&self, ino: Ino) -> Result<(), Errno> {
        match &self.node(ino)?.kind {
            Kind::Directory(entries) if !entries.is_empty() => Err(Errno::ENOTEMPTY),
            _ => Ok(()),
        }
    }

    /// A node without a name stays, for those that have it open, until [`Self::sweep`].
    fn lose_name(&mut self, ino: Ino) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.links = node.links.saturating_sub(1);
        }
    }

    /// The bytes that the pages of all files take.
    pub fn allocated_bytes(&self) -> u64 {
        let files = self.nodes.values().filter_map(|node| match &node.kind {
            Kind::File(image) => Some(image.allocated_bytes()),
            _ => None,
        });
        files.sum()
    }

    /// Removes what no name leads to, and counts names anew.
    pub(crate) fn sweep(&mut self) {
        let mut links: HashMap<Ino, u32> = HashMap::new();
        let (mut seen, mut next) = (HashSet::from([ROOT]), vec![ROOT]);
        while let Some(directory) = next.pop() {
            let Ok(entries) = self.entries_mut(directory) else {
                continue;
            };
            let inos: Vec<_> = entries.values().copied().collect();
            for ino in inos {
                *links.entry(ino).or_default() += 1;
                if seen.insert(ino) {
                    next.push(ino);
                }
            }
        }
        self.nodes.retain(|ino, _| seen.contains(ino));
        for (ino, node) in &mut self.nodes {
            node.links = links.get(ino).copied().unwrap_or_default();
        }
    }

    /// Writes the tree into a folder of a real disk, which is not there yet. Holes in files stay
    /// holes; owners and times are those of the writer.
    ///
    /// # Errors
    /// When the folder is there, or something cannot be written.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        self.write_directory(ROOT, folder)
    }

    fn write_directory(&self, directory: Ino, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        for (name, ino) in self.entries(directory)? {
            let (path, node) = (folder.join(name), self.node(*ino)?);
            match &node.kind {
                Kind::Directory(_) => self.write_directory(*ino, &path)?,
                Kind::Symlink(target) => std::os::unix::fs::symlink(target, path)?,
                Kind::File(image) => {
                    let file = File::create_new(&path)?;
                    image.write_to(&file)?;
                    let mode = u32::from(node.attributes.mode & 0o777);
                    file.set_permissions(fs::Permissions::from_mode(mode))?;
                }
            }
        }
        Ok(())
    }

    /// Every file under its path, in order; for comparing volumes.
    #[cfg(test)]
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut next = vec![(ROOT, String::new())];
        while let Some((ino, path)) = next.pop() {
            match &self.nodes[&ino].kind {
                Kind::File(image) => {
                    let size = usize::try_from(image.size_bytes()).expect("a small file");
                    files.insert(path, image.read(0, size));
                }
                Kind::Directory(entries) => next.extend(entries.iter().map(|(name, &ino)| {
                    (ino, format!("{path}/{}", name.to_str().expect("a plain name")))
                })),
                Kind::Symlink(_) => {}
            }
        }
        files
    }
}

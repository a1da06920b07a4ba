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
use xxhash_rust::xxh3::Xxh3;

use crate::image::Image;

/// The number of a file, a directory or a symbolic link.
pub type Ino = u64;

/// The number of the root directory.
pub const ROOT: Ino = 1;

/// The content of a node.
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
    /// The node's kind and content.
    pub kind: Kind,
    /// The node's permissions.
    pub attributes: Attributes,
    /// The number of the node's names.
    pub links: u32,
    /// The time at which the content was changed.
    pub modified: SystemTime,
    /// The time at which the content was read, if it was set.
    pub accessed: SystemTime,
}

/// The owner, and the rights of each user.
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
        /// The offset in the file.
        offset: u64,
        /// The written bytes.
        bytes: Arc<[u8]>,
    },
    /// A range of a file becomes zeros.
    Zero {
        /// The file.
        ino: Ino,
        /// The offset of the range.
        offset: u64,
        /// The length of the range.
        len: u64,
    },
    /// A file gets a size.
    Size {
        /// The file.
        ino: Ino,
        /// The new size.
        size_bytes: u64,
        /// True if the new size is less than the old one.
        shrinks: bool,
    },
    /// Permissions or times are set.
    Attributes {
        /// The node of the attributes.
        ino: Ino,
        /// The new attributes.
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
        /// The node of the name.
        ino: Ino,
    },
    /// A name is removed from a directory.
    Leave {
        /// The directory.
        parent: Ino,
        /// The name.
        name: OsString,
    },
    /// A name moves, in place of another node's if the new name is taken.
    Move {
        /// The old directory.
        parent: Ino,
        /// The old name.
        name: OsString,
        /// The new directory.
        new_parent: Ino,
        /// The new name.
        new_name: OsString,
        /// The node that moves.
        ino: Ino,
        /// True if the node of the new name gets the old one.
        exchange: bool,
    },
}

impl Change {
    /// Returns true if the change is in the journal, and not data of a file.
    pub fn is_journaled(&self) -> bool {
        !matches!(self, Self::Write { .. })
    }

    /// Returns the file whose content, size or attributes the change concerns.
    pub fn subject(&self) -> Option<Ino> {
        match self {
            Self::Write { ino, .. }
            | Self::Zero { ino, .. }
            | Self::Size { ino, .. }
            | Self::Attributes { ino, .. } => Some(*ino),
            Self::Enter { .. } | Self::Leave { .. } | Self::Move { .. } => None,
        }
    }

    /// Returns the directories whose names the change concerns.
    pub fn directories(&self) -> [Option<Ino>; 2] {
        match self {
            Self::Enter { parent, .. } | Self::Leave { parent, .. } => [Some(*parent), None],
            Self::Move { parent, new_parent, .. } => [Some(*parent), Some(*new_parent)],
            _ => [None, None],
        }
    }

    /// Returns the memory that the change takes, about.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Write { bytes, .. } => size_of::<Self>() + bytes.len(),
            _ => size_of::<Self>(),
        }
    }
}

/// A name in a directory.
#[derive(Clone, Copy, Debug)]
pub struct Name<'n> {
    /// The directory.
    pub parent: Ino,
    /// The name in it.
    pub name: &'n OsStr,
}

/// A tree of nodes.
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
    /// Makes a node without a name.
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
    /// Returns the node with this number.
    pub fn node(&self, ino: Ino) -> Result<&Node, Errno> {
        self.nodes.get(&ino).ok_or(Errno::ENOENT)
    }

    fn node_mut(&mut self, ino: Ino) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&ino).ok_or(Errno::ENOENT)
    }

    /// Returns the greatest number of a node.
    pub fn last_ino(&self) -> Ino {
        self.nodes.keys().copied().max().unwrap_or(ROOT)
    }

    /// Returns the names in a directory.
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

    /// Returns the node with this name.
    pub fn lookup(&self, parent: Ino, name: &OsStr) -> Result<Ino, Errno> {
        self.entries(parent)?.get(name).copied().ok_or(Errno::ENOENT)
    }

    /// Adds a node that has no name yet.
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
                let from = Name { parent: *parent, name };
                let to = Name { parent: *new_parent, name: new_name };
                self.shift(from, to, *exchange)?;
            }
        }
        Ok(())
    }

    fn shift(&mut self, from: Name<'_>, to: Name<'_>, exchange: bool) -> Result<(), Errno> {
        let ino = self.lookup(from.parent, from.name)?;
        let replaced = self.entries(to.parent)?.get(to.name).copied();
        if exchange {
            let other = replaced.ok_or(Errno::ENOENT)?;
            self.entries_mut(from.parent)?.insert(from.name.into(), other);
            self.entries_mut(to.parent)?.insert(to.name.into(), ino);
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
        self.entries_mut(from.parent)?.remove(from.name);
        self.entries_mut(to.parent)?.insert(to.name.into(), ino);
        Ok(())
    }

    /// Gives a node a name, in place of the name's old node: the rest of a move whose old name was
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

    /// Takes a name from a node. A node without names is kept until [`Self::sweep`].
    fn lose_name(&mut self, ino: Ino) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.links = node.links.saturating_sub(1);
        }
    }

    /// Returns the bytes that the pages of all files take.
    pub fn allocated_bytes(&self) -> u64 {
        let files = self.nodes.values().filter_map(|node| match &node.kind {
            Kind::File(image) => Some(image.allocated_bytes()),
            _ => None,
        });
        files.sum()
    }

    /// Removes nodes that no name leads to, and counts names anew.
    pub(crate) fn sweep(&mut self) {
        let mut links: HashMap<Ino, u32> = HashMap::new();
        let mut seen = HashSet::from([ROOT]);
        let mut next = vec![ROOT];
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

    /// Returns a digest of names, kinds, sizes and contents.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = Xxh3::new();
        let mut next = vec![ROOT];
        while let Some(directory) = next.pop() {
            let Ok(entries) = self.entries(directory) else { continue };
            hasher.update(&entries.len().to_le_bytes());
            for (name, ino) in entries {
                hasher.update(name.as_encoded_bytes());
                hasher.update(&[0]);
                match self.nodes.get(ino).map(|node| &node.kind) {
                    Some(Kind::File(image)) => {
                        hasher.update(b"f");
                        image.digest(&mut hasher);
                    }
                    Some(Kind::Symlink(target)) => {
                        hasher.update(b"l");
                        hasher.update(&target.len().to_le_bytes());
                        hasher.update(target.as_encoded_bytes());
                    }
                    Some(Kind::Directory(_)) | None => {
                        hasher.update(b"d");
                        next.push(*ino);
                    }
                }
            }
        }
        hasher.digest()
    }

    /// Writes the tree into a new folder of a real disk. Holes in files stay holes; owners and
    /// times are those of the writer.
    ///
    /// # Errors
    /// If the folder exists, or something cannot be written.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        self.write_directory(ROOT, folder)
    }

    fn write_directory(&self, directory: Ino, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        for (name, ino) in self.entries(directory)? {
            let path = folder.join(name);
            let node = self.node(*ino)?;
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

    /// Returns every file under its path, in order; for comparing volumes.
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

//! A disk in memory, which fails and crashes on demand, and then keeps what a real one may keep:
//! the same for the same seed.
//!
//! Bytes written to a file are in the file at once, but durable only after a `sync` of it; files
//! created, renamed or removed, after a `sync_directory`. A crash decides for each sector of 512
//! bytes, each length and each name separately: it keeps one of the versions since then, or the
//! durable one. That is more than most file systems lose. A sector is never torn.

mod faults;
mod file;
mod handle;
mod history;
mod names;
mod random;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Result};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, File, Lock};
pub use faults::{Fault, FaultKind};
use faults::{Faults, Operation, Refusal};
use file::Content;
use handle::{Handle, Held};
use history::Fate;
use names::{Inode, Names};
use random::Random;

/// A disk in memory. Clones are the same disk.
#[derive(Clone)]
pub struct Simulated {
    state: Arc<Mutex<State>>,
}

/// The state of the disk.
struct State {
    names: Names,
    files: BTreeMap<Inode, Stored>,
    next_inode: Inode,
    faults: Faults,
    /// Decides which sectors survive a crash in the middle of a write.
    random: Random,
    /// The number of crashes; handles from before the last are dead.
    crashes: u64,
    locked: bool,
    /// The pinned numbers, each with its file, by the order in which they were pinned.
    pins: BTreeMap<u64, (Inode, u64)>,
    next_pin: u64,
    has_pins: bool,
    capacity_bytes: Option<u64>,
    mapping: Mapping,
    /// The parts of files that cannot be read.
    unreadable: Vec<(Inode, Range<u64>)>,
}

/// The ways in which files of a disk can be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Files cannot be mapped, as on a file system that does not write in place.
    None,
    /// Files can be mapped, and a sync writes the bytes that were written to them.
    OnDisk,
    /// Files can be mapped, and are in memory only.
    InMemory,
}

impl Mapping {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::None, Self::OnDisk, Self::InMemory];
}

/// A file that is open or has a name.
struct Stored {
    content: Content,
    /// A share for each open handle.
    open: Arc<()>,
}

/// The most bytes of a file, so that a damaged length takes up no more memory.
const MOST_FILE_BYTES: u64 = 1 << 30;

impl Simulated {
    /// Creates an empty disk without faults or limits. The seed decides which sectors a power cut
    /// in the middle of a write leaves.
    pub fn new(seed: u64) -> Self {
        Self::from_state(State {
            names: Names::default(),
            files: BTreeMap::new(),
            next_inode: 0,
            faults: Faults::default(),
            random: Random::new(seed),
            crashes: 0,
            locked: false,
            pins: BTreeMap::new(),
            next_pin: 0,
            has_pins: true,
            capacity_bytes: None,
            mapping: Mapping::InMemory,
            unreadable: Vec::new(),
        })
    }

    /// Creates another disk with the same files, all durable as they are seen here. It has no
    /// faults, and counts operations from 0.
    pub fn fork(&self) -> Self {
        let state = self.state();
        let mut fork = State {
            names: Names::default(),
            files: BTreeMap::new(),
            next_inode: 0,
            faults: Faults::default(),
            random: state.random.clone(),
            crashes: 0,
            locked: false,
            pins: BTreeMap::new(),
            unreadable: Vec::new(),
            ..*state
        };
        for (name, inode) in state.names.iter() {
            fork.put(name, state.files[&inode].content.bytes().to_vec());
        }
        Self::from_state(fork)
    }

    /// Loses changes that are not durable, or some of them, as the seed decides: in one of four
    /// cases nothing is lost, in one everything is. The rest is durable, faults are gone, the lock
    /// is free, and all handles are dead.
    pub fn crash(&self, seed: u64) {
        self.state().crash(&mut Fate::new(seed));
    }

    /// Returns the number of operations so far, failed ones among them: calls of a disk's or a
    /// file's methods, and writes to mappings. It is also the number of the next.
    pub fn operations(&self) -> u64 {
        self.state().faults.operations()
    }

    /// Adds a fault.
    pub fn fail(&self, fault: Fault) {
        self.state().faults.add(fault);
    }

    /// Removes all faults; the power is on again if it was off.
    pub fn heal(&self) {
        self.state().faults.heal();
    }

    /// Returns the space that its files take up, in bytes.
    pub fn used_bytes(&self) -> u64 {
        self.state().used_bytes()
    }

    /// Sets the most bytes of all files that have a name together; existing bytes stay.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity_bytes = bytes;
    }

    /// Sets the way in which files can be mapped; at first it is that of a RAM disk.
    pub fn set_mapping(&self, mapping: Mapping) {
        self.state().mapping = mapping;
    }

    /// Sets whether readers can pin checkpoints; at first they can. Without that, they and a writer
    /// keep each other out.
    pub fn set_pins(&self, has_pins: bool) {
        self.state().has_pins = has_pins;
    }

    /// Returns all names, in their order; not an operation.
    pub fn file_names(&self) -> Vec<String> {
        self.state().list()
    }

    /// Returns the bytes of a file now, if it exists; not an operation.
    pub fn file_bytes(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = state.names.get(name)?;
        Some(state.files[&inode].content.bytes().to_vec())
    }

    /// Puts a file there, durable at once, in place of any of that name; not an operation.
    pub fn put_file(&self, name: &str, bytes: Vec<u8>) {
        self.state().put(name, bytes);
    }

    /// Has each read of a part of a file fail with `EIO` from now on, as of a medium with damage.
    ///
    /// # Panics
    /// If the file does not exist.
    pub fn make_unreadable(&self, name: &str, bytes: Range<u64>) {
        let mut state = self.state();
        let inode = state.names.get(name).expect("there is a file of that name");
        state.unreadable.push((inode, bytes));
    }

    /// Flips a bit of a file, durably; bits count from the lowest of the first byte.
    ///
    /// # Panics
    /// If the file or the bit does not exist.
    pub fn flip_bit(&self, name: &str, bit: u64) {
        let mut state = self.state();
        let inode = state.names.get(name).expect("there is a file of that name");
        let stored = state.files.get_mut(&inode).expect("a name's file is there");
        stored.content.flip_bit(bit);
    }

    fn from_state(state: State) -> Self {
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Returns the state, for this thread alone. A panic leaves no operation in the middle, so the
    /// state is as good after one.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a handle of an existing file.
    fn handle(&self, state: &State, inode: Inode) -> Box<dyn File> {
        let open = state.files[&inode].open.clone();
        Box::new(Handle::new(self.clone(), inode, state.crashes, open))
    }
}

impl State {
    /// Counts an operation of the disk, and checks that it happens.
    fn begin(&mut self, operation: Operation) -> std::result::Result<(), Refusal> {
        let number = self.faults.count();
        self.faults.check(number, operation)
    }

    /// Returns the file of a name.
    fn find(&self, name: &str) -> Result<Inode> {
        self.names.get(name).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn list(&self) -> Vec<String> {
        self.names.iter().map(|(name, _)| name.to_owned()).collect()
    }

    /// Adds a file that has no name yet.
    fn add(&mut self, content: Content) -> Inode {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.files.insert(inode, Stored { content, open: Arc::new(()) });
        inode
    }

    fn put(&mut self, name: &str, bytes: Vec<u8>) {
        let inode = self.add(Content::durable(bytes));
        self.names.set_durable(name, inode);
    }

    /// Returns the space of all files that have a name.
    fn used_bytes(&self) -> u64 {
        let all: BTreeSet<_> = self.names.iter().map(|(_, inode)| inode).collect();
        all.iter().map(|inode| self.files[inode].content.space_bytes()).sum()
    }

    /// Checks that there is space for a file of at least `size_bytes`, which takes up `more` bytes.
    fn check_room(&self, inode: Inode, size_bytes: u64, more: u64) -> Result<()> {
        let named = self.names.iter().any(|(_, other)| other == inode);
        let own = if named { 0 } else { self.files[&inode].content.space_bytes() };
        let used = self.used_bytes().saturating_add(own).saturating_add(more);
        if size_bytes > MOST_FILE_BYTES || self.capacity_bytes.is_some_and(|most| used > most) {
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    /// Fails if a part of a file cannot be read.
    fn expect_readable(&self, inode: Inode, bytes: &Range<u64>) -> Result<()> {
        let is_in_way = |(of, part): &(Inode, Range<u64>)| {
            *of == inode && part.start < bytes.end && bytes.start < part.end
        };
        if self.unreadable.iter().any(is_in_way) { Err(faults::of_device()) } else { Ok(()) }
    }

    /// Forgets files that have no name, can get none, and are not open.
    fn collect(&mut self) {
        let reachable = self.names.reachable();
        self.files.retain(|inode, stored| {
            reachable.contains(inode) || Arc::strong_count(&stored.open) > 1
        });
    }

    fn crash(&mut self, fate: &mut Fate) {
        self.files.values_mut().for_each(|stored| stored.content.crash(fate));
        self.names.crash(fate);
        // A file can be left with two names. From here on they are two files, so that renaming one
        // to the other works.
        let named: Vec<_> = self.names.iter().map(|(name, at)| (name.to_owned(), at)).collect();
        let mut taken = BTreeSet::new();
        for (name, inode) in named {
            if !taken.insert(inode) {
                self.put(&name, self.files[&inode].content.bytes().to_vec());
            }
        }
        self.faults.heal();
        self.crashes += 1;
        self.locked = false;
        self.pins.clear();
        self.collect();
    }
}

impl Disk for Simulated {
    fn lock(&self) -> Result<Lock> {
        let mut state = self.state();
        state.begin(Operation::Other)?;
        if state.locked {
            return Err(ErrorKind::WouldBlock.into());
        }
        state.locked = true;
        Ok(Box::new(Held::new(self.clone(), state.crashes)))
    }

    fn open(&self, name: &str) -> Result<Box<dyn File>> {
        let mut state = self.state();
        state.begin(Operation::Read)?;
        let inode = state.find(name)?;
        Ok(self.handle(&state, inode))
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>> {
        let mut state = self.state();
        state.begin(Operation::Write { grows: true })?;
        if state.names.get(name).is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let inode = state.add(Content::durable(Vec::new()));
        state.names.set(name, Some(inode));
        Ok(self.handle(&state, inode))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.state();
        state.begin(Operation::Write { grows: false })?;
        let inode = state.find(from)?;
        if state.names.get(to).is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.names.set(to, Some(inode));
        state.names.set(from, None);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut state = self.state();
        state.begin(Operation::Write { grows: false })?;
        state.find(name)?;
        state.names.set(name, None);
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>> {
        let mut state = self.state();
        state.begin(Operation::Read)?;
        Ok(state.list())
    }

    fn sync_directory(&self) -> Result<()> {
        let mut state = self.state();
        if let Err(refusal) = state.begin(Operation::Sync) {
            if let Refusal::Fails(_) = refusal {
                state.names.fail_sync();
            }
            return Err(refusal.into());
        }
        state.names.sync();
        state.collect();
        Ok(())
    }

    /// Succeeds: the disk has no other user.
    fn expect_files(&self) -> Result<()> {
        Ok(())
    }
}

//! A disk on which a test holds operations: a thread that comes to one waits there until it is
//! released.

use std::io::Result;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::simulated::{Mapping, Simulated};
use super::{Access, Disk, File, Lock, Mapped};

/// The least bytes of a long write.
const LEAST_LONG_BYTES: usize = 1 << 12;

/// The kind of an operation on a file, or on the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Create,
    Rename,
    Remove,
    Read,
    Write,
    /// A write of more bytes than a sync writes itself.
    WriteLong,
    Sync,
    SetSize,
    Preallocate,
}

/// The operations that are held, and the threads that wait at them.
#[derive(Default)]
struct State {
    held: Vec<(&'static str, Kind)>,
    waiting: Vec<(&'static str, Kind)>,
}

/// The controls that a test has over the disk.
#[derive(Default)]
pub(crate) struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

impl Control {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics with it")
    }

    /// Holds operations of a kind on files whose names start with `prefix`.
    pub(crate) fn hold(&self, prefix: &'static str, kind: Kind) {
        self.state().held.push((prefix, kind));
    }

    /// Releases such operations.
    pub(crate) fn release(&self, prefix: &'static str, kind: Kind) {
        self.state().held.retain(|held| *held != (prefix, kind));
        self.changed.notify_all();
    }

    /// Returns true if such operations are held.
    pub(crate) fn is_held(&self, prefix: &'static str, kind: Kind) -> bool {
        self.state().held.contains(&(prefix, kind))
    }

    /// Returns true if a thread waits at such an operation.
    pub(crate) fn is_waiting(&self, prefix: &'static str, kind: Kind) -> bool {
        self.state().waiting.contains(&(prefix, kind))
    }

    /// Waits until a thread waits at such an operation.
    pub(crate) fn expect_waiting(&self, prefix: &'static str, kind: Kind) {
        let none = |state: &mut State| !state.waiting.contains(&(prefix, kind));
        drop(self.changed.wait_while(self.state(), none).expect("no test panics with it"));
    }

    fn pass(&self, name: &str, kind: Kind) {
        let held_at = |state: &State| {
            state.held.iter().copied().find(|held| held.1 == kind && name.starts_with(held.0))
        };
        let mut state = self.state();
        while let Some(held) = held_at(&state) {
            state.waiting.push(held);
            self.changed.notify_all();
            state = self.changed.wait(state).expect("no test panics with it");
            if let Some(place) = state.waiting.iter().position(|waiting| *waiting == held) {
                state.waiting.remove(place);
            }
        }
    }
}

/// A simulated disk whose operations are held as a [`Control`] says.
#[derive(Clone)]
pub(crate) struct Held {
    pub disk: Simulated,
    pub control: Arc<Control>,
}

struct HeldFile {
    name: String,
    file: Box<dyn File>,
    control: Arc<Control>,
}

impl Held {
    pub(crate) fn new(mapping: Mapping) -> Self {
        let disk = Simulated::new(5);
        disk.set_mapping(mapping);
        Self { disk, control: Arc::default() }
    }

    fn file(&self, name: &str, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(HeldFile { name: name.into(), file, control: Arc::clone(&self.control) })
    }
}

impl Disk for Held {
    fn lock(&self) -> Result<Lock> {
        self.disk.lock()
    }

    fn open(&self, name: &str) -> Result<Box<dyn File>> {
        Ok(self.file(name, self.disk.open(name)?))
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>> {
        self.control.pass(name, Kind::Create);
        Ok(self.file(name, self.disk.create(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.control.pass(from, Kind::Rename);
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.control.pass(name, Kind::Remove);
        self.disk.remove(name)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.disk.list()
    }

    fn sync_directory(&self) -> Result<()> {
        self.disk.sync_directory()
    }

    fn expect_files(&self) -> Result<()> {
        self.disk.expect_files()
    }
}

impl File for HeldFile {
    fn size_bytes(&self) -> Result<u64> {
        self.file.size_bytes()
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        self.control.pass(&self.name, Kind::Read);
        self.file.read_at(at, bytes)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.control.pass(&self.name, Kind::Write);
        if bytes.len() >= LEAST_LONG_BYTES {
            self.control.pass(&self.name, Kind::WriteLong);
        }
        self.file.write_at(at, bytes)
    }

    fn sync(&self) -> Result<()> {
        self.control.pass(&self.name, Kind::Sync);
        self.file.sync()
    }

    fn set_size(&self, size_bytes: u64) -> Result<()> {
        self.control.pass(&self.name, Kind::SetSize);
        self.file.set_size(size_bytes)
    }

    fn preallocate(&self, bytes: Range<u64>) -> Result<()> {
        self.control.pass(&self.name, Kind::Preallocate);
        self.file.preallocate(bytes)
    }

    fn punch(&self, bytes: Range<u64>) -> Result<bool> {
        self.file.punch(bytes)
    }

    fn has_space(&self) -> Result<bool> {
        self.file.has_space()
    }

    fn next_data(&self, at: u64) -> Result<Option<u64>> {
        self.file.next_data(at)
    }

    fn lock(&self, access: Access) -> Result<Lock> {
        self.file.lock(access)
    }

    fn pin(&self, number: u64) -> Result<Option<Lock>> {
        self.file.pin(number)
    }

    fn any_pin(&self, among: Range<u64>) -> Result<Option<u64>> {
        self.file.any_pin(among)
    }

    fn has_writer(&self) -> Result<bool> {
        self.file.has_writer()
    }

    fn map(&self, size_bytes: usize) -> Result<Option<Arc<dyn Mapped>>> {
        self.file.map(size_bytes)
    }
}

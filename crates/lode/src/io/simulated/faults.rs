//! The faults of operations.

use std::io::{Error, ErrorKind};

/// A fault at an operation of this number or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power goes off: from this operation on all fail and nothing has an effect. Only if this
    /// very one is a write to several sectors, some of them are written.
    Crash {
        /// The operation's number.
        at: u64,
    },
    /// One operation fails and has no effect: the first of its kind, from this one on.
    Error {
        /// The operation's number.
        at: u64,
        /// The kind of the fault.
        kind: FaultKind,
    },
}

/// The operations that fail, and their error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An operation that reads: `open`, `list`, `size_bytes`, `read_at`; with `EIO`.
    ReadFails,
    /// An operation that writes: `create`, `rename`, `remove`, `write_at`, `set_size`,
    /// `preallocate`; with `EIO`.
    WriteFails,
    /// A `sync` or a `sync_directory`; with `EIO`. Changes not durable then stay so, even after a
    /// later one that succeeds, unless they are written again: the system does not try twice.
    SyncFails,
    /// An operation that needs space: `create`, or a longer file; with `StorageFull`.
    NoSpace,
}

/// The effect of an operation.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    /// An operation that only a crash makes fail.
    Other,
    /// An operation that reads.
    Read,
    /// An operation that writes, with more space or in place.
    Write { grows: bool },
    /// An operation that makes bytes durable.
    Sync,
}

/// The reason why an operation does not happen.
pub enum Refusal {
    /// The power goes off in the middle of the operation.
    Cut,
    /// The power is off already.
    Off,
    /// The operation fails.
    Fails(Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Cut | Refusal::Off => Self::other("the simulated power is off"),
            Refusal::Fails(error) => error,
        }
    }
}

/// The faults that are to come, and the count of operations.
#[derive(Default)]
pub(super) struct Faults {
    operations: u64,
    pending: Vec<Fault>,
}

impl Faults {
    /// Returns the number of operations so far.
    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    /// Adds a fault.
    pub(super) fn add(&mut self, fault: Fault) {
        self.pending.push(fault);
    }

    /// Removes all faults.
    pub(super) fn heal(&mut self) {
        self.pending.clear();
    }

    /// Counts an operation, and returns its number.
    pub(super) fn count(&mut self) -> u64 {
        self.operations += 1;
        self.operations - 1
    }

    /// Checks that the operation of this number happens.
    pub(super) fn check(&mut self, number: u64, operation: Operation) -> Result<(), Refusal> {
        let crashes = self.pending.iter().filter_map(|fault| match fault {
            Fault::Crash { at } => Some(*at),
            Fault::Error { .. } => None,
        });
        match crashes.min() {
            Some(at) if at < number => return Err(Refusal::Off),
            Some(at) if at == number => return Err(Refusal::Cut),
            _ => {}
        }
        let concerns = |fault: &Fault| match fault {
            Fault::Error { at, kind } => *at <= number && kind.concerns(operation),
            Fault::Crash { .. } => false,
        };
        let Some(index) = self.pending.iter().position(concerns) else { return Ok(()) };
        match self.pending.remove(index) {
            Fault::Error { kind: FaultKind::NoSpace, .. } => {
                Err(Refusal::Fails(ErrorKind::StorageFull.into()))
            }
            _ => Err(Refusal::Fails(of_device())),
        }
    }
}

/// Returns the error of a device, whose number is the same in all systems.
pub(super) fn of_device() -> Error {
    const EIO: i32 = 5;
    Error::from_raw_os_error(EIO)
}

impl FaultKind {
    /// Returns true if such an operation can fail so.
    fn concerns(self, operation: Operation) -> bool {
        match self {
            Self::ReadFails => matches!(operation, Operation::Read),
            Self::WriteFails => matches!(operation, Operation::Write { .. }),
            Self::SyncFails => matches!(operation, Operation::Sync),
            Self::NoSpace => matches!(operation, Operation::Write { grows: true }),
        }
    }
}

//! The errors of volumes, and what the caller can do about them.

use std::io;
use std::sync::Arc;

use crate::kind::Kind;

/// The result of an operation that can fail.
///
/// ```
/// use lode_volumes::{Result, Volume};
///
/// fn theme(volume: &Volume) -> Result<Option<String>> {
///     let Some(ui) = volume.entry("/ui")? else { return Ok(None) };
///     Ok(ui.property("theme")?.map(|theme| theme.to_string()))
/// }
///
/// let volume = Volume::in_memory()?;
/// assert_eq!(theme(&volume)?, None);
/// # Ok::<(), lode_volumes::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation did not happen. Nothing was changed by it, with two exceptions:
/// [`Partial`](Error::Partial) says what was, and after
/// [`Database`](Error::Database)`(`[`Poisoned`](lode::Error::Poisoned)`)` the last change may be
/// there when the volume is opened again, or not.
///
/// ```
/// use lode_volumes::{Error, NameFault, Volume};
///
/// let volume = Volume::in_memory()?;
/// let error = volume.root().link("a/b").expect_err("no name has a slash");
/// assert!(matches!(&error, Error::InvalidName { fault: NameFault::Slash, .. }));
/// assert_eq!(error.to_string(), "\"a/b\" is no name: it has a /; leave it out");
/// assert!(error.is_bad_input());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text that is no valid name of an entry or a property.
    #[error("{name:?} is no name: {fault}")]
    InvalidName {
        /// The name, or its start.
        name: Box<str>,
        /// The fault of the name.
        fault: NameFault,
    },
    /// A missing entry.
    #[error("there is no entry {path}; link it")]
    NoEntry {
        /// The path.
        path: String,
    },
    /// A name that a child of the parent has already.
    #[error("there is an entry {path} already; open it, or choose another name")]
    NameTaken {
        /// The path.
        path: String,
    },
    /// An entry with children, which `unlink` leaves.
    #[error("entry {path} has children; unlink them first, or use unlink_all")]
    NotEmpty {
        /// The path.
        path: String,
    },
    /// An entry that was unlinked since it was opened.
    #[error("the entry {path} was unlinked; open it again, or link it")]
    Gone {
        /// The path from which the entry was to be moved.
        path: String,
    },
    /// A move of an entry below itself.
    #[error("entry {path} cannot be moved to {to}, which is the entry itself or below it")]
    IntoItself {
        /// The entry.
        path: String,
        /// The path to which the entry was to be moved.
        to: String,
    },
    /// A value with more bytes than a property may have.
    #[error("a property can have at most {most_bytes} bytes, not {size_bytes}")]
    ValueTooLong {
        /// Bytes of the value.
        size_bytes: usize,
        /// The most.
        most_bytes: usize,
    },
    /// A value of another type than the caller asked for.
    #[error("the value is of type {found}, not {wanted}")]
    OtherKind {
        /// The type of the value.
        found: Kind,
        /// The wanted type.
        wanted: Kind,
    },
    /// An expiry that is too far away: properties can expire within some 290,000 years only.
    #[error("{seconds} seconds from now is later than a property can expire; leave the expiry out")]
    ExpiryTooFar {
        /// The given time.
        seconds: u64,
    },
    /// The volume, or every volume of the mount, is opened or mounted for reading only.
    #[error("{volume} is read-only; open or mount it for writing")]
    ReadOnly {
        /// The volume's name, or the path in the storage.
        volume: String,
    },
    /// Entries of several volumes in one operation.
    #[error("the entry is of volume {found}, not of {expected}; an operation is within one volume")]
    OtherVolume {
        /// The entry's.
        found: String,
        /// The operation's.
        expected: String,
    },
    /// A database with tables that are not a volume's.
    #[error("database {volume} is no volume: it has table {table}; choose another directory")]
    NotAVolume {
        /// The volume's name.
        volume: String,
        /// A table that volumes do not have.
        table: String,
    },
    /// A database that is opened for reading, without a volume in it yet.
    #[error("{volume} has no volume yet; open it for writing once, or choose another directory")]
    NoVolume {
        /// The volume's name.
        volume: String,
    },
    /// A volume that was written by another version of this crate.
    #[error("volume {volume} has layout {found}, and this version reads layout {known}")]
    Layout {
        /// The volume's name.
        volume: String,
        /// The layout of the volume.
        found: u64,
        /// The layout that this version reads.
        known: u64,
    },
    /// A damaged record of a volume.
    #[error("volume {volume} is corrupt: {why}; restore it from a copy")]
    Corrupt {
        /// The volume's name.
        volume: String,
        /// The fault of the record.
        why: String,
    },
    /// A batch that lost every attempt: other threads changed what it has read.
    #[error("other threads changed what the batch has read, {attempts} times; try it again")]
    Conflict {
        /// The number of attempts.
        attempts: u32,
    },
    /// A volume that is mounted in another storage.
    #[error("volume {volume} is mounted in another storage; unmount it there")]
    Claimed {
        /// The volume's name.
        volume: String,
    },
    /// An entry of a volume that is mounted at this path already.
    #[error("entry {entry} of volume {volume} is mounted at {path} already")]
    AlreadyMounted {
        /// The volume's name.
        volume: String,
        /// The entry.
        entry: String,
        /// The path in the storage.
        path: String,
    },
    /// A path without a mounted volume at it or above it, or without this one.
    #[error("no such volume is mounted at {path}; mount one")]
    NotMounted {
        /// The path in the storage.
        path: String,
    },
    /// An entry of the storage that was opened before volumes were mounted or unmounted.
    #[error("the mounts have changed since {path} was opened; open it again")]
    MountsChanged {
        /// The path in the storage.
        path: String,
    },
    /// A change of several mounted volumes happened in some of them only.
    #[error("{}", partial(written, failed))]
    Partial {
        /// The names of the volumes that have the change.
        written: Vec<String>,
        /// The names of the volumes without the change, and why.
        failed: Vec<(String, Error)>,
    },
    /// A line to import that is not a valid entry.
    #[error("line {line}: {why}; the entries before it are imported")]
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// The fault of the line.
        why: String,
    },
    /// A stream that could not be read for an import, or written for an export.
    #[error("{what}: {source}")]
    Stream {
        /// The action that was tried.
        what: &'static str,
        /// The error of the stream.
        source: Arc<io::Error>,
    },
    /// An error of the database below.
    #[error(transparent)]
    Database(#[from] lode::Error),
}

/// A fault of a name.
///
/// ```
/// use lode_volumes::{Error, NameFault, Volume};
///
/// let refused = Volume::in_memory()?.root().set("", 1u8);
/// assert!(matches!(refused, Err(Error::InvalidName { fault: NameFault::Empty, .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// A name without characters.
    #[error("it is empty; give one")]
    Empty,
    /// The name `.` or `..`.
    #[error("a path cannot go to itself or up; write it out")]
    Dots,
    /// A name with a `/`.
    #[error("it has a /; leave it out")]
    Slash,
    /// A name that is too long.
    #[error("it has {size_bytes} bytes, and at most {most_bytes} are allowed; shorten it")]
    TooLong {
        /// Bytes of the name.
        size_bytes: usize,
        /// The most.
        most_bytes: usize,
    },
}

fn partial(written: &[String], failed: &[(String, Error)]) -> String {
    let failed: Vec<_> = failed.iter().map(|(name, error)| format!("{name}: {error}")).collect();
    let written = if written.is_empty() { "none".into() } else { written.join(", ") };
    format!("not every volume has the change (these have it: {written}): {}", failed.join("; "))
}

impl Error {
    /// Returns true if the argument cannot be used: a name, a value, a path that is not there, or a
    /// line to import. The same call fails again until something else has changed.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Database(error) => error.is_bad_input(),
            Self::InvalidName { .. }
            | Self::NoEntry { .. }
            | Self::NameTaken { .. }
            | Self::NotEmpty { .. }
            | Self::IntoItself { .. }
            | Self::ValueTooLong { .. }
            | Self::OtherKind { .. }
            | Self::ExpiryTooFar { .. }
            | Self::OtherVolume { .. }
            | Self::NotAVolume { .. }
            | Self::NoVolume { .. }
            | Self::AlreadyMounted { .. }
            | Self::NotMounted { .. } => true,
            _ => false,
        }
    }

    pub(crate) fn stream(what: &'static str, source: io::Error) -> Self {
        Self::Stream { what, source: Arc::new(source) }
    }
}

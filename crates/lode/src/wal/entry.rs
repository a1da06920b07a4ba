//! Outcomes, as frames have them. Keys are as the table's index has them.

use crate::codec::Reader;
use crate::error::Result;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)+) => {
        /// What came of an operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Kind { $($(#[$doc])* $name = $number,)+ }

        impl Kind {
            pub(super) fn of(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// A record is there: table, key, payload.
    Put = 1,
    /// Bytes of a record's payload are others: table, where, key, bytes.
    Patch = 2,
    /// A record is not there: table, key.
    Delete = 3,
    /// Several at once: the kind of each, and its bytes, counted.
    Commit = 4,
    /// There is a table: its definition.
    Create = 5,
    /// There is a table no more: its number.
    Drop = 6,
}

/// What comes before the content of an outcome among those of a commit.
pub(crate) type Head = [u8; 5];

/// An outcome to be applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'b> {
    pub kind: Kind,
    pub body: &'b [u8],
}

impl<'b> Entry<'b> {
    /// The outcomes that happened at once: those of a commit, or it alone.
    pub(crate) fn parts(self) -> Result<Vec<Self>> {
        if self.kind != Kind::Commit {
            return Ok(vec![self]);
        }
        let mut reader = Reader::new(self.body, "a commit in the log");
        let mut parts = Vec::new();
        while !reader.is_empty() {
            let kind = reader.u8()?;
            let body = reader.counted()?;
            let kind = Kind::of(kind).filter(|kind| *kind != Kind::Commit);
            let kind = kind.ok_or_else(|| {
                crate::Error::corrupt("a commit in the log", "it has outcomes of no known kind")
            })?;
            parts.push(Self { kind, body });
        }
        Ok(parts)
    }

    /// The head of an outcome: its kind, and how many bytes its content has.
    pub(crate) fn head(kind: Kind, size: usize) -> Head {
        let [a, b, c, d] = (size as u32).to_le_bytes();
        [kind as u8, a, b, c, d]
    }
}

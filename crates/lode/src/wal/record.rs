//! Log records: the log's account of each change. Keys are as the table's index has them.
//!
//! | kind | body |
//! |---|---|
//! | put | the table (4 bytes), a key, and the payload that is under it from then on |
//! | patch | the table, a place in the payload (4 bytes), a key, and the bytes that are there |
//! | delete | the table, and a key under which nothing is any more |
//! | commit | several of the others at once, each as its kind (1 byte), its size (4), its body |
//! | create table | the table's definition |
//! | drop table | the table |
//! | index ready | a secondary index, which has an entry for each record from then on |
//! | expired | a time (8 bytes): what expires up to it has expired, whatever the clock says |
//! | before | the table, and the payload that the next record of the commit replaces or removes |
//! | definition | the definition of a table that a later record of the commit drops or redefines |
//! | redefine | the table (4 bytes), and the schema that it has from then on |
//!
//! "Before" and "definition" change nothing. They are there for readers of changes, if these are
//! kept.

use crate::codec::Reader;
use crate::error::{Error, Result};

/// The name of a log record in errors.
const WHAT: &str = "a record of the log";

/// The number of a table. No other table of the database ever has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TableId(pub u32);

impl TableId {
    const BYTES: usize = size_of::<u32>();

    /// Returns the number of the table created after this one; `None` if this is the last.
    pub(crate) fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        reader.u32().map(Self)
    }
}

/// The kind of a record, as its frame has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RecordKind {
    Put = 1,
    Patch = 2,
    Delete = 3,
    Commit = 4,
    CreateTable = 5,
    DropTable = 6,
    IndexReady = 7,
    TakePlace = 8,
    Expired = 9,
    Before = 10,
    Definition = 11,
    Redefine = 12,
}

impl RecordKind {
    const ALL: [Self; 12] = [
        Self::Put,
        Self::Patch,
        Self::Delete,
        Self::Commit,
        Self::CreateTable,
        Self::DropTable,
        Self::IndexReady,
        Self::TakePlace,
        Self::Expired,
        Self::Before,
        Self::Definition,
        Self::Redefine,
    ];

    pub(super) fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// A key and the bytes that come after it. The log has them one after the other, and only the
/// table's schema says where the key ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyed<'b> {
    /// The key and the rest apart, as they are logged.
    Apart { key: &'b [u8], rest: &'b [u8] },
    /// The key and the rest joined, as they are read from the log.
    Joined(&'b [u8]),
}

impl<'b> Keyed<'b> {
    #[inline(always)]
    fn parts(self) -> [&'b [u8]; 2] {
        match self {
            Self::Apart { key, rest } => [key, rest],
            Self::Joined(bytes) => [bytes, &[]],
        }
    }

    fn size_bytes(self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }

    /// Returns the key and the rest, where `split` finds the end of the key.
    ///
    /// # Errors
    /// `Corrupt` if `split` finds no end.
    pub(crate) fn split(
        self,
        split: impl FnOnce(&'b [u8]) -> Option<(&'b [u8], &'b [u8])>,
    ) -> Result<(&'b [u8], &'b [u8])> {
        match self {
            Self::Apart { key, rest } => Ok((key, rest)),
            Self::Joined(bytes) => {
                split(bytes).ok_or_else(|| Error::corrupt(WHAT, "it has no whole key"))
            }
        }
    }
}

/// A logged change of one record, or of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogRecord<'b> {
    /// A record was written, over one with its key or not.
    Put { table: TableId, record: Keyed<'b> },
    /// Bytes of a record's payload, from byte `at` on, were overwritten: with those after its key.
    Patch { table: TableId, at: u32, bytes: Keyed<'b> },
    /// A record was deleted.
    Delete { table: TableId, key: Keyed<'b> },
    /// A table was created, which has this definition.
    CreateTable { definition: &'b [u8] },
    /// A table or a secondary index was dropped.
    DropTable { table: TableId },
    /// A secondary index has an entry for each record of its table from then on.
    IndexReady { index: TableId },
    /// A successor is the table of its name from then on: its predecessor was dropped.
    TakePlace { successor: TableId },
    /// Records that expire up to a time have expired, whatever the clock says.
    Expired { until_us: i64 },
    /// The record that the next one of the commit replaces or deletes had this payload.
    Before { table: TableId, payload: &'b [u8] },
    /// A table or an index with this definition is dropped or redefined by a later record of the
    /// commit.
    Definition { definition: &'b [u8] },
    /// A table or an index has this schema from then on. Its records stay as they are.
    Redefine { table: TableId, schema: &'b [u8] },
}

impl<'b> LogRecord<'b> {
    pub(super) fn kind(&self) -> RecordKind {
        match self {
            Self::Put { .. } => RecordKind::Put,
            Self::Patch { .. } => RecordKind::Patch,
            Self::Delete { .. } => RecordKind::Delete,
            Self::CreateTable { .. } => RecordKind::CreateTable,
            Self::DropTable { .. } => RecordKind::DropTable,
            Self::IndexReady { .. } => RecordKind::IndexReady,
            Self::TakePlace { .. } => RecordKind::TakePlace,
            Self::Expired { .. } => RecordKind::Expired,
            Self::Before { .. } => RecordKind::Before,
            Self::Definition { .. } => RecordKind::Definition,
            Self::Redefine { .. } => RecordKind::Redefine,
        }
    }

    /// Returns the numbers that the body starts with.
    #[inline(always)]
    fn front(&self) -> Front {
        match *self {
            Self::Put { table, .. }
            | Self::Delete { table, .. }
            | Self::DropTable { table }
            | Self::Before { table, .. }
            | Self::Redefine { table, .. }
            | Self::IndexReady { index: table }
            | Self::TakePlace { successor: table } => {
                Front { bytes: [table.0.to_le_bytes(), [0; 4]], size: TableId::BYTES }
            }
            Self::Patch { table, at, .. } => {
                Front { bytes: [table.0.to_le_bytes(), at.to_le_bytes()], size: 8 }
            }
            Self::Expired { until_us } => {
                let [a, b, c, d, e, f, g, h] = until_us.to_le_bytes();
                Front { bytes: [[a, b, c, d], [e, f, g, h]], size: 8 }
            }
            Self::CreateTable { .. } | Self::Definition { .. } => {
                Front { bytes: [[0; 4]; 2], size: 0 }
            }
        }
    }

    /// Returns the parts of the body after these numbers.
    #[inline(always)]
    fn rest(&self) -> [&'b [u8]; 2] {
        match *self {
            Self::Put { record: keyed, .. }
            | Self::Patch { bytes: keyed, .. }
            | Self::Delete { key: keyed, .. } => keyed.parts(),
            Self::CreateTable { definition } | Self::Definition { definition } => [definition, &[]],
            Self::Before { payload, .. } => [payload, &[]],
            Self::Redefine { schema, .. } => [schema, &[]],
            Self::DropTable { .. }
            | Self::IndexReady { .. }
            | Self::TakePlace { .. }
            | Self::Expired { .. } => [&[], &[]],
        }
    }

    /// Calls `write` with the kind and the body, in parts that come one after another.
    #[inline(always)]
    pub(crate) fn encode<T>(&self, write: impl FnOnce(RecordKind, &[&[u8]]) -> T) -> T {
        let front = self.front();
        let [first, second] = self.rest();
        let size = front.bytes().len() + first.len() + second.len();
        debug_assert_eq!(size, self.body_bytes(), "a body has as many bytes as it says");
        write(self.kind(), &[front.bytes(), first, second])
    }

    /// Returns the bytes of the body.
    pub(super) fn body_bytes(&self) -> usize {
        self.front().size + self.rest().iter().map(|part| part.len()).sum::<usize>()
    }

    /// Returns the bytes before the body in a commit.
    pub(super) fn head(&self) -> [u8; HEAD_BYTES] {
        debug_assert!(u32::try_from(self.body_bytes()).is_ok(), "a size has four bytes");
        let [a, b, c, d] = (self.body_bytes() as u32).to_le_bytes();
        [self.kind() as u8, a, b, c, d]
    }

    /// Decodes the records of a frame of the log: those of a commit, or a single one.
    ///
    /// # Errors
    /// `Corrupt` if the body is none of the kind.
    pub(crate) fn decode(kind: RecordKind, body: &'b [u8]) -> Result<Vec<Self>> {
        if kind != RecordKind::Commit {
            return Ok(vec![Self::decode_one(kind, body)?]);
        }
        let mut reader = Reader::new(body, "a commit in the log");
        let mut records = Vec::new();
        while !reader.is_empty() {
            let kind = RecordKind::of(reader.u8()?);
            let body = reader.counted()?;
            let kind = kind.filter(|kind| *kind != RecordKind::Commit).ok_or_else(|| {
                Error::corrupt("a commit in the log", "it has records of no known kind")
            })?;
            records.push(Self::decode_one(kind, body)?);
        }
        Ok(records)
    }

    fn decode_one(kind: RecordKind, body: &'b [u8]) -> Result<Self> {
        let mut reader = Reader::new(body, WHAT);
        Ok(match kind {
            RecordKind::Put => Self::Put {
                table: TableId::read(&mut reader)?,
                record: Keyed::Joined(reader.rest()),
            },
            RecordKind::Patch => Self::Patch {
                table: TableId::read(&mut reader)?,
                at: reader.u32()?,
                bytes: Keyed::Joined(reader.rest()),
            },
            RecordKind::Delete => Self::Delete {
                table: TableId::read(&mut reader)?,
                key: Keyed::Joined(reader.rest()),
            },
            RecordKind::CreateTable => Self::CreateTable { definition: reader.rest() },
            RecordKind::DropTable => Self::DropTable { table: TableId::read(&mut reader)? },
            RecordKind::IndexReady => Self::IndexReady { index: TableId::read(&mut reader)? },
            RecordKind::TakePlace => Self::TakePlace { successor: TableId::read(&mut reader)? },
            RecordKind::Expired => Self::Expired { until_us: reader.u64()? as i64 },
            RecordKind::Before => {
                Self::Before { table: TableId::read(&mut reader)?, payload: reader.rest() }
            }
            RecordKind::Definition => Self::Definition { definition: reader.rest() },
            RecordKind::Redefine => {
                Self::Redefine { table: TableId::read(&mut reader)?, schema: reader.rest() }
            }
            RecordKind::Commit => return Err(Error::corrupt(WHAT, "it is a commit in another")),
        })
    }

    /// Returns the bytes of the key and of what comes after it; 0 for a table.
    pub(crate) fn size_bytes(&self) -> usize {
        match *self {
            Self::Put { record: keyed, .. }
            | Self::Patch { bytes: keyed, .. }
            | Self::Delete { key: keyed, .. } => keyed.size_bytes(),
            Self::CreateTable { .. }
            | Self::DropTable { .. }
            | Self::IndexReady { .. }
            | Self::TakePlace { .. }
            | Self::Expired { .. }
            | Self::Before { .. }
            | Self::Definition { .. }
            | Self::Redefine { .. } => 0,
        }
    }

    /// Returns true if it says only how things were before.
    pub(crate) fn is_of_the_past(&self) -> bool {
        matches!(self, Self::Before { .. } | Self::Definition { .. })
    }
}

/// Bytes that a record has before its body in a commit.
pub(super) const HEAD_BYTES: usize = 5;

/// The numbers at the start of a body.
struct Front {
    bytes: [[u8; 4]; 2],
    size: usize,
}

impl Front {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        &self.bytes.as_flattened()[..self.size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wal::body::{Body, Together};

    fn joined(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    /// Returns the kind and the body of records that happen at once.
    fn together(records: &[LogRecord<'_>]) -> (RecordKind, Vec<u8>) {
        let together = Together::of(records.iter().copied()).expect("there are some");
        let mut body = Vec::new();
        let add = &mut |part: &[u8]| -> Result<()> {
            body.extend_from_slice(part);
            Ok(())
        };
        together.each_part(add).expect("it does not fail");
        assert_eq!(together.size_bytes(), body.len());
        (together.kind(), body)
    }

    const TABLE: TableId = TableId(7);

    fn all() -> Vec<LogRecord<'static>> {
        let keyed = Keyed::Apart { key: b"key", rest: b"rest" };
        vec![
            LogRecord::Put { table: TABLE, record: keyed },
            LogRecord::Patch { table: TABLE, at: 9, bytes: keyed },
            LogRecord::Delete { table: TABLE, key: Keyed::Apart { key: b"key", rest: b"" } },
            LogRecord::CreateTable { definition: b"definition" },
            LogRecord::DropTable { table: TABLE },
            LogRecord::IndexReady { index: TABLE },
            LogRecord::TakePlace { successor: TABLE },
            LogRecord::Expired { until_us: -7 },
            LogRecord::Before { table: TABLE, payload: b"payload" },
            LogRecord::Definition { definition: b"definition" },
            LogRecord::Redefine { table: TABLE, schema: b"schema" },
        ]
    }

    /// Returns a record as it is once it has been read from the log.
    fn as_read(record: LogRecord<'static>) -> LogRecord<'static> {
        let read = |keyed: Keyed<'_>| {
            Keyed::Joined(match keyed.parts()[1].len() {
                0 => b"key",
                _ => b"keyrest",
            })
        };
        match record {
            LogRecord::Put { table, record } => LogRecord::Put { table, record: read(record) },
            LogRecord::Patch { table, at, bytes } => {
                LogRecord::Patch { table, at, bytes: read(bytes) }
            }
            LogRecord::Delete { table, key } => LogRecord::Delete { table, key: read(key) },
            other => other,
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_as_it_was() {
        for record in all() {
            let (kind, body) = record.encode(|kind, parts| (kind, joined(parts)));
            assert_eq!(LogRecord::decode(kind, &body), Ok(vec![as_read(record)]));
        }
        assert!(Together::of(std::iter::empty()).is_none());
        for count in 1..=all().len() {
            let records = &all()[..count];
            let (kind, body) = together(records);
            let wanted = records.iter().map(|record| as_read(*record)).collect();
            assert_eq!(LogRecord::decode(kind, &body), Ok(wanted), "{count} records");
        }
    }

    #[test]
    fn a_body_that_is_cut_short_or_of_a_commit_in_a_commit_is_refused() {
        let (kind, body) = together(&all());
        let cut = LogRecord::decode(kind, &body[..body.len() - 1]);
        assert!(matches!(cut, Err(Error::Corrupt { .. })), "{cut:?}");
        let inner = [&[RecordKind::Commit as u8][..], &(body.len() as u32).to_le_bytes(), &body];
        let inner = joined(&inner);
        let nested = LogRecord::decode(RecordKind::Commit, &inner);
        assert!(matches!(nested, Err(Error::Corrupt { .. })), "{nested:?}");
        let short = LogRecord::decode(RecordKind::Patch, &[0; 7]);
        assert!(matches!(short, Err(Error::Corrupt { .. })), "{short:?}");
    }
}

//! Bodies of records of the log: in parts, which are joined only in the frame.

use super::record::{HEAD_BYTES, LogRecord, RecordKind};

/// The body of a record of the log.
pub(crate) trait Body {
    /// Returns the bytes of the body.
    fn size_bytes(&self) -> usize;

    /// Calls `take` with the parts of the body, one after another, until that fails.
    fn each_part<E>(&self, take: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E>;
}

impl Body for [&[u8]] {
    #[inline(always)]
    fn size_bytes(&self) -> usize {
        self.iter().map(|part| part.len()).sum()
    }

    #[inline(always)]
    fn each_part<E>(&self, take: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.iter().try_for_each(|part| take(part))
    }
}

/// Records that happen at once: a commit of them all, or the only one by itself. They are neither
/// copied nor listed: there may be many.
pub(crate) struct Together<I> {
    records: I,
    kind: RecordKind,
    size_bytes: usize,
}

impl<'b, I: Iterator<Item = LogRecord<'b>> + Clone> Together<I> {
    /// Joins the records that an iterator yields, whenever it is cloned; `None` if it yields none.
    pub(crate) fn of(records: I) -> Option<Self> {
        let mut rest = records.clone();
        let first = rest.next()?;
        let in_commit = |record: LogRecord<'b>| HEAD_BYTES + record.body_bytes();
        let (kind, size_bytes) = match rest.next() {
            None => (first.kind(), first.body_bytes()),
            Some(second) => (
                RecordKind::Commit,
                in_commit(first) + in_commit(second) + rest.map(in_commit).sum::<usize>(),
            ),
        };
        Some(Self { records, kind, size_bytes })
    }

    /// Returns the kind of the joined record.
    pub(crate) fn kind(&self) -> RecordKind {
        self.kind
    }
}

impl<'b, I: Iterator<Item = LogRecord<'b>> + Clone> Body for Together<I> {
    fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    fn each_part<E>(&self, take: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut size_bytes = 0;
        for record in self.records.clone() {
            size_bytes += record.body_bytes();
            if self.kind == RecordKind::Commit {
                take(&record.head())?;
                size_bytes += HEAD_BYTES;
            }
            record.encode(|_, parts| parts.each_part(take))?;
        }
        debug_assert_eq!(size_bytes, self.size_bytes, "records are the same each time");
        Ok(())
    }
}

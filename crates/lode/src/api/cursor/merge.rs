//! Merges the writes of a transaction with the records of the table.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::engine::Loan;
use crate::table::KeyKind;
use crate::tree::Direction;

/// Records that a transaction has written, by their keys in order and in that order: the payload
/// of each, or none if it was deleted.
pub(in crate::api) struct Written {
    pub records: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The memory of the records.
    pub _loan: Loan,
}

/// The position of a cursor in the writes of its transaction.
pub(super) struct Own {
    written: Arc<Written>,
    kind: KeyKind,
    direction: Direction,
    passed: usize,
}

impl Own {
    pub(super) fn new(written: Arc<Written>, kind: KeyKind, direction: Direction) -> Self {
        Self { written, kind, direction, passed: 0 }
    }

    fn next(&self) -> Option<&(Vec<u8>, Option<Vec<u8>>)> {
        let records = &self.written.records;
        match self.direction {
            Direction::Forward => records.get(self.passed),
            Direction::Backward => {
                records.len().checked_sub(self.passed + 1).and_then(|at| records.get(at))
            }
        }
    }

    pub(super) fn has_more(&self) -> bool {
        self.next().is_some()
    }

    /// Compares the next written key with `key` of a record of the table. Written hashed keys come
    /// after all records of the table.
    pub(super) fn order(&self, key: &[u8]) -> Ordering {
        match (self.kind, self.direction, self.next()) {
            (KeyKind::Hash, ..) | (.., None) => Ordering::Greater,
            (KeyKind::Tree, Direction::Forward, Some((own, _))) => own[..].cmp(key),
            (KeyKind::Tree, Direction::Backward, Some((own, _))) => key.cmp(own),
        }
    }

    /// Returns the key of the written record that was passed last.
    pub(super) fn last_key(&self) -> Option<&[u8]> {
        let at = match self.direction {
            Direction::Forward => self.passed.checked_sub(1),
            Direction::Backward if self.passed == 0 => None,
            Direction::Backward => self.written.records.len().checked_sub(self.passed),
        };
        self.written.records.get(at?).map(|(key, _)| &key[..])
    }

    /// Moves past the next written record, and returns it.
    pub(super) fn pass(&mut self) -> Option<(&[u8], Option<&[u8]>)> {
        debug_assert!(self.passed <= self.written.records.len(), "the walk ends once");
        self.passed += 1;
        let Self { written, direction, passed, .. } = self;
        let at = match direction {
            Direction::Forward => Some(*passed - 1),
            Direction::Backward => written.records.len().checked_sub(*passed),
        };
        let (key, payload) = written.records.get(at?)?;
        Some((key, payload.as_deref()))
    }

    /// Returns true if a written record with a hashed key replaces one of the table. Other records
    /// are met in their order.
    pub(super) fn overwrites(&self, key: &[u8]) -> bool {
        let found = || self.written.records.binary_search_by(|(own, _)| own[..].cmp(key));
        self.kind == KeyKind::Hash && found().is_ok()
    }
}

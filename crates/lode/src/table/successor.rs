//! Tables that are made from others. A *successor* is a table of its own, under no name, until it
//! has all records of its *predecessor*; then it takes that one's place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::Definition;
use crate::codec::{Reader, Writer};
use crate::error::Result;
use crate::wal::TableId;

const BEING_MADE: u8 = 0;
/// The state of a successor that is not made any more: opening drops it.
const GIVEN_UP: u8 = 1;
const IN_PLACE: u8 = 2;

/// The part of the definition of a successor that a table does not have.
#[derive(Clone, Debug)]
pub(crate) struct SuccessorOf {
    predecessor: TableId,
    state: Arc<AtomicU8>,
}

impl SuccessorOf {
    /// Describes a successor that is to be made.
    pub(crate) fn new(predecessor: TableId) -> Self {
        Self { predecessor, state: Arc::new(AtomicU8::new(BEING_MADE)) }
    }

    /// Notes that the successor is of no use.
    pub(crate) fn give_up(&self) {
        debug_assert!(!self.is_in_place(), "a table in its place is in use");
        self.state.store(GIVEN_UP, Ordering::Release);
    }

    /// Notes that the successor is a table like any other from now on.
    pub(crate) fn take_place(&self) {
        self.state.store(IN_PLACE, Ordering::Release);
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.state.load(Ordering::Acquire) == IN_PLACE
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.state.load(Ordering::Acquire) == GIVEN_UP
    }

    /// Bytes that [`store`](Self::store) writes.
    pub(super) const BYTES: usize = size_of::<u32>();

    pub(super) fn store(&self, writer: &mut Writer) {
        writer.u32(self.predecessor.0);
    }

    /// Reads one that was stored. It is given up: the thread that made it has ended.
    pub(super) fn restore(reader: &mut Reader<'_>) -> Result<Self> {
        let of = Self::new(TableId::read(reader)?);
        of.give_up();
        Ok(of)
    }
}

impl Definition {
    /// Makes the definition that of a successor.
    pub(crate) fn of_successor(self, of: SuccessorOf) -> Self {
        Self { successor: Some(of), ..self }
    }

    /// Returns what the definition of a successor says besides that of a table, until it has taken
    /// its place.
    pub(crate) fn as_successor(&self) -> Option<&SuccessorOf> {
        self.successor.as_ref().filter(|of| !of.is_in_place())
    }

    /// Returns the table whose place a successor is to take; `None` for other tables and indexes.
    pub(crate) fn predecessor(&self) -> Option<TableId> {
        self.as_successor().map(|of| of.predecessor)
    }
}

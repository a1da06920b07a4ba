//! A round: its batches on the clock, and the behaviour of the clock between them.

use std::ops::Range;

use assay_driver::Connection;
use assay_driver::error::Result;
use serde::{Deserialize, Serialize};

use crate::crew::Pace;
use crate::tape::{Records, Rows, Tape};

/// Operations between two calls for progress while the clock is running.
const CHUNK: u64 = 16 * 1024;

/// The behaviour of a round's clock during the instrument's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The clock stops between batches, where operations are prepared and results are compared.
    #[default]
    Stops,
    /// The clock never stops: all operations of a round are prepared before it starts, and all
    /// results are compared after it has stopped.
    Continuous,
}

impl Clock {
    /// Returns true if the clock is the usual one, which cells do not name.
    pub fn stops(&self) -> bool {
        *self == Self::Stops
    }
}

/// A round: its rows, their order, and the connection.
pub struct Round<'r, 'g, R: Records> {
    /// The engine's handle.
    pub connection: &'r mut dyn Connection,
    /// The clock.
    pub pace: &'r mut Pace<'g>,
    /// The shape and content of the records.
    pub records: &'r R,
    /// The living rows.
    pub rows: &'r Rows,
    /// The rows to visit, in order.
    pub tape: &'r Tape,
    /// The positions of the tape.
    pub positions: Range<u64>,
    /// The behaviour of the clock; not used for operations one by one.
    pub clock: Clock,
    /// False for the `null` engine, whose results cannot be right.
    pub check: bool,
    /// Called between batches with the number of operations done.
    pub progress: &'r mut dyn FnMut(u64),
}

/// The way in which a batch is replayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replay {
    pub(crate) operations: usize,
    /// The number of operations in one transaction.
    pub(crate) together: u64,
    /// True if all operations are one transaction, provided that the clock does not stop within it.
    pub(crate) load: bool,
}

impl Replay {
    /// Returns the replay of one operation after another.
    pub(crate) fn one_by_one(operations: usize) -> Self {
        Self { operations, together: 1, load: false }
    }
}

/// Returns the byte range of some operations, of which each has `size` bytes.
pub(crate) fn bytes(operations: &Range<usize>, size: usize) -> Range<usize> {
    operations.start * size..operations.end * size
}

impl<R: Records> Round<'_, '_, R> {
    /// Replays a batch on the clock; returns the number of operations done. A batch with a
    /// continuous clock is replayed in parts, and progress is reported between them.
    pub(crate) fn replay(
        &mut self,
        Replay { operations, together, load }: Replay,
        mut part: impl FnMut(&mut dyn Connection, Range<usize>) -> Result<u64>,
    ) -> Result<u64> {
        let Self { connection, pace, clock, progress, .. } = self;
        if clock.stops() {
            return pace.span(|| part(&mut **connection, 0..operations));
        }
        let step = CHUNK.next_multiple_of(together) as usize;
        pace.whole(|| {
            if load {
                connection.begin()?;
            }
            let mut done = 0;
            for first in (0..operations).step_by(step) {
                let last = operations.min(first + step);
                done += part(&mut **connection, first..last)?;
                progress(last as u64);
            }
            if load {
                connection.commit()?;
            }
            Ok(done)
        })
    }
}

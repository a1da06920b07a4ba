//! Dealing the operations of a trace to parts, by the hash of their keys.

use std::io;

use assay_core::tape::TapeHash;

use super::line::Act;
use super::reader::Operation;
use super::spool::Spool;

/// The number of parts, a power of two. Most traces have hot keys, which are of one thread each.
const PARTS: usize = 128;

/// The most operations of one time that are spread until the next one, or over a second.
const SPREAD_MOST: usize = 1 << 18;

/// The bytes of an operation.
pub(super) const READ_SIZE: usize = 25;

/// The operations of a trace, dealt to parts.
pub(super) struct Dealt {
    pub(super) parts: Vec<Spool<READ_SIZE>>,
    pub(super) acts: [u64; Act::ALL.len()],
    position: u32,
    pub(super) key_bytes: u64,
    pub(super) written_bytes: u64,
    /// Operations of the latest time, which wait for the next one.
    pending: Vec<Operation>,
    pub(super) time_ns: u64,
    pub(super) hash: TapeHash,
}

/// The operations between two calls for progress.
const TOLD_EVERY: u32 = 1 << 14;

impl Dealt {
    pub(super) fn new() -> Self {
        Self {
            parts: (0..PARTS).map(|_| Spool::new()).collect(),
            acts: [0; Act::ALL.len()],
            position: 0,
            key_bytes: 0,
            written_bytes: 0,
            pending: Vec::new(),
            time_ns: 0,
            hash: TapeHash::default(),
        }
    }

    pub(super) fn add(
        &mut self,
        operation: Operation,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<()> {
        if operation.time_ns != self.time_ns {
            self.spread(operation.unit_ns.min(operation.time_ns - self.time_ns))?;
        } else if self.pending.len() >= SPREAD_MOST {
            self.spread(0)?;
        }
        self.time_ns = operation.time_ns;
        self.pending.push(operation);
        if self.position.is_multiple_of(TOLD_EVERY) {
            progress(u64::from(self.position));
        }
        Ok(())
    }

    /// Spreads the operations of one time over the time after it, in which they were done: that of
    /// the format's unit, at most.
    pub(super) fn spread(&mut self, width_ns: u64) -> io::Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        let count = pending.len() as u128;
        for (at, operation) in pending.iter().enumerate() {
            let after_ns = u128::from(width_ns) * at as u128 / count;
            self.deal(Operation { time_ns: operation.time_ns + after_ns as u64, ..*operation })?;
        }
        pending.clear();
        self.pending = pending;
        Ok(())
    }

    fn deal(&mut self, operation: Operation) -> io::Result<()> {
        let Operation { time_ns, unit_ns: _, act, key, key_bytes, size } = operation;
        let mut row = [0; READ_SIZE];
        row[..4].copy_from_slice(&self.position.to_le_bytes());
        row[4..8].copy_from_slice(&(size as u32).to_le_bytes());
        row[8..16].copy_from_slice(&key.to_le_bytes());
        row[16..24].copy_from_slice(&time_ns.to_le_bytes());
        row[24] = act as u8;
        self.parts[part_of(key)].push(&row)?;
        self.acts[act as usize] += 1;
        self.position += 1;
        self.key_bytes += key_bytes;
        self.written_bytes += if act.has_value() { size } else { 0 };
        self.hash.add(key);
        self.hash.add(size << 4 ^ act as u64);
        Ok(())
    }
}

/// Returns the part of a key: parts follow each other in the order of keys.
fn part_of(key: u64) -> usize {
    (key >> (u64::BITS - PARTS.ilog2())) as usize
}

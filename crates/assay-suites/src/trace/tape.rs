//! A trace that is ready to be replayed: for each operation, the state of its record before it. So
//! every answer is known in advance, and the replay remembers nothing.
//!
//! Keys are dealt to parts by their hash. The states of one part at a time are in memory;
//! all else is in temporary files, so memory stays bounded however long the trace is. Operations of
//! a thread are those of its parts, merged in the order of the trace.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::io;

use super::deal::{Dealt, READ_SIZE};
use super::facts::Facts;
use super::format::Format;
use super::line::{Act, SECOND_NS};
use super::reader::{Fault, Reading};
use super::spool::{Rows, Spool};
use super::state::State;

/// The bytes of a record whose size no line says, if none is written either.
const UNKNOWN_BYTES: u64 = 100;

/// An operation with the state of its record before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) position: u32,
    pub(super) act: Act,
    /// The hash of the key.
    pub(super) key: u64,
    /// The bytes of the value; of a scan, the number of records.
    pub(super) size: u32,
    pub(super) before: State,
    pub(super) time_ns: u64,
}

/// The bytes of a resolved operation.
const RESOLVED_SIZE: usize = 33;
/// The bytes of a key with its state.
const KEY_SIZE: usize = 16;

impl Resolved {
    /// Returns the state of the record after the operation.
    pub(super) fn after(&self) -> State {
        self.before.after(self.act, self.size)
    }

    fn to_bytes(self) -> [u8; RESOLVED_SIZE] {
        let mut row = [0; RESOLVED_SIZE];
        row[..4].copy_from_slice(&self.position.to_le_bytes());
        row[4..8].copy_from_slice(&self.size.to_le_bytes());
        row[8..16].copy_from_slice(&self.key.to_le_bytes());
        row[16..24].copy_from_slice(&self.time_ns.to_le_bytes());
        row[24] = self.act as u8;
        row[25..].copy_from_slice(&self.before.to_bytes());
        row
    }

    fn of_bytes(row: &[u8; RESOLVED_SIZE]) -> Self {
        let short: &[u8; READ_SIZE] = row.first_chunk().expect("a row is as long");
        Self { before: State::of_bytes(array(row, READ_SIZE)), ..Self::of_read(short) }
    }

    fn of_read(row: &[u8; READ_SIZE]) -> Self {
        Self {
            position: u32::from_le_bytes(array(row, 0)),
            size: u32::from_le_bytes(array(row, 4)),
            key: u64::from_le_bytes(array(row, 8)),
            time_ns: u64::from_le_bytes(array(row, 16)),
            act: Act::ALL[row[24] as usize],
            before: State::default(),
        }
    }
}

/// Returns bytes from a place of a row on.
fn array<const N: usize>(row: &[u8], from: usize) -> [u8; N] {
    *row[from..].first_chunk().expect("a row is as long")
}

/// The operations of one part.
pub(super) struct Part(Rows<RESOLVED_SIZE>);

impl Part {
    /// Returns the next operation; none behind the last one.
    pub(super) fn next(&mut self) -> io::Result<Option<Resolved>> {
        Ok(self.0.next()?.as_ref().map(Resolved::of_bytes))
    }
}

/// A trace that is ready to be replayed.
pub(super) struct Tape {
    pub(super) format: Format,
    pub(super) facts: Facts,
    /// The records that are filled in before, as inserts.
    pub(super) fill: Vec<Part>,
    pub(super) parts: Vec<Part>,
    /// Every key, ascending, with its state at the end.
    pub(super) end: Keys,
    /// Every key, ascending, if there are scans.
    pub(super) keys: Vec<u64>,
}

/// Keys with their states.
pub(super) struct Keys(Rows<KEY_SIZE>);

impl Keys {
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, State)>> {
        let row = self.0.next()?;
        Ok(row.map(|row| (u64::from_le_bytes(array(&row, 0)), State::of_bytes(array(&row, 8)))))
    }
}

/// The facts about a key while its part is resolved.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    state: State,
    /// True if the key is to be filled in, with the first size that a line says.
    fills: bool,
    size: u32,
}

/// Keys are hashes already; the bits that parts share are mixed away.
#[derive(Default)]
struct OfHash(u64);

impl Hasher for OfHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

type Table = HashMap<u64, Known, BuildHasherDefault<OfHash>>;

impl Tape {
    /// Reads a trace. `progress` gets the number of operations from time to time.
    pub(super) fn of(
        reading: &Reading<'_>,
        prefill: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self, Fault> {
        let mut dealt = Dealt::new();
        let read = reading.each(&mut |operation| dealt.add(operation, progress))?;
        let io = |error| reading.spool(error);
        let spreads = read.has_times && read.format.has_whole_seconds();
        let width_ns = if spreads { SECOND_NS } else { 0 };
        dealt.spread(width_ns).map_err(io)?;
        let mut resolving = Resolving::new(prefill, &dealt);
        let parts: io::Result<Vec<_>> =
            std::mem::take(&mut dealt.parts).into_iter().map(|part| resolving.part(part)).collect();
        let parts = parts.map_err(io)?;
        let facts = Facts {
            has_times: read.has_times,
            operations: read.operations,
            acts: dealt.acts,
            keys: resolving.count,
            stored: resolving.stored,
            filled: resolving.filled,
            key_bytes: dealt.key_bytes / read.operations,
            least_bytes: resolving.least.min(resolving.most),
            most_bytes: resolving.most,
            written_bytes: dealt.written_bytes,
            time_ns: dealt.time_ns + width_ns,
            digest: dealt.hash.value(),
            broken: read.broken,
            first_broken: read.first_broken,
        };
        let fill = vec![Part(resolving.fill.read().map_err(io)?)];
        let end = Keys(resolving.end.read().map_err(io)?);
        Ok(Self { format: read.format, facts, fill, parts, end, keys: resolving.keys })
    }
}

/// The findings while parts are resolved.
struct Resolving {
    prefill: bool,
    scans: bool,
    /// The bytes of a record whose size no line says.
    unknown: u32,
    fill: Spool<RESOLVED_SIZE>,
    end: Spool<KEY_SIZE>,
    keys: Vec<u64>,
    /// The number of keys.
    count: u64,
    stored: u64,
    filled: u64,
    least: u32,
    most: u32,
}

impl Resolving {
    fn new(prefill: bool, dealt: &Dealt) -> Self {
        let valued = Act::ALL.into_iter().filter(|act| act.has_value());
        let valued: u64 = valued.map(|act| dealt.acts[act as usize]).sum();
        let mean = dealt.written_bytes.checked_div(valued);
        Self {
            prefill,
            scans: dealt.acts[Act::Scan as usize] > 0,
            unknown: mean.unwrap_or(UNKNOWN_BYTES) as u32,
            fill: Spool::new(),
            end: Spool::new(),
            keys: Vec::new(),
            count: 0,
            stored: 0,
            filled: 0,
            least: u32::MAX,
            most: 0,
        }
    }

    /// Finds the states of one part's records.
    fn part(&mut self, part: Spool<READ_SIZE>) -> io::Result<Part> {
        let mut rows = part.read()?;
        let count = rows.left();
        let mut table = Table::default();
        if self.prefill {
            while let Some(row) = rows.next()? {
                let operation = Resolved::of_read(&row);
                // A scan may start at a key that no record has.
                if operation.act == Act::Scan {
                    continue;
                }
                let makes = matches!(operation.act, Act::Insert | Act::Upsert);
                let known = table
                    .entry(operation.key)
                    .or_insert(Known { fills: !makes, ..Known::default() });
                if known.size == 0 {
                    known.size = operation.size;
                }
            }
            rows.restart(count)?;
            self.fill_in(&mut table)?;
        }
        let mut resolved = Spool::new();
        while let Some(row) = rows.next()? {
            let mut operation = Resolved::of_read(&row);
            let known = table.entry(operation.key).or_default();
            operation.before = known.state;
            operation.act = known.state.resolved(operation.act);
            let after = operation.after();
            if after.is_there() && after != known.state {
                self.note_size(after.size);
            }
            self.stored += u64::from(after.version() == 1 && known.state.version() == 0);
            known.state = after;
            resolved.push(&operation.to_bytes())?;
        }
        let mut keys: Vec<_> = table.into_iter().collect();
        keys.sort_unstable_by_key(|(key, _)| *key);
        for (key, known) in keys {
            let mut row = [0; KEY_SIZE];
            row[..8].copy_from_slice(&key.to_le_bytes());
            row[8..].copy_from_slice(&known.state.to_bytes());
            self.end.push(&row)?;
            self.count += 1;
            if self.scans {
                self.keys.push(key);
            }
        }
        Ok(Part(resolved.read()?))
    }

    /// Fills in the records of a part whose first operation does not make them.
    fn fill_in(&mut self, table: &mut Table) -> io::Result<()> {
        let fills = table.iter_mut().filter(|(_, known)| known.fills);
        let mut fills: Vec<_> = fills.collect();
        fills.sort_unstable_by_key(|(key, _)| **key);
        for (key, known) in fills {
            let size = if known.size == 0 { self.unknown } else { known.size };
            known.state = State::filled(size);
            self.note_size(size);
            self.stored += 1;
            let operation = Resolved {
                position: self.filled as u32,
                act: Act::Insert,
                key: *key,
                size,
                before: State::default(),
                time_ns: 0,
            };
            self.filled += 1;
            self.fill.push(&operation.to_bytes())?;
        }
        Ok(())
    }

    fn note_size(&mut self, size: u32) {
        self.least = self.least.min(size);
        self.most = self.most.max(size);
    }
}

/// Operations of several parts, in the order of the trace.
pub(super) struct Merged {
    parts: Vec<Part>,
    heads: BinaryHeap<Reverse<(u32, usize)>>,
    next: Vec<Option<Resolved>>,
}

impl Merged {
    pub(super) fn of(parts: Vec<Part>) -> io::Result<Self> {
        let next = parts.iter().map(|_| None).collect();
        let mut merged = Self { parts, heads: BinaryHeap::new(), next };
        for part in 0..merged.parts.len() {
            merged.advance(part)?;
        }
        Ok(merged)
    }

    fn advance(&mut self, part: usize) -> io::Result<()> {
        self.next[part] = self.parts[part].next()?;
        self.heads.extend(self.next[part].map(|next| Reverse((next.position, part))));
        Ok(())
    }

    /// Returns the next operation, and leaves it there.
    pub(super) fn peek(&self) -> Option<Resolved> {
        let Reverse((_, part)) = self.heads.peek()?;
        self.next[*part]
    }

    /// Takes the next operation away.
    pub(super) fn pop(&mut self) -> io::Result<()> {
        match self.heads.pop() {
            Some(Reverse((_, part))) => self.advance(part),
            None => Ok(()),
        }
    }
}

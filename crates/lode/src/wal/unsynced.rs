//! The work of a sync of the log, and the proof that it leaves.
//!
//! The synced end must be known without the last block of frames, and without the last segment:
//! nothing comes after them that could say so. Two things are written for that.
//!
//! - When a sync is the first one to reach a segment, the first segment that has ended since the
//!   last such sync gets a proof. So does the segment in which recovery may start. Both are synced
//!   again before the sync ends. For the first lane, the superblock does the same for the segment
//!   that it names.
//! - In each block of frames, the first two syncs that end there leave a proof in the front of the
//!   segment afterwards. So do the first two after a place at which recovery may start, since
//!   proofs of frames before it say nothing. It costs no sync: it is durable after the next one,
//!   and in the system's hands until then.
//!
//! Two, since a frame that reaches into a block may have zeros only there; the second sync ends
//! after a frame that starts in it.

use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::Arc;

use super::front::{self, BLOCK_BYTES, FRAMES_AT};
use super::segment::Segment;
use super::{LogPosition, PAGE_BYTES, SegmentNumber};
use crate::io::{File, Mapped};

/// The file of a segment.
#[derive(Clone)]
struct SegmentFile {
    number: SegmentNumber,
    salt: u32,
    file: Arc<dyn File>,
}

impl SegmentFile {
    fn of(segment: &Segment) -> Self {
        Self { number: segment.number, salt: segment.salt, file: Arc::clone(&segment.file) }
    }

    /// Writes a proof that the lane is synced up to `synced`; returns true if it did. A full file
    /// system that writes to other blocks than the old ones may have no room for it.
    fn prove(&self, synced: LogPosition) -> Result<bool> {
        match self.file.write_at(front::PROOF_AT, &front::proof(self.salt, synced)) {
            Err(error) if is_full(&error) => Ok(false),
            other => other.map(|()| true),
        }
    }
}

fn is_full(error: &Error) -> bool {
    error.kind() == ErrorKind::StorageFull
}

/// The work that is left for a sync. It is locked for moments only, never during a write or a sync.
pub(super) struct Unsynced {
    /// The segment that frames are appended to.
    last: SegmentFile,
    mapped: Option<Arc<dyn Mapped>>,
    /// Bytes of it before that have been [unmapped](Mapped::unmap).
    held_from: u64,
    /// Segments before it that may not be synced, and true if there are new names.
    before: Vec<SegmentFile>,
    names_changed: bool,
    /// The segments that have ended and get a proof: the first one since the last that got one, and
    /// that in which recovery may start.
    unproven: Vec<SegmentFile>,
    /// True if a proof was written that no sync has made durable.
    has_proof: bool,
    /// The end of the last sync.
    synced: LogPosition,
    /// The block of frames in which two syncs have left a proof since recovery may start there.
    proven: Option<Block>,
    /// The last place at which recovery may start.
    from: LogPosition,
}

/// The block that has the last byte before a position.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Block(SegmentNumber, u64);

impl Block {
    fn before(end: LogPosition) -> Self {
        debug_assert!(end.at >= FRAMES_AT, "the log ends after the front of a segment");
        Self(end.segment, (end.at - 1) / BLOCK_BYTES)
    }
}

impl Unsynced {
    pub(super) fn new(segment: &Segment) -> Self {
        let last = SegmentFile::of(segment);
        let synced = LogPosition { segment: last.number, at: FRAMES_AT };
        Self {
            last,
            mapped: segment.mapped(),
            held_from: 0,
            before: Vec::new(),
            names_changed: false,
            unproven: Vec::new(),
            has_proof: false,
            synced,
            proven: None,
            from: LogPosition::default(),
        }
    }

    /// Has recovery start at a place: proofs of earlier ones say nothing of the frames after it.
    pub(super) fn start_from(&mut self, place: LogPosition) {
        debug_assert!(place >= self.from, "recovery starts at later and later places");
        self.from = place;
        self.proven = None;
    }

    /// Moves to the next segment; returns the offset from which the one before is still mapped.
    pub(super) fn begin(&mut self, segment: &Segment) -> u64 {
        let last = std::mem::replace(&mut self.last, SegmentFile::of(segment));
        assert!(last.number < self.last.number, "segments follow each other");
        if self.unproven.is_empty() || self.from.segment == last.number {
            self.unproven.push(last.clone());
        }
        self.before.push(last);
        self.names_changed = true;
        self.mapped = segment.mapped();
        std::mem::take(&mut self.held_from)
    }

    /// Returns true if a proof was written that no sync has made durable.
    pub(super) fn has_proof(&self) -> bool {
        self.has_proof
    }

    /// Takes the work of a sync of all that ends at a position or before.
    pub(super) fn take(&mut self, end: LogPosition) -> ToSync {
        assert!(end >= self.synced, "the synced log only grows");
        debug_assert!(end.segment <= self.last.number, "the end of the log is in a segment");
        let mut files = std::mem::take(&mut self.before);
        files.push(self.last.clone());
        debug_assert!(files.is_sorted_by(|a, b| a.number < b.number), "earlier ones come first");
        // Whole pages: the next frame is written where they end.
        let whole = end.at - end.at % PAGE_BYTES;
        let is_held = self.last.number == end.segment && self.held_from < whole;
        let held = self.mapped.clone().filter(|_| is_held).map(|mapped| {
            (mapped, std::mem::replace(&mut self.held_from, whole) as usize..whole as usize)
        });
        let is_before = |file: &mut SegmentFile| file.number < end.segment;
        let before = self.unproven.extract_if(.., is_before).collect();
        // A lane that is synced again for the sake of its proof has no frame that needs another.
        let is_new = end > self.synced;
        let block = Block::before(end);
        let is_needed = is_new && end.at > FRAMES_AT && self.proven != Some(block);
        let own = files.iter().find(|file| is_needed && file.number == end.segment).cloned();
        if is_new {
            let is_second = self.synced > self.from && Block::before(self.synced) == block;
            self.proven = is_second.then_some(block);
        }
        self.has_proof = own.is_some();
        self.synced = end;
        let names_changed = std::mem::take(&mut self.names_changed);
        ToSync { end, names_changed, held, files, before, own }
    }
}

/// The work of one sync, in this order.
pub(super) struct ToSync {
    end: LogPosition,
    /// True if there are new names.
    pub names_changed: bool,
    /// The range that leaves its mapping first.
    held: Option<(Arc<dyn Mapped>, Range<usize>)>,
    files: Vec<SegmentFile>,
    /// The segments before the last that get a proof, which the sync waits for.
    before: Vec<SegmentFile>,
    /// The segment that gets a proof because of its last block.
    own: Option<SegmentFile>,
}

impl ToSync {
    /// Unmaps the bytes that are written out.
    pub(super) fn unmap(&self) {
        self.held.iter().for_each(|(mapped, held)| mapped.unmap(held.clone()));
    }

    /// Syncs the files, earlier segments first.
    pub(super) fn sync(&self) -> Result<()> {
        self.files.iter().try_for_each(|file| file.file.sync())
    }

    /// Leaves the proofs that the sync was done. It has ended well without them too, if the file
    /// system has no room.
    pub(super) fn prove(&self) -> Result<()> {
        for before in &self.before {
            if before.prove(self.end)? {
                before.file.sync()?;
            }
        }
        self.own.as_ref().map_or(Ok(()), |own| own.prove(self.end).map(drop))
    }
}

//! Whole frames of the log in places of others.

use lode::simulation::Simulated;

use super::bits::recovery_begins;
use super::judge::judge;
use crate::common::content::Content;
use crate::common::known::Known;
use crate::common::on_all::on_all;

/// Returns the places of the frames since the last checkpoint, in their first segment.
fn frames(disk: &Simulated, (segment, mut at): (&str, usize)) -> Vec<std::ops::Range<usize>> {
    let log = disk.file_bytes(segment).expect("it is there");
    let mut frames = Vec::new();
    while let Some([size @ .., kind, noted, 0, 0]) = log.get(at + 8..at + 16)
        && *kind != 0
    {
        let size = u32::from_le_bytes(*size.first_chunk().expect("four bytes")) as usize;
        let end = at + (16 + usize::from(*noted) * 16 + size).next_multiple_of(8);
        frames.push(at..end);
        at = end;
    }
    frames
}

/// The checksums are right and the frames are of this segment. Only the checksum of the frame
/// before is wrong.
#[test]
fn a_frame_in_the_place_of_another_is_none() {
    let mut known = Known::small(16);
    known.kill();
    let disk = &known.disk;
    let states: Vec<&Content> = known.states.iter().rev().collect();
    let (segment, from) = recovery_begins(disk);
    let frames = frames(disk, (&segment, from));
    let pairs = frames.iter().flat_map(|from| frames.iter().map(move |to| (from, to)));
    let pairs: Vec<_> = pairs.filter(|(from, to)| from != to && from.len() == to.len()).collect();
    assert!(pairs.len() > 20, "{} pairs are of the same length", pairs.len());
    on_all(&pairs, |(from, to)| {
        let fork = disk.fork();
        let mut log = fork.file_bytes(&segment).expect("it is there");
        log.copy_within(from.start..from.end, to.start);
        fork.put_file(&segment, log);
        let judged = judge(&fork, &states).map(drop);
        judged.map_err(|why| format!("bytes {from:?} of {segment} at {to:?}: {why}"))
    });
}

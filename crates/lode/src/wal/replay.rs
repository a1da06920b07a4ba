//! Reading the log again after a crash.

use std::collections::BTreeMap;

use super::frame::Frame;
use super::segment::{FRAMES_AT, Header, name, number_of};
use super::{Entry, Place, Position};
use crate::error::{Error, Result};
use crate::io::Disk;

/// The longest outcome that is looked for where the log should have ended.
const MOST_PROOF_BYTES: usize = 64 * 1024;

/// How the log ended.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// After the last outcome.
    pub end: Place,
    /// Segments that are part of the log, with the bytes that are.
    pub segments: Vec<(u64, u64)>,
    /// A number that no segment has or had.
    pub next_number: u64,
}

/// What is known about where the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There may be outcomes.
    Open,
    /// The database was closed at the place where recovery begins: unless somebody has begun a
    /// segment since, there is nothing to look for.
    Clean,
    /// Nothing after the place where recovery begins was promised: even the segment may be missing.
    Anywhere,
}

struct Found {
    header: Header,
    chain: u32,
    bytes: Vec<u8>,
}

/// Calls `apply` with each outcome from a place on, and the place after it. Then nobody needs
/// [other segments](Replayed::segments) any more.
///
/// # Errors
/// `Corrupt` when a part of the log is missing that was there; what `apply` answers.
pub fn replay(
    disk: &dyn Disk,
    database: u64,
    (start, ending): (Place, Ending),
    apply: &mut dyn FnMut(Entry<'_>, Place) -> Result<()>,
) -> Result<Replayed> {
    let numbers = segments(disk)?;
    let next_number = numbers.last().map_or(1, |last| last + 1).max(start.position.segment + 1);
    let mut replayed = Replayed { end: start, next_number, ..Replayed::default() };
    let first = start.position.segment;
    if !numbers.contains(&first) {
        if ending == Ending::Anywhere {
            return Ok(replayed);
        }
        let what = format!("log segment {}", name(first));
        return Err(Error::corrupt(what, "it is missing, and recovery begins there"));
    }
    if ending == Ending::Clean && numbers.last() == Some(&first) {
        replayed.segments.push((first, start.position.at));
        return Ok(replayed);
    }
    let Some(mut current) = read(disk, database, first)? else {
        if ending == Ending::Anywhere {
            return Ok(replayed);
        }
        let what = format!("log segment {}", name(first));
        return Err(Error::corrupt(what, "its header is not whole, and recovery begins there"));
    };
    // Only their headers: together, segments may be larger than the memory.
    let mut later: BTreeMap<u64, Header> = BTreeMap::new();
    for number in numbers.into_iter().filter(|number| *number > first) {
        if let Some((header, _)) = read_header(disk, database, number)? {
            later.insert(number, header);
        }
    }
    loop {
        let end = &mut replayed.end;
        let at = end.position.at as usize;
        while let Some(rest) = current.bytes.get(end.position.at as usize..) {
            let Some(frame) = Frame::read(rest, current.header.salt, rest.len()) else { break };
            if frame.before != end.chain {
                break;
            }
            end.position.at += frame.size as u64;
            end.chain = frame.sum;
            apply(Entry { kind: frame.kind, body: frame.body }, *end)?;
        }
        debug_assert!(end.position.at as usize >= at, "a log goes on");
        replayed.segments.push((current.header.number, end.position.at));
        // The newest of several: the others were given up when writing their headers failed.
        let next = later.iter().rev().find(|(_, header)| header.after == *end);
        let Some((number, _)) = next else { break };
        let number = *number;
        let Some(found) = read(disk, database, number)? else { break };
        current = found;
        // What was begun before it and is not part of the log never will be.
        later.retain(|other, _| *other > number);
        *end =
            Place { position: Position { segment: number, at: FRAMES_AT }, chain: current.chain };
    }
    let end = replayed.end.position;
    let mut proof = proven(&current, end.at as usize);
    drop(current);
    for number in later.into_keys() {
        if let Some(found) = read(disk, database, number)? {
            proof = proof.max(proven(&found, FRAMES_AT as usize));
        }
    }
    match proof > end {
        true => Err(Error::corrupt(
            format!("log segment {}", name(end.segment)),
            format!("the outcome at byte {} is damaged, and it was synced once", end.at),
        )),
        false => Ok(replayed),
    }
}

/// The numbers of all segments, in order.
pub(super) fn segments(disk: &dyn Disk) -> Result<Vec<u64>> {
    let names = disk.list().map_err(|error| Error::io("list the files of the database", &error))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Removes the segments that are not part of the log.
pub fn remove_others(disk: &dyn Disk, part_of_log: &[u64]) -> Result<()> {
    for number in segments(disk)?.into_iter().filter(|number| !part_of_log.contains(number)) {
        disk.remove(&name(number))
            .map_err(|error| Error::io("remove a log segment of no use", &error))?;
    }
    Ok(())
}

/// The header of a segment and its checksum, if it is one of this database.
fn read_header(disk: &dyn Disk, database: u64, number: u64) -> Result<Option<(Header, u32)>> {
    let bytes = read_bytes(disk, number, FRAMES_AT)?;
    let fits = |header: &Header| header.database == database && header.number == number;
    Ok(Header::read(&bytes)?.filter(|(header, _)| fits(header)))
}

/// A segment, if it is one of this database.
fn read(disk: &dyn Disk, database: u64, number: u64) -> Result<Option<Found>> {
    let Some((header, chain)) = read_header(disk, database, number)? else { return Ok(None) };
    Ok(Some(Found { header, chain, bytes: read_bytes(disk, number, u64::MAX)? }))
}

/// The first bytes of a segment, at most so many.
fn read_bytes(disk: &dyn Disk, number: u64, most: u64) -> Result<Vec<u8>> {
    let failed = |error| Error::io(format!("read log segment {}", name(number)), &error);
    let file = disk.open(&name(number)).map_err(failed)?;
    let mut bytes = vec![0; file.size_bytes().map_err(failed)?.min(most) as usize];
    file.read_at(0, &mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// How far the log was synced, as whole frames from a place on say, wherever they are, and the
/// segment's header.
fn proven(found: &Found, from: usize) -> Position {
    let mut newest = found.header.synced;
    let mut at = from;
    while let Some(rest) = found.bytes.get(at..) {
        if rest.is_empty() {
            break;
        }
        match Frame::read(rest, found.header.salt, MOST_PROOF_BYTES) {
            Some(frame) => {
                newest = newest.max(frame.synced.unwrap_or_default());
                at += frame.size;
            }
            None => at += 8,
        }
    }
    newest
}

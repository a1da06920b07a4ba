//! Single bits that turn over.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use lode::simulation::Simulated;

use super::judge::{Outcome, judge};
use super::{end_of, open};
use crate::common::content::{Content, read};
use crate::common::known::Known;
use crate::common::on_all::on_all;
use crate::common::random::Random;
use crate::effort::effort;

/// The bits of some bytes.
fn bits(bytes: Range<usize>) -> Range<u64> {
    bytes.start as u64 * 8..bytes.end as u64 * 8
}

fn flips() -> u64 {
    effort("LODE_FLIPS", 300, 2_000)
}

/// The starts of the copies of superblocks.
pub const SUPERBLOCKS_AT: [usize; 4] = [0, 16_384, 8 * 16_384, 9 * 16_384];

/// Returns where recovery starts to read the log: a segment's file, and a place in it.
pub fn recovery_begins(disk: &Simulated) -> (String, usize) {
    let data = disk.file_bytes("data").expect("it is there");
    let number = |at: usize| u64::from_le_bytes(*data[at..].first_chunk().expect("8 bytes"));
    // The newer one of the superblocks: generation, segment, place.
    let [.., segment, at] = [0, 16_384]
        .map(|from| [16, 64, 72].map(|at| number(from + at)))
        .into_iter()
        .max()
        .expect("there are two");
    (format!("log-{segment:012}"), at as usize)
}

/// Bits to be turned over: all of one copy of the superblocks, of the log's headers and its frames
/// since the last checkpoint, and some of all others.
fn places(disk: &Simulated, (segment, from): &(String, usize), more: u64) -> Vec<(String, u64)> {
    let mut places = Vec::new();
    let mut random = Random(1);
    let names = disk.file_names();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.clone(), disk.file_bytes(name).expect("it is there")))
        .collect();
    for (name, bytes) in &files {
        let mut ranges = vec![];
        if name == "data" {
            ranges.extend(SUPERBLOCKS_AT[..2].iter().map(|at| bits(*at..at + 488)));
        } else {
            ranges.extend([bits(0..84), bits(512..532), bits(4096..4180)]);
            let from = if name == segment { *from } else { 8192 };
            if name >= segment {
                ranges.push(bits(from..(end_of(bytes).max(from) + 16).min(bytes.len())));
            }
        }
        places.extend(ranges.into_iter().flatten().map(|bit| (name.clone(), bit)));
    }
    for _ in 0..more {
        let (name, bytes) = &files[random.below(files.len() as u64) as usize];
        places.push((name.clone(), random.below(bytes.len() as u64 * 8)));
    }
    places
}

#[test]
fn no_bit_that_turns_over_makes_another_content() {
    let mut known = Known::small(1);
    known.kill();
    let disk = &known.disk;
    let [.., before, last] = &known.states[..] else { unreachable!("there were operations") };
    // A copy of the database as it is has the right content.
    assert_eq!(judge(&disk.fork(), &[last]), Ok(Outcome::Content(0)));
    let places = places(disk, &recovery_begins(disk), flips());
    assert!(places.len() > 5_000, "{} bits", places.len());
    let lost = AtomicU64::new(0);
    on_all(&places, |(name, bit)| {
        let fork = disk.fork();
        fork.flip_bit(name, *bit);
        // Each operation was synced by itself, and the next one says so. Of the last, only a proof
        // can, and two syncs of a block leave one.
        let allowed: &[&Content] = if name == "data" { &[last] } else { &[last, before] };
        let outcome = judge(&fork, allowed).map_err(|why| format!("bit {bit} of {name}: {why}"))?;
        if outcome == Outcome::Content(1) {
            lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    let lost = lost.into_inner();
    assert!(lost < 1_000, "{lost} bits are of the last frame");
}

#[test]
fn no_bit_that_turns_over_in_a_closed_database_makes_another_content() {
    let mut known = Known::small(2);
    let from = recovery_begins(&known.disk);
    known.close();
    let mut places = places(&known.disk, &from, flips() / 2);
    // What is in the log now was there before, and is not looked at.
    places.retain(|(name, bit)| name == "data" || bit % 64 == 1);
    on_all(&places, |(name, bit)| {
        let fork = known.disk.fork();
        fork.flip_bit(name, *bit);
        let judged = judge(&fork, &[&known.content]);
        judged.map(drop).map_err(|why| format!("bit {bit} of {name}: {why}"))
    });
}

/// Recovery of a log that is longer than the memory writes checkpoints on its way. Losing the last
/// one of them must not mean going back to one of those.
#[test]
fn no_bit_of_a_superblock_takes_back_what_recovery_has_done() {
    let mut known = Known::with_memory(3, 16 << 20);
    (0..2).for_each(|at| known.create(at));
    for key in 0..900 {
        known.put(1, key * 31 % 900, key);
    }
    known.kill();
    let db = open(&known.disk, 5).expect("it is whole");
    assert!(db.statistics().data_used_bytes > 1 << 20, "it does not fit into memory");
    assert_eq!(read(&db).as_ref(), Ok(&known.content));
    // The process ends here: nothing was done since, and the old log is gone.
    let disk = known.disk.fork();
    drop(db);
    let bits: Vec<u64> = SUPERBLOCKS_AT[..2].iter().flat_map(|at| bits(*at..at + 488)).collect();
    on_all(&bits, |bit| {
        let fork = disk.fork();
        fork.flip_bit("data", *bit);
        judge(&fork, &[&known.content]).map(drop).map_err(|why| format!("bit {bit} of data: {why}"))
    });
}

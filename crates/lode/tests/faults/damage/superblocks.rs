//! Superblocks that are missing, or of another format.

use super::bits::SUPERBLOCKS_AT;
use super::judge::{Outcome, judge};
use super::lanes::Lanes;
use super::open;
use crate::common::content::read;
use crate::common::known::Known;

#[test]
fn superblocks_that_are_side_by_side_are_not_all_that_there_are() {
    let mut known = Known::small(12);
    known.close();
    for place in [0..2, 8..10] {
        let fork = known.disk.fork();
        let mut bytes = fork.file_bytes("data").expect("it is there");
        bytes[place.start * 16_384..place.end * 16_384].fill(0);
        fork.put_file("data", bytes);
        assert_eq!(judge(&fork, &[&known.content]), Ok(Outcome::Content(0)), "{place:?}");
    }
}

/// The format's number is in the same place in all versions.
#[test]
fn files_of_another_format_are_refused_by_its_number() {
    let mut known = Known::small(13);
    known.close();
    for format in [0u32, 2, 6] {
        let fork = known.disk.fork();
        let mut data = fork.file_bytes("data").expect("it is there");
        for from in SUPERBLOCKS_AT {
            let (front, sum) = data[from..from + 488].split_at_mut(480);
            front[8..12].copy_from_slice(&format.to_le_bytes());
            sum.copy_from_slice(&xxhash_rust::xxh3::xxh3_64_with_seed(front, 0).to_le_bytes());
        }
        fork.put_file("data", data);
        let found = open(&fork, 1).map(drop);
        assert_eq!(found, Err(lode::Error::Version { found: format, known: 1 }));
    }
}

/// Each of the two superblocks names a new lane, so that either may be lost.
#[test]
fn one_superblock_is_enough_for_a_new_lane() {
    let mut lanes = Lanes::new(1);
    (0..30).for_each(|key| lanes.put(key as usize % 3, 2, key, key));
    lanes.kill();
    for lost in [[0, 2], [1, 3]] {
        let fork = lanes.disk.fork();
        let mut bytes = fork.file_bytes("data").expect("it is there");
        for at in lost.map(|at| SUPERBLOCKS_AT[at]) {
            bytes[at..at + 488].fill(0);
        }
        fork.put_file("data", bytes);
        let db = open(&fork, 1).expect("the other superblock is there");
        assert_eq!(read(&db).as_ref(), Ok(&lanes.content), "without {lost:?}");
    }
}

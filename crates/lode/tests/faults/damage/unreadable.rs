//! Blocks of 4 KiB that the disk cannot read (`EIO`), after the process was killed.

use lode::simulation::{self, Simulated};
use lode::{Durability, Error, Loss};

use super::blocks::log_files;
use super::open;
use crate::common::content::{Content, options, read};
use crate::common::known::Known;

const BLOCK_BYTES: u64 = 4096;

/// The blocks of a segment before its frames: each has a copy of the header.
const FRONT_BLOCKS: u64 = 2;

/// Returns a copy of a disk that cannot read a block of a file.
fn without_block(disk: &Simulated, name: &str, block: u64) -> Simulated {
    let copy = disk.fork();
    copy.make_unreadable(name, block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES);
    copy
}

/// Returns a killed database whose log has short frames, many in a block, with the contents after
/// each operation that it has.
fn killed() -> (Simulated, Vec<Content>) {
    let mut known = Known::small(30);
    known.checkpoint();
    for key in 0..400 {
        known.put(2, key % 60, 300 + key);
        known.put(3, key % 60, 300 + key);
    }
    known.kill();
    (known.disk, known.states)
}

#[test]
fn a_header_of_a_segment_that_cannot_be_read_is_there_twice() {
    let (disk, states) = killed();
    for name in log_files(&disk) {
        for block in 0..FRONT_BLOCKS {
            let copy = without_block(&disk, &name, block);
            let db = open(&copy, 1).unwrap_or_else(|error| panic!("{name}, {block}: {error}"));
            assert_eq!(Some(&read(&db).expect("whole")), states.last(), "{name}, {block}");
        }
        let copy = without_block(&disk, &name, 1);
        copy.make_unreadable(&name, 0..BLOCK_BYTES);
        let error = open(&copy, 1).map(drop).expect_err("neither can be read");
        assert!(matches!(&error, Error::Io { .. }) && error.to_string().contains(&name), "{error}");
    }
}

/// Slots of 16 KiB have the superblocks: two, and their copies.
#[test]
fn a_superblock_that_cannot_be_read_is_there_twice() {
    let (disk, states) = killed();
    for slots in [[0, 8], [1, 9]] {
        for slot in slots {
            let copy = without_block(&disk, "data", slot * 4);
            let db = open(&copy, 1).unwrap_or_else(|error| panic!("{slot}: {error}"));
            assert_eq!(Some(&read(&db).expect("whole")), states.last(), "{slot}");
        }
        let copy = without_block(&disk, "data", slots[0] * 4);
        let other = slots[1] * 4 * BLOCK_BYTES;
        copy.make_unreadable("data", other..other + BLOCK_BYTES);
        // It may have been the newer one.
        let error = open(&copy, 1).map(drop).expect_err("neither can be read");
        assert!(matches!(&error, Error::Io { .. }), "{error}");
    }
}

/// Frames before the block come out of a repair, up to the one that is in the block, too.
#[test]
fn a_block_of_frames_that_cannot_be_read_takes_no_earlier_one_along() {
    let (disk, states) = killed();
    let (mut last, mut moments) = (0, Vec::new());
    for name in log_files(&disk) {
        let bytes = disk.file_bytes(&name).expect("it is there");
        for block in FRONT_BLOCKS..bytes.len() as u64 / BLOCK_BYTES {
            let copy = without_block(&disk, &name, block);
            let refused = open(&copy, 1).map(drop);
            let target = Simulated::new(2);
            let mut losses = Vec::new();
            let options = options(Durability::Process);
            let repaired = simulation::repair(&options, &copy, &target, 3, &mut |loss| {
                losses.push(loss.clone());
            });
            repaired.unwrap_or_else(|error| panic!("{name}, {block}: {error}"));
            let db = simulation::open(&options, &target, 4).expect("it is whole");
            let found = read(&db).expect("whole");
            let state = states.iter().position(|state| *state == found);
            let state = state.unwrap_or_else(|| panic!("{name}, {block}: {losses:?}"));
            match (&refused, &losses[..]) {
                (Ok(()), []) => assert_eq!(state, states.len() - 1, "{name}, {block}"),
                (Err(Error::Io { what, .. }), [Loss::Log { .. }]) => {
                    assert!(what.contains(&name), "{what}");
                    moments.push(state);
                }
                other => panic!("{name}, {block}: {other:?}"),
            }
            last = last.max(state);
        }
    }
    assert_eq!(last, states.len() - 1, "a block after the end of the log takes nothing along");
    let is_less = |before: &usize, after: &usize| before < after || *after == last;
    assert!(moments.is_sorted_by(is_less), "a later block takes less along: {moments:?}");
    assert!(moments.len() > 5, "{moments:?}");
}

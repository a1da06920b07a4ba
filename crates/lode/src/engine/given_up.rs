//! Tests of checkpoints that are given up.

use std::cell::Cell;

use crate::io::simulated::Simulated;
use crate::{Durability, Error, KeyKind, Options, Schema, Type, simulation};

const RECORD_BYTES: usize = 2_000;

/// Records in a page of a tree, at most.
const RECORDS_OF_PAGE: usize = 8;

const RECORDS: u32 = 5_000;

/// Bytes of the disk that are free when a checkpoint starts: for the log, and some changed pages.
const LEFT_BYTES: u64 = 16 << 20;

fn record(id: u32, value: u8) -> [u8; RECORD_BYTES] {
    let mut record = [value; RECORD_BYTES];
    record[..4].copy_from_slice(&id.to_le_bytes());
    record
}

/// Changes pages that the checkpoint has written again, on a disk that is almost full. The slots
/// that it replaces counted as space for the next checkpoint, and are none when it is given up.
#[test]
fn a_checkpoint_that_is_given_up_leaves_space_for_the_next_one() {
    for most_steps in [1, 4, 8, 10, 100] {
        let disk = Simulated::new(1);
        let options = Options::new().memory_bytes(64 << 20).log_bytes(64 << 20);
        let options = options.segment_bytes(16 << 20).durability(Durability::Process);
        let db = simulation::open(&options, &disk, 1).expect("an empty disk");
        let schema = Schema::build("t").key("id", Type::U32);
        let schema = schema.column("rest", Type::Bytes(RECORD_BYTES as u32 - 4)).finish();
        let table = db.create_table(&schema.expect("a schema"), KeyKind::Tree).expect("space");
        let change_all = |value| (0..RECORDS).for_each(|id| drop(table.upsert(&record(id, value))));
        change_all(0);
        db.engine().checkpoint().expect("space");
        change_all(1);
        let steps = Cell::new(0);
        let changed = Cell::new(0);
        let refused = Cell::new(0);
        let engine = db.engine();
        let goes_on = || {
            if steps.get() == 0 {
                disk.set_capacity(Some(disk.used_bytes() + LEFT_BYTES));
            }
            // Changes as many pages as a step writes.
            let first = steps.get() * 64 * RECORDS_OF_PAGE as u32;
            for id in (first..RECORDS).step_by(RECORDS_OF_PAGE / 2).take(128) {
                match table.upsert(&record(id, 2)) {
                    Ok(_) => changed.set(changed.get() + 1),
                    Err(Error::DiskFull { .. }) => refused.set(refused.get() + 1),
                    Err(error) => panic!("{error:?}"),
                }
            }
            steps.set(steps.get() + 1);
            steps.get() < most_steps
        };
        engine.checkpoint_while(|| true, goes_on).expect("space");
        assert!(changed.get() > 0, "{most_steps} steps, {} refused", refused.get());
        db.checkpoint().unwrap_or_else(|why| panic!("{most_steps} steps: {why}"));
        assert!(db.check().expect("it can be read").is_sound(), "{most_steps} steps");
    }
}

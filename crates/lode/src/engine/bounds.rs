//! Tests of the bounds of the files while a checkpoint is written, and after it.

use crate::io::simulated::Simulated;
use crate::{Durability, KeyKind, Options, Schema, Type, simulation};

const RECORD_BYTES: usize = 1_000;

/// Records of which the bytes, doubled, are more than the least limit of a log.
const RECORDS: u32 = 24_000;

/// Checks that the log may not become longer while a checkpoint is written, though changed pages
/// have two slots then. Otherwise its limit would grow with it.
#[test]
fn the_log_may_not_become_longer_while_a_checkpoint_is_written() {
    let options = Options::new().memory_bytes(64 << 20).durability(Durability::Process);
    let db = simulation::open(&options, &Simulated::new(1), 1).expect("an empty disk");
    let schema = Schema::build("t").key("id", Type::U32);
    let schema = schema.column("rest", Type::Bytes(RECORD_BYTES as u32 - 4)).finish();
    let table = db.create_table(&schema.expect("a schema"), KeyKind::Tree).expect("room");
    let upsert_all = |value| {
        for id in 0..RECORDS {
            let mut record = [value; RECORD_BYTES];
            record[..4].copy_from_slice(&id.to_le_bytes());
            table.upsert(&record).expect("room");
        }
    };
    upsert_all(1);
    db.checkpoint().expect("space");
    upsert_all(2);
    let engine = db.engine();
    let store = engine.store().expect("it is on a disk");
    let before = store.most_log_bytes();
    let data_bytes = u64::from(RECORDS) * RECORD_BYTES as u64;
    assert!((2 * data_bytes..3 * data_bytes).contains(&before), "{before} bytes");
    let mut current = store.current();
    let mut checkpoint = engine.begin_checkpoint(store).expect("space");
    while store.step(&mut checkpoint).expect("nothing is wrong") {
        let during = store.most_log_bytes();
        assert!(during <= before, "{during} bytes, {before} before it");
    }
    assert!(store.data.used_bytes() > before / 3 * 2, "nearly all pages have two slots");
    store.finish(checkpoint, &mut current, false).expect("nothing is wrong");
    assert!(store.most_log_bytes() <= before);
}

//! Space that a steady load does not need any more comes back with the checkpoints that it makes.

use crate::random::mix;
use crate::reading::check;
use lode::simulation::{self, Simulated};
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type, Value};

/// Records of a thousand bytes, in a heap.
const RECORDS: u64 = 12_000;
const REST_BYTES: usize = 1_000;

/// Slots that are left for what may be under way, and too few to be worth it.
const LEFT_BYTES: u64 = 9 << 20;

/// Changes records, `count` times, and does what the threads of the database do now and then.
fn change(db: &Database, table: &Table, records: u64, count: u64) {
    for at in 0..count {
        let rest = vec![at as u8; REST_BYTES];
        let values = [Value::Unsigned(mix(at) % records), Value::Bytes(&rest)];
        table.upsert(&table.schema().pack(&values).expect("it fits")).expect("room");
        if at % 200 == 0 {
            simulation::look_after(db).expect("nothing is wrong");
        }
    }
}

#[test]
fn a_load_that_changes_few_pages_gives_the_space_of_others_back() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let options = Options::new()
            .durability(Durability::Process)
            .memory_bytes(64 << 20)
            .log_bytes(4 << 20);
        let disk = Simulated::new(1);
        let db = simulation::open(&options, &disk, 1).expect("an empty disk");
        let schema = Schema::build("t").key("id", Type::U64).column("rest", Type::VarBytes(2_000));
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("room");
        // All pages change from one checkpoint to the next.
        change(&db, &table, RECORDS, 4 * RECORDS);
        let before = db.statistics();
        let live_bytes = RECORDS * REST_BYTES as u64;
        assert!(before.data_bytes > live_bytes * 3 / 2, "{before:?}");
        let log_bytes = |db: &Database| db.statistics().log_bytes;
        // A few of them do: half of what is left, each time, soon is all.
        let (mut checkpoints, mut last_log_bytes) = (0, log_bytes(&db));
        while checkpoints < 12 {
            change(&db, &table, 100, 200);
            let now = log_bytes(&db);
            checkpoints += u64::from(now < last_log_bytes);
            last_log_bytes = now;
        }
        let after = db.statistics();
        let most_bytes = after.data_used_bytes + LEFT_BYTES;
        assert!(after.data_bytes <= most_bytes, "{kind:?}: {after:?}, {before:?}");
        // It has space again for all pages.
        change(&db, &table, RECORDS, 4 * RECORDS);
        check(&db).unwrap_or_else(|why| panic!("{why}"));
        let count = table.len();
        db.close().expect("nothing is wrong");
        drop(table);
        let db = simulation::open(&options, &disk, 2).expect("it was closed");
        check(&db).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(db.table("t").and_then(|table| table.len()), count);
    }
}

//! Checkpoints, checks and compaction at the same time.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::reading::check;
use lode::simulation::{self, Simulated};
use lode::{Durability, KeyKind, Options, Schema, Type};

use super::support::{BALLAST, Stop, ballast, ballast_record, rounds};
use super::wide::{wide, wide_record};
use crate::watched::watched;

/// While one thread compacts the data file, others write to the database and make checkpoints,
/// which have reserved the places that they need.
#[test]
fn compaction_leaves_checkpoints_the_places_that_they_need() {
    let options = Options::new().memory_bytes(1 << 20).durability(Durability::None);
    let db = simulation::open(&options, &Simulated::new(0), 0).expect("an empty disk");
    let table = ballast(&db);
    let done = AtomicBool::new(false);
    watched(|| {
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (db, table, done) = (&db, &table, &done);
                scope.spawn(move || {
                    let mut round = thread;
                    while !done.load(Ordering::SeqCst) {
                        round += 1;
                        for at in 0..3 {
                            let record = ballast_record((round * 31 + at * 97) % BALLAST, round);
                            table.upsert(&record).expect("room");
                        }
                        // Half of the data file is free now and then.
                        for at in (thread..BALLAST).step_by(2) {
                            match round % 4 {
                                0 => drop(table.delete(at.to_le_bytes()).expect("a key")),
                                2 => drop(table.upsert(&ballast_record(at, round)).expect("room")),
                                _ => {}
                            }
                        }
                        db.checkpoint().expect("nothing is wrong with the disk");
                    }
                });
            }
            let _stop = Stop(&done);
            for _ in 0..rounds() / 30 {
                db.compact().expect("nothing is wrong with the disk");
            }
        });
    });
    check(&db).expect("it is right");
}

/// A check of the database holds nothing that a checkpoint waits for, not even if another thread
/// waits to create or drop a table.
#[test]
fn checks_checkpoints_and_new_tables_do_not_wait_for_each_other() {
    let options = Options::new().memory_bytes(4 << 20);
    let db = simulation::open(&options, &Simulated::new(0), 0).expect("an empty disk");
    let table = wide(&db, KeyKind::Tree);
    for id in 0..500 {
        table.insert(&wide_record(id, id)).expect("room");
    }
    let schema = Schema::build("passing").key("id", Type::U64).finish().expect("a schema");
    let done = AtomicBool::new(false);
    let until_done = |work: &dyn Fn()| {
        while !done.load(Ordering::SeqCst) {
            work();
        }
    };
    watched(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| until_done(&|| check(&db).expect("it is right")));
            scope.spawn(|| until_done(&|| db.checkpoint().expect("nothing is wrong")));
            let _stop = Stop(&done);
            for _ in 0..rounds() / 30 {
                db.create_table(&schema, KeyKind::Hash).expect("a new table");
                db.drop_table("passing").expect("it is there");
            }
        });
    });
}

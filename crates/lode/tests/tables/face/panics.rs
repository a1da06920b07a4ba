//! Closures that panic: nothing stays latched, closed or half done.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::reading::{cursor, each_row, payload_of};
use lode::{Error, ReadTable, Result};

use super::hooked::{Hooked, Where, hook};
use super::operations::scan;
use super::watch::watched;
use super::world::{HOMES, SAME, TABLES, World, key, n_of, record};

/// Runs something that panics with this text.
fn expect_panic(work: impl FnOnce() -> Result<()>) {
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
}

fn panic_on_purpose<T>() -> T {
    panic!("on purpose")
}

#[test]
fn a_closure_that_panics_leaves_nothing_behind() {
    watched(|doing| {
        for home in HOMES {
            let world = World::new(home);
            for (name, ..) in TABLES {
                doing.set(format!("{name}, {home:?}"));
                let (db, table) = (&world.db, world.table(name));
                expect_panic(|| {
                    let there = table.change(key(SAME), &mut |payload| {
                        payload.fill(0xff);
                        panic_on_purpose()
                    });
                    there.map(drop)
                });
                assert_eq!(n_of(&payload_of(&table, key(SAME)).unwrap().unwrap()), SAME as i64);
                // The mark of the change is gone too.
                table.upsert(&record(table.schema(), SAME, SAME as i64)).unwrap();
                expect_panic(|| {
                    table.get(key(SAME)).map(|row| row.map(|_| panic_on_purpose::<()>())).map(drop)
                });
                expect_panic(|| table.get_many_with(&key(SAME), &mut |_, _| panic_on_purpose()));
                expect_panic(|| {
                    table.upsert_all((90..99).map(|_| panic_on_purpose::<Vec<u8>>())).map(drop)
                });
                expect_panic(|| each_row(table.iter(), &mut |_| panic_on_purpose()));
                if table.key_kind() == lode::KeyKind::Tree {
                    expect_panic(|| {
                        each_row(cursor(&table, &scan(&[0])), &mut |_| panic_on_purpose())
                    });
                    expect_panic(|| {
                        each_row(cursor(&table.within(&db.begin()), &scan(&[0])), &mut |_| {
                            panic_on_purpose()
                        })
                    });
                }
                world.expect_well();
            }
            let records = db_records(&world);
            for place in [Where::Unpack, Where::Pack] {
                hook(place, panic_on_purpose);
                expect_panic(|| records.change(SAME, |one| one.n = 9).map(drop));
                assert_eq!(records.get(SAME).unwrap().unwrap().n, SAME as i64);
            }
            world.expect_well();
        }
    });
}

fn db_records(world: &World) -> lode::Records<Hooked> {
    world.db.records().unwrap()
}

#[test]
fn a_database_that_is_let_go_by_a_panic_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let panicked = catch_unwind(|| {
        let db = lode::Database::open(directory.path()).unwrap();
        let table = db.create_table(&super::world::schema("t", false), lode::KeyKind::Hash);
        table.unwrap().insert(&record(&super::world::schema("t", false), 1, 1)).unwrap();
        let _snapshot = db.snapshot();
        assert!(matches!(lode::Database::open(directory.path()), Err(Error::Locked)));
        panic_on_purpose::<()>();
    });
    assert!(panicked.is_err());
    let db = lode::Database::open(directory.path()).expect("it was closed");
    assert_eq!(payload_of(&db.table("t").unwrap(), key(1)).map(|found| found.is_some()), Ok(true));
}

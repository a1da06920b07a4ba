//! Every operation within every closure that the engine calls: it does what it does elsewhere, or
//! is refused by an error, and nothing hangs.

use std::rc::Rc;

use crate::each_of::each_of;
use crate::reading::{cursor, each_row, nth, payload_of};
use lode::{Error, ReadTable, Record, Records, Result, Table};

use super::hooked::{Hooked, Where, hook};
use super::operations::{Does, all, scan};
use super::watch::watched;
use super::world::{COUNT, HOMES, OTHER, SAME, TABLES, World, key, n_of, record};

/// The code that a closure runs, the first time that it is called.
type Run<'r> = &'r mut dyn FnMut();

/// A function of the engine that calls a closure: its name, whether the closure changes record
/// [`SAME`], and how it is called.
type Caller = (&'static str, bool, fn(&World, &Table, Run<'_>) -> Result<()>);

const CALLERS: [Caller; 9] = [
    ("change", true, |_, table, run| {
        let there = table.change(key(SAME), &mut |payload| {
            run();
            payload[..8].copy_from_slice(&77i64.to_le_bytes());
            true
        });
        there.map(drop)
    }),
    ("change that changes nothing", true, |_, table, run| {
        let there = table.change(key(SAME), &mut |_| {
            run();
            false
        });
        there.map(drop)
    }),
    ("with", false, |_, table, run| table.get(key(SAME)).map(|row| row.map(|_| run())).map(drop)),
    ("get_many", false, |_, table, run| {
        table.get_many_with(&[key(SAME), key(OTHER)].concat(), &mut |_, _| run())
    }),
    ("insert_all", false, |_, table, run| {
        let records = (COUNT..COUNT + 3).map(|id| {
            run();
            record(table.schema(), id, 1)
        });
        table.insert_all(records).map(drop)
    }),
    ("scan", false, |_, table, run| {
        let visited = each_row(cursor(&table, &scan(&[0])), &mut |_| {
            run();
            Ok(true)
        });
        visited.or_else(|error| if_hashed(table, error, run))
    }),
    ("scan of a snapshot", false, |world, table, run| {
        let visited =
            each_row(cursor(&table.at(&world.db.snapshot()), &scan(&[1, 0])), &mut |_| {
                run();
                Ok(true)
            });
        visited.or_else(|error| if_hashed(table, error, run))
    }),
    ("scan of a transaction", false, |world, table, run| {
        let transaction = world.db.begin();
        transaction.upsert(table, &record(table.schema(), SAME, 5))?;
        let visited = each_row(cursor(&table.within(&transaction), &scan(&[0, 1])), &mut |_| {
            run();
            Ok(true)
        });
        visited.or_else(|error| if_hashed(table, error, run))
    }),
    ("each", false, |_, table, run| {
        each_row(table.iter(), &mut |_| {
            run();
            Ok(true)
        })
    }),
];

/// Hashed tables have no scans; then the closure is called in none.
fn if_hashed(table: &Table, error: Error, run: Run<'_>) -> Result<()> {
    match error {
        Error::NoOrder { .. } if table.key_kind() == lode::KeyKind::Hash => {
            run();
            Ok(())
        }
        other => Err(other),
    }
}

/// Does the first time only.
fn once(mut work: impl FnMut()) -> impl FnMut() {
    let mut is_done = false;
    move || {
        if !std::mem::replace(&mut is_done, true) {
            work();
        }
    }
}

#[test]
fn every_operation_can_be_called_in_every_closure() {
    watched(|doing| {
        for home in HOMES {
            for (name, ..) in TABLES {
                for (caller, is_change, call) in CALLERS {
                    for (operation, does, run) in all() {
                        for id in [SAME, OTHER] {
                            let case = format!("{operation} of {id} in {caller}, {name}, {home:?}");
                            doing.set(&case);
                            let world = World::new(home);
                            let table = world.table(name);
                            let mut result = None;
                            let called = call(
                                &world,
                                table,
                                &mut once(|| result = Some(run(&world, table, id))),
                            );
                            let result = result.expect("the closure is called");
                            let is_refused = is_change && id == SAME && does == Does::Writes;
                            match result {
                                Err(Error::Reentered { .. }) => assert!(is_refused, "{case}"),
                                other => assert_eq!((other, is_refused), (Ok(()), false), "{case}"),
                            }
                            expect_outcome(called, does, &case);
                            if does != Does::Ends {
                                world.expect_well();
                            }
                        }
                    }
                }
            }
        }
    });
}

/// Checks the result of the function that called the closure.
fn expect_outcome(called: Result<()>, does: Does, case: &str) {
    match (called, does) {
        (Ok(()), _) | (Err(Error::NoTable { .. } | Error::Closed), Does::Ends) => {}
        (other, _) => panic!("{case}: {other:?}"),
    }
}

#[test]
fn a_closure_may_wait_for_a_thread_that_uses_the_database() {
    watched(|doing| {
        for home in HOMES {
            for (name, ..) in TABLES {
                for (caller, is_change, call) in CALLERS {
                    for (operation, does, run) in all() {
                        let case = format!("{operation} by a thread in {caller}, {name}, {home:?}");
                        doing.set(&case);
                        let world = World::new(home);
                        let table = world.table(name);
                        let mut thread = once(|| {
                            std::thread::scope(|scope| {
                                let thread = scope.spawn(|| run(&world, table, SAME));
                                assert_eq!(thread.join().expect("no panic"), Ok(()), "{case}");
                            });
                        });
                        let called = call(&world, table, &mut thread);
                        expect_outcome(called, does, &case);
                        let is_gone = operation.contains("delete");
                        if caller == "change" && does != Does::Ends && !is_gone {
                            let payload = payload_of(&table, key(SAME)).unwrap().unwrap();
                            assert_eq!((n_of(&payload), is_change), (77, true), "{case}");
                        }
                        if does != Does::Ends {
                            world.expect_well();
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn a_change_in_a_change_writes_both_records_and_refuses_the_first_again() {
    watched(|doing| {
        doing.set("a_change_in_a_change_writes_both_records_and_refuses_the_first_again");
        for home in HOMES {
            let world = World::new(home);
            for (name, ..) in TABLES {
                let table = world.table(name);
                let set = |payload: &mut Vec<u8>, n: i64| {
                    payload[..8].copy_from_slice(&n.to_le_bytes());
                    true
                };
                table
                    .change(key(SAME), &mut |outer| {
                        let inner = table.change(key(OTHER), &mut |inner| {
                            let again = table.change(key(SAME), &mut |_| panic!("it is refused"));
                            assert!(matches!(again, Err(Error::Reentered { .. })), "{again:?}");
                            set(inner, 41)
                        });
                        assert_eq!(inner, Ok(true));
                        table.delete(key(OTHER)).expect("its change is over");
                        set(outer, 42)
                    })
                    .unwrap();
                assert_eq!(n_of(&payload_of(&table, key(SAME)).unwrap().unwrap()), 42);
                assert_eq!(payload_of(&table, key(OTHER)), Ok(None));
                table.delete(key(SAME)).expect("its change is over");
            }
        }
    });
}

#[test]
fn a_record_of_the_same_key_elsewhere_may_be_written_in_a_change() {
    watched(|doing| {
        doing.set("a_record_of_the_same_key_elsewhere_may_be_written_in_a_change");
        let (world, another) = (World::new(HOMES[0]), World::new(HOMES[0]));
        let table = world.table("hash");
        let there = table.change(key(SAME), &mut |_| {
            for elsewhere in [world.table("tree"), world.table("long"), another.table("hash")] {
                elsewhere.delete(key(SAME)).expect("it is another record");
            }
            true
        });
        assert_eq!(there, Ok(true));
    });
}

#[test]
fn a_change_that_never_finds_the_record_as_it_was_ends_in_a_conflict() {
    watched(|doing| {
        doing.set("a_change_that_never_finds_the_record_as_it_was_ends_in_a_conflict");
        let world = World::new(HOMES[0]);
        let table = world.table("hash");
        let mut calls = 0u64;
        let there = std::thread::scope(|scope| {
            let (ask, asked) = std::sync::mpsc::channel::<i64>();
            let (say, said) = std::sync::mpsc::channel();
            scope.spawn(move || {
                for n in asked {
                    say.send(table.update(key(SAME), nth(1), &n.to_le_bytes())).unwrap();
                }
            });
            table.change(key(SAME), &mut |payload| {
                calls += 1;
                ask.send(1_000 + calls as i64).unwrap();
                assert_eq!(said.recv(), Ok(Ok(true)));
                payload[..8].copy_from_slice(&5i64.to_le_bytes());
                true
            })
        });
        assert!(matches!(there, Err(Error::Conflict { .. })), "{there:?}");
        assert!(calls > 1_000, "{calls}");
        assert_eq!(n_of(&payload_of(&table, key(SAME)).unwrap().unwrap()), 1_000 + calls as i64);
    });
}

/// A function that calls the code of a record type: its name, where the code is, whether that is
/// within a change of record [`SAME`], and how it is called.
type TypedCaller = (&'static str, Where, bool, fn(&World, &Records<Hooked>) -> Result<()>);

const TYPED_CALLERS: [TypedCaller; 15] = [
    ("insert", Where::Pack, false, |_, all| all.insert(&Hooked { id: 20, n: 1 }).map(drop)),
    ("upsert", Where::Pack, false, |_, all| all.upsert(&Hooked { id: SAME, n: 1 }).map(drop)),
    ("get", Where::PackKey, false, |_, all| all.get(SAME).map(drop)),
    ("get", Where::Unpack, false, |_, all| all.get(SAME).map(drop)),
    ("delete", Where::PackKey, false, |_, all| all.delete(SAME).map(drop)),
    ("change", Where::PackKey, false, |_, all| all.change(SAME, |one| one.n = 5).map(drop)),
    ("change", Where::Unpack, true, |_, all| all.change(SAME, |one| one.n = 5).map(drop)),
    ("change", Where::Pack, true, |_, all| all.change(SAME, |one| one.n = 5).map(drop)),
    ("change", Where::Drop, true, |_, all| all.change(SAME, |one| one.n = 5).map(drop)),
    ("scan", Where::PackKey, false, |_, all| each_of(all.range(SAME..).limit(3), |_| Ok(true))),
    ("scan", Where::Unpack, false, |_, all| each_of(all.range(SAME..).limit(3), |_| Ok(true))),
    ("scan", Where::Drop, false, |_, all| each_of(all.range(..=SAME).rev().limit(3), |_| Ok(true))),
    ("each", Where::Unpack, false, |_, all| each_of(all.iter(), |_| Ok(true))),
    ("each of a snapshot", Where::Drop, false, |world, all| {
        each_of(all.at(&world.db.snapshot()).iter(), |_| Ok(true))
    }),
    ("change in a transaction", Where::Pack, false, |world, all| {
        let transaction = world.db.begin();
        all.within(&transaction).change(SAME, |one| one.n = 5)?;
        match transaction.commit() {
            Err(Error::Conflict { .. }) => Ok(()),
            other => other,
        }
    }),
];

#[test]
fn every_operation_can_be_called_in_the_code_of_a_record_type() {
    watched(|doing| {
        for home in HOMES {
            for (caller, place, is_change, call) in TYPED_CALLERS {
                for (operation, does, run) in all() {
                    let case = format!("{operation} where {caller} calls {place:?}, {home:?}");
                    doing.set(&case);
                    let world = Rc::new(World::new(home));
                    let records = world.db.records::<Hooked>().unwrap();
                    let result = Rc::new(std::cell::Cell::new(None));
                    let (inner, said) = (Rc::clone(&world), Rc::clone(&result));
                    hook(place, move || {
                        said.set(Some(run(&inner, inner.table(Hooked::TABLE), SAME)));
                    });
                    let called = call(&world, &records);
                    let result = result.take().expect("the record type's code is called");
                    let is_refused = is_change && does == Does::Writes;
                    match result {
                        Err(Error::Reentered { .. }) => assert!(is_refused, "{case}"),
                        other => assert_eq!((other, is_refused), (Ok(()), false), "{case}"),
                    }
                    expect_outcome(called, does, &case);
                    if does != Does::Ends {
                        world.expect_well();
                    }
                    let row_key = |id: u64| Hooked::pack_key(id, world.table("hooked").schema());
                    assert_eq!(row_key(OTHER), Ok(key(OTHER).to_vec()));
                }
            }
        }
    });
}

//! Eight connections at once change the same records, each its own column, and insert, read and
//! delete records of their own: no change is lost, and no thread sees what was not written.

use std::sync::Barrier;

use assay_driver::error::{ErrorKind, Result};
use assay_driver::{Concurrency, Connection, Driver, Durability, Outcome, Storage};

use crate::stores::{PAYLOAD_SIZE, THREADS, columns, drivers, open, record};

/// The number of shared records: few, so that threads meet at them.
const SHARED: u64 = 2;
const ROUNDS: u64 = 500;

#[test]
fn no_change_of_one_of_eight_threads_is_lost() {
    for driver in drivers() {
        let profile = driver.profile();
        let alone = profile.concurrency == Concurrency::OneConnection;
        if !profile.keeps_data || alone || driver.version().is_err() {
            continue;
        }
        for &(storage, levels) in profile.levels {
            // Stronger levels take the disk's time and keep threads from meeting.
            hammer(driver.as_ref(), storage, levels[0]);
        }
    }
}

fn hammer(driver: &dyn Driver, storage: Storage, level: Durability) {
    let subject = format!("{} on {storage} at {level}", driver.profile().id);
    let dir = tempfile::tempdir().expect("a directory");
    let store = match open(driver, dir.path(), storage, level, true) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return,
        opened => opened.unwrap_or_else(|e| panic!("{subject}: {e}")),
    };
    let inserted = store.connect(&mut |connection| {
        (0..SHARED).try_for_each(|id| connection.insert(&record(id, [0; THREADS])).map(|_| ()))
    });
    inserted.unwrap_or_else(|e| panic!("{subject}: {e}"));
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, start, subject) = (&store, &start, &subject);
            scope.spawn(move || {
                let done = store.connect(&mut |connection| {
                    start.wait();
                    change(connection, thread, subject)
                });
                done.unwrap_or_else(|e| panic!("{subject}, thread {thread}: {e}"));
            });
        }
    });
    let read = store.connect(&mut |connection| {
        for id in 0..SHARED {
            let mut payload = [0; PAYLOAD_SIZE];
            let outcome = connection.get(&id.to_le_bytes(), &mut payload)?;
            assert_eq!(outcome, Outcome::Done, "{subject}: record {id}");
            let last = (1..=ROUNDS).rev().find(|round| round % SHARED == id);
            let expected = vec![last.expect("every record has its turns"); THREADS];
            assert_eq!(columns(&payload), expected, "{subject}: record {id}");
        }
        Ok(())
    });
    read.unwrap_or_else(|e| panic!("{subject}: {e}"));
    store.close().unwrap_or_else(|e| panic!("{subject}: {e}"));
}

fn change(connection: &mut dyn Connection, thread: usize, subject: &str) -> Result<()> {
    let mut payload = [0; PAYLOAD_SIZE];
    for round in 1..=ROUNDS {
        let shared = (round % SHARED).to_le_bytes();
        let updated = connection.update(&shared, 1 + thread, &round.to_le_bytes())?;
        assert_eq!(updated, Outcome::Done, "{subject}: update");

        let own = 1_000 + (thread as u64) * ROUNDS + round;
        connection.insert(&record(own, [own; THREADS]))?;
        assert_eq!(connection.get(&own.to_le_bytes(), &mut payload)?, Outcome::Done, "{subject}");
        assert_eq!(columns(&payload), [own; THREADS], "{subject}: its own record");
        if round % 2 == 0 {
            connection.delete(&own.to_le_bytes())?;
            let outcome = connection.get(&own.to_le_bytes(), &mut payload)?;
            assert_eq!(outcome, Outcome::Missing, "{subject}: a deleted record");
        }
    }
    Ok(())
}

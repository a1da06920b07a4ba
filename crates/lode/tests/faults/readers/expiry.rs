//! The space that is kept for readers has a bound: beyond it their moments expire.

use lode::simulation::{self, Simulated};
use lode::{Database, Durability, Error, Options};

use super::work::{RING, Work, options, state_of};

const SLOT_BYTES: u64 = 16 << 10;

fn begun(options: &Options, disk: &Simulated) -> Work {
    Work::with(simulation::open(options, disk, 1).expect("an empty disk"))
}

fn read(options: &Options, disk: &Simulated) -> Database {
    simulation::open_read_only(options, disk, 2).expect("it is there")
}

fn process() -> Options {
    options(Durability::Process)
}

#[test]
fn the_oldest_moment_expires_when_readers_keep_too_much() {
    let disk = Simulated::new(1);
    let reader_bytes = 24 * SLOT_BYTES;
    let mut work = begun(&process().reader_bytes(reader_bytes), &disk);
    work.steps(RING);
    simulation::checkpoint(&work.db).expect("space");
    let alone = work.db.statistics().data_used_bytes;
    let old = read(&process(), &disk);
    let mut newer = None;
    for round in 0..160 {
        work.steps(6);
        simulation::checkpoint(&work.db).expect("space");
        if round == 157 {
            newer = Some((work.step, read(&process(), &disk)));
        }
    }
    let used = work.db.statistics().data_used_bytes;
    // Pages of buckets that have split are more.
    let most = alone + reader_bytes + 8 * SLOT_BYTES;
    assert!(used <= most, "{used} bytes are in use, and {alone} were without readers");
    assert_eq!(state_of(&old), Err(Error::MomentExpired));
    let error = Error::MomentExpired;
    assert_eq!((error.code(), error.is_retryable()), ("moment_expired", true));
    let (step, newer) = newer.expect("it was opened");
    assert_eq!(state_of(&newer), Ok(Some(step)), "it keeps few pages");
}

#[test]
fn an_expired_reader_shows_what_is_in_memory_and_is_refreshed() {
    let disk = Simulated::new(1);
    let mut work = begun(&process().reader_bytes(0), &disk);
    work.steps(30);
    simulation::checkpoint(&work.db).expect("space");
    let mut reader = read(&Options::new().memory_bytes(64 << 20), &disk);
    assert_eq!(state_of(&reader), Ok(Some(30)));
    for _ in 0..20 {
        work.steps(30);
        simulation::checkpoint(&work.db).expect("space");
    }
    assert_eq!(state_of(&reader), Ok(Some(30)), "all pages were read before");
    assert_eq!(reader.refresh(), Ok(true));
    assert_eq!(state_of(&reader), Ok(Some(work.step)));
}

#[test]
fn pages_of_readers_are_no_reason_for_a_full_disk() {
    let disk = Simulated::new(1);
    let mut work = begun(&process(), &disk);
    work.steps(2 * RING);
    simulation::checkpoint(&work.db).expect("space");
    simulation::checkpoint(&work.db).expect("space");
    disk.set_capacity(Some(disk.used_bytes() + (1 << 19)));
    let mut alone = 0;
    let mut readers = Vec::new();
    for _ in 0..40 {
        work.steps(20);
        simulation::checkpoint(&work.db).expect("it is free without readers");
        readers.push((work.step, read(&process(), &disk)));
        alone += 1;
    }
    assert_eq!(alone, 40);
    let states = readers.iter().map(|(step, reader)| match state_of(reader) {
        Ok(shown) => {
            assert_eq!(shown, Some(*step));
            true
        }
        Err(Error::MomentExpired) => false,
        Err(error) => panic!("{error}"),
    });
    let shown = states.filter(|is_shown| *is_shown).count();
    assert!((1..40).contains(&shown), "{shown} of 40 moments are left");
}

/// Checks that damage is called damage.
#[test]
fn a_damaged_page_is_no_expired_moment() {
    let disk = Simulated::new(1);
    let mut work = begun(&process(), &disk);
    work.steps(RING);
    simulation::checkpoint(&work.db).expect("space");
    work.db.close().expect("space");
    let bytes = disk.file_bytes("data").expect("it is there");
    let mut faults = 0;
    for slot in 10..bytes.len() as u64 / SLOT_BYTES {
        let disk = disk.fork();
        disk.flip_bit("data", (slot * SLOT_BYTES + 5_000) * 8);
        let state = simulation::open_read_only(&process(), &disk, 2).and_then(|db| state_of(&db));
        match state {
            Ok(_) => {}
            Err(Error::Corrupt { .. }) => faults += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(faults > 10, "{faults} pages");
}

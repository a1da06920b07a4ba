//! A reader whose moment has expired costs the writer nothing, though its process stays.

use lode::simulation::{self, Simulated};
use lode::{Database, Durability, Error};

use super::work::{RING, Work, options, state_of};

const SLOT_BYTES: u64 = 16 << 10;

/// Checkpoints after which the space is looked at.
const ROUNDS: usize = 180;

/// Writes checkpoints next to a reader. Returns the bytes of pages after each, and the round after
/// which the reader's moment has expired; it is closed then, if `closes`.
fn used_bytes(closes: bool) -> (Vec<u64>, usize) {
    let disk = Simulated::new(1);
    let (own, readers) = (options(Durability::Process), 40 * SLOT_BYTES);
    let db = simulation::open(&own.clone().reader_bytes(readers), &disk, 1);
    let mut work = Work::with(db.expect("an empty disk"));
    work.steps(RING);
    simulation::checkpoint(&work.db).expect("space");
    let open = || simulation::open_read_only(&own, &disk, 2).expect("it is there");
    let mut reader: Option<Database> = Some(open());
    let mut expired_after = None;
    let used = (0..ROUNDS).map(|round| {
        work.steps(6);
        simulation::checkpoint(&work.db).expect("space");
        let used = work.db.statistics().data_used_bytes;
        if let Some(old) = &reader
            && expired_after.is_none()
            && state_of(old) == Err(Error::MomentExpired)
        {
            expired_after = Some(round);
            if closes {
                reader = None;
            }
        }
        used
    });
    let used = used.collect();
    (used, expired_after.expect("it keeps too much at some time"))
}

#[test]
fn an_expired_reader_that_stays_open_keeps_no_space() {
    let (beside_it, expired) = used_bytes(false);
    let (without, also_expired) = used_bytes(true);
    assert_eq!(expired, also_expired, "both did the same until then");
    assert!(expired < ROUNDS - 40, "there are checkpoints after round {expired}");
    assert_eq!(beside_it, without);
}

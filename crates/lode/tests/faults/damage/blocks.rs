//! Damage after a kill or a power cut: blocks of 4 KiB that read as zeros, files that are missing,
//! and files that are cut off. What was acknowledged as synced is there, or opening is refused.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use lode::simulation::{self, Fault, Simulated};
use lode::{Durability, Error};

use super::judge::{Outcome, judge};
use super::open;
use crate::common::content::{Content, options};
use crate::common::known::Known;
use crate::common::on_all::on_all;
use crate::common::tables::{TABLES, record, schema};

/// The bytes that a disk loses at once.
const BLOCK_BYTES: usize = 4096;

/// The distance of the lengths at which files are cut off.
const CUT_BYTES: usize = 2500;

/// A loss.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Loss {
    Block(String, usize),
    File(String),
    End(String, usize),
}

impl Loss {
    /// Each that there can be in the files of a disk with these names.
    fn all(disk: &Simulated, names: &[String]) -> Vec<Self> {
        let of_file = |name: &String| {
            let size = disk.file_bytes(name).expect("it is there").len();
            let block = |number| Self::Block(name.clone(), number);
            let end = |size| Self::End(name.clone(), size);
            let blocks = (0..size.div_ceil(BLOCK_BYTES)).map(block);
            let ends = (0..size).step_by(CUT_BYTES).map(end);
            blocks.chain(ends).chain([Self::File(name.clone())]).collect::<Vec<_>>()
        };
        names.iter().flat_map(of_file).collect()
    }

    /// A copy of a disk, with the loss.
    fn of(&self, disk: &Simulated) -> Simulated {
        let copy = Simulated::new(0);
        for name in disk.file_names() {
            let mut bytes = disk.file_bytes(&name).expect("it is there");
            match self {
                Self::Block(of, number) if *of == name => {
                    let end = bytes.len().min((number + 1) * BLOCK_BYTES);
                    bytes[number * BLOCK_BYTES..end].fill(0);
                }
                Self::File(of) if *of == name => continue,
                Self::End(of, size) if *of == name => bytes.truncate(*size),
                _ => {}
            }
            copy.put_file(&name, bytes);
        }
        copy
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(name, number) => write!(f, "without block {number} of {name}"),
            Self::File(name) => write!(f, "without {name}"),
            Self::End(name, size) => write!(f, "with {size} bytes of {name}"),
        }
    }
}

/// The files of the log, the newest last.
pub fn log_files(disk: &Simulated) -> Vec<String> {
    disk.file_names().into_iter().filter(|name| name.starts_with("log-")).collect()
}

/// Tries each loss in some files of a disk. Returns how many of them leave another content than the
/// first of those that are allowed.
pub fn expect_all_or_refused(
    disk: &Simulated,
    names: &[String],
    allowed: &[&Content],
    case: &str,
) -> u64 {
    let others = AtomicU64::new(0);
    on_all(&Loss::all(disk, names), |loss| {
        let outcome = judge(&loss.of(disk), allowed);
        let outcome = outcome.map_err(|why| format!("{case}, {loss}: {why}"))?;
        others.fetch_add(u64::from(matches!(outcome, Outcome::Content(1..))), Ordering::Relaxed);
        Ok(())
    });
    others.into_inner()
}

/// The last files of the log, in which a kill has the most to lose.
fn newest(disk: &Simulated, count: usize) -> Vec<String> {
    let names = log_files(disk);
    names[names.len().saturating_sub(count)..].to_vec()
}

/// Puts short and long records: some frames are in several blocks, and some blocks have several
/// frames.
fn put(known: &mut Known, step: u32) {
    match step % 8 {
        3 => known.put(1, step, step + 5_000),
        _ => known.put(2, step, step + 5_000),
    }
}

#[test]
fn what_a_killed_process_had_synced_is_there_or_opening_is_refused() {
    let mut known = Known::small(20);
    for step in 0..90 {
        put(&mut known, step);
        // A copy has all that was handed over to the system.
        let disk = known.disk.fork();
        expect_all_or_refused(&disk, &newest(&disk, 2), &[&known.content], &format!("{step} puts"));
    }
    let disk = known.disk.fork();
    assert!(log_files(&disk).len() > 3, "{:?}", log_files(&disk));
    expect_all_or_refused(&disk, &disk.file_names(), &[&known.content], "all files");
}

/// A checkpoint ends in the middle of a block of the log whose syncs are proved already.
#[test]
fn what_was_synced_after_a_checkpoint_is_there_or_opening_is_refused() {
    let mut known = Known::small(22);
    for step in 0..60 {
        known.put(2, step, step + 5_000);
        if step % 5 == 4 {
            lode::simulation::checkpoint(known.db.as_ref().expect("open")).expect("room");
        }
        let disk = known.disk.fork();
        expect_all_or_refused(&disk, &newest(&disk, 2), &[&known.content], &format!("{step} puts"));
    }
}

/// The log has frames of two lives, of which the first was closed.
#[test]
fn what_was_synced_after_a_database_was_closed_is_there_or_opening_is_refused() {
    let mut known = Known::small(21);
    known.close();
    known.db = Some(open(&known.disk, 21).expect("it was closed"));
    for step in 0..4 {
        let disk = known.disk.fork();
        expect_all_or_refused(&disk, &disk.file_names(), &[&known.content], "opened again");
        put(&mut known, step);
    }
}

/// A sync of several segments at once.
#[test]
fn what_a_flush_has_synced_is_there_or_opening_is_refused() {
    let disk = Simulated::new(22);
    let options = options(Durability::Process);
    let db = simulation::open(&options, &disk, 22).expect("an empty disk");
    let at = 1;
    let table = db.create_table(&schema(at), TABLES[at].1).expect("a new table");
    let mut content = Content::from([(at, Default::default())]);
    for round in 0..6u32 {
        for key in 0..40 * (round % 3) + 1 {
            table.upsert(&record(at, key, round)).expect("room");
            content.get_mut(&at).expect("a table").insert(key, round);
        }
        if round == 4 {
            db.checkpoint().expect("space");
        } else {
            db.flush().expect("nothing is wrong with the disk");
        }
        let copy = disk.fork();
        let case = format!("round {round}");
        expect_all_or_refused(&copy, &log_files(&copy), &[&content], &case);
    }
}

/// After a power cut, nothing but the frame itself says that the last sync has ended.
#[test]
fn after_a_power_cut_the_last_sync_at_most_is_lost() {
    let mut known = Known::small(23);
    let mut lost = 0;
    for step in 0..30 {
        put(&mut known, step);
        // A fork makes all durable, so the crash needs the disk itself.
        let mut other = Known::small(23);
        (0..=step).for_each(|step| put(&mut other, step));
        other.disk.fail(Fault::Crash { at: other.disk.operations() });
        other.db = None;
        other.disk.crash(u64::from(step));
        let [.., before, last] = &known.states[..] else { unreachable!("there were operations") };
        let names = newest(&other.disk, 2);
        let case = format!("{step} puts");
        lost += expect_all_or_refused(&other.disk, &names, &[last, before], &case);
    }
    assert!(lost < 60, "{lost}");
}

/// Recovery of a log that is longer than the memory writes checkpoints on its way; it is
/// interrupted.
#[test]
fn what_recovery_has_begun_with_is_there_or_opening_is_refused() {
    let mut known = Known::with_memory(24, 16 << 20);
    (0..2).for_each(|at| known.create(at));
    for key in 0..900 {
        known.put(1, key * 31 % 900, key);
    }
    known.kill();
    for operations in [100, 300, 400, 500, 600, 700, 800] {
        let disk = known.disk.fork();
        disk.fail(Fault::Crash { at: operations });
        let interrupted = open(&disk, 5).is_err();
        disk.heal();
        let copy = disk.fork();
        let case = format!("after {operations} operations, interrupted: {interrupted}");
        expect_all_or_refused(&copy, &newest(&copy, 2), &[&known.content], &case);
    }
}

/// The error names the file, and what is wrong with it.
#[test]
fn a_loss_is_named() {
    let mut known = Known::small(25);
    for step in 0..60 {
        put(&mut known, step);
    }
    let disk = known.disk.fork();
    let last = newest(&disk, 1).pop().expect("there is a log");
    let bytes = disk.file_bytes(&last).expect("it is there");
    // The first block after the front.
    let frames = Loss::Block(last.clone(), 2);
    for (loss, words) in [
        (Loss::File(last.clone()), "it is missing"),
        (Loss::End(last.clone(), bytes.len() - 1), "is shorter than it was"),
        (frames, "is damaged, and it was synced once"),
    ] {
        match open(&loss.of(&disk), 1).map(drop) {
            Err(Error::Corrupt { what, why }) => {
                assert!(what.contains(&last), "{loss}: {what}");
                assert!(why.contains(words), "{loss}: {why}");
            }
            other => panic!("{loss}: {other:?}"),
        }
    }
}

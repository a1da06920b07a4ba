//! Files of several databases in one directory, unknown files, and files of another
//! format: opening is refused, and nothing is removed or changed.

use lode::simulation::{self, Simulated};
use lode::{Durability, Error, Options};

use super::bits::SUPERBLOCKS_AT;
use super::judge::{Outcome, judge};
use super::open;
use crate::common::known::Known;

/// All files of a disk with their bytes.
fn files(disk: &Simulated) -> Vec<(String, Vec<u8>)> {
    let names = disk.file_names().into_iter();
    names.map(|name| (name.clone(), disk.file_bytes(&name).expect("it is there"))).collect()
}

/// Expects that a disk is refused with an error of this code, and stays as it is. Returns the
/// error's words.
fn expect_refused(disk: &Simulated, code: &str) -> String {
    let before = files(disk);
    let error = open(disk, 1).map(drop).expect_err("it is refused");
    assert_eq!(error.code(), code, "{error}");
    assert!(files(disk) == before, "it stays as it is");
    error.to_string()
}

/// A database that was killed, with most of its records in its log.
fn killed(seed: u64) -> Known {
    let mut known = Known::small(seed);
    (0..40).for_each(|key| known.put(1, key, key + 5_000));
    known.kill();
    known
}

#[test]
fn the_data_file_of_another_database_deletes_no_log() {
    let known = killed(30);
    let mut other = Known::small(31);
    other.close();
    let fork = known.disk.fork();
    fork.put_file("data", other.disk.file_bytes("data").expect("it is there"));
    let words = expect_refused(&fork, "foreign_file");
    assert!(words.contains("log-0000") && words.contains("another database"), "{words}");
    // Its own data file brings all back.
    fork.put_file("data", known.disk.file_bytes("data").expect("it is there"));
    assert_eq!(judge(&fork, &[&known.content]), Ok(Outcome::Content(0)));
}

#[test]
fn a_segment_of_another_database_is_refused_wherever_its_number_is() {
    let known = killed(32);
    let other = killed(33);
    let names = other.disk.file_names();
    let bytes = other.disk.file_bytes(names.last().expect("there are some")).expect("it is there");
    for name in ["log-000000000000", "log-000000000050", "log-999999999999"] {
        let fork = known.disk.fork();
        fork.put_file(name, bytes.clone());
        assert!(expect_refused(&fork, "foreign_file").contains(name));
    }
}

#[test]
fn a_file_that_nobody_knows_is_refused_by_its_name() {
    let known = killed(34);
    let names = known.disk.file_names();
    let newest = names.last().expect("there are some");
    let bytes = known.disk.file_bytes(newest).expect("it is there");
    for (name, bytes) in [
        ("log-000000000050", b"nothing of use".to_vec()),
        ("log-999999999999", b"nothing of use".to_vec()),
        ("log-999999999999", Vec::new()),
        ("log-000000000050", bytes),
    ] {
        let fork = known.disk.fork();
        fork.put_file(name, bytes);
        assert!(expect_refused(&fork, "corrupt").contains(name));
    }
    // A segment that was to be made, and had no header yet.
    for bytes in [Vec::new(), vec![0; 1 << 14]] {
        let fork = known.disk.fork();
        fork.put_file("log-000000000050", bytes);
        assert_eq!(judge(&fork, &[&known.content]), Ok(Outcome::Content(0)));
        assert!(!fork.file_names().iter().any(|name| name == "log-000000000050"));
    }
}

/// A file `creating` says that nothing was ever in the others.
#[test]
fn a_database_that_was_in_use_is_not_cleared_away() {
    let known = killed(35);
    let fork = known.disk.fork();
    fork.put_file("creating", Vec::new());
    assert_eq!(judge(&fork.fork(), &[&known.content]), Ok(Outcome::Content(0)));
    let mut data = fork.file_bytes("data").expect("it is there");
    SUPERBLOCKS_AT.iter().for_each(|at| data[*at + 20] ^= 1);
    fork.put_file("data", data.clone());
    expect_refused(&fork, "corrupt");
    // Without superblocks, the log says so.
    SUPERBLOCKS_AT.iter().for_each(|at| data[*at..*at + 512].fill(0));
    fork.put_file("data", data);
    expect_refused(&fork, "corrupt");
}

/// The checksum of a format that is not known may be anywhere.
#[test]
fn a_later_format_is_refused_by_its_number_before_its_checksum() {
    let mut known = Known::small(36);
    known.close();
    let format =
        |bytes: &mut [u8], at: usize| bytes[at + 8..at + 12].copy_from_slice(&[9, 0, 0, 0]);
    let fork = known.disk.fork();
    let mut data = fork.file_bytes("data").expect("it is there");
    SUPERBLOCKS_AT.iter().for_each(|at| format(&mut data, *at));
    fork.put_file("data", data);
    let before = files(&fork);
    let refused = open(&fork, 1).map(drop);
    assert!(matches!(refused, Err(Error::Version { found: 9, .. })), "{refused:?}");
    assert!(files(&fork) == before, "it stays as it is");
    // One that differs is damaged.
    for at in SUPERBLOCKS_AT {
        let fork = known.disk.fork();
        let mut data = fork.file_bytes("data").expect("it is there");
        format(&mut data, at);
        fork.put_file("data", data);
        assert_eq!(judge(&fork, &[&known.content]), Ok(Outcome::Content(0)));
    }

    let known = killed(37);
    let newest = known.disk.file_names().pop().expect("there are some");
    let fork = known.disk.fork();
    let mut log = fork.file_bytes(&newest).expect("it is there");
    for copy in log.chunks_mut(512).filter(|sector| sector.starts_with(b"LodeLog\0")) {
        copy[8] = 9;
    }
    fork.put_file(&newest, log);
    let refused = open(&fork, 1).map(drop);
    assert!(matches!(refused, Err(Error::Version { found: 9, .. })), "{refused:?}");
}

/// A reader changes nothing in any case; it does not show half of what there is either.
#[test]
fn a_reader_refuses_files_of_two_databases() {
    let [one, other] = [40, 41].map(|seed| {
        let directory = tempfile::tempdir().expect("a directory");
        let disk = killed(seed).disk;
        for (name, bytes) in files(&disk) {
            std::fs::write(directory.path().join(name), bytes).expect("space");
        }
        directory
    });
    let open = || Options::new().durability(Durability::Commit).open_read_only(one.path());
    drop(open().expect("it is whole"));
    std::fs::copy(other.path().join("data"), one.path().join("data")).expect("space");
    let error = open().map(drop).expect_err("it is refused");
    assert_eq!(error.code(), "foreign_file", "{error}");
}

/// All that a crash leaves of opening is understood by the next opening.
#[test]
fn what_an_interrupted_opening_leaves_can_be_opened() {
    for is_closed in [false, true] {
        let mut known = Known::small(42);
        if is_closed {
            known.close();
        } else {
            known.kill();
        }
        for at in 0.. {
            let disk = known.disk.fork();
            disk.fail(simulation::Fault::Crash { at });
            let is_open = open(&disk, 2).is_ok();
            disk.crash(at);
            assert_eq!(judge(&disk, &[&known.content]), Ok(Outcome::Content(0)), "{at}");
            if is_open {
                break;
            }
        }
    }
}

//! Files that were made longer, or put there: how long a file is, and what number is in its
//! name, is not believed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use lode::{Durability, Error};

use super::support::{end, expect, expect_killed, names, options, put, role, run};

const GIB: u64 = 1 << 30;

/// A database whose process was killed after 100 records.
fn killed(test: &str) -> tempfile::TempDir {
    if let Some((_, path)) = role() {
        let db = options(Durability::Process).open(path).expect("a new database");
        put(&db, 0..100).expect("room");
        end();
    }
    let path = tempfile::tempdir().expect("a directory");
    expect_killed(&run(test, "write", path.path()));
    path
}

fn files(path: &Path, of: &str) -> Vec<PathBuf> {
    let found: Vec<_> = names(path).into_iter().filter(|name| name.starts_with(of)).collect();
    assert!(!found.is_empty(), "there is a {of}");
    found.into_iter().map(|name| path.join(name)).collect()
}

fn lengthen(file: &Path, size_bytes: u64) {
    let file = File::options().write(true).open(file).expect("it is there");
    file.set_len(size_bytes).expect("a hole takes no space");
}

#[test]
fn a_log_that_was_made_longer_by_holes_is_read_as_before() {
    let path =
        killed("surroundings::lengthened::a_log_that_was_made_longer_by_holes_is_read_as_before");
    for segment in files(path.path(), "log-") {
        lengthen(&segment, 1_000 * GIB);
    }
    expect(path.path(), 100);
    expect(path.path(), 100);
}

#[test]
fn a_data_file_that_was_made_longer_by_holes_has_no_more_space() {
    let path = killed(
        "surroundings::lengthened::a_data_file_that_was_made_longer_by_holes_has_no_more_space",
    );
    for data in files(path.path(), "data") {
        lengthen(&data, 1_000 * GIB);
        expect(path.path(), 100);
        let size = fs::metadata(&data).expect("it is there").len();
        assert!(size < GIB, "{size} bytes");
    }
}

/// Expects that a directory is refused because of a file, which is moved away then.
fn expect_refused(path: &Path, stray: &str) {
    let refused = options(Durability::Process).open(path).map(drop);
    let Err(Error::Corrupt { what, .. }) = &refused else { panic!("{stray}: {refused:?}") };
    assert!(what.contains(stray), "{what}");
    assert_eq!(fs::read(path.join(stray)).expect("it stays"), STRAY);
    fs::remove_file(path.join(stray)).expect("it is there");
}

const STRAY: &[u8] = b"not a segment";

#[test]
fn a_file_with_the_last_number_of_all_is_refused_and_stays() {
    let path =
        killed("surroundings::lengthened::a_file_with_the_last_number_of_all_is_refused_and_stays");
    let strays = [281_474_976_710_655u64, 281_474_976_710_654, 1 << 47, 1 << 33];
    for (life, stray) in (1..).zip(strays) {
        let stray = format!("log-{stray:012}");
        fs::write(path.path().join(&stray), STRAY).expect("space");
        expect_refused(path.path(), &stray);
        let db = options(Durability::Process).open(path.path()).expect("it can be opened");
        put(&db, life * 100..(life + 1) * 100).expect("room");
        db.close().expect("nothing is wrong");
        expect(path.path(), (life + 1) * 100);
    }
}

/// A new segment is made, or gets the file of an old one: neither takes the place of another file.
#[test]
fn a_file_with_the_next_segments_name_stops_no_writer_and_stays() {
    let path = tempfile::tempdir().expect("a directory");
    let db = options(Durability::Process).open(path.path()).expect("a new database");
    let strays = [2, 3, 8, 9].map(|number| format!("log-{number:012}"));
    for stray in &strays {
        fs::write(path.path().join(stray), STRAY).expect("space");
    }
    let mut failures = 0;
    for key in 0..2_000 {
        while put(&db, key..key + 1).is_err() {
            failures += 1;
            assert!(failures < 6, "each name is tried once");
        }
        if key % 100 == 0 {
            // The files of segments become spare.
            db.checkpoint().expect("room");
        }
    }
    // The thread that makes segments ahead of need meets some of the names, or all.
    let last = files(path.path(), "log-").into_iter().max().expect("a log");
    assert!(last > path.path().join(&strays[3]), "all names were needed: {}", last.display());
    db.close().expect("nothing is wrong");
    strays.iter().for_each(|stray| expect_refused(path.path(), stray));
    expect(path.path(), 2_000);
}

//! Somebody copies the files of an open database by reference, and the disk is full: what
//! overwrites blocks that files share needs space then, though it was set aside.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::reading::{check, payload_of};
use lode::{Durability, Error};

use super::images::{call, expect_success, format, mount, run_with_mounts, unmount};
use super::support::{expect, names, options, put, role, table};

const TEST: &str = "surroundings::shared_blocks::a_full_disk_with_shared_blocks_is_an_error";

/// Takes up all that is free.
fn fill(path: &Path) {
    let file = File::create(path).expect("a new file");
    let (mut at, mut size) = (0, 1 << 22);
    while size >= 512 {
        match file.write_at(&vec![1; size], at) {
            Ok(written) if written > 0 => at += written as u64,
            _ => size /= 2,
        }
        if file.sync_data().is_err() {
            size /= 2;
        }
    }
}

#[test]
fn a_full_disk_with_shared_blocks_is_an_error() {
    let Some((kind, path)) = role() else {
        let kinds = [("xfs", "mkfs.xfs"), ("btrfs", "mkfs.btrfs")];
        for (kind, program) in kinds {
            let path = tempfile::tempdir().expect("a directory");
            if let Some(output) = run_with_mounts(TEST, kind, path.path(), &[program]) {
                expect_success(kind, &output);
            }
        }
        return;
    };
    let (image, at) = (path.join("image"), path.join("mounted"));
    let forced = if kind == "xfs" { "-fq" } else { "-fqM" };
    format(&image, 320 << 20, &format!("mkfs.{kind}"), &[forced]);
    mount(&image, &at);
    let (db_path, filler) = (at.join("db"), at.join("filler"));
    // Segments long enough that the one in use was set aside before the disk was full.
    let options = options(Durability::Process).segment_bytes(1 << 20).log_bytes(1 << 24);
    let db = options.open(&db_path).expect("a new database");
    put(&db, 0..1_000).expect("room");
    db.checkpoint().expect("nothing is wrong");
    put(&db, 1_000..2_000).expect("room");
    fs::create_dir(at.join("copy")).expect("a new name");
    for name in names(&db_path) {
        let [from, to] = ["db", "copy"].map(|dir| at.join(dir).join(&name));
        let [from, to] = [&from, &to].map(|path| path.to_str().expect("text"));
        call("cp", &["--reflink=always", from, to]).expect("the file system shares blocks");
    }
    fill(&filler);
    let mut next = 2_000;
    let refused = loop {
        match put(&db, next..next + 1) {
            Ok(()) => next += 1,
            Err(error) => break error,
        }
        assert!(next < 100_000, "the disk is full");
    };
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused:?}");
    let checkpoint = db.checkpoint();
    assert!(matches!(checkpoint, Ok(()) | Err(Error::DiskFull { .. })), "{checkpoint:?}");
    let missing = payload_of(&table(&db), next.to_le_bytes()).expect("it can be read");
    assert_eq!(missing, None, "what was refused is not there");
    check(&db).expect("all is well");
    fs::remove_file(&filler).expect("it is there");
    call("sync", &[]).expect("space comes back");
    put(&db, next..next + 500).expect("there is space again");
    db.checkpoint().expect("there is space again");
    put(&db, next + 500..next + 600).expect("there is space again");
    db.close().expect("there is space again");
    expect(&db_path, next + 600);
    unmount(&at);
}

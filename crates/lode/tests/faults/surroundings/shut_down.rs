//! A file system shuts down, as after an error of its disk, while a database writes its log.

use std::os::unix::process::ExitStatusExt;

use lode::{Durability, Effect, Error};

use super::images::{call, expect_success, format, mount, run_with_mounts, unmount};
use super::support::{expect, options, put, role, table};
use crate::reading::payload_of;

const TEST: &str =
    "surroundings::shut_down::a_file_system_that_shuts_down_is_an_error_if_the_log_is_not_mapped";

/// `SIGBUS`, which ends a process that writes to a mapped file then.
const BUS_ERROR: i32 = 7;

#[test]
fn a_file_system_that_shuts_down_is_an_error_if_the_log_is_not_mapped() {
    let Some((case, path)) = role() else {
        for (kind, level, log) in [
            ("xfs", "process", "called"),
            ("xfs", "periodic", "called"),
            ("xfs", "commit", "called"),
            ("xfs", "process", "mapped"),
            ("ext4", "process", "called"),
        ] {
            let path = tempfile::tempdir().expect("a directory");
            let case = format!("{kind}-{level}-{log}");
            let programs = [&format!("mkfs.{kind}")[..], "xfs_io"];
            let Some(output) = run_with_mounts(TEST, &case, path.path(), &programs) else {
                continue;
            };
            // The documented limit of a log that is mapped.
            if log == "mapped" && output.status.signal() == Some(BUS_ERROR) {
                continue;
            }
            expect_success(&case, &output);
        }
        return;
    };
    let (image, at) = (path.join("image"), path.join("mounted"));
    match case.starts_with("xfs") {
        // Files of another XFS are not mapped.
        true => format(&image, 320 << 20, "mkfs.xfs", &["-fq", "-m", "reflink=0"]),
        false => format(&image, 64 << 20, "mkfs.ext4", &["-qF"]),
    }
    mount(&image, &at);
    let level = match case.split('-').nth(1) {
        Some("process") => Durability::Process,
        Some("periodic") => Durability::Periodic,
        _ => Durability::Commit,
    };
    let options = options(level).segment_bytes(1 << 20).log_bytes(1 << 24);
    let db_path = at.join("db");
    let db = options.map_log(case.ends_with("mapped")).open(&db_path).expect("a new database");
    put(&db, 0..1_000).expect("room");
    db.flush().expect("nothing is wrong");
    call("xfs_io", &["-x", "-c", "shutdown", at.to_str().expect("text")]).expect("it shuts down");
    for key in 1_000..1_100 {
        let error = put(&db, key..key + 1).expect_err("the disk is gone");
        assert!(matches!(error, Error::Io { .. } | Error::Poisoned { .. }), "{error}");
        assert_ne!(error.effect(), Effect::Applied, "{error}");
    }
    let there = payload_of(&table(&db), 7u64.to_le_bytes()).expect("reading goes on");
    assert!(there.is_some());
    db.close().expect_err("the disk is gone");
    unmount(&at);
    mount(&image, &at);
    expect(&db_path, 1_000);
    unmount(&at);
}

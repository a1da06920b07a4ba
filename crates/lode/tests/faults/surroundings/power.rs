//! The power goes off while a process writes: an image of its file system as it was at one moment
//! is mounted elsewhere, which replays the file system's journal. The database is opened there.
//!
//! The image is on XFS, which copies a file by reference, at one moment. `LODE_POWER_CUTS=n` asks
//! for `n` moments for each case.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use lode::{Database, Durability, Options};

use super::images::{call, expect_success, format, mount, run_with_mounts, unmount};
use super::support::{child, keys, put, role};
use crate::effort::effort;

const TEST: &str = "surroundings::power::what_was_synced_before_a_power_cut_is_there";

/// Records between two flushes of a writer that does not sync each.
const STEPS: u64 = 100;

fn options(level: Durability) -> Options {
    Options::new()
        .memory_bytes(1 << 20)
        .segment_bytes(1 << 16)
        .log_bytes(1 << 18)
        .durability(level)
        .sync_interval(std::time::Duration::from_millis(5))
}

/// Puts records there in the order of their keys, and says which are durable.
fn write(path: &Path, level: Durability) {
    let db = options(level).open(path).expect("an empty directory");
    for key in 0.. {
        put(&db, key..key + 1).expect("room");
        let is_durable = match level {
            Durability::Commit => true,
            // What the interval promises depends on the time; a flush does not.
            _ if key % STEPS == STEPS - 1 => db.flush().is_ok(),
            _ => false,
        };
        let said = !is_durable || writeln!(std::io::stdout(), "durable {key}").is_ok();
        if !said {
            return;
        }
    }
}

/// Lets a writer write, and looks at copies of its file system.
fn cut(kind: &str, level: &str, path: &Path) {
    let [disk, outer, inner, clone_at] =
        ["disk", "outer", "inner", "clone"].map(|name| path.join(name));
    format(&disk, 2 << 30, "mkfs.xfs", &["-fq"]);
    mount(&disk, &outer);
    let image = outer.join("image");
    let (size, quiet): (u64, &[&str]) = match kind {
        "ext4" => (64 << 20, &["-Fq"]),
        "xfs" => (320 << 20, &["-fq"]),
        // The log is mapped.
        _ => (320 << 20, &["-fq", "-m", "reflink=0"]),
    };
    let program = if kind == "ext4" { "mkfs.ext4" } else { "mkfs.xfs" };
    format(&image, size, program, quiet);
    mount(&image, &inner);
    let mut writer = child(TEST, &format!("write-{level}"), &inner.join("db"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test runs again");
    let mut lines = BufReader::new(writer.stdout.take().expect("a pipe")).lines();
    for round in 0..effort("LODE_POWER_CUTS", 3, 30) {
        // Some more each time; what it has said by then is durable.
        let (mut durable, mut seen) = (None, 0);
        while seen < 40 + round * 17 % 60 {
            let line = lines.next().expect("it goes on until it is killed").expect("text");
            let Some(key) = line.strip_prefix("durable ") else { continue };
            durable = key.parse::<u64>().ok();
            seen += if level == "commit" { 1 } else { 20 };
        }
        let durable = durable.expect("it said something");
        let clone = outer.join("cloned");
        let [from, to] = [&image, &clone].map(|path| path.to_str().expect("text"));
        call("cp", &["--reflink=always", from, to]).expect("one moment");
        if kind != "ext4" {
            // It has the same number as the one that is mounted.
            std::fs::create_dir_all(&clone_at).expect("a directory");
            let at = clone_at.to_str().expect("text");
            call("mount", &["-o", "loop,nouuid", to, at]).expect("the journal can be replayed");
        } else {
            mount(&clone, &clone_at);
        }
        let db: Database = options(Durability::Commit)
            .open(clone_at.join("db"))
            .unwrap_or_else(|why| panic!("{kind}, {level}, round {round}: {why}"));
        let found = keys(&db);
        let count = found.len() as u64;
        assert_eq!(found, (0..count).collect::<Vec<_>>(), "{kind}, {level}: a beginning of all");
        assert!(count > durable, "{kind}, {level}, round {round}: {count} records, {durable} said");
        put(&db, count..count + 10).expect("it goes on");
        db.close().expect("nothing is wrong");
        unmount(&clone_at);
        std::fs::remove_file(&clone).expect("it is there");
    }
    writer.kill().expect("it is there");
    writer.wait().expect("it has ended");
    unmount(&inner);
    unmount(&outer);
}

#[test]
fn what_was_synced_before_a_power_cut_is_there() {
    let Some((text, path)) = role() else {
        for kind in ["ext4", "xfs", "xfs_without_reflink"] {
            for level in ["commit", "periodic"] {
                let path = tempfile::tempdir().expect("a directory");
                let role = format!("{kind}-{level}");
                let programs = ["mkfs.xfs", "mkfs.ext4"];
                if let Some(output) = run_with_mounts(TEST, &role, path.path(), &programs) {
                    expect_success(&role, &output);
                }
            }
        }
        return;
    };
    let (kind, level) = text.split_once('-').expect("two parts");
    match kind {
        "write" if level == "commit" => write(&path, Durability::Commit),
        "write" => write(&path, Durability::Periodic),
        kind => cut(kind, level, &path),
    }
}

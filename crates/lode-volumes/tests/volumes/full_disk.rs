//! A process that may not make its files longer fills a volume. Every change that succeeded is
//! there afterwards, and the volume continues once there is room.

use std::io::{ErrorKind, Write};
use std::process::Command;

use lode_volumes::{Durability, Error, Options, Value, Volume};

use super::support::expect_consistent;

const DIRECTORY: &str = "LODE_VOLUMES_FULL_DIRECTORY";
const LEVEL: &str = "LODE_VOLUMES_FULL_LEVEL";

const LEVELS: [Durability; 2] = [Durability::Process, Durability::Commit];

/// The unit in which the shell counts the limit of a file's length.
const BLOCK_BYTES: usize = 512;

fn options(level: Durability) -> Options {
    let database = lode::Options::new().memory_bytes(16 << 20).log_bytes(1 << 20);
    Options::new().database(database).durability(level)
}

/// A value that is as long each time, and differs.
fn value(at: u32) -> Vec<u8> {
    at.to_le_bytes().repeat(2_000)
}

/// Not a test, but what the other starts.
#[test]
#[ignore = "the other test starts it"]
fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let level = std::env::var(LEVEL).expect("it is set").parse::<usize>().expect("a number");
    let volume = options(LEVELS[level]).open(directory).expect("a volume");
    let root = volume.root();
    let refused = (0..10_000).find_map(|at| match root.set(&at.to_string(), &value(at)) {
        Ok(()) => None,
        Err(error) => Some((at, error)),
    });
    let (count, error) = refused.expect("the disk is full at some time");
    let is_full = match &error {
        Error::Database(lode::Error::Io { source, .. }) => source.kind() == ErrorKind::FileTooLarge,
        Error::Database(lode::Error::DiskFull { .. } | lode::Error::Poisoned { .. }) => true,
        _ => false,
    };
    assert!(is_full, "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
    // Readers continue, and see no part of what was refused.
    for at in 0..count {
        assert_eq!(
            root.property(&at.to_string()).expect("a name"),
            Some(Value::Blob(value(at).into()))
        );
    }
    writeln!(std::io::stdout(), "has {count}").expect("the parent reads");
    // Closing needs room, too.
    drop(root);
    let _ = volume.close();
}

#[test]
fn a_volume_on_a_full_disk_keeps_what_it_has() {
    for (number, level) in LEVELS.into_iter().enumerate() {
        for limit_bytes in [3 << 20, 5 << 20] {
            let folder = tempfile::tempdir().expect("a folder");
            let limit = limit_bytes / BLOCK_BYTES;
            // The signal that comes with the limit would end the process.
            let limited = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
            let ended = Command::new("sh")
                .args(["-c", &limited])
                .arg(std::env::current_exe().expect("this program"))
                .args(["--exact", "full_disk::child", "--ignored", "--nocapture"])
                .env(DIRECTORY, folder.path())
                .env(LEVEL, number.to_string())
                .output()
                .expect("it starts");
            let said = String::from_utf8_lossy(&ended.stdout);
            let failed = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success(), "{said}\n{failed}");
            let count = said.lines().find_map(|line| line.split("has ").nth(1));
            let count: u32 = count.expect("a line").trim().parse().expect("a number");
            assert!(count > 0, "{said}");

            let volume: Volume = options(level).open(folder.path()).expect("a volume");
            let root = volume.root();
            for at in 0..count {
                let found = root.property(&at.to_string()).expect("a name");
                assert_eq!(found, Some(Value::Blob(value(at).into())), "{at} of {count}");
            }
            // The one that was refused may have reached the log.
            let last = root.property(&count.to_string()).expect("a name");
            assert!(last.is_none() || last == Some(Value::Blob(value(count).into())));
            assert!(!root.has_property(&(count + 1).to_string()).expect("a name"));
            root.set("more", 1u8).expect("there is room");
            drop(root);
            volume.close().expect("it closes");
            expect_consistent(folder.path());
        }
    }
}

//! A process that inserts, and is killed: at the levels that survive it, every insert that it was
//! told to be done is there when the store is opened again.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use assay_driver::{Driver, Durability, Outcome, Profile, Storage};

use crate::stores::{PAYLOAD_SIZE, THREADS, columns, drivers, open, record};

/// The variable that makes the test below the process to be killed: engine, level and directory.
const SUBJECT: &str = "ASSAY_TEST_KILLED";
/// Few enough for a level that syncs at every one of them.
const INSERTS: u64 = 500;

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    for driver in drivers() {
        let profile = driver.profile();
        if driver.version().is_err() {
            continue;
        }
        for &level in profile.levels_in(Storage::Disk).iter().filter(|&&l| survives(profile, l)) {
            let dir = tempfile::tempdir().expect("a directory");
            let acknowledged = kill_after(INSERTS, profile.id, level, dir.path());
            look_for(driver.as_ref(), level, dir.path(), acknowledged);
        }
    }
}

/// `commit` survives more than this; its syncs would take the disk's time.
fn survives(profile: &Profile, level: Durability) -> bool {
    level == Durability::Process
        || (level == Durability::Periodic && profile.periodic_survives_kill)
}

/// Starts the process, kills it after `inserts` acknowledged inserts, and returns the last that it
/// acknowledged.
fn kill_after(inserts: u64, engine: &str, level: Durability, dir: &Path) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "killed::the_process_to_be_killed", "--ignored", "--nocapture"])
        .env(SUBJECT, format!("{engine} {level} {}", dir.display()))
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test starts");
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut acknowledged = None;
    for line in output.lines() {
        // What was written before the kill is still read after it.
        let Some(id) = line.ok().and_then(|line| line.strip_prefix("done ")?.parse().ok()) else {
            continue;
        };
        acknowledged = Some(id);
        if id == inserts {
            child.kill().expect("it runs");
        }
    }
    child.wait().expect("it ends");
    let acknowledged =
        acknowledged.unwrap_or_else(|| panic!("{engine} at {level} inserted nothing"));
    assert!(acknowledged >= inserts, "{engine} at {level} ended by itself");
    acknowledged
}

fn look_for(driver: &dyn Driver, level: Durability, dir: &Path, acknowledged: u64) {
    let subject = format!("{} at {level}", driver.profile().id);
    let store =
        open(driver, dir, Storage::Disk, level, false).unwrap_or_else(|e| panic!("{subject}: {e}"));
    let read = store.connect(&mut |connection| {
        let mut payload = [0; PAYLOAD_SIZE];
        for id in 0..=acknowledged {
            let outcome = connection.get(&id.to_le_bytes(), &mut payload)?;
            assert_eq!(outcome, Outcome::Done, "{subject}: {id} of {acknowledged} is lost");
            assert_eq!(columns(&payload), [id; THREADS], "{subject}: {id}");
        }
        Ok(())
    });
    read.unwrap_or_else(|e| panic!("{subject}: {e}"));
    store.close().unwrap_or_else(|e| panic!("{subject}: {e}"));
}

#[test]
#[ignore = "started, and killed, by the test above"]
fn the_process_to_be_killed() {
    let subject = std::env::var(SUBJECT).expect("the test above says what to do");
    let mut words = subject.splitn(3, ' ');
    let mut word = || words.next().expect("three words");
    let driver = assay_drivers::find(word()).expect("an engine");
    let level = word();
    let level = Durability::ALL.iter().find(|l| l.to_string() == level).expect("a level");
    let store = open(driver.as_ref(), Path::new(word()), Storage::Disk, *level, true)
        .expect("an empty directory");
    let inserted = store.connect(&mut |connection| {
        for id in 0.. {
            connection.insert(&record(id, [id; THREADS]))?;
            writeln!(std::io::stdout(), "done {id}").expect("the test above listens");
        }
        Ok(())
    });
    inserted.expect("it inserts until it is killed");
}

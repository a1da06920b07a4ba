//! Readers and a writer in one process: handles of one process have separate locks, as those of
//! several have.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::reading::check;
use lode::simulation::{self, Simulated};
use lode::{Database, Durability, Error};

use super::work::{RING, Work, options, state_of};

/// Returns the names and contents of all files.
fn files(disk: &Simulated) -> Vec<(String, Option<Vec<u8>>)> {
    let names = disk.file_names().into_iter();
    names.map(|name| (name.clone(), disk.file_bytes(&name))).collect()
}

fn read(path: &Path) -> Result<Database, Error> {
    options(Durability::Commit).open_read_only(path)
}

fn begun(path: &Path, level: Durability) -> Work {
    Work::with(options(level).open(path).expect("a new database"))
}

#[test]
fn a_reader_shows_all_that_was_done_and_follows_on_demand() {
    for level in [Durability::Process, Durability::Periodic, Durability::Commit] {
        let path = tempfile::tempdir().expect("a directory");
        let mut work = begun(path.path(), level);
        let mut reader = read(path.path()).expect("it is there");
        assert_eq!(state_of(&reader), Ok(None));
        for round in 1..20 {
            work.steps(1 + round * 7 % 60);
            assert_eq!(reader.refresh(), Ok(true));
            assert_eq!(state_of(&reader), Ok(Some(work.step)), "{level:?}");
        }
        check(&reader).expect("all is well");
        work.db.close().expect("readers keep nobody from closing");
        let shown = state_of(&reader).expect("its pages are there");
        assert_eq!(shown, state_of(&read(path.path()).expect("it was closed")).expect("whole"));
    }
}

#[test]
fn at_level_none_a_reader_shows_the_last_checkpoint() {
    let path = tempfile::tempdir().expect("a directory");
    let mut work = begun(path.path(), Durability::None);
    work.steps(30);
    work.db.checkpoint().expect("space");
    work.steps(3);
    assert_eq!(state_of(&read(path.path()).expect("it is there")), Ok(Some(30)));
}

#[test]
fn a_reader_changes_no_file() {
    let disk = Simulated::new(1);
    let options = options(Durability::Periodic);
    let mut work = Work::with(simulation::open(&options, &disk, 1).expect("an empty disk"));
    work.steps(200);
    let before = files(&disk);
    let mut reader = simulation::open_read_only(&options, &disk, 2).expect("it is there");
    assert_eq!(state_of(&reader), Ok(Some(200)));
    assert_eq!(reader.refresh(), Ok(false), "nothing was done");
    drop(reader);
    assert_eq!(files(&disk), before);
    work.steps(1);
}

/// Checks the calls of the system, where `strace` can be had: a reader opens nothing for writing,
/// and calls nothing that writes.
#[test]
fn a_reader_asks_the_system_for_no_change() {
    const CHILD: &str = "LODE_STRACED_READER";
    const WRITES: &str = "pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync,unlinkat,renameat,\
                          renameat2,mkdirat,linkat";
    const TEST: &str = "readers::beside::a_reader_asks_the_system_for_no_change";
    if let Some(path) = std::env::var_os(CHILD) {
        let mut reader = read(Path::new(&path)).expect("it is there");
        assert_eq!(state_of(&reader), Ok(Some(200)));
        reader.refresh().expect("it is there");
        return;
    }
    let path = tempfile::tempdir().expect("a directory");
    let mut work = begun(path.path(), Durability::Periodic);
    work.steps(200);
    let calls = tempfile::NamedTempFile::new().expect("space");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-e"])
        .arg(format!("trace=openat,fcntl,{WRITES}"))
        .arg("-o")
        .arg(calls.path())
        .arg(std::env::current_exe().expect("this test"))
        .args([TEST, "--exact", "--nocapture"])
        .env(CHILD, path.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // Not everywhere may a process be traced.
    let Ok(true) = status.map(|status| status.success()) else { return };
    let calls = fs::read_to_string(calls.path()).expect("text");
    assert!(calls.contains("\"data\", O_RDONLY") && calls.contains("F_OFD_SETLK"), "{calls}");
    let is_harmless = |call: &str| call.contains("fcntl(") || call.contains("O_RDONLY");
    let is_here = |call: &str| ["data", "log-", "lock"].iter().any(|name| call.contains(name));
    let writes = |call: &&str| {
        !is_harmless(call) && (is_here(call) || !call.contains("openat(")) && !call.contains("+++")
    };
    assert_eq!(calls.lines().find(writes), None);
}

#[test]
fn the_pages_of_a_reader_stay_whatever_the_writer_does() {
    let path = tempfile::tempdir().expect("a directory");
    let mut work = begun(path.path(), Durability::Process);
    let copy = tempfile::tempdir().expect("a directory");
    let mut readers = Vec::new();
    for round in 0..8 {
        work.steps(RING + 37);
        readers.push((work.step, read(path.path()).expect("it is there")));
        match round % 4 {
            0 => work.db.checkpoint().expect("space"),
            1 => drop(work.db.compact().expect("space")),
            2 => drop(work.db.backup(copy.path(), |_| {}).expect("space")),
            _ => {}
        }
    }
    let kept = work.db.statistics().data_bytes;
    // Most of a reader's pages are not in its memory.
    for (step, reader) in &readers {
        assert_eq!(state_of(reader), Ok(Some(*step)));
        check(reader).expect("all is well");
    }
    drop(readers);
    work.db.checkpoint().expect("space");
    work.db.checkpoint().expect("space");
    let left = work.db.statistics().data_bytes;
    assert!(left < kept, "{left} of {kept} bytes are left when the readers have gone");
    check(&work.db).expect("all is well");
}

#[test]
fn a_database_is_opened_anew_for_writing_beside_a_reader() {
    let path = tempfile::tempdir().expect("a directory");
    let mut work = begun(path.path(), Durability::Commit);
    work.steps(RING);
    let mut reader = read(path.path()).expect("it is there");
    work.steps(30);
    work.db.close().expect("space");
    let mut work = begun(path.path(), Durability::Commit);
    assert_eq!(work.step, RING + 30);
    // Its checkpoint was not the last one.
    work.steps(3 * RING);
    assert_eq!(state_of(&reader), Err(Error::MomentExpired));
    assert_eq!(reader.refresh(), Ok(true));
    work.steps(3 * RING);
    assert_eq!(state_of(&reader), Ok(Some(RING * 4 + 30)));
}

#[test]
fn where_nothing_can_be_pinned_readers_and_a_writer_keep_each_other_out() {
    let disk = Simulated::new(1);
    disk.set_pins(false);
    let options = options(Durability::Process);
    let open = || simulation::open(&options, &disk, 1);
    let read = || simulation::open_read_only(&options, &disk, 2);
    let mut work = Work::with(open().expect("an empty disk"));
    work.steps(30);
    assert!(matches!(read(), Err(Error::Locked)));
    work.db.close().expect("space");
    let reader = read().expect("it was closed");
    assert_eq!(state_of(&reader), Ok(Some(30)));
    assert!(matches!(open(), Err(Error::Locked)));
    drop(reader);
    open().expect("no one has it open");
}

/// Checks moments while single operations and commits come in between.
#[test]
fn a_reader_beside_a_busy_writer_shows_moments_one_after_another() {
    let path = tempfile::tempdir().expect("a directory");
    let mut work = begun(path.path(), Durability::Process);
    let (done, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..12_000 {
                work.step().expect("there is room");
                done.store(work.step, Ordering::Release);
            }
            is_over.store(true, Ordering::Release);
        });
        let mut reader = read(path.path()).expect("it is there");
        let mut last = None;
        let mut changes = 0;
        while !is_over.load(Ordering::Acquire) {
            reader.refresh().expect("it is there");
            let shown = state_of(&reader).expect("its pages are kept");
            assert!(shown >= last, "{shown:?} after {last:?}");
            changes += u64::from(shown > last);
            last = shown;
        }
        assert!(changes > 1, "{changes} moments");
        reader.refresh().expect("it is there");
        assert_eq!(state_of(&reader), Ok(Some(done.load(Ordering::Acquire))));
    });
}

/// Checks that a reader of several lanes of the log shows all of them when they are at rest.
#[test]
fn a_log_of_several_lanes_is_read_at_rest() {
    let disk = Simulated::new(1);
    let options = options(Durability::Process);
    let mut work = Work::with(simulation::open(&options, &disk, 1).expect("an empty disk"));
    simulation::widen_log(&work.db, 4).expect("space");
    for lane in (0..4).cycle().take(40) {
        simulation::choose_lane(lane);
        work.steps(3);
        let reader = simulation::open_read_only(&options, &disk, 2).expect("it is there");
        assert_eq!(state_of(&reader), Ok(Some(work.step)));
    }
    simulation::choose_lane(0);
}

#[test]
fn what_is_not_a_whole_database_yet_is_refused_and_not_changed() {
    for round in 0..20 {
        let path = tempfile::tempdir().expect("a directory");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut work = begun(path.path(), Durability::Process);
                work.steps(round);
                is_over.store(true, Ordering::Release);
            });
            while !is_over.load(Ordering::Acquire) {
                match read(path.path()) {
                    Ok(reader) => drop(state_of(&reader).expect("it is whole")),
                    Err(Error::Locked | Error::NoDatabase { .. }) => {}
                    // Before the data file is there.
                    Err(Error::Io { source, .. }) => {
                        assert!(source.to_string().contains("was not finished"), "{source}");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
        assert_eq!(state_of(&read(path.path()).expect("it is whole")).ok(), {
            Some((round > 0).then_some(round))
        });
    }
}

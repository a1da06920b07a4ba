//! A process that writes and four that read, which are stopped and killed at any moment.
//!
//! The test runs itself again as each of them. Each reader checks what it shows, and that no moment
//! comes before an earlier one. `LODE_ROUNDS=n` asks for `n` rounds, `LODE_SEED=n` for other ones.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::effort::{effort, number};
use crate::random::mix;
use lode::simulation;
use lode::{Durability, Error};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::work::{Work, options, state_of};

/// Set for a child only: its role, and the directory.
const CHILD: &str = "LODE_READERS_CHILD";

const TEST: &str = "readers::processes::each_state_that_a_process_shows_was_one_of_the_database";

const READERS: usize = 4;

/// Bytes kept for readers: few, so that moments of stopped ones expire.
const READER_BYTES: u64 = 1 << 20;

/// Steps that follow each other in a lane of the log.
const IN_A_LANE: u64 = 7;

fn write(path: &Path, lanes: usize) -> ! {
    let options = options(Durability::Process).reader_bytes(READER_BYTES);
    let mut work = Work::with(options.open(path).expect("no other process writes"));
    simulation::widen_log(&work.db, lanes).expect("space");
    for lane in (0..lanes).cycle() {
        simulation::choose_lane(lane);
        work.steps(IN_A_LANE);
    }
    unreachable!("there is a lane")
}

fn read(path: &Path) -> ! {
    let mut db = loop {
        match options(Durability::Process).open_read_only(path) {
            Ok(db) => break db,
            Err(Error::Locked | Error::MomentExpired) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let mut last = None;
    loop {
        match state_of(&db) {
            Ok(shown) => {
                assert!(shown >= last, "{shown:?} after {last:?}");
                last = shown;
                // Pages leave memory and are read again.
                match state_of(&db) {
                    Ok(again) => assert_eq!(again, shown, "a moment stays"),
                    Err(error) => assert_eq!(error, Error::MomentExpired),
                }
            }
            Err(Error::MomentExpired) => {}
            Err(error) => panic!("{error}"),
        }
        match db.refresh() {
            Ok(_) | Err(Error::Locked | Error::MomentExpired) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A process that is killed at the end of the test, if not before.
struct Process {
    child: Child,
    role: &'static str,
}

impl Process {
    fn start(role: &'static str, path: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args([TEST, "--exact", "--nocapture"]);
        command.env(CHILD, format!("{role}:{}", path.display()));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        Self { child: command.spawn().expect("this test runs again"), role }
    }

    fn send(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("a process");
        kill(Pid::from_raw(id), signal).expect("it was not waited for");
    }

    /// Kills it, and checks that nothing else has ended it.
    fn end(mut self) {
        use std::os::unix::process::ExitStatusExt;
        self.send(Signal::SIGKILL);
        let (status, said) = wait(&mut self.child);
        assert_eq!(status.signal(), Some(9), "a process that was to {}: {said}", self.role);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(child: &mut Child) -> (std::process::ExitStatus, String) {
    use std::io::Read;
    let status = child.wait().expect("it was started");
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut said).expect("text");
    }
    (status, said)
}

#[test]
fn each_state_that_a_process_shows_was_one_of_the_database() {
    if let Ok(text) = std::env::var(CHILD) {
        let (role, path) = text.split_once(':').expect("two parts");
        let path = PathBuf::from(path);
        match role {
            "write" => write(&path, 1),
            "write in lanes" => write(&path, 4),
            _ => read(&path),
        }
    }
    let path = tempfile::tempdir().expect("a directory");
    let seed = number("LODE_SEED").unwrap_or(1);
    drop(Work::with(options(Durability::Process).open(path.path()).expect("space")));
    let mut writer = Some(Process::start("write in lanes", path.path()));
    let mut readers: Vec<_> = (0..READERS).map(|_| Process::start("read", path.path())).collect();
    for round in 0..effort("LODE_ROUNDS", 40, 600) {
        let random = |at: u64| mix(mix(seed + round * 8) + at);
        // Nothing depends on how long it is.
        std::thread::sleep(Duration::from_millis(random(0) % 300));
        let at = random(1) as usize % READERS;
        match random(2) % 6 {
            0 => {
                writer.take().into_iter().for_each(Process::end);
                let role = if random(3).is_multiple_of(2) { "write" } else { "write in lanes" };
                writer = Some(Process::start(role, path.path()));
            }
            1 | 2 => {
                let new = Process::start("read", path.path());
                std::mem::replace(&mut readers[at], new).end();
            }
            3 | 4 => readers[at].send(Signal::SIGSTOP),
            _ => readers.iter().for_each(|reader| reader.send(Signal::SIGCONT)),
        }
    }
    readers.into_iter().for_each(Process::end);
    writer.into_iter().for_each(Process::end);
    let mut work = Work::with(options(Durability::Process).open(path.path()).expect("whole"));
    work.steps(1);
}

//! `lode sql` on a terminal.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Bench, start};

/// The time between two interrupts while one is wanted.
const PACE: Duration = Duration::from_millis(20);

/// Reads the output of a terminal, piece by piece, until its program has ended.
fn shown(mut terminal: File) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut piece = [0; 4096];
        loop {
            match terminal.read(&mut piece) {
                Ok(0) => break,
                Ok(size) => {
                    let text = String::from_utf8_lossy(&piece[..size]).into_owned();
                    if sender.send(text).is_err() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // No process has the terminal any more.
                Err(_) => break,
            }
        }
    });
    receiver
}

/// The longest wait for a text that may never be shown.
const PATIENCE: Duration = Duration::from_mins(5);

/// The text with which the shell starts to read: it asks the terminal to mark pasted text.
const READY: &str = "\u{1b}[?2004h";

/// The text that a terminal has shown and no test has waited for yet.
struct Screen {
    pieces: Receiver<String>,
    text: String,
}

impl Screen {
    /// Waits until a text is shown, and forgets all up to its end; calls `while_waiting` now and
    /// then.
    fn wait_for(&mut self, wanted: &str, while_waiting: impl Fn()) {
        let start = Instant::now();
        loop {
            if let Some(at) = self.text.find(wanted) {
                self.text.drain(..at + wanted.len());
                return;
            }
            assert!(start.elapsed() < PATIENCE, "no {wanted:?} in {:?}", self.text);
            match self.pieces.recv_timeout(PACE) {
                Ok(piece) => self.text.push_str(&piece),
                Err(RecvTimeoutError::Timeout) => while_waiting(),
                Err(RecvTimeoutError::Disconnected) => panic!("no {wanted:?} in {:?}", self.text),
            }
        }
    }
}

#[test]
fn an_interrupt_ends_the_statement_and_not_the_shell() {
    let bench = Bench::new();
    let terminal = openpty(None, None).expect("a terminal");
    let ours = File::from(terminal.master);
    let mut command = bench.command(&["sql", "db", "--create"]);
    command.env("HOME", bench.path(".")).env_remove("XDG_STATE_HOME").env("TERM", "xterm");
    let theirs = || Stdio::from(terminal.slave.try_clone().expect("a handle"));
    let mut child = start(command.stdin(theirs()).stdout(theirs()).stderr(theirs()));
    // Only the program has it now.
    drop((command, terminal.slave));
    let process = Pid::from_raw(child.id().try_into().expect("a process id"));

    let pieces = shown(ours.try_clone().expect("a handle"));
    let mut screen = Screen { pieces, text: String::new() };
    let type_in = |text: &str| (&ours).write_all(text.as_bytes()).expect("it is typed");
    screen.wait_for(READY, || ());
    type_in("CREATE TABLE t (id U64 PRIMARY KEY);\r");
    screen.wait_for(READY, || ());
    type_in("BEGIN; INSERT INTO t VALUES (1);\r");
    screen.wait_for("1 row changed", || ());
    screen.wait_for("lode*> ", || ());
    type_in(
        "INSERT INTO t WITH RECURSIVE n(id) AS (SELECT 2 UNION ALL SELECT id + 1 FROM n) \
         SELECT 5 FROM n WHERE id < 0;\r",
    );
    let interrupt = || kill(process, Signal::SIGINT).expect("it runs");
    screen.wait_for("lode: interrupted", interrupt);
    // The transaction has ended.
    screen.wait_for("lode> ", || ());
    type_in("SELECT count(*) + 40 + 1 AS sum FROM t;\r");
    screen.wait_for(" 41", || ());
    screen.wait_for(READY, || ());
    type_in(".quit\r");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(bench.succeeds(&["check", "db"]), "t: tree, 0 records\nno faults found\n");
}

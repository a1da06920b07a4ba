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

/// How often an interrupt is sent while one is wanted.
const PACE: Duration = Duration::from_millis(20);

/// What a terminal shows, piece by piece, until its program has ended.
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

/// How long the test waits for what may never be shown.
const PATIENCE: Duration = Duration::from_mins(5);

/// Waits until a text is shown; calls `meanwhile` now and then.
fn wait_for(shown: &Receiver<String>, wanted: &str, meanwhile: impl Fn()) {
    let (mut all, start) = (String::new(), Instant::now());
    while !all.contains(wanted) {
        assert!(start.elapsed() < PATIENCE, "no {wanted:?} in {all:?}");
        match shown.recv_timeout(PACE) {
            Ok(piece) => all.push_str(&piece),
            Err(RecvTimeoutError::Timeout) => meanwhile(),
            Err(RecvTimeoutError::Disconnected) => panic!("no {wanted:?} in {all:?}"),
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

    let shown = shown(ours.try_clone().expect("a handle"));
    let type_in = |text: &str| (&ours).write_all(text.as_bytes()).expect("it is typed");
    wait_for(&shown, "lode> ", || ());
    type_in("CREATE TABLE t (id U64 PRIMARY KEY);\r");
    wait_for(&shown, "lode> ", || ());
    type_in("BEGIN; INSERT INTO t VALUES (1);\r");
    wait_for(&shown, "lode*> ", || ());
    type_in(
        "INSERT INTO t WITH RECURSIVE n(id) AS (SELECT 2 UNION ALL SELECT id + 1 FROM n) \
         SELECT 5 FROM n WHERE id < 0;\r",
    );
    wait_for(&shown, "lode: interrupted", || kill(process, Signal::SIGINT).expect("it runs"));
    // The transaction has ended.
    wait_for(&shown, "lode> ", || ());
    type_in("SELECT count(*) + 40 + 1 AS sum FROM t;\r");
    wait_for(&shown, " 41", || ());
    type_in(".quit\r");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(bench.succeeds(&["check", "db"]), "t: tree, 0 records\nno faults found\n");
}

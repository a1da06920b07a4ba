//! The processes of a shell command: a group of their own, in a directory, and in the namespace in
//! which the filesystem of the power cut is mounted.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use program_support::exit::{Failure, Outcome};
use program_support::printable;

use crate::worker::{groups, program};

/// The longest line of a program.
const LINE_MOST_BYTES: u64 = 64 << 10;

/// The most lines that wait to be read.
const LINES_MOST: usize = 1024;

/// The longest wait for the last lines of a program that was killed: another process that left its
/// group may keep its output open.
const LAST_LINES_WAIT: Duration = Duration::from_millis(500);

/// The interval at which the end of a command is looked for.
const POLL: Duration = Duration::from_millis(1);

/// The place where a command works.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub dir: PathBuf,
    /// The process whose mount namespace has the directory.
    pub namespace: Option<u32>,
}

/// A command at work. Its processes are killed when this is dropped.
pub(super) struct Program {
    child: Child,
    lines: Receiver<io::Result<String>>,
    last_words: Arc<Mutex<String>>,
    is_over: bool,
}

impl Program {
    /// Starts a command; `prepare` is called with its process number before it runs.
    pub(super) fn start(
        command: &str,
        place: &Place,
        prepare: &mut dyn FnMut(u32) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut process = program::again();
        process.arg("torture-program");
        if let Some(namespace) = place.namespace {
            process.arg("--namespace").arg(namespace.to_string());
        }
        process.arg(&place.dir).arg(command).process_group(0);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process.spawn()?;
        groups::begin(group(&child));
        let lines = lines_of(&mut child);
        let last_words = last_words_of(&mut child);
        let mut started = Self { child, lines, last_words, is_over: false };
        prepare(started.child.id())?;
        if let Some(mut begin) = started.child.stdin.take() {
            // A process that has ended already says why by its status.
            let _ = begin.write_all(b"\n");
        }
        Ok(started)
    }

    /// Returns the next line, if there is one in time.
    pub(super) fn next(&self, wait: Duration) -> Result<io::Result<String>, RecvTimeoutError> {
        self.lines.recv_timeout(wait)
    }

    /// Waits for the end of a command that prints nothing more, and [ends](Self::end) it then.
    pub(super) fn end_by(mut self, deadline: Instant) -> io::Result<(ExitStatus, Vec<String>)> {
        while self.child.try_wait()?.is_none() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        self.end()
    }

    /// Kills all processes of the command. Returns its status, and the lines that it printed
    /// before.
    pub(super) fn end(mut self) -> io::Result<(ExitStatus, Vec<String>)> {
        self.kill();
        let status = self.child.wait()?;
        self.is_over = true;
        groups::end(group(&self.child));
        let until = Instant::now() + LAST_LINES_WAIT;
        let next = || self.lines.recv_timeout(until.saturating_duration_since(Instant::now()));
        let mut lines = Vec::new();
        while let Ok(line) = next() {
            lines.push(line?);
        }
        Ok((status, lines))
    }

    /// Returns the last line that the command printed on standard error, to be added to an error.
    pub(super) fn last_words(&self) -> Arc<Mutex<String>> {
        Arc::clone(&self.last_words)
    }

    fn kill(&self) {
        // All of them may have ended.
        let _ = killpg(group(&self.child), Signal::SIGKILL);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
            let _ = self.child.wait();
            groups::end(group(&self.child));
        }
    }
}

fn group(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// Returns why a command ended, with its last words.
pub(super) fn ending(status: ExitStatus, last_words: &Mutex<String>) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".into(),
    };
    let said = last_words.lock().unwrap_or_else(PoisonError::into_inner);
    if said.is_empty() { how } else { format!("{how}: {}", printable::excerpt(&said)) }
}

/// Reads lines of standard output, until it is closed or one is too long.
fn lines_of(child: &mut Child) -> Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::sync_channel(LINES_MOST);
    let Some(output) = child.stdout.take() else { return receiver };
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            let read = (&mut output).take(LINE_MOST_BYTES).read_until(b'\n', &mut line);
            let said = match read {
                Ok(0) => return,
                // A line that was cut off by a kill was not printed.
                Ok(size) if line.last() != Some(&b'\n') && (size as u64) < LINE_MOST_BYTES => {
                    return;
                }
                Ok(_) if line.last() != Some(&b'\n') => {
                    Err(io::Error::other(format!("a line has more than {LINE_MOST_BYTES} bytes")))
                }
                Ok(_) => Ok(String::from_utf8_lossy(&line).into_owned()),
                Err(error) => Err(error),
            };
            let is_last = said.is_err();
            if sender.send(said).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

/// Keeps the last line of standard error.
fn last_words_of(child: &mut Child) -> Arc<Mutex<String>> {
    let last_words = Arc::<Mutex<String>>::default();
    let kept = Arc::clone(&last_words);
    let Some(errors) = child.stderr.take() else { return last_words };
    thread::spawn(move || {
        let mut errors = BufReader::new(errors);
        loop {
            let mut line = Vec::new();
            match (&mut errors).take(LINE_MOST_BYTES).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    let line = String::from_utf8_lossy(&line).trim().to_string();
                    if !line.is_empty() {
                        *kept.lock().unwrap_or_else(PoisonError::into_inner) = line;
                    }
                }
            }
        }
    });
    last_words
}

/// Becomes the shell of a command, once a line comes from standard input; the hidden command behind
/// [`Program`].
pub(crate) fn begin(namespace: Option<u32>, dir: &Path, command: &str) -> Outcome {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Failure::Refused(format!("{}: {what}: {error}", dir.display()))
    };
    // The shell dies with its parent, however that dies.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|e| failed("watch the parent", &e))?;
    let mut line = [0];
    io::stdin().read_exact(&mut line).map_err(|e| failed("wait for the parent", &e))?;
    if let Some(process) = namespace {
        let entered = assay_powercut::mount::enter(process);
        entered.map_err(|e| failed("enter the namespace of the power cut", &e))?;
    }
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).env("ASSAY_DIR", dir).current_dir(dir).stdin(Stdio::null());
    Err(failed("start /bin/sh", &shell.exec()))
}

//! The parent's side: starts a worker, listens to it, and ends it when it takes too long or the
//! user has had enough.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use assay_suites::cell::Progress;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{Job, Message};
use crate::interrupt::Interrupt;

/// How often the parent looks for interrupts and for the end of its patience.
const TICK: Duration = Duration::from_millis(50);
/// What is kept of a worker's standard error, from its end.
const STDERR_KEPT: usize = 16 * 1024;

/// How a worker ended.
#[derive(Debug)]
pub enum End {
    /// With an answer.
    Answered(Message),
    /// Without one; why, in one line.
    Failed(String),
    /// The user interrupted it.
    Interrupted,
}

/// Runs a worker to its end.
pub fn run(
    job: &Job,
    timeout: Option<Duration>,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&Progress),
) -> End {
    let mut child = match spawn(job) {
        Ok(child) => child,
        Err(error) => return End::Failed(format!("cannot start a worker process: {error}")),
    };
    let messages = listen(&mut child);
    let stderr = keep_stderr(&mut child);
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut answer = None;
    let stopped = loop {
        match messages.recv_timeout(TICK) {
            Ok(Message::Progress(at)) => progress(&at),
            Ok(message) => answer = Some(message),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt.came() {
            break Some(End::Interrupted);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let seconds = timeout.unwrap_or_default().as_secs();
            break Some(End::Failed(format!(
                "it was not done after {seconds} s; allow more with --timeout, or take fewer rows"
            )));
        }
    };
    if stopped.is_some() {
        kill(&child);
    }
    let status = child.wait();
    let said = stderr.join().unwrap_or_default();
    match (stopped, answer, status) {
        (Some(end), _, _) => end,
        (None, Some(Message::Panicked(message)), _) => {
            End::Failed(format!("the engine panicked: {}", first_line(&message)))
        }
        (None, Some(answer), Ok(status)) if status.success() => End::Answered(answer),
        // It answered, and then died while it was cleaning up.
        (None, _, Ok(status)) => End::Failed(crash(status, &said)),
        (None, _, Err(error)) => End::Failed(format!("its worker was lost: {error}")),
    }
}

fn spawn(job: &Job) -> std::io::Result<Child> {
    let text = serde_json::to_vec(job)?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg("worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: an interrupt from the keyboard reaches the parent only, which
        // then ends the worker and whatever the engine started.
        .process_group(0)
        .spawn()?;
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(&text));
    if let Some(Err(error)) = written {
        kill(&child);
        let _ = child.wait();
        return Err(error);
    }
    Ok(child)
}

fn listen(child: &mut Child) -> mpsc::Receiver<Message> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str(&line) else {
                    continue;
                };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

fn keep_stderr(child: &mut Child) -> std::thread::JoinHandle<String> {
    let stderr = child.stderr.take();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut buffer = [0; 4096];
        if let Some(mut stderr) = stderr {
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                kept.extend_from_slice(&buffer[..count]);
                let excess = kept.len().saturating_sub(STDERR_KEPT);
                kept.drain(..excess);
            }
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

fn kill(child: &Child) {
    // It may be gone already.
    let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
}

/// What a worker died of, with the end of what it said.
fn crash(status: ExitStatus, said: &str) -> String {
    let died = match status.signal().and_then(|number| Signal::try_from(number).ok()) {
        Some(Signal::SIGBUS) => {
            "its worker was killed by SIGBUS: a mapped file could not grow, which is what a full \
             disk does to engines that map their files"
                .to_string()
        }
        Some(Signal::SIGKILL) => {
            "its worker was killed by SIGKILL, by the system if memory ran out".to_string()
        }
        Some(signal) => format!("its worker was killed by {signal}"),
        None => format!("its worker ended with {status} and no answer"),
    };
    match said.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(last) => format!("{died}; it last said: {}", last.trim()),
        None => died,
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

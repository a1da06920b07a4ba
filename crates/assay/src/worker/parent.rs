//! The parent's side: starts a worker, listens to it, and ends it when it takes too long or the
//! user has had enough.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_drivers::plugin;
use assay_suites::cell::Progress;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{Job, Message};
use crate::interrupt::Interrupt;
use crate::program;

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

/// A worker at work. It is killed when this is dropped.
pub struct Worker {
    child: Child,
    messages: mpsc::Receiver<Message>,
    stderr: Option<JoinHandle<String>>,
}

/// What is left of a worker.
pub struct Remains {
    /// What it said last.
    pub messages: Vec<Message>,
    status: std::io::Result<ExitStatus>,
    stderr: String,
}

impl Worker {
    /// Starts a worker. `prepare` is called with its process number before it gets its job.
    pub fn start(
        job: &Job,
        prepare: &mut dyn FnMut(u32) -> std::io::Result<()>,
    ) -> std::io::Result<Self> {
        let text = serde_json::to_vec(job)?;
        let namespace = job.namespace().map(|process| format!("--namespace={process}"));
        let mut child = program::again()
            .arg("worker")
            .args(namespace)
            .args(plugin::paths().iter().flat_map(|path| ["--plugin".as_ref(), path.as_os_str()]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own: an interrupt from the keyboard reaches the parent only, which
            // then ends the worker and whatever the engine started.
            .process_group(0)
            .spawn()?;
        let stdin = child.stdin.take();
        let messages = listen(&mut child);
        let stderr = Some(keep_stderr(&mut child));
        let worker = Self { child, messages, stderr };
        prepare(worker.child.id())?;
        if let Some(mut stdin) = stdin {
            stdin.write_all(&text)?;
        }
        Ok(worker)
    }

    /// The next thing that it says; nothing for a while, or that it is gone.
    pub fn next(&self, within: Duration) -> Result<Message, RecvTimeoutError> {
        self.messages.recv_timeout(within)
    }

    /// Kills it, and whatever it started.
    pub fn kill(&self) {
        // It may be gone already.
        let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGKILL);
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Remains {
        let status = self.child.wait();
        let stderr = self.stderr.take().map(JoinHandle::join);
        Remains {
            // All that was in the pipe comes, and then that it is closed.
            messages: self.messages.iter().collect(),
            status,
            stderr: stderr.and_then(Result::ok).unwrap_or_default(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.stderr.is_some() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

impl Remains {
    /// What a worker died of that should not have died, in one line.
    pub fn cause(&self) -> String {
        match &self.status {
            Ok(status) => crash(*status, &self.stderr),
            Err(error) => format!("its worker was lost: {error}"),
        }
    }

    fn is_success(&self) -> bool {
        self.status.as_ref().is_ok_and(ExitStatus::success)
    }
}

/// Runs a worker to its end.
pub fn run(
    job: &Job,
    timeout: Option<Duration>,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&Progress),
) -> End {
    let worker = match Worker::start(job, &mut |_| Ok(())) {
        Ok(worker) => worker,
        Err(error) => return End::Failed(format!("cannot start a worker process: {error}")),
    };
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut answer = None;
    let stopped = loop {
        match worker.next(TICK) {
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
        worker.kill();
    }
    let remains = worker.wait();
    match (stopped, answer) {
        (Some(end), _) => end,
        (None, Some(Message::Panicked(message))) => {
            End::Failed(format!("the engine panicked: {}", first_line(&message)))
        }
        (None, Some(answer)) if remains.is_success() => End::Answered(answer),
        // If it answered, it died while it was cleaning up.
        (None, _) => End::Failed(remains.cause()),
    }
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

fn keep_stderr(child: &mut Child) -> JoinHandle<String> {
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

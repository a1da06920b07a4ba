//! The parent's side: starts a worker, listens to it, and ends it if it takes too long or the user
//! interrupts.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use assay_core::counting::Counter;
use assay_drivers::plugin;
use assay_suites::Progress;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use program_support::interrupt::Interrupt;

use super::groups;
use super::memory_group::MemoryGroup;
use super::patience::{Clock, Patience};
use super::pipes::Pipes;
use super::{Job, Message, Program};
use crate::worker::program;

/// The interval at which the parent checks for interrupts and for the end of its patience.
const TICK: Duration = Duration::from_millis(50);
/// The time for a worker that has closed its pipe to free its memory.
const LAST_STEPS: Duration = Duration::from_secs(60);
/// The time to read the pipes of a worker that has ended; another process may keep them open.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The end of a worker.
#[derive(Debug)]
pub(crate) enum End {
    /// The worker replied.
    Replied(Message),
    /// The worker did not reply; why, in one line.
    Failed(String),
    /// The system killed the worker because of its memory limit; in one line.
    Killed(String),
    /// The user interrupted the worker.
    Interrupted,
}

/// A job, and the program that does it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'o> {
    pub job: &'o Job,
    pub program: Program<'o>,
}

/// A running worker. It is killed when this is dropped.
pub(crate) struct Worker {
    child: Child,
    /// The pipes; none once the worker was waited for.
    pipes: Option<Pipes>,
}

/// The remains of a worker.
pub(crate) struct Remains {
    /// The worker's last messages.
    pub messages: Vec<Message>,
    status: std::io::Result<ExitStatus>,
    stderr: String,
}

impl Worker {
    /// Starts a worker, in a control group if one is given. `prepare` is called with its process
    /// number before it gets its job.
    pub(crate) fn start(
        Order { job, program }: Order<'_>,
        memory: Option<&MemoryGroup>,
        prepare: &mut dyn FnMut(u32) -> std::io::Result<()>,
    ) -> std::io::Result<Self> {
        let text = serde_json::to_vec(job)?;
        let namespace = job.namespace().map(|process| format!("--namespace={process}"));
        let group_argument = memory.map(|group| {
            let mut argument = OsString::from("--memory-group=");
            argument.push(group.folder());
            argument
        });
        let counter = job.counter().map(|(counter, folder)| {
            let with_folder = |name: &str| {
                let mut argument = OsString::from(name);
                argument.push(folder);
                argument
            };
            match counter {
                Counter::Callgrind => with_folder("--callgrind="),
                Counter::Hardware => "--fixed-addresses".into(),
                Counter::Calls => with_folder("--trace="),
            }
        });
        let of_engine = || job.engine().and_then(plugin::path_of);
        let (mut command, path) = match program {
            Program::This => (program::again(), of_engine()),
            Program::WithPlugin(path) => (program::again(), Some(path.to_path_buf())),
            Program::Other(path) => (Command::new(path), of_engine()),
        };
        let mut child = command
            .arg("worker")
            .args(namespace)
            .args(group_argument)
            .args(counter)
            // A worker loads the plugin of its own engine only.
            .args(path.iter().flat_map(|path| ["--plugin".as_ref(), path.as_os_str()]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // The worker has its own process group: an interrupt from the keyboard reaches the
            // parent only, which then ends the worker and the processes that the engine started.
            .process_group(0)
            .spawn()?;
        groups::begin(group(&child));
        let stdin = child.stdin.take();
        let pipes = Some(Pipes::of(&mut child));
        let worker = Self { child, pipes };
        prepare(worker.child.id())?;
        if let Some(mut stdin) = stdin {
            // A worker that reads nothing does not hold the parent up; one that has ended already
            // has left a status.
            std::thread::spawn(move || drop(stdin.write_all(&text)));
        }
        Ok(worker)
    }

    /// Returns the worker's next message; an error if it is silent for `within`, or has ended and
    /// all its messages were read.
    pub(crate) fn next(&self, within: Duration) -> Result<Message, RecvTimeoutError> {
        let Some(pipes) = &self.pipes else {
            return Err(RecvTimeoutError::Disconnected);
        };
        match pipes.messages.recv_timeout(within) {
            Err(RecvTimeoutError::Timeout) if !self.is_running() => {
                // Its last messages may be on their way, and another process may keep the pipe.
                self.kill();
                let last = pipes.messages.recv_timeout(LAST_WORDS);
                last.map_err(|_| RecvTimeoutError::Disconnected)
            }
            other => other,
        }
    }

    /// Kills the worker and the processes that it started.
    pub(crate) fn kill(&self) {
        // The group may have ended already.
        let _ = killpg(group(&self.child), Signal::SIGKILL);
    }

    /// Waits for the worker's end, forced after `within`. No process that it started stays.
    pub(crate) fn wait(mut self, within: Duration) -> Remains {
        let deadline = Instant::now() + within;
        while self.is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The worker is not reaped yet, so its number still means this group.
        self.kill();
        let status = self.child.wait();
        groups::end(group(&self.child));
        let (messages, stderr) =
            self.pipes.take().map(|pipes| pipes.drain(LAST_WORDS)).unwrap_or_default();
        Remains { messages, status, stderr }
    }

    fn is_running(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        matches!(waitid(Id::Pid(group(&self.child)), flags), Ok(WaitStatus::StillAlive))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.pipes.is_some() {
            self.kill();
            let _ = self.child.wait();
            groups::end(group(&self.child));
        }
    }
}

fn group(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

impl Remains {
    /// Returns why a worker died that should not have died, in one line.
    pub(crate) fn cause(&self) -> String {
        match &self.status {
            Ok(status) => crash(*status, &self.stderr),
            Err(error) => format!("its worker was lost: {error}"),
        }
    }

    fn is_success(&self) -> bool {
        self.status.as_ref().is_ok_and(ExitStatus::success)
    }
}

/// Runs a worker of this program to its end, which comes at the latest when the patience is at its
/// end.
pub(crate) fn run(
    job: &Job,
    patience: Patience,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&Progress),
) -> End {
    carry_out(Order { job, program: Program::This }, patience, interrupt, progress)
}

/// Runs a worker of any program to its end.
pub(crate) fn carry_out(
    order: Order<'_>,
    patience: Patience,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(&Progress),
) -> End {
    let memory = match order.job.memory_limit_bytes().map(MemoryGroup::make).transpose() {
        Ok(memory) => memory,
        Err(why) => return End::Failed(why),
    };
    let worker = match Worker::start(order, memory.as_ref(), &mut |_| Ok(())) {
        Ok(worker) => worker,
        Err(error) => return End::Failed(format!("cannot start a worker process: {error}")),
    };
    let mut clock = Clock::start(patience);
    let mut reply = None;
    let mut at = None;
    // The moment at which a worker that asked for it is killed.
    let mut doomed: Option<Instant> = None;
    let mut was_killed = false;
    let stopped = loop {
        match worker.next(TICK) {
            Ok(Message::Progress(now)) => {
                // A worker that repeats itself makes no progress.
                if at.as_ref() != Some(&now) {
                    clock.progress();
                    progress(&now);
                    at = Some(now);
                }
            }
            Ok(message) => {
                if let Message::Farewell(_, after) = &message {
                    doomed = Instant::now().checked_add(*after);
                }
                reply = Some(message);
            }
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt.came() {
            break Some(End::Interrupted);
        }
        if doomed.is_some_and(|end| Instant::now() >= end) {
            was_killed = true;
            break None;
        }
        if let Some(why) = clock.ran_out() {
            break Some(End::Failed(why));
        }
    };
    if stopped.is_some() || was_killed {
        worker.kill();
    }
    let mut remains = worker.wait(clock.left().min(LAST_STEPS));
    let last = |message: &Message| !matches!(message, Message::Progress(_));
    let reply = remains.messages.drain(..).rfind(last).or(reply);
    if let Some(end) = stopped {
        return end;
    }
    if let Some(why) = reply.as_ref().and_then(Message::failure) {
        return End::Failed(why);
    }
    match reply {
        Some(reply) if remains.is_success() || was_killed => End::Replied(reply),
        // A signal to the whole group may reach a worker that has not left it yet.
        _ if interrupt.came() => End::Interrupted,
        // A worker that replied died during its cleanup.
        _ => match memory.and_then(|group| group.killed()) {
            Some(why) => End::Killed(why),
            None => End::Failed(remains.cause()),
        },
    }
}

/// Returns why a worker died, with the end of its output.
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

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_a_worker_says_at_its_end_is_heard() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("worker");
        let said = serde_json::to_string(&Message::Panicked("at its end".into())).expect("text");
        std::fs::write(&script, format!("#!/bin/sh\nprintf '%s\\n' '{said}'\n")).expect("room");
        let executable = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&script, executable).expect("it is there");
        for _ in 0..200 {
            let start = || {
                let order = Order { job: &Job::Introduce, program: Program::Other(&script) };
                Worker::start(order, None, &mut |_| Ok(()))
            };
            let worker = loop {
                match start() {
                    // A process that another test starts may still have the script open.
                    Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
                    started => break started.expect("it starts"),
                }
            };
            while worker.is_running() {
                std::hint::spin_loop();
            }
            // The thread that reads the pipe may be later than this one.
            assert!(matches!(worker.next(Duration::ZERO), Ok(Message::Panicked(_))));
            assert!(matches!(worker.next(Duration::ZERO), Err(RecvTimeoutError::Disconnected)));
        }
    }
}

//! The tracer of a worker's system calls, in a process between the parent and the worker.
//!
//! It starts the worker, follows all its threads, and counts what each calls. Calls of the main
//! thread within a span belong to a phase; those of other threads are background. The marks of
//! `assay_core::counting` are calls themselves, which are not counted.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use assay_core::counting::{PHASE_ENDS, SPAN_ENDS, SPAN_STARTS};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use program_support::exit::{Failure, Outcome};
use program_support::whole_file;
use serde::{Deserialize, Serialize};
use syscalls::Sysno;

use super::callgrind::fix_addresses;
use super::child::named;
use super::program;

/// The name of the file with the counts.
pub(crate) const FILE: &str = "calls.json";

/// System calls by name, and what they moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Calls {
    pub by_name: BTreeMap<String, u64>,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// The calls of a worker.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Traced {
    /// Calls of the main thread within spans, up to each mark.
    pub phases: Vec<Calls>,
    /// Calls of all other threads.
    pub background: Calls,
}

/// A thread that is in a system call.
struct Inside {
    call: Option<Sysno>,
    /// The argument that marks differ in.
    argument: i32,
    is_counted: bool,
}

/// Starts a worker, traces it to its end, and ends as it does.
pub(crate) fn trace(folder: &Path, plugins: &[PathBuf]) -> Outcome {
    let refused = |what: &str, error: &dyn std::fmt::Display| {
        Failure::Refused(format!("tracer: cannot {what}: {error}"))
    };
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|e| refused("watch the parent", &e))?;
    fix_addresses().map_err(|e| refused("fix addresses", &e))?;
    let mut command = program::again();
    command.arg("worker").arg("--traced").args(named(plugins));
    let child = command.spawn().map_err(|e| refused("start a worker", &e))?;
    let main = Pid::from_raw(child.id().cast_signed());
    let status = follow(main, folder).map_err(|e| refused("trace its worker", &e))?;
    match status.signal().and_then(|number| Signal::try_from(number).ok()) {
        // The parent learns how the worker ended.
        Some(signal) => {
            let _ = raise(signal);
            Err(refused("end as its worker did", &signal))
        }
        None if status.success() => Ok(()),
        None => Err(refused("use its worker", &status)),
    }
}

/// Follows all threads of a process to its end.
fn follow(main: Pid, folder: &Path) -> std::io::Result<ExitStatus> {
    waitpid(main, Some(WaitPidFlag::WUNTRACED))?;
    let options =
        Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    ptrace::seize(main, options)?;
    kill(main, Signal::SIGCONT)?;
    let mut tracer = Tracer::new(main);
    loop {
        let (thread, signal) = match waitpid(None, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Exited(thread, code) if thread == main => {
                tracer.save(folder)?;
                return Ok(ExitStatus::from_raw(code << 8));
            }
            WaitStatus::Signaled(thread, signal, _) if thread == main => {
                return Ok(ExitStatus::from_raw(signal as i32));
            }
            WaitStatus::PtraceSyscall(thread) => {
                tracer.at_call(thread)?;
                (thread, None)
            }
            WaitStatus::PtraceEvent(thread, ..) => (thread, None),
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            _ => continue,
        };
        match ptrace::syscall(thread, signal) {
            // The thread was killed while it was stopped.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The threads of a worker, and what they have called.
struct Tracer {
    main: Pid,
    is_in_span: bool,
    inside: HashMap<Pid, Inside>,
    phase: Calls,
    traced: Traced,
}

impl Tracer {
    fn new(main: Pid) -> Self {
        Self {
            main,
            is_in_span: false,
            inside: HashMap::new(),
            phase: Calls::default(),
            traced: Traced::default(),
        }
    }

    /// Notes that a thread enters or leaves a system call.
    fn at_call(&mut self, thread: Pid) -> std::io::Result<()> {
        let registers = match Registers::of(thread) {
            Err(Errno::ESRCH) => return Ok(()),
            other => other?,
        };
        let Some(inside) = self.inside.remove(&thread) else {
            let inside = self.enter(thread, &registers);
            self.inside.insert(thread, inside);
            return Ok(());
        };
        if let (true, Some(call)) = (inside.is_counted, inside.call) {
            let calls =
                if thread == self.main { &mut self.phase } else { &mut self.traced.background };
            *calls.by_name.entry(call.name().into()).or_default() += 1;
            let moved = u64::try_from(registers.result).unwrap_or(0);
            if reads(call) {
                calls.read_bytes += moved;
            } else if writes(call) {
                calls.written_bytes += moved;
            }
        } else if thread == self.main && inside.call == Some(Sysno::kill) {
            match inside.argument {
                SPAN_STARTS => self.is_in_span = true,
                PHASE_ENDS => self.traced.phases.push(std::mem::take(&mut self.phase)),
                _ => {}
            }
        }
        Ok(())
    }

    fn enter(&mut self, thread: Pid, registers: &Registers) -> Inside {
        let call = usize::try_from(registers.call).ok().and_then(Sysno::new);
        let argument = registers.first as i32;
        let is_end = call == Some(Sysno::kill) && argument == SPAN_ENDS;
        if thread == self.main && is_end {
            self.is_in_span = false;
        }
        let is_counted = thread != self.main || self.is_in_span;
        Inside { call, argument, is_counted }
    }

    fn save(&self, folder: &Path) -> std::io::Result<()> {
        whole_file::write(&folder.join(FILE), &serde_json::to_vec(&self.traced)?)
    }
}

fn reads(call: Sysno) -> bool {
    use Sysno as S;
    matches!(call, S::read | S::pread64 | S::readv | S::preadv | S::preadv2)
}

fn writes(call: Sysno) -> bool {
    use Sysno as S;
    matches!(call, S::write | S::pwrite64 | S::writev | S::pwritev | S::pwritev2)
}

/// The registers that system calls use.
struct Registers {
    call: u64,
    first: u64,
    result: i64,
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    fn of(thread: Pid) -> nix::Result<Self> {
        let all = ptrace::getregs(thread)?;
        Ok(Self { call: all.orig_rax, first: all.rdi, result: all.rax.cast_signed() })
    }
}

#[cfg(target_arch = "aarch64")]
impl Registers {
    fn of(thread: Pid) -> nix::Result<Self> {
        let all = ptrace::getregs(thread)?;
        Ok(Self { call: all.regs[8], first: all.regs[0], result: all.regs[0].cast_signed() })
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Registers {
    fn of(_: Pid) -> nix::Result<Self> {
        Err(Errno::ENOSYS)
    }
}

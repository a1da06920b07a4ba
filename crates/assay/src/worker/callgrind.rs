//! A worker below Valgrind's callgrind, which counts its instructions.
//!
//! Callgrind knows the spans by the names of functions (`assay_core::counting`). So it needs the
//! program's symbols, and nothing of Valgrind's at compile time. The caches that it models are
//! named here, so that the counts are those of any machine.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

use assay_core::counting::{OFF_MARK, ON_MARK, PHASE_MARK};
use nix::errno::Errno;
use nix::sys::personality::{self, Persona};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use syscalls::Sysno;

/// The program.
pub(crate) const VALGRIND: &str = "valgrind";
/// The prefix of the names of its files.
pub(crate) const FILES: &str = "counts";

/// Returns the command that starts this program as a worker below callgrind.
pub(super) fn command(folder: &Path) -> io::Result<Command> {
    fix_addresses()?;
    hide_native_addresses().map_err(io::Error::other)?;
    let mut command = Command::new(VALGRIND);
    command
        .env_remove("VALGRIND_OPTS")
        .args([
            "--command-line-only=yes",
            "--quiet",
            "--tool=callgrind",
            "--fair-sched=yes",
            "--vgdb=no",
        ])
        .args(["--separate-threads=yes", "--compress-pos=no"])
        // A line for each instruction: those of an allocating function tell its calls.
        .args(["--dump-instr=yes", "--dump-line=no"])
        .args(["--cache-sim=yes", "--branch-sim=yes"])
        .args(["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"])
        .arg(format!("--toggle-collect={OFF_MARK}"))
        .arg(format!("--toggle-collect={ON_MARK}"))
        // After the options that turn it off.
        .arg("--collect-atstart=yes")
        .arg(format!("--dump-before={PHASE_MARK}"))
        .arg(format!("--callgrind-out-file={}", folder.join(FILES).display()))
        .arg(std::env::current_exe()?)
        .arg("worker");
    Ok(command)
}

/// The call by which programs ask the kernel for their auxiliary vector ("AUXV").
const PR_GET_AUXV: u64 = 0x4155_5856;

/// Refuses that call to this process from now on. Valgrind passes it to the kernel, which answers
/// with addresses of Valgrind's own; where it fails, programs read what Valgrind has for them.
fn hide_native_addresses() -> Result<(), seccompiler::Error> {
    let option = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, PR_GET_AUXV)?;
    let rules = BTreeMap::from([(Sysno::prctl as i64, vec![SeccompRule::new(vec![option])?])]);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(Errno::EINVAL as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)
}

/// Has the programs that this process becomes or starts see the same addresses every time.
pub(super) fn fix_addresses() -> io::Result<()> {
    let now = personality::get()?;
    personality::set(now | Persona::ADDR_NO_RANDOMIZE)?;
    Ok(())
}

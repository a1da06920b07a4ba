//! A control group around a worker: a hard limit of its memory, page cache included.
//!
//! The group is made and removed by a process of its own, the *keeper*. The keeper removes the
//! group when its standard input ends, which happens however this program ends. A worker enters the
//! group itself and then starts this program again there, so that all of its memory is counted.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_driver::binary_size;
use assay_driver::control_group::{ControlGroup, Version};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use program_support::exit::{Failure, Outcome};
use program_support::output::print;
use serde::{Deserialize, Serialize};

use crate::worker::program;

/// The file of a group that lists its processes; a process that writes 0 enters it.
const PROCESSES: &str = "cgroup.procs";
/// The time to wait for the processes in a group to end.
const LAST_STEPS: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(5);

/// A group, which is removed when this is dropped.
pub(crate) struct MemoryGroup {
    keeper: Child,
    made: Made,
    limit_bytes: u64,
}

/// An existing group, as the keeper reports it.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    folder: PathBuf,
    is_v1: bool,
}

impl Made {
    /// Returns the number of its processes that the system has killed because of its limit; none if
    /// the kernel does not say.
    fn kills(&self) -> Option<u64> {
        let file = if self.is_v1 { "memory.oom_control" } else { "memory.events" };
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
    }
}

impl MemoryGroup {
    /// Makes a group with this limit. The error says in one line why it cannot, and what to do.
    pub(crate) fn make(limit_bytes: u64) -> Result<Self, String> {
        let said = |e: io::Error| format!("cannot start the keeper of a control group: {e}");
        let mut keeper = program::again()
            .arg("memory-group-keeper")
            .arg(limit_bytes.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // An interrupt from the keyboard is for the parent; the keeper has work after it.
            .process_group(0)
            .spawn()
            .map_err(said)?;
        let mut reply = String::new();
        let replied = match keeper.stdout.take() {
            Some(stdout) => BufReader::new(stdout).read_line(&mut reply).map_err(said),
            None => Ok(0),
        };
        let made = replied.and_then(|_| {
            serde_json::from_str::<Result<Made, String>>(&reply)
                .unwrap_or_else(|_| Err("the keeper of a control group ended".into()))
        });
        match made {
            Ok(made) => Ok(Self { keeper, made, limit_bytes }),
            Err(why) => {
                // The keeper ends by itself.
                let _ = keeper.wait();
                Err(why)
            }
        }
    }

    /// Checks that a group can be made: makes one and removes it.
    pub(crate) fn check(limit_bytes: u64) -> Outcome {
        match Self::make(limit_bytes) {
            Ok(_) => Ok(()),
            Err(why) => {
                Err(Failure::Refused(format!("--cgroup {}: {why}", binary_size(limit_bytes))))
            }
        }
    }

    /// Returns the group's folder, for the worker that enters it.
    pub(crate) fn folder(&self) -> &Path {
        &self.made.folder
    }

    /// Returns why the system killed a process of the group, if it did.
    pub(crate) fn killed(&self) -> Option<String> {
        let limit = binary_size(self.limit_bytes);
        let kills = self.made.kills().unwrap_or(0);
        (kills > 0).then(|| format!("killed: over the memory limit of {limit}"))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The keeper ends after `LAST_STEPS` at the latest.
        let _ = self.keeper.wait();
    }
}

/// Puts this process into a group.
pub(crate) fn enter(folder: &Path) -> io::Result<()> {
    fs::write(folder.join(PROCESSES), "0")
}

/// Makes a group, prints its folder, and removes it when standard input ends.
pub(crate) fn keep(limit_bytes: u64) -> Outcome {
    let made = match ControlGroup::own() {
        Some(own) => make(&own, limit_bytes, new_group),
        None => Err("this system has no memory controller of control groups, or it is not \
                     mounted on /sys/fs/cgroup; leave --cgroup out"
            .into()),
    };
    let text = serde_json::to_string(&made).expect("a reply is plain data");
    print(&format!("{text}\n"))?;
    let Ok(made) = made else { return Ok(()) };
    // The content does not matter, only the end.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    remove(&made.folder).map_err(|e| {
        Failure::Refused(format!("cannot remove the control group {}: {e}", made.folder.display()))
    })
}

/// Makes the folder of a group, which the kernel fills with its files.
type NewGroup = fn(&Path) -> io::Result<()>;

fn new_group(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

/// Makes a group in the nearest group above this process that allows it.
fn make(own: &ControlGroup, limit_bytes: u64, new_group: NewGroup) -> Result<Made, String> {
    let name = format!("assay-{}", std::process::id());
    let mut refused: Option<(&Path, io::Error)> = None;
    for parent in own.folders() {
        let folder = parent.join(&name);
        let begun = switch_on(own.version(), parent).and_then(|()| new_group(&folder));
        let is_made = begun.is_ok();
        match begun.and_then(|()| set_up(own.version(), &folder, limit_bytes)) {
            Ok(()) => return Ok(Made { folder, is_v1: own.version() == Version::V1 }),
            Err(error) => {
                // A group that existed already is another process's.
                if is_made {
                    let _ = fs::remove_dir(&folder);
                }
                // The first refusal is the nearest, and says most.
                refused.get_or_insert((parent, error));
            }
        }
    }
    let (parent, error) = refused.expect("a process is in a group");
    let advice = match own.version() {
        Version::V1 => "run as root, where /sys/fs/cgroup can be written to",
        Version::V2 => "run as root, or put `systemd-run --user --scope` before the command",
    };
    Err(format!("no control group can be made below {}: {error}; {advice}", parent.display()))
}

/// Enables limits of memory for the groups below a group.
fn switch_on(version: Version, parent: &Path) -> io::Result<()> {
    let file = parent.join("cgroup.subtree_control");
    match version {
        Version::V1 => Ok(()),
        Version::V2 if fs::read_to_string(&file)?.split(' ').any(|on| on.trim() == "memory") => {
            Ok(())
        }
        Version::V2 => write(&file, "+memory"),
    }
}

/// Sets a group's limit, and checks that a process can enter it.
fn set_up(version: Version, folder: &Path, limit_bytes: u64) -> io::Result<()> {
    write(&folder.join(version.limit_file()), &limit_bytes.to_string())?;
    // Memory that is swapped out counts too. If the kernel does not count it, the file is missing.
    let swap = match version {
        Version::V1 => ("memory.memsw.limit_in_bytes", limit_bytes.to_string()),
        Version::V2 => ("memory.swap.max", "0".into()),
    };
    let _ = write(&folder.join(swap.0), &swap.1);
    let mut probe = Command::new("/bin/sh");
    let entered = probe.args(["-c", "echo 0 > \"$0\""]).arg(folder.join(PROCESSES));
    if entered.stderr(Stdio::null()).status()?.success() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "no process may enter it"))
    }
}

/// Writes to a file that exists.
fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Removes a group, and ends the processes that are left in it.
fn remove(folder: &Path) -> io::Result<()> {
    let deadline = Instant::now() + LAST_STEPS;
    loop {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => {}
            Ok(()) => return Ok(()),
        }
        // A worker ends by itself without its parent, but its own processes may not.
        let left = fs::read_to_string(folder.join(PROCESSES)).unwrap_or_default();
        let processes = left.lines().filter_map(|line| line.trim().parse().ok());
        // A process outside of this one's namespace is 0 here, which to `kill` is the own group.
        for process in processes.filter(|process: &i32| *process > 0) {
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
        std::thread::sleep(TICK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does what the kernel does when the folder of a group is made, in a fake hierarchy.
    fn like_the_kernel(folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        let v1 = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
        let v2 = ["memory.max", "memory.swap.max", "cgroup.subtree_control"];
        v1.iter().chain(&v2).chain([&PROCESSES]).try_for_each(|f| fs::write(folder.join(f), ""))
    }

    fn content(folder: &Path, file: &str) -> String {
        fs::read_to_string(folder.join(file)).expect("a file").trim().to_string()
    }

    #[test]
    fn a_group_of_version_2_is_made_in_the_nearest_that_has_the_controller() {
        let root = tempfile::tempdir().expect("a directory");
        let (user, scope) = (root.path().join("user"), root.path().join("user/scope"));
        like_the_kernel(&user).expect("a group");
        fs::write(user.join("cgroup.subtree_control"), "cpu memory\n").expect("a file");
        // The kernel does not let a group that has processes enable controllers; here the file is
        // missing.
        fs::create_dir(&scope).expect("a folder");
        let own = ControlGroup::at(Version::V2, root.path(), "user/scope".as_ref());
        let made = make(&own, 64 << 20, like_the_kernel).expect("a group");
        assert_eq!(made.folder.parent(), Some(user.as_path()));
        assert_eq!(content(&made.folder, "memory.max"), "67108864");
        assert_eq!(content(&made.folder, "memory.swap.max"), "0");
        assert_eq!(content(&made.folder, PROCESSES), "0", "a process has entered");
        assert_eq!(content(&user, "cgroup.subtree_control"), "cpu memory", "it was on");
    }

    #[test]
    fn the_controller_is_switched_on_where_it_is_off() {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join("cgroup.subtree_control"), "").expect("a file");
        let own = ControlGroup::at(Version::V2, root.path(), "".as_ref());
        let made = make(&own, 64 << 20, like_the_kernel).expect("a group");
        assert_eq!(made.folder.parent(), Some(root.path()));
        assert_eq!(content(root.path(), "cgroup.subtree_control"), "+memory");
    }

    #[test]
    fn a_group_of_version_1_limits_memory_with_what_is_swapped_out() {
        let root = tempfile::tempdir().expect("a directory");
        let own = ControlGroup::at(Version::V1, root.path(), "".as_ref());
        let made = make(&own, 64 << 20, like_the_kernel).expect("a group");
        assert_eq!(content(&made.folder, "memory.limit_in_bytes"), "67108864");
        assert_eq!(content(&made.folder, "memory.memsw.limit_in_bytes"), "67108864");
    }

    #[test]
    fn where_no_group_can_be_made_a_line_says_what_to_do_and_nothing_is_left() {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join("cgroup.subtree_control"), "memory").expect("a file");
        let own = ControlGroup::at(Version::V2, root.path(), "".as_ref());
        // A folder that the kernel does not fill.
        let why = make(&own, 64 << 20, new_group).expect_err("it has no limit");
        let place = root.path().display().to_string();
        assert!(why.starts_with(&format!("no control group can be made below {place}: ")), "{why}");
        assert!(why.ends_with("put `systemd-run --user --scope` before the command"), "{why}");
        assert_eq!(fs::read_dir(root.path()).expect("a directory").count(), 1, "{why}");
    }

    #[test]
    fn kills_are_read_from_the_files_of_both_versions() {
        let root = tempfile::tempdir().expect("a directory");
        let folder = root.path().to_path_buf();
        fs::write(folder.join("memory.events"), "low 0\noom 3\noom_kill 2\n").expect("a file");
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
        fs::write(folder.join("memory.oom_control"), text).expect("a file");
        assert_eq!(Made { folder: folder.clone(), is_v1: false }.kills(), Some(2));
        assert_eq!(Made { folder: folder.clone(), is_v1: true }.kills(), Some(1));
        let elsewhere = Made { folder: folder.join("gone"), is_v1: true };
        assert_eq!(elsewhere.kills(), None);
    }
}

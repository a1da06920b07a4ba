//! Calls to the kernel: mounting, unmounting, mount namespaces.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::geteuid;

const DEVICE: &str = "/dev/fuse";
/// The longest that the kernel may take to close the open files of a killed process.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns why no such filesystem can be mounted here; nothing if it can.
pub fn obstacle() -> Option<String> {
    if let Err(error) = open_device() {
        return Some(format!("{DEVICE}: {error}"));
    }
    if geteuid().is_root() {
        None
    } else {
        Some("mounting the filesystem of the power cut needs root".into())
    }
}

fn open_device() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(DEVICE)
}

/// The file of the boot's id, for engines that read it. An engine may trust unsynchronised data
/// until the machine is restarted.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// A file with another number at each reading.
const RANDOM_ID: &str = "/proc/sys/kernel/random/uuid";

/// Gives this process, which has one thread yet, a separate mount namespace, and lets it die with
/// its parent. In that namespace, each process finds itself in another boot, as those before and
/// after a power cut do.
pub fn isolate() -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    nix::mount::mount::<str, str, str, str>(None, "/", None, flags, None)?;
    let bind = MsFlags::MS_BIND;
    nix::mount::mount::<str, str, str, str>(Some(RANDOM_ID), BOOT_ID, None, bind, None)?;
    Ok(())
}

/// Lets each process of this namespace find itself in this boot, as if the power never went.
pub(crate) fn stay_in_boot() -> io::Result<()> {
    match umount2(BOOT_ID, MntFlags::MNT_DETACH) {
        // It was done before.
        Err(Errno::EINVAL) => Ok(()),
        other => other.map_err(io::Error::from),
    }
}

/// Enters the mount namespace of a process; the calling one has one thread yet.
pub fn enter(process: u32) -> io::Result<()> {
    let namespace = File::open(format!("/proc/{process}/ns/mnt"))?;
    setns(namespace, CloneFlags::CLONE_NEWNS)?;
    Ok(())
}

/// Mounts at a directory, and returns the device on which the kernel sends requests.
pub(crate) fn mount(at: &Path) -> io::Result<OwnedFd> {
    let device = OwnedFd::from(open_device()?);
    let options = format!(
        "fd={},rootmode=40755,user_id=0,group_id=0,default_permissions,allow_other",
        device.as_raw_fd()
    );
    let flags = MsFlags::MS_NODEV | MsFlags::MS_NOSUID | MsFlags::MS_NOATIME;
    nix::mount::mount(Some("assay-powercut"), at, Some("fuse"), flags, Some(options.as_str()))?;
    Ok(device)
}

/// Unmounts `at`. The kernel writes back the rest of mapped files now, so another process has to
/// serve the filesystem during it.
pub fn unmount(at: &Path) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match umount2(at, MntFlags::empty()) {
            Err(Errno::EBUSY) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other.map_err(io::Error::from),
        }
    }
}

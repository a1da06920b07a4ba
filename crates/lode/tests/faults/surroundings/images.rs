//! File systems in image files, mounted by loop devices.
//!
//! They are mounted in a mount namespace of a child process. So they are gone with it, however it
//! ends.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use super::support::child;

/// Runs a program; what it said if it failed.
pub fn call(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or_else(|| format!("{program}: {}", said.trim()))
}

/// Makes an image with a file system.
pub fn format(image: &Path, size_bytes: u64, program: &str, options: &[&str]) {
    let file = std::fs::File::create(image).expect("a new file");
    file.set_len(size_bytes).expect("a hole takes no space");
    let image = image.to_str().expect("text");
    call(program, &[options, &[image]].concat()).expect("the file system is made");
}

/// Mounts an image at a directory, which is made if need be.
pub fn mount(image: &Path, at: &Path) {
    std::fs::create_dir_all(at).expect("a directory");
    let [image, at] = [image, at].map(|path| path.to_str().expect("text"));
    call("mount", &["-o", "loop", image, at]).expect("it can be mounted");
}

pub fn unmount(at: &Path) {
    call("umount", &[at.to_str().expect("text")]).expect("no process uses it");
}

/// Why images cannot be mounted here, or files of these programs not be made.
fn missing(programs: &[&str]) -> Option<String> {
    for program in programs {
        if let Err(why) = Command::new(program).arg("-V").output() {
            return Some(format!("{program}: {why}"));
        }
    }
    let path = tempfile::tempdir().expect("a directory");
    let image = path.path().join("image");
    let made = std::fs::File::create(&image).and_then(|file| file.set_len(1 << 20));
    made.expect("space");
    let image = image.to_str().expect("text");
    call("mkfs.ext4", &["-q", image])
        .and_then(|()| call("unshare", &["--mount", "mount", "-o", "loop", image, "/mnt"]))
        .err()
}

/// Runs a test again in a child with mounts of its own, if that is possible here; `None`, and says
/// why, if not.
pub fn run_with_mounts(test: &str, role: &str, path: &Path, programs: &[&str]) -> Option<Output> {
    if let Some(why) = missing(programs) {
        // `eprintln` would not do: its output is hidden when a test succeeds.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test} ({role}): {why}");
        return None;
    }
    let inner = child(test, role, path);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(command.output().expect("unshare was there before"))
}

/// Checks that a child ended well.
pub fn expect_success(case: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    let signal = output.status.signal();
    assert!(output.status.success(), "{case}: signal {signal:?}, {said}");
}

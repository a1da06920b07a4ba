//! A process forks while it has volumes open. Only the parent may close them.

#![allow(unsafe_code)]

use lode_volumes::{Error, Volume};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

/// Has a child do something; returns true if it ended as it should.
fn in_a_child(work: impl FnOnce()) -> bool {
    // SAFETY: the child needs no lock of another thread; it runs `work`, and ends without going
    // back to the test.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Child => {
            let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // SAFETY: it ends the process at once.
            unsafe { nix::libc::_exit(i32::from(worked.is_err())) }
        }
        ForkResult::Parent { child } => {
            matches!(waitpid(child, None).expect("a child"), WaitStatus::Exited(_, 0))
        }
    }
}

#[test]
fn a_child_closes_nothing_and_waits_for_no_thread_of_its_parent() {
    let folder = tempfile::tempdir().expect("a directory");
    let in_directory = Volume::open(folder.path()).expect("a new volume");
    for volume in [in_directory, Volume::in_memory().expect("memory")] {
        volume.create_entry("/a/b").expect("there is room");
        let watching = volume.watch_with("/", drop).expect("a thread");
        let closed = in_a_child(|| {
            let closed = volume.clone().close();
            assert!(matches!(closed, Err(Error::Database(lode::Error::Forked))), "{closed:?}");
        });
        assert!(closed, "closing");
        let mut taken = Some((volume, watching));
        assert!(in_a_child(|| drop(taken.take())), "dropping the last handle");
        let (volume, watching) = taken.expect("the parent has them");
        drop(watching);
        volume.create_entry("/a/c").expect("there is room");
        volume.close().expect("nothing is wrong with the disk");
    }
}

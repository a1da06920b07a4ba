//! A process forks while it has volumes open. Only the parent may use and close them.

#![allow(unsafe_code)]

use std::time::Duration;

use lode_volumes::{Error, Result, Value, Volume};
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

/// Asserts that a call fails because the process was forked.
fn refused<T>(what: &str, result: Result<T>) {
    let error = result.err();
    assert!(matches!(error, Some(Error::Database(lode::Error::Forked))), "{what}: {error:?}");
}

#[test]
fn a_child_is_refused_whatever_it_asks_for() {
    let folder = tempfile::tempdir().expect("a directory");
    let in_directory = Volume::open(folder.path()).expect("a new volume");
    for volume in [in_directory, Volume::in_memory().expect("memory")] {
        let entry = volume.create_entry("/a/b").expect("there is room");
        entry.set("name", "before").expect("there is room");
        let snapshot = volume.snapshot().expect("there is room");
        let is_refused = in_a_child(|| {
            refused("property", entry.property("name"));
            refused("with_property", entry.with_property("name", |_| ()));
            refused("has_property", entry.has_property("name"));
            refused("set", entry.set("name", "after"));
            refused("set another", entry.set("other", 5));
            refused("remove_property", entry.remove_property("name"));
            refused("change_property", entry.change_property("name", |_| None));
            refused("properties", entry.properties());
            refused("property_names", entry.property_names());
            refused("expire_property", entry.expire_property("name", Duration::from_secs(1)));
            refused("cancel_expiration", entry.cancel_expiration("name"));
            refused("update", entry.update(|batch| batch.set("name", "after")));
            refused("path", entry.path());
            refused("link", entry.link("c"));
            refused("unlink", volume.root().unlink("a"));
            refused("unlink_all", volume.root().unlink_all("a"));
            refused("rename", volume.root().rename("a", &entry, "d"));
            refused("entry", volume.entry("/a"));
            refused("create_entry", volume.create_entry("/a/b"));
            refused("links", volume.root().links());
            refused("walk", volume.root().walk());
            refused("watch", volume.watch("/"));
            refused("snapshot", volume.snapshot());
            refused("property of a snapshot", {
                snapshot
                    .entry("/a/b")
                    .and_then(|there| there.map_or(Ok(None), |entry| entry.property("name")))
            });
            refused("sweep", volume.sweep());
            refused("flush", volume.flush());
            refused("export", snapshot.root().export(&mut Vec::new()));
            refused("import", volume.import("/e", &mut &b"{}"[..]));
        });
        assert!(is_refused, "a call");
        let found = entry.property("name").expect("the parent may read");
        assert_eq!(found, Some(Value::Text("before".into())));
    }
}

//! Three volumes are mounted at one point, and each of them fails in turn.

use std::path::Path;

use lode_volumes::{Durability, Error, Mount, Options, Storage, Value, Volume};

use super::support::expect_consistent;

/// Removes the log of an open database: the next commit fails, and every one after it.
fn poison(directory: &Path) {
    for file in std::fs::read_dir(directory).expect("files") {
        let path = file.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        if name.starts_with("log-") {
            std::fs::remove_file(&path).expect("it is removed");
        }
    }
}

fn mounted(volumes: &[Volume]) -> Storage {
    let storage = Storage::new();
    for (volume, priority) in volumes.iter().zip(0..) {
        storage.mount("/", Mount::new(volume).priority(-priority)).expect("it is mounted");
    }
    storage
}

fn expect_partial(outcome: lode_volumes::Result<()>, failing: &str, why: fn(&Error) -> bool) {
    let Err(Error::Partial { written, failed }) = &outcome else { panic!("{outcome:?}") };
    let mut others = vec!["a", "b", "c"];
    others.retain(|name| *name != failing);
    assert_eq!(*written, others);
    assert_eq!(failed.len(), 1);
    assert!(failed[0].0 == failing && why(&failed[0].1), "{failed:?}");
    let text = outcome.expect_err("it is one").to_string();
    let known = format!("(these have it: {}): {failing}: ", others.join(", "));
    assert!(text.contains(&known), "{text}");
}

#[test]
fn a_poisoned_volume_is_named_and_the_others_have_the_change() {
    for failing in 0..3 {
        let folders: [_; 3] = std::array::from_fn(|_| tempfile::tempdir().expect("a folder"));
        let open = |at: usize| {
            let options = Options::new().name(["a", "b", "c"][at]).durability(Durability::Commit);
            options.open(folders[at].path()).expect("a volume")
        };
        let volumes: [_; 3] = std::array::from_fn(open);
        let storage = mounted(&volumes);
        let root = storage.entry("/").expect("a path").expect("an entry");
        root.set("x", 1u8).expect("it is set");
        poison(folders[failing].path());
        let poisoned =
            |error: &Error| matches!(error, Error::Database(lode::Error::Poisoned { .. }));
        let name = ["a", "b", "c"][failing];
        expect_partial(root.set("x", 2u8), name, poisoned);
        expect_partial(root.set("y", 2u8), name, poisoned);
        // Whether it has the change or not, all ways of reading it say the same.
        let snapshot = volumes[failing].snapshot().expect("a snapshot").root();
        for name in ["x", "y"] {
            let in_table = snapshot.property(name).expect("a name");
            assert_eq!(volumes[failing].root().property(name).expect("a name"), in_table);
        }
        expect_partial(root.link("child"), name, poisoned);
        expect_partial(root.remove_property("x").map(drop), name, poisoned);
        for (at, volume) in volumes.into_iter().enumerate() {
            let root = volume.root();
            if at != failing {
                assert_eq!(root.property("x").expect("a name"), None);
                assert_eq!(root.property("y").expect("a name"), Some(Value::U8(2)));
                assert_eq!(root.links().expect("links").count(), 1);
                drop((storage.clone(), root));
                volume.close().expect("it closes");
                expect_consistent(folders[at].path());
            }
        }
    }
}

#[test]
fn a_full_volume_is_named_and_stays_as_it_was() {
    for failing in 0..3 {
        let open = |at: usize| {
            let database =
                lode::Options::new().memory_bytes(if at == failing { 4 } else { 64 } << 20);
            let options = Options::new().name(["a", "b", "c"][at]).database(database);
            options.in_memory().expect("a volume")
        };
        let volumes: [_; 3] = std::array::from_fn(open);
        let storage = mounted(&volumes);
        let root = storage.entry("/").expect("a path").expect("an entry");
        let bytes = vec![5; 100_000];
        let name = ["a", "b", "c"][failing];
        let full = |error: &Error| matches!(error, Error::Database(lode::Error::Full { .. }));
        let mut count = 0;
        let refused = loop {
            match root.set(&count.to_string(), &bytes) {
                Ok(()) => count += 1,
                refused => break refused,
            }
        };
        assert!(count > 0);
        expect_partial(refused, name, full);
        let refused = count.to_string();
        for (at, volume) in volumes.iter().enumerate() {
            let has = volume.root().has_property(&refused).expect("a name");
            assert_eq!(has, at != failing);
            assert!(volume.root().has_property("0").expect("a name"));
        }
        assert!(root.remove_property("0").expect("a name"));
        root.set("small", 1u8).expect("there is room");
    }
}

#[test]
fn a_read_only_volume_takes_no_writes_and_stops_none() {
    let folders: [_; 3] = std::array::from_fn(|_| tempfile::tempdir().expect("a folder"));
    for folder in &folders {
        let volume = Volume::open(folder.path()).expect("a volume");
        volume.root().set("x", 1u8).expect("it is set");
        volume.close().expect("it closes");
    }
    for failing in 0..3 {
        let open = |at: usize| {
            let options = Options::new().name(["a", "b", "c"][at]);
            if at == failing {
                options.open_read_only(folders[at].path()).expect("a volume")
            } else {
                options.open(folders[at].path()).expect("a volume")
            }
        };
        let volumes: [_; 3] = std::array::from_fn(open);
        let storage = mounted(&volumes);
        let root = storage.entry("/").expect("a path").expect("an entry");
        let value = 10 + failing as u8;
        root.set("x", value).expect("two take it");
        for (at, volume) in volumes.iter().enumerate() {
            let is_new = volume.root().property("x").expect("a name") == Some(Value::U8(value));
            assert_eq!(is_new, at != failing);
            if at == failing {
                let refused = volume.root().set("x", 1u8);
                assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
                assert!(volume.root().link("child").is_err() && volume.sweep().is_ok());
                assert!(volume.update(|batch| batch.set(&volume.root(), "x", 1u8)).is_err());
            }
        }
    }
}

#[test]
fn all_volumes_may_fail() {
    let folders: [_; 2] = std::array::from_fn(|_| tempfile::tempdir().expect("a folder"));
    let volumes: [_; 2] = std::array::from_fn(|at| {
        let options = Options::new().name(["a", "b"][at]).durability(Durability::Commit);
        options.open(folders[at].path()).expect("a volume")
    });
    let storage = mounted(&volumes);
    let root = storage.entry("/").expect("a path").expect("an entry");
    folders.iter().for_each(|folder| poison(folder.path()));
    let Err(Error::Partial { written, failed }) = root.set("x", 1u8) else { panic!("it is set") };
    assert!(written.is_empty() && failed.len() == 2);
}

//! Eight threads link, unlink, set and let expire what the others hold.

use std::time::Duration;

use lode_volumes::{Durability, Entry, Error, Options, Value, Volume};

use super::support::{Draw, Wound, expect_consistent, exported};

const THREADS: u64 = 8;

/// Accepts the errors that a thread may meet: others unlink what it holds.
fn expect_known<T>(outcome: lode_volumes::Result<T>) -> Option<T> {
    match outcome {
        Ok(done) => Some(done),
        Err(
            Error::Gone { .. }
            | Error::NoEntry { .. }
            | Error::NameTaken { .. }
            | Error::NotEmpty { .. }
            | Error::IntoItself { .. },
        ) => None,
        Err(other) => panic!("{other}"),
    }
}

/// Checks a property that only this thread sets: as it has set it last, or gone with its entry.
fn own_property(entry: &Entry, name: &str, draw: &mut Draw) {
    let value = draw.below(1_000);
    if expect_known(entry.set(name, value)).is_none() {
        return;
    }
    let Some(found) = expect_known(entry.property(name)) else { return };
    assert_eq!(found, Some(Value::U64(value)));
    match draw.below(4) {
        0 => {
            if let Some(removed) = expect_known(entry.remove_property(name)) {
                assert!(removed, "no other thread removes it");
                assert!(expect_known(entry.has_property(name)).is_none_or(|there| !there));
            }
        }
        1 => {
            let later = Duration::from_secs(1_000_000);
            let expires = expect_known(entry.expire_property(name, later));
            assert!(expires.is_none_or(|was_there| was_there));
        }
        2 => {
            let expired = expect_known(entry.expire_property(name, Duration::ZERO));
            let is_there = expired.and_then(|_| expect_known(entry.has_property(name)));
            assert!(is_there != Some(true));
        }
        _ => {}
    }
}

fn work(volume: &Volume, thread: u64, steps: u64) {
    let mut draw = Draw(thread);
    let name = format!("thread{thread}");
    let mut held = vec![volume.root()];
    for _ in 0..steps {
        let entry = draw.of(&held).clone();
        let child = draw.name();
        match draw.below(12) {
            0..4 => own_property(&entry, &name, &mut draw),
            4 | 5 => held.extend(expect_known(entry.link(child))),
            6 => held.extend(expect_known(entry.entry(child)).flatten()),
            7 => drop(expect_known(entry.unlink(child))),
            8 => drop(expect_known(entry.unlink_all(child))),
            9 => {
                let to = draw.of(&held).clone();
                expect_known(entry.rename(child, &to, draw.name()));
            }
            10 => {
                // Both or none, with the entry.
                let both = entry.update(|batch| {
                    batch.set(&format!("{name}-one"), 1u8)?;
                    batch.set(&format!("{name}-two"), 2u8)
                });
                expect_known(both);
            }
            _ => {
                for found in volume.root().walk().expect("a walk") {
                    let found = found.expect("an entry");
                    let has = |end: &str| {
                        found.property(&format!("{name}-{end}")).expect("a name").is_some()
                    };
                    assert_eq!(has("one"), has("two"), "{}", found.path());
                }
            }
        }
        if held.len() > 20 {
            held.truncate(3);
        }
    }
    // Each entry that is held says where it is, or that it is gone: other threads still work.
    held.iter().for_each(|entry| drop(expect_known(entry.path())));
}

fn eight_threads(level: Durability, open_entries: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Wound::at(1_000);
    let options = Options::new().durability(level).clock(clock).open_entries(open_entries);
    let options = options.sweep_interval(Duration::from_millis(1));
    let volume = options.open(folder.path()).expect("a volume");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let volume = &volume;
            scope.spawn(move || work(volume, thread, 1_500));
        }
    });
    volume.sweep().expect("a sweep");
    let before = exported(&volume);
    for found in volume.root().walk().expect("a walk") {
        let found = found.expect("an entry");
        let entry = volume.entry(found.path()).expect("a path").expect("it is there");
        let properties: Vec<_> =
            entry.properties().expect("properties").map(|it| it.expect("one")).collect();
        for (name, value) in &properties {
            assert_eq!(entry.property(name).expect("a name").as_ref(), Some(value));
        }
        assert_eq!(properties, found.properties().map(|it| it.expect("one")).collect::<Vec<_>>());
    }
    volume.close().expect("it closes");
    let volume = options.open(folder.path()).expect("a volume");
    assert_eq!(exported(&volume), before);
    volume.close().expect("it closes");
    expect_consistent(folder.path());
}

#[test]
fn eight_threads_that_write_through() {
    eight_threads(Durability::Process, 4096);
}

#[test]
fn eight_threads_whose_changes_come_later() {
    eight_threads(Durability::None, 4096);
}

#[test]
fn eight_threads_with_hardly_any_entry_open() {
    eight_threads(Durability::Process, 1);
    eight_threads(Durability::None, 1);
}

#[test]
fn what_another_thread_holds_can_be_unlinked() {
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = Options::new().durability(level).open(folder.path()).expect("a volume");
        for round in 0..200u64 {
            let entry = volume.create_entry("/a/b").expect("a path");
            entry.set("x", 0u64).expect("it is set");
            std::thread::scope(|scope| {
                let setter = scope.spawn(|| {
                    let mut count = 1u64;
                    while expect_known(entry.set("x", count)).is_some() {
                        count += 1;
                    }
                });
                let linker = scope.spawn(|| {
                    while expect_known(entry.link("c")).is_some() {
                        expect_known(entry.unlink("c"));
                    }
                });
                match round % 2 {
                    0 => volume.root().unlink_all("a").expect("it is there"),
                    _ => {
                        while expect_known(volume.create_entry("/a").expect("one").unlink("b"))
                            .is_none()
                        {}
                    }
                }
                setter.join().expect("it meets what is gone");
                linker.join().expect("it meets what is gone");
            });
            assert!(volume.entry("/a/b").expect("a path").is_none());
        }
        volume.close().expect("it closes");
        expect_consistent(folder.path());
    }
}

use std::sync::mpsc::channel;
use std::time::Duration;

use lode_volumes::{Event, Volume, What};

fn event(path: &str, what: What) -> Event {
    Event { path: path.into(), what }
}

fn set(path: &str, name: &str) -> Event {
    event(path, What::Set { name: name.into() })
}

#[test]
fn changes_below_a_path_are_told_in_their_order() {
    let volume = Volume::in_memory().expect("a volume");
    let root = volume.root();
    root.link("b").expect("it is free");
    let watch = volume.watch("/a").expect("a path");
    let a = root.link("a").expect("it is free");
    let x = a.link("x").expect("it is free");
    x.set("p", 1u8).expect("it is set");
    root.set("q", 1u8).expect("not below it");
    volume.create_entry("/ab").expect("not below it").set("q", 1u8).expect("it is set");
    x.update(|entry| {
        entry.set("r", 1u8)?;
        entry.remove_property("p").map(drop)
    })
    .expect("a batch");
    x.remove_property("r").expect("a name");
    let b = volume.entry("/b").expect("a path").expect("an entry");
    a.rename("x", &b, "y").expect("it is free");
    x.set("p", 1u8).expect("it is elsewhere");
    b.rename("y", &a, "z").expect("it is free");
    root.unlink_all("a").expect("it is there");
    let removed = |name: &str| What::Removed { name: name.into() };
    let expected = [
        event("/a", What::Linked),
        event("/a/x", What::Linked),
        set("/a/x", "p"),
        event("/a/x", removed("p")),
        set("/a/x", "r"),
        event("/a/x", removed("r")),
        event("/a/x", What::Renamed { to: "/b/y".into() }),
        event("/b/y", What::Renamed { to: "/a/z".into() }),
        event("/a", What::Unlinked),
    ];
    let seen: Vec<_> = std::iter::from_fn(|| watch.try_next()).collect();
    assert_eq!(seen, expected);
}

#[test]
fn what_fails_is_not_told() {
    let volume = Volume::in_memory().expect("a volume");
    let a = volume.create_entry("/a/b").expect("a path");
    let watch = volume.watch("/").expect("a path");
    assert!(volume.root().link("a").is_err() && volume.root().unlink("a").is_err());
    assert!(!a.remove_property("none").expect("a name"));
    assert!(
        volume
            .update(|batch| {
                batch.set(&a, "x", 1u8)?;
                batch.set(&a, "", 1u8)
            })
            .is_err()
    );
    assert_eq!(watch.try_next(), None);
}

#[test]
fn a_watch_ends_with_the_volume() {
    let volume = Volume::in_memory().expect("a volume");
    let watch = volume.watch("/").expect("a path");
    volume.root().set("x", 1u8).expect("it is set");
    let waiting = std::thread::spawn(move || watch.collect::<Vec<_>>());
    volume.close().expect("it closes");
    assert_eq!(waiting.join().expect("it ends"), [set("/", "x")]);
}

#[test]
fn a_callback_may_use_the_volume_and_ends_when_it_is_dropped() {
    let volume = Volume::in_memory().expect("a volume");
    let (sender, receiver) = channel();
    let root = volume.root();
    let watching = volume.watch_with("/seen", move |event| {
        let count = root.change_property("count", |_| Some(lode_volumes::Value::U8(1)));
        drop(sender.send((event, count.is_ok())));
    });
    let watching = watching.expect("a thread");
    volume.create_entry("/seen").expect("a path");
    let told = receiver.recv_timeout(Duration::from_secs(60)).expect("it is called");
    assert_eq!(told, (event("/seen", What::Linked), true));
    drop(watching);
    volume.root().unlink("seen").expect("it is there");
    assert!(receiver.recv().is_err(), "the callback is gone");
}

#[test]
fn who_does_not_listen_is_told_how_much_was_missed() {
    let volume = Volume::in_memory().expect("a volume");
    let watch = volume.watch("/").expect("a path");
    let root = volume.root();
    for _ in 0..(1 << 16) + 10 {
        root.set("x", 1u8).expect("it is set");
    }
    // There is room again, but a later event is not reported before the missed ones.
    assert_eq!(watch.try_next(), Some(set("/", "x")));
    root.set("y", 1u8).expect("it is set");
    let all: Vec<_> = std::iter::from_fn(|| watch.try_next()).collect();
    assert_eq!(all.len(), 1 << 16);
    assert_eq!(all.last(), Some(&event("/", What::Missed { count: 11 })));
    root.set("x", 2u8).expect("it is set");
    assert_eq!(watch.try_next(), Some(set("/", "x")));
}

#[test]
fn entries_that_no_handle_holds_are_told_with_their_paths() {
    use super::support::Wound;
    let clock = Wound::at(1_000);
    let folder = tempfile::tempdir().expect("a folder");
    let hour = Duration::from_secs(3600);
    let options = lode_volumes::Options::new().clock(clock.clone()).sweep_interval(hour);
    let volume = options.open(folder.path()).expect("a volume");
    let entry = volume.create_entry("/a/b").expect("a path");
    entry.set("x", 1u8).expect("it is set");
    entry.expire_property("x", hour).expect("a name");
    drop(entry);
    volume.close().expect("it closes");
    let volume = options.open(folder.path()).expect("a volume");
    let watch = volume.watch("/a").expect("a path");
    clock.set(10_000);
    assert_eq!(volume.sweep().expect("a sweep"), 1);
    assert_eq!(watch.try_next(), Some(event("/a/b", What::Expired { name: "x".into() })));
}

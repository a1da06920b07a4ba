use lode_volumes::{Access, Error, Mount, Options, Storage, StorageEntry, Value, Volume};

fn volume(name: &str) -> Volume {
    Options::new().name(name).in_memory().expect("a volume")
}

fn number(entry: &StorageEntry, name: &str) -> Option<Value> {
    entry.property(name).expect("a name")
}

#[test]
fn the_highest_priority_that_has_a_property_is_read() {
    let volumes = ["low", "high", "middle"].map(volume);
    let storage = Storage::new();
    for (volume, priority) in volumes.iter().zip([-5, 10, 0]) {
        storage.mount("/", Mount::new(volume).priority(priority)).expect("it is mounted");
        volume.create_entry("/a").expect("a path").set(volume.name(), 1u8).expect("it is set");
    }
    let a = storage.entry("/a").expect("a path").expect("an entry");
    let [low, high, middle] = volumes.map(|volume| volume.create_entry("/a").expect("a path"));
    low.set("x", 1u8).expect("it is set");
    assert_eq!(number(&a, "x"), Some(Value::U8(1)));
    middle.set("x", 2u8).expect("it is set");
    assert_eq!(number(&a, "x"), Some(Value::U8(2)));
    high.set("x", 3u8).expect("it is set");
    assert_eq!(number(&a, "x"), Some(Value::U8(3)));
    high.remove_property("x").expect("a name");
    assert_eq!(number(&a, "x"), Some(Value::U8(2)));
    assert_eq!(a.property_names().expect("names"), ["high", "low", "middle", "x"]);
    assert_eq!(a.properties().expect("properties")["x"], Value::U8(2));
    a.set("x", 9u8).expect("it is set");
    for entry in [low, high, middle] {
        assert_eq!(entry.property("x").expect("a name"), Some(Value::U8(9)));
    }
    assert!(a.remove_property("x").expect("a name") && !a.remove_property("x").expect("a name"));
}

#[test]
fn of_the_same_priority_the_first_mounted_is_first() {
    let first = volume("first");
    let second = volume("second");
    let storage = Storage::new();
    for volume in [&first, &second] {
        storage.mount("/", Mount::new(volume)).expect("it is mounted");
        volume.root().set("x", volume.name()).expect("it is set");
    }
    let root = storage.entry("/").expect("a path").expect("an entry");
    assert_eq!(number(&root, "x"), Some(Value::Text("first".into())));
}

#[test]
fn the_longest_path_counts() {
    let outer = volume("outer");
    let inner = volume("inner");
    outer.create_entry("/a/b").expect("a path").set("x", "outer").expect("it is set");
    inner.create_entry("/deep/c").expect("a path").set("x", "inner").expect("it is set");
    let storage = Storage::new();
    storage.mount("/", Mount::new(&outer)).expect("it is mounted");
    storage.mount("/a", Mount::new(&inner).entry("/deep")).expect("it is mounted");
    let found = |path: &str| storage.entry(path).expect("a path").and_then(|it| number(&it, "x"));
    assert_eq!(found("/a/b"), None, "it is hidden");
    assert_eq!(found("/a/c"), Some(Value::Text("inner".into())));
    storage.create_entry("/a/d").expect("a path");
    storage.create_entry("/ab").expect("a path");
    assert!(inner.entry("/deep/d").expect("a path").is_some());
    assert!(outer.entry("/ab").expect("a path").is_some());
    storage.unmount("/a", &inner, "/deep").expect("it was mounted");
    assert_eq!(found("/a/b"), Some(Value::Text("outer".into())));
}

#[test]
fn mounts_are_refused_that_cannot_be() {
    let a = volume("a");
    let storage = Storage::new();
    assert!(matches!(storage.entry("/"), Err(Error::NotMounted { path }) if path == "/"));
    let missing = storage.mount("/", Mount::new(&a).entry("/none"));
    assert!(matches!(missing, Err(Error::NoEntry { path }) if path == "/none"));
    storage.mount("/x/", Mount::new(&a)).expect("it is mounted");
    let twice = storage.mount("/x", Mount::new(&a).priority(3));
    assert!(matches!(twice, Err(Error::AlreadyMounted { .. })), "{twice:?}");
    storage.mount("/y", Mount::new(&a)).expect("it is mounted elsewhere, too");
    assert!(matches!(storage.mount("/..", Mount::new(&a)), Err(Error::InvalidName { .. })));

    let other = Storage::new();
    let claimed = other.mount("/", Mount::new(&a));
    assert!(matches!(claimed, Err(Error::Claimed { volume }) if volume == "a"));
    storage.unmount("/x", &a, "/").expect("it was mounted");
    assert!(matches!(storage.unmount("/x", &a, "/"), Err(Error::NotMounted { .. })));
    assert!(matches!(other.mount("/", Mount::new(&a)), Err(Error::Claimed { .. })));
    drop(storage);
    other.mount("/", Mount::new(&a)).expect("no other storage has it");
}

#[test]
fn an_entry_notices_that_mounts_have_changed() {
    let a = volume("a");
    let b = volume("b");
    let storage = Storage::new();
    storage.mount("/", Mount::new(&a)).expect("it is mounted");
    let root = storage.entry("/").expect("a path").expect("an entry");
    storage.mount("/", Mount::new(&b)).expect("it is mounted");
    let changed = |error: Error| matches!(error, Error::MountsChanged { path } if path == "/");
    assert!(changed(root.set("x", 1u8).expect_err("b would be left out")));
    assert!(changed(root.property("x").expect_err("b would be left out")));
    assert!(changed(root.links().expect_err("b would be left out")));
    assert_eq!(a.root().property("x").expect("a name"), None);
}

#[test]
fn links_are_those_of_all_volumes() {
    let a = volume("a");
    let b = volume("b");
    let storage = Storage::new();
    storage.mount("/", Mount::new(&a).priority(1)).expect("it is mounted");
    storage.mount("/", Mount::new(&b)).expect("it is mounted");
    for (volume, name) in [(&a, "both"), (&b, "both"), (&a, "a"), (&b, "b")] {
        volume.root().link(name).expect("it is free");
    }
    let root = storage.entry("/").expect("a path").expect("an entry");
    assert_eq!(root.links().expect("links"), ["a", "b", "both"]);
    assert!(matches!(root.link("b"), Err(Error::NameTaken { path }) if path == "/b"));
    root.link("c").expect("it is free");
    assert!(a.entry("/c").expect("a path").is_some() && b.entry("/c").expect("a path").is_some());
    b.create_entry("/b/below").expect("a path");
    assert!(matches!(root.unlink("b"), Err(Error::NotEmpty { path }) if path == "/b"));
    root.unlink("both").expect("it is there");
    root.unlink_all("b").expect("it is there");
    assert!(matches!(root.unlink("b"), Err(Error::NoEntry { path }) if path == "/b"));
    assert_eq!(root.links().expect("links"), ["a", "c"]);
}

#[test]
fn a_write_makes_what_a_volume_has_not() {
    let a = volume("a");
    let b = volume("b");
    let storage = Storage::new();
    storage.mount("/", Mount::new(&a)).expect("it is mounted");
    storage.mount("/", Mount::new(&b)).expect("it is mounted");
    b.create_entry("/x/y").expect("a path");
    let y = storage.entry("/x/y").expect("a path").expect("an entry");
    assert_eq!(number(&y, "p"), None);
    assert!(a.entry("/x").expect("a path").is_none(), "reading makes nothing");
    assert!(!y.remove_property("p").expect("a name"));
    assert!(a.entry("/x").expect("a path").is_none());
    y.set("p", 1u8).expect("it is set");
    let made = a.entry("/x/y").expect("a path").expect("an entry");
    assert_eq!(made.property("p").expect("a name"), Some(Value::U8(1)));
    // What no volume has any more stays away.
    for volume in [&a, &b] {
        volume.root().unlink_all("x").expect("it is there");
    }
    assert!(matches!(y.set("p", 2u8), Err(Error::Gone { path }) if path == "/x/y"));
    assert!(matches!(y.property("p"), Err(Error::Gone { .. })));
    assert!(a.entry("/x").expect("a path").is_none());
}

#[test]
fn what_is_read_only_shows_through() {
    let user = volume("user");
    let defaults = volume("defaults");
    let storage = Storage::new();
    let ui = defaults.create_entry("/ui/font").expect("a path");
    ui.set("size", 10u8).expect("it is set");
    storage.mount("/", Mount::new(&user).priority(1)).expect("it is mounted");
    storage.mount("/", Mount::new(&defaults).access(Access::ReadOnly)).expect("it is mounted");
    let font = storage.entry("/ui/font").expect("a path").expect("an entry");
    font.set("size", 12u8).expect("it is set");
    assert_eq!(number(&font, "size"), Some(Value::U8(12)));
    assert_eq!(ui.property("size").expect("a name"), Some(Value::U8(10)));
    assert!(font.remove_property("size").expect("a name"));
    assert_eq!(number(&font, "size"), Some(Value::U8(10)));
    let above = storage.entry("/ui").expect("a path").expect("an entry");
    let kept = above.unlink("font");
    assert!(matches!(kept, Err(Error::ReadOnly { volume }) if volume == "defaults"));
    assert!(user.entry("/ui/font").expect("a path").is_some(), "nothing was changed");
    storage.unmount("/", &user, "/").expect("it was mounted");
    let font = storage.entry("/ui/font").expect("a path").expect("an entry");
    assert!(
        matches!(font.set("size", 1u8), Err(Error::ReadOnly { volume }) if volume == "/ui/font")
    );
}

use std::time::Duration;

use lode_volumes::{Durability, Error, Options, Value, Volume};

use super::support::{Wound, expect_consistent};

const MINUTE: Duration = Duration::from_secs(60);

fn options(clock: &std::sync::Arc<Wound>) -> Options {
    // The sweep comes when the test says so.
    let hour = Duration::from_secs(3600);
    Options::new().durability(Durability::Process).clock(clock.clone()).sweep_interval(hour)
}

fn is_there(volume: &Volume, name: &str) -> bool {
    let root = volume.root();
    let here = root.has_property(name).expect("a name");
    let entry = volume.snapshot().expect("one").root();
    let names = root.property_names().expect("names");
    assert_eq!(entry.property(name).expect("a name").is_some(), here);
    assert_eq!(names.iter().any(|other| other == name), here);
    assert_eq!(entry.properties().any(|it| it.expect("a property").0 == name), here);
    here
}

#[test]
fn a_property_is_there_until_its_moment_and_not_after() {
    let clock = Wound::at(1_000);
    let volume = options(&clock).in_memory().expect("a volume");
    let root = volume.root();
    assert!(!root.expire_property("x", MINUTE).expect("a name"), "there is none");
    root.set("x", 1u8).expect("it is set");
    assert!(root.expire_property("x", MINUTE).expect("a name"));
    clock.set(1_059);
    assert!(is_there(&volume, "x"));
    clock.set(1_060);
    assert!(!is_there(&volume, "x"));
    assert!(!root.remove_property("x").expect("a name"));
    assert!(!root.expire_property("x", MINUTE).expect("a name"));
    assert!(!root.cancel_expiration("x").expect("a name"), "it is too late");
    let seen = root.change_property("x", |before| before.or(Some(Value::U8(9)))).expect("a change");
    assert_eq!(seen, Some(Value::U8(9)));
}

#[test]
fn what_has_expired_stays_so_when_the_clock_goes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Wound::at(1_000);
    let volume = options(&clock).open(folder.path()).expect("a volume");
    let root = volume.root();
    for name in ["read", "unread", "later"] {
        root.set(name, 1u8).expect("it is set");
        root.expire_property(name, if name == "later" { 100 * MINUTE } else { MINUTE })
            .expect("a name");
    }
    clock.set(2_000);
    assert!(!root.has_property("read").expect("a name"));
    clock.set(1_000);
    assert!(
        !is_there(&volume, "read") && !is_there(&volume, "unread") && is_there(&volume, "later")
    );
    volume.close().expect("it closes");

    let volume = options(&clock).open(folder.path()).expect("a volume");
    assert!(
        !is_there(&volume, "read") && !is_there(&volume, "unread") && is_there(&volume, "later")
    );
    drop(volume);
    let reader = options(&clock).open_read_only(folder.path()).expect("a volume");
    assert!(!is_there(&reader, "unread") && is_there(&reader, "later"));
}

/// A way of reading the property `x` of the root, and its name; it returns whether there is one.
type Way = (&'static str, fn(&Volume) -> bool);

const WAYS: [Way; 14] = [
    ("property", |volume| volume.root().property("x").expect("a name").is_some()),
    ("properties", |volume| volume.root().properties().expect("a list").next().is_some()),
    ("names", |volume| !volume.root().property_names().expect("names").is_empty()),
    ("remove", |volume| volume.root().remove_property("x").expect("a name")),
    ("expire", |volume| volume.root().expire_property("x", MINUTE).expect("a name")),
    ("cancel", |volume| volume.root().cancel_expiration("x").expect("a name")),
    ("walk", |volume| {
        let root = volume.root().walk().expect("a walk").next().expect("one").expect("an entry");
        root.properties().next().is_some()
    }),
    ("snapshot", |volume| {
        volume.snapshot().expect("one").root().property("x").expect("a name").is_some()
    }),
    ("list of a snapshot", |volume| {
        volume.snapshot().expect("one").root().properties().next().is_some()
    }),
    ("export", |volume| super::support::exported(volume).contains("\"x\"")),
    ("batch", |volume| {
        let read = |batch: &lode_volumes::Batch<'_>| batch.property(&volume.root(), "x");
        volume.update(read).expect("a batch").is_some()
    }),
    ("removal in a batch", |volume| {
        volume.root().update(|entry| entry.remove_property("x")).expect("a batch")
    }),
    ("storage", |volume| {
        let storage = lode_volumes::Storage::new();
        storage.mount("/", lode_volumes::Mount::new(volume)).expect("it is mounted");
        let root = storage.entry("/").expect("a path").expect("an entry");
        !root.properties().expect("properties").is_empty()
    }),
    ("sweep", |volume| volume.sweep().expect("a sweep") != 1),
];

/// Copies a volume as after a crash: nothing of the closing was written.
#[test]
fn what_a_reader_has_seen_expire_is_gone_after_a_crash_too() {
    for (way, reads) in WAYS {
        for size_bytes in [1, 100_000] {
            let folder = tempfile::tempdir().expect("a folder");
            let copy = tempfile::tempdir().expect("a folder");
            let clock = Wound::at(1_000);
            let volume = options(&clock).open(folder.path()).expect("a volume");
            volume.root().set("x", &vec![7; size_bytes]).expect("it is set");
            volume.root().expire_property("x", MINUTE).expect("a name");
            clock.set(1_060);
            assert!(!reads(&volume), "{way}");
            for file in std::fs::read_dir(folder.path()).expect("files") {
                let file = file.expect("a file");
                std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("a copy");
            }
            clock.set(1_000);
            let crashed = options(&clock).open(copy.path()).expect("a volume");
            assert!(!is_there(&crashed, "x"), "{way}");
        }
    }
}

#[test]
fn expiry_can_be_cancelled_and_setting_cancels_it() {
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Wound::at(1_000);
        let options = options(&clock).durability(level);
        let volume = options.open(folder.path()).expect("a volume");
        let root = volume.root();
        for name in ["cancelled", "set", "again", "batch"] {
            // Twice, so that the table may be behind.
            root.set(name, 1u8).expect("it is set");
            root.set(name, 2u8).expect("it is set");
            root.expire_property(name, MINUTE).expect("a name");
        }
        assert!(root.cancel_expiration("cancelled").expect("a name"));
        root.set("set", 3u8).expect("it is set");
        root.expire_property("again", 2 * MINUTE).expect("a name");
        root.update(|entry| entry.set("batch", 4u8)).expect("a batch");
        clock.set(1_100);
        let values =
            ["cancelled", "set", "again", "batch"].map(|name| root.property(name).expect("a name"));
        assert_eq!(values, [2, 3, 2, 4].map(|number| Some(Value::U8(number))));
        volume.close().expect("it closes");
        expect_consistent(folder.path());
        let volume = options.open(folder.path()).expect("a volume");
        clock.set(1_200);
        assert_eq!(volume.sweep().expect("a sweep"), 1);
        assert_eq!(volume.root().property_names().expect("names"), ["batch", "cancelled", "set"]);
        volume.close().expect("it closes");
        expect_consistent(folder.path());
    }
}

#[test]
fn a_sweep_removes_what_has_expired_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Wound::at(1_000);
    let volume = options(&clock).open(folder.path()).expect("a volume");
    for at in 0..1_000u64 {
        let entry = volume.create_entry(&format!("/{}", at % 10)).expect("a path");
        let name = at.to_string();
        entry.set(&name, at).expect("it is set");
        entry.expire_property(&name, Duration::from_secs(at)).expect("a name");
    }
    clock.set(1_599);
    assert_eq!(volume.sweep().expect("a sweep"), 600);
    assert_eq!(volume.sweep().expect("a sweep"), 0);
    let entry = volume.create_entry("/0").expect("a path");
    assert_eq!(entry.property_names().expect("names").len(), 40);
    // After the sweep a new one may have the name.
    entry.set("0", "new").expect("it is set");
    clock.set(5_000);
    assert_eq!(volume.sweep().expect("a sweep"), 400);
    assert_eq!(entry.property_names().expect("names"), ["0"]);
    volume.close().expect("it closes");
    expect_consistent(folder.path());
}

#[test]
fn the_background_sweeps_by_itself() {
    let clock = Wound::at(1_000);
    let often = Duration::from_millis(1);
    let volume = options(&clock).sweep_interval(often).in_memory().expect("a volume");
    volume.root().set("x", 1u8).expect("it is set");
    volume.root().expire_property("x", MINUTE).expect("a name");
    let watch = volume.watch("/").expect("a path");
    clock.set(1_060);
    let what = watch.next_within(MINUTE).expect("it is swept").what;
    assert_eq!(what, lode_volumes::What::Expired { name: "x".into() });
}

#[test]
fn a_property_cannot_expire_too_far_away() {
    let root = Volume::in_memory().expect("a volume").root();
    root.set("x", 1u8).expect("it is set");
    let refused = root.expire_property("x", Duration::MAX);
    assert!(matches!(refused, Err(Error::ExpiryTooFar { seconds: u64::MAX })), "{refused:?}");
    assert!(root.expire_property("x", Duration::from_secs(u64::MAX / 10_000_000)).expect("a name"));
    assert!(root.has_property("x").expect("a name"));
}

#[test]
fn long_values_expire_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Wound::at(1_000);
    let volume = options(&clock).open(folder.path()).expect("a volume");
    let root = volume.root();
    let long = vec![7; 1 << 20];
    root.set("x", &long).expect("it is set");
    root.expire_property("x", MINUTE).expect("a name");
    assert!(root.property("x").expect("a name") == Some(Value::Blob(long.into())));
    clock.set(1_060);
    assert!(!is_there(&volume, "x"));
    volume.close().expect("it closes");
    expect_consistent(folder.path());
}

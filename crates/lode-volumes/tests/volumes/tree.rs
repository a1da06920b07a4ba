use lode_volumes::{Durability, Error, Options, Value, Volume};

use super::support::{expect_consistent, exported};

fn names(entry: &lode_volumes::Entry) -> Vec<String> {
    entry.links().expect("links").collect::<Result<_, _>>().expect("names")
}

#[test]
fn a_name_is_taken_once() {
    let volume = Volume::in_memory().expect("a volume");
    let a = volume.root().link("a").expect("it is free");
    assert!(matches!(volume.root().link("a"), Err(Error::NameTaken { path }) if path == "/a"));
    assert_eq!(volume.create_entry("/a").expect("it is there"), a);
    a.link("a").expect("it is free below another entry");
    assert_eq!(
        volume.entry("a/a").expect("a path").expect("an entry").path().expect("a path"),
        "/a/a"
    );
}

#[test]
fn unlink_leaves_what_has_children() {
    let volume = Volume::in_memory().expect("a volume");
    volume.create_entry("/a/b").expect("a path");
    assert!(matches!(volume.root().unlink("a"), Err(Error::NotEmpty { path }) if path == "/a"));
    assert!(matches!(volume.root().unlink("b"), Err(Error::NoEntry { path }) if path == "/b"));
    let a = volume.entry("/a").expect("a path").expect("an entry");
    a.unlink("b").expect("it has no children");
    volume.root().unlink("a").expect("it has none any more");
    assert!(volume.entry("/a").expect("a path").is_none());
}

#[test]
fn a_handle_of_what_was_unlinked_says_so() {
    let volume = Volume::in_memory().expect("a volume");
    let b = volume.create_entry("/a/b").expect("a path");
    let c = b.link("c").expect("it is free");
    b.set("x", 1u8).expect("it is set");
    volume.root().unlink_all("a").expect("it is there");
    let is_gone = |error: Error| matches!(error, Error::Gone { .. });
    for entry in [&b, &c] {
        assert!(is_gone(entry.set("x", 2u8).expect_err("it is gone")));
        assert!(is_gone(entry.property("x").expect_err("it is gone")));
        assert!(is_gone(entry.link("d").expect_err("it is gone")));
        assert!(is_gone(entry.unlink("c").expect_err("it is gone")));
        assert!(is_gone(entry.path().expect_err("it is gone")));
        assert!(entry.links().is_err() && entry.properties().is_err() && entry.walk().is_err());
        assert!(is_gone(entry.update(|entry| entry.set("x", 2u8)).expect_err("it is gone")));
        assert!(is_gone(volume.root().rename("a", entry, "a").expect_err("it is gone")));
    }
    // Another entry of the same name is another entry.
    let again = volume.create_entry("/a/b").expect("a path");
    assert_eq!(again.property("x").expect("a name"), None);
    assert!(again != b && b.is_there().is_err());
}

trait IsThere {
    fn is_there(&self) -> lode_volumes::Result<()>;
}

impl IsThere for lode_volumes::Entry {
    fn is_there(&self) -> lode_volumes::Result<()> {
        self.has_property("x").map(drop)
    }
}

#[test]
fn renamed_entries_keep_what_they_have() {
    let volume = Volume::in_memory().expect("a volume");
    let c = volume.create_entry("/a/b/c").expect("a path");
    let d = volume.create_entry("/d").expect("a path");
    let root = volume.root();
    c.set("x", 1u8).expect("it is set");
    let a = volume.entry("/a").expect("a path").expect("an entry");
    a.rename("b", &d, "e").expect("it is free");
    assert_eq!(c.path().expect("a path"), "/d/e/c");
    assert_eq!(c.property("x").expect("a name"), Some(Value::U8(1)));
    assert_eq!(volume.entry("/d/e/c").expect("a path"), Some(c));
    assert!(volume.entry("/a/b").expect("a path").is_none() && names(&a).is_empty());

    let taken = root.rename("a", &root, "d");
    assert!(matches!(taken, Err(Error::NameTaken { path }) if path == "/d"), "it is taken");
    let e = volume.entry("/d/e").expect("a path").expect("an entry");
    for (to, name) in [(&d, "x"), (&e, "x")] {
        let refused = root.rename("d", to, name);
        assert!(matches!(refused, Err(Error::IntoItself { path, .. }) if path == "/d"));
    }
    let refused = root.rename("none", &root, "some");
    assert!(matches!(refused, Err(Error::NoEntry { path }) if path == "/none"));
    root.rename("d", &root, "d").expect("nothing to do");
    let other = Volume::in_memory().expect("a volume");
    let refused = root.rename("d", &other.root(), "d");
    assert!(matches!(refused, Err(Error::OtherVolume { .. })));
}

#[test]
fn handles_of_one_entry_are_one_entry() {
    let volume = Volume::in_memory().expect("a volume");
    let one = volume.create_entry("/a").expect("a path");
    let other = volume.create_entry("a/").expect("a path");
    one.set("x", 1u8).expect("it is set");
    assert_eq!(other.property("x").expect("a name"), Some(Value::U8(1)));
    assert!(other.remove_property("x").expect("a name"));
    assert!(!one.remove_property("x").expect("a name") && !one.has_property("x").expect("a name"));
    assert!(one == other && one != volume.root());
}

#[test]
fn an_entry_is_the_same_after_it_was_let_go_of() {
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new().durability(level).open_entries(2).cache_bytes(0);
        let volume = options.open(folder.path()).expect("a volume");
        let held = volume.create_entry("/held").expect("a path");
        for round in 0..3u64 {
            for at in 0..100u64 {
                let entry = volume.create_entry(&format!("/{}/{at}", at % 7)).expect("a path");
                if round > 0 {
                    let before = entry.property("x").expect("a name");
                    assert_eq!(before, Some(Value::U64(at + round - 1)));
                }
                entry.set("x", at + round).expect("it is set");
                held.set(&format!("p{}", at % 5), at + round).expect("it is set");
            }
        }
        assert_eq!(held.property("p4").expect("a name"), Some(Value::U64(101)));
        let before = exported(&volume);
        volume.close().expect("it closes");
        let volume = options.open(folder.path()).expect("a volume");
        assert_eq!(exported(&volume), before);
        volume.close().expect("it closes");
        expect_consistent(folder.path());
    }
}

#[test]
fn an_entry_may_have_many_properties() {
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = Options::new().durability(level).open(folder.path()).expect("a volume");
        let root = volume.root();
        for round in 0..2u64 {
            for at in 0..1_000u64 {
                root.set(&format!("{at:04}"), at * round).expect("it is set");
            }
        }
        // More in one batch than are kept in memory.
        root.update(|entry| {
            (0..1_000u64).try_for_each(|at| {
                let name = format!("{at:04}");
                assert_eq!(entry.property(&name)?, Some(Value::U64(at)));
                entry.set(&name, at + 1)
            })
        })
        .expect("a batch");
        for (at, property) in root.properties().expect("properties").enumerate() {
            let (name, value) = property.expect("a property");
            assert_eq!((name, value), (format!("{at:04}"), Value::U64(at as u64 + 1)));
        }
        assert_eq!(root.property_names().expect("names").len(), 1_000);
    }
}

#[test]
fn a_snapshot_stays_what_it_was() {
    let volume = Volume::in_memory().expect("a volume");
    let a = volume.create_entry("/a/b").expect("a path");
    a.set("x", 1u8).expect("it is set");
    let before = volume.snapshot().expect("a snapshot");
    let text = exported(&volume);
    for number in 2..200u8 {
        a.set("x", number).expect("it is set");
        let now = volume.snapshot().expect("a snapshot").entry("/a/b").expect("a path");
        let seen = now.expect("an entry").property("x").expect("a name");
        assert_eq!(seen, Some(Value::U8(number)));
    }
    volume.root().unlink_all("a").expect("it is there");
    let mut lines = Vec::new();
    before.root().export(&mut lines).expect("it is exported");
    assert_eq!(String::from_utf8_lossy(&lines), text);
    assert!(before.entry("/a/none").expect("a path").is_none());
}

#[test]
fn another_kind_of_database_is_no_volume() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = lode::Database::open(folder.path()).expect("a database");
    let empty = Volume::open(folder.path());
    assert!(matches!(empty, Err(Error::Database(lode::Error::Locked))), "{empty:?}");
    let schema =
        lode::Schema::build("animal").key("id", lode::Type::U8).finish().expect("a schema");
    db.create_table(&schema, lode::KeyKind::Hash).expect("a table");
    db.close().expect("it closes");
    for opened in [Volume::open(folder.path()), Options::new().open_read_only(folder.path())] {
        assert!(matches!(opened, Err(Error::NotAVolume { table, .. }) if table == "animal"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    lode::Database::open(folder.path()).expect("a database").close().expect("it closes");
    let opened = Options::new().open_read_only(folder.path());
    assert!(matches!(opened, Err(Error::NoVolume { .. })));
    Volume::open(folder.path()).expect("it becomes one").close().expect("it closes");
    Options::new().open_read_only(folder.path()).expect("it is one");
}

#[test]
fn another_layout_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    Volume::open(folder.path()).expect("a volume").close().expect("it closes");
    let db = lode::Database::open(folder.path()).expect("a database");
    let settings = db.table("volume").expect("a table");
    let values = [lode::Value::Text("layout"), lode::Value::Unsigned(2)];
    let record = settings.schema().pack(&values).expect("a record");
    settings.upsert(&record).expect("it is written");
    db.close().expect("it closes");
    let refused = Volume::open(folder.path());
    assert!(matches!(refused, Err(Error::Layout { found: 2, known: 1, .. })));
}

#[test]
fn a_volume_can_be_opened_again_as_soon_as_its_handles_are_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    for count in 0..20u8 {
        let options = Options::new().durability(Durability::None);
        let volume = options.sweep_interval(std::time::Duration::from_millis(1));
        let volume = volume.open(folder.path()).expect("no thread has it open still");
        let root = volume.root();
        drop(volume);
        let before = root.property("count").expect("a name");
        assert_eq!(before, count.checked_sub(1).map(Value::U8));
        root.set("count", count).expect("it is set");
    }
}

#[test]
fn a_volume_that_was_closed_takes_no_more_writes() {
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = Options::new().durability(level).open(folder.path()).expect("a volume");
        let root = volume.root();
        root.set("x", 1u8).expect("it is set");
        root.set("x", 2u8).expect("it is set");
        volume.close().expect("it closes");
        let is_closed = |error| matches!(error, Error::Database(lode::Error::Closed));
        assert!(is_closed(root.set("x", 3u8).expect_err("it is closed")));
        assert!(is_closed(root.remove_property("x").expect_err("it is closed")));
        assert!(is_closed(root.link("a").expect_err("it is closed")));
        assert!(is_closed(root.update(|it| it.set("x", 3u8)).expect_err("it is closed")));
        drop(root);
        let volume = Options::new().open(folder.path()).expect("a volume");
        assert_eq!(volume.root().property("x").expect("a name"), Some(Value::U8(2)));
    }
}

use lode_volumes::{Durability, Options, Value};

use super::support::{expect_consistent, exported};

#[test]
fn a_parent_has_very_many_children() {
    let count = match std::env::var_os("LODE_THOROUGH") {
        Some(_) => 1_000_000,
        None => 20_000,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::new().durability(Durability::Process);
    let volume = options.open(folder.path()).expect("a volume");
    let parent = volume.create_entry("/many").expect("a path");
    for at in 0..count {
        let child = parent.link(&format!("{at:07}")).expect("it is free");
        if at % 1_000 == 0 {
            child.set("at", at as u64).expect("it is set");
        }
    }
    assert!(parent.link("0000007").is_err());
    assert_eq!(parent.links().expect("links").count(), count);
    let thousand: Result<Vec<_>, _> = parent.links_with_prefix("0005").expect("links").collect();
    let thousand = thousand.expect("names");
    assert_eq!(
        (thousand.len(), &thousand[0][..], &thousand[999][..]),
        (1_000, "0005000", "0005999")
    );
    let entry = volume.entry("/many/0010000").expect("a path").expect("an entry");
    assert_eq!(entry.property("at").expect("a name"), Some(Value::U64(10_000)));
    assert_eq!(volume.root().walk().expect("a walk").count(), count + 2);
    volume.root().unlink_all("many").expect("it is there");
    assert_eq!(exported(&volume).lines().count(), 1);
    volume.close().expect("it closes");
    expect_consistent(folder.path());
}

#[test]
fn entries_lie_a_thousand_deep() {
    const DEPTH: usize = 1_000;
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new().durability(level);
        let volume = options.open(folder.path()).expect("a volume");
        let path = "/n".repeat(DEPTH);
        let deepest = volume.create_entry(&path).expect("a path");
        deepest.set("x", 1u8).expect("it is set");
        assert_eq!(deepest.path().expect("a path"), path);
        let last = volume.root().walk().expect("a walk").last().expect("some").expect("an entry");
        assert_eq!((last.depth(), last.path()), (DEPTH, &path[..]));
        let lines = exported(&volume);
        assert_eq!(lines.lines().count(), DEPTH + 1);
        let copy = lode_volumes::Volume::in_memory().expect("a volume");
        copy.import("/", &mut lines.as_bytes()).expect("an import");
        assert_eq!(exported(&copy), lines);
        volume.root().rename("n", &volume.root(), "m").expect("it is free");
        assert_eq!(deepest.path().expect("a path"), format!("/m{}", &path[2..]));
        drop(deepest);
        volume.close().expect("it closes");
        let volume = options.open(folder.path()).expect("a volume");
        let deepest = volume.entry(&format!("/m{}", &path[2..])).expect("a path").expect("one");
        volume.root().unlink_all("m").expect("it is there");
        assert!(deepest.property("x").is_err());
        drop(deepest);
        volume.close().expect("it closes");
        expect_consistent(folder.path());
    }
}

use lode_volumes::{Error, MOST_NAME_BYTES, NameFault, Volume};

fn fault<T>(outcome: lode_volumes::Result<T>) -> NameFault {
    match outcome {
        Err(Error::InvalidName { fault, .. }) => fault,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is taken for a name"),
    }
}

#[test]
fn what_is_no_name_is_refused_everywhere() {
    let volume = Volume::in_memory().expect("a volume");
    let root = volume.root();
    let long = "x".repeat(MOST_NAME_BYTES + 1);
    let too_long = NameFault::TooLong { size_bytes: 256, most_bytes: 255 };
    let wrong = [
        ("", NameFault::Empty),
        (".", NameFault::Dots),
        ("..", NameFault::Dots),
        ("a/b", NameFault::Slash),
        ("/", NameFault::Slash),
        (&long, too_long),
    ];
    for (name, expected) in wrong {
        assert_eq!(fault(root.link(name)), expected, "{name:?}");
        assert_eq!(fault(root.unlink(name)), expected);
        assert_eq!(fault(root.unlink_all(name)), expected);
        assert_eq!(fault(root.rename(name, &root, "b")), expected);
        assert_eq!(fault(root.rename("a", &root, name)), expected);
        assert_eq!(fault(root.set(name, 1u8)), expected);
        assert_eq!(fault(root.property(name)), expected);
        assert_eq!(fault(root.remove_property(name)), expected);
        assert_eq!(fault(root.cancel_expiration(name)), expected);
        assert_eq!(fault(root.update(|entry| entry.set(name, 1u8))), expected);
        assert_eq!(fault(volume.snapshot().expect("one").root().property(name)), expected);
    }
    for path in ["/a/../b", "/./a", &format!("/a/{long}")] {
        assert!(matches!(volume.entry(path), Err(Error::InvalidName { .. })), "{path}");
        assert!(matches!(volume.create_entry(path), Err(Error::InvalidName { .. })));
        assert!(matches!(volume.watch(path), Err(Error::InvalidName { .. })));
    }
    assert_eq!(root.links().expect("links").count(), 0, "nothing was made");
}

#[test]
fn names_that_look_alike_stay_apart() {
    let root = Volume::in_memory().expect("a volume").root();
    // Composed and decomposed, Latin and Cyrillic, with and without what cannot be seen.
    let names = [
        "é",
        "e\u{301}",
        "a",
        "\u{430}",
        "A",
        "ab",
        "a\u{200b}b",
        "a b",
        "a\u{a0}b",
        "...",
        "\0",
        "\n",
        "a\\b",
        " ",
    ];
    for (at, name) in names.iter().enumerate() {
        root.link(name).expect("it is free").set(name, at as u64).expect("it is set");
    }
    let mut sorted: Vec<_> = names.iter().map(ToString::to_string).collect();
    sorted.sort();
    let links: Result<Vec<_>, _> = root.links().expect("links").collect();
    assert_eq!(links.expect("names"), sorted);
    for (at, name) in names.iter().enumerate() {
        let entry = root.entry(name).expect("a name").expect("it is linked");
        assert_eq!(entry.property_names().expect("names"), [*name]);
        let value: u64 =
            entry.property(name).expect("a name").expect("it is set").try_into().expect("u64");
        assert_eq!(value, at as u64);
    }
}

#[test]
fn the_longest_names_are_kept_whole() {
    let root = Volume::in_memory().expect("a volume").root();
    for name in ["x".repeat(255), "é".repeat(127), "\u{10ffff}".repeat(63)] {
        root.link(&name).expect("a name").set(&name, &name).expect("a name");
        assert!(
            root.entry(&name)
                .expect("a name")
                .expect("it is linked")
                .has_property(&name)
                .expect("a name")
        );
        let found: Vec<_> = root.links_with_prefix(&name).expect("links").collect();
        assert_eq!(found.len(), 1);
    }
    assert_eq!(root.links_with_prefix(&"x".repeat(300)).expect("links").count(), 0);
}

use std::time::Duration;

use lode_volumes::{Error, Options, Value, Volume};

use super::support::{Wound, exported};

#[test]
fn what_is_exported_comes_back() {
    let clock = Wound::at(1_000);
    let volume = Options::new().clock(clock.clone()).in_memory().expect("a volume");
    let b = volume.create_entry("/a \"quoted\"/\u{1}b").expect("a path");
    b.set("text\n", "line\u{2028}\u{0}").expect("it is set");
    b.set("f", 0.1f32).expect("it is set");
    b.expire_property("f", Duration::from_secs(60)).expect("a name");
    let long = vec![9; 1 << 20];
    for at in 0..6 {
        b.set(&format!("blob{at}"), &long).expect("it is set");
    }
    let lines = exported(&volume);
    assert_eq!(lines.lines().count(), 4, "blobs of 6 MiB are on two lines");
    let copy = Options::new().clock(clock.clone()).in_memory().expect("a volume");
    assert_eq!(copy.import("/", &mut lines.as_bytes()).expect("an import"), 4);
    assert_eq!(exported(&copy), lines);
    clock.set(1_060);
    let late = Options::new().clock(clock).in_memory().expect("a volume");
    late.import("/below/here", &mut lines.as_bytes()).expect("an import");
    let b = late.entry("/below/here/a \"quoted\"/\u{1}b").expect("a path").expect("an entry");
    assert!(!b.has_property("f").expect("a name") && b.has_property("blob5").expect("a name"));
}

#[test]
fn an_import_adds_and_replaces() {
    let volume = Volume::in_memory().expect("a volume");
    volume.create_entry("/a").expect("a path").set("x", 1u8).expect("it is set");
    volume.create_entry("/a").expect("a path").set("y", 2u8).expect("it is set");
    let lines =
        "\n{\"path\":\"/a\",\"properties\":{\"x\":{\"text\":\"new\"}}}\n   \n{\"path\":\"b\"}";
    assert_eq!(volume.import("/", &mut lines.as_bytes()).expect("an import"), 2);
    let a = volume.entry("/a").expect("a path").expect("an entry");
    assert_eq!(a.property("x").expect("a name"), Some(Value::Text("new".into())));
    assert_eq!(a.property("y").expect("a name"), Some(Value::U8(2)));
    assert!(volume.entry("/b").expect("a path").is_some());
}

#[test]
fn a_line_that_is_wrong_is_named_and_those_before_it_stay() {
    let wrong = [
        ("nonsense", "expected ident at line 1 column 2"),
        ("[1]", "an entry is an object"),
        ("{}", "an entry needs a path, which is a text"),
        ("{\"path\":7}", "an entry needs a path, which is a text"),
        ("{\"path\":\"/x\",\"more\":1}", "an entry has path and properties, not \"more\""),
        (
            "{\"path\":\"/x/../y\"}",
            "\"..\" is no name: a path cannot go to itself or up; write it out",
        ),
        ("{\"path\":\"/x\",\"properties\":3}", "properties are an object"),
        (
            "{\"path\":\"/x\",\"properties\":{\"p\":3}}",
            "property \"p\": it is an object with its type as name",
        ),
        ("{\"path\":\"/x\",\"properties\":{\"p\":{}}}", "property \"p\": it has no type"),
        ("{\"path\":\"/x\",\"properties\":{\"p\":{\"u8\":256}}}", "property \"p\": 256 is no u8"),
        ("{\"path\":\"/x\",\"properties\":{\"p\":{\"u8\":1.5}}}", "property \"p\": 1.5 is no u8"),
        ("{\"path\":\"/x\",\"properties\":{\"p\":{\"i8\":-129}}}", "property \"p\": -129 is no i8"),
        (
            "{\"path\":\"/x\",\"properties\":{\"p\":{\"f32\":1e39}}}",
            "property \"p\": 1e+39 is no f32",
        ),
        (
            "{\"path\":\"/x\",\"properties\":{\"p\":{\"f64\":\"nan:0\"}}}",
            "property \"p\": \"nan:0\" is no f64",
        ),
        (
            "{\"path\":\"/x\",\"properties\":{\"p\":{\"blob\":\"0g\"}}}",
            "property \"p\": \"0g\" is no blob",
        ),
        (
            "{\"path\":\"/x\",\"properties\":{\"p\":{\"blob\":\"000\"}}}",
            "property \"p\": \"000\" is no blob",
        ),
        (
            "{\"path\":\"/x\",\"properties\":{\"p\":{\"u8\":1,\"u16\":1}}}",
            "property \"p\": it has several types",
        ),
        (
            "{\"path\":\"/x\",\"properties\":{\"p\":{\"u8\":1,\"expires_at\":-1}}}",
            "property \"p\": expires_at is a number of microseconds since 1970",
        ),
        (
            "{\"path\":\"/x\",\"properties\":{\"a/b\":{\"u8\":1}}}",
            "\"a/b\" is no name: it has a /; leave it out",
        ),
    ];
    for (line, expected) in wrong {
        let volume = Volume::in_memory().expect("a volume");
        let lines = format!("{{\"path\":\"/good\"}}\n{line}\n{{\"path\":\"/after\"}}\n");
        let refused = volume.import("/", &mut lines.as_bytes()).expect_err(line);
        let Error::Line { line: number, why } = &refused else { panic!("{line}: {refused}") };
        assert_eq!((*number, &why[..]), (2, expected), "{line}");
        let links: Vec<_> =
            volume.root().links().expect("links").map(|name| name.expect("a name")).collect();
        assert_eq!(links, ["good"], "{line}");
    }
}

/// Fails after some bytes.
struct Broken(usize);

impl std::io::Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_that_breaks_is_an_error() {
    let volume = Volume::in_memory().expect("a volume");
    volume.create_entry("/a/b/c").expect("a path");
    let root = volume.snapshot().expect("a snapshot").root();
    let broken = root.export(&mut Broken(50));
    assert!(matches!(broken, Err(Error::Stream { what: "write an entry", .. })), "{broken:?}");
    let mut no_text = &b"\xff\xfe\n"[..];
    assert!(matches!(volume.import("/", &mut no_text), Err(Error::Line { line: 1, .. })));
}

use lode_volumes::{Durability, Error, Kind, MOST_VALUE_BYTES, Options, Value, Volume};

/// The extremes of each type.
fn extremes() -> Vec<Value> {
    let text = |text: String| Value::Text(text.into());
    let blob = |bytes: Vec<u8>| Value::Blob(bytes.into());
    vec![
        Value::I8(i8::MIN),
        Value::I8(i8::MAX),
        Value::I16(i16::MIN),
        Value::I16(i16::MAX),
        Value::I32(i32::MIN),
        Value::I32(i32::MAX),
        Value::I64(i64::MIN),
        Value::I64(i64::MAX),
        Value::U8(u8::MIN),
        Value::U8(u8::MAX),
        Value::U16(u16::MAX),
        Value::U32(u32::MAX),
        Value::U64(u64::MAX),
        Value::F32(f32::MIN),
        Value::F32(f32::MIN_POSITIVE / 2.0),
        Value::F32(-0.0),
        Value::F32(f32::NEG_INFINITY),
        Value::F32(f32::from_bits(0xffc0_dead)),
        Value::F64(f64::MAX),
        Value::F64(f64::from_bits(1)),
        Value::F64(0.1 + 0.2),
        Value::F64(f64::INFINITY),
        Value::F64(f64::NAN),
        Value::F64(f64::from_bits(0x7ff8_0000_0000_0001)),
        text(String::new()),
        text("\0\n\u{10ffff}".into()),
        text("é".repeat(MOST_VALUE_BYTES / 2)),
        blob(Vec::new()),
        blob((0..=255).collect()),
        blob(vec![0xff; (16 << 10) + 1]),
        blob((0..MOST_VALUE_BYTES).map(|at| (at * 7) as u8).collect()),
    ]
}

/// Compares values by their bits: a NaN is not equal to itself.
fn expect_same(one: &Value, other: &Value) {
    match (one, other) {
        (Value::F32(one), Value::F32(other)) => assert_eq!(one.to_bits(), other.to_bits()),
        (Value::F64(one), Value::F64(other)) => assert_eq!(one.to_bits(), other.to_bits()),
        _ => assert!(one == other, "{:?}: another value", one.kind()),
    }
}

fn set_all(volume: &Volume) {
    let root = volume.root();
    for (at, value) in extremes().iter().enumerate() {
        // Twice: the second time it is there.
        for _ in 0..2 {
            root.set(&at.to_string(), value).expect("it is set");
        }
    }
}

fn expect_all(volume: &Volume) {
    let root = volume.root();
    let entry = volume.snapshot().expect("a snapshot").root();
    for (at, expected) in extremes().iter().enumerate() {
        let name = at.to_string();
        expect_same(&root.property(&name).expect("a name").expect("it is there"), expected);
        expect_same(&entry.property(&name).expect("a name").expect("it is there"), expected);
    }
    let mut count = 0;
    for property in root.properties().expect("properties") {
        let (name, value) = property.expect("a property");
        expect_same(&value, &extremes()[name.parse::<usize>().expect("a number")]);
        count += 1;
    }
    assert_eq!(count, extremes().len());
}

#[test]
fn each_type_keeps_its_extremes_in_memory() {
    let volume = Volume::in_memory().expect("a volume");
    set_all(&volume);
    expect_all(&volume);
}

#[test]
fn each_type_keeps_its_extremes_on_disk_and_as_json() {
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new().durability(level);
        let volume = options.open(folder.path()).expect("a volume");
        set_all(&volume);
        expect_all(&volume);
        volume.close().expect("it closes");
        let volume = options.open_read_only(folder.path()).expect("a volume");
        expect_all(&volume);
        let lines = super::support::exported(&volume);
        let copy = Volume::in_memory().expect("a volume");
        copy.import("/", &mut lines.as_bytes()).expect("what was exported is imported");
        expect_all(&copy);
    }
}

#[test]
fn what_is_too_long_is_refused_and_changes_nothing() {
    let root = Volume::in_memory().expect("a volume").root();
    root.set("x", 1u8).expect("it is set");
    let long = vec![0; MOST_VALUE_BYTES + 1];
    let expected = MOST_VALUE_BYTES + 1;
    let refused = |outcome| match outcome {
        Err(Error::ValueTooLong { size_bytes, most_bytes }) => {
            assert_eq!((size_bytes, most_bytes), (expected, MOST_VALUE_BYTES));
        }
        other => panic!("{other:?}"),
    };
    refused(root.set("x", &long));
    refused(root.update(|entry| entry.set("x", &long)));
    refused(root.change_property("x", |_| Some(Value::Blob(long.clone().into()))).map(drop));
    assert_eq!(root.property("x").expect("a name"), Some(Value::U8(1)));
}

#[test]
fn a_value_is_of_one_type_at_a_time() {
    let root = Volume::in_memory().expect("a volume").root();
    root.set("x", 7u16).expect("it is set");
    let wrong = u32::try_from(root.property("x").expect("a name").expect("it is set"));
    assert!(
        matches!(wrong, Err(Error::OtherKind { found: Kind::U16, wanted: Kind::U32 })),
        "{wrong:?}"
    );
    root.set("x", "seven").expect("it is set");
    let text = String::try_from(root.property("x").expect("a name").expect("it is set"));
    assert_eq!(text.expect("a text"), "seven");
}

#[test]
fn long_and_short_values_take_turns() {
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = Options::new().durability(level).open(folder.path()).expect("a volume");
        let root = volume.root();
        for size in [10, 1 << 20, 5, 0, 20_000, 16 << 10, 9] {
            let bytes = vec![size as u8; size];
            root.set("x", &bytes).expect("it is set");
            let expected = Some(Value::Blob(bytes.into()));
            assert!(root.property("x").expect("a name") == expected, "{size} bytes");
            let snapshot = volume.snapshot().expect("a snapshot");
            assert!(snapshot.root().property("x").expect("a name") == expected, "{size} bytes");
        }
    }
}

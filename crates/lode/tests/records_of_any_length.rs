//! Structs with strings and vectors as records: they are stored as long as they are.

use lode::{Database, KeyKind, MOST_RECORD_BYTES, Record, Schema, Type, Value};
use proptest::prelude::*;

const DIGEST_BYTES: u32 = 20;

#[derive(Record, Clone, Debug, PartialEq)]
struct Note {
    #[record(key)]
    id: u32,
    #[record(key, text = 4)]
    language: String,
    #[record(most = 40)]
    title: String,
    is_read: bool,
    body: Option<String>,
    data: Vec<u8>,
    #[record(most = DIGEST_BYTES, name = "hash")]
    digest: Option<std::vec::Vec<u8>>,
    #[record(text = 3)]
    mark: String,
}

/// The same, by hand.
fn schema() -> Schema {
    let most = MOST_RECORD_BYTES as u32;
    Schema::build("note")
        .key("id", Type::U32)
        .key("language", Type::Text(4))
        .column("title", Type::VarText(40))
        .column("is_read", Type::Bool)
        .nullable("body", Type::VarText(most))
        .column("data", Type::VarBytes(most))
        .nullable("hash", Type::VarBytes(20))
        .column("mark", Type::Text(3))
        .finish()
        .expect("a schema")
}

fn empty(id: u32) -> Note {
    Note {
        id,
        language: "en".into(),
        title: String::new(),
        is_read: false,
        body: None,
        data: Vec::new(),
        digest: None,
        mark: String::new(),
    }
}

fn full(id: u32, body_bytes: usize) -> Note {
    Note {
        title: "forty bytes, and zeros at its end: ok?\0\0".into(),
        is_read: true,
        body: Some("b".repeat(body_bytes)),
        data: (0..body_bytes).map(|at| at as u8).collect(),
        digest: Some(vec![255; 20]),
        mark: "!!!".into(),
        ..empty(id)
    }
}

fn packed_by_hand(note: &Note) -> Vec<u8> {
    let values = [
        Value::Unsigned(note.id.into()),
        Value::Text(&note.language),
        Value::Text(&note.title),
        Value::Bool(note.is_read),
        note.body.as_ref().map_or(Value::Null, |body| Value::Text(body)),
        Value::Bytes(&note.data),
        note.digest.as_ref().map_or(Value::Null, |digest| Value::Bytes(digest)),
        Value::Text(&note.mark),
    ];
    schema().pack(&values).expect("they fit")
}

#[test]
fn strings_and_vectors_become_columns_of_variable_length() {
    assert_eq!(Note::schema(), Ok(schema()));
}

prop_compose! {
    fn notes()(
        (id, is_read) in any::<(u32, bool)>(),
        language in "[a-z]{0,4}",
        title in "[a-zä\0]{0,20}",
        body in prop::option::of("\\PC{0,60}"),
        data in prop::collection::vec(any::<u8>(), 0..60),
        digest in prop::option::of(prop::collection::vec(any::<u8>(), 0..=20)),
        mark in "[!?]{0,3}",
    ) -> Note {
        Note { id, language, title, is_read, body, data, digest, mark }
    }
}

proptest! {
    #[test]
    fn records_are_packed_as_by_hand_and_unpacked_again(note in notes()) {
        let schema = schema();
        let packed = note.pack(&schema).expect("it fits");
        prop_assert_eq!(&packed, &packed_by_hand(&note));
        let row = schema.row(&packed).expect("a record");
        prop_assert_eq!(Note::unpack(row).expect("it is one"), note);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let why = |note: Note| note.pack(&schema()).expect_err("it is refused").to_string();
    let title = Note { title: "x".repeat(41), ..empty(1) };
    assert!(why(title).contains("column title can have at most 40 bytes, not 41"));
    let digest = Note { digest: Some(vec![0; 21]), ..empty(1) };
    assert!(why(digest).contains("column hash can have at most 20 bytes, not 21"));
    assert!(why(full(1, MOST_RECORD_BYTES / 2)).contains("at most 1048576 bytes"));
}

#[test]
fn what_is_no_text_does_not_become_a_string() {
    let schema = schema();
    let mut packed = Note { title: "a".into(), ..empty(1) }.pack(&schema).expect("it fits");
    *packed.last_mut().expect("the title") = 0xff;
    let outcome = Note::unpack(schema.row(&packed).expect("a record"));
    let why = outcome.expect_err("it is refused").to_string();
    assert!(why.contains("the field of column title cannot be Bytes([255])"), "{why}");
}

#[test]
fn records_of_any_length_come_back_from_a_table() {
    let lengths = [0, 1, 100, 4_000, 5_000, 20_000, 500_000];
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("a database");
        let table = db.create_records::<Note>(kind).expect("a table");
        let mut wanted: Vec<_> = (0..).zip(lengths).map(|(id, bytes)| full(id, bytes)).collect();
        wanted.push(empty(lengths.len() as u32));
        for note in &wanted {
            assert_eq!(table.get(note.key()), Ok(None));
            assert_eq!(table.insert(note), Ok(true));
            assert_eq!(table.insert(note), Ok(false));
            assert_eq!(table.get(note.key()).expect("a record").as_ref(), Some(note));
        }
        let all = || {
            let mut all = Vec::new();
            let add = |note| {
                all.push(note);
                Ok(true)
            };
            table.each(add).expect("they are read");
            all.sort_by_key(|note: &Note| note.id);
            all
        };
        assert_eq!(all(), wanted);

        // Every length becomes every other one, by a change and by an upsert.
        let key = (0, "en");
        for (to, from) in lengths.iter().flat_map(|to| lengths.map(|from| (*to, from))) {
            assert_eq!(table.upsert(&full(0, from)), Ok(true));
            assert_eq!(table.change(key, |note| *note = full(0, to)), Ok(true));
            assert_eq!(table.get(key), Ok(Some(full(0, to))), "{from} to {to}");
        }
        let long = table.change(key, |note| note.title = "x".repeat(41));
        assert!(long.is_err());
        assert_eq!(table.change(key, |note| *note = empty(0)), Ok(true));
        wanted[0] = empty(0);
        assert_eq!(all(), wanted);

        if kind == KeyKind::Tree {
            let mut found = Vec::new();
            let scanned = table.scan_backward((2, "")..(5, ""), 9, |note| {
                found.push(note);
                Ok(true)
            });
            found.reverse();
            assert_eq!((scanned, &found[..]), (Ok(()), &wanted[2..5]));
        }
        for note in &wanted {
            assert_eq!(table.delete(note.key()), Ok(true));
        }
        assert_eq!(all(), []);
    }
}

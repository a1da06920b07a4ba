//! Structs with strings and vectors as records: they are stored as long as they are.

use crate::each_of::each_of;
use crate::reading::{Scan, check, cursor, each_row, nth, payload_of};
use lode::{
    Database, KeyKind, MOST_FIXED_BYTES, MOST_KEY_BYTES, MOST_RECORD_BYTES, MOST_VARIABLE_BYTES,
    ReadTable, Record, Schema, Type, Value,
};
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

/// Builds the schema of the derived record by hand.
fn schema() -> Schema {
    let most = MOST_VARIABLE_BYTES as u32;
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
    assert!(why(full(1, MOST_VARIABLE_BYTES / 2)).contains("at most 1048576 bytes"));
}

/// The longest key, columns of fixed size and columns of variable length, all in one record.
#[test]
fn the_longest_record_is_kept() {
    let key = vec![0xff; MOST_KEY_BYTES - 2];
    // The key has its length there, and the column of variable length its end.
    let fixed = vec![7; MOST_FIXED_BYTES - 2 - 4];
    let build = Schema::build("t").key("id", Type::VarBytes(key.len() as u32));
    let build = build.column("fixed", Type::Bytes(fixed.len() as u32));
    let schema = build.column("data", Type::VarBytes(MOST_VARIABLE_BYTES as u32)).finish();
    let schema = schema.expect("all of it is as long as it can be");
    let data = |version: u8| vec![version; MOST_VARIABLE_BYTES];
    let pack =
        |data: &[u8]| schema.pack(&[Value::Bytes(&key), Value::Bytes(&fixed), Value::Bytes(data)]);
    let why = pack(&[&data(1)[..], &[1]].concat()).expect_err("a byte too many").to_string();
    assert!(why.contains("column data can have at most 1048576 bytes, not 1048577"), "{why}");
    let record = |version: u8| pack(&data(version)).expect("it fits");
    assert!(record(1).len() <= MOST_RECORD_BYTES);
    let packed_key = schema.pack_key(&[Value::Bytes(&key)]).expect("it fits");
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let directory = tempfile::tempdir().expect("a directory");
        let db = Database::open(directory.path()).expect("a new database");
        let table = db.create_table(&schema, kind).expect("room");
        assert_eq!(table.insert(&record(1)), Ok(true));
        assert_eq!(table.update(&packed_key, nth(2), &data(2)), Ok(true));
        let transaction = db.begin();
        assert_eq!(transaction.update(&table, &packed_key, nth(2), &data(3)), Ok(true));
        transaction.commit().expect("no other thread writes");
        drop((db, table));
        let db = Database::open(directory.path()).expect("it is whole");
        let table = db.table("t").expect("it is there");
        assert_eq!(
            payload_of(&table, &packed_key),
            Ok(Some(record(3)[packed_key.len()..].to_vec()))
        );
        check(&db).expect("nothing is wrong");
    }
}

#[test]
fn what_is_no_text_does_not_become_a_string() {
    let schema = schema();
    let mut packed = Note { title: "a".into(), ..empty(1) }.pack(&schema).expect("it fits");
    *packed.last_mut().expect("the title") = 0xff;
    let outcome = Note::unpack(schema.row(&packed).expect("a record"));
    let why = outcome.expect_err("it is refused").to_string();
    assert!(why.contains("the field of column title cannot be 0xff"), "{why}");
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
            each_of(table.iter(), add).expect("they are read");
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
            let scanned = each_of(table.range((2, "")..(5, "")).rev().limit(9), |note| {
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

#[derive(Record, Clone, Debug, PartialEq)]
struct Page {
    #[record(key, most = 100)]
    site: String,
    #[record(key)]
    version: i16,
    #[record(key, most = 60)]
    path: Vec<u8>,
    visits: Option<u32>,
}

#[test]
fn keys_of_variable_length_are_in_their_order() {
    let page = |site: &str, version, path: &[u8]| Page {
        site: site.into(),
        version,
        path: path.to_vec(),
        visits: (version != 0).then_some(path.len() as u32),
    };
    // In order: what is shorter comes first, and zeros are bytes as others are.
    let pages = [
        page("", -1, b""),
        page("a", -300, b"z"),
        page("a", 2, b""),
        page("a", 2, b"\0"),
        page("a", 2, b"\0\0"),
        page("a", 2, b"\0\x01"),
        page("a", 2, b"\x01"),
        page("a\0", -1, b"x"),
        page("aa", 0, &[255; 60]),
        page("ä", 0, b""),
    ];
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let table = db.create_records::<Page>(kind).expect("a table");
        for page in pages.iter().rev() {
            assert!(table.insert(page).expect("it fits"));
            assert!(!table.insert(page).expect("it fits"));
        }
        for page in &pages {
            let key = (&page.site[..], page.version, &page.path[..]);
            assert_eq!(table.get(key), Ok(Some(page.clone())));
        }
        assert_eq!(table.get(("a", 2, b"\0\0\0")), Ok(None));
        assert_eq!(check(&db), Ok(()));
        if kind == KeyKind::Hash {
            continue;
        }
        let scanned = |from: usize, to: usize| {
            let key = |page: usize| {
                let page: &Page = &pages[page];
                (&page.site[..], page.version, &page.path[..])
            };
            let mut found = Vec::new();
            let each = each_of(table.range(key(from)..key(to)).limit(100), |page| {
                found.push(page);
                Ok(true)
            });
            each.map(|()| found)
        };
        for (from, to) in (0..pages.len()).flat_map(|from| (from..10).map(move |to| (from, to))) {
            assert_eq!(scanned(from, to).as_deref(), Ok(&pages[from..to]));
        }
        // All of one version, whatever the path is.
        let schema = table.table().schema();
        let (lower, upper) =
            schema.pack_prefix(&[Value::Text("a"), Value::Signed(2)]).expect("they fit");
        let scan = Scan {
            lower: std::ops::Bound::Included(&lower),
            upper: std::ops::Bound::Included(&upper),
            backward: true,
            columns: &[2],
            limit: 10,
        };
        let mut paths = Vec::new();
        let each = each_row(cursor(&table.table(), &scan), &mut |row| {
            paths.push(row[4..].to_vec());
            Ok(true)
        });
        assert_eq!(each, Ok(()));
        assert_eq!(paths, [&b"\x01"[..], b"\0\x01", b"\0\0", b"\0", b""]);
    }
}

#[test]
fn a_key_that_is_too_long_is_not_there_and_cannot_be_inserted() {
    let db = Database::in_memory().expect("memory");
    let table = db.create_records::<Page>(KeyKind::Tree).expect("a table");
    let long = "x".repeat(101);
    assert_eq!(table.get((&long, 0, b"")), Ok(None));
    assert_eq!(table.delete((&long, 0, b"")), Ok(false));
    assert_eq!(table.change((&long, 0, b""), |_| panic!("there is none")), Ok(false));
    assert_eq!(table.at(&db.snapshot()).get((&long, 0, b"")), Ok(None));
    let transaction = db.begin();
    assert_eq!(table.within(&transaction).get((&long, 0, b"")), Ok(None));
    assert_eq!(table.within(&transaction).delete((&long, 0, b"")), Ok(false));
    let why = table.pack_key((&long, 0, b"")).expect_err("it does not fit").to_string();
    assert!(why.contains("column site can have at most 100 bytes, not 101"), "{why}");
    // Packed by hand.
    let key = [&[101, 0][..], &[b'x'; 101], &[0; 4]].concat();
    assert_eq!(payload_of(&table.table(), &key), Ok(None));
    assert_eq!(table.table().delete(&key), Ok(false));
    assert_eq!(table.table().compare_and_swap(&key, &[0; 5], &[0; 5]), Ok(false));
    assert_eq!(payload_of(&table.table().within(&transaction), &key), Ok(None));
    let refused = table.table().insert(&key);
    assert!(matches!(refused, Err(lode::Error::KeyTooLong { .. })), "{refused:?}");
    let schema = lode::Schema::build("count").key("name", lode::Type::VarText(4));
    let counts = schema.column("n", lode::Type::U64).finish().expect("a schema");
    let counts = db.create_table(&counts, KeyKind::Hash).expect("room");
    let n = counts.schema().column("n").expect("it is there");
    assert_eq!(counts.increment("too long", n, 1), Ok(None));
    assert_eq!(counts.compare_and_update("too long", n, &[0; 8], &[1; 8]), Ok(false));
    assert_eq!(counts.compare_and_swap("too long", &[0; 8], &[1; 8]), Ok(false));
    // Cut off.
    for key in [&[1, 0, b'x', 0][..], &[1], &[1, 0, b'x', 0, 0, 0, 0, 9], &[]] {
        let refused = payload_of(&table.table(), key);
        assert!(matches!(refused, Err(lode::Error::NotPacked { .. })), "{refused:?}");
        let refused = table.table().insert(key);
        assert!(matches!(refused, Err(lode::Error::NotPacked { .. })), "{refused:?}");
    }
    let keys = [&[1, 0, b'x', 0, 0, 0, 0][..], &[9]].concat();
    let many = table.table().get_many_with(&keys, &mut |_, _| panic!("it is refused as a whole"));
    assert!(matches!(many, Err(lode::Error::NotPacked { .. })), "{many:?}");
}

//! Structs as records: what is written comes back, and only into tables that have the same columns.

use std::fmt::Debug;

use crate::each_of::{collected, each_of};
use crate::reading::each_row;
use lode::{Database, Error, KeyKind, ReadTable, Record, Records, Schema, Type, Value};
use proptest::prelude::*;

const NOTE_BYTES: u32 = 12;

/// A column of every type, each with and without null.
#[derive(Record, Clone, Debug, PartialEq)]
struct Everything {
    #[record(key)]
    id: u64,
    #[record(key, text = 8)]
    r#type: String,
    #[allow(unused_parens)]
    small: (u8),
    two: u16,
    four: u32,
    signed: i8,
    signed_two: i16,
    signed_four: i32,
    signed_eight: i64,
    float: f32,
    double: f64,
    yes: bool,
    #[record(timestamp)]
    time: i64,
    #[record(text = NOTE_BYTES, name = "remark")]
    note: std::string::String,
    hash: [u8; 3 + 2],
    no_small: Option<u8>,
    no_eight: Option<u64>,
    no_signed: Option<i16>,
    no_float: Option<f32>,
    no_double: Option<f64>,
    no_yes: Option<bool>,
    #[record(timestamp)]
    no_time: Option<i64>,
    #[record(text = 5)]
    no_note: std::option::Option<String>,
    no_hash: Option<[u8; 2]>,
}

/// Builds the schema of the derived record by hand.
fn everything_schema() -> Schema {
    Schema::build("everything")
        .key("id", Type::U64)
        .key("type", Type::Text(8))
        .column("small", Type::U8)
        .column("two", Type::U16)
        .column("four", Type::U32)
        .column("signed", Type::I8)
        .column("signed_two", Type::I16)
        .column("signed_four", Type::I32)
        .column("signed_eight", Type::I64)
        .column("float", Type::F32)
        .column("double", Type::F64)
        .column("yes", Type::Bool)
        .column("time", Type::Timestamp)
        .column("remark", Type::Text(12))
        .column("hash", Type::Bytes(5))
        .nullable("no_small", Type::U8)
        .nullable("no_eight", Type::U64)
        .nullable("no_signed", Type::I16)
        .nullable("no_float", Type::F32)
        .nullable("no_double", Type::F64)
        .nullable("no_yes", Type::Bool)
        .nullable("no_time", Type::Timestamp)
        .nullable("no_note", Type::Text(5))
        .nullable("no_hash", Type::Bytes(2))
        .finish()
        .expect("a schema")
}

fn packed_by_hand(record: &Everything) -> Vec<u8> {
    fn or_null<'v, T>(field: &'v Option<T>, value: impl FnOnce(&'v T) -> Value<'v>) -> Value<'v> {
        field.as_ref().map_or(Value::Null, value)
    }
    let values = [
        Value::Unsigned(record.id),
        Value::Text(&record.r#type),
        Value::Unsigned(record.small.into()),
        Value::Unsigned(record.two.into()),
        Value::Unsigned(record.four.into()),
        Value::Signed(record.signed.into()),
        Value::Signed(record.signed_two.into()),
        Value::Signed(record.signed_four.into()),
        Value::Signed(record.signed_eight),
        Value::Float(record.float.into()),
        Value::Float(record.double),
        Value::Bool(record.yes),
        Value::Timestamp(record.time),
        Value::Text(&record.note),
        Value::Bytes(&record.hash),
        or_null(&record.no_small, |it| Value::Unsigned((*it).into())),
        or_null(&record.no_eight, |it| Value::Unsigned(*it)),
        or_null(&record.no_signed, |it| Value::Signed((*it).into())),
        or_null(&record.no_float, |it| Value::Float((*it).into())),
        or_null(&record.no_double, |it| Value::Float(*it)),
        or_null(&record.no_yes, |it| Value::Bool(*it)),
        or_null(&record.no_time, |it| Value::Timestamp(*it)),
        or_null(&record.no_note, |it| Value::Text(it)),
        or_null(&record.no_hash, |it| Value::Bytes(it)),
    ];
    everything_schema().pack(&values).expect("they fit")
}

/// The least of everything, and nothing where that can be.
fn least() -> Everything {
    Everything {
        id: 0,
        r#type: String::new(),
        small: 0,
        two: 0,
        four: 0,
        signed: i8::MIN,
        signed_two: i16::MIN,
        signed_four: i32::MIN,
        signed_eight: i64::MIN,
        float: f32::NEG_INFINITY,
        double: f64::MIN,
        yes: false,
        time: i64::MIN,
        note: String::new(),
        hash: [0; 5],
        no_small: None,
        no_eight: None,
        no_signed: None,
        no_float: None,
        no_double: None,
        no_yes: None,
        no_time: None,
        no_note: None,
        no_hash: None,
    }
}

/// The most of everything.
fn most() -> Everything {
    Everything {
        id: u64::MAX,
        r#type: "ÄÖÜß".into(),
        small: u8::MAX,
        two: u16::MAX,
        four: u32::MAX,
        signed: i8::MAX,
        signed_two: i16::MAX,
        signed_four: i32::MAX,
        signed_eight: i64::MAX,
        float: f32::MAX,
        double: f64::INFINITY,
        yes: true,
        time: i64::MAX,
        note: "\u{10ffff}\u{10ffff}\u{10ffff}".into(),
        hash: [255; 5],
        no_small: Some(u8::MAX),
        no_eight: Some(u64::MAX),
        no_signed: Some(i16::MIN),
        no_float: Some(f32::MIN_POSITIVE),
        no_double: Some(-0.0),
        no_yes: Some(true),
        no_time: Some(-1),
        no_note: Some("\0äbc".into()),
        no_hash: Some([255; 2]),
    }
}

fn why<T: Debug>(outcome: Result<T, Error>) -> String {
    outcome.expect_err("it is refused").to_string()
}

#[test]
fn a_struct_has_the_schema_that_one_would_write_by_hand() {
    assert_eq!(Everything::schema(), Ok(everything_schema()));
}

#[test]
fn the_least_and_the_most_of_every_type_come_back() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("a database");
        let table = db.create_records::<Everything>(kind).expect("a table");
        for record in [least(), most()] {
            assert_eq!(table.get(record.key()), Ok(None));
            assert_eq!(table.insert(&record), Ok(true));
            assert_eq!(table.insert(&record), Ok(false));
            assert_eq!(table.get(record.key()).expect("a record").as_ref(), Some(&record));
            assert_eq!(table.upsert(&record), Ok(true));
        }
        let mut all = collected(table.iter());
        all.sort_by_key(|record| record.id);
        assert_eq!(all, [least(), most()]);
        if kind == KeyKind::Tree {
            assert_eq!(collected(table.range(..).limit(9)), [least(), most()]);
        }
        assert_eq!(table.delete(least().key()), Ok(true));
        assert_eq!(table.delete(least().key()), Ok(false));
        assert_eq!(collected(table.iter()), [most()]);
    }
}

#[test]
fn values_become_null_and_come_back_from_it() {
    let db = Database::in_memory().expect("a database");
    let table = db.create_records::<Everything>(KeyKind::Tree).expect("a table");
    let (full, key) = (most(), most());
    table.insert(&full).expect("it is inserted");
    let mut empty = Everything { id: full.id, r#type: full.r#type.clone(), ..least() };
    for wanted in [&mut empty, &mut full.clone()] {
        let changed = table.change(key.key(), |record| *record = wanted.clone());
        assert_eq!(changed, Ok(true));
        assert_eq!(table.get(key.key()).expect("a record").as_ref(), Some(&*wanted));
    }
}

#[test]
fn a_table_with_other_columns_is_refused_with_the_column_that_differs() {
    #[derive(Record)]
    #[record(table = "cities")]
    struct City {
        #[record(key, text = 4)]
        _name: String,
        _people: u32,
        _height: Option<i16>,
    }
    let refused = |table: lode::Result<Schema>| {
        let db = Database::in_memory().expect("a database");
        db.create_table(&table.expect("a schema"), KeyKind::Hash).expect("a table");
        why(db.records::<City>())
    };
    let table = || Schema::build("cities").key("_name", Type::Text(4));
    assert_eq!(
        refused(table().column("_people", Type::U64).finish()),
        "table cities: column 2 is _people (U64) in the table and _people (U32) in the record"
    );
    let height = |name, kind| table().column("_people", Type::U32).nullable(name, kind).finish();
    assert!(refused(height("high", Type::I16)).contains("column 3 is high (I16, can be null) in"));
    let never_null = table().column("_people", Type::U32).column("_height", Type::I16).finish();
    assert!(refused(never_null).contains("column 3 is _height (I16) in the table"));
    let key = table().key("_people", Type::U32).nullable("_height", Type::I16).finish();
    assert!(refused(key).contains("column 2 is _people (U32, of the key) in the table"));
    let fewer = table().column("_people", Type::U32).finish();
    assert!(refused(fewer).contains("column 3 is missing in the table"));
    let more = table().column("_people", Type::U32).nullable("_height", Type::I16);
    assert!(refused(more.column("e", Type::U8).finish()).contains("and missing in the record"));

    let db = Database::in_memory().expect("a database");
    assert_eq!(why(db.records::<City>()), "there is no table cities; create it");
    db.create_records::<City>(KeyKind::Hash).expect("a table");
    assert!(db.records::<City>().is_ok());
    assert_eq!(db.table_names(), ["cities"]);
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Account {
    #[record(key, text = 4)]
    owner: String,
    cents: i64,
    #[record(text = 4)]
    note: String,
}

fn accounts() -> (Database, Records<Account>) {
    let db = Database::in_memory().expect("a database");
    let accounts = db.create_records::<Account>(KeyKind::Hash).expect("a table");
    let account = Account { owner: "Ada".into(), cents: 10, note: String::new() };
    assert_eq!(accounts.insert(&account), Ok(true));
    (db, accounts)
}

#[test]
fn a_change_that_touches_the_key_or_does_not_fit_changes_nothing() {
    let (_db, accounts) = accounts();
    let before = accounts.get("Ada").expect("an account");
    let outcome = accounts.change("Ada", |account| {
        account.owner = "Eve".into();
        account.cents = 0;
    });
    assert!(why(outcome).contains("table account: a change cannot change the key"));
    let outcome = accounts.change("Ada", |account| account.note = "12345".into());
    assert!(why(outcome).contains("does not fit column note"));
    assert_eq!(accounts.get("Ada"), Ok(before));
    assert_eq!(accounts.get("Eve"), Ok(None));
    assert_eq!(accounts.change("Eve", |account| account.cents = 0), Ok(false));
    assert!(matches!(accounts.get("Ada's"), Ok(None)), "no record can have it");
}

#[test]
fn no_change_is_lost_between_threads() {
    let (_db, accounts) = accounts();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let accounts = accounts.clone();
            scope.spawn(move || {
                for _ in 0..500 {
                    assert_eq!(accounts.change("Ada", |account| account.cents += 1), Ok(true));
                }
            });
        }
    });
    assert_eq!(accounts.get("Ada").expect("a record").map(|account| account.cents), Some(2010));
}

#[test]
fn a_transaction_packs_and_a_snapshot_unpacks() {
    let (db, accounts) = accounts();
    let before = db.snapshot();
    let transaction = db.begin();
    let eve = Account { owner: "Eve".into(), cents: 5, note: "new".into() };
    let packed = accounts.pack(&eve).expect("it fits");
    transaction.insert(accounts.table(), &packed).expect("it is inserted");
    let ada = accounts.pack_key("Ada").expect("it fits");
    assert_eq!(transaction.delete(accounts.table(), &ada), Ok(true));
    transaction.commit().expect("no other transaction runs");
    for (snapshot, owner) in [(before, "Ada"), (db.snapshot(), "Eve")] {
        let mut owners = Vec::new();
        let read = each_row(accounts.table().at(&snapshot).iter(), &mut |record| {
            owners.push(accounts.unpack(record)?.owner);
            Ok(true)
        });
        assert_eq!((read, &owners[..]), (Ok(()), &[owner.to_string()][..]));
    }
}

#[test]
fn what_is_no_text_does_not_become_a_string() {
    let (_db, accounts) = accounts();
    let mut record = vec![0; accounts.table().schema().record_size()];
    record[0] = 0xff;
    accounts.table().insert(&record).expect("packed records are not looked into");
    let outcome = each_of(accounts.iter(), |_| Ok(true));
    assert!(why(outcome).contains("the field of column owner cannot be 0xff"));
}

#[test]
fn a_dropped_table_answers_so() {
    let (db, accounts) = accounts();
    db.drop_table("account").expect("it is there");
    let gone = Error::NoTable { table: "account".into() };
    assert_eq!(accounts.get("Ada"), Err(gone.clone()));
    assert_eq!(each_of(accounts.iter(), |_| Ok(true)), Err(gone));
}

#[test]
fn hashed_keys_have_no_ranges() {
    let (_db, accounts) = accounts();
    let outcome = each_of(accounts.range(..).limit(1), |_| Ok(true));
    assert_eq!(outcome, Err(Error::NoOrder { table: "account".into() }));
}

fn text(most_bytes: usize) -> impl Strategy<Value = String> {
    "\\PC{0,12}".prop_filter("it fits", move |text| text.len() <= most_bytes)
}

prop_compose! {
    fn anything()(
        (id, small, two, four) in any::<(u64, u8, u16, u32)>(),
        (signed, signed_two, signed_four, signed_eight) in any::<(i8, i16, i32, i64)>(),
        (float, double) in any::<(f32, f64)>(),
        (yes, time, hash) in any::<(bool, i64, [u8; 5])>(),
        (r#type, note, no_note) in (text(8), text(12), proptest::option::of(text(5))),
        (no_small, no_eight, no_signed) in any::<(Option<u8>, Option<u64>, Option<i16>)>(),
        (no_float, no_double, no_yes) in any::<(Option<f32>, Option<f64>, Option<bool>)>(),
        (no_time, no_hash) in any::<(Option<i64>, Option<[u8; 2]>)>(),
    ) -> Everything {
        Everything {
            id, r#type, small, two, four, signed, signed_two, signed_four, signed_eight, float,
            double, yes, time, note, hash, no_small, no_eight, no_signed, no_float, no_double,
            no_yes, no_time, no_note, no_hash,
        }
    }
}

proptest! {
    #[test]
    fn records_are_packed_as_by_hand_and_unpacked_again(record in anything()) {
        let schema = everything_schema();
        let packed = record.pack(&schema).expect("it fits");
        prop_assert_eq!(&packed, &packed_by_hand(&record));
        let key = Everything::pack_key(record.key(), &schema).expect("it fits");
        prop_assert_eq!(&key[..], &packed[..schema.key_size()]);
        let row = schema.row(&packed).expect("a record");
        prop_assert_eq!(Everything::unpack(row).expect("it is one"), record);
    }
}

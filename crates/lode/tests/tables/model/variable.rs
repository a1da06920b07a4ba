//! Records that have columns of variable length: most of them short, some longer than a page.

use lode::{Error, KeyKind, ReadTable, Row, Schema, Table, Type, Value};
use proptest::prelude::*;

use crate::reading::nth;

use super::cases;
use super::contents::{Contents, Size};
use super::keys::{Keys, Place};
use super::operations::{in_memory, on_disk};
use super::run::Run;

const MOST_DATA_BYTES: u32 = 60_000;
const MOST_TEXT_BYTES: u32 = 200;
const MOST_NOTE_BYTES: u32 = 3_000;

/// Bytes that two numbers stand for.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    seed: u8,
    size: u32,
}

impl Bytes {
    fn data(self) -> Vec<u8> {
        (0..self.size).map(|at| self.seed ^ (at ^ at >> 8) as u8).collect()
    }

    fn text(self) -> String {
        let letter = |at| char::from(b'a' + ((u32::from(self.seed) + at) % 26) as u8);
        (0..self.size).map(letter).collect()
    }

    /// The two numbers of data that they stand for.
    fn of_data(data: &[u8]) -> Self {
        Self { seed: data.first().copied().unwrap_or(0), size: data.len() as u32 }
    }

    /// The two numbers of a text that they stand for.
    fn of_text(text: &str) -> Self {
        let seed = text.bytes().next().map_or(0, |first| first - b'a');
        Self { seed, size: text.len() as u32 }
    }
}

/// The columns of a record after its key.
#[derive(Clone, Copy, Debug)]
struct Entry {
    value: u32,
    data: Bytes,
    flag: u16,
    text: Bytes,
    note: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
enum Update {
    Value(u32),
    Data(Bytes),
    Text(Bytes),
}

/// Records with such keys.
#[derive(Clone, Copy, Debug)]
struct Variable {
    keys: Keys,
}

fn bytes(size: impl Strategy<Value = u32>) -> impl Strategy<Value = Bytes> {
    (any::<u8>(), size).prop_map(|(seed, size)| Bytes { seed, size })
}

/// Mostly short, seldom longer than a page.
fn data(size: Size) -> BoxedStrategy<Bytes> {
    let most = match size {
        Size::Any => MOST_DATA_BYTES,
        Size::BesideCheckpoint => 18_000,
        Size::Common => return bytes(0..1_000u32).boxed(),
    };
    bytes(prop_oneof![
        12 => 0..300u32,
        3 => 300..4_000u32,
        1 => 4_000..16_000u32,
        1 => 16_000..=most,
    ])
    .boxed()
}

fn text() -> impl Strategy<Value = Bytes> {
    bytes(0..=MOST_TEXT_BYTES)
}

impl Contents for Variable {
    type Entry = Entry;
    type Update = Update;

    const SCANNED: &'static [&'static [usize]] =
        &[&[0, 1, 2, 3, 4, 5, 6], &[5, 1], &[6, 2], &[4], &[]];

    fn entries(size: Size) -> BoxedStrategy<Entry> {
        let note = proptest::option::weighted(0.3, bytes(0..=MOST_NOTE_BYTES));
        (any::<u32>(), data(size), any::<u16>(), text(), note)
            .prop_map(|(value, data, flag, text, note)| Entry { value, data, flag, text, note })
            .boxed()
    }

    fn updates(size: Size) -> BoxedStrategy<Update> {
        prop_oneof![
            2 => any::<u32>().prop_map(Update::Value),
            3 => data(size).prop_map(Update::Data),
            1 => text().prop_map(Update::Text),
        ]
        .boxed()
    }

    fn keys(self) -> Keys {
        self.keys
    }

    fn schema(self) -> Schema {
        let builder = self.keys.schema().column("value", Type::U32);
        builder
            .column("data", Type::VarBytes(MOST_DATA_BYTES))
            .column("flag", Type::U16)
            .column("text", Type::VarText(MOST_TEXT_BYTES))
            .nullable("note", Type::VarBytes(MOST_NOTE_BYTES))
            .finish()
            .expect("a schema")
    }

    fn record(self, place: Place, entry: Entry) -> Vec<u8> {
        let [first, second] = self.keys.cells(place);
        let key = match self.keys {
            Keys::Numbers => [Value::Signed(place.0.into()), Value::Unsigned(place.1.into())],
            Keys::AnyLength => {
                let second = str::from_utf8(&second).expect("letters");
                [Value::Bytes(&first), Value::Text(second)]
            }
        };
        let (data, text) = (entry.data.data(), entry.text.text());
        let note = entry.note.map(Bytes::data);
        let values = [
            key[0],
            key[1],
            Value::Unsigned(entry.value.into()),
            Value::Bytes(&data),
            Value::Unsigned(entry.flag.into()),
            Value::Text(&text),
            note.as_ref().map_or(Value::Null, |note| Value::Bytes(note)),
        ];
        self.schema().pack(&values).expect("they fit")
    }

    fn entry(self, record: &[u8]) -> Entry {
        let schema = self.schema();
        let row = schema.row(record).expect("a record");
        let (Value::Unsigned(value), Value::Unsigned(flag)) = (row.at(nth(2)), row.at(nth(4)))
        else {
            panic!("two numbers, not {row:?}");
        };
        let data = |column| match row.at(nth(column)) {
            Value::Null => None,
            Value::Bytes(bytes) => Some(Bytes::of_data(bytes)),
            other => panic!("{other:?} in column {column}"),
        };
        let Value::Text(text) = row.at(nth(5)) else { panic!("a text, not {:?}", row.at(nth(5))) };
        Entry {
            value: value as u32,
            data: data(3).expect("it is never null"),
            flag: flag as u16,
            text: Bytes::of_text(text),
            note: data(6),
        }
    }

    fn row(self, place: Place, entry: Entry, columns: &[usize]) -> Vec<u8> {
        let mut row = Vec::new();
        for column in columns {
            let bytes = match column {
                0 | 1 => self.keys.in_row(place, *column),
                2 => entry.value.to_le_bytes().to_vec(),
                3 => entry.data.data(),
                4 => entry.flag.to_le_bytes().to_vec(),
                5 => entry.text.text().into_bytes(),
                _ => entry.note.map(Bytes::data).unwrap_or_default(),
            };
            if [3, 5, 6].contains(column) {
                row.extend((bytes.len() as u32).to_le_bytes());
            }
            row.extend(bytes);
            if *column == 6 {
                row.push(u8::from(entry.note.is_none()));
            }
        }
        row
    }

    fn column(update: Update) -> (usize, Vec<u8>) {
        match update {
            Update::Value(value) => (2, value.to_le_bytes().to_vec()),
            Update::Data(data) => (3, data.data()),
            Update::Text(text) => (5, text.text().into_bytes()),
        }
    }

    fn updated(entry: Entry, update: Update) -> Entry {
        match update {
            Update::Value(value) => Entry { value, ..entry },
            Update::Data(data) => Entry { data, ..entry },
            Update::Text(text) => Entry { text, ..entry },
        }
    }

    fn look_up(self, table: &Table, key: &[u8], entry: Option<Entry>) -> Result<(), Error> {
        let text_of = |row: Row| match row.get("text") {
            Some(Value::Text(text)) => text.to_string(),
            other => panic!("a text, not {other:?}"),
        };
        let text = table.get(key)?.map(text_of);
        assert_eq!(text, entry.map(|entry| entry.text.text()));
        let refused = table.get_exact(key, &mut [0; 20]);
        assert!(matches!(refused, Err(Error::VariablePayload { .. })), "{refused:?}");
        Ok(())
    }
}

fn contents() -> impl Strategy<Value = Variable> {
    let keys = prop_oneof![Just(Keys::Numbers), Just(Keys::AnyLength)];
    keys.prop_map(|keys| Variable { keys })
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn hashed_tables_of_records_of_any_length_do_what_maps_do(
        contents in contents(),
        operations in in_memory::<Variable>(),
    ) {
        Run::in_memory(KeyKind::Hash, contents).all(&operations);
    }

    #[test]
    fn ordered_tables_of_records_of_any_length_do_what_maps_do(
        contents in contents(),
        operations in in_memory::<Variable>(),
    ) {
        Run::in_memory(KeyKind::Tree, contents).all(&operations);
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn hashed_tables_of_records_of_any_length_on_a_disk_do_what_maps_do(
        contents in contents(),
        (level, operations) in on_disk::<Variable>(),
    ) {
        Run::on_disk(KeyKind::Hash, contents, level).all(&operations);
    }

    #[test]
    fn ordered_tables_of_records_of_any_length_on_a_disk_do_what_maps_do(
        contents in contents(),
        (level, operations) in on_disk::<Variable>(),
    ) {
        Run::on_disk(KeyKind::Tree, contents, level).all(&operations);
    }
}

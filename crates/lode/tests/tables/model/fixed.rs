//! Records that all have the same size.

use lode::{Error, KeyKind, Schema, Table, Type};
use proptest::prelude::*;

use super::cases;
use super::contents::{Contents, Size};
use super::keys::{Keys, Place};
use super::operations::{in_memory, on_disk};
use super::run::Run;

/// Records with a number and this number of bytes after it.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    rest_bytes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    value: u32,
    /// The bytes after the value follow from it.
    seed: u8,
}

impl Contents for Fixed {
    type Entry = Entry;
    /// A new value.
    type Update = u32;

    const SCANNED: &'static [&'static [usize]] = &[&[0, 1, 2, 3], &[2, 1], &[2]];

    fn entries(_: Size) -> BoxedStrategy<Entry> {
        any::<(u32, u8)>().prop_map(|(value, seed)| Entry { value, seed }).boxed()
    }

    fn updates(_: Size) -> BoxedStrategy<u32> {
        any::<u32>().boxed()
    }

    fn keys(self) -> Keys {
        Keys::Numbers
    }

    fn schema(self) -> Schema {
        let builder = self.keys().schema().column("value", Type::U32);
        builder.column("rest", Type::Bytes(self.rest_bytes)).finish().expect("a schema")
    }

    fn record(self, place: Place, entry: Entry) -> Vec<u8> {
        self.row(place, entry, &[0, 1, 2, 3])
    }

    fn entry(self, record: &[u8]) -> Entry {
        let payload = &record[self.keys().key((0, 0)).len()..];
        let (value, rest) = payload.split_first_chunk().expect("four bytes");
        Entry { value: u32::from_le_bytes(*value), seed: rest[0] }
    }

    fn row(self, place: Place, entry: Entry, columns: &[usize]) -> Vec<u8> {
        let cell = |column: &usize| match column {
            0 | 1 => self.keys().in_row(place, *column),
            2 => entry.value.to_le_bytes().to_vec(),
            _ => (0..self.rest_bytes).map(|at| entry.seed ^ at as u8).collect(),
        };
        columns.iter().flat_map(cell).collect()
    }

    fn column(value: u32) -> (usize, Vec<u8>) {
        (2, value.to_le_bytes().to_vec())
    }

    fn updated(entry: Entry, value: u32) -> Entry {
        Entry { value, ..entry }
    }

    fn look_up(self, table: &Table, key: &[u8], entry: Option<Entry>) -> Result<(), Error> {
        let mut payload = vec![0; 4 + self.rest_bytes as usize];
        let is_found = table.get_exact(key, &mut payload)?;
        assert_eq!(is_found.then_some(payload), entry.map(|entry| self.payload(entry)));
        Ok(())
    }
}

const SHORT: Fixed = Fixed { rest_bytes: 10 };

/// Few of them fit in a bucket.
const LONG: Fixed = Fixed { rest_bytes: 900 };

/// Few of them fit in a leaf.
const LONGER: Fixed = Fixed { rest_bytes: 1_900 };

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn hashed_tables_do_what_maps_do(operations in in_memory::<Fixed>()) {
        Run::in_memory(KeyKind::Hash, LONG).all(&operations);
    }

    #[test]
    fn ordered_tables_do_what_maps_do(operations in in_memory::<Fixed>()) {
        Run::in_memory(KeyKind::Tree, LONGER).all(&operations);
    }

    #[test]
    fn hashed_tables_of_short_records_do_what_maps_do(operations in in_memory::<Fixed>()) {
        Run::in_memory(KeyKind::Hash, SHORT).all(&operations);
    }

    #[test]
    fn ordered_tables_of_short_records_do_what_maps_do(operations in in_memory::<Fixed>()) {
        Run::in_memory(KeyKind::Tree, SHORT).all(&operations);
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn hashed_tables_on_a_disk_do_what_maps_do((level, operations) in on_disk::<Fixed>()) {
        Run::on_disk(KeyKind::Hash, LONG, level).all(&operations);
    }

    #[test]
    fn ordered_tables_on_a_disk_do_what_maps_do((level, operations) in on_disk::<Fixed>()) {
        Run::on_disk(KeyKind::Tree, LONGER, level).all(&operations);
    }

    #[test]
    fn hashed_tables_of_short_records_on_a_disk_do_what_maps_do(
        (level, operations) in on_disk::<Fixed>(),
    ) {
        Run::on_disk(KeyKind::Hash, SHORT, level).all(&operations);
    }

    #[test]
    fn ordered_tables_of_short_records_on_a_disk_do_what_maps_do(
        (level, operations) in on_disk::<Fixed>(),
    ) {
        Run::on_disk(KeyKind::Tree, SHORT, level).all(&operations);
    }
}

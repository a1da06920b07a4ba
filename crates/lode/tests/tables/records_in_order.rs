//! Structs as records, in the order of their keys.

use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};

use lode::{Database, Error, KeyKind, Record, Records};

use crate::each_of::{collected, each_of};

/// A table of records that are nothing but a key and a value that can be null.
macro_rules! only_key {
    ($name:ident, $(#[$attribute:meta] $field:ident: $kind:ty),*) => {
        #[derive(Record, Clone, Debug, PartialEq)]
        struct $name {
            $(#[$attribute] $field: $kind,)*
            value: Option<u8>,
        }
    };
}

only_key!(Numbered, #[record(key)] number: i32);
only_key!(Measured, #[record(key)] measure: f64);
only_key!(Named, #[record(key, text = 6)] name: String);
only_key!(Placed, #[record(key)] row: i16, #[record(key)] seat: u8);
only_key!(Hashed, #[record(key)] hash: [u8; 2]);

/// Checks scans of a table against sorted records.
fn scans_are_in_order<'k, R>(sorted: &'k [R])
where
    R: Record + Clone + Debug + PartialEq,
{
    let db = Database::in_memory().expect("a database");
    let table = db.create_records::<R>(KeyKind::Tree).expect("a table");
    for record in sorted.iter().rev() {
        assert_eq!(table.insert(record), Ok(true));
    }
    let reversed = |records: &[R]| records.iter().rev().cloned().collect::<Vec<_>>();
    let scan = |range: (Bound<R::Key<'k>>, Bound<R::Key<'k>>), limit| {
        let forward = collected(table.range(range).limit(limit));
        let backward = collected(table.range(range).rev().limit(limit));
        (forward, backward)
    };
    assert_eq!(collected(table.iter()), sorted);
    assert_eq!(collected(table.range(..).limit(2)), sorted[..2]);
    assert_eq!(scan((Bound::Unbounded, Bound::Unbounded), 0), (vec![], vec![]));
    for from in 0..sorted.len() {
        for to in from..sorted.len() {
            let (lower, upper) = (sorted[from].key(), sorted[to].key());
            let all = scan((Bound::Included(lower), Bound::Included(upper)), u64::MAX);
            assert_eq!(all, (sorted[from..=to].to_vec(), reversed(&sorted[from..=to])));
            let inner = scan((Bound::Excluded(lower), Bound::Excluded(upper)), u64::MAX);
            let between = sorted.get(from + 1..to).unwrap_or_default();
            assert_eq!(inner, (between.to_vec(), reversed(between)));
            let one = scan((Bound::Included(lower), Bound::Included(upper)), 1);
            assert_eq!(one, (vec![sorted[from].clone()], vec![sorted[to].clone()]));
            if from < to {
                assert_eq!(scan((Bound::Included(upper), Bound::Included(lower)), 9).0, []);
            }
        }
    }
}

#[test]
fn negative_integers_are_before_positive_ones() {
    let numbers = [i32::MIN, -256, -255, -1, 0, 1, 255, 256, i32::MAX];
    scans_are_in_order(&numbers.map(|number| Numbered { number, value: None }));
}

#[test]
fn floats_are_in_their_total_order() {
    let (infinity, least) = (f64::INFINITY, f64::MIN_POSITIVE);
    let measures = [-infinity, -1e300, -1.5, -least, -0.0, 0.0, least, 1.5, 1e300, infinity];
    scans_are_in_order(&measures.map(|measure| Measured { measure, value: Some(1) }));
}

#[test]
fn texts_are_in_the_order_of_strings() {
    let names = ["", "\0a", "A", "a", "a\u{1}", "aa", "b", "ba", "ä", "ææ", "\u{10ffff}"];
    scans_are_in_order(&names.map(|name| Named { name: name.into(), value: Some(0) }));
}

#[test]
fn tuples_are_in_the_order_of_their_parts() {
    let places = [(-2, 0), (-2, 255), (-1, 3), (0, 0), (0, 1), (256, 7), (257, 0)];
    scans_are_in_order(&places.map(|(row, seat)| Placed { row, seat, value: None }));
}

#[test]
fn bytes_are_in_the_order_of_arrays() {
    let hashes = [[0, 0], [0, 255], [1, 0], [127, 1], [128, 0], [255, 255]];
    scans_are_in_order(&hashes.map(|hash| Hashed { hash, value: None }));
}

#[test]
fn a_range_is_written_as_any_range() {
    let db = Database::in_memory().expect("a database");
    let table = db.create_records::<Placed>(KeyKind::Tree).expect("a table");
    for (row, seat) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        table.insert(&Placed { row, seat, value: None }).expect("it is inserted");
    }
    fn count(table: &Records<Placed>, keys: impl RangeBounds<(i16, u8)>) -> usize {
        collected(table.range(keys).limit(9)).len()
    }
    assert_eq!(count(&table, ..), 4);
    assert_eq!(count(&table, (1, 2)..), 3);
    assert_eq!(count(&table, ..(2, 0)), 2);
    assert_eq!(count(&table, (1, 2)..=(2, 1)), 2);
    assert_eq!(count(&table, (1, 3)..(2, 1)), 0);
}

#[test]
fn a_visit_ends_a_scan() {
    let db = Database::in_memory().expect("a database");
    let table = db.create_records::<Numbered>(KeyKind::Tree).expect("a table");
    for number in 0..10 {
        table.insert(&Numbered { number, value: None }).expect("it is inserted");
    }
    let mut seen = Vec::new();
    let outcome = each_of(table.range(3..).limit(9), |record| {
        seen.push(record.number);
        Ok(record.number < 5)
    });
    assert_eq!((outcome, &seen[..]), (Ok(()), &[3, 4, 5][..]));
    assert_eq!(each_of(table.range(..).rev().limit(9), |_| Err(Error::Closed)), Err(Error::Closed));
    assert_eq!(each_of(table.iter(), |_| Err(Error::Closed)), Err(Error::Closed));
}

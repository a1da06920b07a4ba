use std::ops::Bound;

use super::*;
use crate::tree::Range;
use crate::{Database, KeyKind, Schema, Table, Type};

fn tables() -> [Table; 2] {
    let db = Database::in_memory().expect("memory");
    ["one", "two"].map(|name| {
        let schema = Schema::build(name).key("id", Type::U32).finish().expect("a schema");
        db.create_table(&schema, KeyKind::Tree).expect("room")
    })
}

fn up_to(key: Vec<u8>) -> Extent {
    Extent::Keys(Range { lower: Bound::Unbounded, upper: Bound::Included(key) })
}

#[test]
fn cursors_that_need_no_note_share_one_a_table() {
    let ([one, two], mut scans) = (tables(), Scans::default());
    let outer = scans.begin(one.core(), Needed::No);
    for _ in 0..100 {
        assert!(Arc::ptr_eq(&outer, &scans.begin(one.core(), Needed::No)));
        drop(scans.begin(two.core(), Needed::No));
    }
    assert_eq!((scans.size_bytes(), scans.unneeded.len()), (0, 2));
    assert!(scans.are_empty() && !scans.are_without_moment(), "a cursor is left");
    outer.lose();
    assert_eq!(scans.lost().map(TableCore::id), Some(one.core().id()));
    drop(outer);
    assert!(scans.are_without_moment());
}

/// A cursor that is open does not keep the notes of later ones from being counted or dropped.
#[test]
fn notes_of_cursors_that_are_gone_are_counted_or_dropped() {
    let ([one, _], mut scans) = (tables(), Scans::default());
    let outer = scans.begin(one.core(), Needed::Yes);
    for _ in 0..100 {
        drop(scans.begin(one.core(), Needed::Yes));
    }
    scans.settle();
    assert_eq!(scans.size_bytes(), Scans::BYTES_OF_ONE, "one says something still");
    let key = vec![7; 1_000];
    let inner: Vec<_> = (0..4).map(|_| scans.begin(one.core(), Needed::Yes)).collect();
    inner.iter().for_each(|scan| scan.note(up_to(key.clone())));
    drop(inner);
    scans.settle();
    assert!(scans.size_bytes() >= 5 * Scans::BYTES_OF_ONE + 4 * key.len());
    assert!(!scans.are_empty());
    outer.note(up_to(vec![8]));
    drop(outer);
    scans.settle();
    assert_eq!(scans.settled, 5);
}

#[test]
fn a_note_on_a_whole_table_stands_for_later_ones_of_it() {
    let ([one, two], mut scans) = (tables(), Scans::default());
    for _ in 0..100 {
        scans.note_count(one.core(), 3);
        scans.note_count(two.core(), 4);
    }
    assert_eq!(scans.all.len(), 2);
    for _ in 0..100 {
        scans.begin(one.core(), Needed::Yes).note(Extent::Keys(Range::all()));
        scans.begin(one.core(), Needed::Yes).note(up_to(vec![7]));
        scans.note_count(one.core(), 3);
    }
    scans.settle();
    assert_eq!(scans.all.len(), 3);
    scans.begin(two.core(), Needed::Yes).note(up_to(vec![7]));
    let lost = scans.begin(one.core(), Needed::Yes);
    lost.lose();
    drop(lost);
    scans.settle();
    assert_eq!((scans.all.len(), scans.settled), (5, 5));
    assert!(scans.lost().is_some());
}

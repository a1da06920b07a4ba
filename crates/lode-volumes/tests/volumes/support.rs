//! Helpers of the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lode::{Database, ReadTable};
use lode_volumes::{Clock, Volume};

/// A clock that is wound by hand.
pub struct Wound(AtomicU64);

impl Wound {
    pub fn at(seconds: u64) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self(AtomicU64::new(seconds)))
    }

    pub fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::SeqCst);
    }
}

impl Clock for Wound {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// All entries and properties, as text.
pub fn exported(volume: &Volume) -> String {
    let mut lines = Vec::new();
    let snapshot = volume.snapshot().expect("a snapshot");
    snapshot.root().export(&mut lines).expect("it is exported");
    String::from_utf8(lines).expect("JSON is UTF-8")
}

/// Draws numbers from a seed.
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// One of three names.
    pub fn name(&mut self) -> &'static str {
        ["a", "b", "c"][self.below(3) as usize]
    }

    pub fn of<'o, T>(&mut self, options: &'o [T]) -> &'o T {
        &options[self.below(options.len() as u64) as usize]
    }
}

fn number(value: Option<lode::Value<'_>>) -> u64 {
    match value {
        Some(lode::Value::Unsigned(number)) => number,
        other => panic!("no number: {other:?}"),
    }
}

fn text(value: Option<lode::Value<'_>>) -> String {
    match value {
        Some(lode::Value::Text(text)) => text.into(),
        other => panic!("no text: {other:?}"),
    }
}

/// Looks at the tables of a volume that is closed: every record belongs to an entry that is linked,
/// and each expiry to its property.
pub fn expect_consistent(directory: &Path) {
    let db = Database::open(directory).expect("it opens");
    assert!(db.check().expect("it is looked at").faults.is_empty());
    let mut children = BTreeMap::<u64, Vec<u64>>::new();
    for row in db.table("entries").expect("a table").iter() {
        let row = row.expect("a row");
        children.entry(number(row.get("parent"))).or_default().push(number(row.get("id")));
    }
    assert_eq!(children.get(&0), None, "nothing is left of what was unlinked");
    let mut linked = BTreeSet::new();
    let mut next = vec![1];
    while let Some(id) = next.pop() {
        assert!(linked.insert(id), "entry {id} is linked twice");
        next.extend(children.remove(&id).unwrap_or_default());
    }
    assert!(children.is_empty(), "no path leads to the parents {children:?}");
    let mut expiring = BTreeSet::new();
    for row in db.table("properties").expect("a table").iter() {
        let row = row.expect("a row");
        let entry = number(row.get("entry"));
        assert!(linked.contains(&entry), "a property of entry {entry}, which is not linked");
        let Some(lode::Value::Timestamp(when)) = row.get("expires_at") else { panic!("{row:?}") };
        if when != i64::MAX {
            expiring.insert((when, entry, text(row.get("name"))));
        }
    }
    let mut expiries = BTreeSet::new();
    for row in db.table("expiries").expect("a table").iter() {
        let row = row.expect("a row");
        let Some(lode::Value::Timestamp(when)) = row.get("expires_at") else { panic!("{row:?}") };
        expiries.insert((when, number(row.get("entry")), text(row.get("name"))));
    }
    assert_eq!(expiring, expiries);
    db.close().expect("it closes");
}

//! Lode through its server has the failures of Lode, and leaves nothing behind.

use std::ops::Bound;

use assay_driver::error::ErrorKind;
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{Driver, Durability, KeyKind, OpenSpec, Outcome, Scan, Storage};

use crate::stores::{PAYLOAD_SIZE, columns, record, spec};

fn driver() -> Box<dyn Driver> {
    assay_drivers::find("lode-server").expect("it is in this build")
}

#[test]
fn a_table_with_other_columns_is_refused() {
    let driver = driver();
    let dir = tempfile::tempdir().expect("a directory");
    let spec = spec(driver.as_ref(), dir.path(), Storage::Disk, Durability::Process, true);
    let with = |column, kind| {
        let columns = [("id", ColumnType::U64), (column, kind)];
        OpenSpec { schema: Schema::new(spec.schema.name(), &columns, 1), ..spec.clone() }
    };
    driver.open(&with("a", ColumnType::U32)).expect("a store").close().expect("closed");
    for (column, kind) in [("b", ColumnType::U32), ("a", ColumnType::I32)] {
        let spec = OpenSpec { create: false, ..with(column, kind) };
        let refused = driver.open(&spec).err().expect("other columns").to_string();
        assert!(refused.contains("other columns"), "{refused}");
    }
}

#[test]
fn unsigned_numbers_keep_their_order_and_their_bits() {
    let driver = driver();
    let dir = tempfile::tempdir().expect("a directory");
    let spec = spec(driver.as_ref(), dir.path(), Storage::Memory, Durability::None, true);
    let spec = OpenSpec { key_kind: KeyKind::Tree, ..spec };
    let store = driver.open(&spec).expect("a store");
    let ids = [0, 1, 1 << 63, u64::MAX];
    let worked = store.connect(&mut |one| {
        for id in ids.into_iter().rev() {
            assert_eq!(one.insert(&record(id, [id; 8]))?, Outcome::Done);
            assert_eq!(one.insert(&record(id, [7; 8]))?, Outcome::Duplicate);
            let mut payload = [0; PAYLOAD_SIZE];
            assert_eq!(one.get(&id.to_le_bytes(), &mut payload)?, Outcome::Done);
            assert_eq!(columns(&payload), [id; 8]);
        }
        let lower = 1_u64.to_le_bytes();
        let scan = Scan {
            lower: Bound::Excluded(&lower),
            upper: Bound::Unbounded,
            columns: &[0],
            limit: 9,
        };
        let mut found = Vec::new();
        one.scan(&scan, &mut |row| found.push(columns(&row[..8])[0]))?;
        assert_eq!(found, ids[2..]);
        Ok(())
    });
    worked.expect("no failure");
    store.close().expect("closed");
}

#[test]
fn failures_have_their_kinds() {
    let driver = driver();
    let dir = tempfile::tempdir().expect("a directory");
    let spec = spec(driver.as_ref(), dir.path(), Storage::Memory, Durability::None, true);
    assert_eq!(spec.key_kind, KeyKind::Hash);
    let store = driver.open(&spec).expect("a store");
    let worked = store.connect(&mut |one| {
        one.insert(&record(1, [1; 8]))?;
        let all = Scan {
            lower: Bound::Included(&[0; 8]),
            upper: Bound::Unbounded,
            columns: &[0],
            limit: 1,
        };
        let unordered = one.scan(&all, &mut |_| ()).expect_err("hashed keys");
        assert_eq!(unordered.kind(), ErrorKind::Unsupported, "{unordered}");

        one.begin()?;
        one.upsert(&record(1, [2; 8]))?;
        store.connect(&mut |other| other.upsert(&record(1, [3; 8])))?;
        let conflict = one.commit().expect_err("another has written the record");
        assert_eq!(conflict.kind(), ErrorKind::Conflict, "{conflict}");
        assert!(conflict.is_without_effect());
        Ok(())
    });
    worked.expect("no other failure");
    store.close().expect("closed");
}

//! Lode through its C interface has the stores and the failures of Lode.

use std::ops::Bound;

use assay_driver::error::ErrorKind;
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{Driver, Durability, KeyKind, OpenSpec, Outcome, Scan, Storage};

use crate::stores::{PAYLOAD_SIZE, columns, open, record, spec};

fn driver(id: &str) -> Box<dyn Driver> {
    assay_drivers::find(id).expect("it is in this build")
}

#[test]
fn each_interface_reads_what_the_other_has_written() {
    for [writes, reads] in [["lode", "lode-c"], ["lode-c", "lode"]] {
        let [writes, reads] = [writes, reads].map(driver);
        let dir = tempfile::tempdir().expect("a directory");
        let opened = |driver: &dyn Driver, create| {
            open(driver, dir.path(), Storage::Disk, Durability::Process, create).expect("a store")
        };
        let store = opened(writes.as_ref(), true);
        let written =
            store.connect(&mut |connection| connection.insert(&record(7, [9; 8])).map(drop));
        written.expect("a record");
        store.close().expect("closed");
        let read = opened(reads.as_ref(), false).connect(&mut |connection| {
            let mut payload = [0; PAYLOAD_SIZE];
            assert_eq!(connection.get(&7u64.to_le_bytes(), &mut payload)?, Outcome::Done);
            assert_eq!(columns(&payload), [9; 8]);
            Ok(())
        });
        read.expect("a read");
    }
}

#[test]
fn a_table_with_other_columns_is_refused() {
    let driver = driver("lode-c");
    let dir = tempfile::tempdir().expect("a directory");
    let spec = |create| spec(driver.as_ref(), dir.path(), Storage::Disk, Durability::None, create);
    let wrong = |column, kind| {
        let columns = [("id", ColumnType::U64), (column, kind)];
        let name = spec(false).schema.name();
        OpenSpec { schema: Schema::new(name, &columns, 1), ..spec(true) }
    };
    driver.open(&wrong("a", ColumnType::U64)).expect("a store").close().expect("closed");
    for (column, kind) in [("b", ColumnType::U64), ("a", ColumnType::U32)] {
        let spec = OpenSpec { create: false, ..wrong(column, kind) };
        let refused = driver.open(&spec).err().expect("other columns").to_string();
        assert!(refused.contains("other columns"), "{refused}");
    }
    let more = driver.open(&spec(false)).err().expect("more columns").to_string();
    assert!(more.contains("other columns"), "{more}");
}

#[test]
fn failures_have_their_kinds() {
    let driver = driver("lode-c");
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
        let message = one.commit().expect_err("it has ended").to_string();
        assert!(message.contains("no transaction"), "{message}");
        Ok(())
    });
    worked.expect("no other failure");
    store.close().expect("closed");
}

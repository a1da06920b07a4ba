//! Disks without space.

use lode::simulation;
use lode::{Database, Durability, Error};

use super::common::content::{options, read};
use super::common::known::Known;
use super::common::tables::{TABLES, record};

#[test]
fn a_full_disk_loses_nothing() {
    for (capacity, mapping) in (20..60).flat_map(|at| [(at << 15, false), (at << 15, true)]) {
        let case = format!("{capacity} bytes, mapping {mapping}");
        let options = options(Durability::Commit).log_bytes(1 << 16);
        let mut known = Known::new(14);
        known.disk.set_mapping(mapping);
        (0..4).for_each(|at| known.create(at));
        known.disk.set_capacity(Some(capacity));
        let put = |db: &Database, at: usize, key: u32| {
            db.table(TABLES[at].0).and_then(|table| table.upsert(&record(at, key, key)))
        };
        let mut key = 0;
        loop {
            key += 1;
            match put(known.db(), key as usize % 4, key * 37 % 5_000) {
                Ok(_) => {
                    let records = known.content.get_mut(&(key as usize % 4)).expect("a table");
                    records.insert(key * 37 % 5_000, key * 37 % 5_000);
                }
                Err(Error::DiskFull { .. }) => break,
                Err(error) => panic!("{case}: {error:?}"),
            }
        }
        assert_eq!(read(known.db()).as_ref(), Ok(&known.content), "{case}");
        for (at, key) in (0..4).flat_map(|at| (0..3_000u32).step_by(50).map(move |key| (at, key))) {
            let deleted = known.db().table(TABLES[at].0).and_then(|t| t.delete(&key.to_le_bytes()));
            match deleted {
                Ok(there) => {
                    let before = known.content.get_mut(&at).expect("a table").remove(&key);
                    assert_eq!(there, before.is_some(), "{case}");
                }
                Err(Error::DiskFull { .. }) => {}
                Err(error) => panic!("{case}: {error:?}"),
            }
        }
        known.db().checkpoint().unwrap_or_else(|why| panic!("{case}: a checkpoint: {why}"));
        known.db().check().unwrap_or_else(|why| panic!("{case}: {why}"));
        match capacity >> 15 & 1 {
            0 => known.kill(),
            _ => {
                let closed = known.db.take().expect("it is open").close();
                closed.unwrap_or_else(|why| panic!("{case}: closing: {why}"));
            }
        }
        match simulation::open(&options, &known.disk, 1) {
            Ok(db) => assert_eq!(read(&db).as_ref(), Ok(&known.content), "{case}"),
            // There has to be space for a segment of the log.
            Err(Error::DiskFull { .. }) => {}
            Err(error) => panic!("{case}: opening: {error:?}"),
        }
        known.disk.set_capacity(None);
        let db = simulation::open(&options, &known.disk, 1).expect("there is space");
        assert_eq!(read(&db).as_ref(), Ok(&known.content), "{case}");
        for key in 0..200 {
            put(&db, key as usize % 4, key + 10_000).expect("there is space");
            known
                .content
                .get_mut(&(key as usize % 4))
                .expect("a table")
                .insert(key + 10_000, key + 10_000);
        }
        assert_eq!(read(&db).as_ref(), Ok(&known.content), "{case}");
        db.check().unwrap_or_else(|why| panic!("{case}: {why}"));
    }
}

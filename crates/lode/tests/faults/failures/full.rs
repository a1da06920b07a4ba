//! Disks without space.

use crate::reading::check;
use lode::simulation::{self, Mapping, Simulated};
use lode::{Builder, Database, Durability, Error, KeyKind, Schema, Type};

use crate::common::content::{options, read};
use crate::common::known::Known;
use crate::common::tables::{TABLES, record};

#[test]
fn a_full_disk_loses_nothing() {
    for (capacity, mapping) in
        (20..60).flat_map(|at| Mapping::ALL.map(|mapping| (at << 15, mapping)))
    {
        let case = format!("{capacity} bytes, mapping {mapping:?}");
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
            let deleted = known.db().table(TABLES[at].0).and_then(|t| t.delete(key.to_le_bytes()));
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
        check(known.db()).unwrap_or_else(|why| panic!("{case}: {why}"));
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
        check(&db).unwrap_or_else(|why| panic!("{case}: {why}"));
    }
}

/// Compaction gives back what others had reserved; an operation that changes something after it
/// asks for space again, so that a checkpoint always has enough.
#[test]
fn compaction_on_a_disk_that_fills_up_leaves_space_for_a_checkpoint() {
    for more in 0..40 {
        let mut known = Known::new(18);
        known.create(1);
        (0..500).for_each(|key| known.put(1, key, key));
        (0..500).filter(|key| key / 20 % 3 != 2).for_each(|key| known.delete(1, key));
        known.db().compact().expect("there is space");
        // Another program takes the rest.
        let names = known.disk.file_names();
        let sizes = names.iter().filter_map(|name| known.disk.file_bytes(name));
        let used = sizes.map(|bytes| bytes.len() as u64).sum::<u64>();
        known.disk.set_capacity(Some(used + more * 16_384));
        for key in 0..500 {
            let table = known.db().table("tree").expect("a table");
            match table.upsert(&record(1, key, 7)) {
                Ok(_) => known.content.get_mut(&1).expect("a table").insert(key, 7),
                Err(Error::DiskFull { .. }) => break,
                Err(error) => panic!("{more}: {error:?}"),
            };
        }
        known.db().checkpoint().unwrap_or_else(|why| panic!("{more}: a checkpoint: {why}"));
        match known.db().compact() {
            Ok(_) | Err(Error::DiskFull { .. }) => {}
            Err(error) => panic!("{more}: {error:?}"),
        }
        known.db().checkpoint().unwrap_or_else(|why| panic!("{more}: the next one: {why}"));
        check(known.db()).unwrap_or_else(|why| panic!("{more}: {why}"));
        assert_eq!(read(known.db()).as_ref(), Ok(&known.content), "{more}");
    }
}

/// Compaction that finds too few slots for the pages that it would have written again fails before
/// they count as changed. After that, no checkpoint would have enough.
#[test]
fn compaction_that_finds_no_space_leaves_checkpoints_theirs() {
    let mut refused = 0;
    for rounds in 0..24 {
        // As many pages at a time as are beyond need.
        let mut known = Known::with_memory(20, 32 << 20);
        known.create(1);
        (0..2_400).for_each(|key| known.put(1, key, key));
        known.checkpoint();
        // Each rewrite is farther behind, up to the end of the file.
        for round in 0..rounds {
            (0..30).for_each(|at| known.put(1, (at * 8 + round * 240) % 2_400, round));
            known.checkpoint();
        }
        let names = known.disk.file_names();
        let sizes = names.iter().filter_map(|name| known.disk.file_bytes(name));
        known.disk.set_capacity(Some(sizes.map(|bytes| bytes.len() as u64).sum()));
        match known.db().compact() {
            Ok(_) => {}
            Err(Error::DiskFull { .. }) => refused += 1,
            Err(error) => panic!("{rounds}: {error:?}"),
        }
        known.db().checkpoint().unwrap_or_else(|why| panic!("{rounds}: a checkpoint: {why}"));
        assert_eq!(read(known.db()).as_ref(), Ok(&known.content), "{rounds}");
    }
    assert!(refused > 0, "there was always space");
}

/// Tables with many columns make a long catalogue, which a checkpoint needs space for too. If there
/// is none, that is found out before anything is written.
#[test]
fn a_catalogue_that_finds_no_space_poisons_nothing() {
    let wide = |number: u32| {
        let build = Schema::build(&format!("table {number}")).key("id", Type::U64);
        let column =
            |build: Builder, at| build.column(&format!("a column with a long name {at}"), Type::U8);
        (0..400).fold(build, column).finish().expect("a schema")
    };
    for capacity in (60..90).map(|at| at << 15) {
        let known = Known::new(19);
        known.disk.set_capacity(Some(capacity));
        let mut count = 0;
        let why = loop {
            match known.db().create_table(&wide(count), KeyKind::Tree) {
                Ok(_) => count += 1,
                Err(why) => break why,
            }
        };
        assert!(matches!(why, Error::DiskFull { .. }), "{capacity} bytes: {why:?}");
        match known.db().checkpoint() {
            Ok(()) | Err(Error::DiskFull { .. }) => {}
            Err(why) => panic!("{capacity} bytes: {why:?}"),
        }
        known.disk.set_capacity(None);
        known.db().checkpoint().unwrap_or_else(|why| panic!("{capacity} bytes: {why}"));
        assert_eq!(known.db().table_names().len() as u32, count, "{capacity} bytes");
        check(known.db()).unwrap_or_else(|why| panic!("{capacity} bytes: {why}"));
    }
}

/// A tree of some seven hundred pages, none of which has been written out.
fn new_pages() -> Known {
    // Memory and log have room for all of it. So there is no checkpoint, and no segment of the log
    // ends where pages change again: then too, space is asked for.
    let options = options(Durability::Commit).memory_bytes(64 << 20);
    let options = options.log_bytes(64 << 20).segment_bytes(16 << 20);
    let mut known = Known::new(21);
    known.disk = Simulated::new(21);
    known.db = Some(simulation::open(&options, &known.disk, 21).expect("an empty disk"));
    known.create(1);
    for key in 0..5_000 {
        known.put(1, key, key);
        known.states.clear();
    }
    known
}

/// Another program takes all space but this.
fn leave(known: &Known, bytes: u64) {
    known.disk.set_capacity(Some(known.disk.used_bytes() + bytes));
}

/// Changes a record of each page, then others, until there is no space.
fn change_all_pages(known: &mut Known) {
    for key in (0..8).flat_map(|first| (first..5_000).step_by(8)) {
        let table = known.db().table("tree").expect("a table");
        match table.upsert(&record(1, key, 7)) {
            Ok(_) => known.content.get_mut(&1).expect("a table").insert(key, 7),
            Err(Error::DiskFull { .. }) => break,
            Err(error) => panic!("{error:?}"),
        };
    }
}

fn expect_checkpoint(known: &Known, case: &str) {
    known.db().checkpoint().unwrap_or_else(|why| panic!("{case}: a checkpoint: {why}"));
    check(known.db()).unwrap_or_else(|why| panic!("{case}: {why}"));
    assert_eq!(read(known.db()).as_ref(), Ok(&known.content), "{case}");
}

/// A checkpoint takes the space that was reserved for the pages that it writes. An operation that
/// changes them again asks for more, so that the next checkpoint has enough.
#[test]
fn pages_that_change_again_after_a_checkpoint_leave_space_for_the_next_one() {
    for more in (0..400).step_by(40) {
        let mut known = new_pages();
        known.checkpoint();
        leave(&known, more * 16_384);
        change_all_pages(&mut known);
        expect_checkpoint(&known, &format!("{more} more pages"));
    }
}

/// A page that has no slot yet and changes while a checkpoint is being made needs one for this
/// checkpoint and one for the next.
#[test]
fn new_pages_that_change_during_a_checkpoint_leave_space_for_the_next_one() {
    for (steps, changes_of_a_step) in [(0, 5_000), (1, 5_000), (0, 50), (1, 10), (5, 200)] {
        let mut known = new_pages();
        let db = known.db.take().expect("it is open");
        let mut checkpoint = simulation::Checkpoint::begin(&db).expect("space");
        leave(&known, 300 * 16_384);
        (0..steps).for_each(|_| assert_eq!(checkpoint.step(), Ok(true)));
        let mut changed = Vec::new();
        for (at, key) in (0..8).flat_map(|first| (first..5_000).step_by(8)).enumerate() {
            let table = db.table("tree").expect("a table");
            match table.upsert(&record(1, key, 7)) {
                Ok(_) => changed.push(key),
                Err(Error::DiskFull { .. }) => break,
                Err(error) => panic!("{error:?}"),
            };
            if at % changes_of_a_step == changes_of_a_step - 1 {
                let _ = checkpoint.step().expect("space");
            }
        }
        assert!(!changed.is_empty(), "there is some space");
        while checkpoint.step().expect("space") {}
        checkpoint.finish().expect("space");
        // What the log has given back is not free for long.
        leave(&known, 0);
        known.db = Some(db);
        known.content.get_mut(&1).expect("a table").extend(changed.into_iter().map(|key| (key, 7)));
        expect_checkpoint(&known, &format!("{steps} steps, {changes_of_a_step}"));
    }
}

/// A file that another process may have open by then keeps its length.
#[test]
fn a_write_after_closing_makes_no_file_longer() {
    let mut known = Known::small(22);
    let table = known.db().table("tree").expect("a table");
    known.db.take().expect("it is open").close().expect("space");
    let sizes = |known: &Known| -> Vec<_> {
        let names = known.disk.file_names();
        names.iter().map(|name| known.disk.file_bytes(name).map(|bytes| bytes.len())).collect()
    };
    let before = sizes(&known);
    assert_eq!(table.upsert(&record(1, 1, 1)).map(drop), Err(Error::Closed));
    assert_eq!(sizes(&known), before);
}

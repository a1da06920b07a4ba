//! Damaged pages of one table among others.

use std::collections::BTreeSet;

use crate::reading::check;
use lode::Error;
use lode::simulation::Fault;

use super::judge::{Outcome, judge};
use super::open;
use crate::common::content::{read_table, tables_of};
use crate::common::known::Known;
use crate::common::random::Random;
use crate::common::tables::{TABLES, record};

#[test]
fn a_damaged_page_of_a_table_leaves_the_others_readable() {
    let mut known = Known::small(4);
    known.close();
    let bytes = known.disk.file_bytes("data").expect("it is there");
    let (mut alone, mut together) = (BTreeSet::new(), 0);
    let mut random = Random(4);
    for place in 2..bytes.len() / 16_384 {
        let fork = known.disk.fork();
        let bit = (place as u64 * 16_384) * 8 + random.below(16_384 * 8);
        fork.flip_bit("data", bit);
        let judged = judge(&fork, &[&known.content]);
        match judged.unwrap_or_else(|why| panic!("bit {bit} of data: {why}")) {
            Outcome::Part(tables) if tables.len() == 1 => alone.extend(tables),
            Outcome::Part(_) => together += 1,
            Outcome::Refused | Outcome::Content(_) => {}
        }
    }
    // Each of them was the only one once.
    assert_eq!(alone, (0..5).collect());
    // What says where pages are is of several tables if they are small.
    assert!(together <= 1, "{together} pages are of several tables");
}

#[test]
fn a_damaged_table_says_so_and_the_others_can_be_written() {
    let mut known = Known::small(5);
    known.close();
    let bytes = known.disk.file_bytes("data").expect("it is there");
    let damaged = (2..bytes.len() as u64 / 16_384).filter_map(|place| {
        let fork = known.disk.fork();
        fork.flip_bit("data", place * 16_384 * 8 + 77);
        let db = open(&fork, 1).ok()?;
        let wrong: Vec<usize> =
            (0..5).filter(|at| read_table(&db, *at).is_err()).collect::<Vec<_>>();
        let [at] = wrong[..] else { return None };
        drop(db);
        Some((fork, at))
    });
    let mut seen = BTreeSet::new();
    for (disk, damaged) in damaged {
        let db = open(&disk, 1).expect("the others are");
        let why = read_table(&db, damaged).expect_err("it is damaged");
        let Error::Corrupt { what, .. } = &why else { panic!("{why}") };
        assert!(what.contains("page"), "{what}");
        assert!(check(&db).is_err());
        let mut content = known.content.clone();
        content.remove(&damaged);
        for (at, records) in &mut content {
            let table = db.table(TABLES[*at].0).expect("it is not damaged");
            table.upsert(&record(*at, 77_777, 1)).expect("it can be written");
            records.insert(77_777, 1);
        }
        // The others are as they should be, now and after the database was closed and opened again.
        db.close().expect("a damaged table does not keep it from being closed");
        let db = open(&disk, 1).expect("the others are");
        for (at, records) in &content {
            assert_eq!(read_table(&db, *at).as_ref(), Ok(records));
        }
        assert!(read_table(&db, damaged).is_err(), "it is still damaged");
        // It can be dropped, and that comes back after a crash.
        db.drop_table(TABLES[damaged].0).expect("a drop does not read it");
        disk.fail(Fault::Crash { at: disk.operations() });
        drop(db);
        disk.crash(1);
        let db = open(&disk, 1).expect("the others are");
        assert_eq!(tables_of(&db), content.keys().copied().collect::<Vec<_>>());
        for (at, records) in &content {
            assert_eq!(read_table(&db, *at).as_ref(), Ok(records));
        }
        seen.insert(damaged);
    }
    assert_eq!(seen, (0..5).collect());
}

//! Checks the cost of snapshots: memory that is bounded and given back, and nothing for writers.

use crate::reading::{check, each_row, nth};
use lode::{Database, Error, KeyKind, Options, ReadTable, Schema, Table, Type, Value};

use crate::watched::watched;

const BUDGET: u64 = 64 << 20;
const PAGE: u64 = 16 << 10;
const RECORDS: u64 = 20_000;

/// A table of some 20 MiB, more than the images of snapshots may take up.
fn filled(db: &Database) -> Table {
    let schema = Schema::build("t").key("id", Type::U64).column("rest", Type::Bytes(1_000));
    let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree).expect("room");
    write_all(&table, 0);
    table
}

/// Writes every record of a table.
fn write_all(table: &Table, round: u8) {
    write_some(table, round, RECORDS);
}

fn write_some(table: &Table, round: u8, count: u64) {
    for id in 0..count {
        let record = [&id.to_le_bytes()[..], &[round; 1_000]].concat();
        table.upsert(&record).expect("writers are not refused for the sake of snapshots");
    }
}

/// Does something with a database in memory and with one in a directory.
fn in_both(test: impl Fn(&Database)) {
    let options = Options::new().memory_bytes(BUDGET).durability(lode::Durability::None);
    watched(|| test(&options.in_memory().expect("memory")));
    let directory = tempfile::tempdir().expect("a directory");
    let db = options.open(directory.path()).expect("an empty directory");
    watched(|| test(&db));
    check(&db).expect("nothing is wrong with it");
}

/// Reads all that there was at the moment of a snapshot.
fn read(snapshot: &lode::Snapshot, table: &Table, round: u8) -> Result<u64, Error> {
    let mut count = 0;
    each_row(table.at(snapshot).iter(), &mut |record| {
        assert!(record[8..].iter().all(|byte| *byte == round), "a record of another moment");
        count += 1;
        Ok(true)
    })?;
    Ok(count)
}

#[test]
fn snapshots_hold_no_more_than_a_quarter_of_the_budget_and_the_oldest_expire() {
    in_both(|db| {
        let table = filled(db);
        let mut snapshots = Vec::new();
        for round in 1..6 {
            snapshots.push((db.snapshot(), round - 1));
            write_all(&table, round);
            let taken = db.statistics().snapshot_bytes;
            // What has expired goes a little later.
            assert!(taken <= BUDGET / 4 + 200 * PAGE, "{taken}");
        }
        for (snapshot, round) in &snapshots {
            let old = read(snapshot, &table, *round);
            assert!(matches!(old, Err(Error::SnapshotTooOld { .. })), "{old:?}");
        }
        // A new one sees what there is.
        assert_eq!(read(&db.snapshot(), &table, 5), Ok(RECORDS));
        drop(snapshots);
        write_all(&table, 6);
        db.checkpoint().expect("nothing is wrong with the disk");
        drop(db.snapshot());
        assert_eq!(db.statistics().snapshot_bytes, 0);
    });
}

#[test]
fn a_snapshot_that_fits_is_right_however_often_the_table_changes_after_it() {
    in_both(|db| {
        let table = filled(db);
        // Another table is larger than the limit; this one is not.
        let schema = Schema::build("small").key("id", Type::U64).column("n", Type::U8);
        let small = db.create_table(&schema.finish().expect("a schema"), KeyKind::Hash);
        let small = small.expect("room");
        for id in 0..2_000u64 {
            small.insert(&[&id.to_le_bytes()[..], &[7]].concat()).expect("room");
        }
        let snapshot = db.snapshot();
        for round in 0..20 {
            for id in 0..2_000u64 {
                small.update(id.to_le_bytes(), nth(1), &[round]).expect("room");
            }
            // Short ones come and go.
            drop(db.snapshot());
        }
        assert_eq!(read(&snapshot, &small, 7), Ok(2_000));
        assert_eq!(read(&snapshot, &table, 0), Ok(RECORDS));
    });
}

/// Bytes of memory that this process has, without those of files: how much of the log is mapped
/// depends on when a thread makes a checkpoint.
#[cfg(target_os = "linux")]
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let kib_of = |name: &str| {
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)).expect("Linux has it");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
    };
    (kib_of("VmRSS:") - kib_of("RssFile:")) << 10
}

/// The variable that marks the process of the test below.
#[cfg(target_os = "linux")]
const ALONE: &str = "LODE_TEST_ALONE";

/// In a process of its own, so that no other test has memory there.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_a_snapshot_is_given_back() {
    if std::env::var_os(ALONE).is_none() {
        let name = "snapshots::the_memory_of_a_snapshot_is_given_back";
        let mut process = std::process::Command::new(std::env::current_exe().expect("this test"));
        let output = process.args(["--exact", name]).env(ALONE, "1").output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    in_both(|db| {
        let table = filled(db);
        write_all(&table, 1);
        // Threads that ask for memory ahead of need, however late, have done so after this.
        let snapshot = db.snapshot();
        write_some(&table, 0, 8_000);
        drop(snapshot);
        db.checkpoint().expect("nothing is wrong with the disk");
        let (before, mut least_taken) = (resident_bytes(), u64::MAX);
        for round in 2..6 {
            let snapshot = db.snapshot();
            write_some(&table, round, 8_000);
            let taken = db.statistics().snapshot_bytes;
            assert!(taken > 6 << 20, "{taken}");
            least_taken = least_taken.min(taken);
            assert!(resident_bytes() > before + taken / 2, "it takes up memory");
            drop(snapshot);
            db.checkpoint().expect("nothing is wrong with the disk");
            assert_eq!(db.statistics().snapshot_bytes, 0);
        }
        let after = resident_bytes();
        // A megabyte stays for the next snapshot, and the heap of the process has some. What a
        // snapshot took is more.
        assert!(after < before + least_taken, "{before} before, {after} after, {least_taken}");
    });
}

/// Images of a snapshot have a quarter of the memory, and a commit changes as many pages as it may.
/// Those on the way to a record have to be in memory together all the same.
#[test]
fn a_commit_goes_on_beside_the_images_of_a_snapshot() {
    const COUNT: u64 = 2_000;
    let schema =
        Schema::build("t").key("id", Type::Bytes(1_000)).column("rest", Type::Bytes(1_500));
    let schema = schema.finish().expect("a schema");
    let record = |at: u64, value: u8| {
        let mut record = vec![value; 2_500];
        record[..1_000].fill(0);
        record[..8].copy_from_slice(&at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        record
    };
    watched(|| {
        let directory = tempfile::tempdir().expect("a directory");
        let options = Options::new().memory_bytes(4 << 20).durability(lode::Durability::Process);
        let db = options.open(directory.path()).expect("a new database");
        let table = db.create_table(&schema, KeyKind::Tree).expect("room");
        (0..COUNT).for_each(|at| assert_eq!(table.insert(&record(at, 1)), Ok(true)));
        db.checkpoint().expect("a disk");
        let snapshot = db.snapshot();
        for value in 2..10 {
            let written = (0..COUNT).step_by(10).map(|at| record(at + u64::from(value), value));
            match table.upsert_all(written) {
                Ok(new) => assert_eq!(new, 0),
                Err(error) => assert!(matches!(error, Error::Full { .. }), "{error}"),
            }
        }
        drop(snapshot);
        assert_eq!(table.len(), Ok(COUNT));
    });
}

/// Its pages may be those of a table that was dropped: no record of that is taken for one
/// of its own.
#[test]
fn a_table_is_not_there_at_a_moment_before_it_was_created() {
    in_both(|db| {
        let kinds = [KeyKind::Hash, KeyKind::Tree];
        let rests = [Type::Bytes(8), Type::VarText(1_000)];
        for (number, (kind, rest)) in
            kinds.iter().flat_map(|kind| rests.iter().map(move |rest| (*kind, *rest))).enumerate()
        {
            let create = |name: &str| {
                let schema = Schema::build(name).key("id", Type::U64).column("rest", rest);
                db.create_table(&schema.finish().expect("a schema"), kind).expect("room")
            };
            let fill = |table: &Table, ids: std::ops::Range<u64>| {
                for id in ids {
                    let rest = if rest == Type::Bytes(8) {
                        Value::Bytes(b"12345678")
                    } else {
                        Value::Text("12345678")
                    };
                    let record = table.schema().pack(&[Value::Unsigned(id), rest]);
                    assert_eq!(table.insert(&record.expect("it fits")), Ok(true));
                }
            };
            let first = db.snapshot();
            let old = create(&format!("old_{number}"));
            fill(&old, 0..2_000);
            let second = db.snapshot();
            db.drop_table(old.schema().name()).expect("it is there");
            let new = create(&format!("new_{number}"));
            let third = db.snapshot();
            fill(&new, 500..1_500);
            for (snapshot, table) in [(&first, &old), (&first, &new), (&second, &new)] {
                let at = table.at(snapshot);
                let is_wrong = |error: Error| matches!(error, Error::NoTable { .. });
                assert!(at.len().is_err_and(is_wrong), "{:?}", at.len());
                assert!(at.len_estimate().is_err_and(is_wrong));
                assert!(at.get(700_u64).is_err_and(is_wrong));
                assert!(at.is_empty().is_err_and(is_wrong));
                assert!(at.iter().next().is_some_and(|row| row.is_err_and(is_wrong)));
                let transaction = db.begin_at(snapshot);
                let within = table.within(&transaction);
                assert!(within.len().is_err_and(is_wrong));
                assert!(within.get(700_u64).is_err_and(is_wrong));
                assert!(within.iter().next().is_some_and(|row| row.is_err_and(is_wrong)));
            }
            assert_eq!(old.at(&second).len(), Ok(2_000));
            assert_eq!(new.at(&third).len(), Ok(0));
            assert_eq!(new.len(), Ok(1_000));
            db.drop_table(new.schema().name()).expect("it is there");
        }
    });
}

//! The change feed: a copy that follows it has what the database has, over crashes of either.

mod behind;
mod beside;
mod copy;
mod damage;
mod work;

use lode::simulation::{self, Fault, Simulated};
use lode::{Change, Changes, Database, Durability, Error, KeyKind, Options, Position};

use crate::effort::effort;
use copy::Copy;
use work::{End, Work, schema};

const LEVELS: [Durability; 3] = [Durability::Process, Durability::Periodic, Durability::Commit];

/// Compares a copy that has all changes with the database.
fn expect_equal(copy: &Copy, work: &Work, what: &str) {
    let wanted = Copy::of(&work.db);
    for (name, table) in &wanted.tables {
        assert_eq!(copy.tables.get(name), Some(table), "{what}: table {name}");
    }
    assert_eq!(copy.tables.len(), wanted.tables.len(), "{what}");
}

fn since(work: &Work, position: Option<Position>) -> Changes {
    work.db.changes(position).expect("they are kept")
}

#[test]
fn a_copy_that_follows_the_changes_has_what_the_database_has() {
    for seed in 0..effort("LODE_CHANGES", 12, 300) {
        let mut work = Work::new(seed, LEVELS[seed as usize % 3]);
        let (mut copy, mut position) = (Copy::default(), None);
        let mut live = Copy::default();
        let mut changes = since(&work, None);
        for round in 0..30 {
            for _ in 0..40 {
                work.step();
            }
            work.sweep();
            // One reader continues, and another starts where it was the last time.
            live.follow(&mut changes).expect("they are kept");
            position = Some(copy.follow(&mut since(&work, position)).expect("they are kept"));
            assert_eq!(position, Some(changes.reached()));
            assert_eq!(position, Some(work.db.position().expect("it has one")));
            let what = format!("seed {seed}, round {round}");
            expect_equal(&copy, &work, &what);
            expect_equal(&live, &work, &what);
            if round % 5 == 4 {
                work.reopen(if round % 2 == 0 { End::Closed } else { End::Killed });
                work.sweep();
                live.follow(&mut since(&work, position)).expect("they are kept");
                position = Some(copy.follow(&mut since(&work, position)).expect("they are kept"));
                expect_equal(&copy, &work, &what);
                changes = since(&work, position);
            }
        }
        let mut whole = Copy::default();
        whole.follow(&mut since(&work, None)).expect("all are kept");
        expect_equal(&whole, &work, &format!("seed {seed}, from the start"));
    }
}

#[test]
fn a_power_cut_takes_nothing_back_that_a_reader_has_synced() {
    let mut lost = 0;
    for seed in 0..effort("LODE_CHANGES", 30, 600) {
        let mut work = Work::new(seed, LEVELS[seed as usize % 3]);
        let (mut copy, mut position) = (Copy::default(), None);
        for round in 0..8 {
            for _ in 0..1 + (seed * 7 + round * 5) % 30 {
                work.step();
            }
            let mut changes = since(&work, position);
            position = Some(copy.follow(&mut changes).expect("they are kept"));
            let is_synced = (seed + round) % 2 == 0;
            if is_synced {
                changes.sync().expect("nothing is wrong with the disk");
            }
            drop(changes);
            work.reopen(End::PowerCut);
            match work.db.changes(position) {
                Ok(mut changes) => {
                    position = Some(copy.follow(&mut changes).expect("they are kept"));
                }
                Err(Error::OtherPosition { position: at }) if !is_synced => {
                    assert_eq!(Some(at), position);
                    lost += 1;
                    // A new copy.
                    copy = Copy::default();
                    position = Some(copy.follow(&mut since(&work, None)).expect("all are kept"));
                }
                Err(error) => panic!("seed {seed}, round {round}: {error}"),
            }
            work.sweep();
            position = Some(copy.follow(&mut since(&work, position)).expect("they are kept"));
            expect_equal(&copy, &work, &format!("seed {seed}, round {round}"));
        }
    }
    assert!(lost > 0, "some cuts take back what was not synced");
}

/// A database on a disk with one table, and a small log.
fn small(disk: &Simulated, options: Options) -> Database {
    let db = simulation::open(&options, disk, 1).expect("it can be opened");
    if db.table_names().is_empty() {
        db.create_table(&schema("hash"), KeyKind::Hash).expect("a new table");
    }
    db
}

fn put(db: &Database, id: u32) {
    let mut record = vec![0; 16];
    record[..4].copy_from_slice(&id.to_le_bytes());
    db.table("hash").and_then(|table| table.upsert(&record)).expect("there is room");
}

#[test]
fn what_a_killed_process_has_left_of_the_log_is_kept() {
    let disk = Simulated::new(1);
    let options = Options::new().memory_bytes(2 << 20).segment_bytes(4 << 20).keep_changes(1 << 20);
    let db = small(&disk, options.clone());
    (0..20_000).for_each(|id| put(&db, id));
    simulation::checkpoint(&db).expect("space");
    let start = db.position().expect("it has one");
    (0..9).for_each(|id| put(&db, id));
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    // Nothing is lost that the process had handed over.
    let disk = disk.fork();
    let db = small(&disk, options.clone());
    assert_eq!(db.changes(start).map(Iterator::count), Ok(9));
    // It stays, though no process writes to those files any more.
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    disk.crash(7);
    let db = small(&disk, options);
    assert_eq!(db.changes(start).map(Iterator::count), Ok(9));
}

/// The bytes of the files of the log.
fn log_bytes(disk: &Simulated) -> usize {
    let names = disk.file_names().into_iter().filter(|name| name.starts_with("log-"));
    names.map(|name| disk.file_bytes(&name).expect("it is there").len()).sum()
}

#[test]
fn as_many_bytes_are_kept_as_were_asked_for_and_older_positions_are_refused() {
    let disk = Simulated::new(1);
    let options = Options::new().memory_bytes(2 << 20).segment_bytes(1 << 16).keep_changes(1 << 20);
    let mut db = small(&disk, options.clone());
    let start = db.position().expect("it has one");
    let mut lagging = db.changes(start).expect("they are kept");
    let mut most = 0;
    for round in 0..60 {
        (0..1_000).for_each(|id| put(&db, id));
        simulation::checkpoint(&db).expect("space");
        most = most.max(log_bytes(&disk));
        if round % 20 == 19 {
            db.close().expect("nothing is wrong with the disk");
            db = small(&disk, options.clone());
        }
    }
    assert!(most < 5 << 18, "{most} bytes");
    assert!(log_bytes(&disk) > 3 << 18, "{} bytes", log_bytes(&disk));
    let mut kept = db.changes(None).expect("some are kept");
    let oldest = kept.reached();
    assert_eq!(
        db.changes(start).map(drop),
        Err(Error::ChangesGone { since: start, oldest }),
        "the first ones were given up"
    );
    let count =
        kept.by_ref().map(|commit| commit.expect("it is whole").changes.len()).sum::<usize>();
    assert!((5_000..30_000).contains(&count), "{count} changes are kept");
    assert_eq!(Ok(kept.reached()), db.position());
    let behind = lagging.by_ref().find_map(Result::err);
    assert_eq!(behind, Some(Error::ChangesGone { since: lagging.reached(), oldest }));
    // What is asked for is remembered, and ends when that is asked for.
    db.close().expect("nothing is wrong with the disk");
    let plain = Options::new().memory_bytes(2 << 20);
    let db = small(&disk, plain.clone());
    let count = db.changes(None).expect("some are kept").count();
    assert!((5_000..30_000).contains(&count), "{count} changes are kept");
    db.close().expect("nothing is wrong with the disk");
    let db = small(&disk, plain.keep_changes(0));
    assert_eq!(db.changes(oldest).map(drop), Err(Error::ChangesNotKept));
    assert!(log_bytes(&disk) < 1 << 18, "{} bytes", log_bytes(&disk));
}

#[test]
fn a_segment_that_has_more_bytes_than_were_asked_for_is_kept() {
    let disk = Simulated::new(1);
    let options = Options::new().memory_bytes(128 << 20).keep_changes(1 << 20);
    let db = small(&disk, options.clone());
    let since = db.position().expect("it has one");
    // A commit is in one segment, however long it is.
    let records = (0..120_000u32).map(|id| [id.to_le_bytes(), [0; 4], [0; 4], [0; 4]].concat());
    let inserted = db.table("hash").and_then(|table| table.insert_all(records));
    assert_eq!(inserted, Ok(120_000));
    let reached = db.position();
    db.close().expect("nothing is wrong with the disk");
    let db = small(&disk, options);
    assert!(log_bytes(&disk) > 2 << 20, "{} bytes", log_bytes(&disk));
    let changes = db.changes(since).expect("they are kept");
    let commits: Vec<_> = changes.map(|commit| commit.expect("it is whole")).collect();
    assert_eq!(commits.iter().map(|commit| commit.changes.len()).sum::<usize>(), 120_000);
    assert_eq!(commits.last().map(|commit| commit.position), reached.ok());
}

#[test]
fn changes_are_kept_where_that_was_asked_for_only() {
    let not_kept =
        |db: &Database| assert_eq!(db.changes(None).map(drop), Err(Error::ChangesNotKept));
    not_kept(&Database::in_memory().expect("memory"));
    let options = Options::new().memory_bytes(2 << 20);
    not_kept(&small(&Simulated::new(1), options.clone()));
    let unlogged = options.clone().durability(Durability::None).keep_changes(1 << 20);
    let disk = Simulated::new(1);
    // What was done until changes are kept may be in no log, so no position is before them.
    for options in [&unlogged, &options] {
        let db = small(&disk, options.clone());
        put(&db, 1);
        not_kept(&db);
        assert_eq!(db.position(), Err(Error::ChangesNotKept));
        db.close().expect("nothing is wrong with the disk");
        let to_read = simulation::open_read_only(options, &disk, 1).expect("it was closed");
        assert_eq!(to_read.position(), Err(Error::ChangesNotKept));
    }
    let db = small(&disk, options.clone().keep_changes(1 << 20));
    put(&db, 2);
    let commits: Vec<_> = db.changes(None).expect("they are kept").collect();
    let [Ok(commit)] = &commits[..] else { panic!("{commits:?}") };
    let [Change::Row(row)] = &commit.changes[..] else { panic!("{commit:?}") };
    assert_eq!((row.before_bytes(), row.key()), (None, &2u32.to_le_bytes()[..]));
    // What happens at level `None` is not logged, so the changes before are of no use.
    let position = db.position().expect("it has one");
    db.close().expect("nothing is wrong with the disk");
    small(&disk, unlogged).close().expect("nothing is wrong with the disk");
    let db = small(&disk, options.keep_changes(1 << 20));
    assert!(matches!(db.changes(position).map(drop), Err(Error::ChangesGone { .. })));
}

#[test]
fn positions_of_other_databases_and_of_no_commit_are_refused() {
    let options = Options::new().memory_bytes(2 << 20).keep_changes(1 << 20);
    let (disk, other) = (Simulated::new(1), Simulated::new(2));
    // Another database has another number, which the random number decides on.
    simulation::open(&options, &other, 2).and_then(Database::close).expect("an empty disk");
    let (db, other) = (small(&disk, options.clone()), small(&other, options));
    (0..9).for_each(|id| put(&db, id));
    (0..9).for_each(|id| put(&other, id));
    let own = db.position().expect("it has one");
    let others = other.position().expect("it has one");
    let between = own.to_string().replacen('-', "-1", 1);
    let beyond = own.to_string().replacen(char::is_numeric, "9", 1);
    for wrong in [others, between.parse().expect("a position"), beyond.parse().expect("one")] {
        let refused = db.changes(wrong).map(drop);
        assert_eq!(refused, Err(Error::OtherPosition { position: wrong }));
    }
    assert_eq!(db.changes(own).map(Iterator::count), Ok(0));
}

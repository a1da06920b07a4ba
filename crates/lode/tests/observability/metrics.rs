//! Each metric moves by what it counts.

use std::path::Path;
use std::time::Duration;

use lode::simulation::{self, Fault, FaultKind, Simulated};
use lode::{
    Database, Durability, Error, KeyKind, Options, ReadTable, Result, Schema, Type, observability,
};

use crate::support::{Metrics, Moved, open, options, record, table};

/// The directory that databases on simulated disks name.
const DISK: &str = "a simulated disk";

const PAGE_BYTES: u64 = 16 << 10;

fn on_disk(metrics: &Metrics) -> Moved {
    metrics.moved(DISK)
}

#[test]
fn commits_that_have_written_are_counted_and_single_writes_are_not() -> Result<()> {
    let metrics = Metrics::new();
    let db = metrics.record(Database::in_memory)?;
    let table = table(&db);
    for id in 0..100 {
        table.insert(&record(id, 1))?;
        table.upsert(&record(id, 2))?;
        table.get(id)?;
    }
    table.delete(5)?;
    db.begin().commit()?;
    let reading = db.begin();
    table.within(&reading).get(7)?;
    reading.commit()?;
    let none: [[u8; 0]; 0] = [];
    table.insert_all(none)?;
    assert_eq!(table.insert_all([record(7, 3)]), Ok(0));
    let moved = metrics.moved("memory");
    assert_eq!(moved.counter("lode_commits_total"), 0);
    assert_eq!(moved.durations("lode_commit_duration_seconds"), 0);

    for id in 100..103 {
        db.transact(|transaction| transaction.insert(&table, &record(id, 1)).map(drop))?;
    }
    let transaction = db.begin();
    transaction.delete(&table, 7)?;
    transaction.commit_with(Durability::Commit)?;
    table.insert_all([record(200, 1), record(201, 1)])?;
    table.upsert_all([record(200, 1)])?;
    let moved = metrics.moved("memory");
    assert_eq!(moved.counter("lode_commits_total"), 6);
    assert_eq!(moved.durations("lode_commit_duration_seconds"), 6);
    assert_eq!(moved.counter("lode_conflicts_total"), 0);
    Ok(())
}

#[test]
fn conflicts_are_counted_when_a_commit_is_refused_or_an_attempt_is_repeated() -> Result<()> {
    let metrics = Metrics::new();
    let db = metrics.record(Database::in_memory)?;
    let table = table(&db);
    (0..2).try_for_each(|id| table.insert(&record(id, 1)).map(drop))?;
    let conflicts = || metrics.moved("memory").counter("lode_conflicts_total");
    let transaction = db.begin();
    transaction.upsert(&table, &record(0, 2))?;
    table.upsert(&record(0, 3))?;
    assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
    assert_eq!(conflicts(), 1);

    // Its commit is refused twice.
    let mut attempts = 0;
    db.transact(|transaction| {
        attempts += 1;
        transaction.upsert(&table, &record(0, 4))?;
        if attempts <= 2 {
            table.upsert(&record(0, attempts))?;
        }
        Ok::<_, Error>(())
    })?;
    assert_eq!((attempts, conflicts()), (3, 2));

    // A read of it finds that another one is out of date.
    let mut attempts = 0;
    db.transact(|transaction| {
        attempts += 1;
        table.within(transaction).get(0)?;
        if attempts == 1 {
            db.transact(|other| {
                other.upsert(&table, &record(0, 5))?;
                other.upsert(&table, &record(1, 5)).map(drop)
            })?;
        }
        table.within(transaction).get(1).map(drop)
    })?;
    assert_eq!((attempts, conflicts()), (2, 1));
    Ok(())
}

#[test]
fn syncs_of_the_log_are_counted() -> Result<()> {
    let metrics = Metrics::new();
    let db = metrics.record(|| open(&options(Durability::Commit), &Simulated::new(1)));
    let table = table(&db);
    metrics.moved(DISK);
    (0..10).try_for_each(|id| table.insert(&record(id, 1)).map(drop))?;
    let moved = on_disk(&metrics);
    assert_eq!(moved.counter("lode_syncs_total"), 10);
    assert_eq!(moved.durations("lode_sync_duration_seconds"), 10);
    table.insert_all((10..20).map(|id| record(id, 1)))?;
    assert_eq!(on_disk(&metrics).counter("lode_syncs_total"), 1);
    Ok(())
}

#[test]
fn checkpoints_are_counted_and_publish_the_space() -> Result<()> {
    let metrics = Metrics::new();
    let disk = Simulated::new(1);
    let db = metrics.record(|| open(&options(Durability::Process), &disk));
    let table = table(&db);
    let opened = on_disk(&metrics);
    assert_eq!(opened.counter("lode_checkpoints_total"), 0);
    assert_eq!(opened.durations("lode_open_duration_seconds"), 1);
    (0..1_000).try_for_each(|id| table.insert(&record(id, 1)).map(drop))?;
    assert_eq!(on_disk(&metrics).gauge("lode_page_bytes"), 0, "nothing is published yet");
    let before = db.statistics();
    assert!(before.changed_bytes > 500_000, "{before:?}");
    for _ in 0..3 {
        simulation::checkpoint(&db)?;
    }
    let moved = on_disk(&metrics);
    assert_eq!(moved.counter("lode_checkpoints_total"), 3);
    assert_eq!(moved.durations("lode_checkpoint_duration_seconds"), 3);
    let now = db.statistics();
    assert_eq!(moved.counter("lode_data_written_bytes_total"), now.data_written_bytes);
    assert_eq!(now.data_written_bytes, before.data_written_bytes + before.changed_bytes);
    let gauges = [
        ("lode_page_bytes", now.page_bytes),
        ("lode_changed_bytes", 0),
        ("lode_snapshot_bytes", now.snapshot_bytes),
        ("lode_transaction_bytes", now.transaction_bytes),
        ("lode_data_bytes", now.data_bytes),
        ("lode_data_used_bytes", now.data_used_bytes),
        ("lode_log_bytes", now.log_bytes),
    ];
    for (name, bytes) in gauges {
        assert_eq!(moved.gauge(name), bytes, "{name}");
    }
    table.insert(&record(1_000, 1))?;
    let transaction = db.begin();
    transaction.insert(&table, &record(1_001, 1))?;
    let snapshot = db.snapshot();
    table.upsert(&record(0, 2))?;
    simulation::checkpoint(&db)?;
    table.upsert(&record(0, 3))?;
    simulation::checkpoint(&db)?;
    let (moved, now) = (on_disk(&metrics), db.statistics());
    assert!(now.snapshot_bytes > 0 && now.transaction_bytes > 0, "{now:?}");
    assert_eq!(moved.gauge("lode_snapshot_bytes"), now.snapshot_bytes);
    assert_eq!(moved.gauge("lode_transaction_bytes"), now.transaction_bytes);
    drop((transaction, snapshot));
    db.close()?;
    let moved = on_disk(&metrics);
    assert_eq!(moved.counter("lode_checkpoints_total"), 1);
    gauges.iter().for_each(|(name, _)| assert_eq!(moved.gauge(name), 0, "{name}"));
    Ok(())
}

#[test]
fn pages_that_leave_memory_are_counted() -> Result<()> {
    let metrics = Metrics::new();
    let options = options(Durability::Process).memory_bytes(2 << 20);
    let db = metrics.record(|| open(&options, &Simulated::new(1)));
    let table = table(&db);
    (0..10_000).try_for_each(|id| table.insert(&record(id, 1)).map(drop))?;
    simulation::checkpoint(&db)?;
    let before = db.statistics();
    on_disk(&metrics);
    for id in 0..10_000 {
        assert!(table.contains(id)?);
    }
    simulation::checkpoint(&db)?;
    let (moved, after) = (on_disk(&metrics), db.statistics());
    let read_bytes = after.data_read_bytes - before.data_read_bytes;
    assert!(read_bytes > 3 << 20, "{read_bytes}");
    assert_eq!(moved.counter("lode_data_read_bytes_total"), read_bytes);
    // Each page that was read is in memory, or has left it.
    let gone_bytes = read_bytes + before.page_bytes - after.page_bytes;
    assert_eq!(moved.counter("lode_evictions_total"), gone_bytes / PAGE_BYTES);
    Ok(())
}

#[test]
fn a_write_that_waits_for_room_in_the_log_is_counted_with_that_reason() -> Result<()> {
    let metrics = Metrics::new();
    let options = options(Durability::Process).log_bytes(1 << 20).segment_bytes(1 << 18);
    let disk = Simulated::new(1);
    let db = metrics.record(|| open(&options, &disk));
    let table = table(&db);
    on_disk(&metrics);
    let last = || disk.file_names().into_iter().filter(|name| name.starts_with("log-")).max();
    let number = |name: Option<String>| name.map_or(0, |name| name[4..].parse().expect("a number"));
    let first: u64 = number(last());
    (0..20_000).try_for_each(|id| table.upsert(&record(id % 100, 1)).map(drop))?;
    let moved = on_disk(&metrics);
    let stalls = moved.counter("lode_stalls_total log");
    assert!(stalls >= 5, "{stalls}");
    assert_eq!(moved.durations("lode_stall_duration_seconds log"), stalls);
    // No thread makes checkpoints here.
    assert_eq!(stalls, moved.counter("lode_checkpoints_total"));
    assert_eq!(moved.counter("lode_stalls_total segment"), number(last()) - first);
    assert_eq!(moved.counter("lode_stalls_total memory"), 0);
    assert_eq!(moved.counter("lode_stalls_total space"), 0);
    Ok(())
}

#[test]
fn a_write_that_waits_for_memory_is_counted_with_that_reason() -> Result<()> {
    let metrics = Metrics::new();
    let options = options(Durability::None).memory_bytes(2 << 20);
    let db = metrics.record(|| open(&options, &Simulated::new(1)));
    let table = table(&db);
    (0..10_000).try_for_each(|id| table.insert(&record(id, 1)).map(drop))?;
    let moved = on_disk(&metrics);
    let stalls = moved.counter("lode_stalls_total memory");
    assert!(stalls >= 5, "{stalls}");
    assert_eq!(moved.durations("lode_stall_duration_seconds memory"), stalls);
    assert_eq!(moved.counter("lode_stalls_total log"), 0);
    Ok(())
}

#[test]
fn a_write_that_waits_for_space_is_counted_with_that_reason() -> Result<()> {
    let metrics = Metrics::new();
    let disk = Simulated::new(1);
    let db = metrics.record(|| open(&options(Durability::None), &disk));
    let table = table(&db);
    let write_all =
        |content| (0..8_000).try_for_each(|id| table.upsert(&record(id, content)).map(drop));
    write_all(1)?;
    simulation::checkpoint(&db)?;
    on_disk(&metrics);
    disk.set_capacity(Some(disk.used_bytes()));
    let refused = (2..10).find_map(|content| write_all(content).err());
    assert!(matches!(refused, Some(Error::DiskFull { .. }) | None), "{refused:?}");
    let moved = on_disk(&metrics);
    let stalls = moved.counter("lode_stalls_total space");
    assert!(stalls >= 1, "{refused:?}");
    assert_eq!(moved.durations("lode_stall_duration_seconds space"), stalls);
    Ok(())
}

#[test]
fn a_database_is_poisoned_by_a_failed_sync_until_it_is_closed() -> Result<()> {
    let metrics = Metrics::new();
    let disk = Simulated::new(1);
    let db = metrics.record(|| open(&options(Durability::Commit), &disk));
    let table = table(&db);
    let before = on_disk(&metrics);
    assert_eq!(before.gauge("lode_poisoned"), 0);
    disk.fail(Fault::Error { at: disk.operations(), kind: FaultKind::SyncFails });
    assert!(matches!(table.insert(&record(1, 1)), Err(Error::Poisoned { .. })));
    let moved = on_disk(&metrics);
    assert_eq!(moved.gauge("lode_poisoned"), 1);
    assert_eq!(moved.counter("lode_syncs_total"), 0, "it was none");
    assert!(db.close().is_err());

    // The recorder would set the gauge back if it was read in between.
    let metrics = Metrics::new();
    let disk = Simulated::new(2);
    let db = metrics.record(|| open(&options(Durability::Commit), &disk));
    disk.fail(Fault::Error { at: disk.operations(), kind: FaultKind::SyncFails });
    let schema = Schema::build("byte").key("id", Type::U8).finish()?;
    assert!(db.create_table(&schema, KeyKind::Hash).is_err());
    assert!(db.close().is_err());
    assert_eq!(on_disk(&metrics).gauge("lode_poisoned"), 0);
    Ok(())
}

#[test]
fn frames_that_are_replayed_are_counted() -> Result<()> {
    let metrics = Metrics::new();
    let disk = Simulated::new(1);
    let options = options(Durability::Commit);
    let after_crash = {
        let db = open(&options, &disk);
        let table = table(&db);
        db.checkpoint()?;
        (0..7).try_for_each(|id| table.insert(&record(id, 1)).map(drop))?;
        table.insert_all((7..10).map(|id| record(id, 1)))?;
        let after_crash = disk.fork();
        after_crash.crash(1);
        after_crash
    };
    let db = metrics.record(|| open(&options, &after_crash));
    assert_eq!(db.table("t")?.len(), Ok(10));
    let moved = on_disk(&metrics);
    assert_eq!(moved.counter("lode_replayed_frames_total"), 8);
    let bytes = moved.counter("lode_replayed_bytes_total");
    assert!((5_000..6_000).contains(&bytes), "{bytes} bytes of ten records of 500");
    db.close()?;
    metrics.record(|| open(&options, &after_crash)).close()?;
    let moved = on_disk(&metrics);
    assert_eq!(moved.counter("lode_replayed_frames_total"), 0);
    assert_eq!(moved.durations("lode_open_duration_seconds"), 1);
    Ok(())
}

#[test]
fn the_thread_of_a_database_publishes_its_space_by_itself() -> Result<()> {
    let metrics = Metrics::new();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().display().to_string();
    let db = metrics.record(|| Options::new().memory_bytes(16 << 20).open(directory.path()))?;
    table(&db).insert(&record(1, 1))?;
    while metrics.moved(&path).gauge("lode_page_bytes") != db.statistics().page_bytes {
        std::thread::sleep(Duration::from_millis(20));
    }
    db.close()
}

#[test]
fn each_database_has_metrics_of_its_own_and_one_that_is_read_has_none() -> Result<()> {
    let metrics = Metrics::new();
    let directory = tempfile::tempdir().expect("a directory");
    let paths = ["a", "b"].map(|name| directory.path().join(name));
    let of = |metrics: &Metrics, path: &Path| metrics.moved(&path.display().to_string());
    let dbs = paths.each_ref().map(|path| metrics.record(|| Database::open(path)));
    for ((path, db), commits) in paths.iter().zip(dbs).zip([2, 3]) {
        let db = db?;
        let table = table(&db);
        (0..commits).try_for_each(|id| table.insert_all([record(id, 1)]).map(drop))?;
        let moved = of(&metrics, path);
        assert_eq!(moved.counter("lode_commits_total"), u64::from(commits));
        // Each of the four reasons of stalls has two.
        assert_eq!(moved.names().count(), 23 + 2 * 3, "{moved:?}");
        db.close()?;
    }

    let metrics = Metrics::new();
    metrics.record(|| Options::new().open_read_only(&paths[0]))?.close()?;
    assert_eq!(of(&metrics, &paths[0]).names().count(), 0);
    Ok(())
}

#[test]
fn all_metrics_have_units_and_meanings() -> Result<()> {
    let recorder = metrics_util::debugging::DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _db = metrics::with_local_recorder(&recorder, || {
        observability::describe_metrics();
        Database::in_memory()
    })?;
    let all = snapshotter.snapshot().into_vec();
    assert!(!all.is_empty());
    for (key, unit, meaning, _) in all {
        let unit = unit.map(|unit| unit.as_str());
        assert!(meaning.is_some() && unit.is_some(), "{key:?} has {unit:?}, {meaning:?}");
        assert_eq!(key.key().name().contains("_seconds"), unit == Some("seconds"), "{key:?}");
        assert_eq!(key.key().name().contains("_bytes"), unit == Some("bytes"), "{key:?}");
    }
    Ok(())
}

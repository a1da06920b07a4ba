//! Events report what is rare, and no single operation.

use lode::simulation::{self, Fault, FaultKind, Simulated};
use lode::{Database, Durability, Error, IndexSchema, ReadTable, Result};
use tracing::Level;

use crate::support::{Events, Seen, open, options, record, table};

fn messages(events: &[Seen]) -> Vec<(Level, &str)> {
    events.iter().map(|seen| (seen.level, seen.message())).collect()
}

#[test]
fn the_life_of_a_database_is_reported() -> Result<()> {
    let events = Events::default();
    let disk = Simulated::new(1);
    let options = options(Durability::Process);
    events.record(|| {
        let db = open(&options, &disk);
        let table = table(&db);
        assert_eq!(messages(&events.take()), [(Level::INFO, "opened")]);
        for id in 0..1_000 {
            table.insert(&record(id, 1))?;
            table.get(id)?;
            table.delete(id / 2)?;
            db.transact(|transaction| transaction.upsert(&table, &record(id, 2)).map(drop))?;
        }
        assert_eq!(events.take(), [], "single operations and commits");

        let changed_pages = db.statistics().changed_bytes >> 14;
        simulation::checkpoint(&db)?;
        let reported = events.take();
        assert_eq!(messages(&reported), [(Level::DEBUG, "checkpoint")]);
        assert_eq!(reported[0].number("pages"), changed_pages);

        let before = db.statistics().data_bytes;
        let after = db.compact()?.after.data_bytes;
        let reported = events.take();
        let (compacted, checkpoints) = reported.split_last().expect("some");
        assert_eq!((compacted.level, compacted.message()), (Level::INFO, "compacted"));
        assert_eq!(compacted.number("before_bytes"), before);
        assert_eq!(compacted.number("after_bytes"), after);
        assert!(checkpoints.iter().all(|seen| seen.message() == "checkpoint"), "{reported:?}");

        let copy = Simulated::new(2);
        let backup = simulation::back_up(&db, &copy, u64::MAX, &mut |_| {})?;
        let reported = events.take();
        assert_eq!(reported.last().map(Seen::message), Some("backed up"), "{reported:?}");
        assert_eq!(reported[reported.len() - 1].number("copied_bytes"), backup.copied_bytes);

        db.close()?;
        let reported = events.take();
        let wanted = [(Level::DEBUG, "checkpoint"), (Level::INFO, "closed")];
        assert_eq!(messages(&reported), wanted);
        for seen in &reported {
            assert_eq!(seen.fields["database"], "a simulated disk");
            assert!(seen.fields["seconds"].parse::<f64>().is_ok_and(|seconds| seconds >= 0.0));
        }
        Ok(())
    })
}

#[test]
fn recovery_is_reported_with_what_it_replayed() -> Result<()> {
    let events = Events::default();
    let disk = Simulated::new(1);
    let options = options(Durability::Commit);
    let db = open(&options, &disk);
    let table = table(&db);
    db.checkpoint()?;
    (0..5).try_for_each(|id| table.insert(&record(id, 1)).map(drop))?;
    let after_crash = disk.fork();
    after_crash.crash(1);
    events.record(|| {
        simulation::open_read_only(&options, &after_crash, 1)?.close()?;
        open(&options, &after_crash).close()
    })?;
    let reported = events.take();
    let opened: Vec<_> =
        reported.iter().filter(|seen| seen.message().starts_with("open")).collect();
    let wanted = [(Level::DEBUG, "opened to read"), (Level::INFO, "opened")];
    assert_eq!(opened.iter().map(|seen| (seen.level, seen.message())).collect::<Vec<_>>(), wanted);
    for seen in opened {
        assert_eq!(seen.number("replayed_frames"), 5);
        assert!((2_500..3_000).contains(&seen.number("replayed_bytes")), "{seen:?}");
    }
    Ok(())
}

#[test]
fn poisoning_is_reported_once_with_its_cause() {
    let events = Events::default();
    let disk = Simulated::new(1);
    events.record(|| {
        let db = open(&options(Durability::Commit), &disk);
        let table = table(&db);
        disk.fail(Fault::Error { at: disk.operations(), kind: FaultKind::SyncFails });
        for id in 0..3 {
            assert!(matches!(table.insert(&record(id, 1)), Err(Error::Poisoned { .. })));
        }
        assert!(db.close().is_err());
    });
    let reported = events.take();
    let wanted = [
        (Level::INFO, "opened"),
        (Level::ERROR, "poisoned"),
        (Level::WARN, "closed with an error"),
    ];
    assert_eq!(messages(&reported), wanted);
    assert!(reported[1].fields["error"].contains("sync the log"), "{reported:?}");
}

#[test]
fn the_building_of_an_index_is_reported_with_its_failure() -> Result<()> {
    let events = Events::default();
    let db = Database::in_memory()?;
    let table = table(&db);
    (0..10).try_for_each(|id| table.insert(&record(id, 1)).map(drop))?;
    events.record(|| {
        let unique = IndexSchema::new("by_rest", ["rest"]).unique();
        assert!(matches!(table.create_index(&unique), Err(Error::Duplicates { .. })));
        table.create_index(&IndexSchema::new("by_id", ["id"]))
    })?;
    let reported = events.take();
    let wanted = [(Level::WARN, "index not built"), (Level::INFO, "index built")];
    assert_eq!(messages(&reported), wanted);
    assert_eq!(reported[0].fields["index"], "by_rest");
    assert_eq!((&*reported[1].fields["table"], &*reported[1].fields["database"]), ("t", "memory"));
    Ok(())
}

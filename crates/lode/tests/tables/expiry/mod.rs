//! Records that expire, by a clock that goes as a test says.

mod model;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lode::simulation::{self, Simulated};
use lode::{
    Alteration, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Schema,
    Table, Type, Value,
};

use crate::random::mix;
use crate::reading::check;

const KINDS: [KeyKind; 2] = [KeyKind::Hash, KeyKind::Tree];

/// A clock that goes as a test says, in microseconds since the start of 1970.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicI64>);

impl Hand {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn set(&self, us: i64) {
        self.0.store(us, Ordering::SeqCst);
    }

    fn clock(&self) -> impl Fn() -> SystemTime + Send + Sync + 'static {
        let hand = self.clone();
        move || UNIX_EPOCH + Duration::from_micros(hand.now_us() as u64)
    }
}

/// A session: its number, a shard, the time at which it ends.
fn schema(rest: Type) -> Schema {
    let schema = Schema::build("session").key("id", Type::U64).column("shard", Type::U64);
    let schema = schema.column("until", Type::Timestamp).column("rest", rest);
    schema.expires("until").finish().expect("a schema")
}

fn record(table: &Table, id: u64, shard: u64, until_us: i64) -> Vec<u8> {
    let (id, shard) = (Value::Unsigned(id), Value::Unsigned(shard));
    let values = [id, shard, Value::Timestamp(until_us), Value::Text("rest")];
    table.schema().pack(&values).expect("it fits")
}

fn in_memory(hand: &Hand, kind: KeyKind, rest: Type) -> (Database, Table) {
    let options = Options::new().memory_bytes(64 << 20).clock(hand.clock());
    let db = options.in_memory().expect("memory");
    let table = db.create_table(&schema(rest), kind).expect("room");
    (db, table)
}

#[test]
fn the_fastest_lookups_leave_expired_records_out() {
    for kind in KINDS {
        let hand = Hand::default();
        let (_db, table) = in_memory(&hand, kind, Type::Text(8));
        for id in 0..1_000 {
            table.insert(&record(&table, id, 0, 1 + (id % 2) as i64)).expect("room");
        }
        let keys = Vec::from_iter((0..1_000u64).flat_map(u64::to_le_bytes));
        for (now_us, wanted) in [(0, 1_000), (1, 500), (2, 0), (0, 0)] {
            hand.set(now_us);
            let mut payload = vec![0; table.schema().payload_size()];
            let found = keys
                .chunks(8)
                .filter(|key| table.get_exact(key, &mut payload).expect("it can be read"));
            assert_eq!(found.count(), wanted, "{kind:?} at {now_us}");
            let mut count = 0;
            let found =
                &mut |_: usize, payload: Option<&[u8]>| count += usize::from(payload.is_some());
            table.get_many_with(&keys, found).expect("they can be read");
            assert_eq!(count, wanted, "{kind:?} at {now_us}");
        }
    }
}

#[test]
fn a_transaction_that_has_found_what_expires_is_refused() {
    for kind in KINDS {
        let hand = Hand::default();
        let (db, table) = in_memory(&hand, kind, Type::VarText(8));
        let insert = |id, until_us| table.insert(&record(&table, id, 0, until_us)).expect("room");
        for (id, until_us) in [(1, 10), (2, 20), (3, 30)] {
            assert!(insert(id, until_us));
        }
        // By key, by a scan, by the number of records.
        type Read = fn(&lode::TableWithin<'_>) -> lode::Result<u64>;
        let reads: [Read; 3] = [
            |table| table.contains(1).map(u64::from),
            |table| table.iter().take(2).map(|row| row.map(|_| 1)).sum(),
            |table| table.len(),
        ];
        for read in reads {
            hand.set(0);
            let (db, table) = in_memory(&hand, kind, Type::VarText(8));
            for (id, until_us) in [(1, 10), (2, 10), (3, 10)] {
                table.insert(&record(&table, id, 0, until_us)).expect("room");
            }
            let transaction = db.begin();
            let within = table.within(&transaction);
            assert!(read(&within).expect("nothing has expired") > 0);
            transaction.insert(&table, &record(&table, 9, 0, 99)).expect("room");
            hand.set(10);
            assert!(matches!(within.get(2), Err(Error::Conflict { .. })), "{kind:?}");
            assert!(matches!(within.len(), Err(Error::Conflict { .. })), "{kind:?}");
            assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })), "{kind:?}");
            assert!(table.is_empty().expect("it can be read"));
        }
        // What it has not found may expire.
        hand.set(0);
        let transaction = db.begin();
        assert!(table.within(&transaction).contains(2).expect("it can be read"));
        hand.set(10);
        transaction.delete(&table, 2).expect("room");
        transaction.commit().expect("the record is there until 20");
        assert_eq!(table.len(), Ok(1));
    }
}

#[test]
fn a_record_that_has_expired_when_it_is_written_is_never_found() {
    for kind in KINDS {
        let hand = Hand::default();
        let (db, table) = in_memory(&hand, kind, Type::VarText(8));
        hand.set(50);
        assert_eq!(table.insert(&record(&table, 1, 0, 50)), Ok(true));
        assert_eq!(table.insert(&record(&table, 1, 0, 40)), Ok(true), "there is none");
        assert_eq!(table.upsert(&record(&table, 1, 0, 50)), Ok(false));
        assert_eq!(table.delete(1), Ok(false));
        assert_eq!(table.insert_all_new([record(&table, 1, 0, 30)]), Ok(None));
        assert_eq!(table.len(), Ok(0));
        let transaction = db.begin();
        assert_eq!(transaction.insert(&table, &record(&table, 1, 0, 50)), Ok(true));
        assert_eq!(transaction.insert(&table, &record(&table, 1, 0, 60)), Ok(true));
        assert_eq!(transaction.insert(&table, &record(&table, 1, 0, 70)), Ok(false));
        transaction.commit().expect("nobody else writes");
        assert_eq!(table.len(), Ok(1));
        assert_eq!(table.remove_expired(), Ok(0));
        hand.set(60);
        assert_eq!(table.remove_expired(), Ok(1));
        assert_eq!(table.remove_expired(), Ok(0));
    }
}

/// Writes as many records again and again, each of which lives for a tenth of that time.
#[test]
fn writes_remove_what_has_expired() {
    const COUNT: u64 = 40_000;
    for (kind, rest) in
        KINDS.map(|kind| [Type::Text(8), Type::VarText(8)].map(|rest| (kind, rest))).concat()
    {
        let hand = Hand::default();
        let (db, table) = in_memory(&hand, kind, rest);
        for id in 0..COUNT {
            hand.set(id as i64);
            let until_us = (id + COUNT / 10) as i64;
            table.insert(&record(&table, id, 0, until_us)).expect("room");
        }
        assert_eq!(table.len(), Ok(COUNT / 10));
        let left = table.remove_expired().expect("room");
        println!("{kind:?} {rest}: {left}");
        assert!(left < COUNT / 10, "{kind:?}, {rest}: {left} expired records were left");
        assert_eq!(table.remove_expired(), Ok(0));
        assert_eq!(table.len(), Ok(COUNT / 10));
        assert_eq!(check(&db), Ok(()));
    }
}

#[test]
fn what_was_seen_to_be_gone_stays_so_in_every_process() {
    let hand = Hand::default();
    for level in [Durability::None, Durability::Process, Durability::Commit] {
        hand.set(0);
        let options = Options::new().memory_bytes(8 << 20).durability(level).clock(hand.clock());
        let disk = Simulated::new(1);
        let db = simulation::open(&options, &disk, 1).expect("an empty disk");
        let table = db.create_table(&schema(Type::Text(8)), KeyKind::Hash).expect("room");
        for (id, until_us) in [(1, 10), (2, 20), (3, 30)] {
            table.insert(&record(&table, id, 0, until_us)).expect("room");
        }
        db.checkpoint().expect("space");
        hand.set(25);
        assert!(!table.contains(1).expect("it can be read"));
        if level == Durability::None {
            db.checkpoint().expect("space");
        }
        hand.set(0);
        // The second one was over, but no read has found it so.
        assert_eq!(table.len(), Ok(2), "{level:?}");
        let reader = simulation::open_read_only(&options, &disk, 2).expect("it is there");
        let read = reader.table("session").expect("it is there");
        assert_eq!(read.len(), Ok(2), "{level:?}");
        hand.set(20);
        assert_eq!(read.len(), Ok(1), "{level:?}");
        hand.set(0);
        assert_eq!(read.len(), Ok(1), "{level:?}");
        drop((reader, read));
        // What a process that only reads has seen, it cannot write down.
        assert_eq!(table.len(), Ok(2), "{level:?}");
        let repaired = Simulated::new(2);
        db.close().expect("space");
        drop(table);
        simulation::repair(&options, &disk, &repaired, 3, &mut |loss| panic!("{loss}"))
            .expect("it is whole");
        for disk in [disk, repaired] {
            let db = simulation::open(&options, &disk, 4).expect("it was closed");
            let table = db.table("session").expect("it is there");
            assert_eq!(table.len(), Ok(2), "{level:?}");
            hand.set(30);
            assert_eq!(table.len(), Ok(0), "{level:?}");
            hand.set(0);
            db.close().expect("space");
        }
    }
}

#[test]
fn alterations_change_what_expires() {
    let hand = Hand::default();
    let (db, table) = in_memory(&hand, KeyKind::Hash, Type::VarText(8));
    for (id, until_us) in [(1, 10), (2, 20)] {
        table.insert(&record(&table, id, 0, until_us)).expect("room");
    }
    let new = Alteration::new;
    let alter = |changes: &Alteration<'_>| db.alter_table("session", changes);
    for changes in [new().drop_column("until"), new().change_type("until", Type::I64)] {
        let refused = alter(&changes).expect_err("refused").to_string();
        assert!(refused.contains("records cannot expire by until"), "{refused}");
    }
    assert!(matches!(alter(&new().expire_by(Some("other"))), Err(Error::NoColumn { .. })));
    assert!(matches!(alter(&new().expire_by(Some("id"))), Err(Error::KeyColumn { .. })));
    let refused = alter(&new().expire_by(Some("shard"))).expect_err("refused").to_string();
    assert!(refused.contains("records cannot expire by shard"), "{refused}");

    hand.set(10);
    let kept = alter(&new().expire_by(None).rename_column("until", "ends")).expect("room");
    hand.set(20);
    assert_eq!((kept.len(), kept.schema().expires()), (Ok(1), None), "one had expired before");
    let again = alter(&new().expire_by(Some("ends"))).expect("room");
    assert_eq!((again.len(), again.remove_expired()), (Ok(0), Ok(1)));
    alter(&new().expire_by(None).drop_column("ends")).expect("room");
}

#[test]
fn a_unique_value_is_free_once_its_record_has_expired() {
    for kind in KINDS {
        let hand = Hand::default();
        let db = Options::new().memory_bytes(64 << 20).clock(hand.clock()).in_memory();
        let db = db.expect("memory");
        let unique = IndexSchema::new("by_shard", ["shard"]).unique();
        let table = db.create_indexed_table(&schema(Type::VarText(8)), kind, &[unique]);
        let table = table.expect("room");
        let row = |id, shard, until_us| record(&table, id, shard, until_us);
        table.insert(&row(1, 7, 10)).expect("room");
        // That of another record, and one of its own.
        let transaction = db.begin();
        let refused = transaction.insert(&table, &row(2, 7, 30));
        assert!(matches!(refused, Err(Error::UniqueViolation { .. })));
        hand.set(10);
        let transaction = db.begin();
        assert_eq!(transaction.insert(&table, &row(2, 7, 11)), Ok(true));
        hand.set(11);
        assert_eq!(transaction.upsert(&table, &row(3, 7, 40)), Ok(false));
        transaction.commit().expect("nobody else writes");
        let found = table.by("by_shard").and_then(|by| by.get(7u64)).expect("it can be read");
        assert_eq!(found.map(|row| row.key().to_vec()), Some(3u64.to_le_bytes().to_vec()));
        assert_eq!(check(&db), Ok(()));
        // A record that is over already does not block those written with it.
        let both = [row(4, 8, 11), row(5, 9, 50)];
        assert_eq!(table.insert_all(&both), Ok(2));
        assert_eq!(table.insert(&row(6, 8, 50)), Ok(true));
        assert_eq!(check(&db), Ok(()));
    }
}

#[test]
fn a_transaction_runs_again_when_what_it_has_scanned_expires() {
    for kind in KINDS {
        let hand = Hand::default();
        let (db, table) = in_memory(&hand, kind, Type::Text(8));
        for (id, until_us) in [(1, 10), (2, 10), (3, 10)] {
            table.insert(&record(&table, id, 0, until_us)).expect("room");
        }
        let mut attempts = 0;
        let count = db.transact(|transaction| {
            attempts += 1;
            let mut count = 0;
            for row in table.within(transaction).iter() {
                row?;
                count += 1;
                hand.set(10);
            }
            transaction.insert(&table, &record(&table, 4, 0, 99))?;
            Ok::<_, Error>(count)
        });
        assert_eq!((count, attempts), (Ok(0), 2), "{kind:?}");
        assert_eq!(table.len(), Ok(1));
    }
}

/// Two tables, of which one has records that expire: what is read of the other after that is of no
/// moment at which they were there.
#[test]
fn a_transaction_reads_nothing_more_after_what_it_has_found_has_expired() {
    let hand = Hand::default();
    let (db, table) = in_memory(&hand, KeyKind::Hash, Type::Text(8));
    table.insert(&record(&table, 1, 0, 10)).expect("room");
    let note = Schema::build("note").key("id", Type::U64).column("n", Type::U64).finish();
    let notes = db.create_table(&note.expect("a schema"), KeyKind::Hash).expect("room");
    notes.insert(&[0; 16]).expect("room");
    let transaction = db.begin();
    assert!(table.within(&transaction).contains(1).expect("it can be read"));
    hand.set(11);
    assert!(!table.contains(1).expect("it can be read"));
    notes.upsert(&[&[0; 8][..], &[1; 8]].concat()).expect("room");
    let read = notes.within(&transaction).get(0);
    assert!(matches!(read, Err(Error::Conflict { .. })), "{read:?}");
    assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
}

#[test]
fn nothing_is_written_after_the_database_was_closed() {
    for level in [Durability::Process, Durability::Periodic, Durability::Commit] {
        let hand = Hand::default();
        let options = Options::new().memory_bytes(8 << 20).durability(level).clock(hand.clock());
        let path = tempfile::tempdir().expect("a directory");
        let db = options.open(path.path()).expect("an empty directory");
        let table = db.create_table(&schema(Type::Text(8)), KeyKind::Tree).expect("room");
        for id in 0..10 {
            table.insert(&record(&table, id, 0, 10 + id as i64)).expect("room");
        }
        let mut rows = table.iter();
        assert!(rows.next_row().expect("it can be read").is_some());
        db.close().expect("space");
        let files = || {
            let names = std::fs::read_dir(path.path()).expect("it is there");
            let names = names.map(|entry| entry.expect("a name").path());
            let files = names.map(|path| (std::fs::read(&path).expect("a file"), path));
            let mut files = Vec::from_iter(files);
            files.sort();
            files
        };
        let before = files();
        hand.set(15);
        while let Ok(Some(_)) = rows.next_row() {}
        assert!(files() == before, "a file has changed at level {level:?}");
    }
}

#[test]
fn a_scan_logs_once_what_it_has_left_out() {
    const COUNT: u64 = 2_000;
    let hand = Hand::default();
    let options = Options::new().memory_bytes(8 << 20).clock(hand.clock());
    let disk = Simulated::new(1);
    let db = simulation::open(&options, &disk, 1).expect("an empty disk");
    let table = db.create_table(&schema(Type::Text(8)), KeyKind::Tree).expect("room");
    for id in 0..COUNT {
        table.insert(&record(&table, id, 0, 10 + id as i64)).expect("room");
    }
    db.checkpoint().expect("space");
    let before = db.statistics().log_bytes;
    hand.set(1_000_000);
    assert_eq!(table.len(), Ok(0));
    let more_bytes = db.statistics().log_bytes - before;
    assert!(more_bytes > 0 && more_bytes < 1_000, "{more_bytes} bytes of log");
}

#[test]
fn a_repair_keeps_a_record_that_the_log_has_renewed() {
    for kind in KINDS {
        let hand = Hand::default();
        let options = Options::new().memory_bytes(8 << 20).clock(hand.clock());
        let disk = Simulated::new(1);
        let db = simulation::open(&options, &disk, 1).expect("an empty disk");
        let table = db.create_table(&schema(Type::Text(8)), kind).expect("room");
        for id in 0..3 {
            table.insert(&record(&table, id, 0, 10)).expect("room");
        }
        db.checkpoint().expect("space");
        let until = table.schema().column("until").expect("a column");
        assert_eq!(table.update(1, until, &1_000i64.to_le_bytes()), Ok(true));
        db.flush().expect("space");
        hand.set(20);
        assert!(!table.contains(2).expect("it can be read"));
        let (left, repaired) = (disk.fork(), Simulated::new(2));
        let copied =
            simulation::repair(&options, &left, &repaired, 3, &mut |loss| panic!("{loss}"));
        copied.expect("it is whole");
        let db = simulation::open(&options, &repaired, 4).expect("it was closed");
        let table = db.table("session").expect("it is there");
        hand.set(0);
        let ids = table.iter().map(|row| row.map(|row| row.key()[0]));
        assert_eq!(ids.collect::<lode::Result<Vec<_>>>(), Ok(vec![1]), "{kind:?}");
    }
}

#[test]
fn a_reader_that_follows_the_writer_brings_nothing_back() {
    let hand = Hand::default();
    let options = Options::new().memory_bytes(8 << 20).clock(hand.clock());
    let disk = Simulated::new(1);
    let db = simulation::open(&options, &disk, 1).expect("an empty disk");
    let table = db.create_table(&schema(Type::Text(8)), KeyKind::Tree).expect("room");
    table.insert(&record(&table, 1, 0, 10)).expect("room");
    let mut reader = simulation::open_read_only(&options, &disk, 2).expect("it is there");
    hand.set(10);
    assert_eq!(reader.table("session").and_then(|read| read.len()), Ok(0));
    hand.set(0);
    table.insert(&record(&table, 2, 0, 99)).expect("room");
    assert_eq!(reader.refresh(), Ok(true));
    assert_eq!(reader.table("session").and_then(|read| read.len()), Ok(1));
}

/// Unique values that records take from each other as they expire, and a reader that looks, while
/// the clock runs.
#[test]
fn threads_find_no_expired_record_while_the_clock_goes_on() {
    const ROUNDS: u64 = 4_000;
    for kind in KINDS {
        let hand = Hand::default();
        let options = Options::new().memory_bytes(64 << 20).clock(hand.clock());
        let db = options.in_memory().expect("memory");
        let by_shard = IndexSchema::new("by_shard", ["shard"]).unique();
        let table = db.create_indexed_table(&schema(Type::VarText(8)), kind, &[by_shard]);
        let table = table.expect("room");
        let until_us = |row: &lode::Row| match row.get("until") {
            Some(Value::Timestamp(us)) => us,
            other => panic!("{other:?}"),
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers = [0, 1].map(|thread| {
                let (hand, table, db) = (&hand, &table, &db);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let number = mix(round * 2 + thread);
                        let now_us = hand.now_us();
                        hand.0.fetch_max(now_us + 1, Ordering::SeqCst);
                        let until_us = now_us + 1 + (number >> 8) as i64 % 8;
                        let record = record(table, number % 50, number >> 16 & 7, until_us);
                        let written = if number >> 24 & 1 == 0 {
                            table.upsert(&record).map(drop)
                        } else {
                            db.transact(|transaction| transaction.upsert(table, &record).map(drop))
                        };
                        assert!(matches!(written, Ok(()) | Err(Error::UniqueViolation { .. })));
                    }
                })
            });
            let reader = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let now_us = hand.now_us();
                    let by_shard = table.by("by_shard").expect("it is ready");
                    let found =
                        table.iter().chain((0..50u64).filter_map(|id| table.get(id).transpose()));
                    let found =
                        found.chain((0..8u64).filter_map(|it| by_shard.get(it).transpose()));
                    for row in found {
                        let until_us = until_us(&row.expect("it can be read"));
                        assert!(until_us > now_us, "it was over at {until_us}, and it is {now_us}");
                    }
                }
            });
            for writer in writers {
                writer.join().expect("no panic");
            }
            is_over.store(true, Ordering::Relaxed);
            reader.join().expect("no panic");
        });
        assert_eq!(check(&db), Ok(()), "{kind:?}");
        hand.set(hand.now_us() + 100);
        assert_eq!(table.len(), Ok(0));
        table.remove_expired().expect("room");
        assert_eq!(check(&db), Ok(()), "{kind:?}");
    }
}

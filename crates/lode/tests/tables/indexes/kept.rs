//! Writes that leave the entries of their record as they are, next to others that do not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lode::{
    Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Result, Schema, Table,
    Type, Value,
};

use super::{column, expect_sound};
use crate::random::mix;

/// Creates a table of players in teams, with points that no index has.
fn players(db: &Database, kind: KeyKind, is_variable: bool) -> Result<Table> {
    let text = if is_variable { Type::VarText } else { Type::Text };
    let schema = Schema::build("players").key("id", Type::U64).column("team", text(8));
    let schema = schema.nullable("shirt", Type::U32).column("points", Type::I64);
    let indexes = [IndexSchema::new("by_team", ["team"]), IndexSchema::new("by_shirt", ["shirt"])];
    db.create_indexed_table(&schema.column("notes", text(90)).finish()?, kind, &indexes)
}

fn player(table: &Table, id: u64, team: u64, shirt: Option<u64>, points: i64) -> Result<Vec<u8>> {
    let (team, shirt) = (format!("team {team}"), shirt.map_or(Value::Null, Value::Unsigned));
    let (id, points) = (Value::Unsigned(id), Value::Signed(points));
    table.schema().pack(&[id, Value::Text(&team), shirt, points, Value::Text("none")])
}

/// Calls `work` with databases in memory and in a directory, and each kind of table.
fn in_each(work: impl Fn(&Database, &Table) -> Result<()>) -> Result<()> {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        for is_variable in [false, true] {
            let place = tempfile::tempdir().expect("a directory");
            let options = Options::new().durability(Durability::Process);
            for db in [Database::in_memory()?, options.open(place.path())?] {
                work(&db, &players(&db, kind, is_variable)?)?;
                expect_sound(&db);
            }
        }
    }
    Ok(())
}

#[test]
fn a_write_keeps_the_entries_or_changes_them() -> Result<()> {
    in_each(|_, table| {
        let [points, team, notes] = ["points", "team", "notes"].map(|name| column(table, name));
        table.insert(&player(table, 1, 3, Some(7), 0)?)?;
        assert!(table.update(1, points, &5i64.to_le_bytes())?);
        assert!(!table.update(2, points, &5i64.to_le_bytes())?);
        assert_eq!(table.increment(1, points, 2)?, Some(Value::Signed(7)));
        assert!(table.upsert(&player(table, 1, 3, Some(7), 8)?)?);
        assert!(table.upsert(&player(table, 1, 3, None, 9)?)?, "without a shirt");
        assert_eq!(table.by("by_shirt")?.get(7)?, None);
        assert!(table.upsert(&player(table, 1, 3, Some(0), 10)?)?, "0 is no null");
        assert!(table.by("by_shirt")?.get(0)?.is_some());
        assert!(!table.upsert(&player(table, 2, 4, None, 1)?)?);
        let in_team = |number| {
            let name = format!("team {number}");
            table.by("by_team")?.get(name.as_str()).map(|row| row.map(|row| row.key().to_vec()))
        };
        assert_eq!(in_team(4)?, Some(2u64.to_le_bytes().to_vec()));
        let mut name = b"team 5".to_vec();
        if !table.schema().is_variable() {
            name.resize(8, 0);
        }
        assert!(table.update(2, team, &name)?);
        assert_eq!((in_team(4)?, in_team(5)?), (None, Some(2u64.to_le_bytes().to_vec())));
        let mut text = b"some notes".to_vec();
        if !table.schema().is_variable() {
            text.resize(90, 0);
        }
        assert!(table.compare_and_update(2, team, &name, &name)?);
        assert!(table.update(2, notes, &text)?);
        let seen = table.get(2)?.expect("it is there").payload().to_vec();
        assert!(!table.compare_and_swap(2, &seen[1..], &seen).unwrap_or(false));
        assert!(table.compare_and_swap(2, &seen, &seen)?);
        assert_eq!(in_team(5)?, Some(2u64.to_le_bytes().to_vec()));
        assert_eq!(table.get(1)?.expect("it is there").get("points"), Some(Value::Signed(10)));
        assert!(table.delete(1)? && table.delete(2)?);
        assert_eq!((in_team(3)?, in_team(5)?), (None, None));
        Ok(())
    })
}

/// The record has pages of its own, of which a write that is undone has changed none.
#[test]
fn a_long_record_that_a_unique_index_refuses_is_as_it_was() -> Result<()> {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory()?;
        let schema = Schema::build("long").key("id", Type::U64).column("seat", Type::U32);
        let schema = schema.column("text", Type::VarBytes(100_000)).finish()?;
        let by_seat = IndexSchema::new("by_seat", ["seat"]).unique();
        let table = db.create_indexed_table(&schema, kind, &[by_seat])?;
        let seat = column(&table, "seat");
        let record = |id, seat| {
            let text = vec![id as u8; 60_000];
            schema.pack(&[Value::Unsigned(id), Value::Unsigned(seat), Value::Bytes(&text)])
        };
        let records = [record(1, 10)?, record(2, 20)?];
        table.insert_all(&records)?;
        let refused = table.update(1, seat, &20u32.to_le_bytes());
        assert!(matches!(refused, Err(Error::UniqueViolation { .. })), "{refused:?}");
        let refused = table.upsert(&record(2, 10)?);
        assert!(matches!(refused, Err(Error::UniqueViolation { .. })), "{refused:?}");
        for (id, record) in [1, 2].into_iter().zip(&records) {
            assert_eq!(table.get(id)?.map(lode::Row::into_bytes).as_ref(), Some(record));
        }
        assert!(table.update(1, seat, &30u32.to_le_bytes())?);
        assert_eq!(table.by("by_seat")?.get(30)?.map(lode::Row::into_bytes), Some(record(1, 30)?));
        expect_sound(&db);
    }
    Ok(())
}

#[test]
fn entries_lead_to_their_records_next_to_writers_of_all_kinds() -> Result<()> {
    const PLAYERS: u64 = 40;
    const WRITES: u64 = 1_500;
    in_each(|_, table| {
        for id in 0..PLAYERS {
            table.insert(&player(table, id, id % 5, Some(id), 0)?)?;
        }
        let points = column(table, "points");
        let has_ended = AtomicBool::new(false);
        let write = |thread: u64| {
            for step in 0..WRITES {
                let random = mix((thread << 32) | step);
                let (id, team) = (random % PLAYERS, random >> 20);
                match (random >> 40) & 7 {
                    0 => drop(table.delete(id)?),
                    1 => drop(table.upsert(&player(table, id, team % 5, Some(id), 1)?)?),
                    2 => drop(table.insert(&player(table, id, team % 5, None, 1)?)?),
                    3 | 4 => drop(table.increment(id, points, 1)?),
                    5 => drop(table.update(id, points, &3i64.to_le_bytes())?),
                    _ => {
                        table.change(id, &mut |payload| {
                            let at = table.schema().columns()[3].range().start - 8;
                            payload[at] = payload[at].wrapping_add(1);
                            true
                        })?;
                    }
                }
            }
            Ok::<_, Error>(())
        };
        let read = || {
            let by_team = table.by("by_team")?;
            while !has_ended.load(Ordering::Relaxed) {
                for number in 0..5 {
                    let name = format!("team {number}");
                    let first = by_team.get(name.as_str())?;
                    let all = by_team.range(name.as_str()..=name.as_str());
                    for row in first.map(Ok).into_iter().chain(all) {
                        assert_eq!(row?.get("team"), Some(Value::Text(&name)));
                    }
                }
            }
            Ok::<_, Error>(())
        };
        thread::scope(|scope| {
            let reader = scope.spawn(read);
            let writers = [0, 1].map(|thread| scope.spawn(move || write(thread)));
            let written = writers.map(|writer| writer.join().expect("no panic"));
            has_ended.store(true, Ordering::Relaxed);
            reader.join().expect("no panic")?;
            written.into_iter().collect()
        })
    })
}

/// Two records get one point after the other; so at each moment the first one has as many as the
/// second one, or one more.
#[test]
fn a_short_range_is_of_one_moment_next_to_writers() -> Result<()> {
    const POINTS: i64 = 4_000;
    in_each(|_, table| {
        for id in 0..2 {
            table.insert(&player(table, id, 1, None, 0)?)?;
        }
        let points = column(table, "points");
        let by_team = table.by("by_team")?;
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for _ in 0..POINTS {
                    table.increment(0, points, 1)?;
                    table.increment(1, points, 1)?;
                }
                Ok::<_, Error>(())
            });
            let mut last = 0;
            while last < POINTS {
                let rows = by_team.range("team 1"..="team 1").columns([points]);
                let rows = rows.collect::<Result<Vec<_>>>()?;
                let [first, second] = &rows[..] else { panic!("two players: {rows:?}") };
                let (Value::Signed(first), Value::Signed(second)) =
                    (first.at(points), second.at(points))
                else {
                    panic!("points are signed");
                };
                assert!((0..=1).contains(&(first - second)), "{first} and {second} points");
                last = second;
            }
            writer.join().expect("no panic")
        })
    })
}

//! All that the public face does, by one call each.

use std::ops::Bound;

use crate::reading::{Scan, check, cursor, each_row, nth, payload_of};
use lode::{Durability, Error, KeyKind, ReadTable, Result, Table, Value};

use super::world::{World, key, n_of, record, schema};

/// The use that an operation makes of the record that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Nothing, or nothing to this one.
    Nothing,
    Writes,
    /// The table or the database is gone after it.
    Ends,
}

pub type Operation = (&'static str, Does, fn(&World, &Table, u64) -> Result<()>);

pub fn all() -> Vec<Operation> {
    [reads(), writes(), commits(), whole(), ends()].concat()
}

/// A scan of whole records.
pub fn scan(columns: &[usize]) -> Scan<'_> {
    let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
    Scan { lower, upper, backward: false, columns, limit: 3 }
}

fn reads() -> Vec<Operation> {
    vec![
        ("get", Does::Nothing, |_, table, id| {
            let mut payload = vec![0; table.schema().payload_size()];
            match table.get_exact(&key(id), &mut payload) {
                Err(Error::VariablePayload { .. }) if table.schema().columns().len() > 2 => Ok(()),
                other => other.map(drop),
            }
        }),
        ("read", Does::Nothing, |_, table, id| table.get_into(&key(id), &mut Vec::new()).map(drop)),
        ("payload", Does::Nothing, |_, table, id| {
            let payload = payload_of(&table, key(id))?;
            payload.iter().for_each(|payload| assert_eq!(n_of(payload), id as i64));
            Ok(())
        }),
        ("with", Does::Nothing, |_, table, id| {
            table.get(key(id)).map(|row| row.map(|_| ())).map(drop)
        }),
        ("get_many of nothing", Does::Nothing, |_, table, _| {
            table.get_many_with(&[], &mut |_, _| panic!("there is no key"))
        }),
        ("get_many", Does::Nothing, |_, table, id| {
            table.get_many_with(&[key(id), key(id + 1)].concat(), &mut |_, _| ())
        }),
        ("scan", Does::Nothing, |_, table, _| {
            match each_row(cursor(&table, &scan(&[0, 1])), &mut |_| Ok(true)) {
                Err(Error::NoOrder { .. }) if table.key_kind() == KeyKind::Hash => Ok(()),
                other => other,
            }
        }),
        ("snapshot", Does::Nothing, |world, table, id| {
            let snapshot = world.db.snapshot();
            table.at(&snapshot).get_into(&key(id), &mut Vec::new())?;
            each_row(table.at(&snapshot).iter(), &mut |_| Ok(true))
        }),
        ("transaction that reads", Does::Nothing, |world, table, id| {
            let transaction = world.db.begin();
            payload_of(&table.within(&transaction), key(id))?;
            transaction.commit()
        }),
    ]
}

fn writes() -> Vec<Operation> {
    vec![
        ("insert", Does::Writes, |_, table, id| {
            table.insert(&record(table.schema(), id, 9)).map(drop)
        }),
        ("upsert", Does::Writes, |_, table, id| {
            table.upsert(&record(table.schema(), id, 1_500)).map(drop)
        }),
        ("update", Does::Writes, |_, table, id| {
            table.update(key(id), nth(1), &7i64.to_le_bytes()).map(drop)
        }),
        ("update text", Does::Writes, |_, table, id| match table.schema().columns().len() {
            2 => table.update(key(id), nth(1), &7i64.to_le_bytes()).map(drop),
            _ => table.update(key(id), nth(2), "y".repeat(30_000).as_bytes()).map(drop),
        }),
        ("compare_and_update", Does::Writes, |_, table, id| {
            let (old, new) = ((id as i64).to_le_bytes(), 5i64.to_le_bytes());
            table.compare_and_update(key(id), nth(1), &old, &new).map(drop)
        }),
        ("compare_and_swap", Does::Writes, |_, table, id| {
            let read = payload_of(&table, key(id))?.expect("it is there");
            let new = record(table.schema(), id, 4);
            table.compare_and_swap(key(id), &read, &new[8..]).map(|swapped| assert!(swapped))
        }),
        ("increment", Does::Writes, |_, table, id| {
            let sum = table.increment(key(id), nth(1), 1)?;
            assert_eq!(sum, Some(Value::Signed(1 + id as i64)));
            Ok(())
        }),
        ("change", Does::Writes, |_, table, id| {
            table.change(key(id), &mut |payload| {
                payload[0] ^= 1;
                true
            })?;
            Ok(())
        }),
        ("delete", Does::Writes, |_, table, id| table.delete(key(id)).map(drop)),
        ("insert_all", Does::Writes, |_, table, id| {
            table.insert_all([record(table.schema(), id, 9)]).map(drop)
        }),
        ("insert_all_new", Does::Writes, |_, table, id| {
            table.insert_all_new([record(table.schema(), id, 9)]).map(drop)
        }),
        ("upsert_all", Does::Writes, |_, table, id| {
            table.upsert_all([id, id + 1].map(|id| record(table.schema(), id, 1_500))).map(drop)
        }),
    ]
}

fn commits() -> Vec<Operation> {
    vec![
        ("transaction that writes", Does::Writes, |world, table, id| {
            let transaction = world.db.begin();
            transaction.upsert(table, &record(table.schema(), id, 12))?;
            transaction.commit()
        }),
        ("transaction that deletes", Does::Writes, |world, table, id| {
            let transaction = world.db.begin();
            transaction.delete(table, key(id))?;
            transaction.commit_with(Durability::Commit)
        }),
        ("transaction in a transaction", Does::Nothing, |world, table, id| {
            let (outer, inner) = (world.db.begin(), world.db.begin());
            payload_of(&table.within(&outer), key(id))?;
            inner.upsert(table, &record(table.schema(), id + 1, 3))?;
            inner.commit()?;
            outer.commit()
        }),
        ("transaction over what one operation wrote", Does::Nothing, |world, table, id| {
            let transaction = world.db.begin();
            transaction.upsert(table, &record(table.schema(), id + 1, 3))?;
            table.update(key(id + 1), nth(1), &8i64.to_le_bytes())?;
            let committed = transaction.commit();
            assert!(matches!(committed, Err(Error::Conflict { .. })), "{committed:?}");
            Ok(())
        }),
        ("transaction that scans", Does::Nothing, |world, table, _| {
            if table.key_kind() == KeyKind::Hash {
                return Ok(());
            }
            each_row(cursor(&table.within(&world.db.begin()), &scan(&[1])), &mut |_| Ok(true))
        }),
    ]
}

fn whole() -> Vec<Operation> {
    vec![
        ("create_table", Does::Nothing, |world, _, _| {
            let table = world.db.create_table(&schema("new", false), KeyKind::Tree)?;
            table.insert(&record(table.schema(), 1, 1)).map(drop)
        }),
        ("table", Does::Nothing, |world, table, _| world.db.table(table.schema().name()).map(drop)),
        ("drop another table", Does::Nothing, |world, _, _| {
            world.db.create_table(&schema("short", true), KeyKind::Hash)?;
            world.db.drop_table("short")
        }),
        ("statistics", Does::Nothing, |world, _, _| {
            world.db.statistics();
            assert!(!world.db.table_names().is_empty());
            Ok(())
        }),
        ("flush", Does::Nothing, |world, _, _| world.db.flush()),
        ("checkpoint", Does::Nothing, |world, _, _| world.db.checkpoint()),
        ("compact", Does::Nothing, |world, _, _| world.db.compact().map(drop)),
        ("check", Does::Nothing, |world, _, _| {
            let why = |why| Error::Corrupt { what: "the database".into(), why };
            check(&world.db).map_err(why)
        }),
        ("drop a handle", Does::Nothing, |world, table, _| {
            drop((world.db.clone(), table.clone(), world.db.begin(), world.db.snapshot()));
            Ok(())
        }),
    ]
}

fn ends() -> Vec<Operation> {
    vec![
        ("drop_table", Does::Ends, |world, table, _| world.db.drop_table(table.schema().name())),
        ("close", Does::Ends, |world, _, _| world.db.clone().close()),
    ]
}

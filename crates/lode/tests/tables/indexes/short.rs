//! Lookups and short ranges, which a table as it is now answers without a snapshot: they show what
//! a snapshot shows.

use std::ops::Bound;

use lode::{
    ByIndex, ColumnId, Database, IndexCursor, IndexSchema, KeyKind, ReadTable, Result, Schema,
    Table, Type, Value,
};

use super::column;
use crate::random::mix;

/// Records: enough for several leaves of an index.
const ROWS: u64 = 3_000;

const SEATS: u64 = ROWS / 2;

/// A table of guests, with a seat that two of them have, a name that can be missing, and a ticket.
fn guests(db: &Database, kind: KeyKind, is_variable: bool) -> Result<Table> {
    let text = if is_variable { Type::VarText } else { Type::Text };
    let schema = Schema::build("guests").key("room", Type::I16).key("id", text(9));
    let schema = schema.column("seat", Type::I32).nullable("name", text(12));
    let schema = schema.column("ticket", Type::U64).column("notes", text(80)).finish()?;
    let indexes = [
        IndexSchema::new("by_seat", ["seat"]),
        IndexSchema::new("by_name", ["name", "seat"]),
        IndexSchema::new("by_ticket", ["ticket"]).unique(),
        IndexSchema::new("by_both", ["name", "ticket"]).unique(),
    ];
    let table = db.create_indexed_table(&schema, kind, &indexes)?;
    let records = (0..ROWS).map(|number| guest(&schema, number)).collect::<Result<Vec<_>>>()?;
    table.insert_all(records)?;
    Ok(table)
}

fn seat(number: u64) -> i64 {
    number as i64 / 2 - SEATS as i64 / 2
}

fn guest(schema: &Schema, number: u64) -> Result<Vec<u8>> {
    let (room, id) = (Value::Signed(number as i64 % 7 - 3), format!("g{}", mix(number) % 100_000));
    let name = format!("n{}", mix(number) % SEATS);
    let name = if number.is_multiple_of(5) { Value::Null } else { Value::Text(&name) };
    let (seat, ticket) = (Value::Signed(seat(number)), Value::Unsigned(mix(number)));
    // Some notes are longer than what a short range copies of a record.
    let notes = "x".repeat(number as usize % 80);
    let id = format!("{id}{}", number % 10);
    schema.pack(&[room, Value::Text(&id), seat, name, ticket, Value::Text(&notes)])
}

/// Returns the rows of a cursor, or its error.
fn rows(cursor: IndexCursor<'_>) -> Result<Vec<Vec<u8>>> {
    cursor.map(|row| row.map(lode::Row::into_bytes)).collect()
}

fn keys(cursor: IndexCursor<'_>) -> Result<Vec<Vec<u8>>> {
    let (mut keys, mut found) = (cursor.keys(), Vec::new());
    while let Some(key) = keys.next_key()? {
        found.push(key.to_vec());
    }
    Ok(found)
}

/// Compares what a range shows now with what it shows at a snapshot.
fn compare<'v>(
    [now, then]: [&ByIndex<'v>; 2],
    columns: &[ColumnId],
    range: &dyn Fn(&ByIndex<'v>) -> IndexCursor<'v>,
) -> Result<usize> {
    let found = rows(range(now))?;
    assert_eq!(found, rows(range(then))?);
    assert_eq!(rows(range(now).rev())?, rows(range(then).rev())?);
    assert_eq!(rows(range(now).rev().rev().limit(2))?, rows(range(then).limit(2))?);
    assert_eq!(rows(range(now).rev().limit(1))?, rows(range(then).rev().limit(1))?);
    assert_eq!(rows(range(now).limit(0))?, Vec::<Vec<u8>>::new());
    for columns in [columns, &columns[..2], &[]] {
        assert_eq!(rows(range(now).columns(columns))?, rows(range(then).columns(columns))?);
    }
    assert_eq!(keys(range(now))?, keys(range(then))?);
    assert_eq!(keys(range(now).rev().limit(2))?, keys(range(then).rev().limit(2))?);
    Ok(found.len())
}

#[test]
fn short_ranges_show_what_a_snapshot_shows() -> Result<()> {
    for (kind, is_variable) in
        [KeyKind::Hash, KeyKind::Tree].into_iter().flat_map(|kind| [(kind, false), (kind, true)])
    {
        let db = Database::in_memory()?;
        let table = guests(&db, kind, is_variable)?;
        let snapshot = db.snapshot();
        let at = table.at(&snapshot);
        let columns = ["seat", "name", "id", "ticket", "room"].map(|name| column(&table, name));
        let mut counts = [0; 8];
        let mut tickets: Vec<_> = (0..ROWS + 10).map(mix).collect();
        tickets.sort_unstable();
        for name in ["by_seat", "by_name", "by_ticket", "by_both"] {
            let both = [&table.by(name)?, &at.by(name)?];
            for step in 0..400 {
                let number = mix(step) % (ROWS + 2);
                let last = number + mix(step + 1_000) % 8;
                let ticket = |number: u64| Value::Unsigned(tickets[number as usize]);
                let (lower, upper) = match name {
                    "by_ticket" => (ticket(number), ticket(last)),
                    "by_seat" => (Value::Signed(seat(number)), Value::Signed(seat(last))),
                    _ => (Value::Text("n1"), Value::Text("n12")),
                };
                let (lower, upper) = (&[lower], &[upper]);
                let bounds = match step % 4 {
                    0 => (Bound::Included(&lower[..]), Bound::Included(&lower[..])),
                    1 => (Bound::Excluded(&lower[..]), Bound::Included(&upper[..])),
                    2 => (Bound::Included(&lower[..]), Bound::Excluded(&upper[..])),
                    _ => (Bound::Included(&lower[..]), Bound::Included(&upper[..])),
                };
                let count = compare(both, &columns, &|by| by.range_of_values(bounds.0, bounds.1))?;
                counts[count.min(7)] += 1;
                let record = guest(table.schema(), number)?;
                let row = table.schema().row(&record)?;
                let values: Vec<_> = match name {
                    "by_ticket" => vec![row.get("ticket")],
                    "by_seat" => vec![row.get("seat")],
                    "by_name" => vec![row.get("name"), row.get("seat")],
                    _ => vec![row.get("name"), row.get("ticket")],
                };
                let values: Vec<_> = values.into_iter().flatten().collect();
                compare(both, &columns, &|by| by.prefix(&values))?;
                if !values.contains(&Value::Null) {
                    assert_eq!(both[0].get(&values)?, both[1].get(&values)?, "{values:?}");
                    assert_eq!(both[0].get(&values)?.is_some(), number < ROWS);
                }
            }
        }
        assert!(counts.iter().all(|count| *count > 0), "ranges of all lengths: {counts:?}");
    }
    Ok(())
}

#[test]
fn a_cursor_shows_the_table_as_it_was_when_it_was_made() -> Result<()> {
    for is_variable in [false, true] {
        let db = Database::in_memory()?;
        let table = guests(&db, KeyKind::Hash, is_variable)?;
        let (by, columns) = (table.by("by_seat")?, [column(&table, "seat"), column(&table, "id")]);
        // Of one entry, of few, of many.
        for last in [0, 1, 9] {
            let range = seat(100)..=seat(100) + last;
            let before = rows(by.range(range.clone()))?;
            let keys_before = keys(by.range(range.clone()))?;
            let cells_before = rows(by.range(range.clone()).columns(columns))?;
            let cursors = [(); 3].map(|()| by.range(range.clone()));
            for key in &keys_before {
                table.delete(key)?;
            }
            let [whole, cells, key] = cursors;
            assert_eq!(rows(whole)?, before);
            assert_eq!(rows(cells.columns(columns))?, cells_before);
            assert_eq!(keys(key)?, keys_before);
            assert_eq!(rows(by.range(range))?, Vec::<Vec<u8>>::new());
            table.insert_all(before)?;
        }
    }
    Ok(())
}

//! Transactions that run again when another writer was first.

use std::cell::Cell;

use lode::{
    Database, Error, KeyKind, MOST_TRANSACT_ATTEMPTS, ReadTable, Schema, Table, Transaction, Type,
    Value,
};

/// An error that a closure may return, other than one of the database.
#[derive(Debug, PartialEq)]
enum Refused {
    /// The sum of all accounts is not what it has to be.
    Sum(u64),
    Store(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Two accounts with ten each.
fn accounts() -> (Database, Table) {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("account").key("id", Type::U8).column("has", Type::U64);
    let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Hash);
    let table = table.expect("room");
    for id in 0..2 {
        put(&table, id, 10);
    }
    (db, table)
}

fn put(table: &Table, id: u64, has: u64) {
    let record = table.schema().pack(&[Value::Unsigned(id), Value::Unsigned(has)]);
    table.upsert(&record.expect("it fits")).expect("room");
}

fn has(view: &impl ReadTable, id: u8) -> Result<u64, Error> {
    match view.get(id)?.expect("it is there").get("has") {
        Some(Value::Unsigned(has)) => Ok(has),
        other => panic!("another column: {other:?}"),
    }
}

/// Adds one to an account.
fn add(transaction: &Transaction, table: &Table, id: u8) -> Result<u64, Error> {
    let sum = has(&table.within(transaction), id)? + 1;
    let column = table.schema().column("has")?;
    transaction.update(table, id, column, &sum.to_le_bytes())?;
    Ok(sum)
}

#[test]
fn a_transaction_runs_again_when_another_writer_was_first() {
    let (db, table) = accounts();
    let mut runs = 0;
    let sum = db.transact(|transaction| {
        let sum = add(transaction, &table, 0)?;
        runs += 1;
        if runs < 4 {
            put(&table, 0, 100 * runs);
        }
        Ok::<_, Error>(sum)
    });
    assert_eq!((sum, runs), (Ok(301), 4));
    assert_eq!(has(&table, 0), Ok(301));
}

#[test]
fn an_error_of_the_closure_passes_through_and_nothing_happens() {
    let (db, table) = accounts();
    let mut runs = 0;
    let refused = db.transact(|transaction| {
        runs += 1;
        add(transaction, &table, 0)?;
        Err::<(), _>(Refused::Sum(7))
    });
    assert_eq!((refused, runs), (Err(Refused::Sum(7)), 1));
    assert_eq!(has(&table, 0), Ok(10));
    db.drop_table("account").expect("it is there");
    let gone = db.transact(|transaction| {
        runs += 1;
        Ok::<_, Refused>(add(transaction, &table, 0)?)
    });
    assert_eq!(gone, Err(Refused::Store(Error::NoTable { table: "account".into() })));
    assert_eq!(runs, 2);
}

#[test]
fn an_error_from_records_of_different_moments_is_not_believed() {
    let (db, table) = accounts();
    let mut runs = 0;
    let checked = db.transact(|transaction| {
        let view = table.within(transaction);
        let first = has(&view, 0)?;
        runs += 1;
        if runs == 1 {
            put(&table, 0, 3);
            put(&table, 1, 17);
        }
        match first + has(&view, 1)? {
            20 => Ok(()),
            sum => Err(Refused::Sum(sum)),
        }
    });
    assert_eq!((checked, runs), (Ok(()), 2));
}

#[test]
fn a_transaction_that_is_never_first_gives_up() {
    let (db, table) = accounts();
    let runs = Cell::new(0);
    let never = db.transact(|transaction| {
        runs.set(runs.get() + 1);
        put(&table, 1, runs.get());
        let sum = add(transaction, &table, 1)?;
        put(&table, 1, runs.get() + 7);
        Ok::<_, Error>(sum)
    });
    assert_eq!(never, Err(Error::Conflict { table: "account".into() }));
    assert_eq!(runs.get(), u64::from(MOST_TRANSACT_ATTEMPTS));
    assert_eq!(has(&table, 1), Ok(u64::from(MOST_TRANSACT_ATTEMPTS) + 7));
}

#[test]
fn threads_lose_nothing() {
    let (db, table) = accounts();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    db.transact(|transaction| add(transaction, &table, 0)).expect("in the end");
                }
            });
        }
    });
    assert_eq!(has(&table, 0), Ok(2_010));
}

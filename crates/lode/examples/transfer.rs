//! Two threads move money between the same accounts. Each transfer happens as a whole or not at
//! all, and is tried again when the other thread was first: a read may say so, or the commit.

use lode::{Database, KeyKind, ReadTable, Result, Schema, Table, Type, Value};

/// An account, as it is read.
fn cents_of(accounts: &impl ReadTable, id: u64) -> Result<i64> {
    let account = accounts.get(id)?.expect("the account is there");
    match account.get("cents") {
        Some(Value::Signed(cents)) => Ok(cents),
        other => unreachable!("cents are an I64, not {other:?}"),
    }
}

/// Returns how often the transfer had to be tried again.
fn transfer(db: &Database, accounts: &Table, from: u64, to: u64, amount: i64) -> Result<u32> {
    let cents = accounts.schema().column("cents")?;
    let mut attempts = 0;
    db.transact(|transaction| {
        attempts += 1;
        for (id, change) in [(from, -amount), (to, amount)] {
            let sum = cents_of(&accounts.within(transaction), id)? + change;
            transaction.update(accounts, id, cents, &sum.to_le_bytes())?;
        }
        Ok(attempts - 1)
    })
}

/// Runs the example.
pub fn main() -> Result<()> {
    let db = Database::in_memory()?;
    let schema =
        Schema::build("account").key("id", Type::U64).column("cents", Type::I64).finish()?;
    let accounts = db.create_table(&schema, KeyKind::Hash)?;
    for id in 0..2 {
        accounts.insert(&schema.pack(&[Value::Unsigned(id), Value::Signed(1_000)])?)?;
    }
    let conflicts: u32 = std::thread::scope(|scope| {
        let threads = [(0, 1), (1, 0)].map(|(from, to)| {
            let (db, accounts) = (&db, &accounts);
            scope.spawn(move || {
                (0..10_000).map(|_| transfer(db, accounts, from, to, 1)).sum::<Result<u32>>()
            })
        });
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<Result<_>>()
    })?;
    for id in 0..2u64 {
        println!("account {id}: {} cents", cents_of(&accounts, id)?);
    }
    println!("transfers that had to be tried again: {conflicts}");
    Ok(())
}

//! Snapshots that are read while another thread moves money between accounts: each has the same
//! sum, and says the same whenever it is asked.

use lode::{Database, KeyKind, Record, Records, Result, Snapshot};

const ACCOUNTS: u64 = 100;
const TRANSFERS: u64 = 20_050;

#[derive(Record)]
struct Account {
    #[record(key)]
    id: u64,
    cents: i64,
}

/// Moves a cent from each account to the next one, round and round.
fn move_money(db: &Database, accounts: &Records<Account>) -> Result<()> {
    for from in 0..TRANSFERS {
        let transaction = db.begin();
        let within = accounts.within(&transaction);
        within.change(from % ACCOUNTS, |account| account.cents -= 1)?;
        within.change((from + 1) % ACCOUNTS, |account| account.cents += 1)?;
        transaction.commit()?;
    }
    Ok(())
}

/// The sum of all accounts, and what the first one has.
fn look(snapshot: &Snapshot, accounts: &Records<Account>) -> Result<(i64, i64)> {
    let (mut sum, mut first) = (0, 0);
    for account in accounts.at(snapshot).iter() {
        let account = account?;
        sum += account.cents;
        if account.id == 0 {
            first = account.cents;
        }
    }
    Ok((sum, first))
}

/// Runs the example.
pub fn main() -> Result<()> {
    let db = Database::in_memory()?;
    let accounts = db.create_records::<Account>(KeyKind::Hash)?;
    for id in 0..ACCOUNTS {
        accounts.insert(&Account { id, cents: 1_000 })?;
    }
    let earlier = db.snapshot();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| move_money(&db, &accounts));
        let (mut count, mut least) = (0, i64::MAX);
        while !writer.is_finished() {
            let (sum, first) = look(&db.snapshot(), &accounts)?;
            assert_eq!(sum, 100_000, "a snapshot sees transfers as a whole or not at all");
            (count, least) = (count + 1, least.min(first));
        }
        println!("snapshots meanwhile: {count}, each of 100000 cents");
        println!("the least that the first account had in one: {least} cents");
        writer.join().expect("the writer does not panic")
    })?;
    println!("sum and first account, before: {:?}", look(&earlier, &accounts)?);
    println!("sum and first account, now: {:?}", look(&db.snapshot(), &accounts)?);
    Ok(())
}

//! A total that is kept up to date by what has changed, without a look at all accounts again; also
//! after a restart, from the position that was noted.

use lode::{Change, Changes, Database, KeyKind, Options, Position, Result, RowRef, Schema, Type};
use lode::{Table, Value};

/// The sum of all accounts, and the position up to which it is right.
struct Total {
    cents: i64,
    position: Position,
}

fn cents(row: Option<RowRef<'_>>) -> i64 {
    match row.and_then(|row| row.get("cents")) {
        Some(Value::Signed(cents)) => cents,
        _ => 0,
    }
}

impl Total {
    /// Adds what has changed since the last time.
    fn catch_up(&mut self, changes: &mut Changes) -> Result<()> {
        for commit in changes.by_ref() {
            let commit = commit?;
            for change in &commit.changes {
                if let Change::Row(row) = change {
                    self.cents += cents(row.after()) - cents(row.before());
                }
            }
            self.position = commit.position;
        }
        Ok(())
    }
}

fn deposit(accounts: &Table, id: u64, cents: i64) -> Result<()> {
    let values = [Value::Unsigned(id), Value::Signed(cents)];
    accounts.upsert(&accounts.schema().pack(&values)?).map(drop)
}

/// Sums accounts up, changes some, and adds what has changed.
pub fn main() -> Result<()> {
    let directory = std::env::temp_dir().join(format!("lode-feed-{}", std::process::id()));
    let db = Options::new().keep_changes(16 << 20).create_new(&directory)?;
    let schema = Schema::build("account").key("id", Type::U64).column("cents", Type::I64);
    let accounts = db.create_table(&schema.finish()?, KeyKind::Hash)?;

    let mut total = Total { cents: 0, position: db.position()? };
    let mut changes = db.changes(total.position)?;
    for id in 0..100 {
        deposit(&accounts, id, 50)?;
    }
    total.catch_up(&mut changes)?;
    assert_eq!(total.cents, 5_000);
    deposit(&accounts, 7, 90)?;
    accounts.delete(8)?;
    total.catch_up(&mut changes)?;
    assert_eq!(total.cents, 4_990);
    db.close()?;

    // The database remembers that it keeps changes.
    let db = Database::open(&directory)?;
    deposit(&db.table("account")?, 8, 60)?;
    total.catch_up(&mut db.changes(total.position)?)?;
    assert_eq!(total.cents, 5_050);
    println!("{} cents at position {}", total.cents, total.position);
    db.close()?;
    std::fs::remove_dir_all(&directory).expect("it is there");
    Ok(())
}

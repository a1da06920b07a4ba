//! The commands, each in a file.

pub mod check;
pub mod dump;
pub mod load;
pub mod schema;
pub mod stat;

use lode::{Snapshot, Table};

use crate::progress::Progress;

/// How many records a table has in a snapshot.
fn count(snapshot: &Snapshot, table: &Table, progress: &mut Progress) -> lode::Result<u64> {
    let mut records = 0;
    snapshot.each(table, &mut |_| {
        records += 1;
        progress.at(records);
        Ok(true)
    })?;
    Ok(records)
}

/// So many records, in words.
fn records(count: u64) -> String {
    match count {
        1 => "1 record".into(),
        count => format!("{count} records"),
    }
}

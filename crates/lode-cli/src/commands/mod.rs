//! The commands, each in a file.

pub(crate) mod check;
pub(crate) mod dump;
pub(crate) mod load;
pub(crate) mod schema;
pub(crate) mod stat;

/// A number of records, in words.
fn records(count: u64) -> String {
    match count {
        1 => "1 record".into(),
        count => format!("{count} records"),
    }
}

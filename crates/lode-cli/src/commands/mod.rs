//! The commands, each in a file.

pub mod check;
pub mod dump;
pub mod load;
pub mod schema;
pub mod stat;

/// So many records, in words.
fn records(count: u64) -> String {
    match count {
        1 => "1 record".into(),
        count => format!("{count} records"),
    }
}

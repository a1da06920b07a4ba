//! Functions on texts that PostgreSQL has and SQLite has not, or not with these arguments.

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Result};

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8;

/// Adds the functions to a connection.
pub(super) fn add_texts(connection: &Connection) -> Result<()> {
    // `trim(both x from y)` and the like.
    for (name, trims) in
        [("trim_of", (true, true)), ("ltrim_of", (true, false)), ("rtrim_of", (false, true))]
    {
        connection.create_scalar_function(name, 2, FLAGS, move |context| {
            let letters = context.get::<Option<String>>(0)?;
            let text = context.get::<Option<String>>(1)?;
            Ok(letters.zip(text).map(|(letters, text)| {
                let is_one = |letter: char| letters.contains(letter);
                let text = if trims.0 { text.trim_start_matches(is_one) } else { &text };
                let text = if trims.1 { text.trim_end_matches(is_one) } else { text };
                text.to_string()
            }))
        })?;
    }
    // `position(x in y)`
    connection.create_scalar_function("position", 2, FLAGS, |context| {
        let part = context.get::<Option<String>>(0)?;
        let text = context.get::<Option<String>>(1)?;
        Ok(part.zip(text).map(|(part, text)| {
            text.find(&part).map_or(0, |at| text[..at].chars().count() as i64 + 1)
        }))
    })
}

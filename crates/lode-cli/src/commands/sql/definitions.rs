//! `CREATE TABLE` and `DROP TABLE`, which are for the database and not for SQLite.

use rusqlite::Connection;

use super::session::line_of;

/// A statement that creates or drops a table of the database.
pub(super) enum Definition<'t> {
    Create(&'t str),
    Drop { name: String },
    DropIfThere { name: String },
}

/// The words of a text, as far as they are plain.
fn next_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(text.len());
    text.split_at(end)
}

/// What comes after these words, in upper or lower case, if the text begins with them.
fn after<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    words.iter().try_fold(text, |text, wanted| {
        let (word, rest) = next_word(text);
        word.eq_ignore_ascii_case(wanted).then_some(rest)
    })
}

/// A name that nothing comes after, without its quotes.
fn only_name(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_';
    match quoted {
        Some(name) => Some(name.replace("\"\"", "\"")),
        None => text.chars().all(is_plain).then(|| text.to_string()),
    }
}

impl<'t> Definition<'t> {
    /// A statement, if it is one of these.
    pub(super) fn of(text: &'t str) -> Option<Self> {
        if after(text, &["CREATE", "TABLE"]).is_some() {
            return Some(Self::Create(text.trim()));
        }
        let rest = after(text, &["DROP", "TABLE"])?;
        match after(rest, &["IF", "EXISTS"]) {
            Some(rest) => only_name(rest).map(|name| Self::DropIfThere { name }),
            None => only_name(rest).map(|name| Self::Drop { name }),
        }
    }

    /// Creates or drops the table.
    pub(super) fn carry_out(&self, connection: &Connection) -> Result<(), String> {
        let call = |function: &str, argument: &str| {
            let query = format!("SELECT {function}(?1)");
            connection.query_row(&query, [argument], |_| Ok(())).map_err(|error| line_of(&error))
        };
        match self {
            Self::Create(text) => call("lode_create", text),
            Self::Drop { name } => call("lode_drop", name),
            Self::DropIfThere { name } => {
                let query = "SELECT count(*) FROM temp.sqlite_schema WHERE name = ?1";
                let count: rusqlite::Result<i64> =
                    connection.query_row(query, [name], |row| row.get(0));
                match count.map_err(|error| line_of(&error))? {
                    0 => Ok(()),
                    _ => call("lode_drop", name),
                }
            }
        }
    }
}

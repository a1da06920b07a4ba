//! Commands that start with a dot.

use clap::ValueEnum;

use super::files;
use super::help::HELP;
use super::session::{Next, Session, tell};
use crate::cli::sql::RowFormat;

/// The names of the commands, for completion.
pub(super) const NAMES: [&str; 8] =
    [".tables", ".schema", ".dump", ".read", ".mode", ".timer", ".help", ".quit"];

/// A command.
pub(super) enum Command {
    Tables,
    Schema(Option<String>),
    Dump(Option<String>),
    Read(String),
    Mode(RowFormat),
    Timer(bool),
    Help,
    Quit,
}

impl Command {
    /// Reads a line that starts with a dot.
    ///
    /// # Errors
    /// The fault, in a line.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let argument = words.next();
        if let Some(more) = words.next() {
            return Err(format!("{name}: {more:?} is too much; see .help"));
        }
        match (name, argument) {
            (".tables", None) => Ok(Self::Tables),
            (".schema", table) => Ok(Self::Schema(table.map(Into::into))),
            (".dump", table) => Ok(Self::Dump(table.map(Into::into))),
            (".read", Some(path)) => Ok(Self::Read(path.into())),
            (".read", None) => Err("name a file with statements".into()),
            (".mode", Some(word)) => match RowFormat::from_str(word, false) {
                Ok(format) => Ok(Self::Mode(format)),
                Err(_) => Err(format!("there is no mode {word}; modes are table, json and csv")),
            },
            (".timer", Some("on")) => Ok(Self::Timer(true)),
            (".timer", Some("off")) => Ok(Self::Timer(false)),
            (".help", None) => Ok(Self::Help),
            (".quit", None) => Ok(Self::Quit),
            (".mode", None) => Err("name a mode: table, json or csv".into()),
            (".timer", _) => Err("write .timer on, or .timer off".into()),
            (".tables" | ".help" | ".quit", Some(_)) => {
                Err(format!("{name} has no argument; see .help"))
            }
            _ => Err(format!("there is no command {name}; see .help")),
        }
    }

    /// Carries the command out.
    ///
    /// # Errors
    /// The fault, in a line.
    pub(super) fn carry_out(&self, session: &mut Session) -> Result<Next, String> {
        let text = match self {
            Self::Tables => {
                let hidden = session.hidden();
                let line = |name: String| {
                    let why = hidden.iter().find(|hidden| hidden.name == name);
                    let why = why.map(|hidden| format!(" -- hidden from SQL: {}", hidden.why));
                    format!("{name}{}\n", why.unwrap_or_default())
                };
                session.db.table_names().into_iter().map(line).collect()
            }
            Self::Dump(name) => {
                files::dump(session, name.as_deref())?;
                String::new()
            }
            Self::Read(path) => return files::read(session, path),
            Self::Schema(None) => {
                let names = session.db.table_names();
                names.iter().map(|name| schema(session, name)).collect::<Result<String, _>>()?
            }
            Self::Schema(Some(name)) => schema(session, name)?,
            Self::Mode(format) => {
                session.format = *format;
                String::new()
            }
            Self::Timer(is_on) => {
                session.is_timed = *is_on;
                String::new()
            }
            Self::Help => HELP.into(),
            Self::Quit => return Ok(Next::Quit),
        };
        tell(&text)?;
        Ok(Next::Line)
    }
}

fn schema(session: &Session, name: &str) -> Result<String, String> {
    let table = session.db.table(name).map_err(|error| error.to_string())?;
    let indexes = lode_sqlite::create_index_statements(&table);
    let indexes = indexes.map_err(|error| error.to_string())?;
    let statements = [lode_sqlite::create_statement(&table)].into_iter().chain(indexes);
    Ok(statements.map(|statement| statement + ";\n").collect())
}

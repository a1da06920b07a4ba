//! Commands that begin with a dot.

use clap::ValueEnum;
use program_support::output::print;

use super::help::HELP;
use super::session::{Next, Session};
use crate::cli::sql::RowFormat;

/// The names of the commands, for completion.
pub(super) const NAMES: [&str; 6] = [".tables", ".schema", ".mode", ".timer", ".help", ".quit"];

/// A command.
pub(super) enum Command {
    Tables,
    Schema(Option<String>),
    Mode(RowFormat),
    Timer(bool),
    Help,
    Quit,
}

impl Command {
    /// Reads a line that begins with a dot.
    ///
    /// # Errors
    /// What is wrong, in a line.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let (name, argument) = (words.next().unwrap_or_default(), words.next());
        if let Some(more) = words.next() {
            return Err(format!("{name}: {more:?} is too much; see .help"));
        }
        match (name, argument) {
            (".tables", None) => Ok(Self::Tables),
            (".schema", table) => Ok(Self::Schema(table.map(Into::into))),
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

    /// Does what the command says.
    ///
    /// # Errors
    /// What is wrong, in a line.
    pub(super) fn carry_out(&self, session: &mut Session) -> Result<Next, String> {
        let text = match self {
            Self::Tables => {
                let names = session.db.table_names().into_iter().map(|name| name + "\n");
                names.collect()
            }
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
        print(&text).map_err(|failure| failure.line().unwrap_or_default().to_string())?;
        Ok(Next::Line)
    }
}

fn schema(session: &Session, name: &str) -> Result<String, String> {
    let table = session.db.table(name).map_err(|error| error.to_string())?;
    Ok(lode_sqlite::create_statement(&table) + ";\n")
}
